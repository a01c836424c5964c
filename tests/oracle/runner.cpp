// SPDX-License-Identifier: Apache-2.0
//
// Runs problems that a pipe brings, each on data that comes with it, and sends back what every way
// of running them wrote: the definition, kernels by default for each instruction set, and one by a
// random schedule. It judges nothing. In, for each problem:
//
//   problem TEXT
//   seed NUMBER                        of the random schedule
//   dim NAME VALUE                     for each that only the call knows
//   real VALUE | integer VALUE         a scalar
//   tensor NAME DTYPE FLAGS OFFSET BYTES RANK EXTENT... STRIDE...    then its bytes
//   run
//
// `functions` brings a line `function NAME ARITY` for each scalar function, then `done`. `gradient
// OP WRT TAKE`, lists with commas or `-`, brings the text of the gradient of an op of the library.
//
// FLAGS are `c` of a constant, `o` of what is written, else `-`; OFFSET is that of its first
// element from a multiple of 64. Out, for each way: `ok WAY`, then the bytes of all that is
// written, or `refused WAY`, `error CODE WAY: MESSAGE`; after the last, `done`.
#include <fmt/format.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "hone/hone.h"
#include "jit/interp/reference.h"
#include "jit/interp/scalar.h"
#include "jit/ir/functions/function.h"
#include "ops/gradient/gradient.h"
#include "ops/op.h"
#include "ops/stock.h"
#include "runtime/machine/host.h"
#include "schedules/search/random_steps.h"

namespace {

using hone::Arg;
using hone::Failure;
using hone::TensorRef;
using hone::jit::TensorView;

constexpr size_t kAlign = 64;

struct Tensor {
  std::string name;
  TensorView view;
  bool constant = false;
  bool written = false;
  size_t offset = 0;
  std::string initial;

  /// Its bytes within `block`, aligned as the problem's sender asked.
  char* place(std::vector<char>& block) const {
    block.resize(initial.size() + offset + 2 * kAlign);
    const auto at = reinterpret_cast<uintptr_t>(block.data());
    return block.data() + (kAlign - at % kAlign) + offset;
  }
};

struct Request {
  std::string problem;
  uint64_t seed = 1;
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<hone::ScalarArg> scalars;
  std::vector<double> scalar_values;
  std::vector<Tensor> tensors;
};

Tensor read_tensor(std::istringstream& words) {
  Tensor t;
  std::string type, flags;
  size_t bytes = 0, rank = 0;
  words >> t.name >> type >> flags >> t.offset >> bytes >> rank;
  t.view.type = hone::dtype_named(type).value();
  t.constant = flags == "c";
  t.written = flags == "o";
  t.view.shape.resize(rank);
  t.view.strides.resize(rank);
  for (int64_t& n : t.view.shape) words >> n;
  for (int64_t& n : t.view.strides) words >> n;
  t.initial.resize(bytes);
  std::cin.read(t.initial.data(), static_cast<std::streamsize>(bytes));
  return t;
}

void send_functions() {
  for (const hone::ir::Function& f : hone::ir::functions()) {
    std::cout << "function " << f.name << " " << f.arity << "\n";
  }
  std::cout << "done" << std::endl;
}

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> out;
  std::istringstream words(list == "-" ? "" : list);
  for (std::string name; std::getline(words, name, ',');) out.push_back(name);
  return out;
}

void send_gradient(std::istringstream& words) {
  std::string name, wrt, take;
  words >> name >> wrt >> take;
  const auto op = hone::ops::find_stock(name);
  if (!op) {
    std::cout << "no op " << name << std::endl;
    return;
  }
  const auto made = hone::ops::gradient(*op, {names_in(wrt), names_in(take)});
  std::cout << (made ? made->text() : made.failure().message) << std::endl;
}

/// The next problem; false where the pipe ends.
bool read_request(Request& request) {
  request = {};
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string word;
    words >> word;
    if (word == "run") return true;
    if (word == "functions") send_functions();
    if (word == "gradient") send_gradient(words);
    if (word == "problem") {
      request.problem = line.substr(word.size() + 1);
    } else if (word == "seed") {
      words >> request.seed;
    } else if (word == "dim") {
      auto& [name, value] = request.dims.emplace_back();
      words >> name >> value;
    } else if (word == "real") {
      words >> word;  // from_chars and streams know no "inf"
      request.scalar_values.push_back(std::strtod(word.c_str(), nullptr));
      request.scalars.emplace_back(request.scalar_values.back());
    } else if (word == "integer") {
      int64_t value = 0;
      words >> value;
      request.scalar_values.push_back(static_cast<double>(value));
      request.scalars.emplace_back(value);
    } else if (word == "tensor") {
      request.tensors.push_back(read_tensor(words));
    }
  }
  return false;
}

void send(const std::string& head) { std::cout << head << "\n"; }

void send_error(const std::string& way, const Failure& failure) {
  std::string message = failure.message;
  for (char& c : message) c = c == '\n' ? ' ' : c;
  send(fmt::format("error {} {}: {}", static_cast<int>(failure.code), way, message));
}

