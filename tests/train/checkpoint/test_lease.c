/* Leases of run folders: one process at a time holds a folder or a bucket's folder, whatever dies, is halted, or
 * races. */
#include "harness/command_run.h"
#include "harness/mutate.h"
#include "harness/remote_server.h"
#include "harness/wait_until.h"

#include "base/clock.h"
#include "base/file.h"
#include "train/checkpoint/lease.h"
#include "train/checkpoint/lease_place.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The folder of a test, and how its lease is taken: as a machine without locks would, so every lease is another's. */
static char folder[512];
/* LONG: of a holder that must be seen to renew it, although the machine or its disk may halt for a while. NEVER: the
 * test does not last until it is renewed by itself. */
static const double SHORT = 0.3, LONG = 6, NEVER = 1000;

static liana_status take(double seconds, const char *lock, liana__lease **lease, liana__error *error)
{
    return liana__lease_take(
        &(liana__lease_options){.folder = folder, .seconds = seconds, .lock = lock, .advice = "take another"}, lease,
        error);
}

static liana__lease *taken(double seconds, const char *lock)
{
    liana__error error = {0};
    liana__lease *lease = NULL;
    assert_ok(take(seconds, lock, &lease, &error), &error);
    return lease;
}

static void assert_held(liana__lease *lease)
{
    liana__error error = {0};
    assert_ok(liana__lease_check(lease, &error), &error);
}

static void assert_lost(liana__lease *lease, const char *text)
{
    liana__error error = {0};
    assert_int_equal(liana__lease_check(lease, &error), LIANA_UNAVAILABLE);
    assert_says(error.message, text);
    assert_says(error.message, "writes nothing more");
    assert_int_equal(liana__lease_status(lease, NULL), LIANA_UNAVAILABLE);
}

static void read_lease(liana__lease_found *found)
{
    liana__error error = {0};
    liana__lease_place place;
    assert_ok(liana__lease_place_open(&place, folder, NULL, &error), &error);
    assert_ok(liana__lease_place_read(&place, found, &error), &error);
    liana__lease_place_close(&place);
}

static void assert_free(void)
{
    liana__lease_found found;
    read_lease(&found);
    assert_false(found.there);
}

/* Puts bytes there as the lease of somebody. */
static void plant(const void *bytes, size_t size)
{
    if (liana__path_is_remote(folder)) {
        char name[600];
        snprintf(name, sizeof name, "%s/lease.json", strstr(folder, "bucket/") + strlen("bucket/"));
        liana__test_serve(name, bytes, size);
        return;
    }
    /* At once, since a run may be looking. */
    char path[600], made[620];
    snprintf(path, sizeof path, "%s/lease-0000000007.json", folder);
    snprintf(made, sizeof made, "%s.made", path);
    FILE *file = fopen(made, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(made, path), 0);
}

static void plant_text(const char *text)
{
    plant(text, strlen(text));
}

static void begin(const char *name)
{
    liana__error error = {0};
    snprintf(folder, sizeof folder, "%s", liana__test_path(name));
    assert_ok(liana__folder_make(folder, &error), &error);
}

/* ---- the same in a folder, gs:// and s3:// ---- */

static void hold_and_give(void)
{
    liana__error error = {0};
    liana__lease *lease = taken(LONG, ""), *other = NULL;
    liana__lease_found first, second;
    assert_held(lease);
    read_lease(&first);
    assert_true(first.there);
    assert_int_equal(first.size, LIANA__LEASE_SIZE);
    /* It is renewed, so its watcher is refused, and is told the holder. */
    char who[64];
    snprintf(who, sizeof who, "process %d on ", (int)getpid());
    assert_int_equal(take(SHORT, "", &other, &error), LIANA_UNAVAILABLE);
    assert_null(other);
    assert_says(error.message, "another process is training in");
    assert_says(error.message, who);
    assert_says(error.message, "take another");
    assert_held(lease);
    read_lease(&second);
    assert_memory_not_equal(first.bytes, second.bytes, LIANA__LEASE_SIZE);
    liana__lease_end(lease);
    assert_free();
    lease = taken(SHORT, "");
    liana__lease_end(lease);
    assert_free();
}

