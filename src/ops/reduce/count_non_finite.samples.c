/* Samples of count_non_finite for the generated tests of ops. */
#include "ops/reduce/count_non_finite.h"

#include "ops/samples.h"

/* log of numbers around 0: NaN below it, -inf at it. */
static liana_tensor draw(liana_graph *graph, const char *name, liana_dtype dtype, liana_shape shape)
{
    liana_tensor x = liana__sample_input(graph, name, LIANA_S32, shape, -2, 9);
    return liana_op_log(liana_op_cast(x, dtype));
}

static liana_tensor build_one(liana_graph *graph, liana_dtype dtype)
{
    return liana__count_non_finite_at(LIANA_HERE, (liana_tensor[]){draw(graph, "x", dtype, liana_shape_of(3, 17))}, 1);
}

/* The second one has two chunks and a part of a third, the third is a scalar. */
static liana_tensor build_several(liana_graph *graph, liana_dtype dtype)
{
    const liana_tensor all[] = {draw(graph, "x", dtype, liana_shape_of(5)),
                                draw(graph, "y", dtype, liana_shape_of(2 * LIANA__FINITE_CHUNK + 33)),
                                draw(graph, "z", dtype, LIANA_SCALAR),
                                draw(graph, "w", dtype, liana_shape_of(9, LIANA__FINITE_CHUNK))};
    return liana__count_non_finite_at(LIANA_HERE, all, sizeof all / sizeof *all);
}

static liana_tensor build_mixed(liana_graph *graph, liana_dtype dtype)
{
    const liana_tensor all[] = {draw(graph, "x", dtype, liana_shape_of(50)),
                                draw(graph, "y", LIANA_BF16, liana_shape_of(70))};
    return liana__count_non_finite_at(LIANA_HERE, all, sizeof all / sizeof *all);
}

static const liana__built_sample count_samples[] = {
    {"one", build_one, 0},
    {"several", build_several, 0},
    {"mixed", build_mixed, 0},
};
LIANA__SAMPLES(count_non_finite, count_samples);
