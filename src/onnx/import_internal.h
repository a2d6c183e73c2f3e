/* import_internal.h - what the readers of ONNX's operators share.
 *
 * A value of the graph is a constant, or the result of a node of the model. The axes of a result need not be ONNX's: a
 * result of shape [batch, height, width, channels] is ONNX's [batch, channels, height, width] if axes 0 to 3 of the
 * value are axes 0, 3, 1 and 2 of the result. An axis of ONNX may also be several axes of the result that follow one
 * another (Reshape has joined them), or none (a size of 1). Transpose, Squeeze and most Reshapes change these lists
 * alone; an operator that needs another order asks liana__import_arrange for it. */
#ifndef LIANA_ONNX_IMPORT_INTERNAL_H
#define LIANA_ONNX_IMPORT_INTERNAL_H

#include "base/scoped.h"
#include "base/text.h"
#include "onnx/import.h"
#include "onnx/import_file.h"

typedef Liana__Onnx__Tensor liana__onnx_tensor;

/* ---- values ---- */

/* Numbers that the file gives, or that follow from it. Integers and truths are `ints`. */
typedef struct liana__import_constant {
    const char *name; /* of the initializer; NULL: it was computed */
    bool is_float, is_bool;
    int rank;
    int64_t dims[LIANA_MAX_RANK];
    int64_t count;
    const float *floats; /* one of both; liana__import_floats reads those of a file when they are needed */
    const int64_t *ints;
    const liana__onnx_tensor *tensor; /* not read yet; NULL: it is */
} liana__import_constant;

/* The axes of a result that an axis of ONNX consists of. */
typedef struct liana__import_axis {
    int count;
    int at[LIANA_MAX_RANK];
} liana__import_axis;

typedef enum liana__import_kind {
    LIANA__IMPORT_NOTHING, /* not computed yet */
    LIANA__IMPORT_CONSTANT,
    LIANA__IMPORT_RESULT,
} liana__import_kind;

typedef struct liana__import_value {
    const char *name;
    liana__import_kind kind;
    liana__import_constant *constant;
    size_t result; /* a node of the model */
    int rank;
    liana__import_axis axes[LIANA_MAX_RANK];
    struct liana__import_node *producer; /* NULL: an input or an initializer */
    struct liana__import_node **users;
    size_t num_users, user_capacity;
    bool is_output;
    /* The result in the order that was asked for last. */
    bool has_arranged;
    int order[LIANA_MAX_RANK], order_count;
    size_t arranged;
} liana__import_value;

/* What names mean while the nodes of a function take the place of its call, or those of a body that of a loop. */
typedef struct liana__import_scope {
    const struct liana__import_scope *outer; /* of a body, which sees the names around it */
    const Liana__Onnx__Function *function;   /* NULL: a body, or the graph itself */
    const struct liana__import_node *call;   /* of the function, or the loop */
    const struct liana__import_binding {
        const char *name;
        liana__import_value *value;
    } * bound; /* names that stand for values from elsewhere: the inputs of a body */
    size_t num_bound;
    const char *prefix; /* of the names of inner values; NULL: none */
    int depth;
} liana__import_scope;

typedef struct liana__import_node {
    const Liana__Onnx__Node *from;
    const liana__import_scope *scope;
    const char *op;
    const char *name;             /* never NULL */
    liana__import_value **inputs; /* NULL: not given */
    size_t num_inputs;            /* of a node with bodies also what these read from around them */
    liana__import_value **outputs;
    size_t num_outputs;
    bool is_done; /* read, also as a part of another one */
    int mark;     /* while nodes are put in order */
} liana__import_node;

/* ---- the import ---- */

/* Values of a weight, in the model's order. */
typedef struct liana__import_pending {
    size_t layer;
    size_t index;  /* among the layer's weights */
    float *values; /* from malloc */
} liana__import_pending;

/* A layer that was made of initializers, which another node may use again. */
typedef struct liana__import_shared {
    const char *key;
    size_t layer;
} liana__import_shared;