/* A process that takes the lease, says so, and dies or waits. */
static pid_t hold_elsewhere(int *told)
{
    int ends[2];
    char byte = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t process = fork();
    if (process == 0) {
        liana__lease *lease = NULL;
        bool got = take(SHORT, "1:2", &lease, NULL) == LIANA_OK;
        if (write(ends[1], got ? "y" : "n", 1) != 1) _exit(3);
        /* Until it has lost the lease, but not for ever; a check then must fail again and again. */
        for (int i = 0; i < 60000 && liana__lease_check(lease, NULL) == LIANA_OK; i++) usleep(10 * 1000);
        _exit(liana__lease_check(lease, NULL) == LIANA_UNAVAILABLE ? 42 : 1);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    *told = ends[0];
    return process;
}

/* The last renewal of a killed or halted process may still be on its way to a server: then it seems to live, once. */
static liana__lease *taken_from_silent(double seconds)
{
    liana__lease *lease = NULL;
    return take(seconds, "", &lease, NULL) == LIANA_OK ? lease : taken(seconds, "");
}

static void take_over_from_the_dead(void)
{
    int told;
    pid_t process = hold_elsewhere(&told);
    kill(process, SIGKILL);
    assert_int_equal(waitpid(process, NULL, 0), process);
    close(told);
    /* Not before its time where nothing else tells that it is dead. */
    double begun = liana__clock_seconds();
    liana__lease *lease = taken_from_silent(SHORT);
    assert_compare(liana__clock_seconds() - begun, >=, SHORT * 0.9);
    assert_held(lease);
    liana__lease_end(lease);
    assert_free();
    /* At once where it would have a lock that we have now. */
    process = hold_elsewhere(&told);
    kill(process, SIGKILL);
    assert_int_equal(waitpid(process, NULL, 0), process);
    close(told);
    liana__lease_found found;
    liana__lease_text before, after;
    read_lease(&found);
    liana__lease_text_read(found.bytes, found.size, &before);
    lease = taken(1000, "1:2");
    read_lease(&found);
    liana__lease_text_read(found.bytes, found.size, &after);
    assert_int_equal(after.generation, before.generation + 1);
    assert_string_not_equal(after.id, before.id);
    liana__lease_end(lease);
    assert_free();
}

static void a_halted_one_loses(void)
{
    int told, status;
    pid_t process = hold_elsewhere(&told);
    kill(process, SIGSTOP);
    assert_int_equal(waitpid(process, &status, WUNTRACED), process);
    liana__lease *lease = taken_from_silent(SHORT);
    kill(process, SIGCONT);
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 42);
    close(told);
    assert_held(lease);
    liana__lease_end(lease);
    assert_free();
}

/* Many want the lease of a dead one: one gets it at a time, and none is ever held by two. */
static void only_one_gets_it(void)
{
    enum { RACERS = 6 };
    int told[2], go[2];
    char byte = 0;
    plant_text("{\"lease\": 1, \"id\": \"x\", \"host\": \"elsewhere\", \"seconds\": 0.2, \"generation\": 7}");
    assert_int_equal(pipe(told) | pipe(go), 0);
    pid_t racers[RACERS];
    for (int i = 0; i < RACERS; i++) {
        racers[i] = fork();
        if (racers[i] != 0) continue;
        liana__lease *lease = NULL;
        close(go[1]);
        /* Longer than a busy machine may halt one of them. */
        const bool got = take(12, "", &lease, NULL) == LIANA_OK;
        if (write(told[1], &byte, 1) != 1 || !got) _exit(1);
        /* It is held until the others have seen that, or that they were late. */
        const bool ended = read(go[0], &byte, 1) == 0;
        _exit(ended && liana__lease_check(lease, NULL) == LIANA_OK ? 0 : 2);
    }
    for (int i = 0; i < RACERS; i++) assert_int_equal(read(told[0], &byte, 1), 1);
    close(go[1]);
    int won = 0, refused = 0;
    for (int i = 0; i < RACERS; i++) {
        int status;
        assert_compare(waitpid(racers[i], &status, 0), ==, racers[i], i);
        won += WEXITSTATUS(status) == 0;
        refused += WEXITSTATUS(status) == 1;
    }
    close(told[0]);
    close(told[1]);
    close(go[0]);
    assert_int_equal(won, 1);
    assert_int_equal(won + refused, RACERS);
}

