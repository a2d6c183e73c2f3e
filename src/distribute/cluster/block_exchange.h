/* block_exchange.h - the way of blocks from the workers that compute them to the owners that add them. */
#ifndef LIANA_DISTRIBUTE_BLOCK_EXCHANGE_H
#define LIANA_DISTRIBUTE_BLOCK_EXCHANGE_H

#include "distribute/cluster/block_sender.h"

/* Zero-initialise but for the context and the format; free it. */
typedef struct liana__block_exchange {
    const liana_context *context;
    liana__block_sender sender; /* of the own blocks; its format is that of all */
    /* Of an owner, the chunk that it adds, by block: the message that it came in; memory for its sums; and, by part,
     * where each sum lies: in the message, on this worker's device, or in that memory. */
    liana__message *messages;
    float **rooms;
    const float **where; /* [blocks, parts] */
    size_t num_slots, room_size, num_parts;
    /* The first sums of all blocks: by process, a report with its status and its blocks' first sums. */
    char *reports;
    size_t reports_size;
    float **firsts; /* by block */
    size_t num_firsts;
    int32_t *statuses;
} liana__block_exchange;

void liana__block_exchange_free(liana__block_exchange *exchange);

/* How this process fared goes to all, with the first `size` floats of its blocks, which are the first slots of `local`.
 * Everybody adds them as the tree says; `first` receives the sum. If a process failed, all fail with the first one's
 * error. */
liana_status liana__block_exchange_report(liana__block_exchange *exchange, liana__cluster *cluster,
                                          const liana__tree_plan *tree, const liana__local_exchange *local, size_t size,
                                          liana_status status, float *first, liana__error *error) LIANA_MUST_USE;

/* An owner receives its slices of all blocks, adds each as soon as the tree allows, and sends the sums to its mirror.
 * All in the operation in which the sender sends. Slices that are owned or mirrored have their sums then. */
liana_status liana__block_exchange_add(liana__block_exchange *exchange, liana__cluster *cluster,
                                       const liana__tree_plan *tree, const liana__sliced_update *update,
                                       liana__error *error) LIANA_MUST_USE;

#endif
