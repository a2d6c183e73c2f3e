/* The tree of leaves: for each assignment of leaves, the plan adds them to the bits of the definition. */
#include "harness/harness.h"

#include "base/random.h"
#include "distribute/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A sum that tells in which order it was added: a number, and a hash that is another one for (a + b) + c than for
 * a + (b + c), and for b + a than for a + b. */
typedef struct term {
    float number;
    uint64_t order;
    size_t num_leaves;
} term;

static uint64_t mix(uint64_t a, uint64_t b)
{
    uint64_t x = a * 0x9E3779B97F4A7C15u + (b ^ (b >> 29)) * 0xBF58476D1CE4E5B9u + 0x94D049BB133111EBu;
    x ^= x >> 31;
    return x * 0xD6E8FEB86659FD93u;
}

static term add(term a, term b)
{
    /* Through memory, so that no wider register keeps more bits. */
    volatile float number = a.number + b.number;
    return (term){number, mix(a.order, b.order), a.num_leaves + b.num_leaves};
}

static uint32_t draw(uint32_t salt, uint32_t index)
{
    uint32_t words[4];
    liana__philox(liana__philox_make_key(11, LIANA__STREAM_TEST, salt), (uint32_t[4]){index, 0, 0, 0}, words);
    return words[0];
}

/* Numbers of very different sizes. */
static term leaf_term(size_t leaf)
{
    float number = ldexpf((float)(draw(1, (uint32_t)leaf) % 2001) - 1000, (int)(draw(2, (uint32_t)leaf) % 24));
    return (term){number, mix(leaf + 1, 7), 1};
}

/* The definition, level by level. `terms` is overwritten. */
static term add_all(term *terms, size_t count)
{
    while (count > 1) {
        for (size_t i = 0; i < count / 2; i++) terms[i] = add(terms[2 * i], terms[2 * i + 1]);
        if (count % 2) terms[count / 2] = terms[count - 1];
        count = (count + 1) / 2;
    }
    return terms[0];
}

static term *make_leaves(size_t count)
{
    term *leaves = malloc((count + 1) * sizeof *leaves);
    assert_non_null(leaves);
    for (size_t i = 0; i < count; i++) leaves[i] = leaf_term(i);
    return leaves;
}

static term sum_of_all(size_t num_leaves)
{
    term *leaves = make_leaves(num_leaves);
    term sum = add_all(leaves, num_leaves);
    free(leaves);
    return sum;
}

static void assert_same_term(term got, term expected)
{
    assert_int_equal(got.num_leaves, expected.num_leaves);
    assert_memory_equal(&got.number, &expected.number, sizeof got.number);
    assert_compare(got.order, ==, expected.order);
}

/* Aligned, in the range, following each other, and none with a parent of more leaves in the range. */
static void check_blocks(size_t num_leaves, liana__leaf_range range, const liana__tree_slot *slots, size_t count)
{
    size_t next = range.begin;
    for (size_t i = 0; i < count; i++) {
        size_t size = (size_t)1 << slots[i].block.level, begin = slots[i].block.index * size, end = begin + size;
        if (end > num_leaves) end = num_leaves;
        assert_int_equal(begin, next);
        assert_compare(begin, <, end);
        assert_compare(end, <=, range.end);
        liana__leaf_range leaves = liana__tree_leaves(num_leaves, slots[i].block);
        assert_compare(leaves.begin, ==, begin);
        assert_compare(leaves.end, ==, end);
        next = end;
        if (size >= num_leaves) continue; /* the root */
        size_t parent = begin / (2 * size) * 2 * size, parent_end = parent + 2 * size;
        if (parent_end > num_leaves) parent_end = num_leaves;
        if (parent >= range.begin) assert_compare(parent_end, >, range.end);
    }
    assert_int_equal(next, range.end);
}

/* Each replica adds up its blocks by the definition on their leaves alone; then the plan adds the blocks. */
static term run_plan(const liana__tree_plan *plan, term *leaves)
{
    term *slots = malloc((plan->num_slots + 1) * sizeof *slots);
    assert_non_null(slots);
    for (size_t i = 0; i < plan->num_slots; i++) {
        liana__leaf_range range = liana__tree_leaves(plan->num_leaves, plan->slots[i].block);
        slots[i] = add_all(leaves + range.begin, range.end - range.begin);
    }
    for (size_t i = 0; i < plan->num_additions; i++) {
        liana__tree_addition addition = plan->additions[i];
        assert_compare(addition.into, <, addition.from);
        assert_compare(addition.from, <, plan->num_slots);
        assert_compare(slots[addition.from].num_leaves, >, 0);
        slots[addition.into] = add(slots[addition.into], slots[addition.from]);
        slots[addition.from].num_leaves = 0;
    }
    term sum = slots[0];
    free(slots);
    return sum;
}

