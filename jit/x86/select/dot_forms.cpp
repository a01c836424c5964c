// SPDX-License-Identifier: Apache-2.0
#include "jit/x86/select/dot_forms.h"

namespace hone::jit {

namespace {

constexpr DotForm kDotForms[] = {
    {"vnni.u8i8", X86::vpdpbusd, true, 0},  {"vnni.i8i8", X86::vpdpbusd, true, 1},
    {"vnni.u8u8", X86::vpdpbusd, true, 2},  {"vnni.i16i16", X86::vpdpwssd, true, 0},
    {"bf16.dot", X86::vdpbf16ps, true, 0},  {"madd.i16i16", X86::vpmaddwd, false, 0},
    {"madd.u8i8", X86::vpmaddwd, false, 0}, {"madd.i8i8", X86::vpmaddwd, false, 0},
    {"madd.u8u8", X86::vpmaddwd, false, 0},
};

}  // namespace

const DotForm* form_named(std::string_view name) {
  for (const DotForm& form : kDotForms) {
    if (form.name == name) return &form;
  }
  return nullptr;
}

const ir::StoreStmt* only_store(const ir::Stmt& s) {
  const ir::Stmt* at = &s;
  while (ir::is<ir::SequenceStmt>(*at) && at->body.size() == 1) at = at->body[0].get();
  return ir::as<ir::StoreStmt>(*at);
}

}  // namespace hone::jit
