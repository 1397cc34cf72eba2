// What eigenvalues and singular values need beside cuSOLVER: matrices with elements that are not finite, for which its
// iterations have no end, are left out, and their results are NaN; and what it says of each matrix is reported.
//
// ELEMENT: float or double.

// wrong[i]: has matrix i, of `size` elements, one that is not finite? Then it becomes zeros.
extern "C" __global__ void leaveOut(ELEMENT* matrices, int64 size, int32* wrong, int64 count) {
  __shared__ int32 found;
  for (int64 matrix = blockIdx.x; matrix < count; matrix += gridDim.x) {
    ELEMENT* a = matrices + matrix * size;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();
    for (int64 i = threadIdx.x; i < size; i += blockDim.x)
      if (!(a[i] - a[i] == 0)) found = 1;
    __syncthreads();
    if (found)
      for (int64 i = threadIdx.x; i < size; i += blockDim.x) a[i] = 0;
    if (threadIdx.x == 0) wrong[matrix] = found;
    __syncthreads();
  }
}

// Results of `size` elements for each matrix.
extern "C" __global__ void makeNan(ELEMENT* results, int64 size, const int32* wrong, int64 count) {
  GRID_LOOP(i, size * count) {
    if (wrong[View::divide(i, size)]) results[i] = (ELEMENT)NAN_F;
  }
}

extern "C" __global__ void reportInfo(const int32* info, int64 count, int64* where) {
  GRID_LOOP(i, count) {
    if (info[i] != 0) faultFirst(where, i, i, info[i]);
  }
}
