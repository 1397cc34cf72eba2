// Examples of arithmetic, elementary functions and comparisons of single elements.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<Add, [{
>>> tandem.add(tandem.tensor([1., 2., 3.]), 10)
tensor([11., 12., 13.])
}]>;
def : Example<AddAlpha, [{
>>> tandem.add(tandem.tensor([1., 2., 3.]), tandem.tensor([1., 1., 1.]), alpha=0.5)
tensor([1.5000, 2.5000, 3.5000])
}]>;
def : Example<Sub, [{
>>> tandem.sub(tandem.tensor([5, 7]), tandem.tensor([1, 2]))
tensor([4, 5])
}]>;
def : Example<SubAlpha, [{
>>> tandem.sub(tandem.tensor([5, 7]), tandem.tensor([1, 2]), alpha=2)
tensor([3, 3])
}]>;
def : Example<RSub, [{
>>> tandem.rsub(tandem.tensor([1., 2.]), 10)
tensor([9., 8.])
}]>;
def : Example<Mul, [{
>>> tandem.mul(tandem.tensor([[1.], [2.]]), tandem.tensor([3., 4.]))
tensor([[3., 4.],
        [6., 8.]])
}]>;
def : InPlaceExample<Mul, [{
>>> tandem.tensor([1., 2.]).mul_(tandem.tensor([3., 4.]))
tensor([3., 8.])
}]>;
def : Example<Div, [{
>>> tandem.div(tandem.tensor([7, 8]), 2)
tensor([3.5000, 4.0000])
}]>;
def : InPlaceExample<Div, [{
>>> tandem.tensor([7., 8.]).div_(2)
tensor([3.5000, 4.0000])
}]>;
def : Example<DivRounding, [{
>>> tandem.div(tandem.tensor([-7, 7]), 2, rounding_mode="floor")
tensor([-4,  3])
>>> tandem.div(tandem.tensor([-7, 7]), 2, rounding_mode="trunc")
tensor([-3,  3])
}]>;
def : Example<FloorDivide, [{
>>> tandem.floor_divide(tandem.tensor([-7, 7]), 2)
tensor([-4,  3])
}]>;
def : Example<Remainder, [{
>>> tandem.remainder(tandem.tensor([-7, 7]), 3)
tensor([2, 1])
}]>;
def : Example<Fmod, [{
>>> tandem.fmod(tandem.tensor([-7, 7]), 3)
tensor([-1,  1])
}]>;
def : Example<Pow, [{
>>> tandem.pow(tandem.tensor([1., 2., 3.]), 2)
tensor([1., 4., 9.])
>>> tandem.pow(2, tandem.tensor([1, 2, 3]))
tensor([2, 4, 8])
}]>;
def : Example<Hypot, [{
>>> tandem.hypot(tandem.tensor([3., 5.]), tandem.tensor([4., 12.]))
tensor([ 5., 13.])
}]>;
def : Example<Atan2, [{
>>> tandem.atan2(tandem.tensor([1., 1.]), tandem.tensor([1., -1.]))
tensor([0.7854, 2.3562])
}]>;
def : Example<Maximum, [{
>>> tandem.maximum(tandem.tensor([1., 5., float("nan")]), tandem.tensor([3., 2., 0.]))
tensor([3., 5., nan])
}]>;
def : Example<Minimum, [{
>>> tandem.minimum(tandem.tensor([1., 5., float("nan")]), tandem.tensor([3., 2., 0.]))
tensor([1., 2., nan])
}]>;
def : Example<Neg, [{
>>> tandem.neg(tandem.tensor([1., -2.]))
tensor([-1.,  2.])
}]>;
def : Example<Abs, [{
>>> tandem.abs(tandem.tensor([-1, 0, 2]))
tensor([1, 0, 2])
}]>;
def : Example<Sign, [{
>>> tandem.sign(tandem.tensor([-3., 0., 2.]))
tensor([-1.,  0.,  1.])
}]>;
def : Example<Square, [{
>>> tandem.square(tandem.tensor([-2, 3]))
tensor([4, 9])
}]>;
def : Example<Reciprocal, [{
>>> tandem.reciprocal(tandem.tensor([2., 4.]))
tensor([0.5000, 0.2500])
}]>;
def : Example<Sqrt, [{
>>> tandem.sqrt(tandem.tensor([4., 9., -1.]))
tensor([2., 3., nan])
}]>;
def : Example<Rsqrt, [{
>>> tandem.rsqrt(tandem.tensor([4., 16.]))
tensor([0.5000, 0.2500])
}]>;
def : Example<Exp, [{
>>> tandem.exp(tandem.tensor([0., 1.]))
tensor([1.0000, 2.7183])
}]>;
def : Example<Exp2, [{
>>> tandem.exp2(tandem.tensor([0., 3., -1.]))
tensor([1.0000, 8.0000, 0.5000])
}]>;
def : Example<Expm1, [{
>>> tandem.expm1(tandem.tensor([0., 1.]))
tensor([0.0000, 1.7183])
}]>;
def : Example<Log, [{
>>> tandem.log(tandem.tensor([1., 10.]))
tensor([0.0000, 2.3026])
}]>;
def : Example<Log2, [{
>>> tandem.log2(tandem.tensor([1., 8.]))
tensor([0., 3.])
}]>;
def : Example<Log10, [{
>>> tandem.log10(tandem.tensor([1., 1000.]))
tensor([0., 3.])
}]>;
def : Example<Log1p, [{
>>> tandem.log1p(tandem.tensor([0., 1.]))
tensor([0.0000, 0.6931])
}]>;
def : Example<Sin, [{
>>> tandem.sin(tandem.tensor([0., 1.]))
tensor([0.0000, 0.8415])
}]>;
def : Example<Cos, [{
>>> tandem.cos(tandem.tensor([0., 1.]))
tensor([1.0000, 0.5403])
}]>;
def : Example<Tan, [{
>>> tandem.tan(tandem.tensor([0., 1.]))
tensor([0.0000, 1.5574])
}]>;
def : Example<Asin, [{
>>> tandem.asin(tandem.tensor([0., 1.]))
tensor([0.0000, 1.5708])
}]>;
def : Example<Acos, [{
>>> tandem.acos(tandem.tensor([0., 1.]))
tensor([1.5708, 0.0000])
}]>;
def : Example<Atan, [{
>>> tandem.atan(tandem.tensor([0., 1.]))
tensor([0.0000, 0.7854])
}]>;
def : Example<Sinh, [{
>>> tandem.sinh(tandem.tensor([0., 1.]))
tensor([0.0000, 1.1752])
}]>;
def : Example<Cosh, [{
>>> tandem.cosh(tandem.tensor([0., 1.]))
tensor([1.0000, 1.5431])
}]>;
def : Example<Tanh, [{
>>> tandem.tanh(tandem.tensor([0., 1., -100.]))
tensor([ 0.0000,  0.7616, -1.0000])
}]>;
def : Example<Asinh, [{
>>> tandem.asinh(tandem.tensor([0., 1.]))
tensor([0.0000, 0.8814])
}]>;
def : Example<Acosh, [{
>>> tandem.acosh(tandem.tensor([1., 2.]))
tensor([0.0000, 1.3170])
}]>;
def : Example<Atanh, [{
>>> tandem.atanh(tandem.tensor([0., 0.5]))
tensor([0.0000, 0.5493])
}]>;
def : Example<Erf, [{
>>> tandem.erf(tandem.tensor([0., 1.]))
tensor([0.0000, 0.8427])
}]>;
def : Example<Erfc, [{
>>> tandem.erfc(tandem.tensor([0., 1.]))
tensor([1.0000, 0.1573])
}]>;
def : Example<Sigmoid, [{
>>> tandem.sigmoid(tandem.tensor([0., 2.]))
tensor([0.5000, 0.8808])
}]>;
def : Example<Floor, [{
>>> tandem.floor(tandem.tensor([1.7, -1.2]))
tensor([ 1., -2.])
}]>;
def : Example<Ceil, [{
>>> tandem.ceil(tandem.tensor([1.2, -1.7]))
tensor([ 2., -1.])
}]>;
def : Example<Trunc, [{
>>> tandem.trunc(tandem.tensor([1.7, -1.7]))
tensor([ 1., -1.])
}]>;
def : Example<Round, [{
>>> tandem.round(tandem.tensor([0.5, 1.5, 2.7]))
tensor([0., 2., 3.])
>>> tandem.round(tandem.tensor(3.14159), decimals=2)
tensor(3.1400)
}]>;
def : Example<Clone, [{
>>> x = tandem.tensor([1., 2.])
>>> y = tandem.clone(x)
>>> y[0] = 5.
>>> x
tensor([1., 2.])
}]>;
def : Example<Where, [{
>>> x = tandem.tensor([-1., 2., -3.])
>>> tandem.where(x > 0, x, 0.)
tensor([0., 2., 0.])
}]>;
def : Example<AddCMul, [{
>>> tandem.addcmul(tandem.tensor([1., 1.]), tandem.tensor([2., 3.]), tandem.tensor([4., 5.]), value=0.1)
tensor([1.8000, 2.5000])
}]>;
def : Example<AddCDiv, [{
>>> tandem.addcdiv(tandem.tensor([1., 1.]), tandem.tensor([2., 3.]), tandem.tensor([4., 6.]), value=2)
tensor([2., 2.])
}]>;
def : Example<Lerp, [{
>>> tandem.lerp(tandem.tensor([0., 10.]), tandem.tensor([10., 20.]), 0.25)
tensor([ 2.5000, 12.5000])
}]>;
def : Example<Clamp, [{
>>> tandem.clamp(tandem.tensor([-2., 0.5, 7.]), min=0., max=1.)
tensor([0.0000, 0.5000, 1.0000])
}]>;
def : Example<ClampMin, [{
>>> tandem.clamp_min(tandem.tensor([-2, 3]), 0)
tensor([0, 3])
}]>;
def : Example<ClampMax, [{
>>> tandem.clamp_max(tandem.tensor([-2, 3]), 0)
tensor([-2,  0])
}]>;
def : Example<Positive, [{
>>> tandem.positive(tandem.tensor([1, -2]))
tensor([ 1, -2])
}]>;
def : Example<Fill, [{
>>> tandem.fill(tandem.tensor([[1., 2.], [3., 4.]]), 7)
tensor([[7., 7.],
        [7., 7.]])
}]>;