static void damaged_ones_are_taken(void)
{
    static const char *const texts[] = {
        "", "{", "[]", "{\"lease\": \"x\"}", "no lease at all", "{\"lease\": 1, \"seconds\": -4}",
        "{\"lease\": 1, \"seconds\": 1e999}", "{\"lease\": 1, \"generation\": -9, \"seconds\": \"long\"}",
        "{\"lease\": 2, \"id\": 7, \"host\": [], \"seconds\": 0.2}",
        /* Clocks do not count: one of the future is as old as one of the past. */
        ("{\"lease\": 1, \"id\": \"a\", \"host\": \"h\", \"process\": 3, \"renewed\": \"2199-01-01T00:00:00Z\", "
         "\"seconds\": 0.2}")};
    /* They are read by the same function everywhere. */
    const size_t step = liana__path_is_remote(folder) ? 4 : 1;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i += step) {
        plant_text(texts[i]);
        liana__lease *lease = taken(0.2, "");
        assert_held(lease);
        liana__lease_end(lease);
        assert_free();
    }
}

static void a_taken_one_is_noticed(void)
{
    liana__lease *lease = taken(NEVER, "");
    plant_text(
        "{\"lease\": 1, \"id\": \"y\", \"host\": \"host-b\", \"process\": 77, \"seconds\": 60, \"generation\": 7}");
    assert_lost(lease, "process 77 on host-b");
    liana__lease_end(lease);
    liana__lease_found found;
    read_lease(&found);
    assert_true(found.there); /* not ours to remove */
    plant_text("{\"lease\": 2, \"id\": \"y\", \"host\": \"host-c\", \"process\": 78, \"seconds\": 0.2}");
    lease = taken(SHORT, "");
    liana__lease_end(lease);
}

static liana_status succeed(const char *job, liana__lease **lease, liana__error *error)
{
    return liana__lease_take(
        &(liana__lease_options){.folder = folder, .seconds = SHORT, .lock = "3:4", .job = job, .advice = "none"}, lease,
        error);
}

/* The place of a dead holder is taken by its own job only, and that once. */
static void a_place_is_taken(void)
{
    char job[LIANA__LEASE_JOB], same[LIANA__LEASE_JOB];
    liana__error error = {0};
    liana__lease *dead = taken(1000, "3:4"), *next = NULL, *none = NULL;
    liana__lease_job(dead, job);
    assert_int_equal(succeed("another job", &none, &error), LIANA_UNAVAILABLE);
    assert_says(error.message, "is not the run folder of this training any more");
    assert_ok(succeed(job, &next, &error), &error);
    liana__lease_job(next, same);
    assert_string_equal(job, same);
    assert_lost(dead, "process");
    liana__lease_end(dead);
    assert_held(next);
    liana__lease_end(next);
    assert_int_equal(succeed(job, &none, &error), LIANA_UNAVAILABLE);
    assert_says(error.message, "there is no lease of it");
    assert_free();
}

/* One that takes the place of a chief, watching it from now on as a process of rank 1. */
typedef struct successor {
    const char *job;
    liana__lease *lease;
    liana_status status;
    liana__error error;
    atomic_int looks;
} successor;

static bool count_look(void *user)
{
    successor *own = user;
    own->looks++;
    return false;
}

static void *take_place(void *user)
{
    successor *own = user;
    const liana__lease_options options = {.folder = folder,
                                          .seconds = SHORT,
                                          .lock = "",
                                          .job = own->job,
                                          .rank = 1,
                                          .advice = "none",
                                          .stop = count_look,
                                          .user = own};
    own->status = liana__lease_take(&options, &own->lease, &own->error);
    return NULL;
}

