/* access_log.h - lines that a thread of its own writes, so that a full disk or a pipe whose reader sleeps stops no
 * request: lines that cannot be written are lost, and counted. */
#ifndef LIANA_SERVE_PREDICT_ACCESS_LOG_H
#define LIANA_SERVE_PREDICT_ACCESS_LOG_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct liana__access_log liana__access_log;

/* `descriptor` is borrowed. Errors: OUT_OF_MEMORY, IO_ERROR (no thread). */
liana_status liana__access_log_open(int descriptor, liana__access_log **log, liana__error *error) LIANA_MUST_USE;
/* Writes what waits, for a second at most. NULL is allowed. */
void liana__access_log_close(liana__access_log *log);

/* Adds a line; the end of line is added to it. NULL has no lines. Any thread. */
void liana__access_log_add(liana__access_log *log, const char *line);
size_t liana__access_log_lost(liana__access_log *log);

typedef struct liana__access_entry {
    const char *client, *method, *path;
    unsigned status;
    size_t bytes;
    double seconds;
} liana__access_entry;

/* A request: in the form of web servers' logs with the milliseconds behind, or as JSON. */
void liana__access_log_add_request(liana__access_log *log, const liana__access_entry *entry, bool json);

#endif