// ---- comparisons and logic ----
def : Example<Eq, [{
>>> tandem.eq(tandem.tensor([1, 2, 3]), tandem.tensor([1, 0, 3]))
tensor([ True, False,  True])
}]>;
def : InPlaceExample<Eq, [{
>>> tandem.tensor([1, 2, 3]).eq_(2)
tensor([0, 1, 0])
}]>;
def : Example<Ne, [{
>>> tandem.ne(tandem.tensor([1, 2, 3]), 2)
tensor([ True, False,  True])
}]>;
def : InPlaceExample<Ne, [{
>>> tandem.tensor([1, 2, 3]).ne_(2)
tensor([1, 0, 1])
}]>;
def : Example<Lt, [{
>>> tandem.lt(tandem.tensor([1, 2, 3]), 2)
tensor([ True, False, False])
}]>;
def : InPlaceExample<Lt, [{
>>> tandem.tensor([1, 2, 3]).lt_(2)
tensor([1, 0, 0])
}]>;
def : Example<Le, [{
>>> tandem.le(tandem.tensor([1, 2, 3]), 2)
tensor([ True,  True, False])
}]>;
def : InPlaceExample<Le, [{
>>> tandem.tensor([1, 2, 3]).le_(2)
tensor([1, 1, 0])
}]>;
def : Example<Gt, [{
>>> tandem.gt(tandem.tensor([1, 2, 3]), 2)
tensor([False, False,  True])
}]>;
def : InPlaceExample<Gt, [{
>>> tandem.tensor([1, 2, 3]).gt_(2)
tensor([0, 0, 1])
}]>;
def : Example<Ge, [{
>>> tandem.ge(tandem.tensor([1, 2, 3]), 2)
tensor([False,  True,  True])
}]>;
def : InPlaceExample<Ge, [{
>>> tandem.tensor([1, 2, 3]).ge_(2)
tensor([0, 1, 1])
}]>;
def : Example<LogicalAnd, [{
>>> tandem.logical_and(tandem.tensor([0, 1, 2]), tandem.tensor([1, 1, 0]))
tensor([False,  True, False])
}]>;
def : InPlaceExample<LogicalAnd, [{
>>> tandem.tensor([0, 1, 2]).logical_and_(tandem.tensor([1, 1, 0]))
tensor([0, 1, 0])
}]>;
def : Example<LogicalOr, [{
>>> tandem.logical_or(tandem.tensor([0, 1, 2]), tandem.tensor([0, 1, 0]))
tensor([False,  True,  True])
}]>;
def : InPlaceExample<LogicalOr, [{
>>> tandem.tensor([0, 1, 2]).logical_or_(tandem.tensor([0, 1, 0]))
tensor([0, 1, 1])
}]>;
def : Example<LogicalXor, [{
>>> tandem.logical_xor(tandem.tensor([0, 1, 2]), tandem.tensor([1, 1, 0]))
tensor([ True, False,  True])
}]>;
def : InPlaceExample<LogicalXor, [{
>>> tandem.tensor([0, 1, 2]).logical_xor_(tandem.tensor([1, 1, 0]))
tensor([1, 0, 1])
}]>;
def : Example<LogicalNot, [{
>>> tandem.logical_not(tandem.tensor([0., 0.5]))
tensor([ True, False])
}]>;
def : InPlaceExample<LogicalNot, [{
>>> tandem.tensor([0., 0.5]).logical_not_()
tensor([1., 0.])
}]>;
def : Example<BitwiseAnd, [{
>>> tandem.bitwise_and(tandem.tensor([12, 10]), 6)
tensor([4, 2])
}]>;
def : Example<BitwiseOr, [{
>>> tandem.bitwise_or(tandem.tensor([12, 10]), 6)
tensor([14, 14])
}]>;
def : Example<BitwiseXor, [{
>>> tandem.bitwise_xor(tandem.tensor([12, 10]), 6)
tensor([10, 12])
}]>;
def : Example<BitwiseNot, [{
>>> tandem.bitwise_not(tandem.tensor([0, 5]))
tensor([-1, -6])
}]>;
def : Example<LeftShift, [{
>>> tandem.bitwise_left_shift(tandem.tensor([1, 3]), 2)
tensor([ 4, 12])
}]>;
def : Example<RightShift, [{
>>> tandem.bitwise_right_shift(tandem.tensor([8, -8]), 2)
tensor([ 2, -2])
}]>;
def : Example<IsNan, [{
>>> tandem.isnan(tandem.tensor([1., float("nan")]))
tensor([False,  True])
}]>;
def : Example<IsInf, [{
>>> tandem.isinf(tandem.tensor([1., float("-inf")]))
tensor([False,  True])
}]>;
def : Example<IsFinite, [{
>>> tandem.isfinite(tandem.tensor([1., float("inf"), float("nan")]))
tensor([ True, False, False])
}]>;
def : Example<IsPosInf, [{
>>> tandem.isposinf(tandem.tensor([1., float("inf"), float("-inf")]))
tensor([False,  True, False])
}]>;
def : Example<IsNegInf, [{
>>> tandem.isneginf(tandem.tensor([1., float("inf"), float("-inf")]))
tensor([False, False,  True])
}]>;
def : Example<IsClose, [{
>>> tandem.isclose(tandem.tensor([1., 2.]), tandem.tensor([1. + 1e-7, 2.1]))
tensor([ True, False])
}]>;
def : Example<IsIn, [{
>>> tandem.isin(tandem.tensor([1, 2, 3]), tandem.tensor([2, 5]))
tensor([False,  True, False])
}]>;
def : Example<SignBit, [{
>>> tandem.signbit(tandem.tensor([1., -1., -0.]))
tensor([False,  True,  True])
}]>;
def : Example<Angle, [{
>>> tandem.angle(tandem.tensor([-1., 0., 2.]))
tensor([3.1416, 0.0000, 0.0000])
}]>;
def : Example<IsReal, [{
>>> tandem.isreal(tandem.tensor([1., -2.]))
tensor([True, True])
}]>;
def : Example<Frexp, [{
>>> mantissa, exponent = tandem.frexp(tandem.tensor([3., -0.1, 0.]))
>>> mantissa
tensor([ 0.7500, -0.8000,  0.0000])
>>> exponent
tensor([ 2, -3,  0], dtype=tandem.int32)
}]>;
def : Example<NextAfter, [{
>>> tandem.nextafter(tandem.tensor([0., -1.]), tandem.tensor([1., -1.]))
tensor([ 1.4013e-45, -1.0000e+00])
}]>;
