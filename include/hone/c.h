// SPDX-License-Identifier: Apache-2.0
/* hone for C (C11) and whatever calls C. Handles are opaque. Functions that can fail return a
 * status. On failure they leave a text in `error` if it is not null; free it with hone_free.
 * No exception leaves a function. Text is UTF-8 and ends with 0.
 * Several threads may use a handle at the same time, except to destroy it.
 * Graphs of ops are in hone/c_model.h, which this includes.
 * Structs that may grow begin with `struct_size`: their sizeof where the caller was compiled. All
 * of their other members may be 0; that is the default. */
#ifndef HONE_C_H
#define HONE_C_H

#include <stddef.h>
#include <stdint.h>

#include "hone/c_enums.h"
#include "hone/c_model.h"
#include "hone/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the library, "major.minor.patch". */
HONE_C_API const char* hone_version(void);
/* Gives back a text of the library; null is fine. */
HONE_C_API void hone_free(char* text);

/* --- engines --- */

/* Runs [begin, end) of a range. `worker` is in [0, size of the pool), another for each task that
 * runs at the same time. */
typedef void (*hone_task)(void* task_context, int64_t begin, int64_t end, int32_t worker);

/* Threads of the host. `parallel_for` covers [0, n) by calls of `task` on disjoint ranges and
 * returns when all are done; called by several threads at a time. */
typedef struct hone_thread_pool {
  size_t struct_size;
  void* context;
  int32_t size; /* workers, the calling thread included */
  void (*parallel_for)(void* context, int64_t n, hone_task task, void* task_context);
} hone_thread_pool;

/* Called where something happens that may be worth logging, by several threads at a time. */
typedef void (*hone_event_sink)(void* context, hone_event_kind kind, const char* text);

/* Options of an engine; see hone::EngineOptions. */
typedef struct hone_engine_options {
  size_t struct_size;
  const char* target;
  const char* cache;
  const char* shipped_cache;
  const char* worker;
  int64_t memory_ceiling;
  const hone_thread_pool* pool; /* copied; its context outlives engine and kernels */
  hone_event_sink on_event;
  void* event_context;
  int32_t threads;
  int32_t gpu;
  int32_t require_hit;
  int32_t perf_map;
} hone_engine_options;

/* `options` may be null. */
HONE_C_API hone_status hone_engine_create(const hone_engine_options* options, hone_engine** engine,
                                          char** error);
/* Kernels live on; null is fine. */
HONE_C_API void hone_engine_destroy(hone_engine* engine);
/* Adds the ops of a text, as in a .hone file; `origin` names it in errors, or is null. */
HONE_C_API hone_status hone_engine_add_ops(hone_engine* engine, const char* text,
                                           const char* origin, char** error);
/* Canonical text of what the engine compiles for; lives as long as it. */
HONE_C_API const char* hone_engine_target(const hone_engine* engine);
/* The ops that problems can name, a line each. */
HONE_C_API hone_status hone_engine_ops(const hone_engine* engine, char** text, char** error);
/* All records of the cache as text, as `hone cache export` writes it. */
HONE_C_API hone_status hone_engine_export_cache(const hone_engine* engine, char** text,
                                                char** error);
/* Takes such records in. `taken` may be null: how many. Records that make no sense are left out;
 * `flaws` may be null: two lines for each, or an empty text. */
HONE_C_API hone_status hone_engine_import_cache(hone_engine* engine, const char* text,
                                                int64_t* taken, char** flaws, char** error);
/* Checks the cache file and every record in it; `records` and `flaws` as of an import. */
HONE_C_API hone_status hone_engine_verify_cache(hone_engine* engine, int64_t* records, char** flaws,
                                                char** error);

/* Searches a schedule and keeps it in the cache. `options` and `result` may be null. */
HONE_C_API hone_status hone_engine_tune(hone_engine* engine, const char* problem,
                                        const hone_tune_options* options, hone_tune_result* result,
                                        char** error);

/* --- kernels --- */

/* A kernel for a problem, "softmax M=64 N=1000". `schedule` by hand, or null. */
HONE_C_API hone_status hone_engine_compile(hone_engine* engine, const char* problem,
                                           const char* schedule, hone_kernel** kernel,
                                           char** error);
HONE_C_API void hone_kernel_destroy(hone_kernel* kernel);

HONE_C_API size_t hone_kernel_param_count(const hone_kernel* kernel);
/* Null where `index` is none. */
HONE_C_API const hone_param* hone_kernel_param(const hone_kernel* kernel, size_t index);
/* Canonical texts; they live as long as the kernel. */
HONE_C_API const char* hone_kernel_problem(const hone_kernel* kernel);
HONE_C_API const char* hone_kernel_target(const hone_kernel* kernel);
HONE_C_API const char* hone_kernel_schedule(const hone_kernel* kernel);
/* given, tuned, transferred or default. */
HONE_C_API const char* hone_kernel_source(const hone_kernel* kernel);
/* Bytes that a call takes; see hone_call_options. */
HONE_C_API int64_t hone_kernel_workspace_size(const hone_kernel* kernel);

HONE_C_API void hone_kernel_memory(const hone_kernel* kernel, hone_memory* memory);

/* An argument; scalars are converted to the parameter's type, or refused. */
typedef struct hone_arg {
  int32_t kind; /* a hone_arg_kind */
  hone_tensor tensor;
  double real;
  int64_t integer;
} hone_arg;

/* Runs a kernel: tensors and scalars each in the order of the parameters. `options` may be null.
 * Of a kernel on a GPU, tensors lie in the device's memory, and the results are there on return. */
HONE_C_API hone_status hone_kernel_call(const hone_kernel* kernel, const hone_arg* args,
                                        size_t count, const hone_call_options* options,
                                        char** error);
/* A kernel with one constant more bound, which it copies or packs; `kernel` stays as it is. */
HONE_C_API hone_status hone_kernel_bind(const hone_kernel* kernel, const char* name,
                                        const hone_tensor* tensor, hone_kernel** bound,
                                        char** error);
/* Puts a call on a GPU into a stream (CUstream) and returns. */
HONE_C_API hone_status hone_kernel_enqueue(const hone_kernel* kernel, const hone_arg* args,
                                           size_t count, void* stream, char** error);
/* Waits for a stream; what became of this kernel's calls in it. */
HONE_C_API hone_status hone_kernel_wait(const hone_kernel* kernel, void* stream, char** error);

#ifdef __cplusplus
}
#endif

#endif
