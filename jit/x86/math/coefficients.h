// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace hone::jit {

/// The polynomials behind the scalar functions, lowest power first. Each is a weighted minimax fit
/// in 113-bit arithmetic. Coefficients are rounded one by one from the lowest power, with the rest
/// fitted anew. The figure in brackets is the largest error left after rounding. README.md has the
/// method.
template <class F>
struct Coefficients;

template <>
struct Coefficients<float> {
  /// e^r = 1 + r*(...), |r| <= ln2/2; error weighted by the result's ulp (1.1 ulp).
  static constexpr double kExp[] = {0x1.fffffp-1, 0x1.fffdc2p-2, 0x1.555c9p-3, 0x1.573bc2p-5,
                                    0x1.0efa7ap-7};

  /// 2^f = 1 + f*(...), 0 <= f <= 1 (0.99 ulp).
  static constexpr double kExp2[] = {0x1.62e4e2p-1, 0x1.ebd524p-3, 0x1.c969bcp-5, 0x1.260324p-7,
                                     0x1.ee51c2p-10};

  /// 2^f = 1 + f*(...), 0 <= f <= 1, for a result of its own (0.024 * 2^-24).
  static constexpr double kExp2Fine[] = {0x1.62e42ap-1, 0x1.ebfda8p-3,  0x1.c6832p-5,
                                         0x1.3d3c5cp-7, 0x1.456c08p-10, 0x1.c9274cp-13};

  /// e^r - 1 = r + r^2*(...), |r| <= ln2/2; relative error (0.23 * 2^-24).
  static constexpr double kExpm1[] = {0x1.fffffep-2, 0x1.5554b2p-3, 0x1.555702p-5, 0x1.1226a6p-7,
                                      0x1.6b8cb2p-10};

  /// 2^r - 1 = r*(...), |r| <= 1/2; relative error (0.22 * 2^-24).
  static constexpr double kExp2m1[] = {0x1.62e43p-1, 0x1.ebfbdep-3,  0x1.c6afa2p-5,
                                       0x1.3b2c3p-7, 0x1.5ef338p-10, 0x1.42a6e2p-13};

  /// sin r = r + r^3*(...)(r^2), |r| <= pi/2; relative error (0.16 * 2^-24), the last bits chosen
  /// for the error as evaluated.
  static constexpr double kSin[] = {-0x1.555548p-3, 0x1.110e3ap-7, -0x1.9f55acp-13, 0x1.5c5c72p-19};

  /// log(1+r) = r + r^2*(...), -1/4 <= r <= 1/2; relative error (0.083 * 2^-24).
  static constexpr double kLog[] = {-0.5,          0x1.5555a4p-2,  -0x1.00004ap-2,
                                    0x1.99699ep-3, -0x1.54ed96p-3, 0x1.28807ap-3,
                                    -0x1.0d98fp-3, 0x1.acf4aap-4,  -0x1.71e334p-5};

  /// log(1+e) = e*(...), 0 <= e <= 1; relative error (1 * 2^-24).
  static constexpr double kLog1p[] = {0x1.fffffep-1,  -0x1.fffdap-2,  0x1.5518fep-2,
                                      -0x1.fb49bep-3, 0x1.81372cp-3,  -0x1.0a7e52p-3,
                                      0x1.2024f2p-4,  -0x1.9257c2p-6, 0x1.046ddep-8};

  static constexpr double kErfLinear = -0x1.20dd76p+0;

  /// log(1 - erf a) = a*(kErfLinear + (...)), 0 <= a <= 3.92; weighted by its effect on erf,
  /// relative (0.067 * 2^-24).
  static constexpr double kErf[] = {0x1.d0e28cp-25, -0x1.45f2fap-1, -0x1.a4fa4ap-4,
                                    0x1.39cc9ep-6,  0x1.516b7ap-13, -0x1.b520c6p-10,
                                    0x1.4bec56p-11, -0x1.edb72p-14, 0x1.36d79p-17};

  /// log2((1 - Phi(x)) / Phi(x)) = x*(...)(x^2), Phi the normal distribution; weighted by Phi*(1 -
  /// Phi)*x (0.26 * 2^-23).
  static constexpr double kGelu[] = {-0x1.26aeccp+1, -0x1.ad672p-4,   0x1.87e878p-14,
                                     0x1.4f53aap-13, -0x1.823d02p-17, 0x1.a122b8p-22,
                                     -0x1.6bf46p-28};

