// SPDX-License-Identifier: Apache-2.0
/* Models for C: graphs of ops, loaded and run; part of hone/c.h. */
#ifndef HONE_C_MODEL_H
#define HONE_C_MODEL_H

#include <stddef.h>
#include <stdint.h>

#include "hone/c_enums.h"
#include "hone/c_types.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct hone_model hone_model;

/* A tensor by the name that the graph has for it. */
typedef struct hone_named_tensor {
  const char* name;
  hone_tensor tensor;
} hone_named_tensor;

/* Options of loading; see hone::ModelOptions. */
typedef struct hone_model_options {
  size_t struct_size;
  const char* dims;                 /* "B=8", or "B=1..64" where calls tell it */
  const hone_named_tensor* weights; /* copied or packed */
  size_t weight_count;
  const hone_named_tensor* known; /* inputs of a model of ONNX whose values are known now */
  size_t known_count;
  int32_t apart;    /* not 0: each node has a kernel of its own */
  const char* plan; /* which nodes share a kernel, as hone_model_plan has it; null: none is given */
} hone_model_options;

/* A model from a file, a graph's text or a model of ONNX. `options` may be null. */
HONE_C_API hone_status hone_engine_load(hone_engine* engine, const char* path,
                                        const hone_model_options* options, hone_model** model,
                                        char** error);
/* The same from the text of a graph; `origin` names it in errors, or is null. */
HONE_C_API hone_status hone_engine_load_graph(hone_engine* engine, const char* text,
                                              const char* origin, const hone_model_options* options,
                                              hone_model** model, char** error);
/* Null is fine. A model outlives its engine. */
HONE_C_API void hone_model_destroy(hone_model* model);

/* Canonical text of the graph; lives as long as the model. */
HONE_C_API const char* hone_model_text(const hone_model* model);
/* Which nodes share a kernel, and the orders of values in memory; see hone::Model::plan. */
HONE_C_API const char* hone_model_plan(const hone_model* model);
/* Inputs, weights (of which `constant` is set) and outputs, in the order of the text. */
HONE_C_API size_t hone_model_param_count(const hone_model* model);
/* Null where `index` is none. */
HONE_C_API const hone_param* hone_model_param(const hone_model* model, size_t index);

/* One kernel of a model. It lives as long as the model. */
typedef struct hone_step {
  const hone_kernel* kernel; /* the model's: it is not destroyed; without its weights */
  const char* const* ops;    /* of the nodes that it computes */
  size_t op_count;
  const char* const* reads; /* tensors of the graph, in the order of the kernel's parameters */
  size_t read_count;
  const char* const* makes;
  size_t make_count;
} hone_step;

HONE_C_API size_t hone_model_step_count(const hone_model* model);
/* In the order in which they run. Null where `index` is none. */
HONE_C_API const hone_step* hone_model_step(const hone_model* model, size_t index);

/* Bytes that a model takes besides code; see hone::ModelMemory. */
typedef struct hone_model_bytes {
  size_t struct_size;
  int64_t weights;    /* copied or packed, shared by all calls */
  int64_t values;     /* of a call: tensors between steps, which share memory */
  int64_t values_sum; /* of these tensors if none shared memory */
  int64_t workspace;  /* of a call: the most of a kernel, or of kernels at the same time */
  int64_t call;       /* of a call in all: what hone_call_options gives */
} hone_model_bytes;

HONE_C_API void hone_model_memory(const hone_model* model, hone_model_bytes* memory);
/* Bytes that a call takes; see hone_call_options. */
HONE_C_API int64_t hone_model_workspace_size(const hone_model* model);

/* Runs a model: inputs and outputs by name, in any order, each once; they are dense. On a GPU each
 * lies in the host's memory or the device's. `options` may be null. */
HONE_C_API hone_status hone_model_run(const hone_model* model, const hone_named_tensor* inputs,
                                      size_t input_count, const hone_named_tensor* outputs,
                                      size_t output_count, const hone_call_options* options,
                                      char** error);

/* Puts a call of a model on a GPU into a stream (CUstream, cudaStream_t; null: the default one) and
 * returns at once. Tensors lie in the device's memory. */
HONE_C_API hone_status hone_model_enqueue(const hone_model* model, const hone_named_tensor* inputs,
                                          size_t input_count, const hone_named_tensor* outputs,
                                          size_t output_count, void* stream, char** error);
/* Waits until the stream is done; tells of bad data in the model's calls. */
HONE_C_API hone_status hone_model_wait(const hone_model* model, void* stream, char** error);

/* What tuning found for one kernel. Both texts and result are there for the time of the call. */
typedef void (*hone_tuned_kernel)(void* context, const char* problem, const char* schedule,
                                  const hone_tune_result* result);

/* Searches schedules for the kernels of a model, each different one once, and which nodes share a
 * kernel; the next load takes them. The budget is of all together. `tuned` is called for each when
 * all is done. `options` and `tuned` may be null. */
HONE_C_API hone_status hone_engine_tune_model(hone_engine* engine, const hone_model* model,
                                              const hone_tune_options* options,
                                              hone_tuned_kernel tuned, void* context, char** error);

#ifdef __cplusplus
}
#endif

#endif
