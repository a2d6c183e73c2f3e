/* command_run.h - runs the liana command, within the test or as a process of its own, and small data to run it on. */
#ifndef LIANA_TESTS_COMMAND_RUN_H
#define LIANA_TESTS_COMMAND_RUN_H

#include "harness/harness.h"

#include <sys/types.h>

typedef struct liana__test_result {
    int code; /* as a shell reports it: 128+n after signal n */
    char *out;
    char *err;
} liana__test_result;

/* Runs within the test; `words` without "liana", NULL-terminated. */
liana__test_result liana__test_command_words(const char *const *words);
#define liana__test_command(...) liana__test_command_words((const char *const[]){__VA_ARGS__, NULL})

/* Starts the built command as a process, its output in the test folder's files "out" and "err". `environment` holds
 * "NAME=value" words that are added, NULL-terminated, or is NULL. */
pid_t liana__test_spawn(const char *const *words, const char *const *environment);
/* Waits for it. */
liana__test_result liana__test_wait(pid_t process);
#define liana__test_process(environment, ...) \
    liana__test_wait(liana__test_spawn((const char *const[]){__VA_ARGS__, NULL}, environment))

/* The same for one of several that run at the same time; names differ, and are files' names. */
pid_t liana__test_spawn_as(const char *name, const char *const *words, const char *const *environment);
liana__test_result liana__test_wait_as(const char *name, pid_t process);

void liana__test_free_result(liana__test_result *result);
/* Frees the result after checking its code; prints the command's output if it is another. */
#define assert_code(result, expected) liana__test_assert_code((result), (expected), __FILE__, __LINE__)
void liana__test_assert_code(liana__test_result result, int expected, const char *file, int line);
/* As above, and one message on standard error that contains all the texts (NULL-terminated). */
#define assert_refused(result, expected, ...) \
    liana__test_assert_refused((result), (expected), (const char *const[]){__VA_ARGS__, NULL}, __FILE__, __LINE__)
void liana__test_assert_refused(liana__test_result result, int expected, const char *const *texts, const char *file,
                                int line);

/* Whether two files hold the same bytes. */
#define assert_same_file(a, b) liana__test_assert_same_file((a), (b), __FILE__, __LINE__)
void liana__test_assert_same_file(const char *a, const char *b, const char *file, int line);

/* A small problem that a small network learns: grey images of 12 x 12 with a bright square in one of four corners, the
 * class, among noise. */
enum { LIANA__TINY_SIZE = 12, LIANA__TINY_CLASSES = 4 };

/* Fills one image and returns its class; a pure function of both numbers. */
int liana__test_tiny_image(uint32_t seed, uint32_t index, uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE]);
/* Writes NAME-images and NAME-labels into the test's folder, as IDX files. */
void liana__test_tiny_data(const char *name, uint32_t count, uint32_t seed);
/* Writes all of it: train (count), validation (count / 2), test, and config.yaml with a network that has batch
 * normalisation and dropout. Returns the path of the configuration, in a static buffer. */
const char *liana__test_tiny_run(uint32_t count);

/* The path of the newest checkpoint of a run in the test's folder, such as "run"; "" if there is none. In a static
 * buffer that the next call but one overwrites. */
const char *liana__test_newest_checkpoint(const char *run);

#endif
