// SPDX-License-Identifier: Apache-2.0
#include "ops/uses/fit.h"

#include <algorithm>
#include <set>

#include "jit/ir/spelling.h"
#include "ops/gradient/index_terms.h"
#include "ops/gradient/terms.h"
#include "ops/linear.h"
#include "ops/replaced_dims.h"

namespace hone::ops {

using ir::Expr;

bool Fit::solve() {
  return find_results() && check_statement() && take_params() && take_arguments() && fill_batch() &&
         solve_dims() && name_types() && convert_scalars();
}

bool Fit::find_results() {
  std::vector<const Left*> sides = {&s_};
  for (const Left& left : s_.also) sides.push_back(&left);
  std::vector<std::string> names;
  for (const Argument& a : used_.args) {
    if (a.role == ir::Role::kInOut) {
      return error(s_.value.span, "`{}` changes `{}` in place; a statement uses ops that do not",
                   used_.name, a.name);
    }
    if (a.role != ir::Role::kOutput) continue;
    const Left* left = results_.size() < sides.size() ? sides[results_.size()] : nullptr;
    results_.push_back({&a, left && !left->omitted ? left : nullptr});
    if (!first_) first_ = results_.back().left;
    names.push_back(a.name);
  }
  if (results_.size() != sides.size()) {
    return error(s_.value.span,
                 "`{}` makes {}, and {} left side{} here; there is one for each, `{}[...] = "
                 "{}(...)`, and `_` for what nothing reads",
                 used_.name, fmt::join(names, " and "), sides.size(),
                 sides.size() == 1 ? " stands" : "s stand", fmt::join(names, "[...], "),
                 used_.name);
  }
  return first_ || error(s_.span, "none of what `{}` makes has a name here", used_.name);
}

bool Fit::check_statement() {
  if (s_.assign != Assign::kSet || s_.skip || !s_.loops.empty() || !s_.where.empty()) {
    return error(s_.value.span,
                 "a statement that uses an op is `name[indices] = {}(...)`, no more; say the rest "
                 "in a statement that reads it",
                 used_.name);
  }
  return std::all_of(results_.begin(), results_.end(),
                     [&](const Made& made) { return !made.left || check_left(made); });
}

bool Fit::check_left(const Made& made) {
  const Left& left = *made.left;
  const Argument* target = user_.arg(left.name);
  if (target && target->role == ir::Role::kInOut) {
    return error(left.span, "an op makes no `inout`; name what it makes, and read that");
  }
  std::set<std::string> names;
  for (const Range& r : left.indices) {
    if (!r.at.empty()) {
      return error(r.span, "what `{}` makes has plain indices, as in `{}[i,j] = {}(...)`",
                   used_.name, left.name, used_.name);
    }
    if (!names.insert(r.name).second) return error(r.span, "`{}` stands twice here", r.name);
  }
  const size_t rank = made.result->shape.size();
  if (left.indices.size() < rank) {
    return error(left.span, "what `{}` makes has {} indices, and {} stand here", used_.name, rank,
                 left.indices.size());
  }
  std::vector<std::string> batch;
  for (size_t i = 0; i + rank < left.indices.size(); ++i) batch.push_back(left.indices[i].name);
  if (&left == first_) batch_ = batch;
  return batch == batch_ ||
         error(left.span,
               "`{}` has {} before those of `{}`, and `{}` has {}; all that one use makes has the "
               "same",
               left.name, batch.empty() ? "no index" : fmt::format("{}", fmt::join(batch, ",")),
               used_.name, first_->name,
               batch_.empty() ? "none" : fmt::format("{}", fmt::join(batch_, ",")));
}

bool Fit::is_left(const std::string& tensor) const {
  return std::any_of(results_.begin(), results_.end(),
                     [&](const Made& made) { return made.left && made.left->name == tensor; });
}

bool Fit::take_params() {
  for (const Param& p : used_.params) {
    if (!p.is_type) solved_[p.name] = ir::make_int(p.value);
  }
  return std::all_of(s_.given.begin(), s_.given.end(),
                     [&](const Given& g) { return take_param(g); });
}

bool Fit::take_param(const Given& given) {
  const Param* p = used_.param(given.name);
  const Term& value = given.value;
  if (!p) {
    std::vector<std::string> known;
    for (const Param& other : used_.params) known.push_back(other.name);
    return error(given.span, "`{}` has no parameter `{}`; it has {}{}", used_.name, given.name,
                 known.empty() ? "none" : fmt::format("{}", fmt::join(known, ", ")),
                 ir::did_you_mean(given.name, known));
  }
  if (p->is_type) {
    const Param* own = user_.param(value.name);
    if (value.kind == Term::kName && (dtype_named(value.name) || (own && own->is_type))) {
      named_by_[p->name] = "`<...>`";
      types_[p->name] = value.name;
      return true;
    }
    return error(value.span, "`{}` is a dtype: f32, say, or a dtype parameter", given.name);
  }
  const bool whole = !any_part(value, [&](const Term& t) {
    const Param* own = user_.param(t.name);
    return t.kind == Term::kName && (user_.arg(t.name) || (own && own->is_type));
  });
  const Expr e = whole ? extent_expr(value) : Expr();
  if (!e) return error(value.span, "`{}` is made of dims, parameters and integers", given.name);
  solved_[p->name] = e;
  return true;
}

std::string Fit::signature() const {
  std::string out;
  for (const Argument& a : used_.args) {
    if (a.role == ir::Role::kInput) out += (out.empty() ? "" : ", ") + a.name;
  }
  return fmt::format("{}({})", used_.name, out);
}

bool Fit::take_arguments() {
  const std::vector<Term>& given = s_.value.args;
  const size_t taken = used_.args.size() - results_.size();
  if (given.size() != taken) {
    return error(s_.value.span, "`{}` takes {} argument{}, as in `{}`; {} stand here", used_.name,
                 taken, taken == 1 ? "" : "s", signature(), given.size());
  }
  size_t next = 0;
  for (const Argument& a : used_.args) {
    if (a.role != ir::Role::kInput) continue;
    const Term& t = given[next++];
    if (!(a.scalar ? take_scalar(a, t) : take_tensor(a, t))) return false;
  }
  return true;
}

bool Fit::take_tensor(const Argument& a, const Term& t) {
  if (t.kind != Term::kName) {
    const bool element = t.kind == Term::kAccess;
    return error(t.span, "`{}` of `{}` is a whole tensor, by its name{}", a.name, used_.name,
                 element ? fmt::format(": `{}`", t.name)
                         : "; make what stands here in a statement of its own");
  }
  const WrittenTensor* tensor = tensors_.find(t.name);
  if (is_left(t.name)) return error(t.span, "`{}` is what this statement makes", t.name);
  if (!tensor) {
    return error(t.span, "there is no tensor `{}` here; tensors are {}{}", t.name,
                 fmt::join(tensors_.names(), " "), ir::did_you_mean(t.name, tensors_.names()));
  }
  const size_t rank = tensor->shape.size(), least = a.shape.size();
  if (rank < least || rank > least + batch_.size()) {
    return error(t.span, "`{}` is of rank {}, and `{}` takes rank {} here{}", t.name, rank,
                 used_.name, least,
                 batch_.empty() ? "" : fmt::format(" to {}", least + batch_.size()));
  }
  const size_t extra = rank - least;
  operands_[a.name] = {t.name, extra};
  for (size_t i = 0; i < least; ++i) {
    extents_.push_back({&a, nullptr, t.name, i, extra + i, tensor->shape[extra + i]});
  }
  return true;
}

bool Fit::take_scalar(const Argument& a, const Term& t) {
  if (t.kind == Term::kName && tensors_.find(t.name)) {
    return error(t.span, "`{}` of `{}` is a scalar; an element of a tensor is `{}[...]`", a.name,
                 used_.name, t.name);
  }
  for (const Made& made : results_) {
    for (size_t i = batch_.size(); made.left && i < made.left->indices.size(); ++i) {
      const std::string& index = made.left->indices[i].name;
      if (!mentions(t, index)) continue;
      return error(t.span, "`{}` goes over `{}` itself, so a scalar that it takes cannot have it",
                   used_.name, index);
    }
  }
  if (any_part(t, [](const Term& part) { return part.kind == Term::kReduce; })) {
    return error(t.span, "what is reduced is named in a statement of its own");
  }
  numbers_[a.name] = t;
  return true;
}

/// Extra dims are the last of the batch, as NumPy broadcasts.
bool Fit::fill_batch() {
  batch_extents_.resize(batch_.size());
  std::vector<bool> brought(batch_.size());
  const Argument* target = user_.arg(first_->name);
  for (size_t i = 0; user_.graph && i < batch_.size(); ++i) {
    const Range& r = first_->indices[i];
    if (!r.bounds.empty()) {
      batch_extents_[i] = extent_expr(r.bounds[1]);
    } else if (target && i < target->shape.size()) {
      batch_extents_[i] = extent_expr(target->shape[i]);
    }
  }
  for (const auto& [name, operand] : operands_) {
    const WrittenTensor& tensor = *tensors_.find(operand.tensor);
    for (size_t i = 0; i < operand.extra; ++i) {
      const size_t at = batch_.size() - operand.extra + i;
      brought[at] = true;
      if (!batch_extents_[at]) batch_extents_[at] = tensor.shape[i];
      const bool same =
          !user_.graph || !tensor.shape[i] || equal_index(tensor.shape[i], batch_extents_[at]);
      if (!same) {
        return error(s_.value.span, "dim {} of `{}` is {}, and `{}` goes to {} here", i,
                     operand.tensor, print(index_term(tensor.shape[i])), batch_[at],
                     print(index_term(batch_extents_[at])));
      }
    }
  }
  for (size_t i = 0; i < batch_.size(); ++i) {
    for (const auto& [name, value] : numbers_)
      brought[i] = brought[i] || mentions(value, batch_[i]);
    if (!brought[i]) {
      return error(first_->indices[i].span,
                   "no argument has a dim for `{}`: what `{}` makes has {} indices", batch_[i],
                   used_.name, first_->indices.size() - batch_.size());
    }
  }
  return true;
}

/// A declared extent in the names of the user's op; null while one of them is not known.
Expr Fit::in_users_dims(const Term& extent) const {
  const Expr e = replaced_dims(extent_expr(extent), [&](const std::string& name) {
    const auto at = solved_.find(name);
    return at == solved_.end() ? Expr() : at->second;
  });
  return e ? tidy(e) : Expr();
}

/// True where the extent tells one more dim: it stands by itself, or in a sum with what is known.
bool Fit::solve_dim(const Extent& e) {
  if (!e.actual) return false;
  const Linear declared = linear_of(extent_expr(e.of->shape[e.declared]));
  Linear rest;
  rest.add(linear_of(e.actual), 1);
  rest.add(-declared.constant);
  std::string open;
  int64_t sign = 0;
  for (const auto& [atom, scale] : declared.terms) {
    if (const Expr known = in_users_dims(index_term(atom))) {
      rest.add(linear_of(known), -scale);
    } else if (atom->op == ir::Op::kDim && open.empty() && (scale == 1 || scale == -1)) {
      open = atom->name;
      sign = scale;
    } else {
      return false;
    }
  }
  if (open.empty()) return false;
  Linear value;
  value.add(rest, sign);
  solved_[open] = tidy(expr_of(value));
  return true;
}

bool Fit::solve_dims() {
  const size_t extra = batch_.size();
  for (const auto& [result, left] : results_) {
    if (!left) continue;
    const Argument* target = user_.arg(left->name);
    for (size_t i = 0; i < result->shape.size(); ++i) {
      const size_t at = extra + i;
      const Range& r = left->indices[at];
      Expr actual;
      if (target && at < target->shape.size()) actual = extent_expr(target->shape[at]);
      if (!r.bounds.empty()) actual = extent_expr(r.bounds[1]);
      extents_.push_back({result, left, left->name, i, at, actual});
    }
  }
  bool more = true;
  while (more) {
    more = std::any_of(extents_.begin(), extents_.end(),
                       [&](const Extent& e) { return solve_dim(e); });
  }
  for (const auto& [name, value] : solved_) numbers_[name] = index_term(value);
  return std::all_of(extents_.begin(), extents_.end(), [&](const Extent& e) { return compare(e); });
}

bool Fit::compare(const Extent& e) {
  const Expr wanted = in_users_dims(e.of->shape[e.declared]);
  if (!e.actual || !wanted || equal_index(e.actual, wanted)) return true;
  const std::string declared = print(e.of->shape[e.declared]), here = print(index_term(wanted));
  return error(e.left ? e.left->span : s_.value.span,
               "dim {} of `{}` is {}, and for `{}` it is {}{}", e.dim, e.tensor,
               print(index_term(e.actual)), used_.name, declared,
               declared == here ? "" : fmt::format(", here {}", here));
}

bool Fit::name_type(const std::string& declared, const std::string& actual,
                    const std::string& what) {
  if (actual.empty()) return true;
  const bool parameter = used_.param(declared) != nullptr;
  const std::string wanted = parameter ? type(declared) : declared;
  if (wanted.empty()) {
    types_[declared] = actual;
    named_by_[declared] = what;
  } else if (wanted != actual) {
    return error(s_.value.span, "{} is {}, and `{}` wants {}{}", what, actual, used_.name, wanted,
                 parameter ? fmt::format(": its {}, by {}", declared, named_by_[declared]) : "");
  }
  return true;
}

/// A dtype parameter is the stated type of what is declared with it. What states no type fits all.
bool Fit::name_types() {
  std::set<std::string> computed;
  for (const Argument& a : used_.args) {
    if (a.scalar || a.role == ir::Role::kOutput) continue;
    const WrittenTensor& tensor = *tensors_.find(operands_[a.name].tensor);
    if (!name_type(a.type, tensor.type, fmt::format("`{}`", tensor.name))) return false;
    if (tensor.type.empty()) computed.insert(a.type);
  }
  for (const auto& [result, left] : results_) {
    if (!left) continue;
    const Argument* target = user_.arg(left->name);
    const std::string& stated = target ? target->type : left->type;
    if (!name_type(result->type, stated, fmt::format("`{}`", left->name))) return false;
  }
  for (const Param& p : used_.params) {
    if (p.is_type && !types_.contains(p.name) && !computed.contains(p.name)) {
      types_[p.name] = name_of(p.type);
    }
  }
  return true;
}

/// An integer given for a float is one: `1/2` is no 0 there.
bool Fit::convert_scalars() {
  for (const Argument& a : used_.args) {
    if (!a.scalar) continue;
    Term& value = numbers_[a.name];
    const bool whole = !any_part(value, [&](const Term& t) {
      const bool leaf = t.kind == Term::kFloat || t.kind == Term::kBool ||
                        t.kind == Term::kAccess || t.kind == Term::kCast || t.kind == Term::kCall;
      return leaf || (t.kind == Term::kName && user_.arg(t.name));
    });
    if (!whole) continue;
    const std::string name = type(a.type);
    const auto known = dtype_named(name);
    if (known && !is_float(*known)) continue;
    if (name.empty()) {
      return error(value.span,
                   "nothing names the type of `{}` of `{}`; write cast<f32>({}), or give {} in "
                   "`{}<{}=f32>(...)`",
                   a.name, used_.name, print(value), a.type, used_.name, a.type);
    }
    if (known && value.kind == Term::kInt) {
      value.kind = Term::kFloat;
      value.f = static_cast<double>(value.i);
    } else {
      value = cast_term(name, std::move(value));
    }
  }
  return true;
}

std::vector<Expr> Fit::shape_of(const Made& made) const {
  std::vector<Expr> out = batch_extents_;
  for (const Term& extent : made.result->shape) out.push_back(in_users_dims(extent));
  return out;
}

const Term* Fit::number(const std::string& name) {
  const auto at = numbers_.find(name);
  if (at != numbers_.end()) return &at->second;
  for (const Extent& e : extents_) {
    if (e.actual || !mentions(e.of->shape[e.declared], name)) continue;
    error(e.left ? e.left->indices[e.dim].span : s_.value.span,
          "nothing tells how long dim {} of `{}` is, which `{}` calls {}; state its range{}, `{} "
          "in 0..N`",
          e.dim, e.tensor, used_.name, name,
          e.left ? "" : fmt::format(" where `{}` is made", e.tensor),
          e.left ? e.left->indices[e.dim].name : "i");
    return nullptr;
  }
  error(s_.value.span, "nothing tells what {} of `{}` is here", name, used_.name);
  return nullptr;
}

std::string Fit::type(const std::string& name) const {
  if (!used_.param(name)) return name;
  const auto at = types_.find(name);
  return at == types_.end() ? "" : at->second;
}

std::string Fit::needed_type(const std::string& name) {
  std::string found = type(name);
  if (found.empty()) {
    error(s_.value.span,
          "nothing names {} of `{}`: no argument that is declared with it states a type; give it, "
          "`{}<{}=f32>(...)`",
          name, used_.name, used_.name, name);
  }
  return found;
}

}  // namespace hone::ops
