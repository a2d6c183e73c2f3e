/* Samples of the parts of updates for the generated tests of ops. */
#include "ops/fused/update_steps.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    int64_t size;
    double number; /* the share, or epsilon */
    bool squares;
} problem;

static const problem averages[] = {{"values", 37, 0.1, false}, {"squares", 45, 0.001, true}, {"one", 1, 0.5, true}};
static const problem descents[] = {{"short", 5, 1e-7, false}, {"long", 70, 1e-3, false}};

static liana_tensor given(liana_graph *graph, liana_dtype dtype, const problem *p, const char *name, double low)
{
    return liana__sample_input(graph, name, dtype, liana_shape_of(p->size), low, 2);
}

static liana_tensor build_average(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana__moving_average_attributes attributes = {p->number, p->squares};
    return liana__build2(LIANA_HERE, op, given(graph, dtype, p, "old", -2), given(graph, dtype, p, "value", -2),
                         &attributes);
}
LIANA__SAMPLE_ROWS(moving_average, averages, build_average);

static liana_tensor build_descent(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana__root_descent_attributes attributes = {p->number};
    const liana_tensor inputs[] = {given(graph, dtype, p, "x", -2), given(graph, dtype, p, "mean", -2),
                                   given(graph, dtype, p, "square", 0.1),
                                   liana__sample_input(graph, "rate", dtype, LIANA_SCALAR, 0.1, 1)};
    return liana__build(LIANA_HERE, graph, op, inputs, 4, &attributes);
}
LIANA__SAMPLE_ROWS(root_descent, descents, build_descent);
