/* op.h - the op contract: everything liana knows about an op, in one const struct.
 *
 * To add an op, write src/ops/<family>/<stem>.c with the struct (and the builder that users call), and <stem>.samples.c
 * with samples for the generated tests. Add one row to src/ops/ops.def. Nothing else in liana switches on an op. */
#ifndef LIANA_IR_OP_H
#define LIANA_IR_OP_H

#include "base/cpu.h"
#include "base/error.h"
#include "base/field.h"
#include "ir/shape.h"

#include <liana/graph.h>

typedef struct liana__op liana__op;
typedef struct liana__node liana__node;
struct liana__lowering;
struct liana__product;

/* One node: an op applied to inputs. Every op has exactly one result, so differentiation, memory planning and rewriting
 * need no special cases. Several results are one stacked tensor, or several ops. */
struct liana__node {
    const liana__op *op;
    uint32_t id; /* its position in the graph, from 1; its inputs have smaller ids */
    uint32_t num_inputs;
    liana__node *const *inputs;
    const void *attributes; /* the op's attribute struct, or NULL */
    liana_dtype dtype;
    liana_shape shape;
    const char *name;        /* of an input or a variable; of another node the name that it was given, or NULL */
    const char *initializer; /* of a variable, or NULL */
    bool keep_wide;          /* stays in f32 in mixed precision */
    bool recomputed;         /* computes again a result that another node gave and did not keep (plan/recompute.h) */
    liana_location where;
};

/* Arguments and result of `infer`. It may complete attributes in place (resolve defaults). */
typedef struct liana__infer {
    const liana__op *op;
    liana__node *const *inputs;
    size_t num_inputs;
    void *attributes;
    liana_dtype dtype;
    liana_shape shape;
    liana__error *error;
} liana__infer;

/* Arguments and result of `gradient`. `input_gradients[i]` stays invalid if it is not wanted or is zero. */
typedef struct liana__gradient {
    const liana__node *node;
    liana_tensor output;
    liana_tensor output_gradient;
    const liana_tensor *inputs;
    const bool *wanted;
    liana_tensor *input_gradients;
} liana__gradient;

/* One execution of one node. Pointers are to contiguous row-major data; liana's own memory is aligned to 64 bytes.
 * Kernels may run at the same time on several threads, with different data and scratch memory. */
typedef struct liana__call {
    const liana__node *node;
    const void *const *src;
    void *dst;
    void *scratch;    /* scratch memory: the `scratch_size` bytes that `prepare` asked for */
    const void *plan; /* the plan that `prepare` made */
    /* The packed input, made by `pack`. NULL: nothing is packed, and `run` reads the input itself. */
    const void *packed;
    /* The tile to compute, of those that `cut` made. num_tiles 0: the whole result. */
    size_t tile, num_tiles;
    bool *has_non_finite; /* NULL, or what a kernel that notes it sets: a number of the result is NaN or infinite */
    void *companion;      /* NULL, or memory for the result of the node that `gives_companion` accepted */
} liana__call;

typedef struct liana__prepared {
    void *plan;
    size_t scratch_size;
    /* Bytes that `pack` makes from the input `packed_input`; 0: nothing is to be packed. */
    size_t packed_size;
    uint32_t packed_input;
    size_t num_tiles; /* tiles that `cut` made; 0 or 1: none */
} liana__prepared;