/// The definition: what `jit::evaluate` says, in the memory of the outputs.
void run_definition(const Request& request) {
  const std::string way = "definition";
  const auto problem = hone::ops::parse_problem(request.problem);
  if (!problem) return send_error(way, problem.failure());
  std::vector<std::vector<char>> blocks(request.tensors.size());
  std::vector<TensorView> views;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Tensor& t = request.tensors[i];
    char* data = t.place(blocks[i]);
    std::memcpy(data, t.initial.data(), t.initial.size());
    views.push_back(t.view);
    views.back().data = data;
  }
  std::vector<int64_t> dims;
  for (const hone::ir::Dim& d : problem->program.dims) {
    dims.push_back(d.lo);
    for (const auto& [name, value] : request.dims) {
      if (name == d.name) dims.back() = value;
    }
  }
  // Elements of less than a byte are bytes to it.
  const auto bytes = hone::jit::parameter_views(problem->program, dims);
  for (size_t i = 0; i < views.size(); ++i) {
    if (!is_packed(views[i].type)) continue;
    void* data = views[i].data;
    views[i] = bytes[i];
    views[i].data = data;
  }
  const auto outcome = hone::jit::evaluate(problem->program, views, request.scalar_values, dims,
                                           {.bounds = false, .elements = {}});
  if (!outcome) return send_error(way, outcome.failure());
  if (outcome->bad) {
    return send_error(way, {hone::ErrorCode::kBounds,
                            fmt::format("{} {}", outcome->bad->tensor, outcome->bad->position)});
  }
  send("ok " + way);
  for (size_t i = 0; i < views.size(); ++i) {
    for (const auto& out : outcome->outputs) {
      if (out.name != request.tensors[i].name || !request.tensors[i].written) continue;
      std::vector<int64_t> at(out.shape.size(), 0);
      for (int64_t n = 0; n < views[i].elements(); ++n) {
        int64_t offset = 0;
        for (size_t d = 0; d < at.size(); ++d) offset += at[d] * views[i].strides[d];
        if (is_float(out.type)) {
          hone::jit::write_float(out.type, views[i].data, offset, out.f[static_cast<size_t>(n)]);
        } else {
          hone::jit::write_int(out.type, views[i].data, offset, out.i[static_cast<size_t>(n)]);
        }
        for (size_t d = at.size(); d-- > 0 && ++at[d] == out.shape[d];) at[d] = 0;
      }
    }
    if (!request.tensors[i].written) continue;
    std::cout.write(static_cast<const char*>(views[i].data),
                    static_cast<std::streamsize>(request.tensors[i].initial.size()));
  }
}

/// Calls a kernel as a program would, constants bound first.
void run_kernel(const std::string& way, const Request& request, const hone::Kernel& kernel) {
  std::vector<std::vector<char>> blocks(request.tensors.size());
  std::vector<Arg> args;
  std::vector<const char*> places;
  std::unique_ptr<hone::Bound> bound;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const Tensor& t = request.tensors[i];
    char* data = t.place(blocks[i]);
    std::memcpy(data, t.initial.data(), t.initial.size());
    places.push_back(data);
    const TensorRef ref(static_cast<void*>(data), t.view.type, t.view.shape, t.view.strides);
    if (!t.constant) {
      args.emplace_back(ref);
      continue;
    }
    auto next = bound ? bound->try_bind(t.name, ref) : kernel.try_bind(t.name, ref);
    if (!next) return send_error(way + " (bind)", next.failure());
    bound = std::make_unique<hone::Bound>(*std::move(next));
    std::memset(data, 0x5a, t.initial.size());  // what is bound is the kernel's own
  }
  for (const hone::ScalarArg& s : request.scalars) args.emplace_back(s);
  const auto done = bound ? bound->try_run(args) : kernel.try_run(args);
  if (!done) return send_error(way, done.failure());
  for (size_t i = 0; i < places.size(); ++i) {
    const Tensor& t = request.tensors[i];
    if (!t.written && !t.constant && std::memcmp(places[i], t.initial.data(), t.initial.size())) {
      return send_error(way, {hone::ErrorCode::kInternal, "input " + t.name + " was written"});
    }
  }
  send("ok " + way);
  for (size_t i = 0; i < places.size(); ++i) {
    if (!request.tensors[i].written) continue;
    std::cout.write(places[i], static_cast<std::streamsize>(request.tensors[i].initial.size()));
  }
}

void run_default(const std::string& way, const Request& request, hone::Engine& engine) {
  const auto kernel = engine.try_compile(request.problem);
  if (!kernel) return send_error(way, kernel.failure());
  run_kernel(way, request, *kernel);
}

/// By a random schedule; one that the back end has no registers for is refused.
void run_random(const Request& request, hone::Engine& engine) {
  const auto problem = hone::ops::parse_problem(request.problem);
  if (!problem) return;
  hone::schedules::RandomSchedules random(problem->program, hone::runtime::host_target(),
                                          request.seed);
  const auto schedule = random.next(1 + static_cast<int>(request.seed % 8), nullptr);
  const std::string way = "schedule:" + schedule.text();
  const auto kernel = engine.try_compile(request.problem, {.schedule = schedule.text()});
  if (!kernel && kernel.failure().code == hone::ErrorCode::kSchedule) return send("refused " + way);
  if (!kernel) return send_error(way, kernel.failure());
  run_kernel(way, request, *kernel);
}

}  // namespace

int main() {
  std::ios::sync_with_stdio(false);
  std::vector<std::pair<std::string, hone::Engine>> engines;
  // What this machine cannot run is left out.
  for (const char* target : {"x86 isa=none", "x86 isa=avx2", ""}) {
    hone::EngineOptions options;
    options.target = target;
    options.cache = ":memory:";
    options.threads = 2;
    auto engine = hone::Engine::try_create(std::move(options));
    if (engine) engines.emplace_back(*target ? target + 4 : "host", *std::move(engine));
  }
  for (Request request; read_request(request);) {
    run_definition(request);
    for (auto& [way, engine] : engines) run_default(way, request, engine);
    run_random(request, engines.back().second);
    send("done");
    std::cout.flush();
  }
  return 0;
}
