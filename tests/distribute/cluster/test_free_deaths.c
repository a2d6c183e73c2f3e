/* Deaths of processes whose workers are not in step. Others go on without a worker that is gone: nobody waits for it,
 * no applied gradient is used twice, and examples that nobody trained on are counted. Where a death is, a hub decides
 * by the messages, and not the clock; or real processes are killed while another one is halted. */
#include "harness/cluster/cluster_fit.h"
#include "harness/cluster/cluster_job.h"
#include "harness/cluster/hub_death.h"

#include "base/file.h"
#include "step/shard_list.h"
#include "train/checkpoint/checkpoint.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* TRIES: how often a test may find the training over before it has done its work. */
enum { MOST = 8, ROWS = 40, SHARD = 2, TRIES = 10 };

static const char *const asynchronous =
                             "{name: parameter_server, synchronous: false, max_staleness: 3, pause_steps: 7}",
                         *const first_two = "{name: parameter_server, replicas_to_aggregate: 2, pause_steps: 100}";

/* ---- in threads ---- */

static const char *folder_of(const char *name)
{
    static char path[512];
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    return path;
}

static liana__cluster_program fit_of(const char *strategy, liana__hub_death *dies)
{
    return (liana__cluster_program){.run = liana__cluster_fit_rows,
                                    .strategy = {.name = strategy},
                                    .epochs = 1,
                                    .may_fail = true,
                                    .dies = true,
                                    .hub = &dies->hub,
                                    .control = {.sent = liana__hub_death_sent, .user = dies}};
}

/* All but the dead end well, with the same weights. */
static void assert_go_on(const liana__cluster_result *results, size_t count, const liana__hub_death *dead)
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

/* Wherever it dies: each of 10 updates is of one gradient, which is used once; also those of its steps that others
 * do. */
static void test_others_do_the_steps_of_a_dead_worker(void **state)
{
    (void)state;
    static const uint32_t kinds[] = {LIANA__MESSAGE_REQUEST, LIANA__MESSAGE_REQUEST_DATA};
    for (size_t servers = 1; servers < 3; servers++) {
        for (int k = (int)servers; k < 24; k += 2) {
            liana__cluster_result results[MOST];
            /* 10 steps among 3: of a step each server hears three or four requests and one gradient. */
            liana__hub_death dead = {.rank = 1, .kind = kinds[k / 2 % 2], .last = 1 + k / (k / 2 % 2 ? 4 : 1)};
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
            assert_int_equal(liana__cluster_fit_number(program.checkpoints, "used"), 10);
            assert_int_equal(liana__cluster_fit_number(program.checkpoints, "computed"), 10);
            assert_int_equal(liana__cluster_fit_number(program.checkpoints, "examples_lost"), 0);
            assert_compare(liana__cluster_fit_number(program.checkpoints, "largest_staleness"), <=, 3);
            const uint64_t partly = liana__cluster_fit_number(program.checkpoints, "partly_used");
            assert_compare(partly, <=, servers > 1, servers);
            uint64_t updates = 0;
            for (size_t i = 3; i < 3 + servers; i++) updates += results[i].counters.updates;
            if (liana__cluster_fit_number(program.checkpoints, "undone") == 0)
                assert_int_equal(updates, 10 * servers - partly);
            liana__free_results(results, 3 + servers);
        }
    }
}

/* The positions that worker 1 of 3 has in an epoch, in batches of this size. */
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
            liana__hub_death dead = {.rank = 1, .kind = LIANA__MESSAGE_REQUEST, .last = last};
            liana__cluster_program program =
                fit_of("{name: parameter_server, replicas_to_aggregate: 2, pause_steps: 100}", &dead);
            program.control.is_held = liana__hub_death_holds_offers;
            char name[48];
            snprintf(name, sizeof name, "shares-%zu-%d", servers, last);
            program.batch_size = 12;
            program.checkpoints = folder_of(name);
            liana__run_cluster(&program, 3, servers, results);
            assert_go_on(results, 3 + servers, &dead);
            for (size_t i = 3; i < 3 + servers; i++) assert_int_equal(results[i].counters.updates, 4);
            assert_int_equal(liana__cluster_fit_number(program.checkpoints, "examples_lost"), positions_of_second(12));
            assert_int_equal(liana__cluster_fit_number(program.checkpoints, "partly_used"), 0);
            assert_says(results[0].notes, "worker 1 is gone");
            assert_says(results[0].notes, "the first 2 of 2 workers");
            liana__free_results(results, 3 + servers);
        }
    }
}

