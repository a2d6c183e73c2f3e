/* Runs some steps with a recorder, and adds up its events. */
#include "train/run/measure.h"
#include "train/run/run_internal.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A profile in the making. */
typedef struct profiler {
    liana__run *run;
    liana__profile *profile;
    liana__recorder *workers; /* on the device: one track for each worker, and one for the steps */
    liana__recorder *readers;
    liana__error *error;
    liana_learning_rate learning_rate;
    int64_t iteration;
} profiler;

/* Of each reading thread between two steps; a batch is some chunks for each thread, and 32 batches are read ahead. */
enum { READER_EVENTS = 1 << 14 };

void liana__profile_free(liana__profile *profile)
{
    free(profile->events);
    free(profile->by_node.items);
    free(profile->by_op.items);
    *profile = (liana__profile){0};
}

double liana__profile_roofline_share(const liana__profile_row *row)
{
    return row->seconds > 0 ? row->roofline_seconds / row->seconds : 0;
}

static void note_step(const profiler *own, liana__event_kind kind, uint64_t begin, int64_t number)
{
    liana__event event = {.begin = begin, .kind = kind, .number = (uint32_t)number};
    liana__recorder_add(own->workers, own->run->core.device->num_tracks, event);
}

/* One update, as liana__fit does it. */
static liana_status step(profiler *own, int64_t number)
{
    liana__run *run = own->run;
    liana__batch *batch;
    uint64_t begin = liana__clock();
    LIANA_TRY(liana__loader_next(run->training.loader, &batch, own->error));
    note_step(own, LIANA__EVENT_WAIT, begin, number);
    const float *sums;
    double rate = liana__learning_rate_at(&own->learning_rate, own->iteration);
    liana_status status = liana__trainer_step(run->core.trainer, batch, rate, ++own->iteration, &sums, own->error);
    own->profile->examples += batch->count;
    liana__loader_release(run->training.loader, batch);
    note_step(own, LIANA__EVENT_STEP, begin, number);
    return status;
}

static liana_status take_track(profiler *own, liana__recorder *recorder, size_t track, size_t first_track)
{
    liana__profile *profile = own->profile;
    size_t waiting = liana__recorder_waiting(recorder, track), needed = profile->num_events + waiting;
    if (needed > profile->event_capacity) {
        size_t capacity = 2 * needed;
        void *larger = realloc(profile->events, capacity * sizeof *profile->events);
        if (!larger) return liana__fail_memory(own->error, "the recorded events");
        profile->events = larger;
        profile->event_capacity = capacity;
    }
    for (liana__event event; waiting > 0 && liana__recorder_take(recorder, track, &event, 1) == 1; waiting--) {
        profile->events[profile->num_events++] = (liana__profile_event){event, first_track + track};
    }
    return LIANA_OK;
}

/* Moves the events since the last call into the profile. */
static liana_status take_events(profiler *own)
{
    size_t device_tracks = liana__recorder_num_tracks(own->workers);
    for (size_t i = 0; i < device_tracks; i++) LIANA_TRY(take_track(own, own->workers, i, 0));
    for (size_t i = 0; i < liana__recorder_num_tracks(own->readers); i++) {
        LIANA_TRY(take_track(own, own->readers, i, device_tracks));
    }
    return LIANA_OK;
}

static size_t count_dropped(const liana__recorder *recorder)
{
    size_t dropped = 0;
    for (size_t i = 0; i < liana__recorder_num_tracks(recorder); i++) dropped += liana__recorder_dropped(recorder, i);
    return dropped;
}

/* Runs one step to count its events, and makes room for as many on each track: any worker may get all the work. */
static liana_status make_room(profiler *own)
{
    liana__device *device = own->run->core.device;
    size_t tracks = (size_t)device->num_tracks + 1;
    LIANA_TRY(liana__recorder_create(tracks, 1, &own->workers, own->error));
    device->recorder = own->workers;
    LIANA_TRY(step(own, 0));
    size_t count = count_dropped(own->workers) + tracks;
    device->recorder = NULL;
    liana__recorder_destroy(own->workers);
    LIANA_TRY(liana__recorder_create(tracks, 2 * count, &own->workers, own->error));
    device->recorder = own->workers;
    return LIANA_OK;
}

