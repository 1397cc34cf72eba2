// Bessel functions of orders 0 and 1: J, Y, I, K, the scaled I and K, and the spherical j0. All are computed in
// float64, in which float32 needs no further care. Polynomials are near-minimax (Chebyshev) approximations, whose
// coefficients were computed with mpmath to 60 digits; formulas: Abramowitz and Stegun, chapter 9, with the division of
// the axis of Cephes:
//
//   J, Y  below 8 the zeros of J times a polynomial in x^2 and Y = 2/pi J log x + a series (9.1.13); beyond, Hankel's
//         modulus and phase (9.2.5, 9.2.6) with the sine and cosine of x itself, so that no digit of the phase is lost
//   I     below 8 the power series (9.6.12), beyond e^x / sqrt(x) times a polynomial in 1/x (9.7.1)
//   K     below 2 the logarithmic series (9.6.13), beyond e^-x / sqrt(x) times a polynomial in 1/x (9.7.2)
//
// Errors: at most 5e-15 of the value, of the envelope sqrt(2 / (pi x)) beside the zeros of J and Y.
#pragma once

#include "codegen/math/exp.h"
#include "codegen/math/gamma.h"
#include "codegen/math/log.h"
#include "codegen/math/trig.h"

namespace tandem::math {
namespace detail {

/// I0(x) for |x| <= 8, z = x^2.
template <class B>
Val<B> besselI0Near(const Val<B>& z) {
  return horner(z, {0x1.4e45fe8e96c03p-206, 0x1.ff7044a3e69abp-196, 0x1.1c802219f228dp-184, 0x1.0ad00a9ec0dcfp-173,
                    0x1.cbf02df16c5b1p-163, 0x1.674f500d1b4a1p-152, 0x1.faaf34329182bp-142, 0x1.40a2dc01fea9ap-131,
                    0x1.69f7da86b4414p-121, 0x1.69f7da8500705p-111, 0x1.3e22d70ef43a7p-101, 0x1.e725594ee527bp-92,
                    0x1.4197a7f5154bep-82,  0x1.69ca9cf3b7f53p-73,  0x1.5601885e63e5dp-64,  0x1.0b313289be0b9p-55,
                    0x1.522a43f65486ap-47,  0x1.522a43f65486ap-39,  0x1.02e85c0898b71p-31,  0x1.23456789abcdfp-24,
                    0x1.c71c71c71c71cp-18,  0x1.c71c71c71c71cp-12,  0x1.0000000000000p-6,   0x1.0000000000000p-2,
                    0x1.0000000000000p+0});
}
/// I1(x) / x for |x| <= 8, z = x^2.
template <class B>
Val<B> besselI1Near(const Val<B>& z) {
  return horner(z, {0x1.a6b2661f5916dp-212, 0x1.56effbf163e26p-201, 0x1.8b78c0a11b1e4p-190, 0x1.8421830b5a3dap-179,
                    0x1.5e6d0ddc42c2ap-168, 0x1.1f72b24e36135p-157, 0x1.aaae7bbc1164cp-147, 0x1.1d028ab60ef74p-136,
                    0x1.54ad09e7a5d9dp-126, 0x1.69f7da8506cfcp-116, 0x1.53585cdcc001bp-106, 0x1.165e7c2d153d2p-96,
                    0x1.8bce58901a35fp-87,  0x1.e2637bef9ff1ap-78,  0x1.f17697cf1cf13p-69,  0x1.ab81ea75fcdf4p-60,
                    0x1.2c9758daf5cd0p-51,  0x1.522a43f65486ap-43,  0x1.27e4fb7789f5cp-35,  0x1.845c8a0ce5129p-28,
                    0x1.6c16c16c16c17p-21,  0x1.c71c71c71c71cp-15,  0x1.5555555555555p-9,   0x1.0000000000000p-4,
                    0x1.0000000000000p-1});
}
/// sqrt(x) e^-x I0(x) for x >= 8, t = 1/x - 1/16.
template <class B>
Val<B> besselI0Far(const Val<B>& t) {
  return horner(t, {-0x1.36e52c10032d7p+62, -0x1.52109c25bd9ecp+56, 0x1.1ce14787c5bdep+57,  0x1.42a55974d41b8p+51,
                    -0x1.e8fd992032bedp+50, -0x1.31c908a5dd531p+45, 0x1.0ab5ef575d285p+44,  0x1.9bbbfe31d81e9p+38,
                    -0x1.a9411c5b0ad08p+36, -0x1.df1549cddfaf8p+31, 0x1.047454ffcb608p+29,  0x1.0317d4c7b215ap+25,
                    -0x1.77cc956faaa2fp+20, -0x1.cc90f59ec1228p+17, -0x1.ce768f00b5374p+12, 0x1.03896efb09a41p+9,
                    0x1.7224b1828e507p+6,   0x1.51ced7b713adcp+3,   0x1.7d0f75812d9bcp+0,   0x1.3f49a6bcfc2d9p-2,
                    0x1.8e513a1d5e52bp-4,   0x1.75e5ee71edd14p-5,   0x1.1daa72b5e650cp-5,   0x1.b87969bb93b75p-5,
                    0x1.9bd428ad249a5p-2});
}
/// sqrt(x) e^-x I1(x) for x >= 8, t = 1/x - 1/16.
template <class B>
Val<B> besselI1Far(const Val<B>& t) {
  return horner(t, {0x1.432b0a4121172p+62, 0x1.33e83e12ca3b4p+56, -0x1.2839623e2341cp+57, -0x1.272ae05110368p+51,
                    0x1.fce6b32270b52p+50, 0x1.1aee882806184p+45, -0x1.162964d5f91dbp+44, -0x1.858c7591014bdp+38,
                    0x1.bdc8daed57db9p+36, 0x1.d4345a69bfc30p+31, -0x1.1465ce7d29637p+29, -0x1.0630cddd4e099p+25,
                    0x1.9f203cf2783b7p+20, 0x1.e20e7d69649cap+17, 0x1.cd81846fb3ff1p+12,  -0x1.21895bb7ba33fp+9,
                    -0x1.9180f82a1d429p+6, -0x1.727a73a8063a8p+3, -0x1.ad8db6e1fecbbp+0,  -0x1.76137e6905189p-2,
                    -0x1.ec8e101744487p-4, -0x1.f89c23066d278p-5, -0x1.cbc54df1ece76p-5,  -0x1.3f796198ee628p-3,
                    0x1.8ebe783a84030p-2});
}
/// K0(x) + log(x / 2) I0(x) for x <= 2, z = x^2.
template <class B>
Val<B> besselK0Near(const Val<B>& z) {
  return horner(z, {0x1.a593500907644p-63, 0x1.2c765d4b19a66p-54, 0x1.69f3e7fe4edfbp-46, 0x1.54cf488d6b077p-38,
                    0x1.e4e0d1c683631p-31, 0x1.f0f15a9de5e90p-24, 0x1.56b9b69e15885p-17, 0x1.1dd628653174dp-11,
                    0x1.d8773039049e7p-7, 0x1.b0ee6072093cep-4, -0x1.2788cfc6fb619p-1});
}
/// (K1(x) - log(x / 2) I1(x) - 1/x) / x for x <= 2, z = x^2.
template <class B>
Val<B> besselK1Near(const Val<B>& z) {
  return horner(z, {-0x1.374620a2a6916p-67, -0x1.eb846478b195ep-59, -0x1.4a157b8fa84c4p-50, -0x1.5f609ccabd3bcp-42,
                    -0x1.1fa4131ce19d5p-34, -0x1.5b7a177f3c294p-27, -0x1.2462822a45533p-20, -0x1.3a47ef81a33c9p-14,
                    -0x1.73ddae5ee6a28p-9, -0x1.58773039049e7p-5, 0x1.3c467e37db0c8p-5});
}
/// sqrt(x) e^x K0(x) for x >= 2, t = 1/x - 1/4.
template <class B>
Val<B> besselK0Far(const Val<B>& t) {
  return horner(t, {0x1.2c9dec4822fffp+16, -0x1.f8c6016c485e1p+14, -0x1.253f5df013aacp+14, 0x1.e4d60eccf14a3p+12,
                    0x1.64bd5d6e6197bp+11, -0x1.2ae8336b8fb84p+10, -0x1.43e1c83595ac2p+7,  0x1.fb2ef7ecf9883p+5,
                    0x1.71751a9adb6a1p+4,  -0x1.54d2f671cc818p+3,  0x1.5d587d6453c39p+1,   -0x1.7d722e84a6a97p+0,
                    0x1.d0c9d0e942699p-1,  -0x1.02f48745eabfbp-1,  0x1.283f8f57d84bap-2,   -0x1.626f9b66b1296p-3,
                    0x1.b9efc85fa4eebp-4,  -0x1.20c0cbb3e61a8p-4,  0x1.8ec86322785cep-5,   -0x1.26183a6d54bdcp-5,
                    0x1.d5e9a4ffe4e95p-6,  -0x1.9efce52e75fe3p-6,  0x1.a19652e80ab14p-6,   -0x1.f7130688e83eap-6,
                    0x1.8d86f6465d9bfp-5,  -0x1.fd1328181db4ep-4,  0x1.37f5dd35f91a9p+0});
}
/// sqrt(x) e^x K1(x) for x >= 2, t = 1/x - 1/4.
template <class B>
Val<B> besselK1Far(const Val<B>& t) {
  return horner(t, {-0x1.452831c151a63p+16, 0x1.117ca6a19bd7dp+15, 0x1.3c4fdb7cd414fp+14, -0x1.05e125ae88735p+13,
                    -0x1.81b78baa1e193p+11, 0x1.43d5fa37816e7p+10, 0x1.5a1c677bae58fp+7,  -0x1.0e97874470be0p+6,
                    -0x1.96991bcee2c41p+4,  0x1.7903c9e2547fbp+3,  -0x1.8de24418636eep+1, 0x1.b4430d67f157bp+0,
                    -0x1.09c84f7ec28adp+0,  0x1.2a4295113a889p-1,  -0x1.58221e39776edp-2, 0x1.9f9066481ff5bp-3,
                    -0x1.05ed19c260d3ap-3,  0x1.5ad10f374d834p-4,  -0x1.e6cab211687abp-5, 0x1.6e6b6fbd65210p-5,
                    -0x1.2cb02cb55ab05p-5,  0x1.1383aa1f74bacp-5,  -0x1.24bdedb3776b5p-5, 0x1.81bb3979370bep-5,
                    -0x1.6cd23ac7d4181p-4,  0x1.a7520dfb3f9a2p-2,  0x1.5cf785b4a0203p+0});
}
/// J0(x) over its first two zeros, (x^2 - r1^2)(x^2 - r2^2), for |x| <= 8, t = x^2 - 32.
template <class B>
Val<B> besselJ0Near(const Val<B>& t) {
  return horner(t, {0x1.3eb6de226dd20p-163, -0x1.e95102b32ada4p-153, 0x1.51aa149e38477p-142, -0x1.a21cdc8d5a73ap-132,
                    0x1.cca49fd0b58fcp-122, -0x1.c0368f8d6649ap-112, 0x1.7df1c9ec3df47p-102, -0x1.1a4d97749541fp-92,
                    0x1.65ec7d3757f19p-83, -0x1.801f7f33955dfp-74, 0x1.577f683baf78fp-65, -0x1.f633ea85ead22p-57,
                    0x1.250f53798032fp-48, -0x1.08db6a2de263fp-40, 0x1.6409a6fd7b18ap-33, -0x1.5059ea69f58a4p-26,
                    0x1.99e65104a68d3p-20, -0x1.15d87e4b8d5b1p-14, 0x1.2bc29174dd587p-10});
}
/// J1(x) / x over its first two positive zeros, for |x| <= 8, t = x^2 - 32.
template <class B>
Val<B> besselJ1Near(const Val<B>& t) {
  return horner(t, {0x1.e6777f1c4093dp-169, -0x1.882685a91da81p-158, 0x1.1cf3a4524dc6bp-147, -0x1.7484a2be55695p-137,
                    0x1.b2a6e4c8a9f88p-127, -0x1.c179ab6aa3fb1p-117, 0x1.98ae518e24a6ap-107, -0x1.43c20bf85e339p-97,
                    0x1.ba3fb2eea4c81p-88, -0x1.0137e01b6d799p-78, 0x1.f62979d67044bp-70, -0x1.941a82675761ep-61,
                    0x1.06438a6958c31p-52, -0x1.0af8bb9889ba1p-44, 0x1.9ac7788fbda1dp-37, -0x1.c5a7fc38dd1d3p-30,
                    0x1.4c9bd11c0aa3bp-23, -0x1.1adb1329ed86fp-17, 0x1.98ec1eee7c01ap-13});
}
/// Y0(x) - 2/pi log(x) J0(x) for x <= 8, t = x^2 - 32.
template <class B>
Val<B> besselY0Near(const Val<B>& t) {
  return horner(t, {-0x1.70f2c34104d06p-162, 0x1.16c72426cb472p-151, -0x1.7a1c6f0d7411cp-141, 0x1.cb85b2c2b08f8p-131,
                    -0x1.effd882e707b4p-121, 0x1.d7cb2daabbdc0p-111, -0x1.88011a9b85367p-101, 0x1.1998aaae89938p-91,
                    -0x1.5995ab1ed85d5p-82,  0x1.651b8eda1e013p-73,  -0x1.31537c5ccd741p-64,  0x1.a6a8c6c983768p-56,
                    -0x1.cc706012361fcp-48,  0x1.7bd6bf2ce921bp-40,  -0x1.c06cc647f6aa5p-33,  0x1.5827981135a27p-26,
                    -0x1.13da2b14a486ep-20,  0x1.272bb3b608b42p-18,  0x1.a5a81d661f788p-10,   -0x1.a828bfbfdc936p-6,
                    -0x1.876cb72f1c7ebp-2});
}
/// (Y1(x) - 2/pi (log(x) J1(x) - 1/x)) / x for x <= 8, t = x^2 - 32.
template <class B>
Val<B> besselY1Near(const Val<B>& t) {
  return horner(t, {-0x1.2009fe7b45224p-167, 0x1.ca156a848c51dp-157, -0x1.47f0b6d944874p-146, 0x1.a6016fbc6f445p-136,
                    -0x1.e411ff042f915p-126, 0x1.eb63f151926a8p-116, -0x1.b5d40e8fdb744p-106, 0x1.532f684841421p-96,
                    -0x1.c3f1d8ed88da7p-87,  0x1.ff34fc7731973p-78,  -0x1.e35169de5c743p-69,  0x1.76c164b855154p-60,
                    -0x1.d1604f9ccacf4p-52,  0x1.c097bb98fdbc5p-44,  -0x1.4198f92a31f2bp-36,  0x1.41bb6917b15dbp-29,
                    -0x1.923952d7c42a6p-23,  0x1.e16d7a1d07b70p-18,  0x1.7edab31507d03p-16,   -0x1.f26fddceafd0ep-8,
                    0x1.21d516f81acf6p-4});
}
/// P(0, x) for x >= 8, t = 64/x^2 - 1/2.
template <class B>
Val<B> hankelP0(const Val<B>& t) {
  return horner(t, {0x1.34caa6632a872p-34, -0x1.a85a25e0e4db4p-34, 0x1.4b57cdc5b18edp-34, -0x1.214e1a0304ff3p-33,
                    0x1.2b6e7c27aa61dp-32, -0x1.2b60513387ae8p-31, 0x1.4fdd63aab1945p-30, -0x1.b5bdf7a76e078p-29,
                    0x1.54df3303856ecp-27, -0x1.4d2f3c25c2669p-25, 0x1.b7ef11c70bf90p-23, -0x1.b8d2d6f57a06fp-20,
                    0x1.9be00160e8537p-16, -0x1.193600c1deb32p-10, 0x1.ffb8dd328503dp-1});
}
/// x Q(0, x) for x >= 8, t = 64/x^2 - 1/2.
template <class B>
Val<B> hankelQ0(const Val<B>& t) {
  return horner(t, {-0x1.5c372909e604fp-31, 0x1.c9af9c3d116f0p-31, -0x1.36db567656e35p-31, 0x1.03a67054839f2p-30,
                    -0x1.0668091946277p-29, 0x1.e92000e832cd3p-29, -0x1.f921a9be4b876p-28, 0x1.2b95c69e41f96p-26,
                    -0x1.a08311da2b2a8p-25, 0x1.61a5760762203p-23, -0x1.858d1bacfdbf7p-21, 0x1.3135a899d41e7p-18,
                    -0x1.8c84352849033p-15, 0x1.1e9a6138feebbp-10, -0x1.fdb5c0b2f3d5bp-4});
}
/// P(1, x) for x >= 8, t = 64/x^2 - 1/2.
template <class B>
Val<B> hankelP1(const Val<B>& t) {
  return horner(t, {-0x1.460af173d132fp-34, 0x1.c12b73473a30fp-34, -0x1.61601abd4fc2cp-34, 0x1.357bceaf27f87p-33,
                    -0x1.410a50c677dd6p-32, 0x1.429b69e6e6024p-31, -0x1.6c3ff82119dc5p-30, 0x1.de947b0ea8325p-29,
                    -0x1.78ba4e4b1350fp-27, 0x1.75eb0293f9667p-25, -0x1.f96170dc571f3p-23, 0x1.07762640ba4abp-19,
                    -0x1.0b1541bfc3a48p-15, 0x1.d73b8ea3c1247p-10, 0x1.003b716033732p+0});
}
/// x Q(1, x) for x >= 8, t = 64/x^2 - 1/2.
template <class B>
Val<B> hankelQ1(const Val<B>& t) {
  return horner(t, {0x1.6f044f2b7f8d2p-31, -0x1.e37e7306a7240p-31, 0x1.4af02165d68cfp-31, -0x1.1528cc57af727p-30,
                    0x1.1882a11595d42p-29, -0x1.069f2d4690fb8p-28, 0x1.10c4a3a300f0fp-27, -0x1.45d24c1553b8dp-26,
                    0x1.c92e10eca7a23p-25, -0x1.8922f957a2ee5p-23, 0x1.b9302a873b418p-21, -0x1.642312741e464p-18,
                    0x1.e8e009ca8f2fcp-15, -0x1.938da0a0a6a19p-10, 0x1.7f323705062fbp-2});
}

enum class BesselScale { None, Exponential };

/// I of order 0 or 1, or e^-|x| times that.
template <class B>
Val<B> besselI(const Val<B>& x, int order, BesselScale scale) {
  Val<B> a = abs(x);
  auto near = [&] {
    Val<B> z = a * a, y = order == 0 ? besselI0Near(z) : besselI1Near(z) * a;
    return scale == BesselScale::Exponential ? y * exp(-a) : y;
  };
  auto far = [&] {
    Val<B> t = 1 / a - 0.0625, y = (order == 0 ? besselI0Far(t) : besselI1Far(t)) / sqrt(a);
    if (scale == BesselScale::Exponential) return y;
    Val<B> e = exp(a * 0.5);  // e^x may overflow where I(x) does not
    return select(eq(a, kInf), kInf, (y * e) * e);
  };
  Val<B> y = either(a <= 8, a, near, far);
  return order == 0 ? y : flipSign(y, signBit(x));
}

/// K of order 0 or 1, or e^x times that: +inf at 0, NaN below.
template <class B>
Val<B> besselK(const Val<B>& x, int order, BesselScale scale) {
  auto near = [&] {
    Val<B> z = x * x, l = log(x) - 0x1.62e42fefa39efp-1;
    Val<B> y =
        order == 0 ? besselK0Near(z) - l * besselI0Near(z) : fma(x, fma(l, besselI1Near(z), besselK1Near(z)), 1 / x);
    return scale == BesselScale::Exponential ? y * exp(x) : y;
  };
  auto far = [&] {
    Val<B> t = 1 / x - 0.25, y = (order == 0 ? besselK0Far(t) : besselK1Far(t)) / sqrt(x);
    if (scale == BesselScale::Exponential) return y;
    Val<B> e = exp(x * -0.5);  // e^-x may underflow where K(x) keeps digits
    return (y * e) * e;
  };
  Val<B> y = either(x > 2, x, far, near);
  return select(eq(x, x), select(eq(x, 0), kInf, y), x);
}

/// J of order 0 or 1 at a <= 8: its zeros, each a sum of two numbers, times a polynomial.
template <class B>
Val<B> besselJNear(const Val<B>& a, int order) {
  auto at = [&](double zero, double low) { return ((a - zero) - low) * (a + zero); };
  Val<B> t = fma(a, a, -32);
  if (order == 0)
    return (at(0x1.33d152e971b40p+1, -0x1.0f539d7da258ep-53) * at(0x1.6148f5b2c2e45p+2, 0x1.75054cd60a517p-54)) *
           besselJ0Near(t);
  return ((at(0x1.ea75575af6f09p+1, -0x1.60155a9d1b256p-53) * at(0x1.c0ff5f3b47250p+2, -0x1.b226d9d243827p-54)) *
          besselJ1Near(t)) *
         a;
}

/// J (or Y) of order 0 or 1 at a >= 8, with cos(a - pi/4) = (cos a + sin a) / sqrt(2) and its like.
template <class B>
Val<B> besselFar(const Val<B>& a, int order, bool second) {
  Val<B> w = 8 / a, t = fma(w, w, -0.5);
  Val<B> p = order == 0 ? hankelP0(t) : hankelP1(t), q = (order == 0 ? hankelQ0(t) : hankelQ1(t)) * (w * 0.125);
  auto [r, rl, quadrant] = reduceTrig(a, true);
  Val<B> s = sinOfQuadrant(TrigArg<B>{r, rl, quadrant});
  Val<B> c = sinOfQuadrant(TrigArg<B>{r, rl, quadrant + quadrant.cst(1)});
  Val<B> sum = s + c, difference = s - c;
  // The phase of order 1 is a quarter turn behind.
  Val<B> cosine = order == 0 ? sum : difference, sine = order == 0 ? difference : -sum;
  Val<B> y = second ? fma(p, sine, q * cosine) : fma(p, cosine, -(q * sine));
  return select(eq(a, kInf), 0, y / (sqrt(a) * 0x1.c5bf891b4ef6bp+0));
}

template <class B>
Val<B> besselJ(const Val<B>& x, int order) {
  Val<B> a = abs(x);
  Val<B> y = either(a <= 8, a, [&] { return besselJNear(a, order); }, [&] { return besselFar(a, order, false); });
  return order == 0 ? y : flipSign(y, signBit(x));
}

/// Y of order 0 or 1: -inf at 0, NaN below.
template <class B>
Val<B> besselY(const Val<B>& x, int order) {
  const double twoOverPi = 0x1.45f306dc9c883p-1;
  auto near = [&] {
    Val<B> t = fma(x, x, -32), j = besselJNear(abs(x), order) * twoOverPi, l = log(x);
    return order == 0 ? fma(l, j, besselY0Near(t)) : fma(l, j, fma(x, besselY1Near(t), -twoOverPi / x));
  };
  Val<B> y = either(x <= 8, x, near, [&] { return select(eq(x, x), besselFar(x, order, true), x); });
  return select(eq(x, 0), -kInf, select(x < 0, kNaN, y));
}

template <class B>
Val<B> sphericalJ0(const Val<B>& x) {
  Val<B> a = abs(x);
  return select(eq(a, 0), 1, select(eq(a, kInf), 0, sin(a) / a));
}

}  // namespace detail

/// Modified Bessel functions of the first kind.
template <class B>
typename B::V i0(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselI(v, 0, detail::BesselScale::None); });
}
template <class B>
typename B::V i1(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselI(v, 1, detail::BesselScale::None); });
}
/// The same times e^-|x|.
template <class B>
typename B::V i0e(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselI(v, 0, detail::BesselScale::Exponential); });
}
template <class B>
typename B::V i1e(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselI(v, 1, detail::BesselScale::Exponential); });
}
/// Modified Bessel functions of the second kind: +inf at 0, NaN below.
template <class B>
typename B::V modified_bessel_k0(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselK(v, 0, detail::BesselScale::None); });
}
template <class B>
typename B::V modified_bessel_k1(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselK(v, 1, detail::BesselScale::None); });
}
/// The same times e^x.
template <class B>
typename B::V scaled_modified_bessel_k0(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselK(v, 0, detail::BesselScale::Exponential); });
}
template <class B>
typename B::V scaled_modified_bessel_k1(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselK(v, 1, detail::BesselScale::Exponential); });
}
/// Bessel functions of the first kind; 0 at the infinities.
template <class B>
typename B::V bessel_j0(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselJ(v, 0); });
}
template <class B>
typename B::V bessel_j1(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselJ(v, 1); });
}
/// Bessel functions of the second kind: -inf at 0, NaN below.
template <class B>
typename B::V bessel_y0(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselY(v, 0); });
}
template <class B>
typename B::V bessel_y1(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::besselY(v, 1); });
}
/// sin(x) / x.
template <class B>
typename B::V spherical_bessel_j0(B& b, typename B::V x) {
  return detail::inFloat64(b, x, [](const auto& v) { return detail::sphericalJ0(v); });
}

}  // namespace tandem::math
