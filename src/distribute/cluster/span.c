/* A span: workers and servers at work, and how they meet before and after. */
#include "distribute/cluster/span.h"

#include "base/scoped.h"
#include "distribute/cluster/recovery.h"

#include <stdlib.h>
#include <string.h>

/* The message of a process to all others before a span. */
typedef struct entry {
    int32_t status;
    uint32_t is_there;
    uint64_t generation;
} entry;

/* Its message after it. Behind it are the tables of liana__span_side. */
typedef struct report {
    int32_t status;
    uint32_t is_there;
    uint64_t broken;
    liana__span_counts counts;
} report;

typedef struct span_run {
    liana__arena arena; /* of all lists */
    const liana__span_parts *parts;
    const liana__span_work *work;
    liana__span_outcome *outcome;
    liana__span_side side;
    char **states; /* by slice: of those that this process owns, before the span */
    bool *was_there;
    char *said, *all; /* reports */
    liana__span_server *server;
} span_run;

/* ---- former values of servers ---- */

static liana_status keep_states(span_run *own, liana__error *error)
{
    liana__sliced_update *update = own->parts->update;
    for (size_t i = 0; update->cluster->recovery && i < update->num_slices; i++) {
        liana__slice *slice = liana__sliced_update_owned(update, i);
        if (!slice) continue;
        LIANA_TRY(liana__slice_refresh(slice, error));
        own->states[i] = malloc(liana__slice_bytes(slice, true) + liana__slice_bytes(slice, false) + 1);
        if (!own->states[i]) return liana__fail_memory(error, "a parameter server's values before a span");
        LIANA_TRY(liana__slice_read_all(slice, own->states[i], error));
    }
    return LIANA_OK;
}

static liana_status take_back(const span_run *own, liana__error *error)
{
    const liana__sliced_update *update = own->parts->update;
    for (size_t i = 0; i < update->num_slices; i++) {
        if (own->states[i]) LIANA_TRY(liana__slice_write_all(update->slices[i], own->states[i], error));
    }
    return LIANA_OK;
}

/* ---- setting up ---- */

static size_t report_size(const span_run *own)
{
    return sizeof(report) + own->parts->cluster->place.num_workers * sizeof *own->side.given +
           own->work->num_steps * sizeof *own->side.steps;
}

static liana_status make_room(span_run *own, liana__error *error)
{
    const liana__cluster *cluster = own->parts->cluster;
    const size_t count = liana__cluster_size(cluster);
    liana__arena *arena = &own->arena;
    own->states = liana__arena_allocate(arena, own->parts->update->num_slices * sizeof *own->states);
    own->was_there = liana__arena_allocate(arena, count * sizeof *own->was_there);
    own->side.steps = liana__arena_allocate(arena, (own->work->num_steps + 1) * sizeof *own->side.steps);
    own->side.given = liana__arena_allocate(arena, cluster->place.num_workers * sizeof *own->side.given);
    own->said = liana__arena_allocate(arena, report_size(own));
    own->all = liana__arena_allocate(arena, count * report_size(own));
    return arena->failed ? liana__fail_memory(error, "a span of updates") : LIANA_OK;
}

static void free_run(span_run *own)
{
    liana__span_server_destroy(own->server);
    for (size_t i = 0; own->states && i < own->parts->update->num_slices; i++) free(own->states[i]);
    liana__arena_free(&own->arena);
}

/* ---- before and after ---- */

/* Without a server that owned a slice nobody goes on. */
static liana_status check_owners(const liana__sliced_update *update, liana__error *error)
{
    for (size_t i = 0; i < update->num_slices; i++) {
        if (liana__sliced_update_owner(update, i) != SIZE_MAX) continue;
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "the parameter server of rank %zu is gone, and with it its weights and their optimizer's "
                           "state: start the training again with --resume, it goes on from its newest checkpoint",
                           update->owners[i]);
    }
    return LIANA_OK;
}

