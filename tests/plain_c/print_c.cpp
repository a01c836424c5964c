// SPDX-License-Identifier: Apache-2.0
#include "tests/plain_c/print_c.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdint>
#include <iterator>

#include "jit/ir/functions/function.h"
#include "jit/ir/visit.h"

namespace hone::tests {
namespace {

using ir::Expr;
using ir::Op;
using ir::Stmt;

/// Types of elements, loads and stores, and the arithmetic that C has not.
constexpr const char* kPrelude = R"(
#include <stdint.h>
#include <string.h>
typedef uint16_t f16_bits;
static inline double get_f64(const void* p, int64_t i) { double v; memcpy(&v, (const char*)p + 8 * i, 8); return v; }
static inline float get_f32(const void* p, int64_t i) { float v; memcpy(&v, (const char*)p + 4 * i, 4); return v; }
static inline float get_f16(const void* p, int64_t i) {
  _Float16 v; memcpy(&v, (const char*)p + 2 * i, 2); return (float)v;
}
static inline float get_bf16(const void* p, int64_t i) {
  uint16_t h; memcpy(&h, (const char*)p + 2 * i, 2);
  uint32_t b = (uint32_t)h << 16; float v; memcpy(&v, &b, 4); return v;
}
static inline float get_f8e5m2(const void* p, int64_t i) {
  uint16_t h = (uint16_t)(((const uint8_t*)p)[i] << 8); return get_f16(&h, 0);
}
static inline float get_f8e4m3(const void* p, int64_t i) {
  uint8_t b = ((const uint8_t*)p)[i]; int e = b >> 3 & 15, m = b & 7;
  float v = (b & 127) == 127 ? __builtin_nanf("") : e ? __builtin_ldexpf((float)(8 + m), e - 10) : m * 0x1p-9f;
  return b & 128 ? -v : v;
}
static inline int64_t get_i64(const void* p, int64_t i) { int64_t v; memcpy(&v, (const char*)p + 8 * i, 8); return v; }
static inline int64_t get_i32(const void* p, int64_t i) { int32_t v; memcpy(&v, (const char*)p + 4 * i, 4); return v; }
static inline int64_t get_i16(const void* p, int64_t i) { int16_t v; memcpy(&v, (const char*)p + 2 * i, 2); return v; }
static inline int64_t get_i8(const void* p, int64_t i) { return ((const int8_t*)p)[i]; }
static inline int64_t get_u8(const void* p, int64_t i) { return ((const uint8_t*)p)[i]; }
static inline int64_t get_bool(const void* p, int64_t i) { return ((const uint8_t*)p)[i]; }
static inline uint16_t bf16_of(float v) {
  uint32_t b; memcpy(&b, &v, 4);
  if (v != v) return (uint16_t)((b >> 16) | 0x40);
  return (uint16_t)((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}
static inline uint8_t f8_of(double v, int exponents, int mantissa, unsigned most, unsigned nan) {
  const unsigned sign = __builtin_signbit(v) ? 128 : 0; const int bias = (1 << (exponents - 1)) - 1;
  if (v != v) return (uint8_t)(sign | nan);
  v = __builtin_fabs(v); if (v == 0) return (uint8_t)sign; if (v >= 0x1p16) return (uint8_t)(sign | most);
  int e; __builtin_frexp(v, &e); e = e - 1 < 1 - bias ? 1 - bias : e - 1;
  const unsigned code = (unsigned)__builtin_rint(__builtin_ldexp(v, mantissa - e)) + ((unsigned)(e + bias - 1) << mantissa);
  return (uint8_t)(sign | (code < most ? code : most));
}
static inline uint8_t f8e4m3_of(double v) { return f8_of(v, 4, 3, 0x7e, 0x7f); }
static inline uint8_t f8e5m2_of(double v) { return f8_of(v, 5, 2, 0x7c, 0x7e); }
static inline void put_f64(void* p, int64_t i, double v) { memcpy((char*)p + 8 * i, &v, 8); }
static inline void put_f32(void* p, int64_t i, double v) { float f = (float)v; memcpy((char*)p + 4 * i, &f, 4); }
static inline void put_f16(void* p, int64_t i, double v) { _Float16 f = (_Float16)v; memcpy((char*)p + 2 * i, &f, 2); }
static inline void put_bf16(void* p, int64_t i, double v) { uint16_t b = bf16_of((float)v); memcpy((char*)p + 2 * i, &b, 2); }
static inline void put_f8e4m3(void* p, int64_t i, double v) { ((uint8_t*)p)[i] = f8e4m3_of(v); }
static inline void put_f8e5m2(void* p, int64_t i, double v) { ((uint8_t*)p)[i] = f8e5m2_of(v); }
static inline void put_i64(void* p, int64_t i, int64_t v) { memcpy((char*)p + 8 * i, &v, 8); }
static inline void put_i32(void* p, int64_t i, int64_t v) { int32_t n = (int32_t)v; memcpy((char*)p + 4 * i, &n, 4); }
static inline void put_i16(void* p, int64_t i, int64_t v) { int16_t n = (int16_t)v; memcpy((char*)p + 2 * i, &n, 2); }
static inline void put_i8(void* p, int64_t i, int64_t v) { ((int8_t*)p)[i] = (int8_t)v; }
static inline void put_u8(void* p, int64_t i, int64_t v) { ((uint8_t*)p)[i] = (uint8_t)v; }
static inline void put_bool(void* p, int64_t i, int64_t v) { ((uint8_t*)p)[i] = v != 0; }
static inline double round_f64(double v) { return v; }
static inline float round_f32(double v) { return (float)v; }
static inline float round_f16(double v) { return (float)(_Float16)v; }
static inline float round_bf16(double v) { uint16_t b = bf16_of((float)v); return get_bf16(&b, 0); }
static inline float round_f8e4m3(double v) { uint8_t b = f8e4m3_of(v); return get_f8e4m3(&b, 0); }
static inline float round_f8e5m2(double v) { uint8_t b = f8e5m2_of(v); return get_f8e5m2(&b, 0); }
static inline int64_t wrap_i64(uint64_t v) { return (int64_t)v; }
static inline int64_t wrap_i32(uint64_t v) { return (int32_t)v; }
static inline int64_t wrap_i16(uint64_t v) { return (int16_t)v; }
static inline int64_t wrap_i8(uint64_t v) { return (int8_t)v; }
static inline int64_t wrap_u8(uint64_t v) { return (uint8_t)v; }
static inline int64_t wrap_bool(uint64_t v) { return v != 0; }
static inline int64_t cut(double v, double lo, double hi, int64_t least, int64_t most) {
  return v != v ? 0 : v <= lo ? least : v >= hi ? most : (int64_t)v;
}
static inline int64_t to_i64(double v) { return cut(v, -0x1p63, 0x1p63, INT64_MIN, INT64_MAX); }
static inline int64_t to_i32(double v) { return cut(v, -0x1p31, 0x1p31, INT32_MIN, INT32_MAX); }
static inline int64_t to_i16(double v) { return cut(v, -0x1p15, 0x1p15, INT16_MIN, INT16_MAX); }
static inline int64_t to_i8(double v) { return cut(v, -0x1p7, 0x1p7, INT8_MIN, INT8_MAX); }
static inline int64_t to_u8(double v) { return cut(v, 0, 0x1p8, 0, UINT8_MAX); }
static inline int64_t to_bool(double v) { return v != 0; }
static inline int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return (int64_t)(0 - (uint64_t)a);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t floor_mod(int64_t a, int64_t b) {
  if (b == 0 || b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline int64_t shl(int64_t a, int64_t n, int64_t width) {
  return n < 0 || n >= width ? 0 : (int64_t)((uint64_t)a << n);
}
static inline int64_t shr(int64_t a, int64_t n, int64_t width) {
  return a >> (n < 0 || n >= width ? width - 1 : n);
}
static inline double min_f(double a, double b) { return a < b || a != a ? a : b; }
static inline double max_f(double a, double b) { return a > b || a != a ? a : b; }
static inline int64_t min_i(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i(int64_t a, int64_t b) { return a > b ? a : b; }
static inline int64_t abs_i(int64_t a) { return a < 0 ? (int64_t)(0 - (uint64_t)a) : a; }
)";

class Printer {
 public:
  explicit Printer(const ir::Nest& nest) : nest_(nest), layout_(ir::args_layout(nest)) {}

  std::string run() {
    out_ = kPrelude;
    for (size_t i = 0; i < nest_.launches.size(); ++i) launch(i);
    return std::move(out_);
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    out_.append(static_cast<size_t>(2 * depth_), ' ');
    fmt::format_to(std::back_inserter(out_), format, std::forward<Args>(args)...);
    out_ += '\n';
  }

  void launch(size_t index) {
    const ir::Launch& l = nest_.launches[index];
    line("void launch_{}(const int64_t* args, int64_t begin, int64_t end, void* scratch) {{",
         index);
    ++depth_;
    line("int64_t* const status = (int64_t*)args[0];");
    line("if (*status != INT64_MAX) return;");
    size_t param = 0, bound = 0;
    for (size_t b = 0; b < nest_.buffers.size(); ++b) buffer(b, &param, &bound);
    line("for (int64_t v{0} = begin; v{0} < end; ++v{0}) {{", l.range);
    ++depth_;
    if (l.body) statement(*l.body);
    close();
    close();
  }

  void close() {
    --depth_;
    line("}}");
  }

  void buffer(size_t index, size_t* param, size_t* bound) {
    const ir::NestBuffer& b = nest_.buffers[index];
    switch (b.home) {
      case ir::Home::kArgument:
        line("char* const b{} = (char*)args[{}];", index, layout_.tensor_slots[(*param)++]);
        break;
      case ir::Home::kBound:
        line("char* const b{} = (char*)args[{}];", index, layout_.bound_slots[(*bound)++]);
        break;
      case ir::Home::kWorkspace:
        line("char* const b{} = (char*)args[1] + {};", index, b.offset);
        break;
      case ir::Home::kWorker:
        line("char* const b{} = (char*)scratch + {};", index, b.offset);
        break;
      default:
        line("char b{}[{}];", index, b.max_bytes + 1);
    }
  }

  void body_of(const Stmt& s) {
    for (const ir::StmtRef& child : s.body) statement(*child);
  }

  void statement(const Stmt& s) {
    ir::visit(s, ir::Overloaded{
                     [&](const ir::SequenceStmt&) { body_of(s); },
                     [&](const ir::ForStmt& loop) { for_loop(loop); },
                     [&](const ir::IfStmt& choice) { branch(choice); },
                     [&](const ir::StoreStmt& x) { store(x); },
                     [&](const ir::PrefetchStmt&) {},
                     [&](const ir::CheckStmt& c) {
                       line("if (!({0}) && {1} < *status) *status = {1};", text(c.condition),
                            text(c.position));
                     },
                     [&](const ir::GpuStmt&) { body_of(s); },
                 });
  }

  void for_loop(const ir::ForStmt& s) {
    line("for (int64_t v{0} = {1}, e{0} = {2}; v{0} < e{0}; ++v{0}) {{", s.loop, text(s.begin),
         text(s.end));
    ++depth_;
    body_of(s);
    close();
  }

  void branch(const ir::IfStmt& s) {
    line("if ({}) {{", text(s.condition));
    ++depth_;
    statement(s.then());
    --depth_;
    if (s.otherwise() != nullptr) {
      line("}} else {{");
      ++depth_;
      statement(*s.otherwise());
      --depth_;
    }
    line("}}");
  }

  void store(const ir::StoreStmt& s) {
    const ir::NestBuffer& b = nest_.buffers[static_cast<size_t>(s.buffer)];
    Expr value = s.value;
    if (s.reduce != ir::Reduce::kNone) {
      ir::Node load;
      load.op = Op::kLoad;
      load.type = b.type;
      load.id = s.buffer;
      load.args = {s.offset};
      if (value->type != b.type) value = ir::make_cast(b.type, value);
      value = ir::make_binary(op_of(s.reduce), ir::make_node(std::move(load)), value);
    }
    const bool to_int = !is_float(b.type) && is_float(value->type);
    line("put_{}(b{}, {}, {});", name_of(b.type), s.buffer, text(s.offset),
         to_int ? fmt::format("to_{}({})", name_of(b.type), text(value)) : text(value));
  }

  static Op op_of(ir::Reduce r) {
    switch (r) {
      case ir::Reduce::kProd:
        return Op::kMul;
      case ir::Reduce::kMax:
        return Op::kMax;
      case ir::Reduce::kMin:
        return Op::kMin;
      case ir::Reduce::kAny:
        return Op::kOr;
      case ir::Reduce::kAll:
        return Op::kAnd;
      default:
        return Op::kAdd;
    }
  }

  /// Floats compute in the type that code computes them in, integers in 64 bits, wrapped.
  static std::string rounded(DType type, const std::string& value) {
    if (type == DType::kF64) return "(" + value + ")";
    if (is_float(type)) return "(float)(" + value + ")";
    return fmt::format("wrap_{}({})", name_of(type), value);
  }

  std::string infix(const Expr& e, const char* op) {
    const std::string a = text(e->args[0]), b = text(e->args[1]);
    if (is_float(e->type)) return rounded(e->type, a + op + b);
    return rounded(e->type, "(uint64_t)" + a + op + "(uint64_t)" + b);
  }

  std::string call(const Expr& e, const char* function) {
    const char* suffix = is_float(e->type) ? "_f" : "_i";
    return rounded(
        e->type, fmt::format("{}{}({}, {})", function, suffix, text(e->args[0]), text(e->args[1])));
  }

  std::string compared(const Expr& e, const char* op) {
    return fmt::format("(int64_t)({} {} {})", text(e->args[0]), op, text(e->args[1]));
  }

  std::string shifted(const Expr& e, const char* function) {
    return fmt::format("{}({}, {}, {})", function, text(e->args[0]), text(e->args[1]),
                       8 * size_of(e->type));
  }

  static std::string literal(const Expr& e) {
    if (e->op == Op::kInt) {
      return e->i == INT64_MIN ? "INT64_MIN" : fmt::format("INT64_C({})", e->i);
    }
    if (std::isnan(e->f)) return "__builtin_nan(\"\")";
    if (std::isinf(e->f)) return e->f > 0 ? "__builtin_inf()" : "(-__builtin_inf())";
    return fmt::format("({:a})", e->f);
  }

  std::string load(const Expr& e) {
    const std::string get =
        fmt::format("get_{}(b{}, {})", name_of(e->type), e->id, text(e->args[0]));
    if (!e->guarded) return get;
    return fmt::format("({} ? {} : {})", text(e->args[1]), get, text(e->args[2]));
  }

  std::string cast(const Expr& e) {
    const Expr& from = e->args[0];
    const std::string name(name_of(e->type));
    if (is_float(e->type)) return fmt::format("round_{}({})", name, text(from));
    return fmt::format("{}_{}({})", is_float(from->type) ? "to" : "wrap", name, text(from));
  }

  std::string function(const Expr& e) {
    if (!is_float(e->type)) return rounded(e->type, "abs_i(" + text(e->args[0]) + ")");
    // The definition itself, where it lies in this process.
    const std::string b = e->args.size() > 1 ? text(e->args[1]) : "0";
    return rounded(e->type,
                   fmt::format("((double (*)(double, double)){})({}, {})",
                               reinterpret_cast<uintptr_t>(e->fn->eval), text(e->args[0]), b));
  }

  std::string text(const Expr& e) {
    switch (e->op) {
      case Op::kInt:
      case Op::kFloat:
        return is_float(e->type) ? rounded(e->type, literal(e)) : literal(e);
      case Op::kVar:
        return fmt::format("v{}", e->id);
      case Op::kDim:
        return fmt::format("args[{}]", layout_.dim_slots[static_cast<size_t>(e->id)]);
      case Op::kScalar:
        return fmt::format("get_{}(&args[{}], 0)", name_of(e->type),
                           layout_.scalar_slots[static_cast<size_t>(e->id)]);
      case Op::kLoad:
        return load(e);
      case Op::kCast:
        return cast(e);
      case Op::kSelect:
        return fmt::format("({} ? {} : {})", text(e->args[0]), text(e->args[1]), text(e->args[2]));
      case Op::kNeg:
        return rounded(e->type, (is_float(e->type) ? "-" : "0 - (uint64_t)") + text(e->args[0]));
      case Op::kNot:
        return "(int64_t)!" + text(e->args[0]);
      case Op::kAdd:
        return infix(e, " + ");
      case Op::kSub:
        return infix(e, " - ");
      case Op::kMul:
        return infix(e, " * ");
      case Op::kDiv:
        if (is_float(e->type)) return infix(e, " / ");
        return rounded(e->type,
                       fmt::format("floor_div({}, {})", text(e->args[0]), text(e->args[1])));
      case Op::kMod:
        return rounded(e->type,
                       fmt::format("floor_mod({}, {})", text(e->args[0]), text(e->args[1])));
      case Op::kBitAnd:
        return fmt::format("({} & {})", text(e->args[0]), text(e->args[1]));
      case Op::kBitOr:
        return fmt::format("({} | {})", text(e->args[0]), text(e->args[1]));
      case Op::kBitXor:
        return fmt::format("({} ^ {})", text(e->args[0]), text(e->args[1]));
      case Op::kShl:
        return rounded(e->type, shifted(e, "shl"));
      case Op::kShr:
        return shifted(e, "shr");
      case Op::kMin:
        return call(e, "min");
      case Op::kMax:
        return call(e, "max");
      case Op::kEq:
        return compared(e, "==");
      case Op::kNe:
        return compared(e, "!=");
      case Op::kLt:
        return compared(e, "<");
      case Op::kLe:
        return compared(e, "<=");
      case Op::kAnd:
        return fmt::format("({} & {})", text(e->args[0]), text(e->args[1]));
      case Op::kOr:
        return fmt::format("({} | {})", text(e->args[0]), text(e->args[1]));
      case Op::kCall:
        return function(e);
    }
    return "";
  }

  const ir::Nest& nest_;
  ir::ArgsLayout layout_;
  std::string out_;
  int depth_ = 0;
};

}  // namespace

std::string print_c(const ir::Nest& nest) { return Printer(nest).run(); }

}  // namespace hone::tests
