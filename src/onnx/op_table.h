/* op_table.h - the ops that ONNX can say, and how. */
#ifndef LIANA_ONNX_OP_TABLE_H
#define LIANA_ONNX_OP_TABLE_H

#include "onnx/export.h"

/* In which layout an op is written. */
typedef enum liana__onnx_rule {
    LIANA__ONNX_PLAIN,   /* natural */
    LIANA__ONNX_IMAGES,  /* channels first */
    LIANA__ONNX_FOLLOWS, /* that of its inputs */
    LIANA__ONNX_REDUCES, /* that of its input, if it keeps the axes; else natural */
    LIANA__ONNX_SHAPES,  /* that of its input, if the first and the last axis stay */
} liana__onnx_rule;

typedef struct liana__onnx_op {
    const liana__op *op;
    liana__onnx_rule rule;
    const char *type; /* the op of ONNX, for functions that write several */
    void (*write)(liana__onnx_scope *scope, const liana__node *node, const char *type);
} liana__onnx_op;

/* NULL: ONNX cannot say it. */
const liana__onnx_op *liana__onnx_find_op(const liana__op *op);

/* The functions of the table, by file. to_elementwise.c: */
void liana__onnx_to_one(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_composed(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_clip(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_cast(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* A tensor in another dtype. */
const char *liana__onnx_convert(liana__onnx_scope *scope, const liana__node *node, const char *x, liana_dtype from,
                                liana_dtype to);
/* to_shape.c: */
void liana__onnx_to_same(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_reshape(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_expand(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_slice(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_pad(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_concat(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_transpose(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_iota(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* to_index.c: */
void liana__onnx_to_one_hot(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_gather(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_scatter(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_argmax(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_top_k(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* to_linear.c: */
void liana__onnx_to_matmul(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_fft(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* to_conv.c: */
void liana__onnx_to_conv(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_conv_transpose(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_pool(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* to_reduce.c: */
void liana__onnx_to_reduce(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_softmax(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_cumulative(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* to_norm.c: */
void liana__onnx_to_batch_norm(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_layer_norm(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* to_control.c: */
void liana__onnx_to_scan(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_while(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_cond(liana__onnx_scope *scope, const liana__node *node, const char *type);
void liana__onnx_to_part(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* A part of a loop's results, if it has that dtype in the loop; else NULL. */
const char *liana__onnx_part_as(liana__onnx_scope *scope, const liana__node *part, liana_dtype dtype);
void liana__onnx_to_cell(liana__onnx_scope *scope, const liana__node *node, const char *type);
/* to_recurrent.c: writes a scan that is a recurrent layer as one node. False: it is none, and nothing is written. */
bool liana__onnx_to_recurrent(liana__onnx_scope *scope, const liana__node *node);

#endif
