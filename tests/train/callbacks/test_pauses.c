/* Pauses of a training: its minutes do not count them. */
#include "harness/command_run.h"

#include "base/clock.h"
#include "train/run/run.h"

#include <time.h>

enum { NUM_TRAINING = 64 };

/* The minutes of the training, and how long its second update takes: longer. */
#define MINUTES "0.05"
enum { SECONDS = 4 };

typedef struct waiter {
    bool says_paused; /* the training is told that the time was a pause */
    int64_t updates;
    bool ended_by_minutes;
} waiter;

static bool wait_once(void *user, const liana__fit_event *event)
{
    waiter *own = user;
    if (event->kind != LIANA__FIT_STEP || ++own->updates != 2) return true;
    const double begin = liana__clock_seconds();
    nanosleep(&(struct timespec){.tv_sec = SECONDS}, NULL);
    if (own->says_paused) event->requests->paused = liana__clock_seconds() - begin;
    return true;
}

static void look_at_note(void *user, const char *note)
{
    if (strstr(note, "max_minutes ended the training")) ((waiter *)user)->ended_by_minutes = true;
}

static void train(const char *config_path, waiter *own)
{
    static const char *const overrides[] = {"train.max_minutes=" MINUTES, "train.epochs=3"};
    liana__arena arena = {0};
    liana__config config;
    liana__error error = {0};
    liana_context *context;
    assert_ok(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, config_path, overrides, 2, &arena, &config, &error),
              &error);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    const liana__run_options options = {.training = true, .on_event = wait_once, .on_note = look_at_note, .user = own};
    liana__run run;
    assert_ok(liana__run_open(context, &config, &options, &run, &error), &error);
    assert_ok(liana__run_train(&run, &options, &error), &error);
    liana__run_close(&run);
    liana_context_destroy(context);
    liana__arena_free(&arena);
}

static void test_pauses_are_no_minutes(void **state)
{
    (void)state;
    char config_path[256];
    liana__test_folder();
    snprintf(config_path, sizeof config_path, "%s", liana__test_tiny_run(NUM_TRAINING));
    waiter slow = {0}, paused = {.says_paused = true};
    train(config_path, &slow);
    assert_true(slow.ended_by_minutes);
    train(config_path, &paused);
    assert_false(paused.ended_by_minutes);
    assert_compare(paused.updates, >, slow.updates);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pauses_are_no_minutes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
