// SPDX-License-Identifier: Apache-2.0
#include "jit/interp/execute.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include "jit/interp/execute_build.h"
#include "jit/interp/scalar.h"

namespace hone::jit {

using ir::Home;
using ir::Reduce;

struct NestExecutor::Compiled {
  ir::Nest nest;
  ir::ArgsLayout layout;
  std::vector<NestProgram> launches;
  std::vector<StmtTape> sizes;    ///< per buffer, its elements
  std::vector<StmtTape> extents;  ///< per launch

  /// A size for the dims in `args`.
  int64_t value(const StmtTape& size, const int64_t* args) const {
    std::vector<int64_t> env(nest.loops.size() + nest.dims.size() + nest.scalars.size());
    for (size_t d = 0; d < nest.dims.size(); ++d) {
      env[nest.loops.size() + d] = args[layout.dim_slots[d]];
    }
    Frame frame(size.tape, false, 1);
    frame.env = env.data();
    run_tape(size.tape, frame, 1);
    return frame.i(size.results[0])[0];
  }
};

namespace {

/// One run of one launch: registers, lanes and the buffers' places.
class LaunchRun {
 public:
  LaunchRun(const ir::Nest& nest, const ir::ArgsLayout& layout, const NestProgram& program,
            const std::vector<StmtTape>& sizes, const int64_t* args, void* scratch, Shadow* shadow)
      : nest_(nest), program_(program), args_(args), shadow_(shadow) {
    fill_env(layout);
    frames_.resize(program.tapes.size());
    place_buffers(sizes, scratch);
  }

  bool status_set() const { return status().load(std::memory_order_relaxed) != INT64_MAX; }

  void range(int loop, int64_t begin, int64_t end) {
    for (int64_t x = begin; x < end && !fault_; ++x) {
      env_[static_cast<size_t>(loop)] = x;
      run(program_.root);
    }
  }

  std::optional<ExecuteFault> fault_;

 private:
  struct Place {
    char* data = nullptr;
    int64_t elements = 0;
    std::vector<uint8_t>* written = nullptr;
  };
  /// The lanes under way: values of the lane loop.
  struct Lanes {
    int n = 1;
    int64_t values[kLanes];
  };

  std::atomic_ref<int64_t> status() const {
    return std::atomic_ref<int64_t>(*reinterpret_cast<int64_t*>(args_[ir::ArgsLayout::kStatus]));
  }

  void fill_env(const ir::ArgsLayout& layout) {
    env_.resize(nest_.loops.size() + nest_.dims.size() + nest_.scalars.size());
    float_env_.resize(nest_.scalars.size());
    const EnvLayout at{static_cast<int>(nest_.loops.size()), static_cast<int>(nest_.dims.size())};
    for (size_t d = 0; d < nest_.dims.size(); ++d) {
      env_[static_cast<size_t>(at.dim(static_cast<int>(d)))] = args_[layout.dim_slots[d]];
    }
    for (size_t s = 0; s < nest_.scalars.size(); ++s) {
      const DType type = nest_.scalars[s].type;
      const int64_t* slot = args_ + layout.scalar_slots[s];
      if (is_float(type)) {
        float_env_[s] = read_float(type, slot, 0);
      } else {
        env_[static_cast<size_t>(at.scalar(static_cast<int>(s)))] = read_int(type, slot, 0);
      }
    }
  }

  void place_buffers(const std::vector<StmtTape>& sizes, void* scratch) {
    tiles_.resize(nest_.buffers.size());
    for (size_t b = 0; b < nest_.buffers.size(); ++b) {
      const ir::NestBuffer& buffer = nest_.buffers[b];
      Frame frame(sizes[b].tape, false, 1);
      prepare(frame);
      run_tape(sizes[b].tape, frame, 1);
      Place p;
      p.elements = std::max<int64_t>(0, frame.i(sizes[b].results[0])[0]);
      const bool temporary = buffer.home >= Home::kWorkspace;
      if (buffer.home == Home::kArgument || buffer.home == Home::kBound) {
        p.data = reinterpret_cast<char*>(args_[buffer.slot]);
      } else if (buffer.home == Home::kWorkspace) {
        p.data = reinterpret_cast<char*>(args_[ir::ArgsLayout::kWorkspace]) + buffer.offset;
      } else if (buffer.home == Home::kWorker) {
        p.data = static_cast<char*>(scratch) + buffer.offset;
      } else {
        tiles_[b].resize(static_cast<size_t>(p.elements * size_of(buffer.type)));
        p.data = tiles_[b].data();
      }
      if (shadow_ && temporary) {
        p.written = &shadow_->written[b];
        if (buffer.home != Home::kWorkspace) p.written->clear();
        p.written->resize(static_cast<size_t>(p.elements));
      }
      places_.push_back(p);
    }
  }

