#include "kernels/widened.h"

#include "base/memory.h"

#include <stdlib.h>

enum { NUM_OPERANDS = 3, RESULT = 2 };

typedef struct widened_plan {
    liana__prepared plain;
    liana_status (*run)(const liana__call *call);
    void (*release)(void *plan);
    int64_t sizes[NUM_OPERANDS];      /* elements */
    size_t offsets[NUM_OPERANDS + 1]; /* bytes into the scratch memory; the last: of the plain kernel's own */
} widened_plan;

liana_status liana__widened_prepare(const liana__node *node, const liana__prepared *plain,
                                    liana_status (*run)(const liana__call *call), void (*release)(void *plan),
                                    liana__prepared *prepared, liana__error *error)
{
    widened_plan *plan = calloc(1, sizeof *plan);
    if (!plan) {
        if (release) release(plain->plan);
        return liana__fail_memory(error, "a plan in f32");
    }
    plan->plain = *plain;
    plan->run = run;
    plan->release = release;
    const liana_shape *shapes[] = {liana__input_shape(node, 0), liana__input_shape(node, 1), &node->shape};
    for (int i = 0; i < NUM_OPERANDS; i++) {
        plan->sizes[i] = liana_shape_size(shapes[i]);
        bool in_place = i == RESULT && node->dtype == LIANA_F32;
        size_t bytes = in_place ? 0 : (size_t)plan->sizes[i] * sizeof(float);
        plan->offsets[i + 1] = plan->offsets[i] + liana__align_up(bytes);
    }
    prepared->plan = plan;
    prepared->scratch_size = plan->offsets[NUM_OPERANDS] + plain->scratch_size;
    return LIANA_OK;
}

liana_status liana__widened_run(const liana__call *call)
{
    const widened_plan *plan = call->plan;
    char *scratch = call->scratch;
    const void *src[RESULT];
    for (int i = 0; i < RESULT; i++) {
        const uint16_t *from = call->src[i];
        float *to = (float *)(scratch + plan->offsets[i]);
        for (int64_t k = 0; k < plan->sizes[i]; k++) to[k] = liana__bf16_to_float(from[k]);
        src[i] = to;
    }
    bool in_place = call->node->dtype == LIANA_F32;
    float *result = in_place ? call->dst : (float *)(scratch + plan->offsets[RESULT]);
    const liana__call plain = {.node = call->node,
                               .src = src,
                               .dst = result,
                               .scratch = scratch + plan->offsets[NUM_OPERANDS],
                               .plan = plan->plain.plan};
    LIANA_TRY(plan->run(&plain));
    uint16_t *to = call->dst;
    for (int64_t k = 0; k < plan->sizes[RESULT] && !in_place; k++) to[k] = liana__float_to_bf16(result[k]);
    return LIANA_OK;
}

void liana__widened_release(void *pointer)
{
    widened_plan *plan = pointer;
    if (!plan) return;
    if (plan->release) plan->release(plan->plain.plan);
    free(plan);
}
