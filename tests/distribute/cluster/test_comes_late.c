/* A process comes back to a job that is in its farewell, or whose others have ended: it hears so, or finds out, and
 * does not wait for the timeout of a start. */
#include "harness/cluster/cluster_run.h"
#include "harness/harness.h"
#include "harness/wait_until.h"

#include "base/clock.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SIZE = 3, TIMEOUT = 300 };
/* Seconds. The most seconds of a late process: far from the timeout, and enough for a machine that is busy. */
static const double soon = 60;

/* The counters of the processes; they share them. */
typedef struct shared {
    atomic_int num_met, num_waiting;
    atomic_bool takes_leave;
    struct {
        liana_status status;
        bool resumable;
        liana__error error;
    } late[SIZE];
} shared;

static shared *seen;

static void stay(liana__test_member *member)
{
    member->transport->take_in(member->instance, true);
    atomic_fetch_add(&seen->num_met, 1);
    for (;;) pause();
}

/* Rank 0 ends when it has noticed the end of rank 2. */
static void stay_until_rank_2_is_gone(liana__test_member *member)
{
    if (member->place.rank != 0) {
        stay(member);
        return;
    }
    member->transport->take_in(member->instance, true);
    atomic_fetch_add(&seen->num_met, 1);
    while (!member->transport->is_gone(member->instance, 2)) usleep(1000);
    atomic_store(&seen->takes_leave, true);
}

static void note_waiting(void *user, const char *line)
{
    const char *expected = user;
    if (strstr(line, expected)) atomic_fetch_add(&seen->num_waiting, 1);
}

static int make_shared(void **state)
{
    (void)state;
    seen = mmap(NULL, sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return seen == MAP_FAILED;
}

static int free_shared(void **state)
{
    (void)state;
    return munmap(seen, sizeof *seen);
}

/* Tells the parent how the meeting has ended, of which it is the last word. */
static pid_t start_late(liana__test_member *member, const char *expected_line)
{
    fflush(NULL);
    const pid_t process = fork();
    assert_compare(process, >=, 0);
    if (process > 0) return process;
    const size_t rank = member->place.rank;
    member->place.say = note_waiting;
    member->place.user = (void *)(uintptr_t)expected_line;
    member->place.resumable = &seen->late[rank].resumable;
    member->body = NULL;
    liana__test_run_members(member, 1);
    seen->late[rank].status = member->status;
    seen->late[rank].error = member->error;
    _exit(0);
}

/* The reason why the command ends with 75. */
static void assert_ended(pid_t process, size_t rank, double begun, const char *text)
{
    assert_int_equal(liana__test_end_member(process), 0);
    assert_int_equal(seen->late[rank].status, LIANA_UNAVAILABLE);
    if (!strstr(seen->late[rank].error.message, text)) print_error("%s\n", seen->late[rank].error.message);
    assert_says(seen->late[rank].error.message, text);
    assert_true(seen->late[rank].resumable);
    assert_compare(liana__clock_seconds() - begun, <, soon);
}

static void end(pid_t process)
{
    kill(process, SIGKILL);
    assert_int_equal(liana__test_end_member(process), 128 + SIGKILL);
}

static void start_all(liana__test_member *members, pid_t *processes, void (*body)(liana__test_member *member),
                      double heartbeat)
{
    liana__test_members(members, SIZE, liana__test_sockets(SIZE), NULL);
    for (size_t i = 0; i < SIZE; i++) {
        members[i].place.heartbeat = heartbeat;
        members[i].place.timeout = TIMEOUT;
        members[i].body = body;
        processes[i] = liana__test_start_member(&members[i]);
    }
    wait_until(atomic_load(&seen->num_met) == SIZE);
}

/* Rank 0 takes its leave for as long as rank 1, which is halted, does not say that it has heard so. */
static void in_the_farewell(void **state)
{
    (void)state;
    liana__test_member members[SIZE];
    pid_t processes[SIZE];
    start_all(members, processes, stay_until_rank_2_is_gone, 20);
    kill(processes[1], SIGSTOP);
    end(processes[2]);
    wait_until(atomic_load(&seen->takes_leave));
    /* Of the farewell's 20 seconds. */
    usleep(500000);
    const double begun = liana__clock_seconds();
    assert_ended(start_late(&members[2], ""), 2, begun, "is over");
    /* Rank 0 has not ended before, and nobody else has told it. */
    assert_int_equal(waitpid(processes[0], NULL, WNOHANG), 0);
    end(processes[1]);
    assert_int_equal(liana__test_end_member(processes[0]), 0);
}

/* Two come back, and are told to wait. They have met each other, but the process that has told them so ends without a
 * word. */
static void nobody_is_left(void **state)
{
    (void)state;
    liana__test_member members[SIZE];
    pid_t processes[SIZE], late[SIZE];
    start_all(members, processes, stay, 1);
    for (size_t i = 1; i < SIZE; i++) end(processes[i]);
    for (size_t i = 1; i < SIZE; i++) late[i] = start_late(&members[i], "who go on already, take it in");
    wait_until(atomic_load(&seen->num_waiting) >= SIZE - 1);
    const double begun = liana__clock_seconds();
    end(processes[0]);
    for (size_t i = 1; i < SIZE; i++) assert_ended(late[i], i, begun, "");
    /* The first to give up tells the other one. */
    const bool first_says = strstr(seen->late[1].error.message, "they have ended");
    const bool second_says = strstr(seen->late[2].error.message, "they have ended");
    if (!first_says || !second_says) print_error("%s\n%s\n", seen->late[1].error.message, seen->late[2].error.message);
    assert_true(first_says && second_says);
}

/* Rank 0 does not answer, since the one whose place it is may be there still. Then it ends without a word. */
static void whom_it_has_reached_ends(void **state)
{
    (void)state;
    liana__test_member members[2];
    pid_t processes[2];
    char master[64];
    snprintf(master, sizeof master, "127.0.0.1:%d", liana__test_free_port());
    liana__test_members(members, 2, NULL, liana__test_keys());
    for (size_t i = 0; i < 2; i++) {
        members[i].place.master = master;
        members[i].place.timeout = members[i].place.heartbeat = TIMEOUT;
        members[i].body = stay;
        processes[i] = liana__test_start_member(&members[i]);
    }
    wait_until(atomic_load(&seen->num_met) == 2);
    kill(processes[1], SIGSTOP);
    members[1].place.heartbeat = 1;
    const pid_t late = start_late(&members[1], "rank 1 of 2 waits for rank 0");
    wait_until(atomic_load(&seen->num_waiting) >= 1);
    const double begun = liana__clock_seconds();
    end(processes[0]);
    assert_ended(late, 1, begun, "has ended before all had met");
    end(processes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(in_the_farewell, make_shared, free_shared),
        cmocka_unit_test_setup_teardown(nobody_is_left, make_shared, free_shared),
        cmocka_unit_test_setup_teardown(whom_it_has_reached_ends, make_shared, free_shared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
