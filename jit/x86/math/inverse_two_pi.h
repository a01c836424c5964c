// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>

namespace hone::jit {

/// 1/(2 pi) for arguments of any size. Entry b of the rows taken together is 2^(kWidth*b) / (2 pi)
/// without its multiples of 2^mantissa, as a sum of F values. Let x' = x / 2^(kWidth*b) be in [1,
/// 2^kWidth). The dropped part times x' is an integer, so the rest gives x / (2 pi) modulo 1.
template <class F>
struct InverseTwoPi;

template <>
struct InverseTwoPi<float> {
  static constexpr int kWidth = 8;
  static constexpr std::array<double, 16> kRows[4] = {
      {0x1.45f306p-3, 0x1.45f306p5, 0x1.45f306p13, 0x1.45f306p21, 0x1.f306dcp21, -0x1.f246c6p20,
       -0x1.236378p21, 0x1.391054p20, 0x1.1054a8p20, 0x1.529fc2p18, -0x1.ac07b2p21, -0x1.ec5418p15,
       0x1.3abe9p19, -0x1.505c16p21, -0x1.70565ap19, -0x1.596448p17},
      {0x1.b9391p-28, 0x1.b9391p-20, 0x1.b9391p-12, 0x1.b9391p-4, 0x1.391054p-4, -0x1.df56bp-5,
       0x1.529fc2p-6, 0x1.4fe13ap-5, -0x1.ec5418p-9, 0x1.d5f47ep-8, 0x1.5f47d4p-4, 0x1.f534dep-10,
       -0x1.596448p-7, 0x1.a6ee06p-5, 0x1.dc0db6p-6, 0x1.b6c52cp-11},
      {0x1.529fc2p-54, 0x1.529fc2p-46, 0x1.529fc2p-38, 0x1.529fc2p-30, 0x1.4fe13ap-29,
       -0x1.ec5418p-33, 0x1.d5f47ep-32, 0x1.7d1f54p-30, 0x1.f534dep-34, -0x1.65912p-33,
       0x1.a6ee06p-29, -0x1.f924ecp-37, 0x1.b6c52cp-35, 0x1.b6295ap-30, 0x1.4acc9ep-33,
       -0x1.9b0ef2p-36},
      {0x1.d5f47ep-80, 0x1.d5f47ep-72, 0x1.d5f47ep-64, 0x1.d5f47ep-56, 0x1.7d1f54p-54,
       0x1.f534dep-58, -0x1.65912p-57, -0x1.6447e4p-55, -0x1.f924ecp-61, 0x1.b6c52cp-59,
       0x1.b6295ap-54, 0x1.5993c4p-62, -0x1.9b0ef2p-60, -0x1.b0ef1cp-56, 0x1.0e4108p-60,
       0x1.041fe6p-62},
  };
};

template <>
struct InverseTwoPi<double> {
  static constexpr int kWidth = 64;
  static constexpr std::array<double, 16> kRows[5] = {
      {0x1.45f306dc9c883p-3, -0x1.9f246c6efab58p48, -0x1.8a82e0acb223fp50, -0x1.d6a66c3bc6fbep50,
       0x1.163abdebbc562p50, -0x1.b91c5bdb22d2p50, 0x1.25dd413a3243ap49, 0x1.deb1cb129a73fp50,
       0x1.1afa975da2427p47, 0x1.c7026b45f7e41p50, 0x1.1d639835339f5p50, 0x1.17e2ef7e4a0ecp48,
       -0x1.da00087e99fcp48, -0x1.0ee74a5f592e1p50, -0x1.30261b069ec91p49, 0x1.8fd9a797fa8b6p48},
      {-0x1.6b01ec5417056p-57, -0x1.ec54170565912p-9, -0x1.24eb53361de38p-5, -0x1.ae9c5421443aap-10,
       -0x1.236e4716f6c8bp-4, 0x1.924bba8274648p-8, -0x1.e214e34ed658cp-10, -0x1.77dca0ad144bbp-6,
       0x1.338e04d68befdp-7, 0x1.cc8eb1cc1a99dp-5, -0x1.8dee81d1081b6p-4, 0x1.ff897ffde0598p-6,
       -0x1.0d0ee74a5f593p-6, 0x1.b4d9fb3c9f2c2p-4, -0x1.85ce04cb0d00bp-5, -0x1.5b08a7028341dp-7},
      {-0x1.6447e493ad4cep-111, 0x1.b6c52b3278872p-67, 0x1.07f9458eaf7afp-60, 0x1.b7246e3a424ddp-66,
       -0x1.1ff9b6d115f63p-58, 0x1.cfe1deb1cb12ap-62, -0x1.177dca0ad144cp-66,
       -0x1.ec598e3f652e8p-60, -0x1.f633714e33e56p-61, -0x1.6c6f740e8840ep-63,
       0x1.d8ffc4bffef03p-61, 0x1.fde5e2316b415p-63, 0x1.f6d367ecf27cbp-62, 0x1.b74f463f669e6p-58,
       0x1.6ba93dd63f5f3p-61, -0x1.30be31821d6b6p-64},
      {0x1.e21c820ff28b2p-165, 0x1.07f9458eaf7afp-124, -0x1.d4f246dc8e2dfp-117,
       0x1.700324977504fp-121, 0x1.921cfe1deb1cbp-114, -0x1.63045df7282b4p-116,
       0x1.213a671c09ad1p-120, -0x1.037d8cdc538dp-115, -0x1.8c16c6f740e88p-115,
       0x1.41d8ffc4bffefp-117, -0x1.9fc04343b9d29p-116, -0x1.2e092c98130d8p-118,
       0x1.36e9e8c7ecd3dp-119, -0x1.5d28ad8453814p-118, -0x1.d0985f18c10ebp-119,
       0x1.2ea6bfb5fb12p-118},
      {-0x1.508510ea79237p-220, -0x1.d4f246dc8e2dfp-181, 0x1.374b801924bbbp-172,
       -0x1.cdbc603c429c7p-175, 0x1.29a73ee88235fp-170, -0x1.44bb7b16638fep-170,
       0x1.f7e413991d63ap-174, 0x1.a99cfa4e422fcp-169, -0x1.036be27003b4p-169,
       0x1.6603fbcbc462dp-176, -0x1.f592e092c9813p-170, -0x1.a7b24585ce04dp-173,
       -0x1.00ae9456c229cp-173, -0x1.a0e84c2f8c608p-174, -0x1.6b68aca025027p-173,
       -0x1.ca8bdea7f33eep-172},
  };
};

}  // namespace hone::jit
