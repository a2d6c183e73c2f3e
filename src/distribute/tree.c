/* The tree of leaves: blocks, ranges, and the plan by which blocks are added. */
#include "distribute/tree.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

/* A stack of blocks to be added has each level at most once. */
enum { MAX_LEVELS = 64 };

size_t liana__tree_height(size_t num_leaves)
{
    size_t height = 0;
    while (height < MAX_LEVELS - 1 && ((size_t)1 << height) < num_leaves) height++;
    return height;
}

/* The end of the 2^level leaves from `begin` on. */
static size_t end_of(size_t num_leaves, size_t begin, size_t level)
{
    size_t rest = num_leaves - begin, size = (size_t)1 << level;
    return rest < size ? num_leaves : begin + size;
}

liana__leaf_range liana__tree_leaves(size_t num_leaves, liana__tree_block block)
{
    size_t begin = block.index << block.level;
    return (liana__leaf_range){begin, end_of(num_leaves, begin, block.level)};
}

/* The largest node that begins with leaf `begin` and has no leaf from `end` on. */
static liana__tree_block block_at(size_t num_leaves, size_t height, size_t begin, size_t end)
{
    size_t level = 0;
    while (level < height) {
        bool is_aligned = (begin >> level & 1) == 0;
        if (!is_aligned || end_of(num_leaves, begin, level + 1) > end) break;
        level++;
    }
    return (liana__tree_block){level, begin >> level};
}

size_t liana__tree_blocks(size_t num_leaves, liana__leaf_range range, liana__tree_block *blocks)
{
    size_t count = 0, height = liana__tree_height(num_leaves);
    for (size_t begin = range.begin; begin < range.end; count++) {
        liana__tree_block block = block_at(num_leaves, height, begin, range.end);
        if (blocks) blocks[count] = block;
        begin = end_of(num_leaves, begin, block.level);
    }
    return count;
}

/* ---- assignment of shards ---- */

/* The replicas with their weights; the greatest weight counts as 1, so that no product leaves the range of doubles. */
typedef struct team {
    size_t num_leaves;
    size_t num_replicas;
    const double *weights; /* NULL: all 1 */
    double greatest;
} team;

static double weight_of(const team *t, size_t replica)
{
    return t->weights ? t->weights[replica] / t->greatest : 1;
}

/* How many shards a replica computes in a time of `limit`; a shard takes 1 / weight. */
static size_t capacity_of(const team *t, size_t replica, double limit)
{
    double leaves = floor(limit * weight_of(t, replica));
    return leaves < (double)t->num_leaves ? (size_t)leaves : t->num_leaves;
}

static size_t total_capacity(const team *t, double limit)
{
    size_t total = 0;
    for (size_t replica = 0; replica < t->num_replicas; replica++) total += capacity_of(t, replica, limit);
    return total;
}

/* The least time in which the replicas compute all shards, to the last bit of a double. */
static double least_limit(const team *t)
{
    double low = 0, high = (double)t->num_leaves;
    while (total_capacity(t, high) < t->num_leaves) high *= 2;
    for (;;) {
        double middle = low + (high - low) / 2;
        if (middle <= low || middle >= high) return high;
        if (total_capacity(t, middle) < t->num_leaves) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/* The number of [low, high] that the highest power of two divides. */
static size_t most_aligned(size_t low, size_t high)
{
    for (int bit = MAX_LEVELS - 1; bit > 0; bit--) {
        size_t number = high >> bit << bit;
        if (number >= low) return number;
    }
    return high;
}

/* The end of a replica's range, at least `low` and at most `high`. The balanced end is `ideal`. Better aligned ones may
 * be up to `distance` away, so that no replica goes empty for a neighbour's alignment. */
static size_t choose_end(size_t low, size_t high, double ideal, double distance)
{
    double near_low = ceil(ideal - distance), near_high = floor(ideal + distance);
    double nearest = floor(ideal + 0.5);
    if (near_low > near_high) near_low = near_high = nearest;
    if (near_high < (double)low) return low;
    if (near_low > (double)high) return high;
    if (near_low > (double)low) low = (size_t)near_low;
    if (near_high < (double)high) high = (size_t)near_high;
    return most_aligned(low, high);
}

static liana_status check_weights(const double *weights, size_t num_replicas, double *greatest, liana__error *error)
{
    *greatest = 0;
    for (size_t replica = 0; weights && replica < num_replicas; replica++) {
        double weight = weights[replica];
        if (!isfinite(weight) || weight < 0) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT, "the weight of replica %zu is %g, expected 0 or more",
                               replica, weight);
        }
        if (weight > *greatest) *greatest = weight;
    }
    if (num_replicas > 0 && (!weights || *greatest > 0)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "none of %zu replicas may compute leaves; give at least one a weight above 0", num_replicas);
}

