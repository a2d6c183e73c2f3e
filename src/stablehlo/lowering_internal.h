/* lowering_internal.h - how StableHLO ops become text: the building blocks of the functions of lowering.h. */
#ifndef LIANA_STABLEHLO_LOWERING_INTERNAL_H
#define LIANA_STABLEHLO_LOWERING_INTERNAL_H

#include "ir/graph.h"
#include "stablehlo/lowering.h"

struct liana__lowering {
    bool locations; /* module.h has the meaning of these */
    bool highest_precision;
    bool wide_products;
    bool for_cpus;
    bool no_locations;
    liana__text text;
    liana__arena scratch; /* lists that are needed while the text is written */
    liana__hlo *values;   /* by node id */
    uint32_t next;        /* the number of the next value */
    int depth;            /* of regions around the op that is written */
    liana_location where;
    liana__error *error;
};

void liana__lowering_free(liana__lowering *lowering);

/* "tensor<2x3xf32>" */
typedef struct liana__hlo_type {
    char text[200];
} liana__hlo_type;
liana__hlo_type liana__hlo_print_type(liana_dtype dtype, const liana_shape *shape);

/* Added to the dtype of a part, complex numbers of it, which only a few ops know. */
enum { LIANA__HLO_COMPLEX = 64 };

/* A value of a node's type, without a number. */
static inline liana__hlo liana__hlo_like(const liana__node *node)
{
    return (liana__hlo){.dtype = node->dtype, .shape = node->shape};
}

/* Begins a line of the current depth, and a value that is not numbered by an op: a parameter. */
void liana__hlo_indent(liana__lowering *lowering);
liana__hlo liana__hlo_parameter(liana__lowering *lowering, liana_dtype dtype, liana_shape shape);

/* Lists of values: "%4, %5", and "(tensor<f32>, tensor<2xi32>)". */
void liana__hlo_add_values(liana__lowering *lowering, const liana__hlo *values, size_t count);
void liana__hlo_add_types(liana__lowering *lowering, const liana__hlo *values, size_t count);

/* A block of a region: its parameters, which get numbers, and the values that it ends with. */
void liana__hlo_begin_block(liana__lowering *lowering, liana__hlo *parameters, size_t count);
void liana__hlo_end_block(liana__lowering *lowering, const liana__hlo *values, size_t count);

/* An op is written in three steps: its name and operands; regions, if it has some; attributes and types. */
typedef struct liana__hlo_op {
    const liana__hlo *operands;
    size_t count;
    liana__hlo result;
    bool has_regions;
} liana__hlo_op;
liana__hlo_op liana__hlo_begin(liana__lowering *lowering, const char *name, const liana__hlo *operands, size_t count);
/* A region with two scalar parameters of `dtype`. */
void liana__hlo_begin_region(liana__lowering *lowering, liana__hlo_op *op, liana_dtype dtype, liana__hlo parameters[2]);
void liana__hlo_end_region(liana__lowering *lowering, liana__hlo value);
/* Such a region that gives one op of both parameters. */
void liana__hlo_fold_region(liana__lowering *lowering, liana__hlo_op *op, liana_dtype dtype, const char *fold);
/* `attributes` is the text between braces, and is freed; NULL: there is none. */
liana__hlo liana__hlo_end(liana__lowering *lowering, liana__hlo_op *op, liana_dtype dtype, liana_shape shape,
                          liana__text *attributes);
/* All three for an op without regions. */
liana__hlo liana__hlo_write(liana__lowering *lowering, const char *name, const liana__hlo *operands, size_t count,
                            liana_dtype dtype, liana_shape shape, liana__text *attributes);

/* Attributes, separated by commas: "name = array<i64: 1, 2>"; and anything else. */
void liana__hlo_add_array(liana__text *attributes, const char *name, const int64_t *values, int count);
void liana__hlo_add(liana__text *attributes, const char *format, ...) LIANA__PRINTF(2, 3);

/* The text of a constant's value: "dense<1.5> : tensor<2xf32>". */
void liana__hlo_add_dense(liana__text *text, liana_dtype dtype, const liana_shape *shape, const void *data);

/* "// softmax "scores"", and the end of the line. */
void liana__hlo_add_comment(liana__lowering *lowering, const liana__node *node);

/* " loc(...)" of the node that is lowered, where locations are wanted; and the end of the line. */
void liana__hlo_end_line(liana__lowering *lowering);

#endif
