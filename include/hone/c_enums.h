// SPDX-License-Identifier: Apache-2.0
/* The enumerations of the C interface; see hone/c.h. */
#ifndef HONE_C_ENUMS_H
#define HONE_C_ENUMS_H

/* What kind of error happened; the numbers are those of hone::ErrorCode. */
typedef enum hone_status {
  HONE_OK = 0,
  HONE_ERROR_SYNTAX = 1,
  HONE_ERROR_SEMANTIC = 2,
  HONE_ERROR_ARGUMENT = 3,
  HONE_ERROR_BOUNDS = 4,
  HONE_ERROR_SCHEDULE = 5,
  HONE_ERROR_NOT_FOUND = 6,
  HONE_ERROR_CACHE = 7,
  HONE_ERROR_UNSUPPORTED = 8,
  HONE_ERROR_MEMORY = 9,
  HONE_ERROR_CANCELLED = 10,
  HONE_ERROR_INTERNAL = 11,
  HONE_ERROR_DEVICE = 12
} hone_status;

/* Element types, as hone::DType. */
typedef enum hone_dtype {
  HONE_F64 = 0,
  HONE_F32 = 1,
  HONE_F16 = 2,
  HONE_BF16 = 3,
  HONE_I64 = 4,
  HONE_I32 = 5,
  HONE_I16 = 6,
  HONE_I8 = 7,
  HONE_U8 = 8,
  HONE_BOOL = 9,
  HONE_F8E4M3 = 10,
  HONE_F8E5M2 = 11,
  /* Of less than a byte: several elements in each, the first in the low bits. */
  HONE_I4 = 12,
  HONE_U4 = 13,
  HONE_I2 = 14,
  HONE_U2 = 15,
  HONE_U1 = 16
} hone_dtype;

/* What a parameter is to its op, as hone::Role. */
typedef enum hone_role {
  HONE_INPUT = 0,
  HONE_OUTPUT = 1,
  HONE_INOUT = 2,
  HONE_SCALAR = 3
} hone_role;

/* What the event sink of an engine is told of. */
typedef enum hone_event_kind {
  HONE_EVENT_COMPILE = 0,
  HONE_EVENT_TUNE = 1,
  HONE_EVENT_NOTICE = 2,
  HONE_EVENT_BUG = 3
} hone_event_kind;

/* Why tuning ended, as hone::TuneEnd. */
typedef enum hone_tune_end {
  HONE_TUNE_HIT = 0,
  HONE_TUNE_BUDGET = 1,
  HONE_TUNE_CONVERGED = 2,
  HONE_TUNE_LIMIT = 3,
  HONE_TUNE_STOPPED = 4,
  HONE_TUNE_TRIALS = 5,
  HONE_TUNE_EXHAUSTED = 6
} hone_tune_end;

/* Which member of a hone_arg holds. */
typedef enum hone_arg_kind {
  HONE_ARG_TENSOR = 0,
  HONE_ARG_REAL = 1,
  HONE_ARG_INTEGER = 2
} hone_arg_kind;

#endif