typedef struct liana__import {
    liana_model *model;
    const char *path;
    liana_location where; /* the file, in the model's arena */
    const liana__onnx_import_options *options;
    liana__error *error;
    liana__arena arena;
    const Liana__Onnx__Model *file;
    int64_t opset;
    int64_t batch; /* the size of the batch in the file's shapes */
    liana__import_node **nodes;
    size_t num_nodes, node_capacity;
    liana__import_value **values;
    size_t num_values, value_capacity;
    size_t *places; /* numbers of values from 1, by the hashes of their names */
    size_t num_places;
    liana__import_pending *pending;
    size_t num_pending, pending_capacity;
    liana__import_shared *shared;
    size_t num_shared, shared_capacity;
    bool told_double, told_half, told_constants;
    uint64_t budget;     /* bytes of computed constants that are still allowed */
    size_t num_unrolled; /* nodes that took the place of loops */
    size_t num_captured; /* names that bodies read from around them */
} liana__import;

/* Fails with "PATH: OP 'NODE': MESSAGE". */
liana_status liana__import_fail(const liana__import *own, const liana__import_node *node, liana_status status,
                                const char *format, ...) LIANA__PRINTF(4, 5);

/* ---- import_tensor.c ---- */

/* The constant of a tensor of the file: its shape and dtype are checked, its numbers are read later. */
liana_status liana__import_tensor(liana__import *own, const liana__onnx_tensor *tensor,
                                  liana__import_constant **constant) LIANA_MUST_USE;
/* The numbers of a constant, as floats or as integers. NULL: the error is set. */
const float *liana__import_floats(liana__import *own, liana__import_constant *constant);
const int64_t *liana__import_ints(liana__import *own, liana__import_constant *constant);
/* A constant with room for numbers. NULL: the error is set. */
liana__import_constant *liana__import_new(liana__import *own, bool is_float, int rank, const int64_t *dims);
static inline float *liana__import_new_floats(liana__import_constant *constant)
{
    return (float *)(uintptr_t)constant->floats;
}
static inline int64_t *liana__import_new_ints(liana__import_constant *constant)
{
    return (int64_t *)(uintptr_t)constant->ints;
}

/* ---- import_graph.c ---- */

/* Reads nodes, initializers and inputs, and puts the nodes in an order in which each follows what it reads. */
liana_status liana__import_graph(liana__import *own) LIANA_MUST_USE;
/* The value of a name; a new one if there is none and `make`. NULL: there is none, or out of memory. */
liana__import_value *liana__import_value_named(liana__import *own, const char *name, bool make);

/* The operator of a node, with its domain if that is not ONNX's. *op NULL: it calls a function of the file. */
liana_status liana__import_operator(liana__import *own, const Liana__Onnx__Node *node, const char **op) LIANA_MUST_USE;
/* A scope within another one, of a body; its names begin with `name`. */
liana_status liana__import_enter(liana__import *own, const liana__import_node *node, const liana__import_scope *outer,
                                 const char *name, liana__import_scope **inner) LIANA_MUST_USE;
/* What a name means in a scope. NULL: nothing yet, or out of memory. */
liana__import_value *liana__import_lookup(liana__import *own, const liana__import_scope *in, const char *name);
/* Makes values of the outputs of nodes, so that their names mean these and not what is around the scope. */
liana_status liana__import_define(liana__import *own, const liana__import_scope *in, Liana__Onnx__Node *const *nodes,
                                  size_t count) LIANA_MUST_USE;
/* Makes constants of a graph's initializers. */
liana_status liana__import_initializers(liana__import *own, const Liana__Onnx__Graph *graph,
                                        const liana__import_scope *in) LIANA_MUST_USE;
/* Adds nodes, and those of the functions that they call. */
liana_status liana__import_add_nodes(liana__import *own, Liana__Onnx__Node *const *nodes, size_t count,
                                     const liana__import_scope *in) LIANA_MUST_USE;
/* Connects nodes from `first` on to their values, and puts them in order. */
liana_status liana__import_connect(liana__import *own, size_t first) LIANA_MUST_USE;
/* Reads a node whose inputs are there; import.c. */
liana_status liana__import_read_node(liana__import *own, liana__import_node *node) LIANA_MUST_USE;

