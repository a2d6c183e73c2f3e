/* A program's facts about its cluster: its place, and when all stop. It starts itself as several processes by `liana
 * launch`. */
#include "harness/harness.h"

#include "base/context.h"
#include "harness/command_run.h"
#include "harness/one_context.h"

#include <liana/liana.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the place of this process, by the environment ---- */

/* "NAME=value;NAME=value" */
static void change_environment(const char *variables, bool set)
{
    char text[512];
    snprintf(text, sizeof text, "%s", variables);
    for (char *word = strtok(text, ";"); word; word = strtok(NULL, ";")) {
        char *equals = strchr(word, '=');
        *equals = 0;
        if (set) setenv(word, equals + 1, 1);
        if (!set) unsetenv(word);
    }
}

static void assert_facts(const char *variables, liana_cluster_facts expected)
{
    liana_cluster_facts facts;
    change_environment(variables, true);
    assert_ok(liana_cluster_find(context, &facts), &context->error);
    assert_int_equal(facts.num_processes, expected.num_workers + expected.num_servers);
    assert_int_equal(facts.num_workers, expected.num_workers);
    assert_int_equal(facts.num_servers, expected.num_servers);
    assert_int_equal(facts.rank, expected.rank);
    assert_int_equal(facts.type, expected.type);
    assert_int_equal(facts.index, expected.index);
    assert_int_equal(facts.is_chief, expected.is_chief);
    assert_false(facts.is_joined);
    change_environment(variables, false);
}

#define TF(task)                                                                                                   \
    "TF_CONFIG={\"cluster\": {\"chief\": [\"c:1\"], \"worker\": [\"a:1\", \"b:1\"], \"ps\": [\"p:1\", \"q:1\"]}, " \
    "\"task\": {\"type\": " task "}}"

#define TF_WORKERS(index)                                                                                              \
    "TF_CONFIG={\"cluster\": {\"worker\": [\"a:1\", \"b:1\"]}, \"task\": {\"type\": \"worker\", \"index\": " index "}" \
    "}"

/* As TFConfigClusterResolver's task_type and task_id. */
static void test_who_this_is(void **state)
{
    (void)state;
    const liana_cluster_facts alone = {.num_workers = 1, .is_chief = true, .type = LIANA_TASK_WORKER};
    assert_facts("", alone);
    assert_facts(TF("\"chief\", \"index\": 0"),
                 (liana_cluster_facts){.num_workers = 3, .num_servers = 2, .type = LIANA_TASK_CHIEF, .is_chief = true});
    assert_facts(
        TF("\"worker\", \"index\": 0"),
        (liana_cluster_facts){.num_workers = 3, .num_servers = 2, .rank = 1, .index = 0, .type = LIANA_TASK_WORKER});
    assert_facts(
        TF("\"worker\", \"index\": 1"),
        (liana_cluster_facts){.num_workers = 3, .num_servers = 2, .rank = 2, .index = 1, .type = LIANA_TASK_WORKER});
    assert_facts(TF("\"ps\", \"index\": 1"),
                 (liana_cluster_facts){
                     .num_workers = 3, .num_servers = 2, .rank = 4, .index = 1, .type = LIANA_TASK_PARAMETER_SERVER});
    assert_facts(TF("\"evaluator\", \"index\": 0"),
                 (liana_cluster_facts){.num_workers = 3, .num_servers = 2, .rank = -1, .type = LIANA_TASK_EVALUATOR});
    /* Without a chief worker 0 is the chief, and is called a worker. */
    assert_facts(TF_WORKERS("0"), (liana_cluster_facts){.num_workers = 2, .type = LIANA_TASK_WORKER, .is_chief = true});
    assert_facts(TF_WORKERS("1"),
                 (liana_cluster_facts){.num_workers = 2, .rank = 1, .index = 1, .type = LIANA_TASK_WORKER});
    assert_facts("RANK=1;WORLD_SIZE=4;MASTER_ADDR=host;MASTER_PORT=29500",
                 (liana_cluster_facts){.num_workers = 4, .rank = 1, .index = 1, .type = LIANA_TASK_WORKER});
    assert_facts("OMPI_COMM_WORLD_RANK=0;OMPI_COMM_WORLD_SIZE=2",
                 (liana_cluster_facts){.num_workers = 2, .type = LIANA_TASK_WORKER, .is_chief = true});
    assert_facts("", alone);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    liana_cluster_facts facts;
    setenv("TF_CONFIG", "{cluster", 1);
    assert_fails(liana_cluster_find(context, &facts), LIANA_INVALID_CONFIG, &context->error, "TF_CONFIG is no JSON");
    unsetenv("TF_CONFIG");
    setenv("RANK", "7", 1);
    setenv("WORLD_SIZE", "4", 1);
    assert_fails(liana_cluster_find(context, &facts), LIANA_INVALID_CONFIG, &context->error, "RANK");
    unsetenv("RANK");
    unsetenv("WORLD_SIZE");
    assert_string_equal(liana_task_type_name(LIANA_TASK_PARAMETER_SERVER), "ps");
    assert_null(liana_task_type_name((liana_task_type)9));
}

