/* tree.h - the fixed tree in which the shards of a step are added: pure arithmetic.
 *
 * Its leaves are the shards that have examples, numbered from 0. Neighbours are added first, then pairs of neighbours,
 * and so on. An odd one out moves up unchanged. So the node (level, index) covers 2^level leaves from index * 2^level
 * on, or the fewer that exist, and the sum of all leaves has the same bits, whichever device added which.
 *
 * A replica computes a contiguous range of leaves: these shards. It gives the sums of the blocks of its range: the
 * largest nodes that lie in it. A plan says in which order the blocks of all replicas are added. */
#ifndef LIANA_DISTRIBUTE_TREE_H
#define LIANA_DISTRIBUTE_TREE_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* The leaves from `begin` to before `end`. */
typedef struct liana__leaf_range {
    size_t begin, end;
} liana__leaf_range;

/* A node of the tree. An odd one that moves up is several nodes of the same leaves; its block is the highest of them.
 */
typedef struct liana__tree_block {
    size_t level, index;
} liana__tree_block;

/* The level of the root: 0 for one leaf. */
size_t liana__tree_height(size_t num_leaves);

/* The leaves of a node. */
liana__leaf_range liana__tree_leaves(size_t num_leaves, liana__tree_block block);

/* No range has more blocks. */
enum { LIANA__TREE_MAX_BLOCKS = 128 };

/* Writes the blocks of a range in the order of their leaves and returns their number. `blocks` has room for
 * LIANA__TREE_MAX_BLOCKS, or is NULL if only the number is wanted. An empty range has none. */
size_t liana__tree_blocks(size_t num_leaves, liana__leaf_range range, liana__tree_block *blocks);

/* ---- assignment of shards ---- */

/* Gives each replica a contiguous range of leaves, in the order of the replicas; some may be empty.
 *
 * `weights` are the replicas' speeds in any unit; NULL: all are equally fast; 0: computes nothing. The slowest replica
 * takes no longer than the best assignment allows, times 1 + tolerance (0 or more). Within this limit ranges end where
 * they consist of few blocks, and near the balanced place. Errors: INVALID_ARGUMENT for a weight that is negative or
 * not finite, for weights that are all 0, for a bad tolerance. */
/* The tolerance of strategies: how unevenly shards may be shared out so that ranges have few blocks. */
#define LIANA__TREE_TOLERANCE 0.05
liana_status liana__tree_assign(size_t num_leaves, size_t num_replicas, const double *weights, double tolerance,
                                liana__leaf_range *ranges, liana__error *error) LIANA_MUST_USE;

/* ---- how the blocks are added ---- */

/* A slot holds the sums of one block, or for the owner of a slice of the sums: that slice of them. */
typedef struct liana__tree_slot {
    liana__tree_block block;
    size_t replica; /* that computes the block */
} liana__tree_slot;

/* Slot `into` becomes `into` + `from`; afterwards `from` is free. */
typedef struct liana__tree_addition {
    size_t into, from;
} liana__tree_addition;

/* How the blocks of all replicas become the sum of all leaves. Slots are in the order of leaves. Each owner of a slice
 * receives its slice of all slots, runs the additions in order, and then has the sum in slot 0. An addition may run
 * before earlier ones if these have neither of its slots. */
typedef struct liana__tree_plan {
    size_t num_leaves;
    liana__tree_slot *slots;
    size_t num_slots;
    size_t *first_slots; /* by replica, and one more: the slots of replica r are first_slots[r] to before [r + 1] */
    size_t num_replicas;
    liana__tree_addition *additions;
    size_t num_additions; /* one less than slots */
    size_t capacity;      /* of slots */
} liana__tree_plan;

/* Makes room for plans of at most `max_leaves` leaves. Errors: OUT_OF_MEMORY. */
liana_status liana__tree_plan_create(size_t max_leaves, size_t num_replicas, liana__tree_plan *plan,
                                     liana__error *error) LIANA_MUST_USE;
void liana__tree_plan_free(liana__tree_plan *plan);

/* Plans for these ranges, one for each replica. Allocates nothing. Errors: INVALID_ARGUMENT for ranges that do not
 * follow each other from leaf 0 to the last, or for more leaves than there is room for. */
liana_status liana__tree_plan_make(liana__tree_plan *plan, size_t num_leaves, const liana__leaf_range *ranges,
                                   liana__error *error) LIANA_MUST_USE;

#endif