/* The number of blocks. */
static size_t check_ranges(liana__tree_plan *plan, size_t num_leaves, const liana__leaf_range *ranges, term expected)
{
    liana__error error = {0};
    assert_ok(liana__tree_plan_make(plan, num_leaves, ranges, &error), &error);
    assert_int_equal(plan->num_additions + 1, plan->num_slots);
    for (size_t replica = 0; replica < plan->num_replicas; replica++) {
        size_t first = plan->first_slots[replica], count = plan->first_slots[replica + 1] - first;
        check_blocks(num_leaves, ranges[replica], plan->slots + first, count);
        for (size_t i = 0; i < count; i++) assert_int_equal(plan->slots[first + i].replica, replica);
        assert_int_equal(liana__tree_blocks(num_leaves, ranges[replica], NULL), count);
    }
    term *leaves = make_leaves(num_leaves);
    assert_same_term(run_plan(plan, leaves), expected);
    free(leaves);
    return plan->num_slots;
}

static size_t longest(const liana__leaf_range *ranges, size_t count)
{
    size_t most = 0;
    for (size_t i = 0; i < count; i++) {
        if (ranges[i].end - ranges[i].begin > most) most = ranges[i].end - ranges[i].begin;
    }
    return most;
}

enum { MAX_LEAVES = 300, MAX_REPLICAS = 40 };

/* Without a tolerance no replica has more leaves than it must have, and alignment saves blocks all the same. */
static void test_sums_have_the_trees_bits(void **state)
{
    (void)state;
    liana__error error = {0};
    size_t num_blocks = 0, num_plain_blocks = 0;
    for (size_t num_replicas = 1; num_replicas <= MAX_REPLICAS; num_replicas++) {
        liana__tree_plan plan;
        assert_ok(liana__tree_plan_create(MAX_LEAVES, num_replicas, &plan, &error), &error);
        for (size_t num_leaves = 1; num_leaves <= MAX_LEAVES; num_leaves++) {
            liana__leaf_range ranges[MAX_REPLICAS];
            term expected = sum_of_all(num_leaves);
            assert_ok(liana__tree_assign(num_leaves, num_replicas, NULL, 0, ranges, &error), &error);
            assert_int_equal(longest(ranges, num_replicas), (num_leaves + num_replicas - 1) / num_replicas);
            num_blocks += check_ranges(&plan, num_leaves, ranges, expected);
            for (size_t i = 0; i < num_replicas; i++) {
                ranges[i] = (liana__leaf_range){num_leaves * i / num_replicas, num_leaves * (i + 1) / num_replicas};
                num_plain_blocks += liana__tree_blocks(num_leaves, ranges[i], NULL);
            }
        }
        liana__tree_plan_free(&plan);
    }
    assert_compare((double)num_blocks, <, 0.75 * (double)num_plain_blocks);
}

/* Any ranges at all, empty ones as well. */
static void test_any_ranges_have_the_trees_bits(void **state)
{
    (void)state;
    liana__error error = {0};
    for (uint32_t try = 0; try < 2000; try++) {
        size_t num_leaves = 1 + draw(3, try) % MAX_LEAVES, num_replicas = 1 + draw(4, try) % MAX_REPLICAS;
        liana__leaf_range ranges[MAX_REPLICAS];
        size_t begin = 0;
        for (size_t i = 0; i < num_replicas; i++) {
            size_t left = num_leaves - begin, most = 1 + 2 * left / (num_replicas - i);
            size_t size = draw(5, try * MAX_REPLICAS + (uint32_t)i) % (most + 1);
            if (size > left || i + 1 == num_replicas) size = left;
            ranges[i] = (liana__leaf_range){begin, begin + size};
            begin += size;
        }
        liana__tree_plan plan;
        assert_ok(liana__tree_plan_create(num_leaves, num_replicas, &plan, &error), &error);
        check_ranges(&plan, num_leaves, ranges, sum_of_all(num_leaves));
        liana__tree_plan_free(&plan);
    }
}