/* ---- a loop of several processes ---- */

static liana_replicas *current;

static void on_signal(int number)
{
    (void)number;
    liana_replicas_request_stop(current);
}

/* Counts steps until all stop; rank `asker` gets a signal before its step 5. */
static int count_steps(liana_replicas *replicas, int64_t rank, int64_t asker)
{
    int steps = 0;
    bool stop = false;
    current = replicas;
    signal(SIGUSR1, on_signal);
    while (!stop && steps < 1000) {
        steps++;
        if (rank == asker && steps == 5) raise(SIGUSR1);
        if (liana_replicas_should_stop(replicas, &stop) != LIANA_OK) return -1;
    }
    /* Once agreed it stays so, without another request. */
    return liana_replicas_should_stop(replicas, &stop) == LIANA_OK && stop ? steps : -1;
}

/* The program that is started several times: STRATEGY ASKER FOLDER. It writes its settings to FOLDER/RANK. */
static int run_program(char **words)
{
    liana_context *own;
    liana_replicas *replicas;
    liana_cluster_facts before, after;
    char path[512];
    if (liana_context_create(NULL, &own) != LIANA_OK) return 1;
    if (liana_cluster_find(own, &before) != LIANA_OK) return 2;
    if (liana_replicas_open(own, &(liana_replicas_options){.strategy = {.name = words[0]}}, &replicas) != LIANA_OK) {
        fprintf(stderr, "%s\n", liana_context_message(own));
        return 3;
    }
    if (liana_cluster_find(own, &after) != LIANA_OK || before.rank != after.rank || before.is_joined) return 4;
    const int steps = count_steps(replicas, after.rank, atoi(words[1]));
    snprintf(path, sizeof path, "%s/%d", words[2], (int)after.rank);
    FILE *file = fopen(path, "w");
    if (!file) return 5;
    fprintf(file, "%s %d of %d+%d, chief %d, joined %d, steps %d\n", liana_task_type_name(after.type), (int)after.index,
            (int)after.num_workers, (int)after.num_servers, after.is_chief, after.is_joined, steps);
    fclose(file);
    liana_replicas_close(replicas);
    liana_context_destroy(own);
    return 0;
}

static void assert_said(int rank, const char *expected)
{
    char path[32], said[128] = "";
    snprintf(path, sizeof path, "%d", rank);
    FILE *file = fopen(liana__test_path(path), "r");
    assert_non_null(file);
    assert_non_null(fgets(said, sizeof said, file));
    fclose(file);
    assert_string_equal(said, expected);
}

static char program[512]; /* this one's path */

static void test_all_stop_at_the_same_step(void **state)
{
    (void)state;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    assert_code(liana__test_process(NULL, "launch", "-n", "3", "--program", program, "--", "multi_worker", "2", folder),
                0);
    assert_said(0, "worker 0 of 3+0, chief 1, joined 1, steps 5\n");
    assert_said(1, "worker 1 of 3+0, chief 0, joined 1, steps 5\n");
    assert_said(2, "worker 2 of 3+0, chief 0, joined 1, steps 5\n");
    assert_code(liana__test_process(NULL, "launch", "-n", "3", "--servers", "1", "--program", program, "--",
                                    "parameter_server", "0", folder),
                0);
    assert_said(0, "worker 0 of 2+1, chief 1, joined 1, steps 5\n");
    assert_said(1, "worker 1 of 2+1, chief 0, joined 1, steps 5\n");
    assert_said(2, "ps 0 of 2+1, chief 0, joined 1, steps 5\n");
}

/* In one process it is the same loop. */
static void test_alone(void **state)
{
    (void)state;
    liana_replicas *replicas;
    liana_cluster_facts facts;
    assert_ok(liana_replicas_open(context, NULL, &replicas), &context->error);
    assert_ok(liana_cluster_find(context, &facts), &context->error);
    assert_false(facts.is_joined);
    assert_int_equal(count_steps(replicas, 0, 0), 5);
    liana_replicas_close(replicas);
}

int main(int argc, char **argv)
{
    if (argc == 4) return run_program(argv + 1);
    const ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length <= 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_who_this_is),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_alone),
        cmocka_unit_test(test_all_stop_at_the_same_step),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
