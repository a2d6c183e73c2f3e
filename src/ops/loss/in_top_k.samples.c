/* Samples of in_top_k for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    int64_t k;
} problem;

static const problem problems[] = {{"top1", 1}, {"top3", 3}};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    liana_tensor predictions = liana__sample_input(graph, "predictions", dtype, liana_shape_of(17, 7), 0, 1);
    liana_tensor targets = liana__sample_input(graph, "targets", LIANA_S32, liana_shape_of(17), -1, 7);
    return liana_op_in_top_k(predictions, targets, ((const problem *)row)->k);
}
LIANA__SAMPLE_ROWS(in_top_k, problems, build);
