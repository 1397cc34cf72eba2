// Pools beyond maxima and means of regular windows: power means, and windows at random places
// (eager/composites/pools.cpp). Tested by tests/python/test_pools.py.

class LpPool<string n> : Composite<n, "Tensor input, float norm_type, int[] kernel_size, int[]? stride=None, bool ceil_mode=False"> { let summary = "(sum of x^norm_type)^(1 / norm_type) over windows."; let forms = ["nn"]; let samples = "none"; }
def LpPool1d : LpPool<"lp_pool1d">;
def LpPool2d : LpPool<"lp_pool2d">;
def LpPool3d : LpPool<"lp_pool3d">;
def FractionalMaxPool : Composite<"fractional_max_pool", "Tensor input, int[] kernel_size, int[] output_size, Tensor samples"> { let summary = "Maxima of windows of the last dims, and where they are in the flattened dims; the windows begin at about even distances, shifted by numbers of `samples` [N, C, dims] in [0, 1)."; let numResults = 2; let results = "(Tensor, Tensor)"; let forms = ["nn"]; let samples = "none"; }