static void test_thousands_of_replicas(void **state)
{
    (void)state;
    static const size_t sizes[][2] = {{65536, 4096}, {50000, 3001}, {4095, 5000},
                                      {12345, 7},    {40000, 1},    {99991, 2048}};
    liana__error error = {0};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t num_leaves = sizes[i][0], num_replicas = sizes[i][1];
        liana__leaf_range *ranges = calloc(num_replicas, sizeof *ranges);
        double *weights = calloc(num_replicas, sizeof *weights);
        assert_true(ranges && weights);
        for (size_t k = 0; k < num_replicas; k++) weights[k] = (double)(draw(6, (uint32_t)k) % 16);
        weights[0] = 1;
        liana__tree_plan plan;
        assert_ok(liana__tree_plan_create(num_leaves, num_replicas, &plan, &error), &error);
        term expected = sum_of_all(num_leaves);
        for (int weighted = 0; weighted < 2; weighted++) {
            assert_ok(liana__tree_assign(num_leaves, num_replicas, weighted ? weights : NULL, weighted ? 0.05 : 0,
                                         ranges, &error),
                      &error);
            check_ranges(&plan, num_leaves, ranges, expected);
        }
        liana__tree_plan_free(&plan);
        free(ranges);
        free(weights);
    }
}

/* The numbers above would not tell if the order did not matter. */
static void test_other_orders_give_other_bits(void **state)
{
    (void)state;
    int different = 0;
    for (size_t num_leaves = 4; num_leaves <= 100; num_leaves++) {
        term in_a_row = leaf_term(0), tree = sum_of_all(num_leaves);
        for (size_t leaf = 1; leaf < num_leaves; leaf++) in_a_row = add(in_a_row, leaf_term(leaf));
        assert_compare(in_a_row.order, !=, tree.order);
        different += in_a_row.number != tree.number;
    }
    assert_compare(different, >, 49);
}

static void assert_blocks(size_t num_leaves, size_t begin, size_t end, size_t count, const size_t (*expected)[2])
{
    liana__tree_block blocks[LIANA__TREE_MAX_BLOCKS];
    assert_int_equal(liana__tree_blocks(num_leaves, (liana__leaf_range){begin, end}, blocks), count);
    for (size_t i = 0; i < count; i++) {
        assert_compare(blocks[i].level, ==, expected[i][0], i);
        assert_compare(blocks[i].index, ==, expected[i][1], i);
    }
}

/* By hand. Of 5 leaves the last one moves up twice, of 11 the last three are a block of level 2, then 3. */
static void test_blocks_of_ranges(void **state)
{
    (void)state;
    assert_int_equal(liana__tree_height(1), 0);
    assert_int_equal(liana__tree_height(2), 1);
    assert_int_equal(liana__tree_height(5), 3);
    assert_int_equal(liana__tree_height(8), 3);
    assert_int_equal(liana__tree_height((size_t)1 << 62), 62);
    assert_blocks(1, 0, 1, 1, (const size_t[][2]){{0, 0}});
    assert_blocks(5, 4, 5, 1, (const size_t[][2]){{2, 1}});
    assert_blocks(5, 0, 5, 1, (const size_t[][2]){{3, 0}});
    assert_blocks(5, 2, 5, 2, (const size_t[][2]){{1, 1}, {2, 1}});
    assert_blocks(11, 8, 11, 1, (const size_t[][2]){{3, 1}});
    assert_blocks(11, 3, 9, 3, (const size_t[][2]){{0, 3}, {2, 1}, {0, 8}});
    assert_blocks(11, 10, 11, 1, (const size_t[][2]){{1, 5}});
    assert_blocks(11, 6, 6, 0, NULL);
    size_t most = (size_t)1 << 63;
    assert_blocks(most, 0, most, 1, (const size_t[][2]){{63, 0}});
    assert_blocks(most, most / 2, most, 1, (const size_t[][2]){{62, 1}});
}

/* ---- assignment ---- */

/* The least time by trial of all that can be it: k leaves of some replica. */
static double least_time(size_t num_leaves, const double *weights, size_t num_replicas)
{
    double least = INFINITY;
    for (size_t i = 0; i < num_replicas; i++) {
        for (size_t k = 1; weights[i] > 0 && k <= num_leaves; k++) {
            double time = (double)k / weights[i];
            size_t total = 0;
            for (size_t j = 0; j < num_replicas; j++) total += (size_t)floor(time * weights[j] * (1 + 1e-12));
            if (total >= num_leaves && time < least) least = time;
        }
    }
    return least;
}

