/* context.h - the context: threads, log and the last error message. A program creates it once. */
#ifndef LIANA_CONTEXT_H
#define LIANA_CONTEXT_H

#include <liana/status.h>

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
} liana_context_options;

/* Creates a context; `options` may be NULL. The caller destroys it after everything that was made from it. Errors:
 * INVALID_CONFIG if an environment variable has a wrong value, OUT_OF_MEMORY. On failure *out is NULL, or a context
 * that only holds the message; destroy it as usual. */
LIANA_API LIANA_MUST_USE liana_status liana_context_create(const liana_context_options *options, liana_context **out);

/* Stops the threads and frees the context. NULL is allowed. */
LIANA_API void liana_context_destroy(liana_context *context);

/* The sentence that explains the last failed call on this context, or "". Borrowed: valid until the next call that
 * fails. */
LIANA_API const char *liana_context_message(const liana_context *context);

/* The number of compute threads, at least 1. */
LIANA_API int liana_context_num_threads(const liana_context *context);

/* liana's version, "major.minor.patch". */
LIANA_API const char *liana_version(void);

#ifdef __cplusplus
}
#endif
#endif
