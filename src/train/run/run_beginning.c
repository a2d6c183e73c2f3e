/* What the processes of a cluster need of the chief's run folder to go on: only the chief reaches it, on a disk or in a
 * bucket. */
#include "train/run/run_internal.h"

#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_CONFIG = 1 << 26 };

/* Nothing where no run is there yet. */
static liana_status read_beginning(liana__run *run, char **text, size_t *size, const char **newest, liana__error *error)
{
    const char *config = liana__path_join(&run->arena, run->folder, "config.yaml");
    const char *checkpoints = liana__path_join(&run->arena, run->folder, "checkpoints");
    if (!config || !checkpoints) return liana__fail_memory(error, "the run folder");
    if (!liana__file_exists(config)) return LIANA_OK;
    LIANA_TRY(liana__file_read(config, MOST_CONFIG, text, size, error));
    return liana__checkpoint_newest(checkpoints, &run->arena, newest, error);
}

/* The configuration of the run that goes on, and a checkpoint's name: what it chose is then used, as the chief does. */
static liana_status send_beginning(liana__run *run, liana__cluster *cluster, liana_status status, liana__error *error)
{
    char *text = NULL;
    size_t size = 0;
    const char *newest = NULL;
    if (status == LIANA_OK) status = read_beginning(run, &text, &size, &newest, error);
    status = liana__cluster_agree_status(cluster, status, error);
    if (status == LIANA_OK) status = liana__cluster_tell_sized(cluster, cluster->chief, (void **)&text, &size, error);
    char name[LIANA__CHECKPOINT_NAME] = "";
    if (newest) snprintf(name, sizeof name, "%s", liana__path_name(newest));
    if (status == LIANA_OK) status = liana__cluster_tell(cluster, cluster->chief, name, sizeof name, error);
    free(text);
    return status;
}

static liana_status write_beginning(liana__run *run, const char *text, size_t size, const char *checkpoint,
                                    liana__error *error)
{
    if (size == 0) return LIANA_OK;
    const char *config = liana__path_join(&run->arena, run->folder, "config.yaml");
    const char *name = liana__arena_format(&run->arena, "%s/checkpoints/%s", run->folder, checkpoint);
    if (!config || !name) return liana__fail_memory(error, "the run folder");
    LIANA_TRY(liana__file_replace(config, text, size, error));
    return *checkpoint ? liana__folder_make(name, error) : LIANA_OK;
}

static liana_status receive_beginning(liana__run *run, liana__cluster *cluster, liana_status status,
                                      liana__error *error)
{
    char *text = NULL, name[LIANA__CHECKPOINT_NAME] = "";
    size_t size = 0;
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    status = liana__cluster_tell_sized(cluster, cluster->chief, (void **)&text, &size, error);
    if (status == LIANA_OK) status = liana__cluster_tell(cluster, cluster->chief, name, sizeof name, error);
    name[sizeof name - 1] = 0;
    if (status == LIANA_OK) status = write_beginning(run, text, size, name, error);
    free(text);
    return status;
}

liana_status liana__run_share_beginning(liana__run *run, const liana__run_options *options, liana_status status,
                                        liana__error *error)
{
    liana__cluster *cluster = liana__cluster_of(run->context);
    if (!cluster || (!options->resume && !options->resume_from)) return status;
    if (liana__cluster_is_chief(cluster)) return send_beginning(run, cluster, status, error);
    return receive_beginning(run, cluster, status, error);
}
