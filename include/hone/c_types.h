// SPDX-License-Identifier: Apache-2.0
/* What the functions of the C interface take and give; see hone/c.h. */
#ifndef HONE_C_TYPES_H
#define HONE_C_TYPES_H

#include <stddef.h>
#include <stdint.h>

#include "hone/c_enums.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HONE_C_API __attribute__((visibility("default")))

typedef struct hone_engine hone_engine;
typedef struct hone_kernel hone_kernel;

/* Options of tuning; see hone::TuneOptions. */
typedef struct hone_tune_options {
  size_t struct_size;
  int64_t budget_ms; /* 0: ten seconds */
  int64_t trials;    /* 0: no limit */
  uint64_t seed;     /* 0: 1 */
  int32_t full;      /* effort: not 0 for full, else quick */
  int32_t again;     /* not 0: although there is a tuned record */
  /* Called a few times a second; tuning stops soon after it returns other than 0. May be null. */
  int32_t (*progress)(void* context, int64_t trials, double best_us, double default_us);
  void* progress_context;
} hone_tune_options;

/* What tuning found; see hone::TuneResult. 0 where something is unknown. */
typedef struct hone_tune_result {
  size_t struct_size;
  double time_us;
  double default_us;
  double speedup;
  double limit_us;
  int64_t trials;
  int32_t hit;          /* not 0: the cache had a record, and nothing was measured */
  int32_t end;          /* hone_tune_end */
  double of_limit;      /* share of the limit, 0..1 */
  double expected_gain; /* share of its time that the winner should lose, were it all done again */
} hone_tune_result;

/* A parameter of a kernel or a model, in the order of its text. It lives as long as that. */
typedef struct hone_param {
  const char* name;
  hone_role role;
  hone_dtype type;
  int32_t rank;
  int32_t constant;        /* not 0: given to hone_kernel_bind or when loading, not to calls */
  const int64_t* shape;    /* elements, outermost first; -1: known at the call */
  const char* const* dims; /* the extents as they are written, "N" or "2*N" */
  const int64_t* strides;  /* elements; -1: known at the call */
  int64_t align;           /* bytes */
  int32_t cold;            /* not 0: said to come from memory at each call */
  const int64_t* most;     /* of a model: no call has more elements; elsewhere -1 */
  const int32_t* by_data;  /* of a model: not 0 where data tell the extent, during a call */
} hone_param;

/* What a kernel takes, in bytes; see hone::KernelMemory. */
typedef struct hone_memory {
  size_t struct_size;
  int64_t code;      /* machine code, once */
  int64_t constants; /* what bind packed or copied, once */
  int64_t workspace; /* of a call: what its launches share */
  int64_t worker;    /* of a call: scratch of each worker */
  int64_t call;      /* of a call in all */
} hone_memory;

/* The rank of a flat tensor: `shape[0]` elements one after the other, in the parameter's order. Of
 * a parameter of less than a byte an element, as many bytes of HONE_U8. */
#define HONE_FLAT (-1)

/* A tensor of the caller's, for the time of a call. */
typedef struct hone_tensor {
  void* data;
  int32_t type;           /* a hone_dtype */
  int32_t rank;           /* at most 12, or HONE_FLAT */
  const int64_t* shape;   /* elements, outermost first */
  const int64_t* strides; /* elements; null: dense */
  int32_t read_only;      /* not 0: fits inputs only */
} hone_tensor;

/* The shape of a tensor: its first `rank` extents, in elements, outermost first. */
typedef struct hone_shape {
  int32_t rank;
  int64_t extents[12];
} hone_shape;

/* How a call runs. */
typedef struct hone_call_options {
  size_t struct_size;
  void* workspace; /* as ..._workspace_size says, 64-byte aligned; null: the engine's */
  size_t workspace_bytes;
  int32_t serial;     /* not 0: on the calling thread alone */
  hone_shape* shapes; /* of a model: takes the shape of each output that the call gives; or null */
  size_t shape_count; /* as many as outputs are given */
} hone_call_options;

#ifdef __cplusplus
}
#endif

#endif
