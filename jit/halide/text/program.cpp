// SPDX-License-Identifier: Apache-2.0
#include "jit/halide/text/program.h"

#include <cctype>
#include <set>
#include <vector>

#include "jit/halide/schedule.h"
#include "jit/halide/stage.h"
#include "jit/halide/text/writer.h"
#include "jit/interp/reference.h"

namespace hone::jit {
namespace halide {
namespace {

/// What every program begins with.
constexpr char kHead[] = R"(#include <Halide.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

// A tensor with its memory: extents and strides in elements, Halide's innermost dimension first.
struct Tensor {
  Tensor(const char* name, Halide::Type type, std::vector<halide_dimension_t> dims, size_t elements)
      : name(name), memory(elements * type.bytes()), shape(std::move(dims)),
        buffer(type, memory.data(), static_cast<int>(shape.size()), shape.data()) {}
  // The elements as they lie in FOLDER/NAME; without a folder small numbers if floats, else 0.
  void read(const std::string& folder) {
    if (!folder.empty()) {
      std::ifstream file(folder + "/" + name, std::ios::binary);
      file.read(reinterpret_cast<char*>(memory.data()), static_cast<std::streamsize>(memory.size()));
    } else if (buffer.type() == Halide::Float(32)) {
      float* const x = reinterpret_cast<float*>(memory.data());
      for (size_t i = 0; i < memory.size() / 4; ++i) x[i] = static_cast<float>(i * 7 % 13) * 0.25f - 1.5f;
    }
  }
  void write(const std::string& folder) const {
    if (folder.empty()) return void(std::printf("%s is computed\n", name));
    std::ofstream file(folder + "/" + name, std::ios::binary);
    file.write(reinterpret_cast<const char*>(memory.data()), static_cast<std::streamsize>(memory.size()));
  }
  const char* name;
  std::vector<uint8_t> memory;
  std::vector<halide_dimension_t> shape;
  Halide::Buffer<> buffer;
};

// Arguments: a folder with a file for each tensor that is read; those written are left there.
int main(int argc, char** argv) {
  const std::string folder = argc > 1 ? argv[1] : "";

)";

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

/// Words of the lines that begin with `start`.
std::set<std::string> words_of(const std::vector<std::string>& lines, const std::string& start) {
  std::set<std::string> out;
  for (const std::string& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) {
      if (!is_word(line[i])) continue;
      size_t end = i;
      while (end < line.size() && is_word(line[end])) ++end;
      if (line.compare(i, start.size(), start) == 0) out.insert(line.substr(i, end - i));
      i = end;
    }
  }
  return out;
}

int64_t bits_of_one(DType type) {
  switch (type) {
    case DType::kF64:
      return 0x3ff0000000000000;
    case DType::kF32:
      return 0x3f800000;
    case DType::kF16:
      return 0x3c00;
    case DType::kBF16:
      return 0x3f80;
    default:
      return 1;
  }
}

/// One program's text, part by part.
class ProgramText {
 public:
  ProgramText(const ir::Program& program, const ir::Target& target)
      : program_(program), target_(target), buffers_(program) {}

  std::string text();

 private:
  void define();
  void schedule();
  void add_func(const Halide::Func& f);
  std::string declarations() const;
  std::string tensors() const;
  std::string realization() const;

