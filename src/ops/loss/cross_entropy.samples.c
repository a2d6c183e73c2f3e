/* Samples of cross_entropy for the generated tests of ops. */
#include "ops/samples.h"

#define LOGITS(batch, classes, most)                                    \
    {                                                                   \
        "logits", LIANA__DIMS(batch, classes), -(most), most, LIANA_F32 \
    }
#define LABELS(batch, classes)                                  \
    {                                                           \
        "labels", LIANA__DIMS(batch), 0, (classes)-1, LIANA_S32 \
    }
#define GRADIENT(batch)                            \
    {                                              \
        "dy", LIANA__DIMS(batch), -1, 1, LIANA_F32 \
    }

static const liana__plain_row loss_rows[] = {
    {"ten", {LOGITS(7, 10, 3), LABELS(7, 10)}},
    {"many", {LOGITS(3, 101, 20), LABELS(3, 101)}},
    {"two", {LOGITS(1, 2, 1), LABELS(1, 2)}},
};
LIANA__SAMPLE_ROWS(sparse_softmax_cross_entropy, loss_rows, liana__sample_plain);

static const liana__plain_row gradient_rows[] = {
    {"ten", {LOGITS(7, 10, 3), LABELS(7, 10), GRADIENT(7)}},
    {"many", {LOGITS(3, 37, 3), LABELS(3, 37), GRADIENT(3)}},
};
LIANA__SAMPLE_ROWS(sparse_softmax_cross_entropy_gradient, gradient_rows, liana__sample_plain);