/* Attributes of a node. */
const Liana__Onnx__Attribute *liana__import_attribute(const liana__import_node *node, const char *name);
int64_t liana__import_int(const liana__import_node *node, const char *name, int64_t if_none);
double liana__import_float(const liana__import_node *node, const char *name, double if_none);
/* `if_none` if it is not given. In `text`, cut to its room. */
typedef struct liana__import_word {
    char text[64];
} liana__import_word;
liana__import_word liana__import_text(const liana__import_node *node, const char *name, const char *if_none);
/* Integers of an attribute, or of a constant input (`input` SIZE_MAX: none). *count 0 and NULL: not given. */
liana_status liana__import_integers(liana__import *own, liana__import_node *node, const char *name, size_t input,
                                    const int64_t **values, int64_t *count) LIANA_MUST_USE;
/* A number of a constant input, or an attribute. */
liana_status liana__import_number(liana__import *own, liana__import_node *node, const char *name, size_t input,
                                  double if_none, double *number) LIANA_MUST_USE;
/* An input; NULL: not given. */
static inline liana__import_value *liana__import_input(const liana__import_node *node, size_t index)
{
    return index < node->num_inputs ? node->inputs[index] : NULL;
}
static inline bool liana__import_is_constant(const liana__import_value *value)
{
    return value && value->kind == LIANA__IMPORT_CONSTANT;
}
/* Reads input `index` as a result; constants are refused. */
liana_status liana__import_result(const liana__import *own, const liana__import_node *node, size_t index,
                                  liana__import_value **value) LIANA_MUST_USE;
/* The only user of an output, if nobody else reads it. */
liana__import_node *liana__import_only_user(const liana__import_value *value);
/* An axis from 0 on. */
liana_status liana__import_axis_of(const liana__import *own, const liana__import_node *node, int64_t given, int rank,
                                   int *axis) LIANA_MUST_USE;

/* ---- import_layout.c ---- */

const liana_shape *liana__import_shape(const liana__import *own, size_t result);
/* A size as ONNX counts it. */
int64_t liana__import_size(const liana__import *own, const liana__import_value *value, int axis);
/* Whether an axis contains the batch. */
bool liana__import_has_batch(const liana__import_value *value, int axis);

/* The result with one axis for each of these axes of ONNX, in this order; the batch must be the first. */
liana_status liana__import_arrange(liana__import *own, liana__import_node *node, liana__import_value *value,
                                   const int *order, int count, size_t *result) LIANA_MUST_USE;
/* The result with the channels last: ONNX's [batch, channels, ...]. */
liana_status liana__import_images(liana__import *own, liana__import_node *node, liana__import_value *value,
                                  size_t *result) LIANA_MUST_USE;
/* Sets an output: its axes are those of the result in this order. */
void liana__import_set_images(liana__import_value *output, size_t result, int rank);
/* Sets an output: a result whose axes are ONNX's. */
void liana__import_set_plain(liana__import_value *output, size_t result, int rank);
/* Sets an output that has the axes of an input. */
void liana__import_set_like(liana__import_value *output, const liana__import_value *input, size_t result);
/* The result with one axis for the ONNX axis, as its last one; *like gets its axes. */
liana_status liana__import_arrange_last(liana__import *own, liana__import_node *node, const liana__import_value *value,
                                        int axis, liana__import_value *like) LIANA_MUST_USE;
/* Joins the axes of a result that an ONNX axis consists of; *axis is that of the result. */
liana_status liana__import_single(liana__import *own, liana__import_node *node, liana__import_value *value, int axis,
                                  int *single) LIANA_MUST_USE;
/* Brings two or more values to the same axes of results, with axes of 1 where one is broadcast. The values are
 * copies. */
liana_status liana__import_align(liana__import *own, liana__import_node *node, liana__import_value *values,
                                 size_t count) LIANA_MUST_USE;
/* The axes of a Reshape. */
liana_status liana__import_reshape(liana__import *own, liana__import_node *node, const liana__import_value *value,
                                   const int64_t *dims, int rank, liana__import_value *output) LIANA_MUST_USE;

/* Results one behind the other along an axis; from_shape.c. The values are copies. */
liana_status liana__import_join(liana__import *own, liana__import_node *node, liana__import_value *values, size_t count,
                                int axis, liana__import_value *output) LIANA_MUST_USE;

/* ---- import_layer.c ---- */

