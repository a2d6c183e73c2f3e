/* op.h - the op contract: everything liana knows about an op, in one const struct.
 *
 * To add an op: write src/ops/<stem>.c with the struct (and the builder that users call), src/ops/<stem>.samples.c with
 * samples for the generated tests, and add one row to src/ops/ops.def. Nothing else in liana switches on an op. */
#ifndef LIANA_IR_OP_H
#define LIANA_IR_OP_H

#include "base/cpu.h"
#include "base/error.h"
#include "base/field.h"
#include "ir/shape.h"

#include <liana/graph.h>

typedef struct liana__op liana__op;
typedef struct liana__node liana__node;

/* One node: an op applied to inputs. Every op has exactly one result, which keeps differentiation, memory planning and
 * rewriting free of special cases; what would have been several results is one stacked tensor or several ops. */
struct liana__node {
    const liana__op *op;
    uint32_t id; /* position in the graph, from 1; inputs always have smaller ids */
    uint32_t num_inputs;
    liana__node *const *inputs;
    const void *attributes; /* the op's attribute struct, or NULL */
    liana_dtype dtype;
    liana_shape shape;
    const char *name; /* of inputs and variables; else NULL */
    bool keep_wide;   /* mixed precision leaves it in f32 */
    bool recomputed;  /* computes once more what another node gives, which was not kept (plan/recompute.h) */
    liana_location where;
};

/* What `infer` gets and fills in. Attributes may be completed (defaults resolved) in place. */
typedef struct liana__infer {
    const liana__op *op;
    liana__node *const *inputs;
    size_t num_inputs;
    void *attributes;
    liana_dtype dtype;
    liana_shape shape;
    liana__error *error;
} liana__infer;

/* What `gradient` gets and fills in. `input_gradients[i]` stays invalid where it is not wanted or is zero. */
typedef struct liana__gradient {
    const liana__node *node;
    liana_tensor output;
    liana_tensor output_gradient;
    const liana_tensor *inputs;
    const bool *wanted;
    liana_tensor *input_gradients;
} liana__gradient;

/* One execution of one node. Pointers are to contiguous row-major data, aligned to 64 bytes where the memory is
 * liana's own. Kernels may run at the same time on different threads with different data and scratch. */
typedef struct liana__call {
    const liana__node *node;
    const void *const *src;
    void *dst;
    void *scratch;    /* `scratch_size` bytes that `prepare` asked for */
    const void *plan; /* what `prepare` made */
    /* What `pack` made of an input; NULL: nobody packed, and `run` reads the input itself. */
    const void *packed;
    /* Which of the tiles that `cut` made is wanted. num_tiles 0: the whole result. */
    size_t tile, num_tiles;
    void *companion; /* NULL, or where the result goes of a node of which `gives_companion` said that it is given */
} liana__call;

typedef struct liana__prepared {
    void *plan;
    size_t scratch_size;
    /* Bytes that `pack` makes of the input `packed_input`; 0: nothing is to be packed. */
    size_t packed_size;
    uint32_t packed_input;
    size_t num_tiles; /* that `cut` made; 0 or 1: none */
} liana__prepared;

/* One way to compute an op. */
typedef struct liana__kernel {
    const char *name; /* "onednn", "avx512", "reference" */
    liana__isa isa;   /* the least instruction set it needs */
    /* Whether it can compute this node; if not, *reason says why in a few words. NULL: always. */
    bool (*applicable)(const liana__node *node, const char **reason);
    /* Whether to take it where it is applicable, on a processor with that instruction set; if not, *reason says why: a
     * kernel further down the list is faster there. NULL: always. */
    bool (*preferred)(const liana__node *node, liana__isa isa, const char **reason);
    /* Does once, when a graph is compiled, what need not be done in each step. NULL: nothing. The plan is shared by all
     * threads and must not be changed by `run`. */
    liana_status (*prepare)(const liana__node *node, liana__prepared *prepared, liana__error *error);
    void (*release)(void *plan);
    liana_status (*run)(const liana__call *call);
    /* NULL, or lays an input out as `run` wants it, which needs only be done again when that input has changed: a
     * backend does so for weights, once for many executions or for all slices of one. Only the source `packed_input` is
     * there, and no result. */
    liana_status (*pack)(const liana__call *call, void *packed);
    /* NULL, or cuts the result of a prepared node into tiles that several threads may compute at the same time, with
     * the same bits as the whole: never inside a sum, and as the shape alone says. Sets num_tiles, and may add to plan
     * and scratch_size; `packed` stays as it is. */
    liana_status (*cut)(const liana__node *node, liana__prepared *prepared, liana__error *error);
    /* NULL, or whether `run` can give the result of `reader` as well, a node that reads nothing but this one's result:
     * on the way, while that is in registers. `prepare` asks for the scratch memory in any case. Bits of this node's
     * result are the same with a companion and without. Not for tiles. */
    bool (*gives_companion)(const liana__node *node, const liana__node *reader);
    /* How many times the rounding errors of sums in plain order `run` may make in f32; 0 means 1. */
    double rounding;
} liana__kernel;

