/* onnx_file.h - ONNX files that tests make: nodes, initializers, inputs and outputs, one call each. */
#ifndef LIANA_TESTS_ONNX_FILE_H
#define LIANA_TESTS_ONNX_FILE_H

#include "harness/harness.h"

#include "base/memory.h"
#include "formats/onnx.pb-c.h"

/* A file that grows. All memory is in the arena; free it with liana__arena_free(&file.arena). */
typedef struct liana__onnx_file {
    liana__arena arena;
    int64_t opset;
    Liana__Onnx__Model model;
    Liana__Onnx__Graph graph;
    Liana__Onnx__OperatorSet sets[1];
} liana__onnx_file;

void liana__test_onnx_begin(liana__onnx_file *file, int64_t opset);
/* Inputs and outputs: `dims` ends with LIANA__ONNX_END; -1 is the batch. */
enum { LIANA__ONNX_END = -100 };
void liana__test_onnx_input(liana__onnx_file *file, const char *name, int dtype, const int64_t *dims);
void liana__test_onnx_output(liana__onnx_file *file, const char *name);
#define LIANA__ONNX_DIMS(...) ((const int64_t[]){__VA_ARGS__, LIANA__ONNX_END})
/* An initializer; its numbers are copied. */
Liana__Onnx__Tensor *liana__test_onnx_floats(liana__onnx_file *file, const char *name, const int64_t *dims,
                                             const float *numbers);
Liana__Onnx__Tensor *liana__test_onnx_ints(liana__onnx_file *file, const char *name, const int64_t *dims,
                                           const int64_t *numbers);
/* A node; names with blanks between. */
Liana__Onnx__Node *liana__test_onnx_node(liana__onnx_file *file, const char *op, const char *inputs,
                                         const char *outputs);
/* Attributes of a node. `values` ends with LIANA__ONNX_END. */
void liana__test_onnx_set_ints(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name,
                               const int64_t *values);
void liana__test_onnx_set_int(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name, int64_t value);
void liana__test_onnx_set_float(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name, float value);
void liana__test_onnx_set_text(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name, const char *value);
/* A graph of the last `count` nodes, which leave the file's own one: the body of a loop. Its inputs and outputs: names
 * with blanks between. */
Liana__Onnx__Graph *liana__test_onnx_body(liana__onnx_file *file, size_t count, const char *inputs,
                                          const char *outputs);
void liana__test_onnx_set_graph(liana__onnx_file *file, Liana__Onnx__Node *node, const char *name,
                                Liana__Onnx__Graph *graph);
/* The bytes of the file, in its arena. */
const uint8_t *liana__test_onnx_pack(liana__onnx_file *file, size_t *size);

#endif
