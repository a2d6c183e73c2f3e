/* cross_entropy.kernels.h - the softmax cross-entropy of rows of floats and its gradient, for one instruction set. */
#include "kernels/applicable.h"
#include "kernels/vector_kernels.h"
#include "kernels/vector_rows.h"
#include "ops/loss/cross_entropy.h"

static liana_status run_loss(const liana__call *call)
{
    const liana_shape *shape = liana__input_shape(call->node, 0);
    const int32_t *labels = call->src[1];
    int64_t classes = shape->dims[1];
    for (int64_t example = 0; example < shape->dims[0]; example++) {
        const float *logits = (const float *)call->src[0] + example * classes;
        int64_t label = labels[example];
        float loss = NAN;
        if (label >= 0 && label < classes) {
            float maximum = vector_row_max(logits, classes);
            loss = (float)log(vector_row_exp(NULL, logits, maximum, classes)) - (logits[label] - maximum);
        }
        ((float *)call->dst)[example] = loss;
    }
    return LIANA_OK;
}

static liana_status run_gradient(const liana__call *call)
{
    const liana_shape *shape = liana__input_shape(call->node, 0);
    const int32_t *labels = call->src[1];
    const float *dy = call->src[2];
    int64_t classes = shape->dims[1];
    for (int64_t example = 0; example < shape->dims[0]; example++) {
        const float *logits = (const float *)call->src[0] + example * classes;
        float *dst = (float *)call->dst + example * classes;
        int64_t label = labels[example];
        bool valid = label >= 0 && label < classes;
        float sum = vector_row_exp(dst, logits, vector_row_max(logits, classes), classes);
        vector_row_scale(dst, valid ? 1 / sum : NAN, classes);
        if (valid) dst[label] -= 1;
        vector_row_scale(dst, dy[example], classes);
    }
    return LIANA_OK;
}

LIANA__VECTOR_KERNEL(cross_entropy, .applicable = liana__applicable_f32, .run = run_loss);
LIANA__VECTOR_KERNEL(cross_entropy_gradient, .applicable = liana__applicable_f32, .run = run_gradient);