  /// atanh s = s + s*z/3 + s*z^2*(...)(z), z = s^2, |s| <= 1/5; error relative to s (0.00069 *
  /// 2^-24).
  static constexpr double kAtanh[] = {0x1.999aa2p-3, 0x1.2419a6p-3, 0x1.e8fda4p-4};

  /// sinh x = x + x^3*(...)(x^2), |x| <= 1; relative error (0.0051 * 2^-24).
  static constexpr double kSinh[] = {0x1.555556p-3, 0x1.1110ep-7, 0x1.a022bcp-13, 0x1.756c1ep-19};

  /// atan t = t + t^3*(...)(t^2), |t| <= 1; relative error (0.048 * 2^-24).
  static constexpr double kAtan[] = {-0x1.55553ep-2, 0x1.9991e4p-3, -0x1.242086p-3,
                                     0x1.c08c48p-4,  -0x1.5808ep-4, 0x1.da29p-5,
                                     -0x1.fd7d66p-6, 0x1.64288ap-7, -0x1.d36e8ep-10};

  /// (1+r)^(-1/3), -1/4 <= r <= 1/2; relative error (2^-17.4).
  static constexpr double kInverseCbrt[] = {0x1.ffffccp-1,  -0x1.553c5ap-2, 0x1.c76758p-3,
                                            -0x1.6ba51cp-3, 0x1.2fa954p-3,  -0x1.434fcap-4};

  /// asin s = s + s*z*(...)(z), z = s^2, 0 <= s <= 1/2; relative error
  /// (0.082 * 2^-24).
  static constexpr double kAsin[] = {0x1.5555c8p-3, 0x1.330204p-4, 0x1.747bbap-5, 0x1.8c3e28p-6,
                                     0x1.595c92p-5};

  /// tan r = r + r^3*(...)(r^2), |r| <= pi/4; relative error
  /// (0.021 * 2^-24).
  static constexpr double kTan[] = {0x1.55556p-2, 0x1.110d9ep-3,  0x1.bad9c2p-5, 0x1.5cc0d4p-6,
                                    0x1.62cafp-7, 0x1.9c8966p-14, 0x1.1e8feep-8};
};

template <>
struct Coefficients<double> {
  /// e^r = 1 + r*(...), |r| <= ln2/2; error weighted by the result's ulp (0.026 ulp).
  static constexpr double kExp[] = {0x1p+0,
                                    0x1.0000000000008p-1,
                                    0x1.55555555554e5p-3,
                                    0x1.5555555550f87p-5,
                                    0x1.111111112d422p-7,
                                    0x1.6c16c182f05b2p-10,
                                    0x1.a01a010c9daccp-13,
                                    0x1.a0199cc1a65ep-16,
                                    0x1.71df65ce711afp-19,
                                    0x1.28ab5fcff7396p-22,
                                    0x1.ad1d6007ca76cp-26};

  /// 2^f = 1 + f*(...), 0 <= f <= 1 (0.021 ulp).
  static constexpr double kExp2[] = {
      0x1.62e42fefa39f7p-1,  0x1.ebfbdff82be8fp-3,  0x1.c6b08d706d014p-5,  0x1.3b2ab6f6345b8p-7,
      0x1.5d87ff743be97p-10, 0x1.4308f66d17c1fp-13, 0x1.ffd03878e213bp-17, 0x1.628ad30ecd0fep-20,
      0x1.b894cb40fc18p-24,  0x1.c15402106c102p-28, 0x1.5a78f8548b57fp-31};

  static constexpr const auto& kExp2Fine = kExp2;

  /// e^r - 1 = r + r^2*(...), |r| <= ln2/2; relative error (0.17 * 2^-53).
  static constexpr double kExpm1[] = {
      0x1.0000000000005p-1,  0x1.5555555555549p-3,  0x1.55555555521c8p-5,  0x1.11111111160fdp-7,
      0x1.6c16c17f0190cp-10, 0x1.a01a0181a7e99p-13, 0x1.a019a70c72772p-16, 0x1.71de70a40f04fp-19,
      0x1.28a243bcb10d5p-22, 0x1.ae8ba12f91804p-26};

