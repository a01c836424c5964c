// SPDX-License-Identifier: Apache-2.0
#include "runtime/check/reference_kernel.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>

#include "runtime/check/call_frame.h"
#include "runtime/measure/bound.h"
#include "schedules/space/space.h"

namespace hone::runtime {
namespace {

/// A shrunken problem takes up to this many scalar operations: up to 100 ms a data set.
/// Chosen: time that opening a problem may take (not measured).
constexpr double kMostOperations = 1 << 23;

/// The word `NAME=NUMBER`, in two parts.
struct BoundDim {
  std::string name;
  int64_t value = 0;
};

std::optional<BoundDim> bound_dim(const std::string& word) {
  const size_t equals = word.find('=');
  if (equals == 0 || equals == std::string::npos) return std::nullopt;
  const auto letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (!std::all_of(word.begin(), word.begin() + static_cast<std::ptrdiff_t>(equals), letter)) {
    return std::nullopt;
  }
  BoundDim dim{word.substr(0, equals), 0};
  const char* end = word.data() + word.size();
  const auto read = std::from_chars(word.data() + equals + 1, end, dim.value);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return dim;
}

std::set<int64_t> factors_of(const ir::Program& scheduled) {
  std::set<int64_t> factors;
  for (const ir::Stage& s : scheduled.stages) {
    for (const ir::Relation& r : s.relations) {
      if (r.kind == ir::Relation::kSplit && r.factor > 1) factors.insert(r.factor);
    }
  }
  return factors;
}

/// The least value that every factor up to `value` divides with the remainder of `value`, and as
/// often up to twice.
int64_t least_alike(int64_t value, const std::set<int64_t>& factors) {
  for (int64_t v = std::min<int64_t>(value, 4); v < value; ++v) {
    const bool alike = std::all_of(factors.begin(), factors.end(), [&](int64_t f) {
      return f > value ||
             (v % f == value % f && std::min<int64_t>(v / f, 2) == std::min<int64_t>(value / f, 2));
    });
    if (alike) return v;
  }
  return value;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& w : words) text += (text.empty() ? "" : " ") + w;
  return text;
}

/// Runs a candidate on a fixture, whose outputs are then the candidate's. Returns how the status
/// word contradicts the definition, or "".
Result<std::string> run_once(const Candidate& candidate, const std::shared_ptr<Gpu>& gpu,
                             Fixture& fixture) {
  fixture.reset();
  const auto site = gpu ? device_site(gpu) : host_site();
  const auto operands = Operands::create(*site, fixture);
  if (!operands) return operands.failure();
  auto frame = CallFrame::create(candidate, *operands);
  if (!frame) return frame.failure();
  if (auto f = frame->call(); !f) return f.failure();
  if (auto f = operands->download(); !f) return f.failure();
  return frame->misreported();
}

/// The largest value of each dim known at the call.
std::vector<int64_t> largest_dims(const ir::Program& program) {
  std::vector<int64_t> dims;
  for (const ir::Dim& d : dims_to_try(program)) dims.push_back(d.hi);
  return dims;
}

}  // namespace

std::optional<ops::Problem> shrunken(const ops::Problem& problem, const std::string& schedule) {
  auto parsed = schedules::Schedule::parse(schedule);
  if (!parsed) return std::nullopt;
  auto scheduled = schedules::apply(problem.program, *parsed);
  if (!scheduled) return std::nullopt;
  const std::set<int64_t> factors = factors_of(*scheduled);
  // Where the op stands in the text itself, its words are before the last brace.
  const size_t body = problem.text.rfind('}');
  const size_t from = body == std::string::npos ? 0 : body + 1;
  std::istringstream in(problem.text.substr(from));
  std::vector<std::string> words = {problem.text.substr(0, from)};
  for (std::string word; in >> word;) words.push_back(word);
  std::optional<ops::Problem> smallest;
  for (size_t w = 1; w < words.size(); ++w) {
    const auto dim = bound_dim(words[w]);
    if (!dim) continue;
    const int64_t less = least_alike(dim->value, factors);
    if (less == dim->value) continue;
    const std::string before = words[w];
    words[w] = dim->name + "=" + std::to_string(less);
    auto smaller = ops::parse_problem(joined(words));
    // Parameters of the op, and dims that others depend on, may not take every value.
    if (smaller && schedules::apply(smaller->program, *parsed)) {
      smallest = std::move(*smaller);
    } else {
      words[w] = before;
    }
  }
  if (!smallest) return std::nullopt;
  const ir::Program& program = smallest->program;
  if (jit::scalar_operations(program, largest_dims(program)) > kMostOperations) return std::nullopt;
  return smallest;
}

Result<ReferenceKernel> ReferenceKernel::create(const ops::Problem& problem,
                                                const ir::Target& target, const DevicePlace& place,
                                                bool check) {
  std::string schedule = schedules::default_schedule(problem.program, target).text();
  auto candidate = build_candidate(problem, target, schedule, place);
  if (!candidate) {
    schedule.clear();
    candidate = build_candidate(problem, target, schedule, place);
  }
  if (!candidate) return Failure{ErrorCode::kUnsupported, candidate.failure().text()};
  ReferenceKernel kernel(problem, std::move(schedule), std::move(*candidate), place);
  if (check) {
    auto right = kernel.check_shrunken(target);
    if (!right) return right.failure();
  }
  return kernel;
}

Failure ReferenceKernel::disagrees(const std::string& problem, const std::string& how) const {
  return Failure{ErrorCode::kInternal, "the default schedule disagrees with the reference: " + how +
                                           " (" + problem + " | " + schedule_ + ")"};
}

Result<Done> ReferenceKernel::check_shrunken(const ir::Target& target) const {
  const auto small = shrunken(*problem_, schedule_);
  if (!small) return Done{};
  auto candidate = build_candidate(*small, target, schedule_, place_);
  // A tile may need more than the small tensor has; the sample of the large one is left.
  if (!candidate) return Done{};
  const auto check = [&](jit::DataSet set) -> Result<Done> {
    auto fixture = Fixture::create(*small, largest_dims(small->program), set, Guard::kAfter, 1);
    if (!fixture) return fixture.failure();
    auto referred = fixture->refer();
    if (!referred) return referred.failure();
    const auto misreported = run_once(*candidate, place_.gpu, *fixture);
    if (!misreported) return misreported.failure();
    if (!misreported->empty()) return disagrees(small->text, *misreported);
    auto found = fixture->compare(candidate->edges);
    if (!found) return found.failure();
    if (!found->ok()) return disagrees(small->text, found->text());
    return Done{};
  };
  Result<Done> right = Done{};
  for (int set = 0; set < jit::kDataSetCount && right; ++set) {
    right = check(static_cast<jit::DataSet>(set));
  }
  return right;
}

Result<Done> ReferenceKernel::refer(Fixture& fixture) {
  const auto misreported = run_once(candidate_, place_.gpu, fixture);
  if (!misreported) return misreported.failure();
  if (!misreported->empty()) return disagrees(problem_->text, *misreported);
  auto found = fixture.compare(candidate_.edges);
  if (!found) return found.failure();
  if (!found->ok()) return disagrees(problem_->text, found->text());
  fixture.keep();
  return Done{};
}

}  // namespace hone::runtime
