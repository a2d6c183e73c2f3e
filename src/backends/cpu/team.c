/* All workers in one execution. They go through its phases side by side, claim work in each, and wait where a phase
 * needs results that another worker has not finished. Nobody waits for a worker that has not begun: a late worker finds
 * the phases done. The assignment of work to workers leaves no trace in the result. */
#include "backends/cpu/cpu.h"

#include "base/denormals.h"
#include "base/threads.h"

typedef struct team {
    liana__cpu_executable *executable;
    liana__cpu_device *device;
    liana__cpu_run *runs; /* by worker */
    size_t num_workers, num_ranges;
} team;

/* Gives a worker a task that nobody has: of its own range, and then of others. So a worker computes the same rows in
 * one phase after the other, and finds what it wrote itself in its cache. False: all tasks are given. */
static bool claim(const team *own, const liana__cpu_phase *phase, liana__cpu_progress *progress, size_t worker,
                  size_t *task)
{
    const size_t home = worker * own->num_ranges / own->num_workers;
    for (size_t i = 0; i < own->num_ranges; i++) {
        const size_t range = (home + i) % own->num_ranges;
        const size_t begin = range * phase->num_tasks / own->num_ranges;
        const size_t count = (range + 1) * phase->num_tasks / own->num_ranges - begin;
        if (atomic_load_explicit(&progress->next[range], memory_order_relaxed) >= count) continue;
        const size_t place = atomic_fetch_add_explicit(&progress->next[range], 1, memory_order_relaxed);
        *task = begin + place;
        if (place < count) return true;
    }
    return false;
}

static bool is_done(const liana__cpu_phase *phase, liana__cpu_progress *progress)
{
    return atomic_load(&progress->done) >= phase->num_tasks;
}

static void wait_for(const team *own, const liana__cpu_phase *phase, liana__cpu_progress *progress)
{
    for (int i = 0; i < LIANA__MOST_LOOKS; i++) {
        if (atomic_load_explicit(&progress->done, memory_order_acquire) >= phase->num_tasks) return;
        liana__look_away();
    }
    liana__cpu_device *device = own->device;
    pthread_mutex_lock(&device->mutex);
    atomic_fetch_add(&device->num_sleeping, 1);
    while (!is_done(phase, progress)) pthread_cond_wait(&device->progress, &device->mutex);
    atomic_fetch_sub(&device->num_sleeping, 1);
    pthread_mutex_unlock(&device->mutex);
}

/* A worker that goes to sleep says so before it looks a last time, and a worker that finishes does so before it looks
 * for sleepers: one of them sees the other. */
static void note_done(const team *own, const liana__cpu_phase *phase, liana__cpu_progress *progress)
{
    if (atomic_fetch_add(&progress->done, 1) + 1 < phase->num_tasks) return;
    liana__cpu_device *device = own->device;
    if (atomic_load(&device->num_sleeping) == 0) return;
    pthread_mutex_lock(&device->mutex);
    pthread_cond_broadcast(&device->progress);
    pthread_mutex_unlock(&device->mutex);
}

/* Segments that one worker runs. */
static liana_status run_segments(const liana__cpu_run *run, const liana__cpu_phase *phase)
{
    for (size_t i = phase->first_segment; i < phase->end_segment; i++) {
        LIANA_TRY(liana__cpu_run_segment(run, &run->executable->segments[i]));
    }
    return LIANA_OK;
}

static void run_task(const liana__cpu_run *run, const liana__cpu_phase *phase, size_t task)
{
    if (run->error->status != LIANA_OK) return;
    const liana__cpu_segment *segment = &run->executable->segments[phase->first_segment];
    liana_status status;
    if (phase->tiles) {
        status = liana__cpu_run_tile(run, &run->executable->steps[segment->first_step], task);
    } else if (phase->num_tasks > 1) {
        status = liana__cpu_run_slice(run, segment, task);
    } else {
        status = run_segments(run, phase);
    }
    if (status != LIANA_OK && run->error->status == LIANA_OK)
        liana__fail(run->error, status, "a part of a step failed");
}

