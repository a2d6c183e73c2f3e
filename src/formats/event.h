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
    double number;      /* of a scalar */
    const void *tensor; /* of a tensor that is no scalar; NULL: it has none */
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

/* ---- the tensors of values ---- */

/* The dimensions of a value's tensor; none without a tensor. */
size_t liana__event_value_rank(const liana__event_value *value);
int64_t liana__event_value_dimension(const liana__event_value *value, size_t index);
/* How many numbers or texts the tensor holds, and which. Histograms are rows of begin, end and count; images are their
 * width and height, as texts, and then PNG files. 0: it has none, or numbers of a type that is not read. */
size_t liana__event_value_count(const liana__event_value *value);
bool liana__event_value_has_texts(const liana__event_value *value);
double liana__event_value_number(const liana__event_value *value, size_t index);
/* Borrowed from the record. */
const uint8_t *liana__event_value_text(const liana__event_value *value, size_t index, size_t *size);

#endif
