/* Tasks of the chief. */
#include "base/scoped.h"
#include "train/objective/trainer.h"

#include <stdlib.h>

typedef struct outcome {
    int32_t status;
    int32_t done; /* by the process that was the chief when it began */
} outcome;

/* Whether one of them was the chief, as all hear it: the present chief need not have been it for all. */
static bool is_done(const outcome *all, size_t count)
{
    bool done = false;
    for (size_t i = 0; i < count; i++) done = done || all[i].done || all[i].status != LIANA_OK;
    return done;
}

static liana_status do_in(liana__cluster *cluster, liana__chief_task task, void *user, outcome *all, int32_t *statuses,
                          liana__error *error)
{
    const size_t count = liana__cluster_size(cluster);
    do {
        const bool is_chief = liana__cluster_is_chief(cluster);
        const liana_status status = task(user, is_chief, error);
        const outcome own = {(int32_t)status, is_chief};
        LIANA_TRY(liana__cluster_gather(cluster, &own, sizeof own, all, error));
    } while (!is_done(all, count));
    for (size_t i = 0; i < count; i++) statuses[i] = all[i].status;
    return liana__cluster_share_error(cluster, statuses, error);
}

liana_status liana__chief_does(liana__cluster *cluster, liana__chief_task task, void *user, liana__error *error)
{
    if (!cluster) return task(user, true, error);
    const size_t count = liana__cluster_size(cluster);
    LIANA__SCOPED_MEMORY outcome *all = calloc(count, sizeof *all);
    LIANA__SCOPED_MEMORY int32_t *statuses = calloc(count, sizeof *statuses);
    return all && statuses ? do_in(cluster, task, user, all, statuses, error)
                           : liana__fail_memory(error, "what the chief has done");
}
