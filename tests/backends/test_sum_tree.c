/* The CPU's sums of shards: one fixed tree whatever the threads do, errors in the order of shards, bounded memory; and
 * the blocks of any range of leaves. */
#include "harness/peers.h"

#include "backends/cpu/cpu.h"
#include "backends/cpu/sum_tree.h"
#include "backends/host.h"
#include "backends/host_add.h"
#include "base/denormals.h"
#include "base/random.h"
#include "harness/graph_run.h"

#include <float.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

enum { MAX_THREADS = 4, NUM_SUMS = 3, VECTOR = 37 };

/* A loss, a gradient and a count, as a training step has them. */
static const liana_shape shapes[NUM_SUMS] = {{0, {0}}, {2, {1, VECTOR}}, {1, {1}}};
enum { SET_SIZE = (1 + VECTOR + 1) * sizeof(float) };

/* A device with this number of workers, and the tree of shards with these sums. */
typedef struct setting {
    liana_context *context;
    liana__device *device;
    liana_graph *leaf;
    liana__sum_tree *tree;
} setting;

/* How many sets of sums are held. */
static size_t num_sets(const setting *s)
{
    return atomic_load(&s->device->bytes_held) / SET_SIZE;
}

/* `adds`: shards add to their neighbour's sums, as those with a gradient do. */
static setting set_up_tree(int num_threads, size_t max_leaves, bool adds, bool of_parts)
{
    setting s = {0};
    liana__error error = {0};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &s.context), LIANA_OK);
    assert_ok(liana__device_open(s.context, "cpu", &s.device, &error), &error);
    assert_int_equal(liana__cpu_num_workers(s.device), num_threads);
    s.leaf = liana__test_new_graph(s.context);
    static const char *const names[NUM_SUMS] = {"loss", "gradient", "count"};
    for (int i = 0; i < NUM_SUMS; i++) {
        liana_graph_output(s.leaf, names[i], liana_graph_input(s.leaf, names[i], LIANA_F32, shapes[i]));
    }
    assert_ok(liana_graph_status(s.leaf), &s.context->error);
    s.leaf->first_gradient = adds ? 1 : 0;
    assert_ok(liana__sum_tree_create(s.device, s.leaf, NUM_SUMS, max_leaves, of_parts, &s.tree, &error), &error);
    return s;
}

static setting set_up_types(int num_threads, size_t max_leaves, bool adds)
{
    return set_up_tree(num_threads, max_leaves, adds, true);
}

static setting set_up_threads(int num_threads, size_t max_shards)
{
    return set_up_types(num_threads, max_shards, false);
}

static void tear_down(setting *s)
{
    liana__sum_tree_destroy(s->tree);
    liana_graph_destroy(s->leaf);
    liana__device_close(s->device);
    liana_context_destroy(s->context);
}

/* Numbers of very different sizes, so that any other order of adding gives other bits. */
static float shard_value(size_t shard, size_t sum, size_t element)
{
    uint32_t words[4], counter[4] = {(uint32_t)element, (uint32_t)sum, (uint32_t)shard, 0};
    liana__philox(liana__philox_make_key(5, LIANA__STREAM_TEST, 0), counter, words);
    float scale = (float)(1u << (words[1] % 20));
    return (liana__uniform_float(words[0]) - 0.5f) * scale;
}

/* The first 2^k of n shards, the largest such with 2^k < n, and the rest: this is "neighbours first, then pairs of
 * neighbours, an odd one moving up". */
static float tree_sum(size_t begin, size_t count, size_t sum, size_t element)
{
    if (count == 1) return shard_value(begin, sum, element);
    size_t half = 1;
    while (half * 2 < count) half *= 2;
    /* Through memory, so that no wider register keeps more bits. */
    volatile float left = tree_sum(begin, half, sum, element);
    volatile float right = tree_sum(begin + half, count - half, sum, element);
    volatile float both = left + right;
    return both;
}

