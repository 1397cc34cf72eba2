// Primitive reductions. The order of their sums is fixed by shape and dims alone (docs: ARCHITECTURE.md).

def Sum : Reduction<"sum", "Sum", "Sum", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let outSaysDType = 1; let summary = "Sum over `dim` (all dims when None). bool and integers sum to int64."; let forms = ["function", "method", "out"]; }
def Prod : Reduction<"prod", "Sum", "Prod", "Tensor input, dims dim=None, bool keepdim=False, *, dtype? dtype=None"> { let outSaysDType = 1; let summary = "Product over `dim` (all dims when None)."; let forms = ["function", "method", "out"]; }
def Amax : Reduction<"amax", "First", "Max", "Tensor input, dims dim=None, bool keepdim=False"> { let summary = "Largest element over `dim`; NaN if there is one. Ties share the gradient."; let reference = "max"; let forms = ["function", "method", "out"]; }
def Amin : Reduction<"amin", "First", "Min", "Tensor input, dims dim=None, bool keepdim=False"> { let summary = "Smallest element over `dim`; NaN if there is one. Ties share the gradient."; let reference = "min"; let forms = ["function", "method", "out"]; }
def Any : Reduction<"any", "Logical", "Any", "Tensor input, dims dim=None, bool keepdim=False"> { let summary = "Is any element nonzero?"; }
def All : Reduction<"all", "Logical", "All", "Tensor input, dims dim=None, bool keepdim=False"> { let summary = "Are all elements nonzero?"; }
