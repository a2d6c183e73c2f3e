/* run_cluster.h - a run in several processes: each of them joins the cluster before it opens the run. */
#ifndef LIANA_TRAIN_RUN_CLUSTER_H
#define LIANA_TRAIN_RUN_CLUSTER_H

#include "train/run/run.h"

/* Zero-initialise; leave it in any case, after the run is closed. */
typedef struct liana__run_cluster {
    liana__cluster cluster;
    bool is_open; /* false: this process is alone */
    /* Of a process that is not the chief: what it would write goes there, and is removed. When it becomes the chief, a link
     * to the run folder is there. */
    const char *folder;
    const char *above; /* the folder of that folder */
    liana__arena arena;
} liana__run_cluster;

/* Finds out whether this process belongs to a cluster (cluster_read.h), and joins it. A process that is not the chief
 * gets a temporary folder in place of options->folder, with what a run that goes on reads of the chief's, and keeps
 * silent. Errors: those of reading who it is and of meeting the others; INVALID_CONFIG for a strategy that does not fit,
 * and for the evaluator. */
liana_status liana__run_cluster_join(liana_context *context, const liana__config *config, liana__run_options *options,
                                     liana__run_cluster *joined, liana__error *error) LIANA_MUST_USE;
void liana__run_cluster_leave(liana__run_cluster *joined);

#endif
