// SPDX-License-Identifier: Apache-2.0
#include "bench/cuda/operands.h"

#include <algorithm>
#include <cstdlib>
#include <random>

#include "jit/interp/data.h"
#include "jit/interp/scalar.h"
#include "runtime/fine.h"
#include "runtime/measure/bound.h"

namespace hone::bench {
namespace {

constexpr int64_t kBlock = 4 << 20;

/// Random values of a type, as many as `bytes` hold: enough of them to keep the arithmetic busy.
std::vector<unsigned char> random_bytes(DType type, int64_t bytes, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> real(-1.0, 1.0);
  std::vector<unsigned char> out(static_cast<size_t>(bytes));
  const int64_t elements = bytes / size_of(type);
  for (int64_t i = 0; i < elements; ++i) {
    if (is_float(type)) {
      jit::write_float(type, out.data(), i, real(random));
    } else {
      jit::write_int(type, out.data(), i, static_cast<int64_t>(random() >> 1));
    }
  }
  return out;
}

/// The least prime that is not below `n`, or 1.
int64_t prime_from(int64_t n) {
  const auto prime = [](int64_t p) {
    for (int64_t d = 2; d * d <= p; ++d) {
      if (p % d == 0) return false;
    }
    return true;
  };
  while (n > 1 && !prime(n)) ++n;
  return std::max<int64_t>(1, n);
}

}  // namespace

int64_t GpuOperands::bytes_of(size_t p) const {
  return std::max<int64_t>(1, jit::span_of(views_[p])) * size_of(views_[p].type);
}

Result<std::shared_ptr<GpuOperands>> GpuOperands::create(std::shared_ptr<runtime::Gpu> gpu,
                                                         const ops::Problem& problem) {
  std::shared_ptr<GpuOperands> out(new GpuOperands(problem));
  out->gpu_ = std::move(gpu);
  const ir::Program& program = out->problem_.program;
  out->dims_ = runtime::timing_dims(program);
  out->views_ = jit::parameter_views(program, out->dims_);
  out->scalars_ = jit::scalar_values(program, 1);
  int64_t bytes = 0;
  for (size_t p = 0; p < out->views_.size(); ++p) bytes += out->bytes_of(p);
  const runtime::GpuFacts& facts = out->gpu_->facts();
  const int64_t wanted = 4 * facts.l2 / bytes + 2, room = facts.memory / 3 / bytes;
  out->sets_ = static_cast<size_t>(std::clamp<int64_t>(std::min(wanted, room), 1, 64));
  // Only data that is checked needs to be made with care.
  std::vector<std::vector<unsigned char>> host(out->views_.size());
  if (!program.checks.empty()) {
    std::vector<jit::TensorView> views = out->views_;
    for (size_t p = 0; p < views.size(); ++p) {
      host[p].resize(static_cast<size_t>(out->bytes_of(p)));
      views[p].data = host[p].data();
    }
    jit::fill_parameters(program, views, out->scalars_, out->dims_, jit::DataSet::kRandom, 1);
  }
  if (auto f = out->fill(host); !f) return f.failure();
  return out;
}

Result<Done> GpuOperands::fill(const std::vector<std::vector<unsigned char>>& host) {
  const runtime::UseGpu use(*gpu_);
  const jit::CudaDriver& driver = gpu_->driver();
  int error = use.error();
  for (size_t set = 0; set < sets_ && !error; ++set) {
    for (size_t p = 0; p < views_.size() && !error; ++p) {
      const auto bytes = static_cast<size_t>(bytes_of(p));
      uint64_t at = 0;
      error = driver.allocate(&at, bytes);
      if (error) break;
      memory_.push_back(at);
      if (!host[p].empty()) {
        error = driver.to_device(at, host[p].data(), bytes);
        continue;
      }
      const auto block = random_bytes(
          views_[p].type, std::min<int64_t>(kBlock, static_cast<int64_t>(bytes)), set * 16 + p);
      error = driver.to_device(at, block.data(), block.size());
      for (size_t done = block.size(); done < bytes && !error; done *= 2) {
        error = driver.copy_on(at + done, at, std::min(done, bytes - done), nullptr);
      }
    }
  }
  if (!error) error = driver.context_synchronize();
  return error ? gpu_->failed(error, "making the operands") : runtime::fine();
}

GpuOperands::~GpuOperands() {
  if (!gpu_ || gpu_->lost()) return;
  const runtime::UseGpu use(*gpu_);
  for (const uint64_t at : memory_) gpu_->driver().free(at);
}

int64_t GpuOperands::parameter(const char* name, int64_t otherwise) const {
  const std::string word = std::string(" ") + name + "=";
  const size_t at = problem_.text.rfind(word);
  return at == std::string::npos ? otherwise : std::atoll(problem_.text.c_str() + at + word.size());
}

jit::TensorView GpuOperands::view(size_t set, size_t p) const {
  jit::TensorView out = views_[p];
  out.data = reinterpret_cast<void*>(memory_[set * views_.size() + p]);
  return out;
}

Result<Done> GpuOperands::spoil() const {
  const runtime::UseGpu use(*gpu_);
  const size_t last = views_.size() - 1;
  int error =
      gpu_->driver().fill_on(memory_[last], 0xff, static_cast<size_t>(bytes_of(last)), nullptr);
  if (!error) error = gpu_->driver().context_synchronize();
  return error ? gpu_->failed(error, "clearing the output") : runtime::fine();
}

Result<std::vector<double>> GpuOperands::output(size_t most) const {
  constexpr int64_t kPart = int64_t{16} << 20;
  const runtime::UseGpu use(*gpu_);
  const jit::TensorView& v = views_.back();
  const int64_t size = size_of(v.type), count = bytes_of(views_.size() - 1) / size;
  const int64_t apart = prime_from(count / static_cast<int64_t>(most));
  std::vector<unsigned char> bytes(static_cast<size_t>(std::min(count * size, kPart)));
  std::vector<double> out;
  int error = gpu_->driver().context_synchronize();
  for (int64_t first = 0; first < count && !error; first += kPart / size) {
    const int64_t here = std::min(count - first, kPart / size);
    error = gpu_->driver().to_host(bytes.data(),
                                   memory_[views_.size() - 1] + static_cast<uint64_t>(first * size),
                                   static_cast<size_t>(here * size));
    for (int64_t at = (apart - first % apart) % apart; at < here && !error; at += apart) {
      out.push_back(is_float(v.type)
                        ? jit::read_float(v.type, bytes.data(), at)
                        : static_cast<double>(jit::read_int(v.type, bytes.data(), at)));
    }
  }
  if (error) return gpu_->failed(error, "reading the output");
  return out;
}

}  // namespace hone::bench