/* A kernel: one way to compute an op. */
typedef struct liana__kernel {
    const char *name; /* "onednn", "avx512", "reference" */
    liana__isa isa;   /* the smallest instruction set that it needs */
    /* Whether it can compute this node. If not, *reason is a static string that says why. NULL: always. */
    bool (*applicable)(const liana__node *node, const char **reason);
    /* Whether it is the best choice among applicable kernels on a processor with that instruction set. If not, a kernel
     * further down the list is faster there, and *reason says why. NULL: always. */
    bool (*preferred)(const liana__node *node, liana__isa isa, const char **reason);
    /* Does work once, when a graph is compiled, that need not be done in each step. All threads share the plan, so
     * `run` must not change it. NULL: nothing to do. */
    liana_status (*prepare)(const liana__node *node, liana__prepared *prepared, liana__error *error);
    void (*release)(void *plan);
    liana_status (*run)(const liana__call *call);
    /* Lays an input out as `run` wants it. It must be repeated only when that input has changed: for weights, a backend
     * does it once for many executions, or once for all slices of one. `call` has only the source `packed_input`, and
     * no result. NULL: no input is packed. */
    liana_status (*pack)(const liana__call *call, void *packed);
    /* Cuts the result of a prepared node into tiles, which several threads may compute at the same time. The bits are
     * those of the whole result: cuts follow from the shape alone, and never divide a sum. Sets num_tiles, and may add
     * to plan and scratch_size; `packed` stays as it is. NULL: it cannot be cut. */
    liana_status (*cut)(const liana__node *node, liana__prepared *prepared, liana__error *error);
    /* Whether `run` can also give the result of `reader`, a node that reads only this node's result, while that result
     * is in registers. `prepare` asks for scratch memory in any case. This node's result has the same bits with and
     * without a companion. Not for tiles. NULL: never. */
    bool (*gives_companion)(const liana__node *node, const liana__node *reader);
    bool notes_non_finite; /* `run` sets call->has_non_finite, at next to no cost */
    /* The rounding errors of `run` in f32, as a multiple of those of sums in plain order; 0 means 1. */
    double rounding;
} liana__kernel;

/* The reason why `kernel` is not chosen: a static string; NULL if accepted. */
const char *liana__kernel_declines(const liana__kernel *kernel, const liana__node *node, liana__isa isa);

/* The least work of one execution of a node, which a profile compares with the measured time. A multiply-add counts as
 * two operations; exp, sqrt and the like as one. Cells of a window that lie in the padding count. Each tensor is moved
 * once. */
typedef struct liana__cost {
    double flops;
    double product_flops; /* of these, those of convolutions and matrix products; liana__node_cost sets it */
    double bytes;
    const char *family;  /* its name in profiles: "convolutions", "element-wise ops" */
    const char *variant; /* a variant with a row of its own in a profile: "1x1"; or NULL */
    bool dot_products;   /* most operations are dot products, for which processors have units for bf16 */
} liana__cost;

/* The graphs that an op runs, as a loop its body. Attributes of an op with bodies begin with them (ir/body.h). */
enum { LIANA__MOST_BODIES = 2 };
typedef struct liana__bodies {
    liana_graph *items[LIANA__MOST_BODIES];
} liana__bodies;

/* Where an op's result may be in memory. */
typedef enum liana__placement {
    LIANA__PLACE_OWN,      /* memory of its own */
    LIANA__PLACE_IN_PLACE, /* may overwrite an input of the same size that nobody needs later: element i of the result
                            * depends only on element i of that input, or the input is read before */
    LIANA__PLACE_ALIAS,    /* the result is input 0, or a part of it, under another shape: nothing is computed */
} liana__placement;

/* How mixed precision (src/passes/mixed_precision.c) changes an op, which was built in f32. */
typedef enum liana__precision_class {
    /* f32 in, f32 out: exponentials, quotients, softmax, losses, and all ops that do not say otherwise. */
    LIANA__STAYS_WIDE,
    /* Reads bf16 if its input is bf16; accumulates in f32 and gives f32 (sets its attribute "wide", if it has one). */
    LIANA__SUMS,
    /* Gives bf16 if its largest input is bf16: element-wise ops, pooling, normalisation. */
    LIANA__FOLLOWS,
    /* Like FOLLOWS; and rounding its input or its result gives the same. */
    LIANA__MOVES_DATA,
    /* Always reads bf16, and gives bf16; gives f32 if it has an attribute "wide" and nobody reads its result in
     * bf16. */
    LIANA__MULTIPLIES,
    /* Always reads bf16, accumulates over many examples or pixels, and gives f32. */
    LIANA__MULTIPLIES_AND_SUMS,
} liana__precision_class;

/* How an op computes from a part of a batch: consecutive rows of axis 0. */
typedef enum liana__part_kind {
    LIANA__PART_NONE,  /* not possible */
    LIANA__PART_ROWS,  /* rows of the result come from the same rows of the inputs */
    LIANA__PART_SUM,   /* the result is the sum of the parts' results */
    LIANA__PART_MERGE, /* the op's `merge` makes the result from the results of equal parts */
} liana__part_kind;

/* A part is computed as a node of its own: a copy whose batched inputs have fewer rows; for PART_ROWS the result too.
 * Its attributes on axis 0 (the shape of a reshape) are then wrong, and kernels must not use them. */
