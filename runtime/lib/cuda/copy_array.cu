// Moves the elements of a strided array, or units of several, to another one of the same shape. T is of their size.

extern "C" __global__ void copy_array(View from, View to) {
  const T* x = from.as<T>();
  T* y = to.as<T>();
  GRID_LOOP(i, to.numel) y[to.offset(i)] = x[from.offset(i)];
}

// Where `from` is dense along dim -2 and `to` along dim -1: tiles of 32 x 32 elements go through shared memory, so that
// both are read and written in whole lines. Blocks of 32 x 8 threads walk the tiles of all matrices.
extern "C" __global__ void turn_array(View from, View to) {
  __shared__ T tile[32][33];
  const T* x = from.as<T>();
  T* y = to.as<T>();
  const int m = from.rank - 2;
  const int64 rows = from.shape[m], columns = from.shape[m + 1];
  const int64 down = (rows + 31) / 32, across = (columns + 31) / 32;
  const int64 tiles = rows == 0 || columns == 0 ? 0 : from.numel / (rows * columns) * down * across;
  const int64 inRow = from.strides[m + 1], outRow = to.strides[m];
  for (int64 t = blockIdx.x; t < tiles; t += gridDim.x) {
    const int64 matrix = t / (down * across), place = t % (down * across);
    const int64 row = place / across * 32, column = place % across * 32;
    const int64 first = matrix * rows * columns;
    const T* source = x + from.offset(first);
    T* target = y + to.offset(first);
    for (int64 c = threadIdx.y; c < 32; c += 8) {
      const int64 r = threadIdx.x;
      if (row + r < rows && column + c < columns) tile[c][r] = source[row + r + (column + c) * inRow];
    }
    __syncthreads();
    for (int64 r = threadIdx.y; r < 32; r += 8) {
      const int64 c = threadIdx.x;
      if (row + r < rows && column + c < columns) target[(row + r) * outRow + column + c] = tile[c][r];
    }
    __syncthreads();
  }
}
