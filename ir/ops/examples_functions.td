// Examples of more functions of single elements, and of special functions.
// Each is run by the tests, and prints what PyTorch prints.

def : Example<CopySign, [{
>>> tandem.copysign(tandem.tensor([1., 2.]), tandem.tensor([-1., 1.]))
tensor([-1.,  2.])
}]>;
def : Example<FMax, [{
>>> tandem.fmax(tandem.tensor([1., float("nan")]), tandem.tensor([3., 2.]))
tensor([3., 2.])
}]>;
def : Example<FMin, [{
>>> tandem.fmin(tandem.tensor([1., float("nan")]), tandem.tensor([3., 2.]))
tensor([1., 2.])
}]>;
def : Example<Frac, [{
>>> tandem.frac(tandem.tensor([1.75, -2.5]))
tensor([ 0.7500, -0.5000])
}]>;
def : Example<LogAddExp, [{
>>> tandem.logaddexp(tandem.tensor([0., 1000.]), tandem.tensor([0., 1000.]))
tensor([6.9315e-01, 1.0007e+03])
}]>;
def : Example<LogAddExp2, [{
>>> tandem.logaddexp2(tandem.tensor([0., 3.]), tandem.tensor([0., 3.]))
tensor([1., 4.])
}]>;
def : Example<XLogY, [{
>>> tandem.xlogy(tandem.tensor([0., 2.]), tandem.tensor([0., 3.]))
tensor([0.0000, 2.1972])
}]>;
def : Example<XLog1pY, [{
>>> tandem.special.xlog1py(tandem.tensor([0., 2.]), tandem.tensor([-1., 2.]))
tensor([0.0000, 2.1972])
}]>;
def : Example<Logit, [{
>>> tandem.logit(tandem.tensor([0.5, 0.9]))
tensor([0.0000, 2.1972])
>>> tandem.logit(tandem.tensor([0., 1.]), eps=0.1)
tensor([-2.1972,  2.1972])
}]>;
def : Example<Sinc, [{
>>> tandem.sinc(tandem.tensor([0., 0.5, 1.5]))
tensor([ 1.0000,  0.6366, -0.2122])
}]>;
def : Example<NanToNum, [{
>>> tandem.nan_to_num(tandem.tensor([float("nan"), float("inf"), 1.]), posinf=100.)
tensor([  0., 100.,   1.])
}]>;
def : Example<Heaviside, [{
>>> tandem.heaviside(tandem.tensor([-1., 0., 2.]), tandem.tensor([0.5]))
tensor([0.0000, 0.5000, 1.0000])
}]>;
def : Example<Deg2Rad, [{
>>> tandem.deg2rad(tandem.tensor([180., 90.]))
tensor([3.1416, 1.5708])
}]>;
def : Example<Rad2Deg, [{
>>> tandem.rad2deg(tandem.tensor([3.14159265, 0.]))
tensor([180.,   0.])
}]>;
def : Example<LdExp, [{
>>> tandem.ldexp(tandem.tensor([1., 3.]), tandem.tensor([4, -1]))
tensor([16.0000,  1.5000])
}]>;
def : Example<FloatPower, [{
>>> tandem.float_power(tandem.tensor([1, 2, 3]), 2)
tensor([1., 4., 9.], dtype=tandem.float64)
}]>;
def : InPlaceExample<FloatPower, [{
>>> tandem.tensor([1., 2., 3.], dtype=tandem.float64).float_power_(2)
tensor([1., 4., 9.], dtype=tandem.float64)
}]>;
def : Example<FloatPowerOf, [{
>>> tandem.float_power(2, tandem.tensor([1, 2, 3]))
tensor([2., 4., 8.], dtype=tandem.float64)
}]>;
def : Example<RDiv, [{
>>> 1 / tandem.tensor([2., 4.])
tensor([0.5000, 0.2500])
}]>;
def : Example<Expit, [{
>>> tandem.special.expit(tandem.tensor([0., 2.]))
tensor([0.5000, 0.8808])
}]>;
def : Example<Entr, [{
>>> tandem.special.entr(tandem.tensor([-1., 0., 0.5]))
tensor([  -inf, 0.0000, 0.3466])
}]>;
def : Example<Ndtr, [{
>>> tandem.special.ndtr(tandem.tensor([0., 1.96]))
tensor([0.5000, 0.9750])
}]>;
def : Example<Gcd, [{
>>> tandem.gcd(tandem.tensor([12, 7]), tandem.tensor([18, 21]))
tensor([6, 7])
}]>;
def : Example<Lcm, [{
>>> tandem.lcm(tandem.tensor([4, 6]), tandem.tensor([6, 8]))
tensor([12, 24])
}]>;