  /// 2^r - 1 = r*(...), |r| <= 1/2; relative error (0.3 * 2^-53).
  static constexpr double kExp2m1[] = {
      0x1.62e42fefa39efp-1,  0x1.ebfbdff82c58ep-3,  0x1.c6b08d704a201p-5,  0x1.3b2ab6fba3e9cp-7,
      0x1.5d87fe7875e3cp-10, 0x1.43091302858f8p-13, 0x1.ffcbfd10071e7p-17, 0x1.62bfe5e671f4cp-20,
      0x1.b523fe45c4a64p-24, 0x1.e5e8bc64d7ef2p-28, 0x1.ead92c68231cdp-32};

  /// sin r = r + r^3*(...)(r^2), |r| <= pi/2; relative error (0.0035 * 2^-53).
  static constexpr double kSin[] = {
      -0x1.5555555555555p-3,  0x1.11111111110c3p-7,  -0x1.a01a01a014662p-13, 0x1.71de3a52651a9p-19,
      -0x1.ae6454b5845cfp-26, 0x1.6123c48fe8123p-33, -0x1.ae412c7cafbfbp-41, 0x1.87f0730a8512dp-49};

  /// 2*atanh s = 2*s + s*z*(...)(z), z = s^2, |s| <= 1/5; relative error (0.0012 * 2^-53).
  static constexpr double kLog[] = {
      0x1.555555555554fp-1, 0x1.999999999c17cp-2, 0x1.24924921e40f4p-2, 0x1.c71c749002cc3p-3,
      0x1.745c4ac91c5dp-3,  0x1.3b35c38165cb2p-3, 0x1.0dcb626f2356cp-3, 0x1.1b8313fad70b1p-3};

  /// log(1+e) = e*(...), 0 <= e <= 1; relative error (0.085 * 2^-53).
  static constexpr double kLog1p[] = {0x1p+0,
                                      -0x1.fffffffffff9fp-2,
                                      0x1.5555555551051p-2,
                                      -0x1.fffffffdd49bbp-3,
                                      0x1.99999951f9f64p-3,
                                      -0x1.55554fbe5368cp-3,
                                      0x1.2491fed912c5dp-3,
                                      -0x1.fffa8bc4f0b78p-4,
                                      0x1.c6f6a7ff56963p-4,
                                      -0x1.98d295c41d8f4p-4,
                                      0x1.712df318bceecp-4,
                                      -0x1.4b02194da5f5ep-4,
                                      0x1.202de44ca9889p-4,
                                      -0x1.d7112cff582d7p-5,
                                      0x1.5a88fee932487p-5,
                                      -0x1.b63230e3f3e69p-6,
                                      0x1.c57e8fb91a8b7p-7,
                                      -0x1.6b4df928e2732p-8,
                                      0x1.a25b66a0bebf5p-10,
                                      -0x1.31f85bf71de02p-12,
                                      0x1.a905cf56fcd2ep-16};

  static constexpr double kErfLinear = -0x1.20dd750429b6dp+0;

  /// log(1 - erf a) = a*(kErfLinear + (...)), 0 <= a <= 5.95; weighted by its effect on erf,
  /// relative (0.64 * 2^-53).
  static constexpr double kErf[] = {
      0x1.2a29a99de9e4ap-54,  -0x1.45f306dc9c993p-1,  -0x1.a4f4e2a1939cap-4,
      0x1.396685884b79dp-6,   0x1.b6b6d58799dap-13,   -0x1.bca6c303b1a87p-10,
      0x1.35682a1466585p-11,  -0x1.b374c00549ae1p-16, -0x1.0da6e2a401b0ap-14,
      0x1.ebf7ba12b9559p-16,  -0x1.774206044aea4p-19, -0x1.de70d5e72bbbap-19,
      0x1.461e9a24d1f72p-19,  -0x1.ca5431b59ca6cp-21, 0x1.75d99d71a32d2p-23,
      -0x1.1f875ac75b0b2p-27, -0x1.0b71ff28ea4dcp-27, 0x1.b169786432424p-29,
      -0x1.767a781a544ep-31,  0x1.a3fc72e9e219ap-34,  -0x1.32e2884c34bap-37,
      0x1.0bb684de6231cp-41,  -0x1.a934e77cadf34p-47};

