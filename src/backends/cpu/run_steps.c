/* Runs the steps of a compiled graph: kernels, for slices and tiles. Nothing here allocates, except under
 * LIANA_VALIDATE. */
#include "backends/cpu/cpu.h"

static const void *packed_of(const liana__cpu_run *run, const liana__cpu_step *step)
{
    return step->is_packed_once && run->packed ? run->packed + step->packed_at : step->packed;
}

/* Runs a kernel where `call` says, with the step's prepared values. */
static liana_status call_kernel(const liana__cpu_run *run, const liana__cpu_step *step, liana__call call)
{
    liana__device *device = run->executable->base.device;
    call.node = step->node;
    call.scratch = run->scratch;
    call.plan = step->prepared.plan;
    call.packed = packed_of(run, step);
    liana__event event = {.kind = LIANA__EVENT_NODE, .subject = step->node, .how = step->kernel};
    if (device->recorder) event.begin = liana__clock();
    liana_status status = step->kernel->run(&call);
    if (status != LIANA_OK) {
        const liana__node *node = step->whole;
        return liana__fail(run->error, status, "%s:%d: %s (kernel %s) failed", node->where.file, node->where.line,
                           node->op->name, step->kernel->name);
    }
    if (device->recorder) liana__recorder_add(device->recorder, (size_t)run->worker_index, event);
    return LIANA_OK;
}

/* Of a result that is still in the cache. The kernel has left the scratch memory. */
static liana_status watch(const liana__cpu_run *run, const liana__cpu_step *step, const void *result)
{
    int32_t *counts = run->scratch;
    LIANA_TRY(call_kernel(run, step->watch, (liana__call){.src = &result, .dst = counts}));
    for (int64_t i = 0; i < step->watch->node->shape.dims[0]; i++) {
        if (counts[i]) run->worker->has_non_finite = true;
    }
    return LIANA_OK;
}

/* The place of a slice's result: its rows of the whole result, or memory to be added or merged. */
static char *result_of(const liana__cpu_run *run, const liana__cpu_step *step, size_t slice)
{
    uint32_t id = step->whole->id;
    char *result = run->worker->values[id], *partials = run->worker->workspace + run->executable->plan.partials[id];
    if (step->part_size) return partials + slice * step->part_size;
    return step->sum && slice > 0 ? partials : result + slice * step->advance;
}

static void find_sources(const liana__cpu_run *run, const liana__cpu_step *step, size_t slice)
{
    liana__cpu_worker *worker = run->worker;
    for (uint32_t i = 0; i < step->node->num_inputs; i++) {
        const liana__cpu_source *source = &step->sources[i];
        worker->sources[i] = (const char *)worker->values[source->node] + slice * source->advance;
    }
}

static liana_status run_step(const liana__cpu_run *run, const liana__cpu_step *step, size_t slice, size_t num_slices)
{
    liana__cpu_worker *worker = run->worker;
    find_sources(run, step, slice);
    char *dst = result_of(run, step, slice), *result = worker->values[step->whole->id];
    const liana__cpu_step *called = step->last && slice + 1 == num_slices ? step->last : step;
    if (!step->is_given) {
        void *companion = step->companion ? result_of(run, step->companion, slice) : NULL;
        bool *watched = run->watches && run->executable->watched[step->whole->id] ? &worker->has_non_finite : NULL;
        const liana__call call = {.src = worker->sources,
                                  .dst = dst,
                                  .companion = companion,
                                  .has_non_finite = watched};
        LIANA_TRY(call_kernel(run, called, call));
    }
    if (run->executable->base.device->context->validate) {
        LIANA_TRY(liana__cpu_validate_step(called, worker->sources, dst, run->error));
    }
    if (run->watches && called->watch) LIANA_TRY(watch(run, called, dst));
    if (step->sum && slice > 0) {
        const void *const terms[] = {result, dst};
        LIANA_TRY(call_kernel(run, step->sum, (liana__call){.src = terms, .dst = result}));
    }
    if (step->part_size && slice + 1 == num_slices) {
        step->whole->op->merge(step->whole, dst - slice * step->part_size, step->part_size, num_slices, result);
    }
    return LIANA_OK;
}

liana_status liana__cpu_run_tile(const liana__cpu_run *run, const liana__cpu_step *step, size_t tile)
{
    if (step->tile) return run_step(run, step->tile, tile, step->num_tiles);
    find_sources(run, step, 0);
    const liana__call call = {.src = run->worker->sources,
                              .dst = run->worker->values[step->whole->id],
                              .tile = tile,
                              .num_tiles = step->num_tiles};
    return call_kernel(run, step, call);
}

liana_status liana__cpu_run_slice(const liana__cpu_run *run, const liana__cpu_segment *segment, size_t slice)
{
    for (size_t i = segment->first_step; i < segment->end_step; i++) {
        LIANA_TRY(run_step(run, &run->executable->steps[i], slice, segment->num_slices));
    }
    return LIANA_OK;
}

/* Operands that all slices read packed are packed before the first. */
static liana_status pack_for_slices(liana__cpu_run *run, const liana__cpu_segment *segment)
{
    run->packed = (char *)run->scratch + run->executable->scratch_size;
    for (size_t i = segment->first_step; i < segment->end_step; i++) {
        const liana__cpu_step *step = &run->executable->steps[i];
        if (step->is_packed_once) LIANA_TRY(liana__cpu_pack_step(run, step, run->packed + step->packed_at));
    }
    return LIANA_OK;
}

liana_status liana__cpu_run_segment(const liana__cpu_run *run, const liana__cpu_segment *segment)
{
    if (segment->kept) return LIANA_OK;
    liana__cpu_run own = *run;
    if (segment->packs) LIANA_TRY(pack_for_slices(&own, segment));
    for (size_t slice = 0; slice < segment->num_slices; slice++) {
        LIANA_TRY(liana__cpu_run_slice(&own, segment, slice));
    }
    return LIANA_OK;
}
