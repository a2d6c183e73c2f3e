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

typedef struct liana__sample {
    const char *name;
    /* Builds the sample's inputs and the op under test, and returns its result. `dtype` is F64 when gradients are
     * checked, and F32 when kernels are compared. Ops on other dtypes may ignore it. */
    liana_tensor (*build)(liana_graph *graph, liana_dtype dtype);
    /* The largest allowed |kernel - reference| / (1 + |reference|) in f32; 0: 2e-5. Larger ones need a comment. */
    double tolerance;
} liana__sample;

typedef struct liana__samples {
    const liana__op *op;
    size_t count;
    const liana__sample *items;
} liana__samples;

/* Defines liana__samples_<name> from a static array. */
#define LIANA__SAMPLES(op_name, array) \
    const liana__samples liana__samples_##op_name = {&liana__op_##op_name, sizeof(array) / sizeof *(array), array}

/* An input whose elements are drawn uniformly from [low, high] (whole numbers for integer dtypes). */
liana_tensor liana__sample_input(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape, double low,
                                 double high);

#define LIANA__OP(stem, name) extern const liana__samples liana__samples_##name;
#include "ops/ops.def"
#undef LIANA__OP

#endif
