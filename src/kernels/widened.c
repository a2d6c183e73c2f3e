/* Runs kernels for f32 on copies of bf16 operands. */
#include "kernels/widened.h"

#include "base/memory.h"
#include "kernels/bf16_loops.h"

#include <stdlib.h>

enum { NUM_OPERANDS = 3, RESULT = 2, WEIGHTS = 1 };

typedef struct widened_plan {
    liana__kernel kernel;  /* the plain one, */
    liana__prepared plain; /* and its prepared values */
    const liana__bf16_loops *loops;
    int64_t sizes[NUM_OPERANDS];      /* elements */
    size_t offsets[NUM_OPERANDS + 1]; /* bytes into the scratch memory; the last: of the plain kernel's own */
    void (*find_part)(const void *plain_plan, size_t tile, liana__widened_part *part);
} widened_plan;

/* Weights are kept as the plain kernel packs them, or if it does not, as floats. */
static void plan_packing(const liana__node *node, const widened_plan *plan, liana__prepared *prepared)
{
    if (!liana__is_of_weights(node->inputs[WEIGHTS])) return;
    prepared->packed_input = WEIGHTS;
    prepared->packed_size = plan->plain.packed_size;
    if (prepared->packed_size == 0) prepared->packed_size = (size_t)plan->sizes[WEIGHTS] * sizeof(float);
}

liana_status liana__widened_prepare(const liana__node *node, const liana__kernel *plain,
                                    const liana__prepared *of_plain, liana__prepared *prepared, liana__error *error)
{
    liana__isa isa;
    widened_plan *plan = calloc(1, sizeof *plan);
    liana_status status = plan ? liana__cpu_detect(getenv("LIANA_MAX_ISA"), &isa, NULL, 0, error)
                               : liana__fail_memory(error, "a plan in f32");
    if (status != LIANA_OK) {
        if (plain->release) plain->release(of_plain->plan);
        free(plan);
        return status;
    }
    plan->kernel = *plain;
    plan->plain = *of_plain;
    plan->loops = liana__bf16_loops_for(isa);
    const liana_shape *shapes[] = {liana__input_shape(node, 0), liana__input_shape(node, WEIGHTS), &node->shape};
    for (int i = 0; i < NUM_OPERANDS; i++) {
        plan->sizes[i] = liana_shape_size(shapes[i]);
        bool in_place = i == RESULT && node->dtype == LIANA_F32;
        size_t bytes = in_place ? 0 : (size_t)plan->sizes[i] * sizeof(float);
        plan->offsets[i + 1] = plan->offsets[i] + liana__align_up(bytes);
    }
    prepared->plan = plan;
    prepared->scratch_size = plan->offsets[NUM_OPERANDS] + of_plain->scratch_size;
    plan_packing(node, plan, prepared);
    return LIANA_OK;
}

liana__prepared *liana__widened_plain(liana__prepared *prepared)
{
    widened_plan *plan = prepared->plan;
    return &plan->plain;
}

void liana__widened_use_cut(liana__prepared *prepared,
                            void (*find)(const void *plain_plan, size_t tile, liana__widened_part *part))
{
    widened_plan *plan = prepared->plan;
    plan->find_part = find;
    prepared->num_tiles = plan->plain.num_tiles;
    prepared->scratch_size = plan->offsets[NUM_OPERANDS] + plan->plain.scratch_size;
}

static float *place(const widened_plan *plan, const liana__call *call, int operand)
{
    return (float *)((char *)call->scratch + plan->offsets[operand]);
}

static liana_status run_plain(const widened_plan *plan, const liana__call *call, const void *weights, void *result)
{
    const void *src[RESULT] = {place(plan, call, 0), weights};
    const liana__call plain = {.node = call->node,
                               .src = src,
                               .dst = result,
                               .scratch = (char *)call->scratch + plan->offsets[NUM_OPERANDS],
                               .plan = plan->plain.plan,
                               .packed = plan->plain.packed_size > 0 ? call->packed : NULL,
                               .tile = call->tile,
                               .num_tiles = call->num_tiles};
    return plan->kernel.run(&plain);
}

liana_status liana__widened_run(const liana__call *call)
{
    const widened_plan *plan = call->plan;
    liana__widened_part part = {.source_size = plan->sizes[0], .rows = 1, .row_size = plan->sizes[RESULT]};
    if (call->num_tiles > 1) plan->find_part(plan->plain.plan, call->tile, &part);
    plan->loops->widen((const uint16_t *)call->src[0] + part.source, part.source_size,
                       place(plan, call, 0) + part.source);
    const void *weights = call->packed;
    if (!weights) {
        plan->loops->widen(call->src[WEIGHTS], plan->sizes[WEIGHTS], place(plan, call, WEIGHTS));
        weights = place(plan, call, WEIGHTS);
    }
    if (call->node->dtype == LIANA_F32) return run_plain(plan, call, weights, call->dst);
    const float *result = place(plan, call, RESULT);
    LIANA_TRY(run_plain(plan, call, weights, place(plan, call, RESULT)));
    for (int64_t row = 0; row < part.rows; row++) {
        const int64_t at = part.target + row * part.stride;
        plan->loops->narrow(result + at, part.row_size, (uint16_t *)call->dst + at);
    }
    return LIANA_OK;
}

liana_status liana__widened_pack(const liana__call *call, void *packed)
{
    const widened_plan *plan = call->plan;
    if (plan->plain.packed_size == 0) {
        plan->loops->widen(call->src[WEIGHTS], plan->sizes[WEIGHTS], packed);
        return LIANA_OK;
    }
    plan->loops->widen(call->src[WEIGHTS], plan->sizes[WEIGHTS], place(plan, call, WEIGHTS));
    const void *src[RESULT] = {NULL, place(plan, call, WEIGHTS)};
    const liana__call plain = {.node = call->node,
                               .src = src,
                               .scratch = (char *)call->scratch + plan->offsets[NUM_OPERANDS],
                               .plan = plan->plain.plan};
    return plan->kernel.pack(&plain, packed);
}

void liana__widened_release(void *pointer)
{
    widened_plan *plan = pointer;
    if (!plan) return;
    if (plan->kernel.release) plan->kernel.release(plan->plain.plan);
    free(plan);
}
