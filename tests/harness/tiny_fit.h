/* tiny_fit.h - a small model and small data to fit it to, for tests of training in C. */
#ifndef LIANA_TESTS_TINY_FIT_H
#define LIANA_TESTS_TINY_FIT_H

#include "harness/command_run.h"

#include <liana/liana.h>

typedef struct liana__tiny_fit {
    liana_context *context;
    liana_dataset *training;   /* of `count` images */
    liana_dataset *validation; /* half as many */
} liana__tiny_fit;

/* Makes the test's folder with the data and config.yaml (liana__test_tiny_run), and opens them. */
liana__tiny_fit liana__tiny_fit_open(uint32_t count);
void liana__tiny_fit_close(liana__tiny_fit *fit);

/* The network of that configuration: with batch normalisation and dropout. */
liana_model *liana__tiny_model(liana_context *context);

/* Whether two models have the same weights, bit for bit. */
bool liana__same_weights(liana_model *a, liana_model *b);

/* done(status) and refused(status, expected, text in the message) for a local `own` that has a context. */
#define done(status) liana__tiny_done(own.context, (status), __FILE__, __LINE__)
#define refused(status, expected, text) \
    liana__tiny_refused(own.context, (status), (expected), (text), __FILE__, __LINE__)
void liana__tiny_done(const liana_context *context, liana_status status, const char *file, int line);
void liana__tiny_refused(const liana_context *context, liana_status status, liana_status expected, const char *text,
                         const char *file, int line);

/* Keeps notes, to look for a text; liana__write_note is an on_note. */
typedef struct liana__notebook {
    char text[8192];
} liana__notebook;
void liana__write_note(void *user, const char *note);

/* Rows of numbers: "x" [LIANA__TINY_ROWS, LIANA__TINY_FEATURES], and "y" [LIANA__TINY_ROWS, 1], which is linear in
 * x. */
enum { LIANA__TINY_ROWS = 40, LIANA__TINY_FEATURES = 3 };
liana_dataset *liana__tiny_rows(liana_context *context);

/* Adds all weights to *weights, one behind the other; free it. May run on any thread: it asserts nothing. */
liana_status liana__tiny_keep_weights(liana_model *model, char **weights, size_t *size) LIANA_MUST_USE;

#endif