static void sleep_a_little(unsigned salt, size_t shard)
{
    uint32_t words[4];
    liana__philox(liana__philox_make_key(6, LIANA__STREAM_TEST, salt), (uint32_t[4]){(uint32_t)shard, 0, 0, 0}, words);
    if (words[0] % 3 == 0) return;
    nanosleep(&(struct timespec){0, (long)(words[1] % 200000)}, NULL);
}

/* As an execution does it; `salt` says how long it takes. Of some sums nobody hears before the end. */
static liana_status write_shard(size_t shard, const liana__shard_target *into, unsigned salt, liana__error *error)
{
    liana__buffer *const *sums = into->sums;
    atomic_int *arrivals = into->arrivals;
    for (size_t sum = 0; sum < NUM_SUMS; sum++) {
        float values[VECTOR];
        size_t count = sums[sum]->size / sizeof *values;
        for (size_t i = 0; i < count; i++) values[i] = shard_value(shard, sum, i);
        bool is_first = !arrivals || liana__host_is_first(&arrivals[sum]);
        if (salt) sleep_a_little(salt + 1000 * (unsigned)sum, shard);
        if (is_first) {
            LIANA_TRY(liana__host_buffer_write(sums[sum], values, error));
            if (arrivals) liana__host_was_there(&arrivals[sum]);
        } else {
            liana__host_add_second(sums[sum], values, &arrivals[sum]);
        }
        if (into->watch && (shard + sum) % 4) into->watch->given(into->watch->user, sum);
    }
    return LIANA_OK;
}

/* The work of the shards of a call. */
typedef struct behaviour {
    unsigned sleep_salt; /* 0: no sleep */
    bool fails[64];
    bool silent;           /* fails without a message */
    const size_t *blocked; /* shards that wait until all others have run */
    size_t num_blocked;
    size_t first, end;
    atomic_size_t num_run;
    atomic_int wrong_worker;
    atomic_size_t num_adding; /* shards that have a neighbour in the same buffers */
    int num_workers;
    size_t num_together; /* of the shards, the last ones */
    size_t num_leaves;
    atomic_int told[64][NUM_SUMS]; /* by first shard of a block */
    atomic_int wrong_sum;
} behaviour;

static bool is_blocked(const behaviour *b, size_t shard)
{
    for (size_t i = 0; i < b->num_blocked; i++) {
        if (b->blocked[i] == shard) return true;
    }
    return false;
}

static liana_status run_shard(void *user, size_t shard, int worker, const liana__shard_target *into,
                              liana__error *error)
{
    behaviour *b = user;
    if (into->arrivals) atomic_fetch_add(&b->num_adding, 1);
    const bool together = shard >= b->end - b->num_together;
    const bool right = together ? worker == LIANA__ALL_WORKERS : worker >= 0 && worker < b->num_workers;
    if (!right) atomic_fetch_add(&b->wrong_worker, 1);
    if (b->sleep_salt) sleep_a_little(b->sleep_salt, shard);
    if (is_blocked(b, shard)) {
        while (atomic_load(&b->num_run) < b->end - b->first - b->num_blocked) sched_yield();
    } else {
        atomic_fetch_add(&b->num_run, 1);
    }
    if (shard < 64 && b->fails[shard]) {
        if (b->silent) return LIANA_INVALID_DATA;
        return liana__fail(error, LIANA_INVALID_DATA, "record of shard %zu is bad", shard);
    }
    return write_shard(shard, into, b->sleep_salt, error);
}

/* The largest blocks of a range, found by trying all sizes. */
static size_t largest_block(size_t first, size_t end, size_t num_leaves)
{
    size_t largest = 0;
    for (size_t size = 1; size < 2 * num_leaves; size *= 2) {
        size_t last = first + size < num_leaves ? first + size : num_leaves;
        if (first % size == 0 && last <= end) largest = last - first;
    }
    return largest;
}

