/* export.h - a model's graph as a graph of ONNX: what the functions that write ops share.
 *
 * A model that takes any batch is built twice, with two batches. Sizes that differ between the twins depend on the
 * batch, and are written so that the runtime finds them. An error stays with the export, and later calls do nothing:
 * names may be passed on without a look at it. */
#ifndef LIANA_ONNX_EXPORT_H
#define LIANA_ONNX_EXPORT_H

#include "formats/onnx.pb-c.h"
#include "layers/model.h"
#include "ops/ops.h"

#include <liana/onnx.h>

/* ---- values ---- */

/* The order of a tensor's axes in the file. Convolutions of ONNX read and write channels first. */
typedef enum liana__onnx_layout {
    LIANA__ONNX_NATURAL,        /* liana's: [batch, height, width, channels] */
    LIANA__ONNX_CHANNELS_FIRST, /* [batch, channels, height, width] */
    LIANA__ONNX_EITHER,         /* while layouts are chosen: whatever the readers want */
} liana__onnx_layout;

/* A whole number that may depend on the batch: constant + per_example * batch. */
typedef struct liana__onnx_size {
    int64_t constant;
    int64_t per_example;
} liana__onnx_size;

/* A dtype and a shape, whose axes may depend on the batch. */
typedef struct liana__onnx_type {
    liana_dtype dtype;
    int rank;
    liana__onnx_size sizes[LIANA_MAX_RANK];
} liana__onnx_type;

/* The result of a node of liana's graph. */
typedef struct liana__onnx_value {
    const char *names[2];       /* by layout; NULL: it is not there in that layout */
    const void *data;           /* of a constant or a weight, or computed of such; NULL: it is none */
    const char *data_name;      /* the name that its first initializer gets */
    const liana__node *around;  /* an input of a body that is the same in all steps: the node around the loop */
    const liana__node *same_as; /* nothing is written: it is the result of that node */
    const liana__node *bias;    /* that the product or convolution adds */
    const liana__node *product; /* of a reshape: it is this product, of a tensor whose leading axes stay apart */
    const liana__node *padding; /* of a convolution: the pad before it, which becomes its own */
    const char *const *parts;   /* of a loop or choice: its results */
    const char *pooled;         /* of a mean over whole images: the same with axes of size 1, channels first */
    size_t num_uses;
    bool is_needed;
    bool is_joined; /* into another node, which is written instead */
    liana__onnx_layout layout;
} liana__onnx_value;

/* ---- the file and its graphs ---- */

/* Pointers that grow, in an arena. */
typedef struct liana__onnx_list {
    void **items;
    size_t count;
    size_t capacity;
} liana__onnx_list;

typedef struct liana__onnx_export {
    liana__arena *arena;
    liana__error *error; /* the first one */
    liana_status status;
    const liana_model *model;
    struct liana__onnx_scope *top;
    int64_t batches[2];            /* of the twins; equal: the batch is fixed */
    const char *batch;             /* the value with the number of examples, once something asks for it */
    liana__onnx_list initializers; /* Liana__Onnx__Tensor, all of them in the outermost graph */
    liana__onnx_list laid_out;     /* which weights they hold in which order: export_value.c */
    const char **names;            /* those that are taken, by their hash */
    size_t num_names, name_capacity;
    liana__text faults; /* parts that ONNX cannot say, with their layers */
    size_t num_faults;
} liana__onnx_export;

/* A graph that is being written: the model's, or a body. */
typedef struct liana__onnx_scope {
    liana__onnx_export *file;
    struct liana__onnx_scope *outer; /* NULL: the model's graph */
    const liana_graph *graph, *twin;
    liana__onnx_value *values; /* by node id */
    const char *const *layers; /* by node id: the layer that made it; of a body all are `layer` */
    const char *layer;
    liana__onnx_list nodes; /* Liana__Onnx__Node */
} liana__onnx_scope;

/* ---- names and nodes: export_node.c ---- */

/* The status of the export, with its message in the file's error. */
liana_status liana__onnx_fail(liana__onnx_export *file, liana_status status, const char *format, ...)
    LIANA__PRINTF(3, 4);
