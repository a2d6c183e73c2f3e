/* context.h - the inside of liana_context. */
#ifndef LIANA_BASE_CONTEXT_H
#define LIANA_BASE_CONTEXT_H

#include "base/cpu.h"
#include "base/error.h"
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
} liana__registered;

/* Bytes that a node should read and write for a slice of the batch. They should fit into a second-level cache, 1 to 2
 * MB on today's server cores, together with what the neighbouring nodes leave there. Results depend on it in their last
 * bits, so it is no option. */
enum { LIANA__SLICE_BYTES = 1 << 20 };

struct liana_context {
    liana__error error;
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
    liana__registered *registered;
};

/* Registers a function. `kind` must stay valid; the name is copied. Errors: OUT_OF_MEMORY, in the context. */
liana_status liana__context_register(liana_context *context, const char *kind, const char *name, void (*function)(void),
                                     void *user) LIANA_MUST_USE;
/* Finds a registered function. NULL: there is none. */
const liana__registered *liana__context_registered(const liana_context *context, const char *kind, const char *name);

/* Whether lines of this topic are logged. Ask before making an expensive line. */
bool liana__log_wants(const liana_context *context, liana__topic topic);
void liana__log(liana_context *context, liana__topic topic, const char *format, ...) LIANA__PRINTF(3, 4);

#endif
