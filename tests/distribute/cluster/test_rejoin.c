/* Processes that come back to a training that goes on: the others take them in, and the run has the bytes of one
 * without any death. A process that was taken for dead, and lives, ends by itself. */
#include "harness/cluster/cluster_job.h"
#include "harness/cluster/cluster_run.h"
#include "harness/command_run.h"
#include "harness/text_files.h"
#include "harness/wait_until.h"

#include "base/file.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* TRIES: how often a test may find the training over before it has done its work. */
enum { COUNT = 90, TRIES = 10 };
static const char *const epochs = LIANA__JOB_EPOCHS;

typedef liana__test_job job;

static void assert_same(const job *own, const char *name)
{
    char left[700], right[700];
    snprintf(left, sizeof left, "%s/%s", liana__job_folder(own), name);
    snprintf(right, sizeof right, "%s/%s", liana__test_path("alone"), name);
    assert_same_file(left, right);
}

static void assert_same_run(const job *own)
{
    char left[700], right[700], name[64];
    snprintf(name, sizeof name, "%s%d", own->name, own->number);
    snprintf(left, sizeof left, "%s/variables.safetensors", liana__test_newest_checkpoint(name));
    snprintf(right, sizeof right, "%s/variables.safetensors", liana__test_newest_checkpoint("alone"));
    assert_same_file(left, right);
    assert_same(own, "history.json");
    assert_same(own, "validation_predictions.csv");
}

/* One that comes when the training is over hears so, or finds out, long before the timeout of a start. */
static void assert_heard_of_the_end(const liana__test_result *late)
{
    const bool has_heard = late->code == 75 && (strstr(late->err, "is over") || strstr(late->err, "have ended"));
    if (!has_heard) print_error("a process comes late and ends with %d: %s\n", late->code, late->err);
    assert_true(has_heard);
}

/* Waits until a process that comes back is known to the others, which cannot go on since one of them is halted. */
static void wait_until_known(const job *own, size_t rank)
{
    liana__job_wait_until_said(own, rank, " waits ");
    /* Where nobody's address is known, it has to hear a heartbeat first. */
    if (own->port && rank == 0) liana__job_pause(2);
}

static void assert_others_end(job *own, size_t rank)
{
    for (size_t i = 0; i < liana__job_size(own); i++) {
        if (i != rank) liana__job_assert_ends(own, i, 0);
    }
}

/* A process is killed, and another one comes in its place. False: the training was over before it was taken in. Only
 * one that is left alone may go on without it: the others hear of it while they wait for the one that is halted. */
static bool replace(job *own, size_t rank)
{
    liana__job_start_all(own);
    liana__job_wait_for_checkpoint(own);
    const size_t other = rank == own->workers - 1 ? 0 : own->workers - 1;
    int status;
    kill(own->processes[other], SIGSTOP);
    kill(own->processes[rank], SIGKILL);
    assert_int_equal(waitpid(own->processes[rank], &status, 0), own->processes[rank]);
    if (!WIFSIGNALED(status)) {
        kill(own->processes[other], SIGCONT);
        assert_others_end(own, rank);
        return false;
    }
    liana__job_start(own, rank, "again");
    wait_until_known(own, rank);
    kill(own->processes[other], SIGCONT);
    liana__test_result result = liana__test_wait_as(own->said[rank], own->processes[rank]);
    const bool came_late = result.code != 0;
    if (came_late) assert_heard_of_the_end(&result);
    if (came_late) assert_int_equal(liana__job_size(own), 2);
    liana__test_free_result(&result);
    assert_others_end(own, rank);
    assert_same_run(own);
    if (!came_late) assert_true(liana__job_have_said(own, "have met again"));
    return !came_late;
}

/* `port`: where only the address of rank 0 is known, its port; 0: all addresses are. */
static void assert_comes_back_at(int port, const char *name, size_t workers, size_t servers, size_t rank)
{
    job own = {.name = name, .workers = workers, .servers = servers, .heartbeat = "12", .port = port};
    while (!replace(&own, rank)) assert_compare(++own.number, <, TRIES);
}

