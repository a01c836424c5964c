// SPDX-License-Identifier: Apache-2.0
#include "tests/unit/select_nests.h"

#include <sys/mman.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>

#include "jit/interp/execute.h"
#include "jit/ir/half.h"
#include "jit/memory.h"
#include "jit/x86/compile.h"
#include "tests/support/isa_check.h"
#include "tests/unit/x86_machine.h"

namespace hone::tests {

namespace {

/// Bytes whose end, or start, touches a page without access.
class Guarded {
 public:
  Guarded(size_t bytes, bool at_start) {
    constexpr size_t kPage = 4096;
    const size_t pages = (bytes + kPage - 1) / kPage + 1;
    size_ = (pages + 1) * kPage;
    map_ = static_cast<uint8_t*>(
        mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    mprotect(map_, kPage, PROT_NONE);
    mprotect(map_ + size_ - kPage, kPage, PROT_NONE);
    data = at_start ? map_ + kPage : map_ + size_ - kPage - bytes;
  }
  Guarded(Guarded&& other) noexcept : data(other.data), map_(other.map_), size_(other.size_) {
    other.map_ = nullptr;
  }
  ~Guarded() {
    if (map_ != nullptr) munmap(map_, size_);
  }
  uint8_t* data = nullptr;

 private:
  uint8_t* map_ = nullptr;
  size_t size_ = 0;
};

int64_t evaluate(const ir::Expr& e, const std::vector<int64_t>& dims) {
  switch (e->op) {
    case ir::Op::kInt:
      return e->i;
    case ir::Op::kDim:
      return dims[e->id];
    case ir::Op::kAdd:
      return evaluate(e->args[0], dims) + evaluate(e->args[1], dims);
    case ir::Op::kSub:
      return evaluate(e->args[0], dims) - evaluate(e->args[1], dims);
    default:
      return evaluate(e->args[0], dims) * evaluate(e->args[1], dims);
  }
}

void put(uint8_t* at, DType type, double v) {
  const auto as = [&](auto x) { std::memcpy(at, &x, sizeof x); };
  switch (type) {
    case DType::kF64:
      return as(v);
    case DType::kF32:
      return as(static_cast<float>(v));
    case DType::kF16:
      return as(ir::f16_from(v));
    case DType::kBF16:
      return as(ir::bf16_from(v));
    case DType::kI64:
      return as(static_cast<int64_t>(v));
    case DType::kI32:
      return as(static_cast<int32_t>(v));
    case DType::kI16:
      return as(static_cast<int16_t>(v));
    case DType::kI8:
      return as(static_cast<int8_t>(v));
    case DType::kU8:
      return as(static_cast<uint8_t>(static_cast<int64_t>(v)));
    case DType::kBool:
      return as(static_cast<uint8_t>(v > 0));
    case DType::kF8E4M3:
      return as(ir::f8e4m3_from(v));
    case DType::kF8E5M2:
      return as(ir::f8e5m2_from(v));
    default:
      FAIL("elements of less than a byte are bytes by then");
  }
}

double take(const uint8_t* at, DType type) {
  const auto from = [&](auto x) {
    std::memcpy(&x, at, sizeof x);
    return x;
  };
  switch (type) {
    case DType::kF64:
      return from(double{});
    case DType::kF32:
      return static_cast<double>(from(float{}));
    case DType::kF16:
      return static_cast<double>(ir::f16_value(from(uint16_t{})));
    case DType::kBF16:
      return static_cast<double>(ir::bf16_value(from(uint16_t{})));
    case DType::kF8E4M3:
      return static_cast<double>(ir::f8e4m3_value(from(uint8_t{})));
    case DType::kF8E5M2:
      return static_cast<double>(ir::f8e5m2_value(from(uint8_t{})));
    case DType::kI64:
      return static_cast<double>(from(int64_t{}));
    case DType::kI32:
      return from(int32_t{});
    case DType::kI16:
      return from(int16_t{});
    case DType::kI8:
      return from(int8_t{});
    default:
      return from(uint8_t{});
  }
}

/// The call's memory: tensors with data in them, and the args struct.
struct Call {
  Call(const NestMaker& maker, bool at_start, double scale)
      : status(std::numeric_limits<int64_t>::max()) {
    const ir::Nest& nest = maker.nest;
    const ir::ArgsLayout layout = ir::args_layout(nest);
    args.assign(64, 0);
    args[0] = reinterpret_cast<int64_t>(&status);
    std::mt19937_64 random(17);
    size_t tensor = 0;
    for (const ir::NestBuffer& b : nest.buffers) {
      if (b.home != ir::Home::kArgument) continue;
      const int64_t count = evaluate(b.elements, maker.dim_values);
      const int size = size_of(b.type);
      tensors.emplace_back(static_cast<size_t>(count * size), at_start);
      std::uniform_real_distribution<double> real(-3 * scale, 3 * scale);
      std::uniform_int_distribution<int64_t> whole(-100, 100), index(0, 15);
      const bool is_index = b.name == "ids";
      for (int64_t i = 0; i < count; ++i) {
        double v = is_float(b.type) ? real(random) : static_cast<double>(whole(random));
        if (is_index) v = static_cast<double>(index(random));
        put(tensors.back().data + i * size, b.type, v);
      }
      bytes.push_back(static_cast<size_t>(count * size));
      types.push_back(b.type);
      names.push_back(b.name);
      args[static_cast<size_t>(layout.tensor_slots[tensor++])] =
          reinterpret_cast<int64_t>(tensors.back().data);
    }
    for (size_t i = 0; i < nest.dims.size(); ++i) {
      args[static_cast<size_t>(layout.dim_slots[i])] = maker.dim_values[i];
    }
    for (size_t i = 0; i < nest.scalars.size(); ++i) {
      put(reinterpret_cast<uint8_t*>(&args[static_cast<size_t>(layout.scalar_slots[i])]),
          nest.scalars[i].type, maker.scalar_values[i]);
    }
    scratch.assign(static_cast<size_t>(nest.worker_bytes) + 64, 0);
    extent = evaluate(nest.launches[0].extent, maker.dim_values);
  }
  void* scratch_base() {
    return reinterpret_cast<void*>((reinterpret_cast<uintptr_t>(scratch.data()) + 63) &
                                   ~uintptr_t{63});
  }
  int64_t status;
  std::vector<int64_t> args;
  std::vector<Guarded> tensors;
  std::vector<size_t> bytes;
  std::vector<DType> types;
  std::vector<std::string> names;
  std::vector<uint8_t> scratch;
  int64_t extent = 0;
};

std::string difference(const Call& got, const Call& want, double tolerance) {
  for (size_t t = 0; t < got.tensors.size(); ++t) {
    const DType type = got.types[t];
    const size_t size = static_cast<size_t>(size_of(type));
    double largest = 0;
    for (size_t i = 0; i < got.bytes[t]; i += size) {
      const double v = std::fabs(take(want.tensors[t].data + i, type));
      if (std::isfinite(v)) largest = std::max(largest, v);
    }
    for (size_t i = 0; i < got.bytes[t]; i += size) {
      const double a = take(got.tensors[t].data + i, type),
                   b = take(want.tensors[t].data + i, type);
      const double limit = is_float(type) ? tolerance * largest : 0;
      const bool same = std::isnan(b) ? std::isnan(a) : a == b || std::fabs(a - b) <= limit;
      if (!same) {
        return got.names[t] + "[" + std::to_string(i / size) + "] is " + std::to_string(a) +
               " where " + std::to_string(b) + " is right";
      }
    }
  }
  return got.status == want.status ? "" : "status differs";
}

}  // namespace

ir::Target avx2_target() {
  ir::Target t;
  t.isa = static_cast<uint32_t>(ir::Isa::kAvx2);
  return t;
}

ir::Target avx512_target() {
  ir::Target t = avx2_target();
  t.isa |= static_cast<uint32_t>(ir::Isa::kAvx512);
  return t;
}

std::vector<ir::Target> runnable_targets() {
  std::vector<ir::Target> targets;
  if (host_x86().has(ir::Isa::kAvx2)) targets.push_back(avx2_target());
  if (host_x86().has(ir::Isa::kAvx512)) targets.push_back(avx512_target());
  return targets;
}

int NestMaker::loop(const std::string& name) {
  nest.loops.push_back(name);
  return static_cast<int>(nest.loops.size()) - 1;
}

int NestMaker::tensor(const std::string& name, DType type, int64_t elements) {
  return tensor(name, type, ir::make_int(elements));
}

int NestMaker::tensor(const std::string& name, DType type, ir::Expr elements) {
  ir::NestBuffer b;
  b.name = name;
  b.type = type;
  b.elements = std::move(elements);
  b.slot = ir::ArgsLayout::kFirstTensor;
  for (const ir::NestBuffer& other : nest.buffers) b.slot += other.home == ir::Home::kArgument;
  nest.buffers.push_back(b);
  return static_cast<int>(nest.buffers.size()) - 1;
}

int NestMaker::worker(const std::string& name, DType type, int64_t elements) {
  ir::NestBuffer b;
  b.name = name;
  b.type = type;
  b.home = ir::Home::kWorker;
  b.elements = ir::make_int(elements);
  b.offset = nest.worker_bytes;
  b.max_bytes = elements * size_of(type);
  nest.worker_bytes += (b.max_bytes + 63) / 64 * 64;
  nest.buffers.push_back(b);
  return static_cast<int>(nest.buffers.size()) - 1;
}

int NestMaker::registers(const std::string& name, DType type, int64_t elements) {
  ir::NestBuffer b;
  b.name = name;
  b.type = type;
  b.home = ir::Home::kRegisters;
  b.elements = ir::make_int(elements);
  b.max_bytes = elements * size_of(type);
  nest.buffers.push_back(b);
  return static_cast<int>(nest.buffers.size()) - 1;
}

ir::Expr NestMaker::dim(const std::string& name, int64_t lo, int64_t hi, int64_t value) {
  ir::Dim d;
  d.name = name;
  d.lo = lo;
  d.hi = hi;
  nest.dims.push_back(d);
  dim_values.push_back(value);
  return ir::make_dim(name, static_cast<int>(nest.dims.size()) - 1);
}

ir::Expr NestMaker::scalar(const std::string& name, DType type) {
  ir::ScalarParam s;
  s.name = name;
  s.type = type;
  nest.scalars.push_back(s);
  scalar_values.push_back(1.75);
  return ir::make_scalar(name, type, static_cast<int>(nest.scalars.size()) - 1);
}

ir::Expr NestMaker::var(int loop) const {
  return ir::make_var(nest.loops[static_cast<size_t>(loop)], loop);
}

ir::Expr NestMaker::load(int buffer, ir::Expr offset) const {
  const ir::NestBuffer& b = nest.buffers[static_cast<size_t>(buffer)];
  ir::Node n;
  n.op = ir::Op::kLoad;
  n.type = b.type;
  n.id = buffer;
  n.name = b.name;
  n.args = {std::move(offset)};
  return ir::make_node(n);
}

ir::Expr NestMaker::guarded(int buffer, ir::Expr offset, ir::Expr condition,
                            ir::Expr otherwise) const {
  ir::Node n = *load(buffer, offset);
  n.guarded = true;
  n.args.push_back(std::move(condition));
  n.args.push_back(std::move(otherwise));
  return ir::make_node(n);
}

ir::StmtRef NestMaker::loop_over(int loop, ir::Mark mark, int64_t extent,
                                 std::vector<ir::StmtRef> body) const {
  return ir::make_for(loop, mark, ir::make_int(0), ir::make_int(extent), std::move(body));
}

void NestMaker::launch(int range, ir::Expr extent, std::vector<ir::StmtRef> body) {
  ir::Launch l;
  l.name = "launch";
  l.range = range;
  l.extent = std::move(extent);
  l.body = ir::make_sequence(std::move(body));
  nest.launches.push_back(l);
}

NestRun check_nest(const NestMaker& maker, const ir::Target& target, bool at_start,
                   double tolerance, double scale) {
  NestRun run;
  jit::EmitOptions options;
  options.keep_lir = true;
  options.debug = true;
  const auto code = jit::compile_x86(maker.nest, target, options);
  if (!code) {
    run.refusal = code.failure().reason;
    return run;
  }
  run.lir = code->lir;
  run.inner_spills = code->report.inner_spills;
  for (const int64_t entry : code->entries) {
    run.error = isa_violation(code->bytes, static_cast<size_t>(entry), target);
    if (!run.error.empty()) return run;
  }
  Call got(maker, at_start, scale), want(maker, at_start, scale);
  const jit::NestExecutor executor(maker.nest);
  if (const auto fault = executor.run(0, want.args.data(), 0, want.extent, want.scratch_base())) {
    run.error = "executor: " + fault->message;
    return run;
  }
  jit::ExecutableMemory memory;
  const auto span = memory.add(code->bytes);
  if (!span) {
    run.error = span.failure().message;
    return run;
  }
  using Function = void (*)(const int64_t*, int64_t, int64_t, void*);
  const auto fn =
      reinterpret_cast<Function>(reinterpret_cast<uintptr_t>(span->data + code->entries[0]));
  fn(got.args.data(), 0, got.extent, got.scratch_base());
  run.error = difference(got, want, tolerance);
  return run;
}

}  // namespace hone::tests