/* All processes, in step: where a death does not matter, since it can be done once more. */
static liana_status do_in_section(span_run *own, liana_status (*run)(liana__sliced_update *update, liana__error *error),
                                  liana__error *error)
{
    liana__cluster *cluster = own->parts->cluster;
    liana_status status;
    do {
        liana__cluster_section_begin(cluster);
        status = check_owners(own->parts->update, error);
        if (status == LIANA_OK) status = liana__mirrors_follow(own->parts->update, error);
        if (status == LIANA_OK && run) status = run(own->parts->update, error);
        if (status == LIANA_OK) status = liana__cluster_section_end(cluster, error);
    } while (liana__cluster_repeats(cluster, &status, error));
    return status;
}

/* All tell each other how they begin. *fits: all in one generation, in which shares were divided. A process that hears
 * of it later than others, from those, is in another span and calls them back. */
static liana_status enter(span_run *own, liana_status status, bool *fits, liana__error *error)
{
    liana__cluster *cluster = own->parts->cluster;
    const size_t count = liana__cluster_size(cluster);
    const entry said = {(int32_t)status, 1, own->work->generation};
    LIANA__SCOPED_MEMORY entry *all = calloc(count, sizeof *all);
    LIANA__SCOPED_MEMORY int32_t *statuses = calloc(count, sizeof *statuses);
    if (!all || !statuses) return liana__fail_memory(error, "a span of updates");
    status = liana__cluster_gather(cluster, &said, sizeof said, all, error);
    *fits = true;
    for (size_t i = 0; i < count; i++) {
        statuses[i] = all[i].status;
        own->was_there[i] = all[i].is_there;
        *fits = *fits && (!all[i].is_there || all[i].generation == cluster->generation);
    }
    return status == LIANA_OK ? liana__cluster_share_error(cluster, statuses, error) : status;
}

static liana_status prepare(span_run *own, liana__error *error)
{
    LIANA_TRY(keep_states(own, error));
    if (liana__cluster_is_worker(own->parts->cluster)) return LIANA_OK;
    return liana__span_server_create(own->parts, own->work, &own->side, &own->server, error);
}

/* A process's own part. */
static liana_status work_or_serve(span_run *own, liana__error *error)
{
    const liana__span_parts *span = own->parts;
    liana__cluster_begin(span->cluster);
    const liana_status status =
        own->server ? liana__span_serve(own->server, error) : liana__span_worker(span, own->work, &own->side, error);
    liana__span_server_destroy(own->server);
    own->server = NULL;
    return status;
}

/* ---- results ---- */

static void write_report(span_run *own, liana_status status)
{
    const report head = {(int32_t)status, 1, own->side.broken, own->side.counts};
    const size_t given = own->parts->cluster->place.num_workers * sizeof *own->side.given;
    memcpy(own->said, &head, sizeof head);
    memcpy(own->said + sizeof head, own->side.given, given);
    memcpy(own->said + sizeof head + given, own->side.steps, own->work->num_steps * sizeof *own->side.steps);
}

static report read_head(const span_run *own, size_t rank)
{
    report head;
    memcpy(&head, own->all + rank * report_size(own), sizeof head);
    return head;
}

/* A server's record of a step. */
static liana__span_step read_step(const span_run *own, size_t rank, size_t step)
{
    liana__span_step said;
    const size_t place = report_size(own) - (own->work->num_steps - step) * sizeof said;
    memcpy(&said, own->all + rank * report_size(own) + place, sizeof said);
    return said;
}

/* The first server's record of a worker. */
static liana__span_given read_given(const span_run *own, size_t worker)
{
    liana__span_given given;
    const size_t first = liana__cluster_owner_rank(own->parts->cluster, 0);
    memcpy(&given, own->all + first * report_size(own) + sizeof(report) + worker * sizeof given, sizeof given);
    return given;
}