static void assert_comes_back(const char *name, size_t workers, size_t servers, size_t rank)
{
    assert_comes_back_at(0, name, workers, servers, rank);
}

static void test_a_worker_comes_back(void **state)
{
    (void)state;
    assert_comes_back("worker", 3, 0, 1);
}

static void test_a_server_comes_back(void **state)
{
    (void)state;
    assert_comes_back("server", 2, 2, 3);
}

/* As an ordinary worker: its successor leads. */
static void test_the_chief_comes_back(void **state)
{
    (void)state;
    assert_comes_back("chief", 2, 0, 0);
}

/* ---- where only the address of rank 0 is known ---- */

static void assert_numbered_comes_back(const char *name, size_t workers, size_t servers, size_t rank)
{
    assert_comes_back_at(liana__test_free_port(), name, workers, servers, rank);
}

static void test_a_numbered_worker_comes_back(void **state)
{
    (void)state;
    assert_numbered_comes_back("numbered", 3, 0, 1);
}

static void test_a_numbered_server_comes_back(void **state)
{
    (void)state;
    assert_numbered_comes_back("numbered-server", 2, 2, 3);
}

/* It knows nobody's address. */
static void test_rank_0_comes_back(void **state)
{
    (void)state;
    assert_numbered_comes_back("numbered-chief", 3, 0, 0);
}

/* Without rank 0 another one that comes back finds nobody, and says so; when rank 0 is there, both are taken in. */
static bool replace_two(job *own)
{
    liana__job_start_all(own);
    liana__job_wait_for_checkpoint(own);
    for (size_t rank = 0; rank < 3; rank += 2) {
        kill(own->processes[rank], SIGKILL);
        assert_compare(waitpid(own->processes[rank], NULL, 0), ==, own->processes[rank], rank);
    }
    kill(own->processes[1], SIGSTOP);
    liana__job_start(own, 2, "again");
    liana__job_wait_until_said(own, 2, "rank 0 is where all find each other");
    liana__job_start(own, 0, "again");
    liana__job_pause(1);
    kill(own->processes[1], SIGCONT);
    bool came = true;
    for (size_t rank = 0; rank < 3; rank += 2) {
        liana__test_result result = liana__test_wait_as(own->said[rank], own->processes[rank]);
        if (result.code != 0) assert_heard_of_the_end(&result);
        came = came && result.code == 0;
        liana__test_free_result(&result);
    }
    liana__job_assert_ends(own, 1, 0);
    liana__job_assert_ends(own, 3, 0);
    assert_same_run(own);
    return came;
}

static void test_rank_0_brings_another_one(void **state)
{
    (void)state;
    job own = {.name = "numbered-two", .workers = 4, .heartbeat = "12", .port = liana__test_free_port()};
    while (!replace_two(&own)) assert_compare(++own.number, <, TRIES);
}

/* A process that is halted, taken for dead and continued ends by itself, and disturbs nobody. */
static void test_a_halted_process_is_left_behind(void **state)
{
    (void)state;
    for (size_t rank = 0; rank < 2; rank++) {
        job own = {.name = rank ? "halted" : "halted-chief", .workers = 3, .heartbeat = "8"};
        liana__job_start_all(&own);
        liana__job_wait_for_checkpoint(&own);
        kill(own.processes[rank], SIGSTOP);
        for (size_t i = 0; i < liana__job_size(&own); i++) {
            if (i != rank) liana__job_assert_ends(&own, i, 0);
        }
        kill(own.processes[rank], SIGCONT);
        liana__test_result result = liana__test_wait_as(own.said[rank], own.processes[rank]);
        if (result.code != 75) print_error("it ends with %d: %s\n", result.code, result.err);
        assert_int_equal(result.code, 75);
        assert_true(*result.err);
        liana__test_free_result(&result);
        assert_same_run(&own);
    }
}

