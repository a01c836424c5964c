// SPDX-License-Identifier: Apache-2.0
#include "tests/cuda/emulated_code.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "runtime/engine/plan.h"
#include "tests/cuda/tensor_map.h"
#include "tests/support/source_root.h"

namespace hone::tests {
namespace {

namespace fs = std::filesystem;

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
      folder_(std::exchange(o.folder_, {})),
      library_(std::exchange(o.library_, nullptr)) {}

EmulatedCode::~EmulatedCode() {
  if (library_) dlclose(library_);
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
  {
    std::ofstream file(folder_ + "/kernels.cpp");
    if (records_) file << "#define HONE_RECORD 1\n";
    file << "#include \"" << source_root() << "/tests/cuda/emulation.h\"\n"
         << jit::cuda_prelude_on_host();
    for (size_t s = 0; s < sources_.size(); ++s) {
      file << fmt::format("namespace source_{} {{\n{}", s, sources_[s].kernels)
           << "static std::string run(int launch, const void* args, const unsigned* grid) {\n"
           << "  switch (launch) {\n";
      const auto& launches = sources_[s].launches;
      for (size_t l = 0; l < launches.size(); ++l) {
        file << fmt::format(
            "    case {}: return emulation::launch({{grid[0], grid[1], grid[2]}}, {{{}, {}, {}}}, "
            "{}, [&] {{ emulation::call({}, args); }}, {{{}, {}, {}}});\n",
            l, launches[l].block[0], launches[l].block[1], launches[l].block[2],
            launches[l].dynamic_bytes, launches[l].symbol, launches[l].cluster[0],
            launches[l].cluster[1], launches[l].cluster[2]);
      }
      file << "  }\n  return \"no such launch\";\n}\n}\n"
           << fmt::format(
                  "extern \"C\" void run_{0}(int launch, const void* args, const unsigned* grid, "
                  "std::string* out) {{\n  *out = source_{0}::run(launch, args, grid);\n"
                  "}}\n",
                  s);
    }
  }
  if (records_) add_recorder();
  const char* given = std::getenv("CXX");
  const std::string compiler = given && *given ? given : "c++";
  const std::string command = compiler + " -std=c++20 -O1 -w -fPIC -shared -I\"" + source_root() +
                              "\" -o " + folder_ + "/kernels.so " + folder_ + "/kernels.cpp > " +
                              folder_ + "/log 2>&1";
  if (std::system(command.c_str()) != 0) {
    std::stringstream log;
    log << std::ifstream(folder_ + "/log").rdbuf();
    return log.str().substr(0, 4000);
  }
  library_ = dlopen((folder_ + "/kernels.so").c_str(), RTLD_NOW);
  return library_ ? "" : dlerror();
}

/// The function by which counts leave the library.
void EmulatedCode::add_recorder() const {
  std::ofstream(folder_ + "/kernels.cpp", std::ios::app)
      << "extern \"C\" void recorded(double* out) {\n"
         "  for (int i = 0; i < 4; ++i) {\n"
         "    out[i] = emulation::recorder.requests[i];\n"
         "    out[4 + i] = emulation::recorder.cost[i];\n"
         "  }\n  emulation::recorder = {};\n}\n";
}

std::array<double, 8> EmulatedCode::recorded() const {
  std::array<double, 8> out{};
  reinterpret_cast<void (*)(double*)>(dlsym(library_, "recorded"))(out.data());
  return out;
}

std::string EmulatedCode::run(int source, int launch, const int64_t* args,
                              std::span<const int64_t> dims) const {
  using Run = void (*)(int, const void*, const unsigned*, std::string*);
  const auto run = reinterpret_cast<Run>(dlsym(library_, fmt::format("run_{}", source).c_str()));
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
