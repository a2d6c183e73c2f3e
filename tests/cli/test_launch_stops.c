/* liana launch and signals: whichever process gets one and whenever, the code is the same; stopped processes are not
 * started again; and the remains of killed processes are removed. */
#include "harness/command_run.h"
#include "harness/text_files.h"
#include "harness/wait_until.h"

#include "base/file.h"
#include "train/checkpoint/temporary.h"

#include <dirent.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { COUNT = 60, MOST_WORDS = 20 };
static char config[300];

/* ---- processes ---- */

/* Numbers of the children of a process; how many there are. */
static size_t children_of(pid_t process, pid_t *children, size_t room)
{
    char path[96];
    size_t count = 0;
    int number;
    snprintf(path, sizeof path, "/proc/%d/task/%d/children", (int)process, (int)process);
    FILE *file = fopen(path, "r");
    while (file && count < room && fscanf(file, "%d", &number) == 1) children[count++] = number;
    if (file) fclose(file);
    return count;
}

static void read_of(pid_t process, const char *what, char *text, size_t size)
{
    char path[96];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)process, what);
    FILE *file = fopen(path, "r");
    const size_t length = file ? fread(text, 1, size - 1, file) : 0;
    text[length] = 0;
    if (file) fclose(file);
}

static pid_t launch(const char *run, const char *const *more, const char *const *environment)
{
    const char *words[MOST_WORDS] = {"launch", "-n", "2", "--out", liana__test_path(run)};
    size_t used = 5;
    while (*more) words[used++] = *more++;
    words[used++] = config;
    words[used++] = "train.epochs=100000";
    words[used++] = "checkpoint.every_steps=1";
    return liana__test_spawn(words, environment);
}

static void wait_for_checkpoint(const char *run)
{
    char path[600];
    snprintf(path, sizeof path, "%s/checkpoints", liana__test_path(run));
    wait_until(liana__folder_exists(path) && *liana__test_newest_checkpoint(run));
}

/* ---- stops ---- */

/* `early`: as soon as the processes are there; else they train. `rank`: the receiver of the signal; 2: the launcher. */
static void assert_stopped(const char *run, const char *const *more, int signal, size_t rank, bool early, int expected)
{
    pid_t children[2];
    const pid_t process = launch(run, more, NULL);
    if (early) wait_until(children_of(process, children, 2) == 2);
    if (!early) wait_for_checkpoint(run);
    assert_int_equal(children_of(process, children, 2), 2);
    kill(rank < 2 ? children[rank] : process, signal);
    liana__test_result result = liana__test_wait(process);
    if (result.code != expected) print_error("launch ends with %d: %s\n", result.code, result.err);
    assert_int_equal(result.code, expected);
    assert_never_says(result.err, "started again");
    assert_never_says(result.err, "has failed");
    liana__test_free_result(&result);
}

static void test_the_code_is_that_of_the_signal(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    assert_stopped("a", none, SIGTERM, 2, false, 128 + SIGTERM);
    assert_stopped("b", none, SIGINT, 2, false, 128 + SIGINT);
    for (size_t rank = 0; rank < 2; rank++) assert_stopped(rank ? "c" : "d", none, SIGTERM, rank, false, 128 + SIGTERM);
    assert_stopped("e", none, SIGTERM, 2, true, 128 + SIGTERM);
}

static void test_a_stopped_job_is_not_started_again(void **state)
{
    (void)state;
    static const char *const again[] = {"--requeue", "--restarts", "3", NULL};
    for (size_t who = 0; who < 3; who++) {
        char run[16];
        snprintf(run, sizeof run, "again%zu", who);
        assert_stopped(run, again, SIGTERM, who, false, 75);
    }
    assert_stopped("again-early", again, SIGTERM, 2, true, 75);
}

/* ---- names and remains of a process ---- */

static size_t count_temporary(const char *folder)
{
    size_t count = 0;
    DIR *open = opendir(folder);
    for (struct dirent *entry; open && (entry = readdir(open));) count += strncmp(entry->d_name, "liana-", 6) == 0;
    if (open) closedir(open);
    return count;
}

