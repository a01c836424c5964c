// SPDX-License-Identifier: Apache-2.0
#include "tests/plain_c/backend.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "jit/passes/lower.h"
#include "tests/plain_c/print_c.h"

namespace hone::tests {
namespace {

using ir::Reject;

class EmittedC final : public jit::Code {
 public:
  EmittedC(ir::Nest nest, std::string text) : Code(std::move(nest)), source(std::move(text)) {}
  const std::string source;
};

/// A library that the system's compiler made; its file is gone once it is loaded.
class LoadedC final : public jit::Executable {
 public:
  LoadedC(void* library, size_t launches) : library_(library) {
    for (size_t i = 0; i < launches; ++i) {
      functions_.push_back(
          reinterpret_cast<Launch::Function>(dlsym(library, fmt::format("launch_{}", i).c_str())));
    }
  }
  ~LoadedC() override { dlclose(library_); }
  Result<Done> run(size_t launch, const int64_t* slots, const jit::Part& part) const override {
    functions_[launch](slots, part.begin, part.end, part.scratch);
    return Done{};
  }
  Launch::Function function(size_t launch) const override { return functions_[launch]; }

 private:
  void* library_;
  std::vector<Launch::Function> functions_;
};

Result<std::shared_ptr<const jit::Code>, Reject> emit(const ir::Program& scheduled,
                                                      const ir::Target& target,
                                                      const jit::EmitOptions&) {
  auto nest = jit::lower(scheduled, target);
  if (!nest) return nest.failure();
  std::string source = print_c(*nest);
  return std::shared_ptr<const jit::Code>(
      std::make_shared<EmittedC>(*std::move(nest), std::move(source)));
}

/// A folder for the time of a compile.
class Folder {
 public:
  Folder() {
    std::string name = std::filesystem::temp_directory_path() / "hone-plain-c-XXXXXX";
    path_ = mkdtemp(name.data()) ? name : "";
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  std::string file(const char* name) const { return path_ / name; }

 private:
  std::filesystem::path path_;
};

Result<std::shared_ptr<const jit::Executable>, Reject> load(std::shared_ptr<const jit::Code> code,
                                                            const ir::Target&, const jit::Place&) {
  const auto failed = [](std::string why) {
    return Reject{Reject::kFailed, {ErrorCode::kUnsupported, std::move(why)}};
  };
  const Folder folder;
  const std::string source = folder.file("kernel.c"), library = folder.file("kernel.so");
  std::ofstream(source) << static_cast<const EmittedC&>(*code).source;
  const char* compiler = std::getenv("CC");
  const std::string command =
      fmt::format("{} -std=gnu11 -O1 -w -ffp-contract=off -shared -fPIC -o {} {}",
                  compiler && *compiler ? compiler : "cc", library, source);
  if (std::system(command.c_str()) != 0) return failed("the compiler of C refuses " + source);
  void* const loaded = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!loaded) return failed(dlerror());
  return std::shared_ptr<const jit::Executable>(
      std::make_shared<LoadedC>(loaded, code->nest().launches.size()));
}

}  // namespace

const jit::Backend kPlainCBackend = {
    "plain C", [](const ir::Target& target) { return !target.is_cuda(); }, emit, load};

}  // namespace hone::tests