static void test_weights_balance(void **state)
{
    (void)state;
    liana__error error = {0};
    for (uint32_t try = 0; try < 3000; try++) {
        double weights[8] = {0}, time = 0, tolerance = try % 3 == 0 ? 0.1 : 0;
        liana__leaf_range ranges[8];
        size_t num_leaves = 1 + draw(7, try) % 60, num_replicas = 1 + draw(8, try) % 8;
        for (size_t i = 0; i < num_replicas; i++) weights[i] = draw(9, try * 8 + (uint32_t)i) % 100 / 7.0;
        weights[draw(10, try) % num_replicas] = 3.5;
        assert_ok(liana__tree_assign(num_leaves, num_replicas, weights, tolerance, ranges, &error), &error);
        for (size_t i = 0; i < num_replicas; i++) {
            size_t count = ranges[i].end - ranges[i].begin;
            assert_compare(ranges[i].begin, ==, i ? ranges[i - 1].end : 0, i);
            if (weights[i] <= 0) assert_int_equal(count, 0);
            if (count > 0 && (double)count / weights[i] > time) time = (double)count / weights[i];
        }
        assert_int_equal(ranges[num_replicas - 1].end, num_leaves);
        assert_compare(time, <=, least_time(num_leaves, weights, num_replicas) * (1 + tolerance) * (1 + 1e-9));
    }
}

static void assert_ranges(size_t num_leaves, size_t num_replicas, const double *weights, double tolerance,
                          const size_t *ends)
{
    liana__error error = {0};
    liana__leaf_range ranges[16];
    assert_ok(liana__tree_assign(num_leaves, num_replicas, weights, tolerance, ranges, &error), &error);
    for (size_t i = 0; i < num_replicas; i++) assert_compare(ranges[i].end, ==, ends[i], i);
}

static void test_ranges_are_aligned_and_balanced(void **state)
{
    (void)state;
    assert_ranges(64, 4, NULL, 0, (const size_t[]){16, 32, 48, 64});
    assert_ranges(9, 4, NULL, 0, (const size_t[]){2, 4, 6, 9});
    assert_ranges(64, 3, NULL, 0, (const size_t[]){20, 42, 64});
    assert_ranges(64, 3, NULL, 0.1, (const size_t[]){16, 40, 64});
    assert_ranges(32, 3, (const double[]){2, 1, 1}, 0, (const size_t[]){16, 24, 32});
    assert_ranges(32, 3, (const double[]){0, 1, 0}, 0, (const size_t[]){0, 32, 32});
    assert_ranges(6, 2, (const double[]){1e-300, 5e-300}, 0, (const size_t[]){1, 6});
    assert_ranges(6, 2, (const double[]){1e300, 1e-300}, 0, (const size_t[]){6, 6});
    /* More replicas than leaves: nobody has two. */
    liana__error error = {0};
    liana__leaf_range ranges[16];
    assert_ok(liana__tree_assign(4, 9, NULL, 0, ranges, &error), &error);
    assert_int_equal(longest(ranges, 9), 1);
    assert_int_equal(ranges[8].end, 4);
}

/* Shards without examples are no leaves: of 40 shards 25 are left, which are shared out without gaps. */
static void test_missing_examples_leave_no_gaps(void **state)
{
    (void)state;
    assert_ranges(25, 4, NULL, 0, (const size_t[]){4, 11, 18, 25});
    assert_ranges(0, 4, NULL, 0, (const size_t[]){0, 0, 0, 0});
}

/* ---- costs and errors ---- */

/* The cost of the blocks of a step on the way to the owners. */
typedef struct tree_cost {
    size_t num_messages; /* pairs of a block and an owner that is not the replica that computed it */
    /* In sizes of the whole sums. A ring all-reduce of n replicas sends n - 1 until all slices are added. */
    double sent;
    double most_sent;     /* by one replica */
    double most_received; /* by one replica */
} tree_cost;

/* `owned` is the share of the sums that each replica owns; they add up to 1. NULL: equal shares. A parameter server is
 * a replica with an empty range. */
static tree_cost count_cost(const liana__tree_plan *plan, const double *owned)
{
    tree_cost cost = {0};
    for (size_t replica = 0; replica < plan->num_replicas; replica++) {
        size_t own = plan->first_slots[replica + 1] - plan->first_slots[replica], others = plan->num_slots - own;
        double share = owned ? owned[replica] : 1 / (double)plan->num_replicas;
        if (share > 0) cost.num_messages += others;
        double sent = (double)own * (1 - share), received = (double)others * share;
        cost.sent += sent;
        if (sent > cost.most_sent) cost.most_sent = sent;
        if (received > cost.most_received) cost.most_received = received;
    }
    return cost;
}

static tree_cost cost_of(size_t num_leaves, const liana__leaf_range *ranges, size_t num_replicas, const double *owned)
{
    liana__error error = {0};
    liana__tree_plan plan;
    assert_ok(liana__tree_plan_create(num_leaves, num_replicas, &plan, &error), &error);
    assert_ok(liana__tree_plan_make(&plan, num_leaves, ranges, &error), &error);
    tree_cost cost = count_cost(&plan, owned);
    liana__tree_plan_free(&plan);
    return cost;
}