static void test_a_killed_worker(void **state)
{
    (void)state;
    static const char *const none[] = {NULL};
    liana__error error = {0};
    char folder[600], variable[640], said[4096];
    pid_t children[2];
    snprintf(folder, sizeof folder, "%s", liana__test_path("temporary"));
    assert_ok(liana__folder_make(folder, &error), &error);
    snprintf(variable, sizeof variable, "TMPDIR=%s", folder);
    const char *const environment[] = {variable, NULL};
    const pid_t process = launch("killed", none, environment);
    wait_for_checkpoint("killed");
    assert_int_equal(children_of(process, children, 2), 2);
    for (size_t i = 0; i < 2; i++) {
        read_of(children[i], "cmdline", said, sizeof said);
        assert_string_equal(said, "liana");
        read_of(children[i], "comm", said, sizeof said);
        assert_string_equal(said, "liana\n");
    }
    assert_compare(count_temporary(folder), >, 0);
    kill(children[1], SIGKILL);
    wait_until(children_of(process, children, 2) == 1);
    kill(process, SIGTERM);
    liana__test_result result = liana__test_wait(process);
    assert_int_equal(result.code, 128 + SIGTERM);
    liana__test_free_result(&result);
    assert_int_equal(count_temporary(folder), 0);
}

/* One that lives keeps its folder; of one that was killed the next one removes it, with all that is in it; a folder
 * with another name stays. */
static void test_the_next_one_removes_it(void **state)
{
    (void)state;
    liana__error error = {0};
    char folder[480], own[LIANA__TEMPORARY], other[LIANA__TEMPORARY], inside[LIANA__TEMPORARY + 128];
    int told[2], status;
    snprintf(folder, sizeof folder, "%s", liana__test_path("swept"));
    assert_ok(liana__folder_make(folder, &error), &error);
    assert_int_equal(pipe(told), 0);
    fflush(NULL);
    const pid_t process = fork();
    if (process == 0) {
        if (liana__temporary_make(folder, own, NULL) != LIANA_OK || write(told[1], own, sizeof own) != sizeof own)
            _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(told[0], other, LIANA__TEMPORARY), LIANA__TEMPORARY);
    snprintf(inside, sizeof inside, "%s/link", other);
    assert_int_equal(symlink(folder, inside), 0); /* is removed, and not followed */
    snprintf(inside, sizeof inside, "%s/liana-mine", folder);
    assert_int_equal(mkdir(inside, 0700), 0);
    assert_ok(liana__temporary_make(folder, own, &error), &error);
    assert_true(liana__folder_exists(other));
    kill(process, SIGKILL);
    assert_int_equal(waitpid(process, &status, 0), process);
    liana__temporary_sweep(folder);
    assert_false(liana__folder_exists(other));
    assert_true(liana__folder_exists(own));
    assert_true(liana__folder_exists(inside));
    assert_true(liana__folder_exists(folder));
    assert_fails(liana__temporary_make("/nowhere/at/all", own, &error), LIANA_IO_ERROR, &error, "/nowhere/at/all");
}

/* ---- other commands ---- */

static bool is_halted(pid_t process)
{
    char stat[256];
    read_of(process, "stat", stat, sizeof stat);
    return strstr(stat, ") T ");
}

static bool goes_on(pid_t process)
{
    kill(process, SIGCONT);
    return true;
}

static bool has_ended(pid_t process)
{
    siginfo_t info = {0};
    return waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == process;
}

/* A process of an evaluation dies while the others wait for it. Their messages are about no training. */
static void test_a_killed_evaluation(void **state)
{
    (void)state;
    char run[600];
    pid_t children[2];
    snprintf(run, sizeof run, "%s", liana__test_path("trained"));
    assert_code(liana__test_process(NULL, "train", config, "--out", run, "train.epochs=1"), 0);
    for (size_t rank = 0; rank < 2; rank++) {
        const char *const words[] = {"launch", "-n", "2", "--", "evaluate", run, NULL};
        const char *const environment[] = {"LIANA_HALT_AT=compile", NULL};
        const pid_t process = liana__test_spawn(words, environment);
        wait_until(children_of(process, children, 2) == 2);
        /* Each halts itself, and may do so before the other one has heard of it. */
        wait_until(goes_on(children[1 - rank]) && is_halted(children[rank]));
        kill(children[rank], SIGKILL);
        wait_until(goes_on(children[1 - rank]) && has_ended(process));
        liana__test_result result = liana__test_wait(process);
        if (result.code != 0) assert_string_not_equal(result.err, "");
        if (strstr(result.err, "training")) print_error("%s\n", result.err);
        assert_never_says(result.err, "training");
        assert_never_says(result.err, "checkpoint");
        liana__test_free_result(&result);
    }
}

static int make_config(void **state)
{
    (void)state;
    liana__test_folder();
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(COUNT));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_code_is_that_of_the_signal),
        cmocka_unit_test(test_a_stopped_job_is_not_started_again),
        cmocka_unit_test(test_a_killed_worker),
        cmocka_unit_test(test_the_next_one_removes_it),
        cmocka_unit_test(test_a_killed_evaluation),
    };
    return cmocka_run_group_tests(tests, make_config, NULL);
}
