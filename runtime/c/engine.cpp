// SPDX-License-Identifier: Apache-2.0
// The C interface: engines and the cache.
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/c/handles.h"

namespace hone::runtime {
namespace {

static_assert(HONE_ERROR_DEVICE == static_cast<int>(ErrorCode::kDevice));
static_assert(HONE_ERROR_BOUNDS == static_cast<int>(ErrorCode::kBounds));
static_assert(HONE_BOOL == static_cast<int>(DType::kBool));
static_assert(HONE_U1 == static_cast<int>(DType::kU1));
static_assert(HONE_I64 == static_cast<int>(DType::kI64));
static_assert(HONE_SCALAR == static_cast<int>(Role::kScalar));
static_assert(HONE_EVENT_BUG == static_cast<int>(Event::kBug));

/// The caller's functions as a pool.
class CallerPool final : public ThreadPool {
 public:
  explicit CallerPool(const hone_thread_pool& pool) : pool_(pool) {}
  int size() override { return pool_.size; }
  void parallel_for(int64_t n, Task task, void* context) override {
    static_assert(sizeof(int) == sizeof(int32_t));
    pool_.parallel_for(pool_.context, n, task, context);
  }

 private:
  hone_thread_pool pool_;
};

std::string text_of(const char* text) { return text ? text : ""; }

EngineOptions options_of(const hone_engine_options& c, ThreadPool* pool) {
  EngineOptions o;
  o.target = text_of(c.target);
  o.cache = text_of(c.cache);
  o.shipped_cache = text_of(c.shipped_cache);
  o.worker = text_of(c.worker);
  o.memory_ceiling = c.memory_ceiling;
  o.threads = c.threads;
  o.gpu = c.gpu;
  o.require_hit = c.require_hit != 0;
  o.perf_map = c.perf_map != 0;
  o.pool = pool;
  if (c.on_event) {
    o.on_event = [sink = c.on_event, context = c.event_context](const Event& e) {
      sink(context, static_cast<hone_event_kind>(e.kind), e.text.c_str());
    };
  }
  return o;
}

/// Leaves a report where the caller wants it.
void tell_flaws(const CacheReport& report, int64_t* records, char** flaws) {
  if (records) *records = report.records;
  std::string all;
  for (const CacheFlaw& f : report.flaws) all += f.record + "\n  " + f.flaw + "\n";
  if (flaws) *flaws = c_text(all);
}

}  // namespace

Failure c_missing(const char* what) {
  return Failure{ErrorCode::kArgument, std::string(what) + " is null"};
}

char* c_text(std::string_view text) {
  char* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.data(), text.size());
  copy[text.size()] = '\0';
  return copy;
}

hone_status c_failure(ErrorCode code, const char* message, char** error) noexcept {
  if (code != ErrorCode::kOk && error) {
    try {
      *error = c_text(message);
    } catch (...) {
      *error = nullptr;  // no memory: the status has to say it
    }
  }
  return static_cast<hone_status>(code);
}

}  // namespace hone::runtime

using namespace hone;
using namespace hone::runtime;

const char* hone_version(void) { return version(); }

void hone_free(char* text) { std::free(text); }

hone_status hone_engine_create(const hone_engine_options* options, hone_engine** engine,
                               char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine) return c_missing("engine");
    *engine = nullptr;
    const hone_engine_options c = c_options(options);
    std::shared_ptr<ThreadPool> pool;
    if (c.pool) {
      const hone_thread_pool given = c_options(c.pool);
      if (!given.parallel_for) return c_missing("parallel_for of the pool");
      pool = std::make_shared<CallerPool>(given);
    }
    auto made = Engine::try_create(options_of(c, pool.get()));
    if (!made) return made.failure();
    std::string target = made->target();
    *engine = new hone_engine{std::move(pool), *std::move(made), std::move(target)};
    return Done{};
  });
}

void hone_engine_destroy(hone_engine* engine) { delete engine; }

hone_status hone_engine_add_ops(hone_engine* engine, const char* text, const char* origin,
                                char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !text) return c_missing(engine ? "text" : "engine");
    auto done = engine->engine.try_add_ops(text, origin ? origin : "ops");
    return done;
  });
}

const char* hone_engine_target(const hone_engine* engine) {
  return engine ? engine->target.c_str() : "";
}

hone_status hone_engine_ops(const hone_engine* engine, char** text, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !text) return c_missing(engine ? "text" : "engine");
    std::string all;
    for (const Op& op : engine->engine.ops()) all += op.text() + "\n";
    *text = c_text(all);
    return Done{};
  });
}

hone_status hone_engine_export_cache(const hone_engine* engine, char** text, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !text) return c_missing(engine ? "text" : "engine");
    *text = c_text(engine->engine.export_cache());
    return Done{};
  });
}

hone_status hone_engine_import_cache(hone_engine* engine, const char* text, int64_t* taken,
                                     char** flaws, char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine || !text) return c_missing(engine ? "text" : "engine");
    const auto report = engine->engine.try_import_cache(text);
    if (!report) return report.failure();
    tell_flaws(*report, taken, flaws);
    return Done{};
  });
}

hone_status hone_engine_verify_cache(hone_engine* engine, int64_t* records, char** flaws,
                                     char** error) {
  return c_guard(error, [&]() -> Result<Done> {
    if (!engine) return c_missing("engine");
    tell_flaws(engine->engine.verify_cache(), records, flaws);
    return Done{};
  });
}