/* Notes a part of the model that ONNX cannot say. The export goes on, to name all of them. Returns "". */
const char *liana__onnx_refuse(liana__onnx_scope *scope, const liana__node *node, const char *format, ...)
    LIANA__PRINTF(3, 4);
/* Zeroed memory; NULL and a failed export: out of memory. */
void *liana__onnx_allocate(liana__onnx_export *file, size_t size);
void liana__onnx_append(liana__onnx_export *file, liana__onnx_list *list, void *item);
/* `wanted`, or with a number behind it where that is taken. */
const char *liana__onnx_free_name(liana__onnx_export *file, const char *wanted);
/* The place of a name among those that are taken: below name_capacity, as long as none is added. */
size_t liana__onnx_name_place(const liana__onnx_export *file, const char *name);

typedef struct liana__onnx_attribute {
    const char *name;
    Liana__Onnx__Attribute__AttributeType type;
    int64_t integer;
    double number;
    const char *text; /* static; of strings the only one */
    const int64_t *ints;
    size_t num_ints;
    Liana__Onnx__Graph *graph;
} liana__onnx_attribute;
#define LIANA__ONNX_INT(name_, value_)                                                            \
    {                                                                                             \
        .name = (name_), .type = LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__INT, .integer = (value_) \
    }
#define LIANA__ONNX_FLOAT(name_, value_)                                                           \
    {                                                                                              \
        .name = (name_), .type = LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__FLOAT, .number = (value_) \
    }
#define LIANA__ONNX_TEXT(name_, text_)                                                           \
    {                                                                                            \
        .name = (name_), .type = LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__STRING, .text = (text_) \
    }
#define LIANA__ONNX_INTS(name_, values_, count_)                                                  \
    {                                                                                             \
        .name = (name_), .type = LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__INTS, .ints = (values_), \
        .num_ints = (size_t)(count_)                                                              \
    }
#define LIANA__ONNX_GRAPH(name_, graph_)                                                          \
    {                                                                                             \
        .name = (name_), .type = LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__GRAPH, .graph = (graph_) \
    }
/* A list of attributes; and of names. */
#define LIANA__ONNX_WITH(...)       \
    (const liana__onnx_attribute[]) \
    {                               \
        __VA_ARGS__,                \
        {                           \
            .name = NULL            \
        }                           \
    }
#define LIANA__ONNX_OF(...) \
    (const char *const[])   \
    {                       \
        __VA_ARGS__, NULL   \
    }

/* Adds a node of ONNX with one result, and returns the result's name. Lists end with NULL; `attributes` may be NULL. An
 * input "" is not given. */
const char *liana__onnx_say(liana__onnx_scope *scope, const liana__node *node, const char *type,
                            const char *const *inputs, const liana__onnx_attribute *attributes);
/* The same with several results, whose names are written to `outputs`. */
void liana__onnx_say_many(liana__onnx_scope *scope, const liana__node *node, const char *type,
                          const char *const *inputs, const liana__onnx_attribute *attributes, const char **outputs,
                          size_t num_outputs);
/* The layer that made a node. */
const char *liana__onnx_layer_of(const liana__onnx_scope *scope, const liana__node *node);

/* ---- values: export_value.c ---- */

/* ONNX's number of a dtype; 0: it has none. */
int32_t liana__onnx_dtype(liana_dtype dtype);

liana__onnx_value *liana__onnx_value_of(const liana__onnx_scope *scope, const liana__node *node);
/* The number of the twin's node that is the same field: two numbers as one. */
liana__onnx_size liana__onnx_size_of(const liana__onnx_scope *scope, int64_t number, int64_t of_twin);
bool liana__onnx_size_equal(liana__onnx_size a, liana__onnx_size b);
const liana__node *liana__onnx_twin(const liana__onnx_scope *scope, const liana__node *node);
liana__onnx_size liana__onnx_dim(const liana__onnx_scope *scope, const liana__node *node, int axis);
liana__onnx_type liana__onnx_type_of(const liana__onnx_scope *scope, const liana__node *node);
/* Whether no size of it depends on the batch. */
bool liana__onnx_is_fixed(const liana__onnx_scope *scope, const liana__node *node);
/* An attribute that is a list of numbers: of the node and of its twin. */
const int64_t *liana__onnx_ints(const liana__node *node, const char *name);
int64_t liana__onnx_int(const liana__node *node, const char *name);
double liana__onnx_float(const liana__node *node, const char *name);

