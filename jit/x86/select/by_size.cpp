// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/by_size.h"

namespace hone::jit {

X86 masked_move_of(int size) {
  switch (size) {
    case 1:
      return X86::vmovdqu8;
    case 2:
      return X86::vmovdqu16;
    case 4:
      return X86::vmovups;
    default:
      return X86::vmovupd;
  }
}

X86 broadcast_of(int size, int width) {
  switch (size) {
    case 1:
      return X86::vpbroadcastb;
    case 2:
      return X86::vpbroadcastw;
    case 4:
      return X86::vbroadcastss;
    default:
      return width == 16 ? X86::vmovddup : X86::vbroadcastsd;
  }
}

X86 interleave_of(int size, bool upper) {
  switch (size) {
    case 1:
      return upper ? X86::vpunpckhbw : X86::vpunpcklbw;
    case 2:
      return upper ? X86::vpunpckhwd : X86::vpunpcklwd;
    case 4:
      return upper ? X86::vunpckhps : X86::vunpcklps;
    default:
      return upper ? X86::vunpckhpd : X86::vunpcklpd;
  }
}

}  // namespace hone::jit