static void test_costs(void **state)
{
    (void)state;
    /* Whole subtrees: a ring's traffic. */
    const liana__leaf_range even[4] = {{0, 16}, {16, 32}, {32, 48}, {48, 64}};
    tree_cost cost = cost_of(64, even, 4, NULL);
    assert_int_equal(cost.num_messages, 12);
    assert_near(cost.sent, 3, 1e-12);
    assert_near(cost.most_sent, 0.75, 1e-12);
    assert_near(cost.most_received, 0.75, 1e-12);
    /* 3 leaves are 2 blocks; a server owns all. */
    const liana__leaf_range served[3] = {{0, 3}, {3, 4}, {4, 4}};
    cost = cost_of(4, served, 3, (const double[]){0, 0, 1});
    assert_int_equal(cost.num_messages, 3);
    assert_near(cost.sent, 3, 1e-12);
    assert_near(cost.most_sent, 2, 1e-12);
    assert_near(cost.most_received, 3, 1e-12);
    /* Alone. */
    cost = cost_of(7, (const liana__leaf_range[]){{0, 7}}, 1, NULL);
    assert_int_equal(cost.num_messages, 0);
    assert_near(cost.sent, 0, 1e-12);
}

static void refuse_weights(const double *weights, size_t count, double tolerance, const char *found)
{
    liana__error error = {0};
    liana__leaf_range ranges[4];
    assert_fails(liana__tree_assign(8, count, weights, tolerance, ranges, &error), LIANA_INVALID_ARGUMENT, &error,
                 found);
}

static void refuse_ranges(const liana__leaf_range *ranges, const char *found, const char *expected)
{
    liana__error error = {0};
    liana__tree_plan plan;
    assert_ok(liana__tree_plan_create(8, 2, &plan, &error), &error);
    assert_fails(liana__tree_plan_make(&plan, 8, ranges, &error), LIANA_INVALID_ARGUMENT, &error, found, expected);
    liana__tree_plan_free(&plan);
}

static void test_wrong_calls_are_refused(void **state)
{
    (void)state;
    refuse_weights((const double[]){1, -2}, 2, 0, "replica 1 is -2");
    refuse_weights((const double[]){1, NAN}, 2, 0, "replica 1 is");
    refuse_weights((const double[]){INFINITY, 1}, 2, 0, "replica 0 is inf");
    refuse_weights((const double[]){0, 0}, 2, 0, "none of 2 replicas");
    refuse_weights(NULL, 0, 0, "none of 0 replicas");
    refuse_weights(NULL, 2, -0.5, "-0.5");
    refuse_weights(NULL, 2, NAN, "tolerance");
    refuse_ranges((const liana__leaf_range[]){{0, 3}, {4, 8}}, "replica 1 has the leaves 4 to 8", "begins with 3");
    refuse_ranges((const liana__leaf_range[]){{0, 5}, {4, 8}}, "replica 1 has the leaves 4 to 8", "begins with 5");
    refuse_ranges((const liana__leaf_range[]){{0, 3}, {3, 7}}, "7 of 8 leaves", "expected all");
    refuse_ranges((const liana__leaf_range[]){{0, 3}, {3, 9}}, "leaves 3 to 9 of 8", "replica 1");
    refuse_ranges((const liana__leaf_range[]){{0, 3}, {3, 2}}, "leaves 3 to 2 of 8", "replica 1");
    /* A plan with room for 3 leaves of 3 replicas. */
    liana__error error = {0};
    liana__tree_plan plan;
    const liana__leaf_range ranges[3] = {{0, 1}, {1, 7}, {7, 8}};
    assert_ok(liana__tree_plan_create(3, 3, &plan, &error), &error);
    assert_fails(liana__tree_plan_make(&plan, 8, ranges, &error), LIANA_INVALID_ARGUMENT, &error, "8 leaves", "3");
    liana__tree_plan_free(&plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_have_the_trees_bits),
        cmocka_unit_test(test_any_ranges_have_the_trees_bits),
        cmocka_unit_test(test_thousands_of_replicas),
        cmocka_unit_test(test_other_orders_give_other_bits),
        cmocka_unit_test(test_blocks_of_ranges),
        cmocka_unit_test(test_weights_balance),
        cmocka_unit_test(test_ranges_are_aligned_and_balanced),
        cmocka_unit_test(test_missing_examples_leave_no_gaps),
        cmocka_unit_test(test_costs),
        cmocka_unit_test(test_wrong_calls_are_refused),
    };
    return cmocka_run_group_tests_name("tree", tests, NULL, NULL);
}