/* Why `kernel` is not chosen: a few words with no end of life. NULL if it would do. */
const char *liana__kernel_declines(const liana__kernel *kernel, const liana__node *node, liana__isa isa);

/* The least work that one execution of a node is: what a profile holds against the time that it took. A multiply-add
 * counts as two operations; exp, sqrt and the like as one; taps of a window that lie in the padding count. Each tensor
 * is moved once. */
typedef struct liana__cost {
    double flops;
    double bytes;
    const char *family;  /* what a reader knows it as: "convolutions", "element-wise ops" */
    const char *variant; /* a distinction that deserves a row of its own: "1x1"; or NULL */
    bool dot_products;   /* most operations are those of dot products, for which processors have units for bf16 */
} liana__cost;

/* Where an op's result may lie. */
typedef enum liana__placement {
    LIANA__PLACE_OWN,      /* memory of its own */
    LIANA__PLACE_IN_PLACE, /* may overwrite an input of the same size that nobody needs later (element i of the result
                            * depends on element i of that input only, or the input is read before) */
    LIANA__PLACE_ALIAS,    /* is input 0 under another shape: nothing is computed */
} liana__placement;

/* What mixed precision (src/passes/mixed_precision.c) makes of an op, which was built in f32 throughout. */
typedef enum liana__precision_class {
    /* f32 in, f32 out: exponentials, quotients, softmax, losses, and what was not thought about. */
    LIANA__STAYS_WIDE,
    /* Reads bf16 where that is what there is, adds up and gives f32 (if it has an attribute "wide", that is set). */
    LIANA__SUMS,
    /* Gives bf16 where its largest input is: element-wise ops, pooling, normalisation. */
    LIANA__FOLLOWS,
    /* The same, and it makes no difference whether its input or its result is rounded. */
    LIANA__MOVES_DATA,
    /* Reads bf16 always and gives it; f32 where it has an attribute "wide" and nobody reads its result in bf16. */
    LIANA__MULTIPLIES,
    /* Reads bf16 always, adds up over many examples or pixels and gives f32. */
    LIANA__MULTIPLIES_AND_SUMS,
} liana__precision_class;

/* How an op computes from a part of a batch, some consecutive rows of axis 0. */
typedef enum liana__part_kind {
    LIANA__PART_NONE,  /* only from everything at once */
    LIANA__PART_ROWS,  /* rows of the result are what the same rows of the inputs give */
    LIANA__PART_SUM,   /* the result is the sum of what the parts give */
    LIANA__PART_MERGE, /* the result is what the op's `merge` makes of what equal parts give */
} liana__part_kind;

/* A part is computed as a node of its own: a copy whose batched inputs, and result if they are PART_ROWS, have fewer
 * rows. What attributes say about axis 0 (the shape of a reshape) is then not so, and kernels must not ask for it. */
typedef struct liana__parts {
    liana__part_kind kind;
    int64_t rows;      /* the size of axis 0 of each batched input, and of the result if they are PART_ROWS */
    uint64_t whole;    /* bit i: each part needs all of input i; the others are batched */
    liana_dtype dtype; /* of what is merged; sums are of the node's own */
    /* Axis 1 may be cut like axis 0: line by line of an image, the result is what the same lines of the inputs give. */
    bool by_lines;
} liana__parts;

struct liana__op {
    const char *name; /* StableHLO's or TensorFlow's mnemonic */
    const char *doc;
    const liana__fields *attributes; /* NULL: none */
    size_t min_inputs;
    size_t max_inputs;
    liana_status (*infer)(liana__infer *infer);
    /* Builds the gradient's graph. NULL: not differentiable, and asking for it is an error. Ops through which no
     * gradient flows by definition (argmax) use liana__no_gradient. */
    void (*gradient)(liana__gradient *gradient);
    liana__placement placement;
    liana__precision_class precision;
    uint32_t narrow_inputs; /* bit i: input i may be bf16, the others are parameters in f32. 0: all may */
    /* Given zero operations, the bytes of all inputs and the result, and the family "data movement": puts right what is
     * not so. NULL: all is. */
    void (*cost)(const liana__node *node, liana__cost *cost);
    /* The op that does the same and, before it stores an element, what may follow: an epilogue (kernels/epilogue.h)
     * behind a convolution; a residual and an activation behind a normalisation. NULL: there is none. */
    const liana__op *with_epilogue;
    const liana__op *with_activation;
    /* How many elements of the result, from the first on, hardly change when the inputs do; those behind them say which
     * of several was taken, which may hang on a rounding error. NULL: all. */
    int64_t (*continuous)(const liana__node *node);
    /* How a node can be computed in parts. NULL: it cannot. */
    liana__parts (*parts)(const liana__node *node);
    /* Makes the result of `count` parts' results, `stride` bytes apart. */
    void (*merge)(const liana__node *node, const void *parts, size_t stride, size_t count, void *result);
    /* Tells the attributes of a part's node what they cannot see. NULL: nothing. */
    void (*note_whole)(const liana__node *whole, void *attributes);
    /* Best first, NULL-terminated, ending in the plain reference loop. NULL: nothing to run (inputs, variables,
     * constants). */
    const liana__kernel *const *kernels;
};