/* A sum that is told of has the tree's bits already. */
static void hear_sum(void *user, size_t block, size_t sum, const void *data)
{
    behaviour *b = user;
    const size_t count = largest_block(block, b->end, b->num_leaves), size = (size_t)liana_shape_size(&shapes[sum]);
    const float *got = data;
    for (size_t i = 0; i < size; i++) {
        const float expected = tree_sum(block, count, sum, i);
        if (memcmp(&got[i], &expected, sizeof expected) != 0) atomic_fetch_add(&b->wrong_sum, 1);
    }
    if (block < 64) atomic_fetch_add(&b->told[block][sum], 1);
}

static liana_status run_range(setting *s, size_t first, size_t end, size_t num_leaves, behaviour *b,
                              const liana__leaf_block **blocks, size_t *num_blocks, liana__error *error)
{
    b->first = first;
    b->end = end;
    b->num_workers = liana__cpu_num_workers(s->device);
    b->num_together = liana__sum_tree_num_together(s->device, end - first);
    b->num_leaves = num_leaves;
    atomic_store(&b->num_run, 0);
    const liana__sum_watch watch = {hear_sum, b};
    const liana__leaf_batch batch = {.num_leaves = num_leaves, .first = first, .end = end, .watch = &watch};
    return liana__sum_tree_run(s->tree, &batch, run_shard, b, blocks, num_blocks, error);
}

static void assert_block(const setting *s, const liana__leaf_block *block)
{
    liana__error error = {0};
    for (size_t sum = 0; sum < NUM_SUMS; sum++) {
        float got[VECTOR], expected[VECTOR];
        size_t count = block->sums[sum]->size / sizeof *got;
        assert_ok(s->device->backend->download(block->sums[sum], got, &error), &error);
        for (size_t i = 0; i < count; i++) expected[i] = tree_sum(block->first, block->count, sum, i);
        assert_memory_equal(got, expected, count * sizeof *got);
    }
}

static void assert_range(setting *s, size_t first, size_t end, size_t num_leaves, behaviour *b)
{
    liana__error error = {0};
    const liana__leaf_block *blocks;
    size_t num_blocks, before = num_sets(s), next = first;
    assert_ok(run_range(s, first, end, num_leaves, b, &blocks, &num_blocks, &error), &error);
    assert_int_equal(atomic_load(&b->num_run), end - first - b->num_blocked);
    assert_int_equal(atomic_load(&b->wrong_worker), 0);
    assert_int_equal(num_sets(s), before);
    for (size_t i = 0; i < num_blocks; i++) {
        assert_int_equal(blocks[i].first, next);
        assert_int_equal(blocks[i].count, largest_block(next, end, num_leaves));
        assert_block(s, &blocks[i]);
        /* Only shards that add up as they are made tell of their sums, each once. */
        for (size_t sum = 0; sum < NUM_SUMS && next < 64; sum++) {
            assert_int_equal(atomic_load(&b->told[next][sum]), s->leaf->first_gradient > 0);
            atomic_store(&b->told[next][sum], 0);
        }
        next += blocks[i].count;
    }
    assert_int_equal(next, end);
    assert_int_equal(atomic_load(&b->wrong_sum), 0);
}

static void assert_tree(setting *s, size_t num_leaves, behaviour *b)
{
    assert_range(s, 0, num_leaves, num_leaves, b);
}

/* Any range of leaves gives the largest blocks in it, to the bits that they have in the whole tree. */
static void test_ranges_give_their_largest_blocks(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        for (int adds = 0; adds < 2; adds++) {
            setting s = set_up_types(threads, 21, adds);
            for (size_t num_leaves = 1; num_leaves <= 21; num_leaves += 1 + num_leaves / 9) {
                for (size_t first = 0; first < num_leaves; first++) {
                    for (size_t end = first + 1; end <= num_leaves; end++) {
                        behaviour b = {.sleep_salt = (first + end) % 7 == 0 ? (unsigned)(first + end) : 0};
                        assert_range(&s, first, end, num_leaves, &b);
                    }
                }
            }
            tear_down(&s);
        }
    }
}