/* The name of a node's result in a layout, which may write a Transpose. */
const char *liana__onnx_name(liana__onnx_scope *scope, const liana__node *node, liana__onnx_layout layout);
/* The same of input `index` of a node; natural. */
const char *liana__onnx_input(liana__onnx_scope *scope, const liana__node *node, size_t index);
/* The same for an element-wise node that is written in a layout: the input may have fewer axes than the node. */
const char *liana__onnx_operand(liana__onnx_scope *scope, const liana__node *node, size_t index,
                                liana__onnx_layout layout);
/* The result of a node is there under this name, in a layout. */
void liana__onnx_give(liana__onnx_scope *scope, const liana__node *node, const char *name, liana__onnx_layout layout);

/* The data of a constant, a weight, or what is computed of such; NULL: it is none. */
const void *liana__onnx_data(const liana__onnx_scope *scope, const liana__node *node);
/* Data with their axes in another order, as an initializer of the shape `as` (NULL: what the order gives). Without data
 * nodes that do the same at run time. */
const char *liana__onnx_laid_out(liana__onnx_scope *scope, const liana__node *node, const int64_t *order,
                                 const liana_shape *as);
/* Initializers. Equal ones are written once. */
const char *liana__onnx_constant(liana__onnx_scope *scope, const char *name, liana_dtype dtype,
                                 const liana_shape *shape, const void *data);
const char *liana__onnx_number(liana__onnx_scope *scope, liana_dtype dtype, double value);
const char *liana__onnx_list_of(liana__onnx_scope *scope, const char *name, const int64_t *values, size_t count);
/* Sizes as a list: an initializer, or computed of the batch. */
const char *liana__onnx_sizes(liana__onnx_scope *scope, const liana__node *node, const liana__onnx_size *sizes,
                              size_t count);
/* A tensor in another shape or dtype. */
const char *liana__onnx_reshape(liana__onnx_scope *scope, const liana__node *node, const char *x,
                                const liana__onnx_size *sizes, size_t count);
const char *liana__onnx_cast(liana__onnx_scope *scope, const liana__node *node, const char *x, liana_dtype dtype);
const char *liana__onnx_transpose(liana__onnx_scope *scope, const liana__node *node, const char *x,
                                  const int64_t *order, int rank);

/* The order of axes that makes a natural tensor one with channels first (and back), and the place of an axis there. */
void liana__onnx_channels_first(int rank, int64_t *order);
void liana__onnx_channels_last(int rank, int64_t *order);
int liana__onnx_axis(liana__onnx_layout layout, int rank, int axis);

/* ---- graphs: export_graph.c ---- */

/* Finds what is needed, joins nodes and chooses layouts. */
void liana__onnx_analyse(liana__onnx_scope *scope);
/* Writes all nodes of a scope that is analysed, whose inputs have names. */
void liana__onnx_emit(liana__onnx_scope *scope);
/* A scope for a body of a node. Its inputs have no names yet. */
liana__onnx_scope *liana__onnx_body_scope(liana__onnx_scope *outer, const liana__node *node, size_t body);
/* Whether a reshape changes the axes between the first and the last alone. */
bool liana__onnx_keeps_ends(const liana__onnx_scope *scope, const liana__node *reshape);

/* ---- the file: export_write.c ---- */

/* A name with a type, as an input or output. */
Liana__Onnx__ValueInfo *liana__onnx_value_info(liana__onnx_export *file, const char *name,
                                               const liana__onnx_type *type);
/* The graph of a scope that is emitted. */
Liana__Onnx__Graph *liana__onnx_close(liana__onnx_scope *scope, const char *name, const liana__onnx_list *inputs,
                                      const liana__onnx_list *outputs);
/* Gives a result of the outermost graph another name. */
void liana__onnx_rename(liana__onnx_list *nodes, const char *from, const char *to);
/* Writes the file, and weights of more than `most_inside` bytes beside it. */
liana_status liana__onnx_write(liana__onnx_export *file, const Liana__Onnx__Model *made, const char *path,
                               size_t most_inside);

#endif
