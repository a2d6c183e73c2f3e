/* keras_file.h - the parts of an architecture file around its layers: references to calls, and refused content. */
#ifndef LIANA_LAYERS_KERAS_FILE_H
#define LIANA_LAYERS_KERAS_FILE_H

#include "layers/layer.h"

/* Refuses a layer that belongs to several models (one shared_object_id): its weights would be there several times.
 * Errors: UNIMPLEMENTED with both names; OUT_OF_MEMORY. */
liana_status liana__keras_check_sharing(const liana__value *root, liana__error *error) LIANA_MUST_USE;

/* Whether an object is of a package, as "Custom>Dense" is: its class is not the one of Keras. */
bool liana__keras_is_of_package(const liana__value *object);

/* Whether a name, or the name in a text such as "mine(0.5)", is that of a part that liana does not bring. */
bool liana__keras_is_own(const liana__kind *kind, const char *text);

/* ---- references ---- */

/* A layer's call of the file: [name, call, output, ...]. */
typedef struct liana__keras_reference {
    const char *name;
    int64_t number;
    int64_t output;
} liana__keras_reference;

typedef struct liana__keras_references {
    liana__keras_reference items[LIANA_MAX_LAYER_INPUTS];
    size_t count;
    bool too_many;
} liana__keras_references;

bool liana__keras_is_reference(const liana__value *value);

/* Adds the references in the nested lists of Keras 1 and 2, and in the objects with "keras_history" of Keras 3. Those
 * in a map of names come in the order of the names. */
void liana__keras_collect(const liana__value *value, liana__keras_references *found);

/* The same of one tensor, without those among the arguments of its call. */
void liana__keras_collect_one(const liana__value *tensor, liana__keras_references *found);

/* The index of the key that follows `last` in the order of bytes (NULL: the first). */
size_t liana__keras_next_key(const liana__value *map, const char *last);

#endif