/* Options of a layer. */
typedef struct liana__import_options {
    liana__import *own;
    liana__value *map;
} liana__import_options;
liana__import_options liana__import_options_new(liana__import *own);
void liana__import_set_int(const liana__import_options *options, const char *name, int64_t value);
void liana__import_set_float(const liana__import_options *options, const char *name, double value);
void liana__import_set_bool(const liana__import_options *options, const char *name, bool value);
void liana__import_set_text(const liana__import_options *options, const char *name, const char *value);
void liana__import_set_ints(const liana__import_options *options, const char *name, const int64_t *values, int count);

/* Adds a layer. `stem` names it (NULL: by the node). *result is its first result. */
liana_status liana__import_add(liana__import *own, const liana__import_node *node, const char *type, const char *stem,
                               const liana__import_options *options, const size_t *inputs, size_t num_inputs,
                               size_t *result) LIANA_MUST_USE;
/* An operation: the text of printf. */
liana_status liana__import_operation(liana__import *own, const liana__import_node *node, const size_t *inputs,
                                     size_t num_inputs, size_t *result, const char *format, ...) LIANA__PRINTF(6, 7)
    LIANA_MUST_USE;
/* The name of the layer of an initializer: "layer1.0.conv1" of "layer1.0.conv1.weight". NULL: by the node. */
const char *liana__import_stem(liana__import *own, const liana__import_constant *weight);
/* Gives a weight of the layer of a result its values: `index` among the layer's weights. The numbers are from malloc,
 * and belong to the import; NULL: none are wanted. */
liana_status liana__import_give(liana__import *own, const liana__import_node *node, size_t result, size_t index,
                                float *values) LIANA_MUST_USE;
/* Numbers of a constant in another order of axes: axis i of the result is axis order[i]. From malloc; NULL where values
 * are not wanted, or after an error. */
liana_status liana__import_permuted(liana__import *own, liana__import_constant *constant, const int *order,
                                    float **values) LIANA_MUST_USE;
/* A layer that was made of these initializers already. `key` says all that the layer depends on. */
bool liana__import_find_shared(const liana__import *own, const char *key, size_t *layer);
liana_status liana__import_share(liana__import *own, const char *key, size_t result) LIANA_MUST_USE;
/* Calls a layer once more. */
liana_status liana__import_again(liana__import *own, const liana__import_node *node, size_t layer, size_t input,
                                 size_t *result) LIANA_MUST_USE;

/* ---- import_loop.c ---- */

/* A constant that has the same numbers for each example, as a result; other constants stay. Initial states of loops
 * are so: a product with them must stay a product, or the weights would not learn from it. `axis` is the batch; -1: the
 * first axis of its size. */
liana_status liana__import_state(liana__import *own, liana__import_node *node, const liana__import_value *value,
                                 int axis, liana__import_value **state) LIANA_MUST_USE;
/* Whether it is a constant [batch, units] with the same numbers for each example. */
bool liana__import_is_state(liana__import *own, const liana__import_value *value);
/* Element `index` along an axis, which goes. */
liana_status liana__import_element(liana__import *own, const liana__import_node *node, liana__import_value *value,
                                   int64_t axis, int64_t index, liana__import_value **element) LIANA_MUST_USE;

/* ---- operators ---- */

typedef liana_status (*liana__import_reader)(liana__import *own, liana__import_node *node);
typedef struct liana__import_op {
    const char *name;
    liana__import_reader read;
} liana__import_op;
/* Ended by one without a name; from_*.c. */
extern const liana__import_op liana__import_convolutions[], liana__import_products[], liana__import_elements[],
    liana__import_shapes[], liana__import_normalizations[], liana__import_sequences[], liana__import_reductions[],
    liana__import_loops[];

/* Recognises layer normalisation that is written as arithmetic, from its first node on. */
liana_status liana__import_layer_normalization(liana__import *own, liana__import_node *mean, bool *is_done)
    LIANA_MUST_USE;

/* The same of group normalisation that is written by an InstanceNormalization. */
liana_status liana__import_group_normalization(liana__import *own, liana__import_node *first, bool *is_done)
    LIANA_MUST_USE;

/* Whether nodes of constants with this operator are computed. */
bool liana__import_folds(const char *op);
/* Computes a node of constants. *is_done: it was done; else it is no such node. */
liana_status liana__import_fold(liana__import *own, liana__import_node *node, bool *is_done) LIANA_MUST_USE;

#endif