/* The chief was halted, and its lease would last for long. It wakes up, and renews it as long as it does not know that
 * the others go on without it. Then it leaves the folder, or has left it before anybody looks. */
static void a_chief_that_wakes_up_leaves(bool before)
{
    char job[LIANA__LEASE_JOB];
    pthread_t thread;
    liana__error error = {0};
    liana__lease *chief = taken(before ? NEVER : 3, "");
    liana__lease_job(chief, job);
    successor next = {.job = job};
    if (before) liana__lease_leave(chief);
    assert_int_equal(pthread_create(&thread, NULL, take_place, &next), 0);
    if (!before) {
        wait_until(next.looks > 0);
        const int looks = next.looks;
        assert_held(chief); /* which renews it */
        wait_until(next.looks > looks + 2);
        liana__lease_leave(chief);
    }
    pthread_join(thread, NULL);
    assert_ok(next.status, &next.error);
    assert_held(next.lease);
    assert_int_equal(liana__lease_check(chief, &error), LIANA_UNAVAILABLE);
    assert_says(error.message, "writes nothing more");
    liana__lease_end(chief); /* is not there to be removed */
    assert_held(next.lease);
    liana__lease_end(next.lease);
    assert_free();
}

/* The network is cut: the chief has gone on with the others, and the successor's side ends at once. */
static void a_chief_goes_on_without(bool before)
{
    char job[LIANA__LEASE_JOB];
    pthread_t thread;
    liana__error error = {0};
    liana__lease *chief = taken(before ? NEVER : 3, "");
    liana__lease_job(chief, job);
    successor next = {.job = job};
    const bool members[] = {true, false, true};
    if (before) assert_ok(liana__lease_lead(chief, members, 3, &error), &error);
    assert_int_equal(pthread_create(&thread, NULL, take_place, &next), 0);
    if (!before) {
        wait_until(next.looks > 0);
        assert_ok(liana__lease_lead(chief, members, 3, &error), &error);
    }
    pthread_join(thread, NULL);
    assert_int_equal(next.status, LIANA_UNAVAILABLE);
    assert_null(next.lease);
    assert_says(next.error.message, before ? "goes on without this process" : "another process");
    assert_held(chief);
    liana__lease_end(chief);
    assert_free();
}

/* A folder that was left is not free: a new training does not get in before the chief's successor. */
static void what_is_left_is_for_its_job(void)
{
    liana__lease *chief = taken(SHORT, "");
    liana__lease_leave(chief);
    liana__lease_end(chief);
    liana__lease_found found;
    read_lease(&found);
    assert_true(found.there);
    const double begun = liana__clock_seconds();
    liana__lease *other = taken(SHORT, "");
    assert_compare(liana__clock_seconds() - begun, >=, SHORT * 0.9);
    liana__lease_end(other);
    assert_free();
    liana__lease_leave(NULL);
}

static void all_of_it(void)
{
    hold_and_give();
    take_over_from_the_dead();
    a_halted_one_loses();
    damaged_ones_are_taken();
    a_taken_one_is_noticed();
    a_place_is_taken();
    a_chief_that_wakes_up_leaves(true);
    a_chief_that_wakes_up_leaves(false);
    a_chief_goes_on_without(true);
    a_chief_goes_on_without(false);
    what_is_left_is_for_its_job();
    only_one_gets_it();
}

/* Asked while a lease is watched: its holder gives it back. Nobody is to stop. */
static bool give_back(void *user)
{
    (void)user;
    char path[600];
    snprintf(path, sizeof path, "%s/lease-0000000007.json", folder);
    unlink(path);
    return false;
}

