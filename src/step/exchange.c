/* How a strategy's exchange of gradients changes steps and results. */
#include "step/exchange.h"

#include <stdio.h>

size_t liana__span_steps_of(const liana__strategy *strategy, const void *options, const liana__cluster *cluster)
{
    const size_t num_workers = cluster ? cluster->place.num_workers : 1;
    return strategy && strategy->span_steps ? strategy->span_steps(options, num_workers) : 0;
}

bool liana__note_exchange(const liana__strategy *strategy, const void *options, const liana__cluster *cluster,
                          const liana__notes *notes, liana__exchange_reason *reason)
{
    const size_t num_workers = cluster ? cluster->place.num_workers : 1;
    *reason = (liana__exchange_reason){0};
    if (!strategy->describe_arithmetic) return false;
    strategy->describe_arithmetic(options, num_workers, reason->exchange, sizeof reason->exchange);
    if (!*reason->exchange) return false;
    snprintf(reason->text, sizeof reason->text, "gradients are exchanged with %s", reason->exchange);
    const bool is_in_step = liana__span_steps_of(strategy, options, cluster) == 0;
    liana__note(notes, "%s: results are %s", reason->text,
                is_in_step ? "other bits than those of one process" : "not reproducible");
    return !is_in_step;
}

size_t liana__span_owner(const liana__cluster *cluster, uint64_t step)
{
    const size_t num_workers = cluster->place.num_workers;
    size_t count = 0, place = 0;
    for (size_t i = 0; i < num_workers; i++) count += liana__cluster_is_member(cluster, i);
    if (count == 0) return 0;
    size_t before = (size_t)(step % count);
    while (place < num_workers && (!liana__cluster_is_member(cluster, place) || before > 0)) {
        before -= liana__cluster_is_member(cluster, place++);
    }
    return place < num_workers ? place : 0;
}
