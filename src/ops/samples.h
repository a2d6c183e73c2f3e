/* samples.h - samples: small graphs from which the tests of an op are generated.
 *
 * Each op has a file <stem>.samples.c that defines liana__samples_<op>; without it the tests do not link. For each
 * sample the tests check:
 * - the shape rule (with the verifier);
 * - the gradient against central differences in f64;
 * - each kernel against the reference;
 * - that nothing is written outside of the buffers;
 * - that a second run gives the same bits.
 *
 * Choose odd sizes and strides, and shapes whose axes differ: such a sample finds errors that a square one hides. Make
 * each input in a statement of its own: its values depend on its number, and a compiler may evaluate the arguments of a
 * call in any order. */
#ifndef LIANA_OPS_SAMPLES_H
#define LIANA_OPS_SAMPLES_H

#include "ops/ops.h"

/* Builds a sample's inputs and the op under test, and returns its result. `dtype` is F64 when gradients are checked,
 * and F32 when kernels are compared. Ops on other dtypes may ignore it. */
typedef liana_tensor liana__build_sample(liana_graph *graph, liana_dtype dtype);
/* The same for a row of a table: a struct that begins with the sample's name. */
typedef liana_tensor liana__build_row(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row);

typedef struct liana__built_sample {
    const char *name;
    liana__build_sample *build;
    /* The largest allowed |kernel - reference| / (1 + |reference|) in f32; 0: 2e-5. Larger ones need a comment. */
    double tolerance;
} liana__built_sample;

/* The samples of an op: rows of a table, which the ops of a family may share, then others. */
typedef struct liana__samples {
    const liana__op *op;
    size_t count;
    const liana__built_sample *others;
    liana__build_row *build_row;
    const void *rows;
    size_t num_rows, row_size;
} liana__samples;

/* Define liana__samples_<name> from a static array of samples; from a table; from `num` rows of a table and an
 * array. */
#define LIANA__COUNT(array) (sizeof(array) / sizeof *(array))
#define LIANA__SAMPLES(op_name, array)                                             \
    const liana__samples liana__samples_##op_name = {.op = &liana__op_##op_name,   \
                                                     .count = LIANA__COUNT(array), \
                                                     .others = (array)}
#define LIANA__SAMPLE_ROWS(op_name, table, build)                                     \
    const liana__samples liana__samples_##op_name = {.op = &liana__op_##op_name,      \
                                                     .count = LIANA__COUNT(table),    \
                                                     .build_row = (build),            \
                                                     .rows = (table),                 \
                                                     .num_rows = LIANA__COUNT(table), \
                                                     .row_size = sizeof *(table)}
#define LIANA__SAMPLE_ROWS_AND(op_name, table, num, build, array)                          \
    const liana__samples liana__samples_##op_name = {.op = &liana__op_##op_name,           \
                                                     .count = (num) + LIANA__COUNT(array), \
                                                     .others = (array),                    \
                                                     .build_row = (build),                 \
                                                     .rows = (table),                      \
                                                     .num_rows = (num),                    \
                                                     .row_size = sizeof *(table)}

/* One of them. */
typedef struct liana__sample {
    const char *name;
    double tolerance;
    liana__build_sample *build; /* NULL: a row */
    liana__build_row *build_row;
    const liana__op *op;
    const void *row;
} liana__sample;

static inline liana__sample liana__samples_at(const liana__samples *samples, size_t index)
{
    if (index >= samples->num_rows) {
        const liana__built_sample *one = &samples->others[index - samples->num_rows];
        return (liana__sample){.name = one->name, .tolerance = one->tolerance, .build = one->build};
    }
    const void *row = (const char *)samples->rows + index * samples->row_size;
    return (liana__sample){.name = *(const char *const *)row,
                           .build_row = samples->build_row,
                           .op = samples->op,
                           .row = row};
}

static inline liana_tensor liana__sample_build(const liana__sample *sample, liana_graph *graph, liana_dtype dtype)
{
    return sample->build ? sample->build(graph, dtype) : sample->build_row(graph, dtype, sample->op, sample->row);
}

/* A shape in a table. */
#define LIANA__DIMS(...)                                                 \
    {                                                                    \
        (int)(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), \
        {                                                                \
            __VA_ARGS__                                                  \
        }                                                                \
    }

#define LIANA__NO_DIMS \
    {                  \
        0,             \
        {              \
            0          \
        }              \
    }

/* Options of a convolution or pooling in a table. */
#define LIANA__PADDED(...) .padding = LIANA_PADDING_EXPLICIT, .explicit_padding = {__VA_ARGS__}
#define LIANA__SAME .padding = LIANA_PADDING_SAME

/* An input whose elements are drawn uniformly from [low, high] (whole numbers for integer dtypes). */
liana_tensor liana__sample_input(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape, double low,
                                 double high);

/* Inputs in a table. */
typedef struct liana__sample_values {
    const char *name; /* NULL: none */
    liana_shape shape;
    double low, high;
    liana_dtype dtype; /* LIANA_F32: the one that is asked for */
} liana__sample_values;

liana_tensor liana__sample_given(liana_graph *graph, liana_dtype dtype, const liana__sample_values *values);

/* A row for an op without attributes, and its builder. */
typedef struct liana__plain_row {
    const char *name;
    liana__sample_values inputs[3];
} liana__plain_row;

liana__build_row liana__sample_plain;

#define LIANA__OP(stem, name) extern const liana__samples liana__samples_##name;
#include "ops/ops.def"
#undef LIANA__OP

#endif
