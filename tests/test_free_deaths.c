/* Deaths of processes whose workers are not in step. Others go on without a worker that is gone: nobody waits for it, no
 * gradient that stays is used twice, and what nobody trained on is counted. Where a death is, a hub decides by the messages,
 * and not the clock; or real processes are killed while another one is halted. */
#include "harness/cluster_fit.h"

#include "base/file.h"
#include "distribute/cluster/span.h"
#include "train/checkpoint/checkpoint.h"
#include "train/core/worker_share.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 8, ROWS = 40, SHARD = 2 };

static const char *const asynchronous =
                             "{name: parameter_server, synchronous: false, max_staleness: 3, pause_steps: 7}",
                         *const first_two = "{name: parameter_server, replicas_to_aggregate: 2, pause_steps: 100}";

/* ---- in threads ---- */

/* A process is cut off when it sends its message number `last` of a kind. */
typedef struct death {
    liana__hub *hub;
    size_t rank;
    uint32_t kind; /* liana__cluster_message; 0: any */
    int last, seen;
} death;

static void cut_off(void *user, const liana__hub_message *message)
{
    death *own = user;
    if (message->from != own->rank || (own->kind && message->key.kind != own->kind)) return;
    if (++own->seen == own->last) liana__hub_cut(own->hub, own->rank);
}

static const char *folder_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    return path;
}

/* A number of the newest checkpoint's state: the last one of that key. */
static uint64_t number_of(const char *folder, const char *key)
{
    liana__arena arena = {0};
    liana__error error = {0};
    const char *path = NULL;
    char file[640], quoted[64];
    assert_ok(liana__checkpoint_newest(folder, &arena, &path, &error), &error);
    snprintf(file, sizeof file, "%s/state.json", path);
    snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    char *text, *last = NULL;
    size_t size;
    assert_ok(liana__file_read(file, 1 << 24, &text, &size, &error), &error);
    for (char *found = text; (found = strstr(found, quoted)); found++) last = found;
    assert_non_null(last);
    const uint64_t number = strtoull(last + strlen(quoted), NULL, 10);
    free(text);
    liana__arena_free(&arena);
    return number;
}

static liana__cluster_program fit_of(const char *strategy, death *dies)
{
    return (liana__cluster_program){.run = liana__cluster_fit_rows,
                                    .strategy = {.name = strategy},
                                    .epochs = 1,
                                    .may_fail = true,
                                    .dies = true,
                                    .hub = &dies->hub,
                                    .control = {.sent = cut_off, .user = dies}};
}

/* All but the dead end well, with the same weights. */
static void assert_go_on(const liana__cluster_result *results, size_t count, const death *dead)
{
    const size_t first = dead->rank == 0;
    for (size_t i = 0; i < count; i++) {
        if (i == dead->rank) continue;
        if (results[i].status != LIANA_OK) {
            print_error("rank %zu, as rank %zu dies at its %d. message %u: %s\n", i, dead->rank, dead->last, dead->kind,
                        results[i].message);
        }
        assert_int_equal(results[i].status, LIANA_OK);
        assert_memory_equal(results[first].weights, results[i].weights, results[first].size);
    }
    assert_int_equal(results[dead->rank].status, LIANA_UNAVAILABLE);
}

/* Wherever it dies: each of 10 updates is of one gradient, which is used once; also those of its steps that others do. */
static void test_others_do_the_steps_of_a_dead_worker(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {LIANA__MESSAGE_REQUEST, LIANA__MESSAGE_REQUEST_DATA};
    for (size_t servers = 1; servers < 3; servers++) {
        for (int k = 0; k < 24; k++) {
            liana__cluster_result results[MOST];
            /* 10 steps among 3: of a step each server hears three or four requests and one gradient. */
            death dead = {.rank = 1, .kind = kinds[k % 2], .last = 1 + k / (k % 2 ? 4 : 1)};
            liana__cluster_program program = fit_of(asynchronous, &dead);
            char name[48];
            snprintf(name, sizeof name, "steps-%zu-%d", servers, k);
            program.batch_size = 4;
            program.checkpoints = folder_of(name);
            liana__run_cluster(&program, 3, servers, results);
            if (dead.seen < dead.last) {
                liana__free_results(results, 3 + servers);
                continue; /* it had done all before */
            }
            assert_go_on(results, 3 + servers, &dead);
            assert_int_equal(number_of(program.checkpoints, "used"), 10);
            assert_int_equal(number_of(program.checkpoints, "computed"), 10);
            assert_int_equal(number_of(program.checkpoints, "examples_lost"), 0);
            assert_true(number_of(program.checkpoints, "largest_staleness") <= 3);
            const uint64_t partly = number_of(program.checkpoints, "partly_used");
            assert_true(partly <= (servers > 1));
            uint64_t updates = 0;
            for (size_t i = 3; i < 3 + servers; i++) updates += results[i].counters.updates;
            if (number_of(program.checkpoints, "undone") == 0) assert_int_equal(updates, 10 * servers - partly);
            liana__free_results(results, 3 + servers);
        }
    }
}