static double cpu_seconds(void)
{
    struct timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static liana_status run_steps(profiler *own, const liana__profile_options *options)
{
    liana__profile *profile = own->profile;
    LIANA_TRY(make_room(own));
    for (int64_t i = 1; i < options->warmup; i++) {
        LIANA_TRY(step(own, i));
        LIANA_TRY(take_events(own));
    }
    LIANA_TRY(take_events(own));
    profile->num_events = 0;
    profile->examples = 0;
    profile->begin = liana__clock();
    double cpu_before = cpu_seconds();
    for (int64_t i = 0; i < options->steps; i++) {
        LIANA_TRY(step(own, i));
        LIANA_TRY(take_events(own));
    }
    profile->cpu = cpu_seconds() - cpu_before;
    return LIANA_OK;
}

static liana_status record_steps(profiler *own, const liana__profile_options *options)
{
    liana__loader *loader = own->run->training.loader;
    LIANA_TRY(liana__run_prepare_steps(own->run, &own->learning_rate, own->error));
    LIANA_TRY(
        liana__recorder_create((size_t)liana__loader_num_threads(loader), READER_EVENTS, &own->readers, own->error));
    liana__loader_record(loader, own->readers);
    LIANA_TRY(liana__loader_begin(loader, 0, 0, own->error));
    return run_steps(own, options);
}

static liana_status check_recorded(const profiler *own)
{
    if (own->profile->by_node.count > 0) return LIANA_OK;
    return liana__fail(own->error, LIANA_UNIMPLEMENTED,
                       "the device '%s' does not report the time of its nodes; profile with train.device=cpu",
                       own->run->core.device->backend->name);
}

liana_status liana__profile_run(liana__run *run, const liana__profile_options *options, liana__profile *profile,
                                liana__error *error)
{
    *profile = (liana__profile){.context = run->context,
                                .num_workers = (int)run->core.device->num_tracks,
                                .num_readers = liana__loader_num_threads(run->training.loader),
                                .num_cores = liana__cpu_count(),
                                .steps = options->steps};
    LIANA_TRY(liana__roofline_measure(run->context, &profile->roofline, error));
    profiler own = {.run = run, .profile = profile, .error = error};
    liana_status status = record_steps(&own, options);
    run->core.device->recorder = NULL;
    liana__loader_record(run->training.loader, NULL);
    if (status == LIANA_OK) {
        profile->dropped = count_dropped(own.workers) + count_dropped(own.readers);
        status = liana__profile_add_up(profile, error);
    }
    liana__recorder_destroy(own.workers);
    liana__recorder_destroy(own.readers);
    return status == LIANA_OK ? check_recorded(&own) : status;
}

/* ---- from events to rows ---- */

static double seconds_of(const liana__event *event)
{
    return (double)(event->end - event->begin) * 1e-9;
}

static void add_phase(liana__profile *profile, const liana__event *event)
{
    double seconds = seconds_of(event);
    switch (event->kind) {
    case LIANA__EVENT_STEP: profile->seconds += seconds; break;
    case LIANA__EVENT_WAIT: profile->wait += seconds; break;
    case LIANA__EVENT_SHARDS: profile->shards += seconds; break;
    case LIANA__EVENT_UPDATE:
        profile->update += seconds;
        profile->busy += seconds;
        break;
    case LIANA__EVENT_SHARD: profile->busy += seconds; break;
    case LIANA__EVENT_REDUCE:
        profile->reduction += seconds;
        profile->busy += seconds;
        break;
    case LIANA__EVENT_ADD: profile->reduction += seconds; break;
    case LIANA__EVENT_PACK:
    case LIANA__EVENT_NODE: profile->nodes += seconds; break;
    case LIANA__EVENT_READ: profile->reading += seconds; break;
    case LIANA__NUM_EVENTS: break;
    }
}

static int compare_text(const char *a, const char *b)
{
    if (!a || !b) return (a != NULL) - (b != NULL);
    return strcmp(a, b);
}

/* Graphs have no order among each other: that of their nodes in memory will do, since rows are sorted by time. */
static int by_node(const void *a, const void *b)
{
    uintptr_t x = (uintptr_t)((const liana__profile_row *)a)->node,
              y = (uintptr_t)((const liana__profile_row *)b)->node;
    return (x > y) - (x < y);
}

static int by_op(const void *a, const void *b)
{
    const liana__profile_row *x = a, *y = b;
    int order = strcmp(x->node->op->name, y->node->op->name);
    return order ? order : compare_text(x->cost.variant, y->cost.variant);
}

static int by_time(const void *a, const void *b)
{
    const liana__profile_row *x = a, *y = b;
    if (x->seconds != y->seconds) return x->seconds < y->seconds ? 1 : -1;
    return by_op(a, b);
}

static void add_row(liana__profile_row *sum, const liana__profile_row *row)
{
    sum->calls += row->calls;
    sum->seconds += row->seconds;
    sum->flops += row->flops;
    sum->bytes += row->bytes;
    sum->roofline_seconds += row->roofline_seconds;
    sum->memory_seconds += row->memory_seconds;
    sum->compute_seconds += row->compute_seconds;
}

/* Merges rows that `compare` calls equal, in place, slowest first. */
static void merge(liana__profile_rows *rows, int (*compare)(const void *, const void *))
{
    qsort(rows->items, rows->count, sizeof *rows->items, compare);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        liana__profile_row *row = &rows->items[i];
        if (count == 0 || compare(&rows->items[count - 1], row) != 0) {
            rows->items[count++] = *row;
        } else {
            add_row(&rows->items[count - 1], row);
        }
    }
    rows->count = count;
    qsort(rows->items, count, sizeof *rows->items, by_time);
}

