/* context.h - the inside of liana_context. */
#ifndef LIANA_BASE_CONTEXT_H
#define LIANA_BASE_CONTEXT_H

#include "base/cpu.h"
#include "base/error.h"
#include "base/memory.h"
#include "base/threads.h"

#include <liana/context.h>
#include <pthread.h>
#include <stdbool.h>

/* The topics of LIANA_LOG. */
typedef enum liana__topic {
    LIANA__LOG_GRAPH,
    LIANA__LOG_DISPATCH,
    LIANA__LOG_EXEC,
    LIANA__LOG_MEMORY,
    LIANA__LOG_DATA,
    LIANA__LOG_TRAIN,
    LIANA__NUM_TOPICS,
} liana__topic;

/* Something that a program registered under a name; `kind` is for example "augmentation". */
typedef struct liana__registered {
    struct liana__registered *next;
    const char *kind;
    char *name;
    void (*function)(void);
    void *user;
    const char *owner; /* the plugin that registered it; NULL: the program */
} liana__registered;

/* Bytes that a node should read and write for a slice of the batch. They should fit into a second-level cache, 1 to 2
 * MB on today's server cores, together with the data that neighbouring nodes leave there. Results depend on it in their
 * last bits, so it is no option. */
enum { LIANA__SLICE_BYTES = 1 << 20 };

struct liana_context {
    liana__error error; /* of the call that failed last */
    liana__error first; /* with `sticky`: the first one since the context was cleared */
    bool sticky;        /* liana_context_options.sticky_errors */
    int depth;          /* calls that have begun (liana__context_begin) */
    liana__pool *pool;
    liana__isa isa;
    const char *dump_folder;    /* LIANA_DUMP, or NULL */
    const char *skipped_passes; /* LIANA_SKIP_PASSES, or NULL */
    size_t slice_bytes;         /* LIANA__SLICE_BYTES; only tests change it */
    bool validate;              /* LIANA_VALIDATE */
    unsigned log_topics;        /* bit per liana__topic */
    liana_log_function log;
    void *log_user;
    pthread_mutex_t log_mutex;
    liana_context *trunk; /* of a branch; NULL: it is no branch */
    liana__registered *registered;
    const liana__registered *inherited; /* of a branch: from here on they are its trunk's */
    liana__arena parts;                 /* memory of own parts */
    const char *entering;               /* the plugin that registers its parts; NULL: none */
    bool allow_plugins;                 /* liana_context_options.allow_plugins */
    struct liana__loaded_plugin *plugins;
};

/* A branch is the context for calls of another thread, or of another function of the program: the same threads, parts
 * and log, with errors of its own. What is registered in it ends with it. The context must outlive it. NULL: out of
 * memory, or the context is NULL. */
liana_context *liana__context_branch(liana_context *context);
void liana__context_end_branch(liana_context *branch); /* NULL is allowed */

/* Registers a function. `kind` must stay valid; the name is copied. Errors: OUT_OF_MEMORY, in the context. */
liana_status liana__context_register(liana_context *context, const char *kind, const char *name, void (*function)(void),
                                     void *user) LIANA_MUST_USE;
/* Finds a registered function. NULL: there is none. */
const liana__registered *liana__context_registered(const liana_context *context, const char *kind, const char *name);

/* Where failures of calls on this context go. NULL for NULL: the message is lost, the status is not. */
liana__error *liana__context_error(liana_context *context);

/* The two ends of a public call that does work: liana__context_begin returns the first error if it sticks, and then the
 * call must not be made; else liana__context_end keeps the call's error, and returns `status`. Calls within it (of its
 * own, or of callbacks) are not looked at: they are its affair. */
liana_status liana__context_begin(liana_context *context) LIANA_MUST_USE;
liana_status liana__context_end(liana_context *context, liana_status status);
/* The body of such a call. */
#define LIANA__CONTEXT_CALL(context, expression)            \
    do {                                                    \
        LIANA_TRY(liana__context_begin(context));           \
        return liana__context_end((context), (expression)); \
    } while (0)
/* Whether an error sticks outside of calls: then nothing is made. Takes over errors from outside a call, such as the
 * error of a graph. */
bool liana__context_stopped(liana_context *context);

/* Whether lines of this topic are logged. Ask before making an expensive line. */
bool liana__log_wants(const liana_context *context, liana__topic topic);
void liana__log(liana_context *context, liana__topic topic, const char *format, ...) LIANA__PRINTF(3, 4);

#endif