/* Counts the gradients of a step that were used. A worker that died may have reached some servers only. */
static void count_step(const span_run *own, size_t step)
{
    const liana__cluster *cluster = own->parts->cluster;
    liana__span_step *sum = &own->outcome->steps[step];
    uint32_t fewest = UINT32_MAX, most = 0;
    for (size_t i = cluster->place.num_workers; i < liana__cluster_size(cluster); i++) {
        if (!read_head(own, i).is_there) continue;
        const liana__span_step said = read_step(own, i, step);
        if (said.used < fewest) fewest = said.used;
        if (said.used > most) most = said.used;
        if (said.staleness > sum->staleness) sum->staleness = said.staleness;
        sum->dropped += said.dropped;
    }
    sum->used += most;
    if (fewest < most) own->outcome->counts.partly_used += most - fewest;
    if (own->parts->options.synchronous || most > 0) own->outcome->done[step] = true;
}

/* A worker that is gone has used the gradients that the first server knows. */
static void count_worker(const span_run *own, size_t worker)
{
    liana__span_outcome *outcome = own->outcome;
    const liana__span_given given = read_given(own, worker);
    outcome->died[worker] = own->was_there[worker] && !read_head(own, worker).is_there;
    if (!outcome->died[worker]) return;
    outcome->examples[worker] = given.examples;
    outcome->counts.used += given.used;
    outcome->counts.dropped += given.dropped;
    outcome->counts.computed += given.used + given.dropped;
}

static void count_all(const span_run *own)
{
    const liana__cluster *cluster = own->parts->cluster;
    for (size_t i = 0; i < liana__cluster_size(cluster); i++) {
        const report head = read_head(own, i);
        if (head.is_there) liana__span_counts_add(&own->outcome->counts, &head.counts);
        if (i < cluster->place.num_workers) count_worker(own, i);
    }
    for (size_t i = 0; i < own->work->num_steps; i++) count_step(own, i);
}

/* All tell each other what they have seen. *broken: in one of them the span could not go on. */
static liana_status meet(span_run *own, liana_status status, bool *broken, liana__error *error)
{
    liana__cluster *cluster = own->parts->cluster;
    const size_t count = liana__cluster_size(cluster);
    LIANA__SCOPED_MEMORY int32_t *statuses = calloc(count, sizeof *statuses);
    if (!statuses) return liana__fail_memory(error, "a span of updates");
    write_report(own, status);
    status = liana__cluster_gather(cluster, own->said, report_size(own), own->all, error);
    *broken = false;
    for (size_t i = 0; i < count; i++) {
        const report head = read_head(own, i);
        statuses[i] = head.status;
        *broken = *broken || head.broken;
    }
    return status == LIANA_OK ? liana__cluster_share_error(cluster, statuses, error) : status;
}

static liana_status undo(span_run *own, liana__error *error)
{
    liana__span_outcome *outcome = own->outcome;
    outcome->undone = true;
    for (size_t i = 0; i < liana__cluster_size(own->parts->cluster); i++) {
        const report head = read_head(own, i);
        if (head.is_there) outcome->counts.undone += head.counts.used;
    }
    return liana__cluster_agree_status(own->parts->cluster, take_back(own, error), error);
}

static liana_status run_all(span_run *own, liana__error *error)
{
    bool fits = false, broken = false;
    LIANA_TRY(do_in_section(own, NULL, error));
    LIANA_TRY(liana__cluster_agree_status(own->parts->cluster, make_room(own, error), error));
    /* A server that cannot be made fails on all processes before anybody asks it. */
    LIANA_TRY(enter(own, prepare(own, error), &fits, error));
    own->side.broken = !fits;
    const liana_status status = fits ? work_or_serve(own, error) : LIANA_OK;
    LIANA_TRY(meet(own, status, &broken, error));
    if (broken) return undo(own, error);
    count_all(own);
    return do_in_section(own, liana__sliced_update_exchange, error);
}

liana_status liana__span_run(const liana__span_parts *span, const liana__span_work *work, liana__span_outcome *outcome,
                             liana__error *error)
{
    span_run own = {.parts = span, .work = work, .outcome = outcome};
    const liana_status status = run_all(&own, error);
    free_run(&own);
    return status;
}
