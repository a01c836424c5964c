// SPDX-License-Identifier: Apache-2.0
/// hone: describe an operation in a line of text, have its loops searched for the machine at hand,
/// call the machine code. This header is all that a program includes.
#pragma once

#if __cplusplus < 202002L
#error "hone needs C++20: compile with -std=c++20 or newer"
#endif

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "hone/bound.h"
#include "hone/cache.h"
#include "hone/call.h"
#include "hone/device.h"
#include "hone/dtype.h"
#include "hone/entry.h"
#include "hone/error.h"
#include "hone/export.h"
#include "hone/graph_builder.h"
#include "hone/kernel.h"
#include "hone/memory.h"
#include "hone/model.h"
#include "hone/param.h"
#include "hone/report.h"
#include "hone/tensor.h"
#include "hone/thread_pool.h"
#include "hone/tune.h"
#include "hone/version.h"

namespace hone {

namespace runtime {
struct EngineState;
struct OpState;
}  // namespace runtime

/// Something that the host may want to log; the library writes to no stream itself.
struct Event {
  enum Kind : uint8_t {
    kCompile,  ///< one kernel was built: its source, its time, its problem
    kTune,     ///< one tuning run ended
    kNotice,   ///< work goes on in another way than asked for: no JIT here, cache in memory
    kBug,      ///< a defect of hone that was worked around; the text holds a repro line
  };
  Kind kind = kNotice;
  std::string text;  ///< one line
};

/// compile, tune, notice or bug.
HONE_API std::string_view name_of(Event::Kind kind);

/// Options of an Engine; all optional.
struct EngineOptions {
  /// What to compile for, `x86 isa=avx2`; parts left out are this machine's. `cuda` is this
  /// machine's GPU; `cuda sm=90` as well where it is one of that kind, else kernels can be shown
  /// and the interpreter serves.
  std::string target = {};
  /// The cache file; empty: HONE_CACHE, else hone/cache.db in the XDG cache folder. ":memory:"
  /// keeps nothing.
  std::string cache = {};
  /// Workers, the calling thread included; 0: the target's.
  int threads = 0;
  /// The caller's pool instead of one of the engine's own; must outlive engine and kernels.
  ThreadPool* pool = nullptr;
  /// Called on the thread where it happens, possibly several at a time.
  std::function<void(const Event&)> on_event = {};
  /// A cache that is read, never written: tuned records shipped with an application.
  std::string shipped_cache = {};
  /// Bytes that workspaces and bound constants may take together; 0: half of the machine's memory,
  /// or all of the GPU's.
  int64_t memory_ceiling = 0;
  /// The hone-worker program that candidates run in; empty: HONE_WORKER, else where it is
  /// installed.
  std::string worker = {};
  /// Makes compile an error where there is neither a tuned record nor one to transfer.
  bool require_hit = false;
  /// Writes /tmp/perf-PID.map, so that perf names kernels; also if HONE_PERF is set.
  bool perf_map = false;
  /// Which of several GPUs, by the driver's number.
  int gpu = 0;
};

/// Options of Engine::compile; all optional.
struct CompileOptions {
  /// A schedule by hand; it must be legal for the problem.
  std::string schedule = {};
};

/// Options of Op::gradient; all optional.
struct GradientOptions {
  /// Results and intermediates that the caller has kept: they become arguments, and are not
  /// computed again.
  std::vector<std::string> take = {};
};

/// Options of Engine::graph_gradient; all optional.
struct GraphGradientOptions {
  /// A value of one element that is differentiated. Empty: all outputs that are floats, whose
  /// gradients are inputs, `dY` of `Y`.
  std::string loss = {};
  /// What to differentiate by: inputs, weights, and what nodes make. Empty: all weights of floats.
  std::vector<std::string> wrt = {};
  /// What the graph makes besides the gradients. Empty: its outputs.
  std::vector<std::string> outputs = {};
  /// An input that is the gradient of the loss, such as a loss scale; it is added where the graph
  /// has none. It has the loss's dtype and shape. Empty: the gradient is 1.
  std::string scale = {};
};

/// A checked op of the language, free of shapes and schedules. Cheap to copy.
class HONE_API Op {
 public:
  /// Parses and checks `op name<...>(...) -> (...) { ... }`. Throws Error with the place
  /// underlined.
  static Op parse(std::string_view text);
  static Result<Op> try_parse(std::string_view text);
  /// The op of a sum of products, as NumPy's einsum has it: `bhqd,bkhd->bhqk`. A letter `b` is a
  /// dim `B`, operands are `X1`, `X2` and so on, the result `Y1`. `T` is the dtype, or `TYPE` where
  /// `t` is a letter. Throws Error with the place underlined.
  static Op einsum(std::string_view letters);
  static Result<Op> try_einsum(std::string_view letters);
  /// The op's name.
  const std::string& name() const;
  /// Canonical one-line text; Op::parse(op.text()) is the same op.
  const std::string& text() const;
  /// Its parameters, in the order of its text: arguments, then outputs.
  std::vector<Param> params() const;
  /// The adjoint op. From the arguments and the gradients of the results, `dY`, it makes the
  /// gradients of the arguments `wrt`, `dA`. Where `wrt` is empty these are all tensors of floats.
  /// It leaves out the arguments that it does not read, as params() tells. Throws Error,
  /// kUnsupported and the place underlined, for what has no derivative; kNotFound for names that
  /// the op has not.
  Op gradient(const std::vector<std::string>& wrt = {}, const GradientOptions& options = {}) const;
  Result<Op> try_gradient(const std::vector<std::string>& wrt = {},
                          const GradientOptions& options = {}) const;

