/* context.h - the inside of liana_context. */
#ifndef LIANA_BASE_CONTEXT_H
#define LIANA_BASE_CONTEXT_H

#include "base/cpu.h"
#include "base/error.h"
#include "base/threads.h"

#include <liana/context.h>
#include <pthread.h>
#include <stdbool.h>

/* What LIANA_LOG can name. */
typedef enum liana__topic {
    LIANA__LOG_GRAPH,
    LIANA__LOG_DISPATCH,
    LIANA__LOG_EXEC,
    LIANA__LOG_MEMORY,
    LIANA__LOG_DATA,
    LIANA__LOG_TRAIN,
    LIANA__NUM_TOPICS,
} liana__topic;

/* What a program has made known under a name: "augmentation". */
typedef struct liana__registered {
    struct liana__registered *next;
    const char *kind;
    char *name;
    void (*function)(void);
    void *user;
} liana__registered;

/* What a node reads and writes of a part of a batch should lie in a second-level cache, 1 to 2 MB on today's server
 * cores, beside what its neighbours leave there. Results depend on it in the last bits, so it is no option. */
enum { LIANA__SLICE_BYTES = 1 << 20 };

struct liana_context {
    liana__error error;
    liana__pool *pool;
    liana__isa isa;
    const char *dump_folder;    /* LIANA_DUMP, or NULL */
    const char *skipped_passes; /* LIANA_SKIP_PASSES, or NULL */
    size_t slice_bytes;         /* LIANA__SLICE_BYTES; tests have others */
    bool validate;              /* LIANA_VALIDATE */
    unsigned log_topics;        /* bit per liana__topic */
    liana_log_function log;
    void *log_user;
    pthread_mutex_t log_mutex;
    liana__registered *registered;
};

/* `kind` is kept as it is, the name is copied. Errors: OUT_OF_MEMORY, in the context. */
liana_status liana__context_register(liana_context *context, const char *kind, const char *name, void (*function)(void),
                                     void *user) LIANA_MUST_USE;
/* NULL if there is none. */
const liana__registered *liana__context_registered(const liana_context *context, const char *kind, const char *name);

/* Whether lines of this topic are wanted: ask before making an expensive one. */
bool liana__log_wants(const liana_context *context, liana__topic topic);
void liana__log(liana_context *context, liana__topic topic, const char *format, ...) LIANA__PRINTF(3, 4);

#endif