  void prepare(Frame& frame) {
    frame.env = env_.data();
    frame.float_env = float_env_.data();
    frame.lane = lanes_.values;
    frame.load = load;
    frame.self = this;
    frame.arithmetic = Arithmetic::kRounded;
  }

  /// Runs tape `t` for the lanes under way.
  Frame& evaluate(int t) {
    const StmtTape& tape = program_.tapes[static_cast<size_t>(t)];
    auto& frame = frames_[static_cast<size_t>(t)];
    if (!frame) {
      frame = std::make_unique<Frame>(tape.tape, false, tape.lanes ? kLanes : 1);
      prepare(*frame);
    }
    run_tape(tape.tape, *frame, tape.lanes ? lanes_.n : 1);
    return *frame;
  }

  const std::vector<int>& results(int t) const {
    return program_.tapes[static_cast<size_t>(t)].results;
  }

  void fail(int buffer, int64_t offset, const char* what) {
    if (fault_) return;
    const Place& p = places_[static_cast<size_t>(buffer)];
    fault_ = ExecuteFault{fmt::format("{} element {} of {}, which has {}", what, offset,
                                      nest_.buffers[static_cast<size_t>(buffer)].name, p.elements)};
  }

  bool defined(int buffer, int64_t offset) const {
    const Place& p = places_[static_cast<size_t>(buffer)];
    return !p.written || (*p.written)[static_cast<size_t>(offset)] != 0;
  }

  bool readable(int buffer, int64_t offset) {
    const Place& p = places_[static_cast<size_t>(buffer)];
    if (static_cast<uint64_t>(offset) >= static_cast<uint64_t>(p.elements)) {
      fail(buffer, offset, "reads");
      return false;
    }
    if (!copying_ && !defined(buffer, offset)) {
      fail(buffer, offset, "reads, before it is written,");
      return false;
    }
    return true;
  }

  static void load(void* self, const TapeInstr& in, Frame& frame, int n, int dst) {
    auto& run = *static_cast<LaunchRun*>(self);
    const int64_t* offsets = frame.i(in.a);
    const int64_t* mask = in.b >= 0 ? frame.i(in.b) : nullptr;
    const bool floats = is_float(in.type);
    bool sound = true;
    for (int l = 0; l < n; ++l) {
      if (!mask || mask[l]) sound &= run.readable(in.slot, offsets[l]);
    }
    if (!sound) {
      std::memset(frame.f(dst), 0, static_cast<size_t>(n) * sizeof(double));
      return;
    }
    const Place& p = run.places_[static_cast<size_t>(in.slot)];
    if (floats) {
      gather_float(in.type, p.data, offsets, mask, n, frame.f(dst));
    } else {
      gather_int(in.type, p.data, offsets, mask, n, frame.i(dst));
    }
    for (int l = 0; mask && l < n; ++l) {
      if (mask[l]) continue;
      if (floats) {
        frame.f(dst)[l] = frame.f(in.c)[l];
      } else {
        frame.i(dst)[l] = frame.i(in.c)[l];
      }
    }
  }

  void run(const ExecNode& node) {
    switch (node.kind) {
      case ExecKind::kSequence:
        return run_body(node);
      case ExecKind::kFor:
        return run_for(node);
      case ExecKind::kIf:
        return run_if(node);
      case ExecKind::kStore:
        return run_store(node);
      case ExecKind::kCheck:
        return run_check(node);
    }
  }

  void run_body(const ExecNode& node) {
    for (const ExecNode& b : node.body) {
      if (fault_) return;
      run(b);
    }
  }

  bool varies(int tape) const {
    const StmtTape& t = program_.tapes[static_cast<size_t>(tape)];
    return std::any_of(t.results.begin(), t.results.end(),
                       [&](int r) { return t.tape.code[static_cast<size_t>(r)].varying; });
  }

