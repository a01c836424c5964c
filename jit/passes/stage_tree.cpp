// SPDX-License-Identifier: Apache-2.0
#include "jit/passes/stage_tree.h"

namespace hone::jit {
namespace {

size_t depth_of(const ir::Stage& stage, const std::string& loop) {
  size_t depth = 0;
  while (depth < stage.loops.size() && stage.loops[depth].name != loop) ++depth;
  return depth;
}

}  // namespace

StageTree::StageTree(const ir::Program& program) : program_(program) {
  std::unordered_map<std::string, size_t> number;
  for (size_t s = 0; s < program.stages.size(); ++s) number.emplace(program.stages[s].name, s);
  for (size_t s = 0; s < program.stages.size(); ++s) {
    const ir::Stage& stage = program.stages[s];
    const auto owner = number.find(stage.at.stage);
    const bool root = stage.at.root() || owner == number.end();
    owner_.push_back(root ? kRoot : owner->second);
    depth_.push_back(root ? 0 : depth_of(program.stages[owner->second], stage.at.loop));
    each_load(stage, [&](const ir::Expr& load) {
      std::vector<size_t>& readers = readers_[load->name];
      if (readers.empty() || readers.back() != s) readers.push_back(s);
    });
  }
}

bool StageTree::is_inside(size_t s, const ir::Place& place) const {
  while (program_.stages[s].name != place.stage) {
    if (owner_[s] == kRoot) return false;
    const size_t owner = owner_[s];
    if (program_.stages[owner].name == place.stage) {
      return depth_[s] >= depth_of(program_.stages[owner], place.loop);
    }
    s = owner;
  }
  return true;
}

const std::vector<size_t>& StageTree::readers(const std::string& buffer) const {
  static const std::vector<size_t> none;
  const auto found = readers_.find(buffer);
  return found == readers_.end() ? none : found->second;
}

}  // namespace hone::jit