  /// atanh s = s + s*z/3 + s*z^2*(...)(z), z = s^2, |s| <= 1/5; error relative to s (1.5e-05 *
  /// 2^-53).
  static constexpr double kAtanh[] = {
      0x1.9999999999967p-3, 0x1.2492492498f15p-3, 0x1.c71c71bc4eecbp-4, 0x1.745d1bd151c8dp-4,
      0x1.3b12963c768c4p-4, 0x1.113a55876fe28p-4, 0x1.dac940fa0272ep-5, 0x1.01938a60c6baap-4};

  /// sinh x = x + x^3*(...)(x^2), |x| <= 1; relative error (0.0023 * 2^-53).
  static constexpr double kSinh[] = {
      0x1.5555555555556p-3,  0x1.111111111101ep-7,  0x1.a01a01a037268p-13, 0x1.71de3a3b06e42p-19,
      0x1.ae646ff4d20d9p-26, 0x1.6116f4c25e7aap-33, 0x1.b5c8892007461p-41};

  /// atan t = t + t^3*(...)(t^2), |t| <= 1; relative error (0.071 * 2^-53).
  static constexpr double kAtan[] = {
      -0x1.5555555555526p-2, 0x1.99999999955b2p-3,  -0x1.249249237f49dp-3,  0x1.c71c717fca636p-4,
      -0x1.745d11adf38b8p-4, 0x1.3b1366921a9bbp-4,  -0x1.110e50cc4fa37p-4,  0x1.e1bba0757c252p-5,
      -0x1.ae5e4d00fc97ep-5, 0x1.82da25816a7e7p-5,  -0x1.59a18e786f6b7p-5,  0x1.2c27fb253dbb2p-5,
      -0x1.e9e11574efec8p-6, 0x1.68183fe05f73fp-6,  -0x1.c74058259e54dp-7,  0x1.d73ac7222de79p-8,
      -0x1.79aafafd66a19p-9, 0x1.b322b70f4e90dp-11, -0x1.3e717b836fdf4p-13, 0x1.baa830a1eb3d6p-17};

  /// (1+r)^(-1/3), -1/4 <= r <= 1/2; relative error (2^-30.7).
  static constexpr double kInverseCbrt[] = {
      0x1.fffffffe1ebd5p-1, -0x1.55555435f920ap-2, 0x1.c71c7e2ae8299p-3, -0x1.61fb27e5309c6p-3,
      0x1.26f920c30d646p-3, -0x1.fec10b7ea5153p-4, 0x1.c5e83463f6e31p-4, -0x1.a44ff113eebfcp-4,
      0x1.912d129aeb711p-4, -0x1.3f5ce19f195ccp-4, 0x1.08d4da57f9b71p-5};

  /// asin s = s + s*z*(...)(z), z = s^2, 0 <= s <= 1/2; relative error
  /// (0.0086 * 2^-53).
  static constexpr double kAsin[] = {
      0x1.5555555555577p-3, 0x1.333333332e131p-4, 0x1.6db6db721268p-5,  0x1.f1c71a94f2d98p-6,
      0x1.6e8bdee043801p-6, 0x1.1c49f05c7c2dp-6,  0x1.ca1f8d7c7f6f4p-7, 0x1.7585892e37503p-7,
      0x1.613c8f4b58821p-7, 0x1.e5f55fdd57505p-9, 0x1.639c7c059ddbdp-6, -0x1.57fd84b38f9a7p-6,
      0x1.0b46be12f2de2p-5};

  /// tan r = r + r^3*(...)(r^2), |r| <= pi/4; relative error
  /// (0.11 * 2^-53).
  static constexpr double kTan[] = {
      0x1.55555555554f2p-2,   0x1.11111111182d7p-3, 0x1.ba1ba1b46afaep-5,   0x1.664f49a88d8cfp-6,
      0x1.226e125609362p-7,   0x1.d6d9346c6ec99p-9, 0x1.7d5b5349d8b88p-10,  0x1.37faddc2c5e5cp-11,
      0x1.d26cd163f0a3ap-13,  0x1.1e317c680f0bp-13, -0x1.b95947e8c2493p-16, 0x1.76e38b909c432p-14,
      -0x1.7821ad8b3af4bp-15, 0x1.5de018f3c99p-16};
};

}  // namespace hone::jit