  void run_for(const ExecNode& node) {
    if (varies(node.tape) && lanes_.n > 1) return run_each_lane(node);
    Frame& frame = evaluate(node.tape);
    const int64_t begin = frame.i(results(node.tape)[0])[0];
    const int64_t end = frame.i(results(node.tape)[1])[0];
    if (!node.opens_lanes) {
      for (int64_t x = begin; x < end && !fault_; ++x) {
        env_[static_cast<size_t>(node.id)] = x;
        run_body(node);
      }
      return;
    }
    for (int64_t x = begin; x < end && !fault_; x += kLanes) {
      lanes_.n = static_cast<int>(std::min<int64_t>(kLanes, end - x));
      for (int l = 0; l < lanes_.n; ++l) lanes_.values[l] = x + l;
      run_body(node);
    }
    lanes_.n = 1;
  }

  /// A loop whose bounds differ between lanes: one lane after the other.
  void run_each_lane(const ExecNode& node) {
    const Lanes all = lanes_;
    lanes_.n = 1;
    for (int l = 0; l < all.n && !fault_; ++l) {
      lanes_.values[0] = all.values[l];
      run_for(node);
    }
    lanes_ = all;
  }

  void run_if(const ExecNode& node) {
    Frame& frame = evaluate(node.tape);
    const int64_t* holds = frame.i(results(node.tape)[0]);
    const int n = program_.tapes[static_cast<size_t>(node.tape)].lanes ? lanes_.n : 1;
    const auto taken =
        static_cast<int>(std::count_if(holds, holds + n, [](int64_t h) { return h != 0; }));
    if (taken == n) return run(node.body[0]);
    const bool has_else = node.body.size() > 1;
    if (taken == 0) {
      if (has_else) run(node.body[1]);
      return;
    }
    const Lanes all = lanes_;
    int64_t taken_by[kLanes];
    std::copy_n(holds, n, taken_by);
    for (int side = 0; side < (has_else ? 2 : 1) && !fault_; ++side) {
      lanes_.n = 0;
      for (int l = 0; l < n; ++l) {
        if ((taken_by[l] != 0) == (side == 0)) lanes_.values[lanes_.n++] = all.values[l];
      }
      run(node.body[static_cast<size_t>(side)]);
    }
    lanes_ = all;
  }

  void run_check(const ExecNode& node) {
    Frame& frame = evaluate(node.tape);
    const int64_t* holds = frame.i(results(node.tape)[0]);
    const int64_t* position = frame.i(results(node.tape)[1]);
    const int n = program_.tapes[static_cast<size_t>(node.tape)].lanes ? lanes_.n : 1;
    for (int l = 0; l < n; ++l) {
      if (holds[l]) continue;
      auto word = status();
      int64_t seen = word.load();
      while (position[l] < seen && !word.compare_exchange_weak(seen, position[l])) {
      }
    }
  }

  static double combine(Reduce reduce, DType type, double a, double v) {
    switch (reduce) {
      case Reduce::kSum:
        return type == DType::kF64 ? a + v : static_cast<float>(a + v);
      case Reduce::kProd:
        return type == DType::kF64 ? a * v : static_cast<float>(a * v);
      case Reduce::kMax:
        return a > v || a != a ? a : v;
      default:
        return a < v || a != a ? a : v;
    }
  }

  static int64_t combine(Reduce reduce, int64_t a, int64_t v) {
    const auto x = static_cast<uint64_t>(a);
    const auto y = static_cast<uint64_t>(v);
    switch (reduce) {
      case Reduce::kSum:
        return static_cast<int64_t>(x + y);
      case Reduce::kProd:
        return static_cast<int64_t>(x * y);
      case Reduce::kMax:
        return std::max(a, v);
      case Reduce::kMin:
        return std::min(a, v);
      case Reduce::kAny:
        return (a | v) != 0;
      default:
        return a != 0 && v != 0;
    }
  }

