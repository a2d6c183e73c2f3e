/* Samples of fft, and of the transforms of real numbers, for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x;
    bool inverse;
} problem;

static const problem problems[] = {
    {"power_of_two", {"x", LIANA__DIMS(3, 16, 2), -1, 1, LIANA_F32}, false},
    {"eight", {"x", LIANA__DIMS(19, 8, 2), -1, 1, LIANA_F32}, true},
    {"factors", {"x", LIANA__DIMS(2, 2, 30, 2), -1, 1, LIANA_F32}, false},
    {"prime", {"x", LIANA__DIMS(17, 7, 2), -1, 1, LIANA_F32}, true},
    {"one_line", {"x", LIANA__DIMS(12, 2), -1, 1, LIANA_F32}, false},
    {"one_element", {"x", LIANA__DIMS(4, 1, 2), -1, 1, LIANA_F32}, false},
    {"square_of_five", {"x", LIANA__DIMS(2, 25, 2), -1, 1, LIANA_F32}, false},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    return liana_op_fft(liana__sample_given(graph, dtype, &p->x), p->inverse);
}

static liana_tensor build_real(liana_graph *graph, liana_dtype dtype)
{
    return liana_rfft(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 11), -1, 1), 16);
}

static liana_tensor build_real_odd(liana_graph *graph, liana_dtype dtype)
{
    return liana_rfft(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 11), -1, 1), 9);
}

static liana_tensor build_back(liana_graph *graph, liana_dtype dtype)
{
    return liana_irfft(liana__sample_input(graph, "x", dtype, liana_shape_of(3, 6, 2), -1, 1), 0);
}

static liana_tensor build_back_odd(liana_graph *graph, liana_dtype dtype)
{
    return liana_irfft(liana__sample_input(graph, "x", dtype, liana_shape_of(2, 6, 2), -1, 1), 11);
}

static const liana__built_sample others[] = {{"real", build_real, 0},
                                             {"real_odd", build_real_odd, 0},
                                             {"back", build_back, 0},
                                             {"back_odd", build_back_odd, 0}};
LIANA__SAMPLE_ROWS_AND(fft, problems, LIANA__COUNT(problems), build, others);
