// Derivatives of ir/ops/windows.td and norms.td. Of the windows all but max_pool are linear maps, given with their transposes.

def : Rule<MaxPool, "maxPool", ["out1"]>;
def : NotDifferentiable<MaxPoolValues>;
def : Rule<MaxPoolGrad, "maxPoolGrad", ["indices"]>;
def : Rule<AvgPool, "avgPool", []>;
def : Rule<AvgPoolGrad, "avgPoolGrad", []>;
def : Rule<UnfoldWindows, "unfoldWindows", []>;
def : Rule<FoldWindows, "foldWindows", []>;
def : Rule<Resample, "resample", []>;
def : Rule<ResampleGrad, "resampleGrad", []>;
def : Derivative<ScaleGradient, [(mul $g, $factor), (none)]>;
def : Rule<Attention, "attention", ["query", "key", "value", "extras", "out", "out1"]>;
def : Rule<AttentionGrad, "attentionGrad", ["grad", "query", "key", "value", "extras"]>;
def : NotDifferentiable<AttentionKeep>;
