/* A span: workers and servers at work, and how they meet at its end. */
#include "distribute/cluster/span.h"

#include <stdlib.h>
#include <string.h>

/* Both sides, between the two meetings. A server that cannot be made fails on all processes before anybody asks it. */
static liana_status run_side(const liana__span_parts *span, const liana__span_work *work, liana__span_counts *counts,
                             liana__error *error)
{
    const bool works = liana__cluster_is_worker(span->cluster);
    liana__span_server *server = NULL;
    liana_status status = works ? LIANA_OK : liana__span_server_create(span, work, counts, &server, error);
    status = liana__cluster_agree_status(span->cluster, status, error);
    if (status == LIANA_OK) {
        liana__cluster_begin(span->cluster);
        status = works ? liana__span_worker(span, work, counts, error) : liana__span_serve(server, error);
    }
    liana__span_server_destroy(server);
    return status;
}

static liana_status add_counts(liana__cluster *cluster, liana__span_counts *counts, liana__error *error)
{
    liana__span_counts *all = calloc(liana__cluster_size(cluster), sizeof *all), sum = {0};
    if (!all) return liana__fail_memory(error, "the counts of gradients");
    liana_status status = liana__cluster_gather(cluster, counts, sizeof *counts, all, error);
    for (size_t i = 0; status == LIANA_OK && i < liana__cluster_size(cluster); i++) {
        liana__span_counts_add(&sum, &all[i]);
    }
    free(all);
    *counts = sum;
    return status;
}

liana_status liana__span_run(const liana__span_parts *span, const liana__span_work *work, liana__span_counts *counts,
                             liana__error *error)
{
    *counts = (liana__span_counts){0};
    liana_status status = run_side(span, work, counts, error);
    LIANA_TRY(liana__cluster_agree_status(span->cluster, status, error));
    LIANA_TRY(add_counts(span->cluster, counts, error));
    return liana__sliced_update_exchange(span->update, error);
}