/* The positions that worker 1 of 3 has in an epoch, in batches of so many. */
static uint64_t positions_of_second(size_t batch_size)
{
    uint64_t count = 0;
    for (size_t begin = 0; begin < ROWS; begin += batch_size) {
        const size_t size = ROWS - begin < batch_size ? ROWS - begin : batch_size;
        liana__leaf_range ranges[3];
        assert_int_equal(liana__share_shards(size / SHARD, 3, ranges, NULL), LIANA_OK);
        count += (ranges[1].end - ranges[1].begin) * SHARD;
    }
    return count;
}

/* Before its first gradients were taken: all of its examples are lost, and no update waits for them. */
static void test_nobody_waits_for_the_gradients_of_a_dead_worker(void **state)
{
    (void)state;
    for (size_t servers = 1; servers < 3; servers++) {
        for (int last = 1; last <= 3; last++) {
            liana__cluster_result results[MOST];
            death dead = {.rank = 1, .kind = LIANA__MESSAGE_REQUEST, .last = last};
            liana__cluster_program program =
                fit_of("{name: parameter_server, replicas_to_aggregate: 2, pause_steps: 100}", &dead);
            char name[48];
            snprintf(name, sizeof name, "shares-%zu-%d", servers, last);
            program.batch_size = 12;
            program.checkpoints = folder_of(name);
            liana__run_cluster(&program, 3, servers, results);
            assert_go_on(results, 3 + servers, &dead);
            for (size_t i = 3; i < 3 + servers; i++) assert_int_equal(results[i].counters.updates, 4);
            assert_int_equal(number_of(program.checkpoints, "examples_lost"), positions_of_second(12));
            assert_int_equal(number_of(program.checkpoints, "partly_used"), 0);
            assert_non_null(strstr(results[0].notes, "worker 1 is gone"));
            assert_non_null(strstr(results[0].notes, "the first 2 of 2 workers"));
            liana__free_results(results, 3 + servers);
        }
    }
}

/* Wherever it dies, updates of the first gradients come to their end: 4 in an epoch. Two of three workers may go. */
static void test_updates_of_the_first_gradients_go_on(void **state)
{
    (void)state;
    for (size_t servers = 1; servers < 4; servers++) {
        for (int last = 2; last < 30; last += 2) {
            liana__cluster_result results[MOST];
            death dead = {.rank = 2, .kind = LIANA__MESSAGE_REQUEST, .last = last};
            liana__cluster_program program = fit_of(first_two, &dead);
            char name[48];
            snprintf(name, sizeof name, "first-%zu-%d", servers, last);
            program.batch_size = 12;
            program.checkpoints = folder_of(name);
            liana__run_cluster(&program, 3, servers, results);
            if (dead.seen >= last) {
                assert_go_on(results, 3 + servers, &dead);
                const bool undone = number_of(program.checkpoints, "undone") > 0;
                for (size_t i = 3; i < 3 + servers && !undone; i++) assert_int_equal(results[i].counters.updates, 4);
                assert_true(number_of(program.checkpoints, "used") <= 2 * 4);
            }
            liana__free_results(results, 3 + servers);
        }
    }
}

/* At any message of a fit: before, in and after spans, and where all come into one. */
static void test_a_worker_dies_anywhere(void **state)
{
    (void)state;
    const char *const strategies[] = {asynchronous, first_two};
    for (int last = 1; last < 150; last += last < 40 ? 1 : 5) {
        liana__cluster_result results[MOST];
        death dead = {.rank = 1 + (size_t)last % 2, .last = last};
        liana__cluster_program program = fit_of(strategies[last / 2 % 2], &dead);
        program.batch_size = 8;
        liana__run_cluster(&program, 3, 2, results);
        if (dead.seen >= last && results[dead.rank].status != LIANA_OK) assert_go_on(results, 5, &dead);
        liana__free_results(results, 5);
    }
}

/* Without a server nothing can be updated: all end with what to do, and nobody waits for ever. */
static void test_the_only_server_is_missed(void **state)
{
    (void)state;
    const char *const strategies[] = {asynchronous, first_two};
    for (int k = 0; k < 12; k++) {
        liana__cluster_result results[MOST];
        death dead = {.rank = 3, .kind = LIANA__MESSAGE_REPLY, .last = 1 + 2 * (k / 2)};
        liana__cluster_program program = fit_of(strategies[k % 2], &dead);
        program.batch_size = 8;
        program.epochs = 3;
        liana__run_cluster(&program, 3, 1, results);
        for (size_t i = 0; i < 4; i++) assert_int_equal(results[i].status, LIANA_UNAVAILABLE);
        for (size_t i = 0; i < 3; i++) {
            if (!strstr(results[i].message, "newest checkpoint")) print_error("%s\n", results[i].message);
            assert_non_null(strstr(results[i].message, "newest checkpoint"));
        }
        liana__free_results(results, 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_others_do_the_steps_of_a_dead_worker),
        cmocka_unit_test(test_nobody_waits_for_the_gradients_of_a_dead_worker),
        cmocka_unit_test(test_updates_of_the_first_gradients_go_on),
        cmocka_unit_test(test_a_worker_dies_anywhere),
        cmocka_unit_test(test_the_only_server_is_missed),
    };
    if (getenv("FILTER")) cmocka_set_test_filter(getenv("FILTER"));
    liana__test_folder();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
