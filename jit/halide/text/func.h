// SPDX-License-Identifier: Apache-2.0
// The rest of Halide.h: what is defined and scheduled.
#pragma once

namespace Halide {

/// A scalar argument.
template <class T>
class Param {
 public:
  explicit Param(const std::string& name) : name_(name) {}
  void set_min_value(T) {}
  void set_max_value(T) {}
  void set_estimate(T) {}
  const std::string& name() const { return name_; }
  operator Expr() const { return named_expr(Int(8 * static_cast<int>(sizeof(T))), name_); }

 private:
  std::string name_;
};

/// A tensor argument.
class ImageParam {
 public:
  ImageParam(Type type, int rank, const std::string& name)
      : type_(type), rank_(rank), name_(name) {}
  Internal::Dimension dim(int d) const;
  Expr operator()(const std::vector<Expr>& at) const { return call_expr(type_, name_, at); }
  const std::string& name() const { return name_; }
  /// The declaration, and what is said of its dimensions.
  std::string declaration() const;
  const std::vector<std::string>& lines() const { return *lines_; }

 private:
  Type type_;
  int rank_;
  std::string name_;
  Lines lines_ = std::make_shared<std::vector<std::string>>();
};

/// The name of an argument.
struct Argument {
  explicit Argument(const ImageParam& image)
      : name(image.name()), declaration(image.declaration()) {
    lines = image.lines();
  }
  template <class T>
  explicit Argument(const Param<T>& param)
      : name(param.name()),
        declaration("Halide::Param<int" + std::to_string(8 * sizeof(T)) + "_t> " + name + "(\"" +
                    name + "\");") {}
  std::string name;
  std::string declaration;
  std::vector<std::string> lines;
};

/// What handles of one Func share.
struct FuncState {
  struct Definition {
    std::string left;
    Expr value;
  };
  std::string name;
  std::vector<Definition> definitions;
  std::vector<std::string> directives;
  Lines output = std::make_shared<std::vector<std::string>>();  ///< of its dimensions
};

class FuncRef {
 public:
  FuncRef(std::shared_ptr<FuncState> state, std::vector<Expr> at)
      : state_(std::move(state)), at_(std::move(at)) {}
  void operator=(const Expr& value);
  operator Expr() const;

 private:
  std::shared_ptr<FuncState> state_;
  std::vector<Expr> at_;
};

enum class TailStrategy : uint8_t { GuardWithIf, ShiftInwards };

class Func;

struct LoopLevel {
  LoopLevel(const Func& func, const VarOrRVar& loop);
  std::string text;
};

/// One definition of a Func, for directives.
class Stage {
 public:
  explicit Stage(const Func& func);
  Stage(std::shared_ptr<FuncState> state, const std::string& text)
      : state_(std::move(state)), text_(text) {}
  void split(const VarOrRVar& loop, const VarOrRVar& outer, const VarOrRVar& inner,
             const Expr& factor, TailStrategy tail);
  void fuse(const VarOrRVar& inner, const VarOrRVar& outer, const VarOrRVar& fused);
  void reorder(const std::vector<VarOrRVar>& inside_out);
  void unroll(const VarOrRVar& loop);
  void vectorize(const VarOrRVar& loop);
  void vectorize(const VarOrRVar& loop, int width, TailStrategy tail);
  void parallel(const VarOrRVar& loop);
  void atomic(bool unchecked);
  void prefetch(const ImageParam& image, const VarOrRVar& at, const VarOrRVar& from, int distance);

 private:
  void say(const std::string& directive);

  std::shared_ptr<FuncState> state_;
  std::string text_;
};

/// What a pipeline writes.
class OutputImageParam {
 public:
  OutputImageParam(std::string text, Lines lines)
      : text_(std::move(text)), lines_(std::move(lines)) {}
  Internal::Dimension dim(int d) const {
    return {text_ + ".dim(" + std::to_string(d) + ")", lines_};
  }

 private:
  std::string text_;
  Lines lines_;
};

class Func {
 public:
  Func() = default;
  explicit Func(const std::string& name) : state_(std::make_shared<FuncState>()) {
    state_->name = "f_" + name;
  }
  bool defined() const { return state_ && !state_->definitions.empty(); }
  int num_update_definitions() const {
    return defined() ? static_cast<int>(state_->definitions.size()) - 1 : 0;
  }
  FuncRef operator()(std::vector<Expr> at) const { return {state_, std::move(at)}; }
  Stage update(int i) const {
    return {state_, state_->name + ".update(" + std::to_string(i) + ")"};
  }
  OutputImageParam output_buffer() const {
    return {state_->name + ".output_buffer()", state_->output};
  }
  void compute_root() { say("compute_root()"); }
  void compute_at(const LoopLevel& at) { say("compute_at(" + at.text + ")"); }
  void store_at(const LoopLevel& at) { say("store_at(" + at.text + ")"); }
  const std::shared_ptr<FuncState>& state() const { return state_; }

 private:
  void say(const std::string& directive) {
    state_->directives.push_back(state_->name + "." + directive + ";");
  }

  std::shared_ptr<FuncState> state_;
};

}  // namespace Halide
