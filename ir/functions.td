// Names that dags may call: functions of codegen/math in bodies, operations in derivatives.
foreach n = [
  "abs", "acos", "acosh", "add", "and_", "asin", "asinh", "atan", "atan2", "atanh", "cast", "ceil", "cos", "cosh", "div",
  "eq", "erf", "erfc", "exp", "exp2", "expm1", "floor", "floor_divide", "fmod", "trunc_divide", "ge", "gelu", "gt",
  "identity", "isfinite", "isinf", "isnan", "le", "log", "log10", "log1p", "log2", "lt", "maximum", "minimum", "mul", "ne",
  "neg", "not_", "or_", "pow", "reciprocal", "relu", "remainder", "round", "rsqrt", "select", "sigmoid", "sign", "sin",
  "sinh", "softplus", "sqrt", "square", "sub", "tan", "tanh", "trunc", "xor_", "uniform", "normal", "random_integer",
  "bernoulli", "fma", "where", "none", "zeros_like", "to",
  "silu", "clamp", "fmax", "fmin", "bitwise_not", "iota_like", "arange_value", "signbit", "copysign", "hypot",
  "ndtr", "relu_grad", "leaky_relu_grad", "inside_grad", "outside_grad", "threshold_grad", "logical_and", "logical_not",
  "mul_scalar",
  "lgamma", "digamma", "erfinv", "polygamma", "gamma_cdf_slope",
  "frac", "logaddexp", "logaddexp2", "logit", "shift_left", "shift_right", "sinc", "sinc_slope", "logical_or", "xlog1py",
  "xlogy", "frexp_mantissa", "frexp_exponent", "nextafter", "nextafter_bfloat16", "nextafter_float16",
  "i0", "i0e", "i1", "i1e", "i1_slope", "i1e_slope", "modified_bessel_k0", "modified_bessel_k1",
  "scaled_modified_bessel_k0", "scaled_modified_bessel_k1", "bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1",
  "spherical_bessel_j0", "airy_ai", "erfcx", "log_ndtr", "log_ndtr_slope", "ndtri"
] in def ""#n : Fn;