/* The gradient of a piecewise constant op: zero. */
void liana__no_gradient(liana__gradient *gradient);

liana__cost liana__node_cost(const liana__node *node);
/* The usual costs: an operation for each element of the result, or of input 0; of the inputs no more is read than is
 * written. */
void liana__cost_element_wise(const liana__node *node, liana__cost *cost);
void liana__cost_reduction(const liana__node *node, liana__cost *cost);
void liana__cost_result_only(const liana__node *node, liana__cost *cost);

/* How many tiles of at least `least` each to cut `work` into: 1 to `most`, and no more than keep many threads busy. */
static inline int64_t liana__count_tiles(double work, double least, int64_t most)
{
    enum { MOST_TILES = 32 };
    double tiles = work / least;
    if (most > MOST_TILES) most = MOST_TILES;
    return tiles < 2 ? 1 : tiles < (double)most ? (int64_t)tiles : most;
}

/* PART_NONE for what cannot be computed in parts. */
liana__parts liana__node_parts(const liana__node *node);
static inline bool liana__parts_is_whole(const liana__parts *parts, uint32_t input)
{
    return input < 64 && (parts->whole >> input & 1);
}
/* The same for an element-wise node whose inputs have its shape or are scalars, seen as one row after the other of one
 * element each; else PART_NONE. */
liana__parts liana__node_flat_parts(const liana__node *node);
/* The same for a node that works line by line on a batch of one: the rows are those of axis 1; else PART_NONE. */
liana__parts liana__node_line_parts(const liana__node *node);
/* The bytes from one part's result to the next where several of a sum or a merger lie in a row. */
size_t liana__part_size(const liana__node *node, const liana__parts *parts);
/* The usual ones. PART_ROWS where axis 0 is the same in the result and all inputs; in the result and input 0; in the
 * result and those inputs that are not repeated along it. */
liana__parts liana__parts_all_inputs(const liana__node *node);
liana__parts liana__parts_first_input(const liana__node *node);
liana__parts liana__parts_element_wise(const liana__node *node);

/* Makes a node. The first input's graph is used (or `graph` for ops without inputs); attributes are copied. */
liana_tensor liana__build(liana_location here, liana_graph *graph, const liana__op *op, const liana_tensor *inputs,
                          size_t num_inputs, const void *attributes);
/* The usual numbers of inputs. */
liana_tensor liana__build1(liana_location here, const liana__op *op, liana_tensor a, const void *attributes);
liana_tensor liana__build2(liana_location here, const liana__op *op, liana_tensor a, liana_tensor b,
                           const void *attributes);
liana_tensor liana__build3(liana_location here, const liana__op *op, liana_tensor a, liana_tensor b, liana_tensor c,
                           const void *attributes);

/* INVALID_ARGUMENT with a message; the caller's place, the op's name and all input shapes are added around it. */
liana_status liana__infer_fail(liana__infer *infer, const char *format, ...) LIANA__PRINTF(2, 3);
/* Checks shared by many ops; `index` is the input's. */
liana_status liana__infer_rank(liana__infer *infer, size_t index, int rank, const char *layout);
liana_status liana__infer_float(liana__infer *infer, size_t index);
liana_status liana__infer_same_dtype(liana__infer *infer, size_t a, size_t b);
/* -rank..rank-1 to 0..rank-1. */
liana_status liana__infer_axis(liana__infer *infer, int64_t axis, int rank, int *normal);

/* That an attribute has one number for each axis of input 0. */
liana_status liana__infer_by_axis(liana__infer *infer, const liana__ints *numbers);

/* For ops whose result has the shape and dtype of input 0. */
liana_status liana__infer_like_input(liana__infer *infer);

/* Whether a tensor is made of one variable and of nothing else, such as weights in another dtype: what is made of it
 * can be kept until the variable changes. */
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
