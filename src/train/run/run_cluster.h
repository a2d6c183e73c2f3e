/* run_cluster.h - a run in several processes: each of them joins the cluster before it opens the run. */
#ifndef LIANA_TRAIN_RUN_CLUSTER_H
#define LIANA_TRAIN_RUN_CLUSTER_H

#include "train/run/run.h"

/* Zero-initialise; leave it in any case, after the run is closed. */
typedef struct liana__run_cluster {
    liana__cluster cluster;
    bool is_open; /* false: this process is alone */
    /* Of a process that is not the chief: its files go there, and are removed. When it becomes the chief, a link to the
     * run folder is there. */
    const char *folder;
    const char *above; /* the folder of that folder, of a training */
    liana__handover handover;
    bool resumable; /* meeting the others has failed, but another start may do better */
    liana__arena arena;
} liana__run_cluster;

/* Finds out whether this process belongs to a cluster (cluster_read.h), and joins it. A process that is not the chief
 * gets a temporary folder in place of options->folder, and keeps silent. Errors: those of finding this process's place
 * and of meeting the others; INVALID_CONFIG for a strategy that does not fit, and for the evaluator. */
liana_status liana__run_cluster_join(liana_context *context, const liana__config *config, liana__run_options *options,
                                     liana__run_cluster *joined, liana__error *error) LIANA_MUST_USE;
/* After a training that was interrupted, and whose run is closed: whether its cluster meets in a next round. Then this
 * process has left the cluster, and joins it again. */
bool liana__run_cluster_meets_again(liana__run_cluster *joined);
void liana__run_cluster_leave(liana__run_cluster *joined);

/* ---- to measure: liana evaluate, liana predict (run_cluster.c) ---- */

/* The place of this process, as the environment and overrides of `cluster` give it. Errors: those of
 * liana__cluster_place_read. */
liana_status liana__run_cluster_find_place(const char *const *overrides, size_t num_overrides, liana__arena *arena,
                                           liana__cluster_place *place, liana__error *error) LIANA_MUST_USE;
/* Joins the cluster of that place, if there is one. Errors: those of meeting the others. */
liana_status liana__run_cluster_join_measured(const char *const *overrides, size_t num_overrides,
                                              const liana__notes *notes, liana__run_cluster *joined,
                                              liana__error *error) LIANA_MUST_USE;
/* The chief's run folder, which the others need not reach: theirs becomes a temporary one with its configuration.
 * `status`: how the chief fared with finding it. */
liana_status liana__run_cluster_share_folder(liana__run_cluster *joined, liana_status status, const char **folder,
                                             liana__error *error) LIANA_MUST_USE;
/* After the chief has loaded weights, and fared so: all have them. Alone: returns the status. */
liana_status liana__run_cluster_load(liana__run *run, liana_status status, liana__error *error) LIANA_MUST_USE;

#endif
