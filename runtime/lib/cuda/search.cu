// search_rows: how many elements of a row are less than a value, or not greater where RIGHT. NaN is in no order.

typedef typename Compute<ELEMENT>::type C;

// `width` values look in one row each.
extern "C" __global__ void searchRows(const ELEMENT* rows, int64 n, const ELEMENT* values, int64 count, int64 width,
                                      int64* out) {
  GRID_LOOP(i, count) {
    const ELEMENT* row = rows + View::divide(i, width) * n;
    const C v = load(values[i]);
    int64 start = 0, left = n;
    while (left > 0) {
      const int64 half = left / 2;
      const C middle = load(row[start + half]);
      const bool before = RIGHT ? !(middle > v) : !(middle >= v);
      if (before) start += half + 1;
      left = before ? left - half - 1 : half;
    }
    out[i] = start;
  }
}