/* The rank is taken by a process that lives. */
static void test_the_same_rank_twice(void **state)
{
    (void)state;
    job own = {.name = "twice", .workers = 2, .heartbeat = "8"};
    char address[1400];
    liana__job_start_all(&own);
    liana__job_wait_for_checkpoint(&own);
    /* At another address, since a socket in a folder has one owner. */
    snprintf(address, sizeof address, "cluster.workers=[ipc://%s-workers0, ipc://%s-other]", liana__job_folder(&own),
             liana__job_folder(&own));
    char config[512];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    const char *const words[] = {"train", config,
                                 "--out", liana__job_folder(&own),
                                 address, "cluster.task=worker:1",
                                 epochs,  "cluster.heartbeat=1",
                                 NULL};
    const pid_t process = liana__test_spawn_as("twice-other", words, NULL);
    liana__test_result result = liana__test_wait_as("twice-other", process);
    assert_int_not_equal(result.code, 0);
    assert_says(result.err, "rank");
    liana__test_free_result(&result);
    liana__job_assert_ends(&own, 0, 0);
    liana__job_assert_ends(&own, 1, 0);
    assert_same_run(&own);
}

/* ---- liana launch --restarts ---- */

/* The processes that another one has started, in the order of their ranks. */
static size_t list_children(pid_t process, pid_t *children, size_t most)
{
    char path[64];
    size_t count = 0;
    long child;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *file = fopen(path, "r");
    if (!file) return 0;
    while (count < most && fscanf(file, "%ld", &child) == 1) children[count++] = (pid_t)child;
    fclose(file);
    return count;
}

/* The process that has no children of its own, of those that another one has started. */
static pid_t find_last(pid_t process)
{
    pid_t child;
    while (list_children(process, &child, 1)) process = child;
    return process;
}

/* Kills some of three workers that launch has started, from rank `first` on. One that is killed alone is started again:
 * a third one is halted until then, so that the training is not over before. */
static void kill_some(pid_t launch, size_t first, size_t count)
{
    pid_t children[8], now[8];
    if (list_children(launch, children, 8) != 3) return;
    const pid_t halted = find_last(children[first == 1 ? 0 : 1]);
    if (count == 1) kill(halted, SIGSTOP);
    for (size_t i = first; i < first + count; i++) kill(find_last(children[i]), SIGKILL);
    if (count > 1) return;
    /* The newest child is the last of the list. */
    wait_until(list_children(launch, now, 8) == 3 && now[2] != children[2]);
    liana__job_pause(1);
    kill(halted, SIGCONT);
}

/* Of three workers, ranks 1 and perhaps 2 are killed. The messages of launch. */
static char *launch_and_kill(const char *name, int number, size_t num_killed)
{
    job own = {.name = name, .workers = 3, .number = number};
    char config[512], folder[600];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    snprintf(folder, sizeof folder, "%s", liana__job_folder(&own));
    const char *const words[] = {"launch",
                                 "-n",
                                 "3",
                                 "--restarts",
                                 "3",
                                 "--out",
                                 folder,
                                 config,
                                 epochs,
                                 "train.threads=1",
                                 "train.microbatch=4",
                                 "checkpoint.every_steps=5",
                                 "cluster.lease=1",
                                 NULL};
    const pid_t process = liana__test_spawn_as(name, words, NULL);
    liana__job_wait_for_checkpoint(&own);
    kill_some(process, 1, num_killed);
    liana__test_result result = liana__test_wait_as(name, process);
    if (result.code != 0) print_error("%s\n", result.err);
    assert_int_equal(result.code, 0);
    assert_same_run(&own);
    free(result.out);
    return result.err;
}

static void assert_launch_restarts(const char *name, size_t num_killed, const char *text)
{
    bool found = false;
    for (int number = 0; !found; number++) {
        assert_compare(number, <, TRIES);
        char *said = launch_and_kill(name, number, num_killed);
        found = strstr(said, text) != NULL;
        free(said);
    }
}

