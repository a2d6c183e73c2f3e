/* chief_task.h - a task of a cluster's chief for all, such as writing a file. If it dies before all know that it is
 * done, the next chief does it once more: so the task must have the same result, whichever process does it, and however
 * often. */
#ifndef LIANA_TRAIN_CHIEF_TASK_H
#define LIANA_TRAIN_CHIEF_TASK_H

#include "distribute/cluster/cluster.h"

/* Called in each process, at the same time as the others. */
typedef liana_status (*liana__chief_task)(void *user, bool is_chief, liana__error *error);

/* A collective operation. If the task fails in one process it fails in all. `cluster` NULL: this process is the
 * chief. */
liana_status liana__chief_does(liana__cluster *cluster, liana__chief_task task, void *user, liana__error *error)
    LIANA_MUST_USE;

#endif
