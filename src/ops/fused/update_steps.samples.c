/* Samples of the parts of updates for the generated tests of ops. */
#include "ops/fused/update_steps.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    int64_t size;
    double number; /* the share, or epsilon */
    bool squares;
    double count; /* what the value is divided by; 0: by nothing */
} problem;

static const problem averages[] = {{"values", 37, 0.1, false, 0},
                                   {"squares", 45, 0.001, true, 0},
                                   {"one", 1, 0.5, true, 0},
                                   {"mean", 37, 0.1, false, 0.8},
                                   {"square of mean", 45, 0.1, true, 1.5}};
static const problem descents[] = {{"short", 5, 1e-7, false, 0}, {"long", 70, 1e-3, false, 0}};

static liana_tensor given(liana_graph *graph, liana_dtype dtype, const problem *p, const char *name, double low)
{
    return liana__sample_input(graph, name, dtype, liana_shape_of(p->size), low, 2);
}

static liana_tensor build_average(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    const problem *p = row;
    const liana__moving_average_attributes attributes = {p->number, p->squares};
    const liana_tensor old = given(graph, dtype, p, "old", -2), value = given(graph, dtype, p, "value", -2);
    if (p->count == 0) return liana__build2(LIANA_HERE, op, old, value, &attributes);
    const liana_tensor count = liana__sample_input(graph, "count", dtype, LIANA_SCALAR, p->count, p->count + 0.1);
    return liana__build(LIANA_HERE, graph, op, (liana_tensor[]){old, value, count}, 3, &attributes);
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
