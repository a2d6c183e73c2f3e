/* Joins the cluster of a run. */
#include "train/run/run_cluster.h"

#include "base/scoped.h"
#include "distribute/device_set.h"
#include "distribute/strategies/strategies.h"
#include "distribute/transport/cluster_read.h"
#include "train/checkpoint/temporary.h"
#include "train/config/config_internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- the place of this process ---- */

static liana_status check_strategy(const liana__config *config, const liana__strategy *strategy,
                                   const liana__cluster_place *place, liana__error *error)
{
    const char *name = strategy->name;
    /* The default, one_device, becomes a cluster's strategy where there is one. */
    const bool by_default = strategy == &liana__strategy_one_device;
    const liana__place *where = config->job.strategy ? &config->job.strategy->place : NULL;
    if (place->role == LIANA__ROLE_EVALUATOR) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s says that this process is the evaluator, which does not train: it runs 'liana evaluate "
                           "RUN --follow'",
                           place->source);
    }
    if (!place->transport && strategy->needs_cluster) {
        return liana__fail_at(error, where, "train.strategy",
                              "the strategy %s is for several processes, but this process is alone: start it with "
                              "'liana launch', mpirun or srun, or say who the others are in 'cluster' or TF_CONFIG",
                              name);
    }
    if (place->transport && !by_default && !strategy->needs_cluster) {
        return liana__fail_at(error, where, "train.strategy",
                              "the strategy %s is for one process, but %s says that there are %zu; use multi_worker or "
                              "parameter_server",
                              name, place->source, place->num_workers + place->num_servers);
    }
    return LIANA_OK;
}

/* ---- joining ---- */

static liana_status meet(liana__cluster_place *place, const liana__notes *notes, liana__run_cluster *joined,
                         liana__error *error)
{
    const liana__transport *transport = liana__transport_find(place->transport, error);
    liana__transport_instance *instance = NULL;
    if (!transport) return LIANA_INVALID_CONFIG;
    place->say = notes->tell;
    place->user = notes->user;
    place->resumable = &joined->resumable;
    LIANA_TRY(transport->open(place, &instance, error));
    liana__cluster_init(&joined->cluster, place, transport, instance);
    joined->is_open = true;
    return LIANA_OK;
}

/* In a folder of its own, since a link takes its place when this process becomes the chief (run_takeover.c). */
static liana_status make_folder(liana__run_cluster *joined, liana__error *error)
{
    LIANA_TRY(liana__temporary_folder(&joined->arena, &joined->above, error));
    joined->folder = liana__path_join(&joined->arena, joined->above, "run");
    return joined->folder ? liana__folder_make(joined->folder, error) : liana__fail_memory(error, "the run folder");
}

/* A run that goes on where deaths are survived may go on with others. */
static liana_status take_in_others(liana__run_cluster *joined, liana__run_options *options, liana__error *error)
{
    liana__cluster *cluster = &joined->cluster;
    liana__handover *handover = &joined->handover;
    if (!liana__cluster_survives(cluster)) return LIANA_OK;
    /* All come from the same state, new processes too. Only the chief knows the first round: a process that was started
     * again may not know it. */
    if (cluster->round > 0) options->resume_from = NULL;
    options->resume = options->resume || cluster->round > 0;
    LIANA_TRY(liana__cluster_decide(cluster, &options->resume, error));
    handover->arena = &joined->arena;
    handover->absent = liana__arena_allocate(&joined->arena, liana__cluster_size(cluster) * sizeof *handover->absent);
    if (!handover->absent) return liana__fail_memory(error, "the cluster");
    options->handover = handover;
    liana__cluster_take_in(cluster, true);
    return LIANA_OK;
}

liana_status liana__run_cluster_join(liana_context *context, const liana__config *config, liana__run_options *options,
                                     liana__run_cluster *joined, liana__error *error)
{
    liana__cluster_place place = {0};
    liana__strategy_choice choice;
    LIANA_TRY(liana__strategy_read(config->job.strategy, "train.strategy", &joined->arena, &choice, error));
    /* A device of a server: the cluster is on that machine, and this process does not belong to it. */
    if (!liana__device_set_is_served(context, config->job.device, &choice)) {
        LIANA_TRY(
            liana__cluster_place_read(&config->cluster, liana__get_environment, NULL, &joined->arena, &place, error));
    }
    LIANA_TRY(check_strategy(config, choice.strategy, &place, error));
    if (!place.transport) return LIANA_OK;
    const liana__notes notes = {options->on_note, options->user};
    place.stop = options->stop;
    place.round = joined->handover.round;
    joined->handover.round.number = 0;
    LIANA_TRY(meet(&place, &notes, joined, error));
    const bool is_known = liana__cluster_of(context) != NULL; /* from the round before */
    liana_status status = is_known ? LIANA_OK : liana__cluster_join(context, &joined->cluster);
    if (status != LIANA_OK && error != &context->error) *error = context->error;
    if (status == LIANA_OK) status = take_in_others(joined, options, error);
    const bool is_chief = liana__cluster_is_chief(&joined->cluster);
    if (status == LIANA_OK && !is_chief) {
        status = make_folder(joined, error);
    }
    LIANA_TRY(liana__cluster_agree_status(&joined->cluster, status, error));
    if (is_chief) return LIANA_OK;
    options->chief_folder = options->folder;
    options->folder = joined->folder;
    options->on_note = NULL;
    return LIANA_OK;
}

