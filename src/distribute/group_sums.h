/* group_sums.h - the blocks of several devices of a process become those of their whole range. A sum is added as soon
 * as both sides are there, while the devices' other sums are still computed. The additions are those of the tree, in
 * its order; so the bits do not depend on the order of arrival. */
#ifndef LIANA_DISTRIBUTE_GROUP_SUMS_H
#define LIANA_DISTRIBUTE_GROUP_SUMS_H

#include "backends/host_add.h"
#include "distribute/local_exchange.h"

#include <stdatomic.h>

/* An addition within one block of the range, of slots of the exchange. */
typedef struct liana__group_addition {
    size_t into, from;
    size_t after; /* the next one of `into`; SIZE_MAX: there is none */
} liana__group_addition;

typedef struct liana__group_sums {
    liana__host_add_loop add;
    /* Of the running step. */
    const liana__tree_plan *tree;
    liana__local_exchange *exchange;
    const liana__sum_watch *listener;                 /* hears of blocks of the whole range; NULL: nobody does */
    size_t first_slot, num_slots;                     /* of the tree, that are the devices' */
    liana__tree_block blocks[LIANA__TREE_MAX_BLOCKS]; /* of the range */
    size_t num_blocks;
    liana__arena arena; /* of the lists below */
    liana__group_addition *additions;
    size_t num_additions;
    size_t *next;           /* by slot: the first addition that it takes part in; SIZE_MAX: none */
    atomic_uchar *arrived;  /* by addition and sum: how many sides are there; of two it is done */
    atomic_bool *taken;     /* by slot and sum: it is in the exchange */
    size_t num_reserved;    /* slots that there is room for */
    size_t num_cells;       /* and slots times sums, of which each kind of step has its own */
    liana__sum_watch watch; /* for the devices */
} liana__group_sums;

/* Zero-initialise, but for `add`; free it in any case. */
void liana__group_sums_free(liana__group_sums *sums);

/* Before the devices compute, or before their blocks are taken. The slots [first_slot, end_slot) of the plan are the
 * devices', and cover `shards`; they become the first ones of the exchange. The arguments are borrowed until the end.
 * Errors: OUT_OF_MEMORY. */
liana_status liana__group_sums_begin(liana__group_sums *sums, const liana__tree_plan *tree, size_t first_slot,
                                     size_t end_slot, liana__leaf_range leaves, liana__local_exchange *exchange,
                                     const liana__sum_watch *listener, liana__error *error) LIANA_MUST_USE;
/* When a device has computed: takes the sums that were not heard of, its blocks into the slots from `slot` on. Errors:
 * those of the device. */
liana_status liana__group_sums_take(liana__group_sums *sums, size_t slot, const liana__leaf_block *blocks,
                                    size_t num_blocks, liana__error *error) LIANA_MUST_USE;
/* Then: the additions that were not done. The blocks of the range are in the first slots of the exchange. */
void liana__group_sums_end(liana__group_sums *sums);

#endif
