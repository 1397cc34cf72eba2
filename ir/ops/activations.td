// Activation functions (Python: tandem.nn.functional), made of other operations in C++ (eager/composites/activations.cpp).
// `inplace` writes the result into the input.

class Activation<string n, string p> : Composite<n, p> { let forms = ["nn"]; }
def ReluInPlace : Activation<"relu_option", "Tensor input, bool inplace"> { let summary = "relu, written into the input if `inplace`."; let python = "relu"; }
def SiluInPlace : Activation<"silu_option", "Tensor input, bool inplace"> { let summary = "silu, written into the input if `inplace`."; let python = "silu"; }
def LeakyRelu : Activation<"leaky_relu", "Tensor input, float negative_slope=0.01, bool inplace=False"> { let summary = "x where x > 0, else negative_slope * x."; }
def Elu : Activation<"elu", "Tensor input, float alpha=1.0, bool inplace=False"> { let summary = "x where x > 0, else alpha * (exp(x) - 1)."; }
def Selu : Activation<"selu", "Tensor input, bool inplace=False"> { let summary = "scale * elu(x, alpha) with the constants that keep mean 0 and variance 1 (Klambauer et al. 2017)."; let forms = ["nn", "function"]; }
def Celu : Activation<"celu", "Tensor input, float alpha=1.0, bool inplace=False"> { let summary = "x where x > 0, else alpha * (exp(x / alpha) - 1)."; let forms = ["nn", "function"]; }
def Mish : Activation<"mish", "Tensor input, bool inplace=False"> { let summary = "x * tanh(log(1 + exp(x)))."; }
def SoftplusBeta : Activation<"softplus", "Tensor input, float beta=1.0, float threshold=20.0"> { let summary = "log(1 + exp(beta * x)) / beta, and x itself where beta * x > threshold."; }
def LogSigmoid : Activation<"logsigmoid", "Tensor input"> { let summary = "log(1 / (1 + exp(-x)))."; let aliases = ["log_sigmoid"]; }
def Hardtanh : Activation<"hardtanh", "Tensor input, float min_val=-1.0, float max_val=1.0, bool inplace=False"> { let summary = "x limited to [min_val, max_val]; no gradient passes at the limits."; }
def Relu6 : Activation<"relu6", "Tensor input, bool inplace=False"> { let summary = "x limited to [0, 6]."; }
def Hardsigmoid : Activation<"hardsigmoid", "Tensor input, bool inplace=False"> { let summary = "x / 6 + 1 / 2 limited to [0, 1]."; }
def Hardswish : Activation<"hardswish", "Tensor input, bool inplace=False"> { let summary = "x * hardsigmoid(x)."; }
def Softsign : Activation<"softsign", "Tensor input"> { let summary = "x / (1 + |x|)."; }
def Tanhshrink : Activation<"tanhshrink", "Tensor input"> { let summary = "x - tanh(x)."; }
def Softshrink : Activation<"softshrink", "Tensor input, float lambd=0.5"> { let summary = "x moved towards 0 by lambd, and 0 where |x| <= lambd."; }
def Hardshrink : Activation<"hardshrink", "Tensor input, float lambd=0.5"> { let summary = "x, and 0 where |x| <= lambd."; let forms = ["nn", "function", "method"]; }
def Threshold : Activation<"threshold", "Tensor input, Scalar threshold, Scalar value, bool inplace=False"> { let summary = "x where x > threshold, else value."; let forms = ["nn", "function"]; }
def Glu : Activation<"glu", "Tensor input, int dim=-1"> { let summary = "The first half along `dim` times the sigmoid of the second."; }
def Prelu : Activation<"prelu", "Tensor input, Tensor weight"> { let summary = "x where x > 0, else weight * x; the weight is one number, or one a channel (dim 1)."; let forms = ["nn", "function", "method"]; }
def Rrelu : Activation<"rrelu", "Tensor input, float lower=0.125, float upper=0.3333333333333333, bool training=False, bool inplace=False"> { let summary = "x where x >= 0, else a * x with a drawn from [lower, upper] while training, and their mean otherwise."; let forms = ["nn", "function"]; }
