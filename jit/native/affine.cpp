// SPDX-License-Identifier: Apache-2.0
#include "jit/native/affine.h"

#include <algorithm>

namespace hone::jit {
namespace {

/// As registers compute: indices of tensors that no memory holds wrap.
int64_t plus(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}

int64_t times(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

}  // namespace

Term Term::without(int32_t factor) const {
  Term t = *this;
  size_t i = 0;
  while (i < t.factors.size() && t.factors[i] != factor) ++i;
  for (; i + 1 < t.factors.size(); ++i) t.factors[i] = t.factors[i + 1];
  t.factors.back() = 0;
  return t;
}

bool Affine::has(int32_t factor) const {
  for (int i = 0; i < count; ++i) {
    if (terms[i].has(factor)) return true;
  }
  return false;
}

void Affine::add(const Term& term) {
  if (term.coefficient == 0) return;
  if (term.factors[0] == 0) {
    constant = plus(constant, term.coefficient);
    return;
  }
  int at = 0;
  while (at < count && terms[at].factors < term.factors) ++at;
  if (at < count && terms[at].factors == term.factors) {
    terms[at].coefficient = plus(terms[at].coefficient, term.coefficient);
    if (terms[at].coefficient == 0) {
      std::copy(terms.begin() + at + 1, terms.begin() + count, terms.begin() + at);
      --count;
    }
    return;
  }
  if (count == kMaxTerms) {
    overflow = true;
    return;
  }
  std::copy_backward(terms.begin() + at, terms.begin() + count, terms.begin() + count + 1);
  terms[at] = term;
  ++count;
}

Affine Affine::coefficient_of(int32_t factor) const {
  Affine a;
  for (int i = 0; i < count; ++i) {
    if (terms[i].has(factor)) a.add(terms[i].without(factor));
  }
  a.overflow |= overflow;
  return a;
}

Affine Affine::without(int32_t factor) const {
  Affine a = of(constant);
  for (int i = 0; i < count; ++i) {
    if (!terms[i].has(factor)) a.terms[a.count++] = terms[i];
  }
  a.overflow = overflow;
  return a;
}

bool Affine::operator==(const Affine& other) const {
  return constant == other.constant && count == other.count && overflow == other.overflow &&
         std::equal(terms.begin(), terms.begin() + count, other.terms.begin());
}

Affine operator+(const Affine& a, const Affine& b) {
  Affine sum = a;
  sum.constant = plus(sum.constant, b.constant);
  sum.overflow |= b.overflow;
  for (int i = 0; i < b.count; ++i) sum.add(b.terms[i]);
  return sum;
}

Affine scaled(const Affine& a, int64_t factor) {
  if (factor == 0) return Affine::of(0);
  Affine product = a;
  product.constant = times(product.constant, factor);
  for (int i = 0; i < a.count; ++i) {
    product.terms[i].coefficient = times(product.terms[i].coefficient, factor);
  }
  return product;
}

Affine operator-(const Affine& a, const Affine& b) { return a + scaled(b, -1); }

namespace {

/// The product of two terms; false when its factors do not fit.
bool multiply(const Term& a, const Term& b, Term& out) {
  std::array<int32_t, 4> all{};
  size_t n = 0;
  for (const Term* t : {&a, &b}) {
    for (const int32_t f : t->factors) {
      if (f == 0) continue;
      if (n == all.size()) return false;
      size_t at = n++;
      for (; at > 0 && all[at - 1] > f; --at) all[at] = all[at - 1];
      all[at] = f;
    }
  }
  out = {times(a.coefficient, b.coefficient), all};
  return true;
}

}  // namespace

Affine operator*(const Affine& a, const Affine& b) {
  if (b.is_constant()) return a.overflow ? a : scaled(a, b.constant);
  if (a.is_constant()) return b.overflow ? b : scaled(b, a.constant);
  Affine product = Affine::of(times(a.constant, b.constant));
  product.overflow = a.overflow || b.overflow;
  const auto with_constant = [](const Affine& x, int i) {
    return i < x.count ? x.terms[i] : Term{x.constant, {}};
  };
  for (int i = 0; i <= a.count; ++i) {
    for (int j = 0; j <= b.count; ++j) {
      if (i == a.count && j == b.count) continue;
      Term t{};
      if (multiply(with_constant(a, i), with_constant(b, j), t)) {
        product.add(t);
      } else {
        product.overflow = true;
      }
    }
  }
  return product;
}

}  // namespace hone::jit