typedef struct liana__parts {
    liana__part_kind kind;
    int64_t rows;      /* the size of axis 0 of each batched input, and for PART_ROWS of the result */
    uint64_t whole;    /* bit i: each part needs all of input i; other inputs are batched */
    liana_dtype dtype; /* dtype of the parts to merge; sums have the node's own dtype */
    /* Axis 1 may be cut like axis 0: the lines of the result's images come from the same lines of the inputs. */
    bool by_lines;
} liana__parts;

struct liana__op {
    const char *name; /* StableHLO's or TensorFlow's mnemonic */
    const char *doc;
    const liana__fields *attributes; /* NULL: none */
    size_t num_inputs;
    size_t more_inputs; /* that may follow these */
    size_t num_bodies;
    liana_status (*infer)(liana__infer *infer);
    /* Builds the graph of the gradient. NULL: the op is not differentiable, and asking for its gradient is an error.
     * Ops whose gradient is zero by definition (argmax) use liana__no_gradient. */
    void (*gradient)(liana__gradient *gradient);
    liana__placement placement;
    /* Where in input 0 the result of an ALIAS begins, in bytes. Its kernel copies where it cannot be an alias. NULL:
     * at the begin. */
    size_t (*alias_offset)(const liana__node *node);
    liana__precision_class precision;
    uint32_t narrow_inputs; /* bit i: input i may be bf16; others are parameters in f32. 0: all may */
    /* Adjusts the default cost: zero operations, the bytes of all inputs and the result, the family "data movement".
     * NULL keeps it. */
    void (*cost)(const liana__node *node, liana__cost *cost);
    /* The op that does the same and, before it stores an element, also the ops behind it: an epilogue
     * (kernels/epilogue.h) behind a convolution; a residual and an activation behind a normalisation. NULL: there is
     * none. */
    const liana__op *with_epilogue;
    const liana__op *with_activation;
    /* The number of leading elements of the result that change continuously with the inputs. Trailing elements are
     * selections that rounding may flip. NULL: all elements. */
    int64_t (*continuous)(const liana__node *node);
    /* How a node is computed in parts. NULL: it cannot be. */
    liana__parts (*parts)(const liana__node *node);
    /* Makes the result from the results of `count` parts, `stride` bytes apart. */
    void (*merge)(const liana__node *node, const void *parts, size_t stride, size_t count, void *result);
    /* Puts facts about the whole node into the attributes of a part's node. NULL: nothing. */
    void (*note_whole)(const liana__node *whole, void *attributes);
    /* Writes the node as StableHLO (stablehlo/lowering.h). NULL: a device that needs StableHLO cannot run it, and
     * compiling for such a device names the op. */
    liana_status (*lower)(struct liana__lowering *lowering, const liana__node *node);
    /* Best first, NULL-terminated. The last one is the plain reference loop. NULL: nothing to run (inputs, variables,
     * constants). */
    const liana__kernel *const *kernels;
    /* A node as a product of two matrices (ops/linear/product.h), for the kernels of such products. false: the node
     * is no such product, and *reason says why. NULL: no node of the op is. */
    bool (*product)(const liana__node *node, struct liana__product *product, const char **reason);
    /* For functions that several ops share: a struct of their file, with the differences. */
    const void *details;
};

/* A list of kernels for `kernels`; and its end, the plain loop. */
#define LIANA__KERNELS(...)        \
    (const liana__kernel *const[]) \
    {                              \
        __VA_ARGS__                \
    }
#define LIANA__REFERENCE(function) &(const liana__kernel){.name = "reference", .run = (function)}, NULL

static inline size_t liana__op_most_inputs(const liana__op *op)
{
    return op->num_inputs + op->more_inputs;
}

/* The gradient of a piecewise constant op: zero. */
void liana__no_gradient(liana__gradient *gradient);

liana__cost liana__node_cost(const liana__node *node);
/* The usual costs. element_wise: one operation for each element of the result. reduction: one for each element of input
 * 0. result_only: no operations, and only as many bytes are read as are written. */
void liana__cost_element_wise(const liana__node *node, liana__cost *cost);
void liana__cost_reduction(const liana__node *node, liana__cost *cost);
void liana__cost_result_only(const liana__node *node, liana__cost *cost);