// ---- special functions ----
def : Example<LGamma, [{
>>> tandem.lgamma(tandem.tensor([0.5, 1., 5.]))
tensor([0.5724, 0.0000, 3.1781])
}]>;
def : Example<Digamma, [{
>>> tandem.digamma(tandem.tensor([1., 0.5]))
tensor([-0.5772, -1.9635])
}]>;
def : Example<ErfInv, [{
>>> tandem.erfinv(tandem.tensor([0., 0.5, -1.]))
tensor([0.0000, 0.4769,   -inf])
}]>;
def : Example<PolyGamma, [{
>>> tandem.polygamma(1, tandem.tensor([1., 0.5]))
tensor([1.6449, 4.9348])
}]>;
def : Example<MVLGamma, [{
>>> tandem.mvlgamma(tandem.tensor([2., 3.]), 2)
tensor([0.4516, 1.5502])
}]>;
def : Example<GammaLn, [{
>>> tandem.special.gammaln(tandem.tensor([0.5, 1., 5.]))
tensor([0.5724, 0.0000, 3.1781])
}]>;
def : Example<Psi, [{
>>> tandem.special.psi(tandem.tensor([1., 0.5]))
tensor([-0.5772, -1.9635])
}]>;
def : Example<Zeta, [{
>>> tandem.special.zeta(tandem.tensor([2., 4.]), 1)
tensor([1.6449, 1.0823])
}]>;
def : Example<IGamma, [{
>>> tandem.igamma(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
tensor([0.3528, 0.5665, 0.7350])
}]>;
def : Example<IGammaC, [{
>>> tandem.igammac(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
tensor([0.6472, 0.4335, 0.2650])
}]>;
def : Example<GammaInc, [{
>>> tandem.special.gammainc(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
tensor([0.3528, 0.5665, 0.7350])
}]>;
def : Example<GammaIncC, [{
>>> tandem.special.gammaincc(tandem.tensor([4.]), tandem.tensor([3., 4., 5.]))
tensor([0.6472, 0.4335, 0.2650])
}]>;
def : Example<I0, [{
>>> tandem.special.i0(tandem.tensor([0., 1., 2.]))
tensor([1.0000, 1.2661, 2.2796])
}]>;
def : Example<I0E, [{
>>> tandem.special.i0e(tandem.tensor([0., 1., 100.]))
tensor([1.0000, 0.4658, 0.0399])
}]>;
def : Example<I1, [{
>>> tandem.special.i1(tandem.tensor([0., 1., -2.]))
tensor([ 0.0000,  0.5652, -1.5906])
}]>;
def : Example<I1E, [{
>>> tandem.special.i1e(tandem.tensor([0., 1., 100.]))
tensor([0.0000, 0.2079, 0.0397])
}]>;
def : Example<ModifiedI0, [{
>>> tandem.special.modified_bessel_i0(tandem.tensor([0., 1., 2.]))
tensor([1.0000, 1.2661, 2.2796])
}]>;
def : Example<ModifiedI1, [{
>>> tandem.special.modified_bessel_i1(tandem.tensor([0., 1., -2.]))
tensor([ 0.0000,  0.5652, -1.5906])
}]>;
def : Example<ModifiedK0, [{
>>> tandem.special.modified_bessel_k0(tandem.tensor([0., 1., 2.]))
tensor([   inf, 0.4210, 0.1139])
}]>;
def : Example<ModifiedK1, [{
>>> tandem.special.modified_bessel_k1(tandem.tensor([0., 1., 2.]))
tensor([   inf, 0.6019, 0.1399])
}]>;
def : Example<ScaledK0, [{
>>> tandem.special.scaled_modified_bessel_k0(tandem.tensor([1., 100.]))
tensor([1.1445, 0.1252])
}]>;
def : Example<ScaledK1, [{
>>> tandem.special.scaled_modified_bessel_k1(tandem.tensor([1., 100.]))
tensor([1.6362, 0.1258])
}]>;
def : Example<BesselJ0, [{
>>> tandem.special.bessel_j0(tandem.tensor([0., 1., 10.]))
tensor([ 1.0000,  0.7652, -0.2459])
}]>;
def : Example<BesselJ1, [{
>>> tandem.special.bessel_j1(tandem.tensor([0., 1., 10.]))
tensor([0.0000, 0.4401, 0.0435])
}]>;
def : Example<BesselY0, [{
>>> tandem.special.bessel_y0(tandem.tensor([0., 1., 10.]))
tensor([  -inf, 0.0883, 0.0557])
}]>;
def : Example<BesselY1, [{
>>> tandem.special.bessel_y1(tandem.tensor([0., 1., 10.]))
tensor([   -inf, -0.7812,  0.2490])
}]>;
def : Example<SphericalJ0, [{
>>> tandem.special.spherical_bessel_j0(tandem.tensor([0., 1., 10.]))
tensor([ 1.0000,  0.8415, -0.0544])
}]>;
def : Example<AiryAi, [{
>>> tandem.special.airy_ai(tandem.tensor([-2., 0., 1.]))
tensor([0.2274, 0.3550, 0.1353])
}]>;
def : Example<ErfCX, [{
>>> tandem.special.erfcx(tandem.tensor([-1., 0., 100.]))
tensor([5.0090, 1.0000, 0.0056])
}]>;
def : Example<LogNdtr, [{
>>> tandem.special.log_ndtr(tandem.tensor([-20., 0., 3.]))
tensor([-2.0392e+02, -6.9315e-01, -1.3508e-03])
}]>;
def : Example<NdtrI, [{
>>> tandem.special.ndtri(tandem.tensor([0., 0.025, 0.5]))
tensor([   -inf, -1.9600,  0.0000])
}]>;
def : Example<ChebyshevT, [{
>>> tandem.special.chebyshev_polynomial_t(tandem.tensor([0.25, 2.]), 3)
tensor([-0.6875, 26.0000])
}]>;
def : Example<ChebyshevU, [{
>>> tandem.special.chebyshev_polynomial_u(tandem.tensor([0.25, 2.]), 3)
tensor([-0.8750, 56.0000])
}]>;
def : Example<ChebyshevV, [{
>>> tandem.special.chebyshev_polynomial_v(tandem.tensor([0.25, 2.]), 3)
tensor([-0.1250, 41.0000])
}]>;
def : Example<ChebyshevW, [{
>>> tandem.special.chebyshev_polynomial_w(tandem.tensor([0.25, 2.]), 3)
tensor([-1.6250, 71.0000])
}]>;
def : Example<ShiftedT, [{
>>> tandem.special.shifted_chebyshev_polynomial_t(tandem.tensor([0.25, 2.]), 3)
tensor([ 1., 99.])
}]>;
def : Example<ShiftedU, [{
>>> tandem.special.shifted_chebyshev_polynomial_u(tandem.tensor([0.25, 2.]), 3)
tensor([  1., 204.])
}]>;
def : Example<ShiftedV, [{
>>> tandem.special.shifted_chebyshev_polynomial_v(tandem.tensor([0.25, 2.]), 3)
tensor([  1., 169.])
}]>;
def : Example<ShiftedW, [{
>>> tandem.special.shifted_chebyshev_polynomial_w(tandem.tensor([0.25, 2.]), 3)
tensor([  1., 239.])
}]>;
def : Example<HermiteH, [{
>>> tandem.special.hermite_polynomial_h(tandem.tensor([0.25, 2.]), 3)
tensor([-2.8750, 40.0000])
}]>;
def : Example<HermiteHe, [{
>>> tandem.special.hermite_polynomial_he(tandem.tensor([0.25, 2.]), 3)
tensor([-0.7344,  2.0000])
}]>;
def : Example<LaguerreL, [{
>>> tandem.special.laguerre_polynomial_l(tandem.tensor([0.25, 2.]), 3)
tensor([ 0.3411, -0.3333])
}]>;
def : Example<LegendreP, [{
>>> tandem.special.legendre_polynomial_p(tandem.tensor([0.25, 2.]), 3)
tensor([-0.3359, 17.0000])
}]>;