 private:
  friend class Engine;
  explicit Op(std::shared_ptr<const runtime::OpState> state) : state_(std::move(state)) {}
  std::shared_ptr<const runtime::OpState> state_;
};

/// Owns the cache, the executable memory, the threads and the kernels built so far. A cheap handle,
/// safe to use from any thread. After fork the child makes an engine of its own.
class HONE_API Engine {
 public:
  /// Throws Error: kSyntax for a target that does not parse, kUnsupported for one that this machine
  /// cannot run. A cache that cannot be used is an event, not an error.
  explicit Engine(EngineOptions options = {});
  static Result<Engine> try_create(EngineOptions options = {});

  /// Adds the ops of `text` (as in a .hone file), which problems can then name; `origin` names the
  /// text in errors.
  void add_ops(std::string_view text, std::string_view origin = "ops");
  Result<Done> try_add_ops(std::string_view text, std::string_view origin = "ops");

  /// The ops that problems can name: those that were added, then the library's.
  std::vector<Op> ops() const;

  /// A kernel for a problem, `fc_gelu M=128 N=3072 K=768 const=W`. Never waits for tuning: takes
  /// the best record of this context, else a near one adapted, else a default. The same problem
  /// gives the same kernel at once; concurrent calls build it once. Throws Error.
  Kernel compile(std::string_view problem, const CompileOptions& options = {});
  Result<Kernel> try_compile(std::string_view problem, const CompileOptions& options = {});
  /// The same for an op at hand: `bindings` is `M=128 N=3072 ...`.
  Kernel compile(const Op& op, std::string_view bindings, const CompileOptions& options = {});
  Result<Kernel> try_compile(const Op& op, std::string_view bindings,
                             const CompileOptions& options = {});

  /// Searches a schedule for a problem and keeps the best in the cache; later compiles take it.
  /// Candidates are built, checked and timed in a process of their own. Throws Error.
  TuneResult tune(std::string_view problem, const TuneOptions& options = {});
  Result<TuneResult> try_tune(std::string_view problem, const TuneOptions& options = {});
  TuneResult tune(const Op& op, std::string_view bindings, const TuneOptions& options = {});
  Result<TuneResult> try_tune(const Op& op, std::string_view bindings,
                              const TuneOptions& options = {});

  /// Compiles a graph of ops, whose text is `graph name(x: f32[B,K], const w: f32[N,K]) -> (y:
  /// f32[B,N]) { y = fc(x, w) }`, behind ops of its own. Never waits for tuning, as compile.
  /// `origin` names the text in errors. Throws Error: kSyntax and kSemantic with the place
  /// underlined; kArgument for dims and weights that do not fit, all told at once; kMemory.
  Model load_graph(std::string_view text, const ModelOptions& options = {},
                   std::string_view origin = "graph");
  Result<Model> try_load_graph(std::string_view text, const ModelOptions& options = {},
                               std::string_view origin = "graph");

  /// The same of a file: a graph's text, `mlp.graph`, or a model of ONNX with its weights,
  /// `mlp.onnx`. Inputs and outputs then have the file's names. Throws Error besides: kNotFound;
  /// kUnsupported with all operators that have no op here.
  Model load(std::string_view path, const ModelOptions& options = {});
  Result<Model> try_load(std::string_view path, const ModelOptions& options = {});

  /// The same of a graph made in code, with the weights that the builder has. Throws Error besides:
  /// kArgument with all that is wrong in what was built.
  Model load(const GraphBuilder& graph, const ModelOptions& options = {});
  Result<Model> try_load(const GraphBuilder& graph, const ModelOptions& options = {});

  /// The text of a graph that makes the outputs of another and gradients, `dW` of each `W`, for
  /// load_graph. Weights that gradients are by become inputs. Throws Error with the place
  /// underlined as load_graph does. Besides: kNotFound for names that the graph has not; kArgument
  /// for a loss of several elements, or without a path to it. kUnsupported names the node that has
  /// no derivative.
  std::string graph_gradient(std::string_view text, const GraphGradientOptions& options = {},
                             std::string_view origin = "graph");
  Result<std::string> try_graph_gradient(std::string_view text,
                                         const GraphGradientOptions& options = {},
                                         std::string_view origin = "graph");

  /// Searches schedules for the kernels of a model, each different one once, and keeps the best in
  /// the cache; the next load takes them. It tries too which nodes share a kernel, and in what
  /// order values lie in memory. The budget is of all together, and goes to where the model should
  /// gain most. One result for each kernel. Throws Error.
  std::vector<TuneResult> tune(const Model& model, const TuneOptions& options = {});
  Result<std::vector<TuneResult>> try_tune(const Model& model, const TuneOptions& options = {});

  /// Canonical text of what this engine compiles for.
  const std::string& target() const;
  /// The GPU that kernels run on. Throws kUnsupported where they run on the CPU.
  Device device() const;
  Result<Device> try_device() const;
  /// The cache file in use; ":memory:" where nothing is kept.
  std::string cache() const;
  /// All records of the cache as text, as `hone cache export` writes it: the same records give the
  /// same bytes.
  std::string export_cache() const;
  /// Takes the records of such a text into the cache; those that make no sense are left out and
  /// told. `origin` names the text in errors. Throws Error: kSyntax, kCache where they are not
  /// kept.
  CacheReport import_cache(std::string_view text, std::string_view origin = "records");
  Result<CacheReport> try_import_cache(std::string_view text, std::string_view origin = "records");
  /// Checks the file and every record in it.
  CacheReport verify_cache();
  /// Bytes in use.
  EngineMemory memory() const;

 private:
  explicit Engine(std::shared_ptr<runtime::EngineState> state) : state_(std::move(state)) {}
  std::shared_ptr<runtime::EngineState> state_;
};

}  // namespace hone