/* Wherever it dies, updates of the first gradients come to their end: 4 in an epoch. Two of three workers may go. */
static void test_updates_of_the_first_gradients_go_on(void **state)
{
    (void)state;
    for (size_t servers = 1; servers < 4; servers++) {
        for (int last = 1 + (int)servers; last < 30; last += 5) {
            liana__cluster_result results[MOST];
            liana__hub_death dead = {.rank = 2, .kind = LIANA__MESSAGE_REQUEST, .last = last};
            liana__cluster_program program = fit_of(first_two, &dead);
            char name[48];
            snprintf(name, sizeof name, "first-%zu-%d", servers, last);
            program.batch_size = 12;
            program.checkpoints = folder_of(name);
            liana__run_cluster(&program, 3, servers, results);
            if (dead.seen >= last) {
                assert_go_on(results, 3 + servers, &dead);
                const bool undone = liana__cluster_fit_number(program.checkpoints, "undone") > 0;
                for (size_t i = 3; i < 3 + servers && !undone; i++) assert_int_equal(results[i].counters.updates, 4);
                assert_compare(liana__cluster_fit_number(program.checkpoints, "used"), <=, 2 * 4);
            }
            liana__free_results(results, 3 + servers);
        }
    }
}

/* At any message of a fit: before, in and after spans, and where all come into one. */
static void test_a_worker_dies_anywhere(void **state)
{
    (void)state;
    const char *const ways[] = {asynchronous, first_two};
    for (int last = 1; last < 150; last += last < 40 ? 2 : 9) {
        liana__cluster_result results[MOST];
        liana__hub_death dead = {.rank = 1 + (size_t)last % 2, .last = last};
        liana__cluster_program program = fit_of(ways[last / 2 % 2], &dead);
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
    const char *const ways[] = {asynchronous, first_two};
    for (int k = 0; k < 8; k++) {
        liana__cluster_result results[MOST];
        liana__hub_death dead = {.rank = 3, .kind = LIANA__MESSAGE_REPLY, .last = 1 + 2 * (k / 2)};
        liana__cluster_program program = fit_of(ways[k % 2], &dead);
        program.batch_size = 8;
        program.epochs = 3;
        liana__run_cluster(&program, 3, 1, results);
        for (size_t i = 0; i < 4; i++) assert_int_equal(results[i].status, LIANA_UNAVAILABLE);
        for (size_t i = 0; i < 3; i++) {
            if (!strstr(results[i].message, "newest checkpoint")) print_error("%s\n", results[i].message);
            assert_says(results[i].message, "newest checkpoint");
        }
        liana__free_results(results, 4);
    }
}

/* ---- real processes ---- */

static const char *const strategies[] = {
    "train.strategy={name: parameter_server, synchronous: false, max_staleness: 2, pause_steps: 6}",
    "train.strategy={name: parameter_server, replicas_to_aggregate: 2, pause_steps: 6}",
};

static void kill_one(const liana__test_job *own, size_t rank)
{
    kill(own->processes[rank], SIGKILL);
    assert_int_equal(waitpid(own->processes[rank], NULL, 0), own->processes[rank]);
}

/* To be freed; NULL: there is none yet. */
static char *read_history(const liana__test_job *own)
{
    char path[700], *history = NULL;
    size_t size;
    snprintf(path, sizeof path, "%s/history.json", liana__job_folder(own));
    return liana__file_read(path, 1 << 24, &history, &size, NULL) == LIANA_OK ? history : NULL;
}

static void assert_history(const liana__test_job *own, const char *text)
{
    char *history = read_history(own);
    assert_non_null(history);
    if (!strstr(history, text)) print_error("no '%s' in %s\n", text, history);
    assert_says(history, text);
    free(history);
}

static bool is_over(const liana__test_job *own)
{
    char *history = read_history(own);
    const bool has_last = history && strstr(history, "\"epoch\": 40");
    free(history);
    return has_last;
}

/* Halts a worker. False: the training was over before, and all have ended well. */
static bool halt_in_a_span(liana__test_job *own, size_t halted)
{
    liana__job_start_all(own);
    liana__job_wait_for_checkpoint(own);
    kill(own->processes[halted], SIGSTOP);
    liana__job_pause(0.3);
    if (!is_over(own)) return true;
    kill(own->processes[halted], SIGCONT);
    for (size_t i = 0; i < liana__job_size(own); i++) liana__job_assert_ends(own, i, 0);
    return false;
}

/* A process is killed while a worker that stays is halted: so the others cannot have come to the end. */
static void kill_in_a_span(liana__test_job *own, size_t rank, size_t halted)
{
    while (!halt_in_a_span(own, halted)) assert_compare(++own->number, <, TRIES);
    kill_one(own, rank);
    liana__job_pause(0.7);
    kill(own->processes[halted], SIGCONT);
}

static void test_a_killed_worker(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        liana__test_job own = {.name = k ? "killed-first" : "killed",
                               .workers = 3,
                               .servers = 1 + k,
                               .heartbeat = "12",
                               .strategy = strategies[k]};
        kill_in_a_span(&own, 2, 1);
        for (size_t i = 0; i < liana__job_size(&own); i++) {
            if (i != 2) liana__job_assert_ends(&own, i, 0);
        }
        assert_true(liana__job_have_said(&own, "rank 2 is gone"));
        assert_history(&own, "\"epoch\": 40");
        assert_history(&own, "\"not_reproducible\": ");
        assert_history(&own, k ? "the first 2 of 3 workers" : "max_staleness 2, 3 workers");
    }
}