  const ir::Program& program_;
  const ir::Target& target_;
  Buffers buffers_;
  std::vector<StageFuncs> made_;
  std::vector<Halide::Func> funcs_;
  std::vector<size_t> defined_;  ///< per Func, definitions that are printed
  Writer definitions_;
  std::vector<std::string> directives_;
};

/// Notes a Func, and prints the definitions that it has got.
void ProgramText::add_func(const Halide::Func& f) {
  size_t i = 0;
  while (i < funcs_.size() && funcs_[i].state() != f.state()) {
    if (funcs_[i].state()->name == f.state()->name)
      refuse("two Funcs are called " + f.state()->name);
    ++i;
  }
  if (i == funcs_.size()) funcs_.push_back(f), defined_.push_back(0);
  const auto& all = f.state()->definitions;
  for (size_t& n = defined_[i]; n < all.size(); ++n) definitions_.define(all[n].left, all[n].value);
}

void ProgramText::define() {
  StageMaker maker(program_, buffers_, target_.fast_float ? Floats::kFast : Floats::kStrict);
  for (const ir::Stage& s : program_.stages) {
    made_.push_back(maker.make(s));
    if (made_.back().reduction) add_func(*made_.back().reduction);
    add_func(made_.back().result);
  }
}

void ProgramText::schedule() {
  Scheduler scheduler(program_, buffers_, target_.vector_bytes(), Marks::kSplit);
  for (size_t i = program_.stages.size(); i-- > 0;) {
    scheduler.apply(program_.stages[i], made_[i]);
  }
  for (const Halide::Func& f : funcs_) {
    for (const std::string& line : f.state()->directives) directives_.push_back(line);
  }
}

std::string lines_of(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "  " + line + "\n";
  return out;
}

std::string ProgramText::declarations() const {
  std::string out;
  const std::vector<Halide::Argument> arguments = buffers_.arguments();
  for (const Halide::Argument& a : arguments) out += "  " + a.declaration + "\n";
  for (const Halide::Argument& a : arguments) out += lines_of(a.lines);
  for (const Halide::Func& f : funcs_) {
    out += "  Halide::Func " + f.state()->name + "(\"" + f.state()->name.substr(2) + "\");\n";
  }
  std::vector<std::string> lines = definitions_.lines();
  lines.insert(lines.end(), directives_.begin(), directives_.end());
  for (const std::string& v : words_of(lines, "v_")) {
    out += "  Halide::Var " + v + "(\"" + v.substr(2) + "\");\n";
  }
  for (const std::string& v : words_of(lines, "w_")) {
    out += "  Halide::RVar " + v + "(\"" + v.substr(2) + "\");\n";
  }
  return out;
}

std::string ProgramText::tensors() const {
  std::string out;
  std::vector<int64_t> dims;
  for (const ir::Dim& d : program_.dims) {
    dims.push_back(d.at.empty() ? d.hi : d.at.front());
    out += "  dim_" + plain_name(d.name) + ".set(" + std::to_string(dims.back()) + ");\n";
  }
  for (const ir::ScalarParam& s : program_.scalars) {
    out += "  scalar_" + plain_name(s.name) + ".set(" + std::to_string(bits_of_one(s.type)) +
           ");  // the bits of 1\n";
  }
  const std::vector<TensorView> views = parameter_views(program_, dims);
  size_t number = 0;
  for (const ir::Buffer& b : program_.buffers) {
    if (b.role == ir::Role::kTemp) continue;
    const TensorView& v = views[number++];
    const bool read = b.role != ir::Role::kOutput;
    const std::string name = plain_name(b.name);
    std::string shape;
    int64_t last = 0;
    for (size_t d = v.shape.size(); d-- > 0;) {
      const int64_t extent = read && v.shape[d] < 1 ? 1 : v.shape[d];
      last += (extent - 1) * v.strides[d];
      shape += (shape.empty() ? "{0, " : ", {0, ") + std::to_string(extent) + ", " +
               std::to_string(v.strides[d]) + "}";
    }
    out += "  Tensor t_" + name + "(\"" + name + "\", " + stored_type(b.type).text() + ", {" +
           shape + "}, " + std::to_string(last + 1) + ");\n";
    if (read) {
      out += "  t_" + name + ".read(folder);\n  in_" + name + ".set(t_" + name + ".buffer);\n";
    }
  }
  return out;
}

std::string ProgramText::realization() const {
  std::string funcs, tensors, writes;
  for (const ir::Buffer& b : program_.buffers) {
    const bool output = b.role == ir::Role::kOutput || b.role == ir::Role::kInOut;
    if (!output || !buffers_.written(b.name)) continue;
    const std::string name = plain_name(b.name);
    funcs += (funcs.empty() ? "f_" : ", f_") + name;
    tensors += (tensors.empty() ? "t_" : ", t_") + name + ".buffer";
    writes += "  t_" + name + ".write(folder);\n";
  }
  if (funcs.empty()) refuse("nothing is written");
  std::string out = "  Halide::Target target = Halide::get_host_target();\n";
  if (!target_.fast_float) out += "  target.set_feature(Halide::Target::StrictFloat);\n";
  return out + "  Halide::Pipeline pipeline(std::vector<Halide::Func>{" + funcs +
         "});\n  Halide::Realization out(std::vector<Halide::Buffer<>>{" + tensors +
         "});\n  pipeline.realize(out, target);\n" + writes + "  return 0;\n}\n";
}

std::string ProgramText::text() {
  if (!target_.autoschedule.empty()) refuse("autoschedule= leaves the schedule to Halide");
  define();
  schedule();
  std::string bounds;
  for (const Halide::Func& f : buffers_.outputs()) bounds += lines_of(*f.state()->output);
  return kHead + declarations() + "\n" + lines_of(definitions_.lines()) + "\n" +
         lines_of(directives_) + bounds + "\n" + tensors() + "\n" + realization();
}

}  // namespace
}  // namespace halide

Result<std::string> halide_program(const ir::Program& scheduled, const ir::Target& target,
                                   const std::string& title) {
  try {
    return "// " + title + "\n" + halide::ProgramText(scheduled, target).text();
  } catch (const ir::Reject& why) {
    return Failure{ErrorCode::kSchedule, "halide: " + why.reason};
  }
}

}  // namespace hone::jit
