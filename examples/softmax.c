// SPDX-License-Identifier: Apache-2.0
/* hone from C: a kernel with its parameters, a call on the program's own threads (here: one), and
 * what an error looks like. */
#include <hone/c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* A pool without threads: the calling one does it all. */
static void run_alone(void* context, int64_t n, hone_task task, void* task_context) {
  ++*(int*)context;
  task(task_context, 0, n, 0);
}

static void check(hone_status status, char* error) {
  if (status == HONE_OK) return;
  fprintf(stderr, "status %d: %s\n", (int)status, error ? error : "");
  hone_free(error);
  exit(1);
}

int main(void) {
  enum { kRows = 3, kColumns = 100 };
  int forks = 0;
  const hone_thread_pool pool = {
      .struct_size = sizeof pool, .context = &forks, .size = 1, .parallel_for = run_alone};
  const hone_engine_options options = {
      .struct_size = sizeof options, .cache = ":memory:", .pool = &pool};
  hone_engine* engine = NULL;
  hone_kernel* softmax = NULL;
  char* error = NULL;
  check(hone_engine_create(&options, &engine, &error), error);
  check(hone_engine_compile(engine, "softmax M=3 N=100", NULL, &softmax, &error), error);
  for (size_t i = 0; i < hone_kernel_param_count(softmax); ++i) {
    const hone_param* p = hone_kernel_param(softmax, i);
    printf("%s %s[%d,%d]\n", p->role == HONE_OUTPUT ? "output" : "input", p->name, (int)p->shape[0],
           (int)p->shape[1]);
  }

  float x[kRows][kColumns], y[kRows][kColumns];
  for (int i = 0; i < kRows; ++i) {
    for (int j = 0; j < kColumns; ++j) x[i][j] = (float)((i + j) % 17) / 4;
  }
  const int64_t shape[] = {kRows, kColumns};
  hone_arg args[2] = {{.kind = HONE_ARG_TENSOR}, {.kind = HONE_ARG_TENSOR}};
  args[0].tensor = (hone_tensor){.data = x, .type = HONE_F32, .rank = 2, .shape = shape};
  args[1].tensor = (hone_tensor){.data = y, .type = HONE_F32, .rank = 2, .shape = shape};
  check(hone_kernel_call(softmax, args, 2, NULL, &error), error);
  for (int i = 0; i < kRows; ++i) {
    double sum = 0;
    for (int j = 0; j < kColumns; ++j) sum += y[i][j];
    if (fabs(sum - 1) > 1e-5) return 1;
  }

  /* Kernels outlive their engine. */
  hone_engine_destroy(engine);
  args[1].tensor.type = HONE_F64;
  if (hone_kernel_call(softmax, args, 2, NULL, &error) != HONE_ERROR_ARGUMENT) return 1;
  printf("refused: %s\n", error);
  hone_free(error);
  hone_kernel_destroy(softmax);
  return 0;
}