/* The number of tiles for `work`, of about `least` or more each: 1 to `most`, and not more than are needed to keep many
 * threads busy. Even numbers, and from 8 on multiples of 4, are shared by 2 or 4 threads without a rest. */
static inline int64_t liana__count_tiles(double work, double least, int64_t most)
{
    enum { MOST_TILES = 32, MANY_TILES = 8 };
    const double tiles = work / least;
    if (most > MOST_TILES) most = MOST_TILES;
    if (tiles < 2) return 1;
    if (tiles >= (double)most) return most;
    const int64_t unit = tiles < MANY_TILES ? 2 : 4, count = ((int64_t)tiles + unit - 1) / unit * unit;
    return count < most ? count : most;
}

/* PART_NONE if the node cannot be computed in parts. */
liana__parts liana__node_parts(const liana__node *node);
static inline bool liana__parts_is_whole(const liana__parts *parts, uint32_t input)
{
    return input < 64 && (parts->whole >> input & 1);
}
/* The same for an element-wise node whose inputs are scalars or have its shape, seen as rows of one element each; else
 * PART_NONE. */
liana__parts liana__node_flat_parts(const liana__node *node);
/* The same for a node that works line by line on a batch of one: the rows are those of axis 1; else PART_NONE. */
liana__parts liana__node_line_parts(const liana__node *node);
/* The distance in bytes between the parts' results of a sum or merge in memory. */
size_t liana__part_size(const liana__node *node, const liana__parts *parts);
/* The usual parts: PART_ROWS if axis 0 is the same in the result and (1) all inputs; (2) input 0; (3) those inputs that
 * are not repeated along it. */
liana__parts liana__parts_all_inputs(const liana__node *node);
liana__parts liana__parts_first_input(const liana__node *node);
liana__parts liana__parts_element_wise(const liana__node *node);

/* Makes a node in the graph of the first input (in `graph` for ops without inputs). Attributes are copied. */
liana_tensor liana__build(liana_location here, liana_graph *graph, const liana__op *op, const liana_tensor *inputs,
                          size_t num_inputs, const void *attributes);
/* The same for one, two and three inputs. */
liana_tensor liana__build1(liana_location here, const liana__op *op, liana_tensor a, const void *attributes);
liana_tensor liana__build2(liana_location here, const liana__op *op, liana_tensor a, liana_tensor b,
                           const void *attributes);
liana_tensor liana__build3(liana_location here, const liana__op *op, liana_tensor a, liana_tensor b, liana_tensor c,
                           const void *attributes);

/* Fails with INVALID_ARGUMENT and this message, to which the caller's place, the op's name and all input shapes are
 * added. */
liana_status liana__infer_fail(liana__infer *infer, const char *format, ...) LIANA__PRINTF(2, 3);
/* Checks that many ops need; `index` is the input's. */
liana_status liana__infer_rank(liana__infer *infer, size_t index, int rank, const char *layout);
liana_status liana__infer_float(liana__infer *infer, size_t index);
liana_status liana__infer_same_dtype(liana__infer *infer, size_t a, size_t b);
/* That a shape is that of something else, such as "the convolution's result". */
liana_status liana__infer_shape(liana__infer *infer, const char *name, const liana_shape *found, const char *whose,
                                const liana_shape *expected);
/* Converts an axis from -rank..rank-1 to 0..rank-1. */
liana_status liana__infer_axis(liana__infer *infer, int64_t axis, int rank, int *normal);

/* That an attribute has one number for each axis of input 0. */
liana_status liana__infer_by_axis(liana__infer *infer, const liana__ints *numbers);

/* `infer` for ops whose result has the shape and dtype of input 0. */
liana_status liana__infer_like_input(liana__infer *infer);

/* Whether a tensor depends on one variable and on nothing else, such as weights in another dtype. Then it can be kept
 * until the variable changes. */
bool liana__is_of_weights(const liana__node *node);

/* Whether nothing is run for a node: it is an input, a variable or a constant. */
static inline bool liana__is_leaf(const liana__node *node)
{
    return !node->op->kernels;
}

/* Of the result. */
static inline double liana__node_bytes(const liana__node *node)
{
    return (double)liana__byte_size(node->dtype, &node->shape);
}

static inline const liana_shape *liana__input_shape(const liana__node *node, size_t index)
{
    return &node->inputs[index]->shape;
}

#endif
