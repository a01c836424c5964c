// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_code.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <future>
#include <utility>

#include "runtime/call/plan.h"
#include "tests/cuda/host_compile.h"
#include "tests/cuda/tensor_map.h"
#include "tests/support/source_root.h"

namespace hone::tests {
namespace {

namespace fs = std::filesystem;

/// Bytes of kernels in a unit, past which another begins. The compiler takes about 250 MB for the
/// header and a KB for each byte.
constexpr size_t kUnitBytes = 256 << 10;
constexpr size_t kAtOnce = 2;  ///< units that compile at the same time

constexpr const char* kExported = "extern \"C\" __attribute__((visibility(\"default\")))";

/// The function by which counts leave a library.
const std::string kRecorder = std::string(kExported) +
                              " void recorded(double* out) {\n"
                              "  for (int i = 0; i < 4; ++i) {\n"
                              "    out[i] = emulation::recorder.requests[i];\n"
                              "    out[4 + i] = emulation::recorder.cost[i];\n"
                              "  }\n  emulation::recorder = {};\n}\n";

/// A tensor map as the emulation reads it.
emulation::TensorFacts facts_of(const jit::CudaMap& map, const int64_t* args,
                                std::span<const int64_t> dims) {
  emulation::TensorFacts f;
  f.address = static_cast<uint64_t>(args[map.slot] + map.offset);
  f.rank = static_cast<uint32_t>(map.box.size());
  f.element = static_cast<uint32_t>(size_of(map.type));
  f.swizzle = static_cast<uint32_t>(map.swizzle);
  for (size_t d = 0; d < map.box.size(); ++d) {
    f.size[d] = static_cast<uint64_t>(runtime::evaluate(map.sizes[d], dims));
    f.stride[d] = static_cast<uint64_t>(runtime::evaluate(map.strides[d], dims));
    f.box[d] = static_cast<uint32_t>(map.box[d]);
  }
  return f;
}

/// 64 bytes of a kernel's parameters.
struct alignas(64) ParameterLine {
  unsigned long long words[8] = {};
};

bool has_elements(const emulation::TensorFacts& f) {
  return std::all_of(f.size, f.size + f.rank, [](uint64_t n) { return n > 0; });
}

/// The parameters of a launch that takes maps; none of one that does not. The map of a tensor
/// without elements is zeros, as the runtime leaves it, and so none that a copy may take.
std::vector<ParameterLine> parameters(const jit::CudaLaunch& launch, std::span<const int64_t> slots,
                                      std::span<const int64_t> dims) {
  if (launch.maps.empty()) return {};
  std::vector<ParameterLine> out((slots.size() + 7) / 8);
  std::copy(slots.begin(), slots.end(), reinterpret_cast<int64_t*>(out.data()));
  for (const jit::CudaMap& map : launch.maps) {
    ParameterLine two[2];
    const emulation::TensorFacts facts = facts_of(map, slots.data(), dims);
    if (has_elements(facts)) emulation::write_map(facts, two[0].words);
    out.insert(out.end(), two, two + 2);
  }
  return out;
}

}  // namespace

EmulatedCode::EmulatedCode(EmulatedCode&& o) noexcept
    : sources_(std::move(o.sources_)),
      units_(std::move(o.units_)),
      folder_(std::exchange(o.folder_, {})),
      records_(o.records_) {}

EmulatedCode::~EmulatedCode() {
  for (const Unit& u : units_) {
    if (u.library) dlclose(u.library);
  }
  if (!folder_.empty()) fs::remove_all(folder_);
}

int EmulatedCode::add(jit::CudaSource source) {
  sources_.push_back(std::move(source));
  return static_cast<int>(sources_.size()) - 1;
}

std::string EmulatedCode::compile() {
  std::string pattern = (fs::temp_directory_path() / "hone-cuda-XXXXXX").string();
  if (!mkdtemp(pattern.data())) return "no temporary folder";
  folder_ = pattern;
  const std::string header = emulation_header();
  size_t bytes = kUnitBytes;
  for (size_t s = 0; s < sources_.size(); ++s) {
    if (bytes >= kUnitBytes) {
      units_.push_back({s, s, nullptr});
      bytes = 0;
    }
    units_.back().end = s + 1;
    bytes += sources_[s].kernels.size();
  }
  std::string wrong;
  for (size_t first = 0; first < units_.size() && wrong.empty(); first += kAtOnce) {
    std::vector<std::future<std::string>> running;
    for (size_t u = first; u < std::min(first + kAtOnce, units_.size()); ++u) {
      running.push_back(
          std::async(std::launch::async, [this, u, &header] { return compile(u, header); }));
    }
    for (auto& r : running) wrong += r.get();
  }
  return wrong.substr(0, 4000);
}

/// Compiles the unit of number `u`.
std::string EmulatedCode::compile(size_t u, const std::string& header) {
  const std::string file = fmt::format("{}/kernels_{}.cpp", folder_, u);
  const std::string library = fmt::format("{}/kernels_{}.so", folder_, u);
  std::string text;
  if (records_) {  // what the compiler keeps of the header counts nothing
    text = fmt::format("#define HONE_RECORD 1\n#include \"{}/tests/cuda/emulation.h\"\n{}",
                       source_root(), jit::cuda_prelude_on_host());
  } else {
    text = fmt::format("#include \"{}\"\n", header);
  }
  for (size_t s = units_[u].begin; s < units_[u].end; ++s) text += text_of(s);
  if (records_) text += kRecorder;
  std::ofstream(file) << text;
  std::string wrong = compile_library(file, library, header);
  if (!wrong.empty()) return wrong;
  units_[u].library = dlopen(library.c_str(), RTLD_NOW);
  return units_[u].library ? "" : dlerror();
}

/// A source as part of its unit: its kernels and `run_N`, which starts them.
std::string EmulatedCode::text_of(size_t s) const {
  std::string text = fmt::format(
      "namespace source_{} {{\n{}static std::string run(int launch, const void* args, const "
      "unsigned* grid) {{\n  switch (launch) {{\n",
      s, sources_[s].kernels);
  const auto& launches = sources_[s].launches;
  for (size_t l = 0; l < launches.size(); ++l) {
    text += fmt::format(
        "    case {}: return emulation::launch({{grid[0], grid[1], grid[2]}}, {{{}, {}, {}}}, {}, "
        "[](const void* all) {{ emulation::call({}, all); }}, args, {{{}, {}, {}}});\n",
        l, launches[l].block[0], launches[l].block[1], launches[l].block[2],
        launches[l].dynamic_bytes, launches[l].symbol, launches[l].cluster[0],
        launches[l].cluster[1], launches[l].cluster[2]);
  }
  return text + fmt::format(
                    "  }}\n  return \"no such launch\";\n}}\n}}\n{1} void run_{0}(int launch, "
                    "const void* args, const unsigned* grid, std::string* out) {{\n"
                    "  *out = source_{0}::run(launch, args, grid);\n}}\n",
                    s, kExported);
}

std::array<double, 8> EmulatedCode::recorded() const {
  std::array<double, 8> all{};
  for (const Unit& u : units_) {
    std::array<double, 8> of_unit{};
    reinterpret_cast<void (*)(double*)>(dlsym(u.library, "recorded"))(of_unit.data());
    for (size_t i = 0; i < all.size(); ++i) all[i] += of_unit[i];
  }
  return all;
}

std::string EmulatedCode::run(int source, int launch, const int64_t* args,
                              std::span<const int64_t> dims) const {
  using Run = void (*)(int, const void*, const unsigned*, std::string*);
  const auto holds = [source](const Unit& u) { return static_cast<size_t>(source) < u.end; };
  const Unit& unit = *std::find_if(units_.begin(), units_.end(), holds);
  const auto run =
      reinterpret_cast<Run>(dlsym(unit.library, fmt::format("run_{}", source).c_str()));
  const jit::CudaLaunch& l =
      sources_[static_cast<size_t>(source)].launches[static_cast<size_t>(launch)];
  const std::array<int64_t, 3> blocks = jit::grid_of(l, dims);
  const unsigned grid[3] = {static_cast<unsigned>(blocks[0]), static_cast<unsigned>(blocks[1]),
                            static_cast<unsigned>(blocks[2])};
  std::string out;
  const std::vector<ParameterLine> all =
      parameters(l, {args, static_cast<size_t>(sources_[static_cast<size_t>(source)].slots)}, dims);
  run(launch, all.empty() ? static_cast<const void*>(args) : all.data(), grid, &out);
  return out;
}

}  // namespace hone::tests
