/* kept_values.h - numbers, texts and arrays by name: the state of parts of a training in its checkpoints.
 *
 * Each name is OWNER/KEY: "EarlyStopping/wait". In a checkpoint it stands below "callbacks". */
#ifndef LIANA_TRAIN_KEPT_VALUES_H
#define LIANA_TRAIN_KEPT_VALUES_H

#include "base/error.h"
#include "base/value.h"

#include <liana/callback.h>

typedef struct liana__kept_array {
    const char *name; /* OWNER/KEY */
    liana_dtype dtype;
    liana_shape shape;
    const void *data; /* host memory */
} liana__kept_array;

/* Zero-initialise; free with liana__kept_values_free. */
typedef struct liana__kept_values {
    liana__arena arena;
    liana__value *values; /* a map by name; NULL: empty */
    liana__kept_array *arrays;
    size_t num_arrays, capacity;
} liana__kept_values;

void liana__kept_values_free(liana__kept_values *kept);

/* The values of one owner. */
struct liana_callback_state {
    liana__kept_values *kept;
    const char *owner;
};

/* Store a value. Numbers may be NaN or infinite. Texts are copied. The array's data are borrowed: they must stay as
 * they are until the values are freed or saved. Running out of memory is recorded in kept->arena.failed. */
void liana__keep_number(liana_callback_state *state, const char *key, double number);
void liana__keep_count(liana_callback_state *state, const char *key, int64_t count);
void liana__keep_text(liana_callback_state *state, const char *key, const char *text);
void liana__keep_array(liana_callback_state *state, const char *key, liana_dtype dtype, const liana_shape *shape,
                       const void *data);

/* Read a value. False or NULL: there is none of that kind; *number and *count then stay as they are. */
bool liana__kept_number(const liana_callback_state *state, const char *key, double *number);
bool liana__kept_count(const liana_callback_state *state, const char *key, int64_t *count);
const char *liana__kept_text(const liana_callback_state *state, const char *key);
const liana__kept_array *liana__kept_array_find(const liana_callback_state *state, const char *key);

/* Adds an array under its full name, with a copy of its data. Errors: OUT_OF_MEMORY. */
liana_status liana__kept_values_add(liana__kept_values *kept, const liana__kept_array *array, liana__error *error)
    LIANA_MUST_USE;
/* Copies the data of borrowed arrays, which may then go. After a failure there are no arrays. Errors: OUT_OF_MEMORY. */
liana_status liana__kept_values_own(liana__kept_values *kept, liana__error *error) LIANA_MUST_USE;
/* The bytes of an array's data. */
size_t liana__kept_array_size(const liana__kept_array *array);

/* Calls `each` with the owner of every value, in their order; an owner may come several times. */
void liana__kept_values_owners(const liana__kept_values *kept, void (*each)(void *user, const char *owner), void *user);

#endif