liana_status liana__tree_assign(size_t num_leaves, size_t num_replicas, const double *weights, double tolerance,
                                liana__leaf_range *ranges, liana__error *error)
{
    team t = {num_leaves, num_replicas, weights, 1};
    LIANA_TRY(check_weights(weights, num_replicas, &t.greatest, error));
    if (!(tolerance >= 0 && isfinite(tolerance))) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the tolerance is %g, expected 0 or more", tolerance);
    }
    double limit = least_limit(&t) * (1 + tolerance), total = 0, so_far = 0;
    for (size_t replica = 0; replica < num_replicas; replica++) total += weight_of(&t, replica);
    size_t left = total_capacity(&t, limit), end = 0; /* `left`: of the replicas behind */
    for (size_t replica = 0; replica < num_replicas; replica++) {
        size_t begin = end, capacity = capacity_of(&t, replica, limit);
        left -= capacity;
        size_t low = left < num_leaves - begin ? num_leaves - left : begin;
        size_t high = capacity < num_leaves - begin ? begin + capacity : num_leaves;
        double scale = (double)num_leaves / total, own = weight_of(&t, replica);
        double next = replica + 1 < num_replicas ? weight_of(&t, replica + 1) : 0;
        so_far += own;
        end = choose_end(low, high, so_far * scale, scale * (own < next ? own : next) / 2);
        ranges[replica] = (liana__leaf_range){begin, end};
    }
    return LIANA_OK;
}

/* ---- how the blocks are added ---- */

liana_status liana__tree_plan_create(size_t max_leaves, size_t num_replicas, liana__tree_plan *plan,
                                     liana__error *error)
{
    /* A range has at most two blocks of a level. */
    size_t most = 2 * (liana__tree_height(max_leaves) + 1);
    size_t capacity = num_replicas < max_leaves / most ? num_replicas * most : max_leaves;
    *plan = (liana__tree_plan){.num_replicas = num_replicas, .capacity = capacity};
    plan->slots = calloc(capacity + 1, sizeof *plan->slots);
    plan->additions = calloc(capacity + 1, sizeof *plan->additions);
    plan->first_slots = calloc(num_replicas + 1, sizeof *plan->first_slots);
    if (plan->slots && plan->additions && plan->first_slots) return LIANA_OK;
    liana__tree_plan_free(plan);
    return liana__fail_memory(error, "the plan of a step's additions");
}

void liana__tree_plan_free(liana__tree_plan *plan)
{
    free(plan->slots);
    free(plan->additions);
    free(plan->first_slots);
    *plan = (liana__tree_plan){0};
}

static liana_status check_ranges(const liana__tree_plan *plan, size_t num_leaves, const liana__leaf_range *ranges,
                                 liana__error *error)
{
    size_t begin = 0;
    for (size_t replica = 0; replica < plan->num_replicas; replica++) {
        const liana__leaf_range *range = &ranges[replica];
        if (range->begin != begin || range->end < begin || range->end > num_leaves) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "replica %zu has the leaves %zu to %zu of %zu, expected a range that begins with %zu",
                               replica, range->begin, range->end, num_leaves, begin);
        }
        begin = range->end;
    }
    if (begin == num_leaves) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the replicas have %zu of %zu leaves, expected all", begin,
                       num_leaves);
}

/* A sum on its way up: the slot that holds it, and the node that it is. */
typedef struct climber {
    size_t slot;
    liana__tree_block block;
} climber;

/* Plans the additions by a walk over the slots: as soon as a sum's left neighbour is there, which comes earlier, the
 * two become their parent, which is raised as far as it has no neighbour. */
static void plan_additions(liana__tree_plan *plan)
{
    climber stack[MAX_LEVELS + 1];
    size_t depth = 0, height = liana__tree_height(plan->num_leaves);
    plan->num_additions = 0;
    for (size_t slot = 0; slot < plan->num_slots; slot++) {
        climber top = {slot, plan->slots[slot].block};
        while (depth > 0 && top.block.index % 2 == 1 && stack[depth - 1].block.level == top.block.level) {
            climber left = stack[--depth];
            plan->additions[plan->num_additions++] = (liana__tree_addition){left.slot, top.slot};
            size_t begin = left.block.index << left.block.level;
            size_t end = end_of(plan->num_leaves, begin, left.block.level + 1);
            top = (climber){left.slot, block_at(plan->num_leaves, height, begin, end)};
        }
        stack[depth++] = top;
    }
}

liana_status liana__tree_plan_make(liana__tree_plan *plan, size_t num_leaves, const liana__leaf_range *ranges,
                                   liana__error *error)
{
    LIANA_TRY(check_ranges(plan, num_leaves, ranges, error));
    size_t count = 0;
    for (size_t replica = 0; replica < plan->num_replicas; replica++) {
        liana__tree_block blocks[LIANA__TREE_MAX_BLOCKS];
        size_t own = liana__tree_blocks(num_leaves, ranges[replica], blocks);
        if (own > plan->capacity - count) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "%zu leaves have more than the %zu blocks that the plan has room for", num_leaves,
                               plan->capacity);
        }
        plan->first_slots[replica] = count;
        for (size_t i = 0; i < own; i++) plan->slots[count++] = (liana__tree_slot){blocks[i], replica};
    }
    plan->first_slots[plan->num_replicas] = count;
    plan->num_slots = count;
    plan->num_leaves = num_leaves;
    plan_additions(plan);
    return LIANA_OK;
}
