/* Samples of softmax and its gradient for the generated tests of ops. */
#include "ops/samples.h"

static const liana__plain_row softmax_rows[] = {
    {"ten", {{"x", LIANA__DIMS(3, 10), -3, 3, LIANA_F32}}},
    {"long", {{"x", LIANA__DIMS(2, 2, 37), -8, 8, LIANA_F32}}},
    {"one_row", {{"x", LIANA__DIMS(16), -1, 1, LIANA_F32}}},
    {"one_class", {{"x", LIANA__DIMS(5, 1), -1, 1, LIANA_F32}}},
};
LIANA__SAMPLE_ROWS(softmax, softmax_rows, liana__sample_plain);

static const liana__plain_row log_softmax_rows[] = {
    {"seven", {{"x", LIANA__DIMS(4, 7), -3, 3, LIANA_F32}}},
    {"long", {{"x", LIANA__DIMS(1, 3, 2, 1, 35), -8, 8, LIANA_F32}}},
    /* Differences beyond which e^x is 0 in float. */
    {"far", {{"x", LIANA__DIMS(2, 33), -500, 500, LIANA_F32}}},
};
LIANA__SAMPLE_ROWS(log_softmax, log_softmax_rows, liana__sample_plain);

/* The first input stands for a softmax, but may be anything. */
static const liana__plain_row gradient_rows[] = {
    {"ten", {{"y", LIANA__DIMS(3, 10), 0, 1, LIANA_F32}, {"dy", LIANA__DIMS(3, 10), -1, 1, LIANA_F32}}},
    {"long", {{"y", LIANA__DIMS(2, 2, 37), 0, 1, LIANA_F32}, {"dy", LIANA__DIMS(2, 2, 37), -1, 1, LIANA_F32}}},
    {"one_row", {{"y", LIANA__DIMS(16), 0, 1, LIANA_F32}, {"dy", LIANA__DIMS(16), -1, 1, LIANA_F32}}},
};
LIANA__SAMPLE_ROWS(softmax_gradient, gradient_rows, liana__sample_plain);