/* The dead chief of a job was only late, and has ended the training: there is nothing to take over. */
static void test_a_training_that_ends_meanwhile(void **state)
{
    (void)state;
    liana__lease *lease = NULL;
    liana__error error = {0};
    begin("ends");
    plant_text(
        "{\"lease\": 1, \"id\": \"y\", \"job\": \"j\", \"host\": \"host-b\", \"seconds\": 0.3, \"generation\": 7}");
    const liana__lease_options options = {
        .folder = folder, .seconds = SHORT, .lock = "3:4", .job = "j", .advice = "none", .stop = give_back};
    assert_fails(liana__lease_take(&options, &lease, &error), LIANA_UNAVAILABLE, &error, "there is no lease of it");
    assert_null(lease);
    assert_free();
}

static void test_in_a_folder(void **state)
{
    (void)state;
    begin("a");
    all_of_it();
}

static void test_in_gs(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "gs://bucket/runs/one");
    all_of_it();
}

static void test_in_s3(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "s3://bucket/runs/two");
    all_of_it();
}

/* ---- the keys of one of them only ---- */

static void test_lost_answers(void **state)
{
    (void)state;
    static const char *const folders[] = {"gs://bucket/runs/three", "s3://bucket/runs/three"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(folder, sizeof folder, "%s", folders[i]);
        liana__test_server_fault("put-lost", 1);
        liana__lease *lease = taken(1000, "");
        liana__test_server_fault("put-lost", 1);
        assert_held(lease);
        assert_held(lease);
        liana__lease_end(lease);
        assert_free();
    }
    /* A server of S3's kind that knows no conditions. */
    liana__test_server_fault("put-501", 2);
    liana__lease *lease = taken(1000, "");
    assert_held(lease);
    liana__lease_end(lease);
    assert_free();
}

/* A server that is away: the lease is trusted for a while, and then not. */
static void test_a_server_that_is_away(void **state)
{
    (void)state;
    liana__error error = {0};
    snprintf(folder, sizeof folder, "gs://bucket/runs/four");
    const double begun = liana__clock_seconds();
    liana__lease *lease = taken(1, "");
    liana__test_server_stop();
    wait_until(liana__lease_check(lease, &error) != LIANA_OK);
    assert_compare(liana__clock_seconds() - begun, >=, 2.0 / 3);
    assert_says(error.message, "could not be renewed for");
    liana__lease_end(lease);
    liana__lease *none;
    assert_int_not_equal(take(1, "", &none, &error), LIANA_OK);
    liana__test_server_start();
    liana__test_server_environment();
}

static void test_bad_folders(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__lease *lease;
    snprintf(folder, sizeof folder, "%s", liana__test_path("nowhere/at/all"));
    assert_int_not_equal(take(1, "", &lease, &error), LIANA_OK);
    assert_says(error.message, "nowhere/at/all");
    begin("gone");
    lease = taken(NEVER, "");
    assert_ok(liana__folder_remove(folder, &error), &error);
    assert_lost(lease, "gone");
    liana__lease_end(lease);
    snprintf(folder, sizeof folder, "gs://readonly/run");
    assert_int_equal(take(1, "", &lease, &error), LIANA_IO_ERROR);
    assert_null(lease);
    assert_ok(liana__lease_check(NULL, &error), &error);
    liana__lease_end(NULL);
}

/* A damaged file is read as something harmless, or as before. */
static void test_damaged_texts(void **state)
{
    (void)state;
    char bytes[LIANA__LEASE_SIZE + 1];
    liana__lease_text own, text;
    liana__lease_text_begin(&own);
    own.generation = 3;
    own.seconds = 30;
    own.left = true;
    own.without[0] = 2;
    own.without[1] = 4095;
    own.num_without = 2;
    liana__lease_text_write(&own, bytes);
    liana__lease_text_read(bytes, LIANA__LEASE_SIZE, &text);
    assert_string_equal(text.id, own.id);
    assert_string_equal(text.host, own.host);
    assert_string_equal(text.boot, own.boot);
    assert_int_equal(text.generation, 3);
    assert_compare(text.seconds, ==, 30);
    assert_true(text.left);
    assert_int_equal(text.num_without, 2);
    assert_int_equal(text.without[1], 4095);
    for (uint32_t i = 0; i < 3000; i++) {
        size_t size;
        char *damaged = liana__test_mutate(bytes, LIANA__LEASE_SIZE, "{}[]\",:0129e-", 16, i, &size);
        liana__lease_text_read(damaged, size, &text);
        assert_compare(text.num_without, <=, LIANA__LEASE_WITHOUT);
        assert_compare(text.version, >=, 0);
        assert_compare(text.generation, >=, 0);
        assert_compare(text.renewals, >=, 0);
        assert_compare(text.seconds, >=, 0);
        free(damaged);
    }
}

