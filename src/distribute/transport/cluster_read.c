/* Asks all sources for the place of this process, and holds them to the same answer. */
#include "distribute/transport/cluster_read.h"

#include "distribute/transport/cluster_found.h"

#include <string.h>

/* ---- facts of the sources ---- */

enum { NUM_LISTS = 3, NUM_SOURCES = 4 };
typedef liana_status (*find_function)(const liana__cluster_reader *reader, liana__cluster_found *found);

static size_t size_of(const liana__cluster_found *found)
{
    return found->num_workers + found->num_servers;
}

static liana_status fail_differ(const liana__cluster_reader *reader, const liana__cluster_found *a,
                                const liana__cluster_found *b)
{
    return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                       "%s says that this is rank %zu of %zu workers and %zu servers, %s says rank %zu of %zu and %zu; "
                       "unset the one that does not hold",
                       a->source, a->rank, a->num_workers, a->num_servers, b->source, b->rank, b->num_workers,
                       b->num_servers);
}

/* Completes `first` with facts that only `next` has, or fails where they contradict each other. */
static liana_status merge(const liana__cluster_reader *reader, liana__cluster_found *first,
                          const liana__cluster_found *next)
{
    if (!next->source) return LIANA_OK;
    if (!first->source) {
        *first = *next;
        return LIANA_OK;
    }
    bool both = first->has_rank && next->has_rank;
    if (first->num_workers != next->num_workers || first->num_servers != next->num_servers ||
        (both && (first->rank != next->rank || first->is_evaluator != next->is_evaluator))) {
        return fail_differ(reader, first, next);
    }
    for (size_t i = 0; first->addresses && next->addresses && i < size_of(first); i++) {
        if (strcmp(first->addresses[i], next->addresses[i]) == 0) continue;
        return liana__fail(reader->error, LIANA_INVALID_CONFIG, "rank %zu is at %s says %s, but at %s says %s", i,
                           first->addresses[i], first->source, next->addresses[i], next->source);
    }
    if (!first->has_rank) {
        first->has_rank = next->has_rank;
        first->rank = next->rank;
        first->is_evaluator = next->is_evaluator;
    }
    if (!first->addresses && !first->master) {
        first->addresses = next->addresses;
        first->master = next->master;
    }
    if (!first->id) first->id = next->id;
    first->has_chief_task |= next->has_chief_task;
    return LIANA_OK;
}

/* Numbers of processes that a launcher gave, which may have started another launcher: they count if nobody else
 * says. */
static liana_status find_numbered(const liana__cluster_reader *reader, bool wants_mpi, bool wants_zmq,
                                  liana__cluster_found *found)
{
    liana__cluster_found numbered = {0};
    bool alone = !found->source, lacks_rank = found->source && !found->has_rank;
    if (!wants_zmq && (alone || wants_mpi)) LIANA_TRY(liana__find_mpi(reader, &numbered));
    if (wants_mpi) {
        *found = numbered;
        if (found->source) return LIANA_OK;
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "cluster.transport is mpi, but no mpirun has started this process: OMPI_COMM_WORLD_RANK, "
                           "PMI_RANK and PMIX_RANK are not set");
    }
    if (numbered.source) {
        *found = numbered;
        return LIANA_OK;
    }
    if (!alone && !lacks_rank) return LIANA_OK;
    LIANA_TRY(liana__find_slurm(reader, &numbered));
    return merge(reader, found, &numbered);
}

static liana_status find_all(const liana__cluster_reader *reader, liana__cluster_found *found)
{
    static const find_function sources[NUM_SOURCES] = {liana__find_launch, liana__find_options, liana__find_tf_config,
                                                       liana__find_rank};
    const char *transport = reader->options->transport;
    bool wants_mpi = transport && strcmp(transport, "mpi") == 0;
    for (size_t i = 0; i < NUM_SOURCES && !wants_mpi; i++) {
        liana__cluster_found next = {0};
        LIANA_TRY(sources[i](reader, &next));
        LIANA_TRY(merge(reader, found, &next));
    }
    LIANA_TRY(find_numbered(reader, wants_mpi, transport && !wants_mpi, found));
    if (found->source && !found->has_rank && size_of(found) > 1) {
        return liana__fail(reader->error, LIANA_INVALID_CONFIG,
                           "cluster.workers has %zu addresses, but nothing says which one is this process: set "
                           "cluster.task=worker:0 to worker:%zu, or RANK and WORLD_SIZE",
                           found->num_workers, found->num_workers - 1);
    }
    return LIANA_OK;
}

/* ---- the place ---- */

static liana_status check_addresses(const liana__cluster_reader *reader, const liana__cluster_found *found)
{
    for (size_t i = 0; found->addresses && i < size_of(found); i++) {
        for (size_t j = 0; j < i; j++) {
            if (strcmp(found->addresses[i], found->addresses[j]) != 0) continue;
            return liana__fail(reader->error, LIANA_INVALID_CONFIG, "%s: ranks %zu and %zu have the same address, %s",
                               found->source, j, i, found->addresses[i]);
        }
    }
    return LIANA_OK;
}

static void fill_place(const liana__cluster_reader *reader, const liana__cluster_found *found,
                       liana__cluster_place *place)
{
    const liana__cluster_options *options = reader->options;
    place->rank = found->rank;
    place->num_workers = found->num_workers;
    place->num_servers = found->num_servers;
    place->has_chief_task = found->has_chief_task;
    place->addresses = (const char *const *)found->addresses;
    place->master = found->addresses ? NULL : found->master;
    place->id = found->id;
    place->returns = found->returns;
    place->source = found->source;
    place->library = found->library;
    place->keys = options->keys ? options->keys : found->keys;
    if (!place->keys) place->keys = liana__cluster_variable(reader, "LIANA_CLUSTER_KEYS");
    if (found->is_evaluator) {
        place->role = LIANA__ROLE_EVALUATOR;
    } else if (found->rank >= found->num_workers) {
        place->role = LIANA__ROLE_SERVER;
    } else {
        place->role = found->rank == 0 ? LIANA__ROLE_CHIEF : LIANA__ROLE_WORKER;
    }
    if (size_of(found) > 1 && !found->is_evaluator) {
        place->transport = options->transport ? options->transport : found->is_mpi ? "mpi" : "zmq";
    }
}

liana_status liana__cluster_place_read(const liana__cluster_options *options, liana__get_variable get, void *user,
                                       liana__arena *arena, liana__cluster_place *place, liana__error *error)
{
    liana__cluster_options defaults;
    liana__cluster_found found = {0};
    if (!options) {
        LIANA_TRY(liana__fields_default(&liana__cluster_fields, arena, &defaults, error));
        options = &defaults;
    }
    liana__cluster_reader reader = {options, get, user, arena, error};
    *place = (liana__cluster_place){.num_workers = 1,
                                    .timeout = options->timeout,
                                    .heartbeat = options->heartbeat,
                                    .mirrors = options->mirrors};
    LIANA_TRY(find_all(&reader, &found));
    LIANA_TRY(check_addresses(&reader, &found));
    if (found.source) fill_place(&reader, &found, place);
    return LIANA_OK;
}
