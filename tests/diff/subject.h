// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/interp/compare.h"
#include "jit/interp/data.h"
#include "jit/interp/execute.h"
#include "schedules/schedule.h"
#include "tests/diff/back_ends.h"
#include "tests/diff/guarded.h"

namespace hone::tests {

/// A problem to check candidates of: data of every set with the reference's results, made once.
/// Where data can be bad, one more set has bad indices and offsets: then the status must name the
/// lowest bad position, and nothing be written.
class Subject {
 public:
  /// `dims` are the values of Program::dims.
  Subject(std::string problem, ir::Program program, std::vector<int64_t> dims = {});

  const ir::Program& program() const { return program_; }
  const std::string& problem() const { return problem_; }
  /// What the reference could not do; "" when all is well.
  const std::string& broken() const { return broken_; }

  /// Applies, lowers, compiles and runs; what went wrong, or "". A schedule that is rejected is no
  /// failure: `rejected` says why.
  std::string check(const schedules::Schedule& schedule, const BackEnd& back_end,
                    std::string* rejected = nullptr);
  /// The same for a lowered program that `launch` runs, a whole launch at a time: it returns what
  /// went wrong, or "".
  using Launch = std::function<std::string(int launch, const int64_t* args)>;
  std::string check(const ir::Nest& nest, const Launch& launch);
  std::span<const int64_t> dims() const { return dims_; }
  /// `PROBLEM | TARGET | SCHEDULE`.
  std::string repro(const schedules::Schedule& schedule, const BackEnd& back_end) const;
  /// The largest error seen so far, in units of the bound.
  double max_err() const { return max_err_; }

 private:
  struct Data {
    jit::DataSet set;
    std::vector<std::vector<char>> initial;  ///< per parameter, its bytes before the call
    jit::ReferenceOutcome want;
  };
  struct Code;
  struct Call;

  void add_data(jit::DataSet set, bool spoilt);
  void spoil(const std::vector<jit::TensorView>& all);
  std::vector<jit::TensorView> views(const std::vector<char*>& memory) const;
  size_t bytes_of(size_t param) const;
  std::string check(const Code& code, const Launch& launch);
  std::string run(Call& call, const Data& data, bool at_end);
  std::string run_launches(Call& call);
  std::string run_launch(Call& call, int launch);
  void forget_call(Call& call) const;
  std::string run_range(Call& call, int launch, int64_t begin, int64_t end);
  std::string inspect(const Call& call, const Data& data);

  std::string problem_;
  ir::Program program_;
  std::vector<int64_t> dims_;
  std::vector<double> scalars_;
  std::vector<const ir::Buffer*> params_;
  std::vector<jit::TensorView> shapes_;  ///< views without memory
  std::vector<Data> data_;
  std::string broken_;
  double max_err_ = 0;
  int runs_ = 0;
};

}  // namespace hone::tests