/* ---- a run ---- */

static const char *config;

static void wait_for_checkpoint(const char *run)
{
    char path[600];
    snprintf(path, sizeof path, "%s/checkpoints", liana__test_path(run));
    wait_until(liana__folder_exists(path) && *liana__test_newest_checkpoint(run));
}

static bool has_lease(const char *run)
{
    liana__lease_found found;
    snprintf(folder, sizeof folder, "%s", liana__test_path(run));
    read_lease(&found);
    return found.there;
}

#define TRAIN(run, ...) \
    liana__test_spawn((const char *const[]){"train", config, "--out", liana__test_path(run), __VA_ARGS__, NULL}, NULL)

/* Another machine has taken the folder: the run ends with 75, and the files there then stay as they are. */
static void test_a_run_that_has_lost_its_folder(void **state)
{
    (void)state;
    pid_t process = TRAIN("lost", "train.epochs=100000", "checkpoint.every_steps=1");
    wait_for_checkpoint("lost");
    assert_true(has_lease("lost"));
    plant_text(
        "{\"lease\": 1, \"id\": \"z\", \"host\": \"host-b\", \"process\": 5, \"seconds\": 0.3, \"generation\": 7}");
    liana__test_result got = liana__test_wait(process);
    assert_refused(got, 75, "has lost the run folder", "process 5 on host-b");
    /* The other one goes on. */
    assert_code(liana__test_process(NULL, "train", config, "--out", liana__test_path("lost"), "--resume",
                                    "train.epochs=1", "checkpoint.every_steps=1"),
                0);
    assert_false(has_lease("lost"));
}

/* A process that was killed leaves its lease, which is in the way of nobody on this machine. */
static void test_a_killed_run_goes_on_at_once(void **state)
{
    (void)state;
    double begun;
    pid_t process = TRAIN("killed", "train.epochs=100000", "checkpoint.every_steps=1");
    wait_for_checkpoint("killed");
    liana__test_result second =
        liana__test_process(NULL, "train", config, "--out", liana__test_path("killed"), "--resume");
    assert_refused(second, 1, "another process is training in");
    kill(process, SIGKILL);
    liana__test_result result = liana__test_wait(process);
    assert_code(result, 128 + SIGKILL);
    assert_true(has_lease("killed"));
    begun = liana__clock_seconds();
    assert_code(liana__test_process(NULL, "train", config, "--out", liana__test_path("killed"), "--resume",
                                    "train.epochs=1", "checkpoint.every_steps=1", "cluster.lease=1000"),
                0);
    assert_compare(liana__clock_seconds() - begun, <, 300);
    assert_false(has_lease("killed"));
}

static int set_up(void **state)
{
    liana__test_server_set_up(state);
    config = strdup(liana__test_tiny_run(40));
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_in_a_folder),
        cmocka_unit_test(test_a_training_that_ends_meanwhile),
        cmocka_unit_test(test_in_gs),
        cmocka_unit_test(test_in_s3),
        cmocka_unit_test(test_lost_answers),
        cmocka_unit_test(test_a_server_that_is_away),
        cmocka_unit_test(test_bad_folders),
        cmocka_unit_test(test_damaged_texts),
        cmocka_unit_test(test_a_run_that_has_lost_its_folder),
        cmocka_unit_test(test_a_killed_run_goes_on_at_once),
    };
    return cmocka_run_group_tests(tests, set_up, liana__test_server_tear_down);
}