/* Halted for longer than the heartbeat: the others go on, and it ends by itself when it finds that out. */
static void test_a_halted_worker(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        liana__test_job own = {.name = k ? "halted-first" : "halted",
                               .workers = 3,
                               .servers = 2,
                               .heartbeat = "8",
                               .strategy = strategies[k]};
        liana__job_start_all(&own);
        liana__job_wait_for_checkpoint(&own);
        kill(own.processes[2], SIGSTOP);
        for (size_t i = 0; i < 5; i++) {
            if (i != 2) liana__job_assert_ends(&own, i, 0);
        }
        kill(own.processes[2], SIGCONT);
        liana__job_assert_ends(&own, 2, 75);
        assert_history(&own, "\"epoch\": 40");
    }
}

/* The next worker writes the run folder. */
static void test_a_killed_chief(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        liana__test_job own = {.name = k ? "chief-first" : "chief",
                               .workers = 3,
                               .servers = 1,
                               .heartbeat = "12",
                               .strategy = strategies[k]};
        kill_in_a_span(&own, 0, 2);
        for (size_t i = 1; i < 4; i++) liana__job_assert_ends(&own, i, 0);
        assert_true(liana__job_have_said(&own, "goes on in its place"));
        assert_history(&own, "\"epoch\": 40");
    }
}

/* All end, and the training goes on from its newest checkpoint. */
static void test_the_only_server_is_killed(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        liana__test_job own = {.name = k ? "server-first" : "server",
                               .workers = 3,
                               .servers = 1,
                               .heartbeat = "12",
                               .strategy = strategies[k]};
        char config[600];
        kill_in_a_span(&own, 3, 1);
        for (size_t i = 0; i < 3; i++) {
            liana__test_result result = liana__test_wait_as(own.said[i], own.processes[i]);
            if (!strstr(result.err, "newest checkpoint")) print_error("%s\n", result.err);
            assert_says(result.err, "rank 3 is gone");
            assert_says(result.err, "newest checkpoint");
            assert_int_equal(result.code, 75);
            liana__test_free_result(&result);
        }
        snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
        assert_code(liana__test_process(NULL, "launch", "-n", "4", "--servers", "1", config, "--resume", "--out",
                                        liana__job_folder(&own), LIANA__JOB_EPOCHS, "train.microbatch=4",
                                        strategies[k]),
                    0);
        assert_history(&own, "\"epoch\": 40");
    }
}

/* False: the training was over before it was taken in. */
static bool replace(liana__test_job *own)
{
    liana__job_start_all(own);
    liana__job_wait_for_checkpoint(own);
    kill_one(own, 2);
    kill(own->processes[1], SIGSTOP);
    liana__job_start(own, 2, "again");
    liana__job_pause(1);
    kill(own->processes[1], SIGCONT);
    liana__test_result result = liana__test_wait_as(own->said[2], own->processes[2]);
    const bool came_late = result.code == 75;
    if (result.code != 0 && !came_late) print_error("it comes back and ends with %d: %s\n", result.code, result.err);
    if (!came_late) assert_int_equal(result.code, 0);
    liana__test_free_result(&result);
    for (size_t i = 0; i < liana__job_size(own); i++) {
        if (i != 2) liana__job_assert_ends(own, i, 0);
    }
    if (!came_late) assert_true(liana__job_have_said(own, "have met again"));
    return !came_late;
}

static void test_a_worker_comes_back(void **state)
{
    (void)state;
    for (size_t k = 0; k < 2; k++) {
        liana__test_job own = {.name = k ? "back-first" : "back",
                               .workers = 3,
                               .servers = 1,
                               .heartbeat = "12",
                               .strategy = strategies[k]};
        while (!replace(&own)) assert_compare(++own.number, <, TRIES);
        assert_history(&own, "\"epoch\": 40");
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
        cmocka_unit_test(test_a_killed_worker),
        cmocka_unit_test(test_a_halted_worker),
        cmocka_unit_test(test_a_killed_chief),
        cmocka_unit_test(test_the_only_server_is_killed),
        cmocka_unit_test(test_a_worker_comes_back),
    };
    liana__test_folder();
    liana__test_tiny_run(90);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