static void test_sums_are_the_trees_bits(void **state)
{
    (void)state;
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        for (int adds = 0; adds < 2; adds++) {
            setting s = set_up_types(threads, 40, adds);
            for (size_t num_shards = 1; num_shards <= 40; num_shards++) {
                behaviour quick = {0}, slow = {.sleep_salt = (unsigned)(num_shards + 1)};
                assert_tree(&s, num_shards, &quick);
                assert_int_equal(quick.num_adding, adds ? (num_shards - quick.num_together) / 2 * 2 : 0);
                assert_tree(&s, 41 - num_shards, &slow);
            }
            tear_down(&s);
        }
    }
}

static liana_status write_small(void *user, size_t leaf, int worker, const liana__shard_target *into,
                                liana__error *error)
{
    liana__buffer *const *sums = into->sums;
    (void)user;
    (void)worker;
    float values[VECTOR];
    for (size_t i = 0; i < VECTOR; i++) values[i] = leaf % 2 ? -1.5f * FLT_MIN : 2 * FLT_MIN;
    for (size_t sum = 0; sum < NUM_SUMS; sum++) LIANA_TRY(liana__host_buffer_write(sums[sum], values, error));
    return LIANA_OK;
}

/* The sum of two normal numbers is denormal: it is flushed, like all results on compute threads. */
static void test_sums_are_flushed(void **state)
{
    (void)state;
    if (!liana__denormals_can_flush()) liana__test_skip("this processor flushes no denormal numbers");
    for (int threads = 1; threads <= 2; threads++) {
        setting s = set_up_threads(threads, 2);
        liana__error error = {0};
        const liana__leaf_block *blocks;
        size_t num_blocks;
        const liana__leaf_batch batch = {.num_leaves = 2, .end = 2};
        assert_ok(liana__sum_tree_run(s.tree, &batch, write_small, NULL, &blocks, &num_blocks, &error), &error);
        float sum;
        assert_ok(s.device->backend->download(blocks[0].sums[0], &sum, &error), &error);
        assert_compare(sum, ==, 0);
        volatile float own = 2 * FLT_MIN, less = 1.5f * FLT_MIN;
        assert_compare(own - less, >, 0); /* this thread keeps denormals, before and after */
        tear_down(&s);
    }
}

/* Two neighbours need one set of buffers, whichever worker computes them. */
static void test_neighbours_share_memory(void **state)
{
    (void)state;
    static const size_t sets[][3] = {{1, 1, 1}, {1, 2, 1}, {1, 8, 4}, {2, 2, 1}, {2, 3, 2}, {2, 8, 4}, {4, 4, 2}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        setting s = set_up_tree((int)sets[i][0], sets[i][1], true, false);
        assert_int_equal(num_sets(&s), sets[i][2]);
        tear_down(&s);
    }
}

/* The numbers above would not tell if the order did not matter. */
static void test_other_orders_give_other_bits(void **state)
{
    (void)state;
    int different = 0;
    for (size_t num_shards = 3; num_shards <= 40; num_shards++) {
        float in_a_row = 0, tree = tree_sum(0, num_shards, 1, 0);
        for (size_t shard = num_shards; shard-- > 0;) in_a_row += shard_value(shard, 1, 0);
        different += in_a_row != tree;
    }
    assert_compare(different, >, 19);
}

/* Few workers, many shards: finished halves pile up behind the slowest shards at the worst places, and there must be
 * buffers for all of them, though far from one for each shard. Also shows that workers run side by side. */
static void test_memory_is_bounded_and_enough(void **state)
{
    (void)state;
    enum { NUM_SHARDS = 996, LEVELS = 10 }; /* for 2, 3 and 4 workers: none is computed by all together */
    static const size_t places[][MAX_THREADS - 1] = {{0, 1, 2}, {0, 341, 682}, {511, 512, 767}, {1, 2, 995}};
    for (int threads = 2; threads <= MAX_THREADS; threads++) {
        setting s = set_up_types(threads, NUM_SHARDS, threads != 3);
        assert_in_range(num_sets(&s), 1, (threads + 3) * LEVELS + threads);
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            behaviour b = {.blocked = places[i], .num_blocked = (size_t)threads - 1};
            assert_tree(&s, NUM_SHARDS, &b);
        }
        tear_down(&s);
    }
}

