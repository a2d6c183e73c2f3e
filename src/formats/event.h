/* event.h - records of TensorBoard's event files: values of tags by step. The wire format is in proto/event.proto. */
#ifndef LIANA_FORMATS_EVENT_H
#define LIANA_FORMATS_EVENT_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One value of a summary. */
typedef struct liana__event_value {
    const char *tag;
    const char *kind; /* "scalar", "image", "histogram", "audio", or the name of TensorBoard's plugin */
    bool has_number;
    double number; /* of a scalar */
} liana__event_value;

typedef struct liana__event_record {
    double wall_time; /* seconds since 1970 */
    int64_t step;
    const char *what; /* "version", "graph", "summary", "session", ...; "nothing" */
    const char *file_version;
    size_t num_values;
    liana__event_value *values;
    void *message;
} liana__event_record;

/* Whether a first record is that of an event file: it says the version, "brain.Event:2". */
bool liana__event_begins_file(const uint8_t *bytes, size_t size);
/* Parses a record. Free it in any case. Errors: INVALID_DATA (not an event), OUT_OF_MEMORY. */
liana_status liana__event_parse(const uint8_t *bytes, size_t size, liana__event_record *event, liana__error *error)
    LIANA_MUST_USE;
void liana__event_free(liana__event_record *event);

#endif
