/* An input that a kernel wants laid out in its own way is laid out once for all slices of a segment, where one worker
 * runs them: so are weights that are trained, in each execution. Those that are not, are kept (kept.c). The memory for
 * it is little: where weights are larger than the images of a slice, nodes run whole. */
#include "backends/cpu/cpu.h"

#include "base/memory.h"

const liana__node *liana__cpu_find_source(const liana__node *node)
{
    while (node->op->placement == LIANA__PLACE_ALIAS) node = node->inputs[0];
    return node;
}

/* Whether a step's packed input is the same in all slices, and there before the first. */
static bool is_worth_packing(const liana__cpu_executable *executable, const liana__cpu_step *step, size_t begin)
{
    const liana__prepared *prepared = &step->prepared;
    if (!step->kernel->pack || prepared->packed_size == 0) return false;
    if (step->packed || step->is_given) return false;
    const liana__node *input = step->whole->inputs[prepared->packed_input];
    if (step->node->inputs[prepared->packed_input] != input) return false; /* a slice of it */
    const uint32_t position = executable->schedule.position[liana__cpu_find_source(input)->id];
    return position == UINT32_MAX || position < begin;
}

void liana__cpu_plan_packing(liana__cpu_executable *executable)
{
    for (size_t i = 0; i < executable->num_segments; i++) {
        liana__cpu_segment *segment = &executable->segments[i];
        const uint32_t first = executable->steps[segment->first_step].whole->id;
        const size_t begin = liana__execution_order_segment(&executable->schedule, first)->begin;
        size_t size = 0;
        for (size_t k = segment->first_step; k < segment->end_step && segment->num_slices > 1; k++) {
            liana__cpu_step *step = &executable->steps[k];
            if (!is_worth_packing(executable, step, begin)) continue;
            step->is_packed_once = segment->packs = true;
            step->packed_at = size;
            size += liana__align_up(step->prepared.packed_size);
        }
        if (size > executable->packed_size) executable->packed_size = size;
    }
}

liana_status liana__cpu_pack_step(const liana__cpu_run *run, const liana__cpu_step *step, void *packed)
{
    liana__recorder *recorder = run->executable->base.device->recorder;
    liana__event event = {.kind = LIANA__EVENT_PACK, .subject = step->node, .how = step->kernel};
    if (recorder) event.begin = liana__clock();
    const liana__node *node = step->node;
    for (uint32_t i = 0; i < node->num_inputs; i++) run->worker->sources[i] = NULL;
    uint32_t input = step->prepared.packed_input;
    run->worker->sources[input] = run->worker->values[node->inputs[input]->id];
    const liana__call call = {.node = node,
                              .src = run->worker->sources,
                              .scratch = run->scratch,
                              .plan = step->prepared.plan};
    liana_status status = step->kernel->pack(&call, packed);
    if (status != LIANA_OK) {
        return liana__fail(run->error, status, "%s:%d: packing weights for %s (kernel %s) failed", node->where.file,
                           node->where.line, node->op->name, step->kernel->name);
    }
    if (recorder) liana__recorder_add(recorder, (size_t)run->worker_index, event);
    return LIANA_OK;
}
