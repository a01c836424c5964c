// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone::jit {

/// A function of the device that sm_90 has, as Intrinsic is one of every GPU. A source has those
/// that it calls.
struct Sm90Row {
  std::string templates;  ///< `template <int N>` where it is one
  std::string signature;  ///< `void mbarrier_init(u32 barrier, u32 count)`
  std::string device;     ///< body on the device
  std::string host;       ///< body in C++, the meaning
  bool exact = false;     ///< only code for this one architecture may call it: sm_90a

  /// The identifier of the signature.
  std::string name() const;
};

/// Rows of mbarriers, bulk and TMA copies, clusters, warp specialization and wgmma.
std::vector<Sm90Row> sm90_rows();

/// The products of warpgroups among them, a row for each shape and type.
std::vector<Sm90Row> sm90_wgmma();

/// What `kernels` call of sm90_rows(), as device code to stand before them; "" if nothing.
std::string sm90_rows_for(std::string_view kernels);

/// All of them by their meaning.
std::string sm90_rows_on_host();

/// Whether `kernels` must be compiled for sm_90a.
bool needs_sm90a(std::string_view kernels);

}  // namespace hone::jit