static liana_status fail_with(setting *s, size_t num_leaves, behaviour *b, liana__error *error)
{
    const liana__leaf_block *blocks;
    size_t num_blocks;
    return run_range(s, 0, num_leaves, num_leaves, b, &blocks, &num_blocks, error);
}

static void test_first_failing_shard_wins(void **state)
{
    (void)state;
    for (int threads = 1; threads <= MAX_THREADS; threads++) {
        setting s = set_up_types(threads, 40, threads % 2 == 0);
        for (size_t first = 0; first < 40; first++) {
            for (unsigned try = 0; try < 20; try++) {
                behaviour b = {.sleep_salt = try % 4 == 0 ? try + 1 : 0};
                for (size_t shard = first; shard < 40; shard++) b.fails[shard] = shard < first + 1 + try;
                char expected[64];
                snprintf(expected, sizeof expected, "record of shard %zu is bad", first);
                liana__error error = {0};
                assert_fails(fail_with(&s, 40, &b, &error), LIANA_INVALID_DATA, &error, expected);
            }
        }
        /* A failed call leaves nothing behind. */
        behaviour good = {0};
        assert_tree(&s, 40, &good);
        tear_down(&s);
    }
}

/* Shard 3 fails last, but comes first. */
static void test_a_late_failure_of_an_earlier_shard_wins(void **state)
{
    (void)state;
    static const size_t late[] = {3};
    setting s = set_up_threads(2, 8);
    for (int try = 0; try < 50; try++) {
        behaviour b = {.blocked = late, .num_blocked = 1, .fails = {[3] = true, [7] = true}};
        liana__error error = {0};
        assert_fails(fail_with(&s, 8, &b, &error), LIANA_INVALID_DATA, &error, "record of shard 3 is bad");
    }
    tear_down(&s);
}

static void test_a_failure_without_words_is_told_too(void **state)
{
    (void)state;
    setting s = set_up_threads(2, 8);
    behaviour b = {.fails = {[2] = true}, .silent = true};
    liana__error error = {0};
    assert_fails(fail_with(&s, 8, &b, &error), LIANA_INVALID_DATA, &error, "shard 2");
    tear_down(&s);
}

static void test_wrong_numbers_of_shards_are_refused(void **state)
{
    (void)state;
    setting s = set_up_threads(1, 8);
    behaviour b = {0};
    liana__error error = {0};
    assert_fails(fail_with(&s, 9, &b, &error), LIANA_INTERNAL, &error, "0 to 9 of 9", "8");
    tear_down(&s);
}

/* ---- adding ---- */

enum { MOST_TERMS = 300, FENCE = 8 };

