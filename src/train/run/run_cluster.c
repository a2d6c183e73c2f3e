/* Joins the cluster of a run. */
#include "train/run/run_cluster.h"

#include "backends/remote/names.h"
#include "distribute/transport/cluster_read.h"
#include "train/checkpoint/shared_checkpoint.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- who we are ---- */

static liana_status check_strategy(const liana__config *config, const liana__cluster_place *place, liana__arena *arena,
                                   liana__error *error)
{
    liana__strategy_choice choice;
    LIANA_TRY(liana__strategy_read(config->train.strategy, "train.strategy", arena, &choice, error));
    const char *name = choice.strategy->name;
    /* The default, one_device, becomes a cluster's strategy where there is one. */
    const bool by_default = choice.strategy == &liana__strategy_one_device;
    const liana__place *where = config->train.strategy ? &config->train.strategy->place : NULL;
    if (!place->transport && choice.strategy->needs_cluster) {
        return liana__fail_at(error, where, "train.strategy",
                              "the strategy %s is for several processes, but this process is alone: start it with "
                              "mpirun or srun, or say who the others are in 'cluster' or TF_CONFIG",
                              name);
    }
    if (place->transport && !by_default && !choice.strategy->needs_cluster) {
        return liana__fail_at(error, where, "train.strategy",
                              "the strategy %s is for one process, but %s says that there are %zu; use multi_worker or "
                              "parameter_server",
                              name, place->source, place->num_workers + place->num_servers);
    }
    if (place->transport && place->role == LIANA__ROLE_EVALUATOR) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s says that this process is the evaluator, which does not train: it runs 'liana evaluate "
                           "RUN --follow'",
                           place->source);
    }
    return LIANA_OK;
}

/* ---- what the others need of the chief's folder ---- */

enum { MOST_CONFIG = 1 << 26 };

/* The configuration of the run that goes on, and a checkpoint's name: what it chose is then used, as the chief does. */
static liana_status send_beginning(const char *folder, liana__cluster *cluster, liana__arena *arena,
                                   liana__error *error)
{
    char *text = NULL;
    size_t size = 0;
    const char *config = liana__path_join(arena, folder, "config.yaml");
    const char *checkpoints = liana__path_join(arena, folder, "checkpoints"), *newest = NULL;
    liana_status status = config && checkpoints ? LIANA_OK : liana__fail_memory(error, "the run folder");
    if (status == LIANA_OK && liana__file_exists(config)) {
        status = liana__file_read(config, MOST_CONFIG, &text, &size, error);
        if (status == LIANA_OK) status = liana__checkpoint_newest(checkpoints, arena, &newest, error);
    }
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__cluster_broadcast_sized(cluster, 0, (void **)&text, &size, error);
    char name[LIANA__CHECKPOINT_NAME] = "";
    if (newest) snprintf(name, sizeof name, "%s", liana__path_name(newest));
    if (status == LIANA_OK) status = liana__cluster_broadcast(cluster, 0, name, sizeof name, error);
    free(text);
    return status;
}

static liana_status write_beginning(const char *folder, const char *text, size_t size, const char *checkpoint,
                                    liana__arena *arena, liana__error *error)
{
    if (size == 0) return LIANA_OK;
    const char *config = liana__path_join(arena, folder, "config.yaml");
    const char *name = liana__arena_format(arena, "%s/checkpoints/%s", folder, checkpoint);
    if (!config || !name) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__file_replace(config, text, size, error));
    return *checkpoint ? liana__folder_make(name, error) : LIANA_OK;
}

static liana_status receive_beginning(const char *folder, liana__cluster *cluster, liana__arena *arena,
                                      liana__error *error)
{
    char *text = NULL, name[LIANA__CHECKPOINT_NAME] = "";
    size_t size = 0;
    LIANA_TRY(liana__cluster_agree_status(cluster, LIANA_OK, error));
    liana_status status = liana__cluster_broadcast_sized(cluster, 0, (void **)&text, &size, error);
    if (status == LIANA_OK) status = liana__cluster_broadcast(cluster, 0, name, sizeof name, error);
    name[sizeof name - 1] = 0;
    if (status == LIANA_OK) status = write_beginning(folder, text, size, name, arena, error);
    free(text);
    return status;
}

static liana_status share_beginning(liana__run_cluster *joined, const liana__run_options *options, liana__error *error)
{
    liana__cluster *cluster = &joined->cluster;
    if (!options->resume && !options->resume_from) return LIANA_OK;
    if (liana__cluster_is_chief(cluster)) return send_beginning(options->folder, cluster, &joined->arena, error);
    return receive_beginning(joined->folder, cluster, &joined->arena, error);
}

/* ---- joining ---- */

static liana_status make_folder(liana__run_cluster *joined, liana__error *error)
{
    const char *temporary = getenv("TMPDIR");
    char *folder =
        liana__arena_format(&joined->arena, "%s/liana-run-XXXXXX", temporary && *temporary ? temporary : "/tmp");
    if (!folder) return liana__fail_memory(error, "the run folder");
    if (!mkdtemp(folder)) return liana__fail(error, LIANA_IO_ERROR, "cannot make a temporary folder '%s'", folder);
    joined->folder = folder;
    return LIANA_OK;
}

liana_status liana__run_cluster_join(liana_context *context, const liana__config *config, liana__run_options *options,
                                     liana__run_cluster *joined, liana__error *error)
{
    liana__cluster_place place = {0};
    /* A device of a server: the cluster is where that is, and this process is none of it. */
    if (!liana__served_knows(config->train.device)) {
        LIANA_TRY(
            liana__cluster_place_read(&config->cluster, liana__get_environment, NULL, &joined->arena, &place, error));
    }
    LIANA_TRY(check_strategy(config, &place, &joined->arena, error));
    if (!place.transport) return LIANA_OK;
    place.say = options->on_note;
    place.user = options->user;
    const liana__transport *transport = liana__transport_find(place.transport, error);
    if (!transport) return LIANA_INVALID_CONFIG;
    liana__transport_instance *instance = NULL;
    LIANA_TRY(transport->open(&place, &instance, error));
    liana__cluster_init(&joined->cluster, &place, transport, instance);
    joined->is_open = true;
    liana_status status = liana__cluster_join(context, &joined->cluster);
    if (status != LIANA_OK && error != &context->error) *error = context->error;
    const bool is_chief = liana__cluster_is_chief(&joined->cluster);
    if (status == LIANA_OK && !is_chief) status = make_folder(joined, error);
    LIANA_TRY(liana__cluster_agree_status(&joined->cluster, status, error));
    status = share_beginning(joined, options, error);
    if (is_chief) return status;
    options->folder = joined->folder;
    options->on_note = NULL;
    return status;
}

void liana__run_cluster_leave(liana__run_cluster *joined)
{
    liana__error ignored;
    if (joined->is_open) liana__cluster_close(&joined->cluster);
    liana_status status = joined->folder ? liana__folder_remove(joined->folder, &ignored) : LIANA_OK;
    (void)status; /* a folder that stays is in the way of nobody */
    liana__arena_free(&joined->arena);
    *joined = (liana__run_cluster){0};
}