/* A folder that stays is in the way of nobody. */
static void remove_folder(const char *folder)
{
    liana__error ignored;
    const liana_status status = folder ? liana__folder_remove(folder, &ignored) : LIANA_OK;
    (void)status;
}

static void leave(liana__run_cluster *joined)
{
    if (joined->is_open) liana__cluster_close(&joined->cluster);
    joined->is_open = false;
    remove_folder(joined->above ? joined->above : joined->folder);
    joined->above = joined->folder = NULL;
}

bool liana__run_cluster_meets_again(liana__run_cluster *joined)
{
    if (!joined->is_open || joined->handover.round.number == 0) return false;
    leave(joined);
    return true;
}

void liana__run_handover_end(liana__handover *handover)
{
    if (!handover || !handover->checkpoint) return;
    remove_folder(liana__path_folder(handover->arena, handover->checkpoint));
    handover->checkpoint = NULL;
}

void liana__run_cluster_leave(liana__run_cluster *joined)
{
    leave(joined);
    liana__run_handover_end(&joined->handover);
    liana__arena_free(&joined->arena);
    *joined = (liana__run_cluster){0};
}

/* ---- measuring a run or a model in a cluster: the chief reads it and sends it ---- */

/* `cluster` of the command line. The run's own configuration has the cluster that trained it, not the present one. */
static liana_status read_options(const char *const *overrides, size_t count, liana__arena *arena,
                                 liana__cluster_options *options, liana__error *error)
{
    static const char prefix[] = "cluster";
    liana__value *root = liana__value_map(arena);
    for (size_t i = 0; i < count; i++) {
        const char next = strncmp(overrides[i], prefix, sizeof prefix - 1) == 0 ? overrides[i][sizeof prefix - 1] : 0;
        if (next == '.' || next == '=') LIANA_TRY(liana__config_override(&root, overrides[i], arena, error));
    }
    if (!root || arena->failed) return liana__fail_memory(error, "the cluster");
    return liana__fields_read(&liana__cluster_fields, liana__value_get(root, prefix), prefix, NULL, arena, options,
                              error);
}

liana_status liana__run_cluster_find_place(const char *const *overrides, size_t num_overrides, liana__arena *arena,
                                           liana__cluster_place *place, liana__error *error)
{
    liana__cluster_options options;
    LIANA_TRY(read_options(overrides, num_overrides, arena, &options, error));
    return liana__cluster_place_read(&options, liana__get_environment, NULL, arena, place, error);
}

liana_status liana__run_cluster_join_measured(const char *const *overrides, size_t num_overrides,
                                              const liana__notes *notes, liana__run_cluster *joined,
                                              liana__error *error)
{
    liana__cluster_place place = {0};
    LIANA_TRY(liana__run_cluster_find_place(overrides, num_overrides, &joined->arena, &place, error));
    return place.transport ? meet(&place, notes, joined, error) : LIANA_OK;
}

/* ---- the run folder ---- */

enum { MOST_CONFIG = 1 << 26 };

/* Only its configuration: weights come as values (liana__training_share_variables). */
static liana_status write_folder(liana__run_cluster *joined, const char *text, size_t size, liana__error *error)
{
    LIANA_TRY(liana__temporary_folder(&joined->arena, &joined->folder, error));
    const char *config = liana__path_join(&joined->arena, joined->folder, "config.yaml");
    if (!config) return liana__fail_memory(error, "the run folder");
    return liana__file_replace(config, text, size, error);
}

liana_status liana__run_cluster_share_folder(liana__run_cluster *joined, liana_status status, const char **folder,
                                             liana__error *error)
{
    liana__cluster *cluster = &joined->cluster;
    const bool is_chief = liana__cluster_is_chief(cluster);
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size = 0;
    if (status == LIANA_OK && is_chief) {
        const char *config = liana__path_join(&joined->arena, *folder, "config.yaml");
        status = config ? liana__file_read(config, MOST_CONFIG, &text, &size, error)
                        : liana__fail_memory(error, "the run folder");
    }
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__cluster_tell_sized(cluster, cluster->chief, (void **)&text, &size, error);
    if (status == LIANA_OK && !is_chief) status = write_folder(joined, text, size, error);

    if (joined->folder) *folder = joined->folder;
    return status;
}

liana_status liana__run_cluster_load(liana__run *run, liana_status status, liana__error *error)
{
    LIANA_TRY(liana__cluster_agree_status(run->core.cluster, status, error));
    return liana__training_share_variables(&run->core, error);
}
