// Names that dags may call: functions of codegen/math in bodies, operations in derivatives.
foreach n = [
  "abs", "acos", "acosh", "add", "and_", "asin", "asinh", "atan", "atan2", "atanh", "cast", "ceil", "cos", "cosh", "div",
  "eq", "erf", "erfc", "exp", "exp2", "expm1", "floor", "floor_divide", "fmod", "trunc_divide", "ge", "gelu", "gt",
  "identity", "isfinite", "isinf", "isnan", "le", "log", "log10", "log1p", "log2", "lt", "maximum", "minimum", "mul", "ne",
  "neg", "not_", "or_", "pow", "reciprocal", "relu", "remainder", "round", "rsqrt", "select", "sigmoid", "sign", "sin",
  "sinh", "softplus", "sqrt", "square", "sub", "tan", "tanh", "trunc", "xor_", "uniform", "normal", "random_integer",
  "bernoulli", "fma", "where", "none", "zeros_like", "to",
  "silu", "clamp", "fmax", "fmin", "bitwise_not", "iota_like", "arange_value", "signbit", "copysign", "hypot",
  "ndtr", "relu_grad", "logical_and", "logical_not", "mul_scalar",
  "lgamma", "digamma", "erfinv", "polygamma", "gamma_cdf_slope",
  "frac", "logaddexp", "logaddexp2", "logit", "shift_left", "shift_right", "sinc", "sinc_slope", "logical_or", "xlog1py",
  "xlogy"
] in def ""#n : Fn;
