// Operations of neural networks (Python: tandem.nn.functional), made of others in C++ (eager/composites/nn.cpp).

def Linear : Composite<"linear", "Tensor input, Tensor weight, Tensor? bias=None"> { let summary = "input @ weight.T + bias; weight [out, in]."; let forms = ["nn"]; }
def Gelu : Composite<"gelu", "Tensor input, *, str approximate='none'"> { let summary = "input * Phi(input); approximate='tanh' for the tanh form (Hendrycks and Gimpel 2016)."; let forms = ["nn"]; }
def LayerNorm : Composite<"layer_norm", "Tensor input, int[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1e-05"> { let summary = "(x - mean) / sqrt(var + eps) * weight + bias over the last dims (Ba et al. 2016)."; let forms = ["nn"]; }
def Dropout : Composite<"dropout", "Tensor input, float p=0.5, bool training=True"> { let summary = "Elements zeroed with probability p, the others scaled by 1 / (1 - p), while training (Srivastava et al. 2014)."; let forms = ["nn", "function"]; }
def OneHot : Composite<"one_hot", "Tensor input, int num_classes=-1"> { let summary = "int64 rows with a one at each class."; let forms = ["nn"]; }
