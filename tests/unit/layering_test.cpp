// SPDX-License-Identifier: Apache-2.0
// Scans the source tree: who includes whom, and how large files, classes and functions are.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/support/source_root.h"
#include "tests/unit/source_sizes.h"

namespace fs = std::filesystem;
using hone::tests::source_root;

namespace {

/// What the sources below one folder may include of the project's own headers.
struct Layer {
  std::string_view folder;                 ///< the longest matching folder counts
  std::vector<std::string_view> includes;  ///< prefixes of the include paths allowed
};

/// Folders of runtime/, each of which may include itself and those before it.
constexpr std::string_view kRuntime[] = {"machine", "threads", "cache",        "call",   "device",
                                         "build",   "measure", "check",        "worker", "tune",
                                         "engine",  "model",   "kernel_check", "c",      "cli"};

const std::vector<Layer> kLayers = {
    {"include/hone/", {"hone/"}},
    {"jit/ir/", {"hone/", "jit/ir/"}},
    {"jit/passes/", {"hone/", "jit/ir/", "jit/passes/"}},
    {"jit/interp/", {"hone/", "jit/ir/", "jit/passes/", "jit/interp/", "jit/*"}},
    {"jit/native/", {"hone/", "jit/ir/", "jit/native/"}},
    {"jit/x86/math/", {"jit/ir/functions/", "jit/x86/math/"}},
    {"jit/x86/encode/", {"hone/", "jit/ir/", "jit/native/", "jit/x86/encode/"}},
    {"jit/x86/", {"hone/", "jit/ir/", "jit/passes/", "jit/native/", "jit/x86/", "jit/*"}},
    {"jit/cuda/", {"hone/", "jit/ir/", "jit/passes/", "jit/cuda/", "jit/*"}},
    {"jit/halide/",
     {"hone/", "jit/ir/", "jit/passes/", "jit/interp/", "jit/x86/", "jit/halide/", "jit/*"}},
    {"jit/", {"hone/", "jit/"}},
    {"ops/onnx/", {"hone/", "ops/onnx/"}},
    {"ops/", {"hone/", "jit/ir/", "ops/"}},
    {"schedules/", {"hone/", "jit/ir/", "jit/passes/", "jit/native/report/", "schedules/"}},
    {"runtime/", {"hone/", "jit/", "ops/", "schedules/", "runtime/"}},
    {"examples/", {"hone/"}},
    {"tests/", {"hone/", "jit/", "ops/", "schedules/", "runtime/", "bench/", "tests/"}},
    {"bench/", {"hone/", "jit/", "ops/", "schedules/", "runtime/", "bench/"}},
};

/// True if `path` starts with `prefix`, or, for a prefix "folder/*", lies directly in that folder.
bool matches(std::string_view path, std::string_view prefix) {
  if (!prefix.ends_with('*')) return path.starts_with(prefix);
  prefix.remove_suffix(1);
  return path.starts_with(prefix) && path.substr(prefix.size()).find('/') == std::string_view::npos;
}

const Layer* layer_of(std::string_view path) {
  const Layer* best = nullptr;
  for (const Layer& layer : kLayers) {
    if (!path.starts_with(layer.folder)) continue;
    if (!best || layer.folder.size() > best->folder.size()) best = &layer;
  }
  return best;
}

struct Include {
  std::string path;
  bool quoted = false;
};

/// The include that `line` states; an empty path when it states none.
Include parse_include(std::string_view line) {
  constexpr std::string_view kWord = "#include";
  if (!line.starts_with(kWord)) return {};
  const size_t open = line.find_first_of("<\"", kWord.size());
  if (open == std::string_view::npos) return {};
  const bool quoted = line[open] == '"';
  const size_t close = line.find(quoted ? '"' : '>', open + 1);
  if (close == std::string_view::npos) return {};
  return {std::string(line.substr(open + 1, close - open - 1)), quoted};
}

/// The place in kRuntime of the folder that `path` lies in; -1: none of them.
int runtime_place(std::string_view path) {
  constexpr std::string_view kTop = "runtime/";
  if (!path.starts_with(kTop)) return -1;
  path.remove_prefix(kTop.size());
  for (size_t i = 0; i < std::size(kRuntime); ++i) {
    if (path.starts_with(std::string(kRuntime[i]) + "/")) return static_cast<int>(i);
  }
  return -1;
}

/// Why a file of a folder of runtime/ may not include one of another; empty when it may.
std::string runtime_objection(std::string_view path, std::string_view target) {
  const int from = runtime_place(path), to = runtime_place(target);
  if (from < 0 || to <= from) return {};
  std::string text = "runtime's folders include earlier ones only:";
  for (std::string_view folder : kRuntime) text.append(" ").append(folder);
  return text;
}

/// Why the file at `path` may not include `include`; empty when it may.
std::string objection(std::string_view path, const Include& include) {
  const Layer* layer = layer_of(path);
  std::string_view target = include.path;
  if (target.starts_with("Halide") && !path.starts_with("jit/halide/")) {
    return "Halide is included in jit/halide/ only";
  }
  const bool ours = include.quoted || target.starts_with("hone/");
  if (!layer || !ours) return {};
  // Installed headers have no include/ above them; everybody else may write the path from the root.
  if (!path.starts_with("include/") && target.starts_with("include/hone/")) {
    target.remove_prefix(std::string_view("include/").size());
  }
  if (path.starts_with("examples/") && include.quoted) return "examples include <hone/...> only";
  if (std::string text = runtime_objection(path, target); !text.empty()) return text;
  for (std::string_view allowed : layer->includes) {
    if (matches(target, allowed)) return {};
  }
  std::string text = "may include only";
  for (std::string_view allowed : layer->includes) text.append(" ").append(allowed);
  return text;
}

std::vector<std::string> lines_of(const fs::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

/// Every C++ source of the tree, relative to its root.
std::vector<std::string> sources() {
  const fs::path root = source_root();
  std::vector<std::string> found;
  for (const char* top :
       {"include", "jit", "ops", "schedules", "runtime", "examples", "tests", "bench"}) {
    if (!fs::exists(root / top)) continue;
    for (const auto& entry : fs::recursive_directory_iterator(root / top)) {
      const std::string ext = entry.path().extension().string();
      if (!entry.is_regular_file() || (ext != ".cpp" && ext != ".h")) continue;
      std::string path = fs::relative(entry.path(), root).string();
      // A host project with a build folder of its own holds copies, not sources.
      if (path.find("/subprojects/") == std::string::npos) found.push_back(std::move(path));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// The type that `line` begins to define at the outermost level; empty when it begins none.
std::string defined_type(const std::string& line) {
  static const std::regex kType(
      R"(^(struct|class|union|enum class) (HONE_API )?([A-Z]\w*)( final)?( :[^;]*)? \{.*)");
  std::smatch match;
  return std::regex_match(line, match, kType) ? match[3].str() : std::string();
}

/// Calls `found(qualified name)` for every type that the file defines with linkage.
template <class Found>
void types_of(const std::vector<std::string>& lines, const Found& found) {
  std::vector<std::string> spaces;
  for (const std::string& line : lines) {
    if (line.starts_with("namespace ") && line.ends_with("{")) {
      spaces.push_back(line.substr(10, line.find_first_of(" {", 10) - 10));
    } else if (line.starts_with("}  // namespace") && !spaces.empty()) {
      spaces.pop_back();
    } else if (std::find(spaces.begin(), spaces.end(), "") == spaces.end()) {
      const std::string type = defined_type(line);
      std::string name;
      for (const std::string& space : spaces) name.append(space);
      if (!type.empty()) found(name + "::" + type);
    }
  }
}

constexpr int kMostMembers = 40, kMostHeaderLines = 250, kMostFunctionLines = 80;

/// Holds a header, or the class of that name in it, to its limit.
void check_size(std::string_view path, std::string_view name, int size, int limit) {
  CHECK_MESSAGE(size <= limit, path << ": " << (name.empty() ? "the header" : name) << " has "
                                    << size << ", more than " << limit);
}

}  // namespace

TEST_CASE("layering: the scanner objects to what breaks a rule") {
  const auto refused = [](std::string_view path, std::string_view line) {
    return !objection(path, parse_include(line)).empty();
  };
  CHECK(refused("jit/ir/expr.cpp", "#include \"jit/passes/lower.h\""));
  CHECK(refused("ops/parse.cpp", "#include \"schedules/step.h\""));
  CHECK(refused("ops/parse.cpp", "#include \"jit/passes/lower.h\""));
  CHECK(refused("schedules/steps/split.cpp", "#include \"ops/op.h\""));
  CHECK(refused("schedules/search/random.cpp", "#include \"runtime/engine.h\""));
  CHECK(refused("jit/x86/select/select.cpp", "#include \"jit/interp/run.h\""));
  CHECK(refused("jit/interp/run.cpp", "#include \"jit/x86/compile.h\""));
  CHECK(refused("jit/native/scan.cpp", "#include \"jit/x86/encode/forms.h\""));
  CHECK(refused("include/hone/hone.h", "#include \"jit/ir/expr.h\""));
  CHECK(refused("include/hone/hone.h", "#include \"include/hone/error.h\""));
  CHECK(refused("examples/hello.cpp", "#include \"runtime/engine.h\""));
  CHECK(refused("jit/ir/expr.h", "#include \"expr_fwd.h\""));
  CHECK(refused("ops/onnx/read.cpp", "#include \"ops/op.h\""));
  CHECK(refused("runtime/engine.cpp", "#include <Halide.h>"));
  CHECK_FALSE(refused("jit/halide/stage.cpp", "#include <Halide.h>"));
  CHECK_FALSE(refused("jit/ir/expr.h", "#include <vector>"));
  CHECK_FALSE(refused("jit/x86/encode.cpp", "#include \"jit/code.h\""));
  CHECK_FALSE(refused("ops/op.h", "#include \"include/hone/error.h\""));
  CHECK_FALSE(refused("examples/hello.cpp", "#include <hone/hone.h>"));
  CHECK_FALSE(refused("runtime/engine.cpp", "#include \"ops/op.h\""));
}

TEST_CASE("layering: every include of the tree goes the way the design allows") {
  const std::vector<std::string> files = sources();
  REQUIRE(files.size() > 3);
  for (const std::string& path : files) {
    int number = 0;
    for (const std::string& line : lines_of(fs::path(source_root()) / path)) {
      ++number;
      const std::string why = objection(path, parse_include(line));
      CHECK_MESSAGE(why.empty(), path << ":" << number << ": " << line << ": " << why);
    }
  }
}

// Two types of one name in one namespace are one type to the linker: whichever it meets first.
TEST_CASE("layering: a name with linkage names one type") {
  std::map<std::string, std::string> homes;
  for (const std::string& path : sources()) {
    if (path.starts_with("tests/") || path.starts_with("examples/")) continue;  // many programs
    types_of(lines_of(fs::path(source_root()) / path), [&](const std::string& type) {
      const auto [home, fresh] = homes.emplace(type, path);
      CHECK_MESSAGE(fresh, type << " is defined in " << home->second << " and in " << path);
    });
  }
  CHECK(homes.size() > 100);
}

TEST_CASE("layering: what people read has at most 120 columns") {
  int files = 0;
  for (const char* top : {"ops", "schedules", "jit", "runtime", "examples", "tests", "bench", ""}) {
    const fs::path root = fs::path(source_root()) / top;
    const auto check = [&](const fs::path& path) {
      if (path.extension() != ".md") return;
      ++files;
      const std::vector<std::string> lines = lines_of(path);
      for (size_t i = 0; i < lines.size(); ++i) {
        CHECK_MESSAGE(lines[i].size() <= 120, path.string() << ":" << i + 1);
      }
    };
    if (*top == '\0') {
      check(root / "README.md");
      continue;
    }
    for (const auto& entry : fs::recursive_directory_iterator(root)) check(entry.path());
  }
  CHECK(files >= 15);
}

TEST_CASE("layering: files outside tests stay under 600 lines and name their licence") {
  for (const std::string& path : sources()) {
    const std::vector<std::string> lines = lines_of(fs::path(source_root()) / path);
    CHECK_MESSAGE((path.starts_with("tests/") || lines.size() < 600),
                  path << " has " << lines.size() << " lines: two subjects in one");
    const bool licensed = !lines.empty() && lines[0] == "// SPDX-License-Identifier: Apache-2.0";
    CHECK_MESSAGE(licensed, path << ": the first line names the licence");
  }
}

TEST_CASE("layering: the scanner counts member functions and the lines of functions") {
  const hone::tests::SourceSizes found = hone::tests::sizes_of(R"(
// class Comment { void f(); };
namespace a {
template <class T>
class First final : public Base<T> {
 public:
  First(int a, std::function<void(int)> b = {}) : a_(a), b_{b} {
    if (a) { a_ = '{'; }
  }
  First(const First&) = delete;
  bool operator==(const First&) const = default;
  bool operator()(int a) const { return a < a_; }
  [[nodiscard]] virtual std::map<int, int> f(int a = g()) const = 0;
  template <class F>
  static void each(const F& f);
  friend void h(First&);
  struct Inner {
    int one() const { return 1; }
    int x = f(2);
  };

 private:
  int a_ = g(1);
  std::function<void(int)> b_{g(2)};
  void (*pointer_)(int) = nullptr;
  Inner inner_{g(3)};
};
constexpr auto kLambda = [](int x) {
  return x;
};
const char* const kText = "class Text { void f(); };";
void First<int>::each(int x)
#define BRACE {
{
  for (int i = 0; i < x; ++i) {
  }
}
}  // namespace a
)");
  REQUIRE(found.classes.size() == 2);
  CHECK(found.classes[0].name == "First");
  CHECK(found.classes[0].functions == 6);
  CHECK(found.classes[1].name == "Inner");
  CHECK(found.classes[1].functions == 1);
  REQUIRE(found.functions.size() == 4);
  CHECK(found.functions[0].lines == 3);
  CHECK(found.functions[3].name == "First::each");
  CHECK(found.functions[3].lines == 6);
}

TEST_CASE("layering: headers, classes and functions outside tests stay small") {
  size_t functions = 0;
  for (const std::string& path : sources()) {
    if (path.starts_with("tests/")) continue;
    const std::vector<std::string> lines = lines_of(fs::path(source_root()) / path);
    std::string text;
    for (const std::string& line : lines) text.append(line).append("\n");
    if (path.ends_with(".h")) {
      check_size(path, "", static_cast<int>(lines.size()), kMostHeaderLines);
    }
    const hone::tests::SourceSizes found = hone::tests::sizes_of(text);
    for (const hone::tests::ClassSize& c : found.classes) {
      check_size(path, c.name, c.functions, kMostMembers);
    }
    for (const hone::tests::FunctionSize& f : found.functions) {
      CHECK_MESSAGE(f.lines <= kMostFunctionLines,
                    path << ":" << f.line << ": " << f.name << " has " << f.lines << " lines");
    }
    functions += found.functions.size();
  }
  CHECK(functions > 3000);
}

TEST_CASE("layering: a rule's file, its constant and its name are one word") {
  int rules = 0;
  for (const char* kind : {"cpu", "gpu"}) {
    for (const auto& entry :
         fs::directory_iterator(source_root() + "/schedules/space/rules/" + kind)) {
      const std::string stem = entry.path().stem().string();
      if (stem == "table" || stem == "absent") continue;
      std::string constant = "k";
      for (size_t i = 0; i < stem.size(); ++i) {
        const bool begins = i == 0 || stem[i - 1] == '_';
        if (stem[i] != '_') {
          constant += begins ? static_cast<char>(std::toupper(stem[i])) : stem[i];
        }
      }
      std::ifstream in(entry.path());
      const std::string text{std::istreambuf_iterator<char>(in), {}};
      const std::string row =
          "const Rule " + std::string(kind) + "::" + constant + " = {\n    \"" + stem + "\",";
      CHECK_MESSAGE(text.find(row) != std::string::npos, entry.path().string(), " lacks ", row);
      ++rules;
    }
  }
  CHECK(rules > 15);
}