/* Small, large, denormal and infinite numbers, and none. */
static float draw_term(uint32_t salt, size_t i)
{
    static const float special[] = {0, -0.0f, 1e-44f, -3e-40f, 3e38f, -3e38f, INFINITY, -INFINITY, NAN};
    uint32_t words[4];
    liana__philox(liana__philox_make_key(7, LIANA__STREAM_TEST, salt), (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
    if (words[1] % 4 == 0) return special[words[2] % (sizeof special / sizeof *special)];
    return ldexpf(liana__uniform_float(words[0]) - 0.5f, (int)(words[1] % 60) - 30);
}

static void test_adding_is_the_same_on_each_instruction_set(void **state)
{
    (void)state;
    liana__isa best;
    liana__error error = {0};
    char reason[256];
    assert_ok(liana__cpu_detect(NULL, &best, reason, sizeof reason, &error), &error);
    for (int isa = 0; isa <= (int)best; isa++) {
        for (int64_t count = 0; count <= MOST_TERMS; count += 1 + count / 40) {
            float dst[MOST_TERMS + FENCE], src[MOST_TERMS], expected[MOST_TERMS + FENCE];
            for (size_t i = 0; i < MOST_TERMS + FENCE; i++) dst[i] = expected[i] = draw_term(1, i);
            bool finite = true;
            for (int64_t i = 0; i < count; i++) {
                src[i] = draw_term(2, (size_t)i);
                volatile float sum = dst[i] + src[i];
                expected[i] = sum;
                finite = finite && isfinite(sum);
            }
            assert_compare(liana__host_choose_add((liana__isa)isa)(dst, dst, src, count), ==, finite, count, isa);
            for (size_t i = 0; i < MOST_TERMS + FENCE; i++) {
                if (isnan(expected[i])) {
                    assert_true(isnan(dst[i]));
                } else {
                    assert_memory_equal(&dst[i], &expected[i], sizeof *dst);
                }
            }
        }
    }
}

/* One sum that is not finite, at each place; and one of finite terms that is too large. */
static void test_a_sum_says_whether_it_is_finite(void **state)
{
    (void)state;
    liana_context *context;
    liana__device *device;
    assert_int_equal(liana__test_open_devices(1, &context, &device, NULL), 0);
    enum { COUNT = 150 };
    const liana_shape shape = {1, {COUNT}};
    liana__error error = {0};
    liana__buffer *left, *right;
    assert_ok(liana__host_buffer_create(device, LIANA_F32, &shape, &left, &error), &error);
    assert_ok(liana__host_buffer_create(device, LIANA_F32, &shape, &right, &error), &error);
    const float terms[] = {INFINITY, -INFINITY, NAN, 3e38f};
    for (int place = 0; place < COUNT; place++) {
        for (int k = 0; k < 4; k++) {
            float values[COUNT];
            for (int i = 0; i < COUNT; i++) values[i] = 3e38f * (i == place);
            assert_ok(liana__host_buffer_write(left, values, &error), &error);
            for (int i = 0; i < COUNT; i++) values[i] = (float)i - 70;
            assert_ok(liana__host_buffer_write(right, values, &error), &error);
            assert_ok(liana__host_buffer_add(left, right, &error), &error);
            assert_compare(left->finite_version, ==, left->version, place);
            values[place] = terms[k];
            assert_ok(liana__host_buffer_write(right, values, &error), &error);
            assert_ok(liana__host_buffer_add(left, right, &error), &error);
            assert_compare(left->finite_version, ==, 0, place, k);
        }
    }
    /* Other contents are not known. */
    assert_ok(liana__host_buffer_write(left, (float[COUNT]){0}, &error), &error);
    assert_ok(liana__host_buffer_write(right, (float[COUNT]){0}, &error), &error);
    assert_ok(liana__host_buffer_add(left, right, &error), &error);
    assert_ok(liana__host_buffer_write(left, (float[COUNT]){NAN}, &error), &error);
    assert_compare(left->finite_version, !=, left->version);
    liana__host_buffer_destroy(left);
    liana__host_buffer_destroy(right);
    liana__test_close_devices(context, device, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sums_are_the_trees_bits),
        cmocka_unit_test(test_ranges_give_their_largest_blocks),
        cmocka_unit_test(test_sums_are_flushed),
        cmocka_unit_test(test_neighbours_share_memory),
        cmocka_unit_test(test_other_orders_give_other_bits),
        cmocka_unit_test(test_memory_is_bounded_and_enough),
        cmocka_unit_test(test_first_failing_shard_wins),
        cmocka_unit_test(test_a_late_failure_of_an_earlier_shard_wins),
        cmocka_unit_test(test_a_failure_without_words_is_told_too),
        cmocka_unit_test(test_wrong_numbers_of_shards_are_refused),
        cmocka_unit_test(test_adding_is_the_same_on_each_instruction_set),
        cmocka_unit_test(test_a_sum_says_whether_it_is_finite),
    };
    return cmocka_run_group_tests_name("sum tree", tests, NULL, NULL);
}