static void run_phases(const team *own, int worker)
{
    const liana__cpu_executable *executable = own->executable;
    for (size_t i = 0; i < executable->num_phases; i++) {
        const liana__cpu_phase *phase = &executable->phases[i];
        liana__cpu_progress *progress = &executable->progress[i];
        size_t task;
        while (claim(own, phase, progress, (size_t)worker, &task)) {
            run_task(&own->runs[worker], phase, task);
            note_done(own, phase, progress);
        }
        wait_for(own, phase, progress);
    }
}

static void run_member(void *user, size_t member, int worker)
{
    (void)member;
    const liana__denormals before = liana__denormals_flush();
    run_phases(user, worker);
    liana__denormals_restore(before);
}

static liana_status report_failure(const liana__cpu_executable *executable, int num_workers, liana__error *error)
{
    for (int i = 0; i < num_workers; i++) {
        if (executable->errors[i].status == LIANA_OK) continue;
        if (error) *error = executable->errors[i];
        return executable->errors[i].status;
    }
    return LIANA_OK;
}

static bool have_seen_all_finite(const liana__cpu_executable *executable, int num_workers)
{
    bool finite = liana__cpu_watches(executable);
    for (int i = 0; i < num_workers; i++) finite = finite && !executable->workers[i].has_non_finite;
    return finite;
}

static liana_status execute(liana__cpu_executable *executable, const liana__cpu_buffers *given, liana__error *error)
{
    liana__device *device = executable->base.device;
    const int num_workers = liana__cpu_num_workers(device);
    LIANA_TRY(liana__cpu_check_buffers(executable->graph, given, error));
    const size_t count = (size_t)num_workers;
    team own = {executable, (liana__cpu_device *)device, executable->runs, count,
                count < LIANA__CPU_MOST_RANGES ? count : LIANA__CPU_MOST_RANGES};
    for (int i = 0; i < num_workers; i++) {
        executable->errors[i].status = LIANA_OK;
        own.runs[i] = liana__cpu_start(executable, i, 0, given, &executable->errors[i]);
    }
    LIANA_TRY(liana__cpu_refresh_kept(&own.runs[0], given->variables));
    for (size_t i = 0; i < executable->num_phases; i++) {
        for (size_t k = 0; k < own.num_ranges; k++) {
            atomic_store_explicit(&executable->progress[i].next[k], 0, memory_order_relaxed);
        }
        atomic_store_explicit(&executable->progress[i].done, 0, memory_order_relaxed);
    }
    liana__pool_run(own.device->pool, (size_t)num_workers, run_member, &own);
    LIANA_TRY(report_failure(executable, num_workers, error));
    liana__cpu_finish(&own.runs[0], given);
    if (given->all_finite) *given->all_finite = have_seen_all_finite(executable, num_workers);
    return LIANA_OK;
}

liana_status liana__cpu_execute_together(liana__executable *base, liana__buffer *const *inputs,
                                         liana__buffer *const *variables, liana__buffer *const *outputs,
                                         liana__error *error)
{
    liana__execution execution = {.inputs = inputs,
                                  .variables = (liana__buffer **)variables,
                                  .outputs = (liana__buffer **)outputs};
    return liana__cpu_execute_together_watched(base, &execution, error);
}

liana_status liana__cpu_execute_together_watched(liana__executable *base, liana__execution *execution,
                                                 liana__error *error)
{
    const liana__cpu_buffers given = {.inputs = execution->inputs,
                                      .variables = execution->variables,
                                      .outputs = execution->outputs,
                                      .all_finite = execution->all_finite};
    liana__cpu_executable *executable = (liana__cpu_executable *)base;
    LIANA_TRY(liana__cpu_make_ready_together(base, error));
    if (liana__cpu_num_workers(base->device) == 1 || !executable->shares_work) {
        return liana__cpu_execute_and_add(base, 0, &given, error);
    }
    const liana__denormals before = liana__denormals_flush();
    liana_status status = execute(executable, &given, error);
    liana__denormals_restore(before);
    return status;
}
