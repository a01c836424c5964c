// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace hone::jit {

/// 1/pi for arguments of any size: entry b of the rows taken together is 2^(kWidth*b) / pi without
/// its multiples of 2^(mantissa + 1), as a sum of F values. For x' = x / 2^(kWidth*b) in [1,
/// 2^kWidth) the dropped part times x' is a multiple of 2, so what is left gives x / pi modulo 2.
template <class F>
struct InversePi;

template <>
struct InversePi<float> {
  static constexpr int kWidth = 8;
  static constexpr std::array<double, 16> kRows[4] = {
      {0x1.45f306p-2, 0x1.45f306p6, 0x1.45f306p14, 0x1.45f306p22, 0x1.f306dcp22, -0x1.f246c6p21,
       -0x1.236378p22, 0x1.391054p21, 0x1.1054a8p21, 0x1.529fc2p19, -0x1.ac07b2p22, -0x1.ec5418p16,
       0x1.3abe9p20, -0x1.505c16p22, -0x1.70565ap20, -0x1.596448p18},
      {0x1.b9391p-27, 0x1.b9391p-19, 0x1.b9391p-11, 0x1.b9391p-3, 0x1.391054p-3, -0x1.df56bp-4,
       0x1.529fc2p-5, 0x1.4fe13ap-4, -0x1.ec5418p-8, 0x1.d5f47ep-7, 0x1.5f47d4p-3, 0x1.f534dep-9,
       -0x1.596448p-6, 0x1.a6ee06p-4, 0x1.dc0db6p-5, 0x1.b6c52cp-10},
      {0x1.529fc2p-53, 0x1.529fc2p-45, 0x1.529fc2p-37, 0x1.529fc2p-29, 0x1.4fe13ap-28,
       -0x1.ec5418p-32, 0x1.d5f47ep-31, 0x1.7d1f54p-29, 0x1.f534dep-33, -0x1.65912p-32,
       0x1.a6ee06p-28, -0x1.f924ecp-36, 0x1.b6c52cp-34, 0x1.b6295ap-29, 0x1.4acc9ep-32,
       -0x1.9b0ef2p-35},
      {0x1.d5f47ep-79, 0x1.d5f47ep-71, 0x1.d5f47ep-63, 0x1.d5f47ep-55, 0x1.7d1f54p-53,
       0x1.f534dep-57, -0x1.65912p-56, -0x1.6447e4p-54, -0x1.f924ecp-60, 0x1.b6c52cp-58,
       0x1.b6295ap-53, 0x1.5993c4p-61, -0x1.9b0ef2p-59, -0x1.b0ef1cp-55, 0x1.0e4108p-59,
       0x1.041fe6p-61},
  };
};

template <>
struct InversePi<double> {
  static constexpr int kWidth = 64;
  static constexpr std::array<double, 16> kRows[5] = {
      {0x1.45f306dc9c883p-2, -0x1.9f246c6efab58p49, -0x1.8a82e0acb223fp51, -0x1.d6a66c3bc6fbep51,
       0x1.163abdebbc562p51, -0x1.b91c5bdb22d2p51, 0x1.25dd413a3243ap50, 0x1.deb1cb129a73fp51,
       0x1.1afa975da2427p48, 0x1.c7026b45f7e41p51, 0x1.1d639835339f5p51, 0x1.17e2ef7e4a0ecp49,
       -0x1.da00087e99fcp49, -0x1.0ee74a5f592e1p51, -0x1.30261b069ec91p50, 0x1.8fd9a797fa8b6p49},
      {-0x1.6b01ec5417056p-56, -0x1.ec54170565912p-8, -0x1.24eb53361de38p-4, -0x1.ae9c5421443aap-9,
       -0x1.236e4716f6c8bp-3, 0x1.924bba8274648p-7, -0x1.e214e34ed658cp-9, -0x1.77dca0ad144bbp-5,
       0x1.338e04d68befdp-6, 0x1.cc8eb1cc1a99dp-4, -0x1.8dee81d1081b6p-3, 0x1.ff897ffde0598p-5,
       -0x1.0d0ee74a5f593p-5, 0x1.b4d9fb3c9f2c2p-3, -0x1.85ce04cb0d00bp-4, -0x1.5b08a7028341dp-6},
      {-0x1.6447e493ad4cep-110, 0x1.b6c52b3278872p-66, 0x1.07f9458eaf7afp-59, 0x1.b7246e3a424ddp-65,
       -0x1.1ff9b6d115f63p-57, 0x1.cfe1deb1cb12ap-61, -0x1.177dca0ad144cp-65,
       -0x1.ec598e3f652e8p-59, -0x1.f633714e33e56p-60, -0x1.6c6f740e8840ep-62,
       0x1.d8ffc4bffef03p-60, 0x1.fde5e2316b415p-62, 0x1.f6d367ecf27cbp-61, 0x1.b74f463f669e6p-57,
       0x1.6ba93dd63f5f3p-60, -0x1.30be31821d6b6p-63},
      {0x1.e21c820ff28b2p-164, 0x1.07f9458eaf7afp-123, -0x1.d4f246dc8e2dfp-116,
       0x1.700324977504fp-120, 0x1.921cfe1deb1cbp-113, -0x1.63045df7282b4p-115,
       0x1.213a671c09ad1p-119, -0x1.037d8cdc538dp-114, -0x1.8c16c6f740e88p-114,
       0x1.41d8ffc4bffefp-116, -0x1.9fc04343b9d29p-115, -0x1.2e092c98130d8p-117,
       0x1.36e9e8c7ecd3dp-118, -0x1.5d28ad8453814p-117, -0x1.d0985f18c10ebp-118,
       0x1.2ea6bfb5fb12p-117},
      {-0x1.508510ea79237p-219, -0x1.d4f246dc8e2dfp-180, 0x1.374b801924bbbp-171,
       -0x1.cdbc603c429c7p-174, 0x1.29a73ee88235fp-169, -0x1.44bb7b16638fep-169,
       0x1.f7e413991d63ap-173, 0x1.a99cfa4e422fcp-168, -0x1.036be27003b4p-168,
       0x1.6603fbcbc462dp-175, -0x1.f592e092c9813p-169, -0x1.a7b24585ce04dp-172,
       -0x1.00ae9456c229cp-172, -0x1.a0e84c2f8c608p-173, -0x1.6b68aca025027p-172,
       -0x1.ca8bdea7f33eep-171},
  };
};

}  // namespace hone::jit