static void test_launch_starts_one_again(void **state)
{
    (void)state;
    assert_launch_restarts("launched", 1, "rank 1 is started again");
}

/* The owner of a slice and its mirror die together: all end and go on from the newest checkpoint. */
static void test_launch_starts_all_again(void **state)
{
    (void)state;
    assert_launch_restarts("launched-all", 2, "all processes are started again, from the newest checkpoint");
}

/* ---- liana launch -H ---- */

/* A stand-in for ssh, in a folder with the command: the process at the far end, as its text says, runs here. As ssh it
 * ends with 255 where that is killed. */
static const char *make_ssh(void)
{
    static const char script[] = "#!/bin/sh\n"
                                 "while [ $# -gt 2 ]; do shift; done\n"
                                 "echo \"$1\" >>\"$(dirname \"$0\")/hosts\"\n"
                                 "env -i PATH=\"$PATH\" HOME=\"$HOME\" sh -c \"$2\"\n"
                                 "code=$?\n"
                                 "[ $code -lt 128 ] || exit 255\n"
                                 "exit $code\n";
    static char path[2048];
    char folder[600], name[700];
    snprintf(folder, sizeof folder, "%s", liana__test_path("ssh"));
    snprintf(path, sizeof path, "PATH=%s:%s", liana__test_path(""), getenv("PATH"));
    snprintf(name, sizeof name, "%s", liana__test_path("liana"));
    if (liana__file_exists(folder)) return path;
    assert_int_equal(chmod(liana__test_write("ssh", script, strlen(script)), 0755), 0);
    assert_int_equal(symlink(LIANA_COMMAND, name), 0);
    return path;
}

/* Of three workers by ssh, one is killed; rank 0 is where all meet. The messages of launch. */
static char *launch_far_and_kill(const char *name, int number, size_t killed)
{
    job own = {.name = name, .workers = 3, .number = number};
    char config[512], folder[600], keys[600], port[16];
    snprintf(config, sizeof config, "%s", liana__test_path("config.yaml"));
    snprintf(keys, sizeof keys, "%s", liana__test_path("keys"));
    snprintf(folder, sizeof folder, "%s", liana__job_folder(&own));
    snprintf(port, sizeof port, "%d", liana__test_free_port());
    const char *const environment[] = {make_ssh(), NULL};
    const char *const words[] = {"launch",
                                 "-n",
                                 "3",
                                 "-H",
                                 "localhost:2,127.0.0.1",
                                 "--keys",
                                 keys,
                                 "--port",
                                 port,
                                 "--restarts",
                                 "3",
                                 "--out",
                                 folder,
                                 config,
                                 epochs,
                                 "train.threads=1",
                                 "train.microbatch=4",
                                 "checkpoint.every_steps=5",
                                 "cluster.lease=1",
                                 NULL};
    const pid_t process = liana__test_spawn_as(name, words, environment);
    liana__job_wait_for_checkpoint(&own);
    kill_some(process, killed, 1);
    liana__test_result result = liana__test_wait_as(name, process);
    if (result.code != 0) print_error("%s\n", result.err);
    assert_int_equal(result.code, 0);
    assert_same_run(&own);
    char *said = malloc(strlen(result.out) + strlen(result.err) + 1);
    assert_non_null(said);
    strcpy(stpcpy(said, result.out), result.err);
    liana__test_free_result(&result);
    return said;
}

static void assert_far_comes_back(const char *name, size_t killed)
{
    char again[64];
    bool found = false;
    snprintf(again, sizeof again, "rank %zu is started again", killed);
    for (int number = 0; !found; number++) {
        assert_compare(number, <, TRIES);
        char *said = launch_far_and_kill(name, number, killed);
        found = strstr(said, again) && strstr(said, "have met again");
        if (strstr(said, again)) assert_says(said, "is out of reach (ssh ended with code 255)");
        free(said);
    }
}

static void test_launch_starts_one_far_away_again(void **state)
{
    (void)state;
    assert_far_comes_back("far", 2);
}

