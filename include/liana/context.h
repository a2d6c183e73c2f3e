/* context.h - the context: threads, log and errors. A program creates it once.
 *
 * With sticky_errors a program is written as if nothing could fail, and checks once:
 *
 *     liana_context_create(&(liana_context_options){.sticky_errors = true}, &context);
 *     liana_dataset_open(context, "train.tfrec", NULL, &data);
 *     ... build a model, fit it, save it ...
 *     if (liana_context_status(context) != LIANA_OK) fprintf(stderr, "%s\n", liana_context_message(context));
 *
 * Each declaration says which arguments may be NULL. Anything else that is NULL is no crash: a function with a status
 * returns INVALID_ARGUMENT, one that makes an object returns NULL, others return 0, NULL or false, or do nothing. The
 * message names the function and the argument, if another argument leads to a context. Members of option structs may be
 * NULL where their comment gives NULL a meaning. */
#ifndef LIANA_CONTEXT_H
#define LIANA_CONTEXT_H

#include <liana/status.h>

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_context liana_context;

/* Receives one log line without a newline. `topic` is a word of LIANA_LOG ("graph", "data", ...).
 * May be called from any of liana's threads, one call at a time. */
typedef void (*liana_log_function)(void *user, const char *topic, const char *line);

typedef struct liana_context_options {
    /* The number of compute threads. 0: LIANA_THREADS, or else the number of cores that this process may use. It never
     * changes a result. */
    int num_threads;
    /* Receives log lines. NULL: they go to standard error, only for the topics named in LIANA_LOG. */
    liana_log_function log;
    void *log_user;
    /* The first error stays, as in graphs and models, until liana_context_clear. Until then calls that open, make, run,
     * train, read or save something do nothing, and return that first status, or NULL for an object. Errors of the
     * context's graphs and models count. Freeing and asking go on as usual, and so do calls within a callback. false:
     * every call does its work, and the program looks at each status. */
    bool sticky_errors;
    /* Whether files may name code that then runs in this process: plugins, and PJRT plugins by their paths. Names that
     * the program gives itself (liana_load_plugin, the name of a device) need no permission. Nor does a PJRT plugin
     * that is found by its kind, such as "gpu". false: such a file is refused, or its plugins are not loaded. */
    bool allow_plugins;
} liana_context_options;

/* Creates a context; `options` may be NULL. The caller destroys it after everything that was made from it. Errors:
 * INVALID_CONFIG if an environment variable has a wrong value, OUT_OF_MEMORY. On failure *out is NULL, or a context
 * that only holds the message; destroy it as usual. */
LIANA_API LIANA_MUST_USE liana_status liana_context_create(const liana_context_options *options, liana_context **out);

/* Stops the threads and frees the context. NULL is allowed. */
LIANA_API void liana_context_destroy(liana_context *context);

/* With sticky_errors the first failure since the context was created or cleared, or LIANA_OK. Without, the status of
 * the last failed call, or LIANA_OK if none has failed. INVALID_ARGUMENT for NULL. */
LIANA_API LIANA_MUST_USE liana_status liana_context_status(const liana_context *context);

/* Forgets the error and its message: calls do their work again. Graphs and models keep theirs. NULL is allowed. */
LIANA_API void liana_context_clear(liana_context *context);

/* The sentence that explains the failure of liana_context_status, or "" (also for NULL). Borrowed: valid until the next
 * call that fails, or until the error is cleared. */
LIANA_API const char *liana_context_message(const liana_context *context);

/* The number of compute threads, at least 1; 0 for NULL. */
LIANA_API int liana_context_num_threads(const liana_context *context);

/* liana's version: "1.0.0" of a release, "1.0.0+12.g8b6246af" twelve commits after it, "1.0.0-dev+g8b6246af" before
 * it. The first three numbers are major, minor and patch. The string is static. */
LIANA_API const char *liana_version(void);

#ifdef __cplusplus
}
#endif
#endif
