// SPDX-License-Identifier: Apache-2.0
#include "jit/cuda/forms.h"

#include <algorithm>
#include <string>

namespace hone::jit {
namespace {

constexpr CudaForm kForms[] = {
    {"ascending-blocks", &CudaForms::ascending_blocks,
     "blocks start in the order of their index, also where the last have the most work"},
    {"fenced-arrive", &CudaForms::fenced_arrive,
     "warps free a slot of another block of the cluster with a fence of the whole GPU"},
    {"fenced-cluster", &CudaForms::fenced_cluster,
     "blocks of a cluster meet, at both ends of a launch, with such a fence"},
    {"plain-stores", &CudaForms::plain_stores,
     "stores of several elements are left to the compiler to put together"},
    {"status-always", &CudaForms::status_always,
     "every launch reads the status word first, also where nothing checks data"},
};

}  // namespace

std::span<const CudaForm> all_cuda_forms() { return kForms; }

Result<CudaForms> parse_cuda_forms(std::string_view text) {
  CudaForms out;
  while (!text.empty()) {
    const std::string_view name = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), name.size() + 1));
    const auto found = std::find_if(std::begin(kForms), std::end(kForms),
                                    [&](const CudaForm& f) { return name == f.name; });
    if (found == std::end(kForms)) {
      std::string known;
      for (const CudaForm& f : kForms) known += (known.empty() ? "" : ", ") + std::string(f.name);
      return Failure{ErrorCode::kArgument, "there is no form \"" + std::string(name) +
                                               "\" of kernels; there are " + known};
    }
    out.*found->member = true;
  }
  return out;
}

}  // namespace hone::jit
