/* Joins a cluster to measure a run that is there, or a model: what the chief reads, it sends. */
#include "distribute/transport/cluster_read.h"
#include "train/checkpoint/temporary.h"
#include "train/config/config_internal.h"
#include "train/run/run_cluster.h"

#include <stdlib.h>
#include <string.h>

/* ---- who we are ---- */

/* What the command line says of `cluster`. The run's own configuration says who trained it, not who is here now. */
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
    return place.transport ? liana__run_cluster_meet(&place, notes, joined, error) : LIANA_OK;
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
    char *text = NULL;
    size_t size = 0;
    if (status == LIANA_OK && is_chief) {
        const char *config = liana__path_join(&joined->arena, *folder, "config.yaml");
        status = config ? liana__file_read(config, MOST_CONFIG, &text, &size, error)
                        : liana__fail_memory(error, "the run folder");
    }
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__cluster_tell_sized(cluster, cluster->chief, (void **)&text, &size, error);
    if (status == LIANA_OK && !is_chief) status = write_folder(joined, text, size, error);
    free(text);
    if (joined->folder) *folder = joined->folder;
    return status;
}

liana_status liana__run_cluster_load(liana__run *run, liana_status status, liana__error *error)
{
    LIANA_TRY(liana__cluster_agree_status(run->core.cluster, status, error));
    return liana__training_share_variables(&run->core, error);
}
