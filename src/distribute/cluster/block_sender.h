/* block_sender.h - sums of a worker's blocks on their way to the owners of slices, each chunk as soon as its sums are
 * there: while the shards' other gradients are still being computed. */
#ifndef LIANA_DISTRIBUTE_BLOCK_SENDER_H
#define LIANA_DISTRIBUTE_BLOCK_SENDER_H

#include "distribute/cluster/slice_chunks.h"
#include "distribute/cluster/sliced_update.h"
#include "distribute/local_exchange.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct liana__block_sender {
    liana__wire_format format;
    liana__slice_chunks chunks; /* of the update's slices */
    pthread_mutex_t mutex;      /* held while something is sent */
    bool is_made;
    /* The running step. */
    liana__cluster *cluster;
    const liana__tree_plan *tree;
    const liana__sliced_update *update;
    bool to_mirrors;           /* slices go to their mirrors too, which add them (liana__mirrors_add) */
    size_t num_blocks;         /* of this worker */
    liana__arena arena;        /* of the lists below */
    const float **sums;        /* by block and sum */
    atomic_size_t *parts;      /* by block and chunk: parts whose sums are still to come */
    atomic_bool *is_sent;      /* by block and chunk */
    size_t num_reserved;       /* blocks that there is room for */
    atomic_size_t num_to_come; /* sums of all blocks */
    atomic_size_t sent_early;  /* bytes, while other sums were to come */
    liana__sum_watch watch;
    liana__error error; /* the first one */
} liana__block_sender;

/* Zero-initialise; free it in any case. */
void liana__block_sender_free(liana__block_sender *sender);

/* Before the shards of a step are computed, in the operation to which the messages belong. The arguments are borrowed
 * until the end. Sums that the sender's `watch` hears of are sent at once. Errors: OUT_OF_MEMORY, INVALID_DATA. */
liana_status liana__block_sender_begin(liana__block_sender *sender, liana__cluster *cluster,
                                       const liana__tree_plan *tree, const liana__sliced_update *update,
                                       size_t num_sums, liana__error *error) LIANA_MUST_USE;
/* Sends the rest of the blocks in the first slots of `local`. Errors: those of the cluster. */
liana_status liana__block_sender_end(liana__block_sender *sender, const liana__local_exchange *local,
                                     liana__error *error) LIANA_MUST_USE;

#endif
