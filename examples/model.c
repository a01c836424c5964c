// SPDX-License-Identifier: Apache-2.0
/* A graph of ops from C: loaded with its weights, its kernels, and calls of several sizes in memory
 * of the caller. */
#include <hone/c.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const kGraph =
    "graph perceptron(x: f32[B,8], const w1: f32[8,16], const b1: f32[16],\n"
    "                 const w2: f32[16,4], const b2: f32[4]) -> (y) {\n"
    "  h = fc_relu(x, w1, b1)\n"
    "  z = fc(h, w2, b2)\n"
    "  y = softmax(z)\n"
    "}\n";

static void check(hone_status status, char* error) {
  if (status == HONE_OK) return;
  fprintf(stderr, "status %d: %s\n", (int)status, error ? error : "");
  hone_free(error);
  exit(1);
}

static hone_named_tensor tensor(const char* name, float* data, int32_t rank, const int64_t* shape) {
  const hone_named_tensor t = {
      .name = name, .tensor = {.data = data, .type = HONE_F32, .rank = rank, .shape = shape}};
  return t;
}

static void fill(float* data, int count) {
  for (int i = 0; i < count; ++i) data[i] = (float)(i % 7 - 3) / 8;
}

int main(void) {
  enum { kMostRows = 5 };
  float w1[8 * 16], b1[16], w2[16 * 4], b2[4], x[kMostRows * 8], y[kMostRows * 4];
  fill(w1, 8 * 16);
  fill(b1, 16);
  fill(w2, 16 * 4);
  fill(b2, 4);
  fill(x, kMostRows * 8);

  const hone_engine_options in_memory = {.struct_size = sizeof in_memory, .cache = ":memory:"};
  hone_engine* engine = NULL;
  hone_model* model = NULL;
  char* error = NULL;
  check(hone_engine_create(&in_memory, &engine, &error), error);
  const hone_named_tensor weights[] = {
      tensor("w1", w1, 2, (const int64_t[]){8, 16}), tensor("b1", b1, 1, (const int64_t[]){16}),
      tensor("w2", w2, 2, (const int64_t[]){16, 4}), tensor("b2", b2, 1, (const int64_t[]){4})};
  hone_model_options options = {
      .struct_size = sizeof options, .dims = "B=1..5", .weights = weights, .weight_count = 4};
  check(hone_engine_load_graph(engine, kGraph, NULL, &options, &model, &error), error);

  for (size_t i = 0; i < hone_model_step_count(model); ++i) {
    const hone_step* step = hone_model_step(model, i);
    for (size_t k = 0; k < step->op_count; ++k) printf("%s%s", k > 0 ? "+" : "", step->ops[k]);
    printf(" -> %s (%s)\n", step->makes[0], hone_kernel_source(step->kernel));
  }

  /* A call in memory of the caller, which the next call may use again. */
  const size_t bytes = (size_t)hone_model_workspace_size(model);
  void* workspace = aligned_alloc(64, (bytes + 63) / 64 * 64);
  const hone_call_options call = {
      .struct_size = sizeof call, .workspace = workspace, .workspace_bytes = bytes};
  for (int64_t rows = 1; rows <= kMostRows; rows += 2) {
    const hone_named_tensor in = tensor("x", x, 2, (const int64_t[]){rows, 8});
    const hone_named_tensor out = tensor("y", y, 2, (const int64_t[]){rows, 4});
    check(hone_model_run(model, &in, 1, &out, 1, &call, &error), error);
    for (int64_t i = 0; i < rows; ++i) {
      if (fabs(y[i * 4] + y[i * 4 + 1] + y[i * 4 + 2] + y[i * 4 + 3] - 1) > 1e-5) return 1;
    }
  }
  free(workspace);

  options.dims = "B=0..x";
  hone_model* none = NULL;
  if (hone_engine_load_graph(engine, kGraph, NULL, &options, &none, &error) !=
      HONE_ERROR_ARGUMENT) {
    return 1;
  }
  printf("refused: %s\n", error);
  hone_free(error);
  hone_engine_destroy(engine);
  hone_model_destroy(model);
  return 0;
}
