/* Samples of slice and pad for the generated tests of ops. */
#include "ops/gradients.h"
#include "ops/samples.h"

typedef struct slice_problem {
    const char *name;
    liana__sample_values x;
    int64_t start[LIANA_MAX_RANK], limit[LIANA_MAX_RANK], strides[LIANA_MAX_RANK];
} slice_problem;

static const slice_problem slices[] = {
    /* All rows of a part of each, as in a batch. */
    {"columns", {"x", LIANA__DIMS(6, 5, 3), -1, 1, LIANA_F32}, {0, 1, 0}, {6, 4, 3}, {1, 2, 1}},
    {"box", {"x", LIANA__DIMS(4, 5, 3), -1, 1, LIANA_F32}, {1, 0, 2}, {3, 5, 3}, {1, 1, 1}},
    {"rows", {"x", LIANA__DIMS(7, 9), -1, 1, LIANA_F32}, {2, 0}, {6, 9}, {1, 1}},
    {"strided", {"x", LIANA__DIMS(3, 8, 7, 2), -1, 1, LIANA_F32}, {0, 1, 0, 1}, {3, 8, 6, 2}, {2, 3, 2, 1}},
    {"rank1", {"x", LIANA__DIMS(11), -1, 1, LIANA_F32}, {1}, {10}, {4}},
    {"rank5", {"x", LIANA__DIMS(2, 3, 4, 2, 3), -1, 1, LIANA_F32}, {1, 0, 1, 0, 0}, {2, 3, 4, 2, 2}, {1, 2, 1, 1, 1}},
    {"bytes", {"x", LIANA__DIMS(5, 13), 0, 255, LIANA_U8}, {0, 3}, {5, 12}, {2, 1}},
    {"halves", {"x", LIANA__DIMS(5, 13), -9, 9, LIANA_F16}, {0, 3}, {5, 12}, {2, 1}},
    {"16 bits", {"x", LIANA__DIMS(5, 13), -9, 9, LIANA_S16}, {0, 3}, {5, 12}, {2, 3}},
    {"s64", {"x", LIANA__DIMS(6, 5), -1e15, 1e15, LIANA_S64}, {1, 1}, {6, 4}, {2, 2}},
};

static liana_tensor build_slice(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const slice_problem *p = row;
    return liana_op_slice(liana__sample_given(graph, dtype, &p->x), p->start, p->limit, p->strides);
}
LIANA__SAMPLE_ROWS(slice, slices, build_slice);

typedef struct pad_problem {
    const char *name;
    liana__sample_values x;
    int64_t low[LIANA_MAX_RANK], high[LIANA_MAX_RANK], interior[LIANA_MAX_RANK];
    double value;
} pad_problem;

static const pad_problem pads[] = {
    {"image", {"x", LIANA__DIMS(2, 3, 5, 4), -1, 1, LIANA_F32}, {0, 1, 0, 0}, {0, 2, 1, 0}, {0}, 0},
    {"value", {"x", LIANA__DIMS(3, 4), -1, 1, LIANA_F32}, {2, 0}, {1, 3}, {0}, -2.5},
    {"nothing", {"x", LIANA__DIMS(3), -1, 1, LIANA_F32}, {0}, {0}, {0}, 7},
    {"interior", {"x", LIANA__DIMS(3, 2, 4), -1, 1, LIANA_F32}, {1, 0, 2}, {0, 3, 1}, {2, 0, 1}, 0.5},
    {"rank5", {"x", LIANA__DIMS(2, 1, 3, 2, 2), -1, 1, LIANA_F32}, {1, 0, 0, 1, 0}, {0, 2, 1, 0, 1}, {0}, 1},
    {"halves", {"x", LIANA__DIMS(3, 4), -1, 1, LIANA_F16}, {2, 0}, {1, 3}, {1, 0}, -2.5},
    {"signed bytes", {"x", LIANA__DIMS(5, 3), -128, 127, LIANA_S8}, {1, 1}, {0, 2}, {0}, -7},
    {"s32", {"x", LIANA__DIMS(5, 3), -1000, 1000, LIANA_S32}, {1, 1}, {0, 2}, {0}, -7},
    /* More cells than a register has, and a last one that fills none. */
    {"wide", {"x", LIANA__DIMS(2, 3, 7, 9), -1, 1, LIANA_F32}, {0, 2, 1, 3}, {0, 1, 2, 5}, {0}, -1.5},
};

static liana_tensor build_pad(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    (void)op;
    const pad_problem *p = row;
    liana_tensor x = liana__sample_given(graph, dtype, &p->x);
    return liana__pad_interior(LIANA_HERE, x, p->low, p->high, p->interior, p->value);
}
LIANA__SAMPLE_ROWS(pad, pads, build_pad);