static void test_launch_starts_rank_0_far_away_again(void **state)
{
    (void)state;
    assert_far_comes_back("far-chief", 0);
}

/* ---- while all meet ---- */

/* The last rank never comes: waits until each of the others says that it is the only one missing. */
static void wait_until_one_is_missing(const job *own)
{
    char line[48];
    snprintf(line, sizeof line, " waits for rank %zu at ", own->workers - 1);
    for (size_t i = 0; i + 1 < own->workers; i++) liana__job_wait_until_said(own, i, line);
}

/* Nobody waits any longer when one of them is told to stop, and all may be started again. */
static void test_a_signal_ends_the_wait_for_others(void **state)
{
    (void)state;
    for (size_t which = 0; which < 2; which++) {
        job own = {.name = "told", .number = (int)which, .workers = 3, .heartbeat = "12"};
        char told[64];
        for (size_t i = 0; i < 2; i++) liana__job_start(&own, i, "");
        wait_until_one_is_missing(&own);
        kill(own.processes[which], SIGTERM);
        snprintf(told, sizeof told, "rank %zu was stopped while it waited", which);
        for (size_t i = 0; i < 2; i++) {
            assert_refused(liana__test_wait_as(own.said[i], own.processes[i]), 75, told,
                           i == which ? "" : "has given up");
        }
        assert_false(liana__folder_exists(liana__job_folder(&own)));
    }
}

static void test_a_signal_ends_the_wait_of_one(void **state)
{
    (void)state;
    job own = {.name = "lonely", .workers = 2, .heartbeat = "12"};
    liana__job_start(&own, 1, "");
    /* Its lock is there before it waits. */
    char lock[700];
    snprintf(lock, sizeof lock, "%s-workers1.lock", liana__job_folder(&own));
    wait_until(liana__file_exists(lock));
    kill(own.processes[1], SIGTERM);
    liana__job_assert_ends(&own, 1, 75);
}

/* One of three dies while they wait for a fourth: the others end, and name it. */
static void test_a_death_while_all_meet(void **state)
{
    (void)state;
    job own = {.name = "meeting", .workers = 4, .heartbeat = "0.5"};
    for (size_t i = 0; i < 3; i++) liana__job_start(&own, i, "");
    wait_until_one_is_missing(&own);
    kill(own.processes[1], SIGKILL);
    for (size_t i = 0; i < 3; i += 2) {
        liana__test_result result = liana__test_wait_as(own.said[i], own.processes[i]);
        if (!strstr(result.err, "has ended before all had met")) print_error("%s\n", result.err);
        assert_says(result.err, "rank 1");
        assert_says(result.err, "has ended before all had met");
        assert_int_equal(result.code, 75);
        liana__test_free_result(&result);
    }
    assert_int_equal(waitpid(own.processes[1], NULL, 0), own.processes[1]);
}

static int make_data(void **state)
{
    (void)state;
    liana__job_make_data(COUNT, epochs);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_worker_comes_back),
        cmocka_unit_test(test_a_server_comes_back),
        cmocka_unit_test(test_a_numbered_worker_comes_back),
        cmocka_unit_test(test_a_numbered_server_comes_back),
        cmocka_unit_test(test_rank_0_comes_back),
        cmocka_unit_test(test_rank_0_brings_another_one),
        cmocka_unit_test(test_the_chief_comes_back),
        cmocka_unit_test(test_a_halted_process_is_left_behind),
        cmocka_unit_test(test_the_same_rank_twice),
        cmocka_unit_test(test_launch_starts_one_again),
        cmocka_unit_test(test_launch_starts_all_again),
        cmocka_unit_test(test_a_signal_ends_the_wait_of_one),
        cmocka_unit_test(test_launch_starts_one_far_away_again),
        cmocka_unit_test(test_launch_starts_rank_0_far_away_again),
        cmocka_unit_test(test_a_signal_ends_the_wait_for_others),
        cmocka_unit_test(test_a_death_while_all_meet),
    };
    return cmocka_run_group_tests(tests, make_data, NULL);
}
