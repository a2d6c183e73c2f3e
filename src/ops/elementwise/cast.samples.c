/* Samples of cast for the generated tests of ops. */
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    liana__sample_values x;
    int to; /* ASKED: the dtype that is asked for */
} problem;
enum { ASKED = -1 };

static const problem problems[] = {
    {"pixels", {"x", LIANA__DIMS(7, 19), 0, 255, LIANA_U8}, ASKED},
    {"bool", {"x", LIANA__DIMS(37), 0, 1, LIANA_BOOL}, ASKED},
    {"to integer", {"x", LIANA__DIMS(37), -300, 300, LIANA_F32}, LIANA_S32},
    {"from integer", {"x", LIANA__DIMS(3, 13), -1e9, 1e9, LIANA_S32}, ASKED},
    {"to bytes", {"x", LIANA__DIMS(3, 27), -100, 400, LIANA_F32}, LIANA_U8},
    {"to signed bytes", {"x", LIANA__DIMS(81), -200, 200, LIANA_F32}, LIANA_S8},
    {"to 16 bits", {"x", LIANA__DIMS(81), -50000, 50000, LIANA_F32}, LIANA_S16},
    {"to 16 unsigned bits", {"x", LIANA__DIMS(81), -9000, 90000, LIANA_F32}, LIANA_U16},
    {"signed bytes", {"x", LIANA__DIMS(7, 19), -128, 127, LIANA_S8}, ASKED},
    {"16 bits", {"x", LIANA__DIMS(7, 19), -32768, 32767, LIANA_S16}, ASKED},
    {"16 unsigned bits", {"x", LIANA__DIMS(7, 19), 0, 65535, LIANA_U16}, ASKED},
    {"between integers", {"x", LIANA__DIMS(7, 19), -300, 300, LIANA_S16}, LIANA_S8},
    {"without a sign", {"x", LIANA__DIMS(7, 19), -128, 127, LIANA_S8}, LIANA_U16},
    {"from a half", {"x", LIANA__DIMS(43), -9, 9, LIANA_F16}, ASKED},
    {"from small halves", {"x", LIANA__DIMS(43), -1e-5, 1e-5, LIANA_F16}, ASKED},
    {"to a half", {"x", LIANA__DIMS(43), -9, 9, LIANA_F32}, LIANA_F16},
    {"to large halves", {"x", LIANA__DIMS(43), -8e4, 8e4, LIANA_F32}, LIANA_F16},
    {"to small halves", {"x", LIANA__DIMS(43), -1e-5, 1e-5, LIANA_F32}, LIANA_F16},
    {"bf16 to a half", {"x", LIANA__DIMS(43), -9, 9, LIANA_BF16}, LIANA_F16},
    {"a half to bytes", {"x", LIANA__DIMS(43), -9, 300, LIANA_F16}, LIANA_U8},
    {"from a narrower float", {"x", LIANA__DIMS(43), -9, 9, LIANA_BF16}, ASKED},
};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const problem *p = row;
    return liana_op_cast(liana__sample_given(graph, dtype, &p->x), p->to == ASKED ? dtype : (liana_dtype)p->to);
}

static liana_tensor build_float(liana_graph *graph, liana_dtype dtype)
{
    /* Rounding makes a finite difference in f64 meaningless: there the cast is left out (test_graph has its gradient).
     */
    liana_dtype other = dtype == LIANA_F64 ? LIANA_F64 : LIANA_BF16;
    liana_tensor x = liana__sample_input(graph, "x", dtype, liana_shape_of(7, 19), -2, 2);
    return liana_op_cast(liana_op_cast(x, other), dtype);
}

static liana_tensor build_to_narrow(liana_graph *graph, liana_dtype dtype)
{
    if (dtype == LIANA_F64) return build_float(graph, dtype);
    return liana_op_cast(liana__sample_input(graph, "x", dtype, liana_shape_of(43), -9, 9), LIANA_BF16);
}

static const liana__built_sample samples[] = {
    {"through a narrower float", build_float, 0},
    {"to a narrower float", build_to_narrow, 0},
};
LIANA__SAMPLE_ROWS_AND(cast, problems, LIANA__COUNT(problems), build, samples);
