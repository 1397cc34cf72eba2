// Small composites that scripts use now and then (eager/composites/everyday.cpp). Tested by tests/python/test_everyday.py.

def Renorm : Composite<"renorm", "Tensor input, float p, int dim, float maxnorm"> { let summary = "Slices of `dim` whose p-norm exceeds `maxnorm` scaled down to it."; let forms = ["function", "method", "inplace"]; let samples = "none"; }
def PDist : Composite<"pdist", "Tensor input, float p=2"> { let summary = "p-norm distances between all pairs of rows, those of the first row first."; let forms = ["function", "nn"]; let samples = "none"; }
def FillDiagonal : Composite<"fill_diagonal", "Tensor input, Scalar fill_value, bool wrap=False"> { let repeats = "Taken"; let summary = "`fill_value` where all indices are equal; with `wrap`, in tall matrices again after each block."; let forms = ["inplace"]; let samples = "none"; }
def FrobeniusNorm : Composite<"frobenius_norm", "Tensor input, dims dim=None, bool keepdim=False"> { let summary = "The root of the sum of squares over `dim`."; let forms = ["function"]; let samples = "none"; }
def Range : Composite<"range", "Scalar start, Scalar end, Scalar step=1, *, dtype? dtype=None"> { let summary = "start, start + step, ... up to and with `end`."; let forms = ["function"]; let factory = 1; let keepsOutShape = 1; let samples = "none"; }
def PolygammaMethod : Composite<"polygamma_of", "Tensor input, int n"> { let python = "polygamma"; let summary = "The n-th derivative of digamma."; let forms = ["method", "inplace"]; let samples = "none"; }

// Windows of signal processing: symmetric, or periodic, one period of a longer symmetric one.
def HannWindow : Composite<"hann_window", "int window_length, bool periodic=True, *, dtype? dtype=None"> { let summary = "sin^2(pi n / N)."; let forms = ["function"]; let factory = 1; let samples = "none"; }
def HammingWindow : Composite<"hamming_window", "int window_length, bool periodic=True, float alpha=0.54, float beta=0.46, *, dtype? dtype=None"> { let summary = "alpha - beta cos(2 pi n / N)."; let forms = ["function"]; let factory = 1; let samples = "none"; }
def BlackmanWindow : Composite<"blackman_window", "int window_length, bool periodic=True, *, dtype? dtype=None"> { let summary = "0.42 - 0.5 cos(2 pi n / N) + 0.08 cos(4 pi n / N)."; let forms = ["function"]; let factory = 1; let samples = "none"; }
def BartlettWindow : Composite<"bartlett_window", "int window_length, bool periodic=True, *, dtype? dtype=None"> { let summary = "1 - |2 n / N - 1|."; let forms = ["function"]; let factory = 1; let samples = "none"; }