  /// A copy of an element that was never written is undefined as well. Windows are copied whole,
  /// and the part that a `where` leaves out is not read.
  void note_written(const ExecNode& node, const StmtTape& tape, Frame& frame, int lane,
                    int64_t offset) {
    Place& p = places_[static_cast<size_t>(node.id)];
    bool sound = true;
    if (node.copies) {
      const TapeInstr& load = tape.tape.code[static_cast<size_t>(tape.results[1])];
      const int64_t from = frame.i(load.a)[load.varying ? lane : 0];
      sound = defined(load.slot, from);
      if (!sound && !p.written) fail(load.slot, from, "reads, before it is written,");
    }
    if (p.written) (*p.written)[static_cast<size_t>(offset)] = sound;
  }

  void run_store(const ExecNode& node) {
    copying_ = node.copies;
    Frame& frame = evaluate(node.tape);
    copying_ = false;
    if (fault_) return;
    const StmtTape& tape = program_.tapes[static_cast<size_t>(node.tape)];
    const int n = tape.lanes ? lanes_.n : 1;
    const int64_t* offsets = frame.i(tape.results[0]);
    const DType type = nest_.buffers[static_cast<size_t>(node.id)].type;
    Place& p = places_[static_cast<size_t>(node.id)];
    for (int l = 0; l < n; ++l) {
      if (static_cast<uint64_t>(offsets[l]) >= static_cast<uint64_t>(p.elements)) {
        return fail(node.id, offsets[l], "writes");
      }
      if (node.reduce != Reduce::kNone && !readable(node.id, offsets[l])) return;
      if (shadow_) note_written(node, tape, frame, l, offsets[l]);
      if (is_float(type)) {
        double v = frame.f(tape.results[1])[l];
        if (node.reduce != Reduce::kNone) {
          v = combine(node.reduce, type, read_float(type, p.data, offsets[l]), v);
        }
        write_float(type, p.data, offsets[l], v);
      } else {
        int64_t v = frame.i(tape.results[1])[l];
        if (node.reduce != Reduce::kNone) {
          v = combine(node.reduce, read_int(type, p.data, offsets[l]), v);
        }
        write_int(type, p.data, offsets[l], v);
      }
    }
  }

  const ir::Nest& nest_;
  const NestProgram& program_;
  const int64_t* args_;
  Shadow* shadow_;
  std::vector<int64_t> env_;
  std::vector<double> float_env_;
  std::vector<Place> places_;
  std::vector<std::vector<char>> tiles_;
  std::vector<std::unique_ptr<Frame>> frames_;
  Lanes lanes_;
  bool copying_ = false;
};

}  // namespace

NestExecutor::NestExecutor(ir::Nest nest) {
  auto c = std::make_unique<Compiled>();
  c->nest = std::move(nest);
  c->layout = args_layout(c->nest);
  for (const ir::Launch& l : c->nest.launches) c->launches.push_back(build_launch(c->nest, l));
  for (const ir::NestBuffer& b : c->nest.buffers) {
    c->sizes.push_back(build_size(c->nest, b.elements));
  }
  for (const ir::Launch& l : c->nest.launches) {
    c->extents.push_back(build_size(c->nest, l.extent));
  }
  compiled_ = std::move(c);
}

NestExecutor::NestExecutor(NestExecutor&&) noexcept = default;
NestExecutor& NestExecutor::operator=(NestExecutor&&) noexcept = default;
NestExecutor::~NestExecutor() = default;

const ir::Nest& NestExecutor::nest() const { return compiled_->nest; }

int64_t NestExecutor::extent(int launch, const int64_t* args) const {
  return compiled_->value(compiled_->extents[static_cast<size_t>(launch)], args);
}

int64_t NestExecutor::elements(int buffer, const int64_t* args) const {
  return compiled_->value(compiled_->sizes[static_cast<size_t>(buffer)], args);
}

Shadow NestExecutor::make_shadow() const {
  return {std::vector<std::vector<uint8_t>>(compiled_->nest.buffers.size())};
}

std::optional<ExecuteFault> NestExecutor::run(int launch, const int64_t* args, int64_t begin,
                                              int64_t end, void* scratch, Shadow* shadow) const {
  const auto l = static_cast<size_t>(launch);
  LaunchRun run(compiled_->nest, compiled_->layout, compiled_->launches[l], compiled_->sizes, args,
                scratch, shadow);
  if (run.status_set()) return std::nullopt;
  run.range(compiled_->nest.launches[l].range, begin, end);
  return run.fault_;
}

}  // namespace hone::jit