/* Dot products of bf16, which units of their own may do; all else is computed in f32. */
static bool multiplies_bf16(const liana__node *node, const liana__cost *cost)
{
    return cost->dot_products && node->num_inputs > 0 && node->inputs[0]->dtype == LIANA_BF16;
}

static bool is_of_node(const liana__event *event)
{
    return event->kind == LIANA__EVENT_NODE || event->kind == LIANA__EVENT_PACK;
}

/* Packing is no call, and none of the work that must be done: it only takes time. */
static liana__profile_row row_of(const liana__roofline *roofline, const liana__event *event)
{
    liana__profile_row row = {.node = event->subject, .kernel = event->how, .calls = 1, .seconds = seconds_of(event)};
    row.cost = liana__node_cost(row.node);
    if (event->kind == LIANA__EVENT_PACK) {
        row.calls = 0;
        return row;
    }
    row.flops = row.cost.flops;
    row.bytes = row.cost.bytes;
    row.compute_seconds = liana__roofline_compute_seconds(roofline, row.flops, multiplies_bf16(row.node, &row.cost));
    row.memory_seconds = liana__roofline_memory_seconds(roofline, row.bytes);
    row.roofline_seconds = row.compute_seconds > row.memory_seconds ? row.compute_seconds : row.memory_seconds;
    return row;
}

liana_status liana__profile_add_up(liana__profile *profile, liana__error *error)
{
    size_t count = 0;
    for (size_t i = 0; i < profile->num_events; i++) {
        add_phase(profile, &profile->events[i].event);
        count += is_of_node(&profile->events[i].event);
    }
    liana__profile_rows *nodes = &profile->by_node, *ops = &profile->by_op;
    nodes->items = calloc(count + 1, sizeof *nodes->items);
    if (!nodes->items) return liana__fail_memory(error, "the profile");
    for (size_t i = 0; i < profile->num_events; i++) {
        const liana__event *event = &profile->events[i].event;
        if (is_of_node(event)) nodes->items[nodes->count++] = row_of(&profile->roofline, event);
    }
    for (size_t i = 0; i < nodes->count; i++) {
        if (!nodes->items[i].node->recomputed) continue;
        profile->recomputed_seconds += nodes->items[i].seconds;
        profile->recomputed_flops += nodes->items[i].flops;
    }
    merge(nodes, by_node);
    ops->items = malloc((nodes->count + 1) * sizeof *ops->items);
    if (!ops->items) return liana__fail_memory(error, "the profile");
    if (nodes->count) memcpy(ops->items, nodes->items, nodes->count * sizeof *ops->items);
    ops->count = nodes->count;
    merge(ops, by_op);
    return LIANA_OK;
}
