/* value.h - a tree of plain values: the contents of YAML and JSON. Each value knows where it was written. */
#ifndef LIANA_BASE_VALUE_H
#define LIANA_BASE_VALUE_H

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum liana__value_kind {
    LIANA__VALUE_NULL,
    LIANA__VALUE_BOOL,
    LIANA__VALUE_INT,
    LIANA__VALUE_FLOAT,
    LIANA__VALUE_STRING,
    LIANA__VALUE_LIST,
    LIANA__VALUE_MAP,
} liana__value_kind;

/* The place where a value was written: file, line and column from 1. Line 0: there is no line (`file` is "command line"
 * or a JSON file, or NULL for a value that the program made). */
typedef struct liana__place {
    const char *file;
    int line;
    int column;
} liana__place;

typedef struct liana__value {
    liana__value_kind kind;
    liana__place place;
    bool boolean;
    int64_t integer; /* INT; also set, rounded, for FLOAT values that are whole numbers */
    double number;   /* INT and FLOAT */
    const char *string;
    /* LIST and MAP. `keys` is NULL for a list; `key_places` has the place of each key. */
    size_t count;
    size_t capacity;
    struct liana__value **items;
    const char **keys;
    liana__place *key_places;
} liana__value;

/* Constructors. All memory comes from the arena; strings are copied. NULL: out of memory. */
liana__value *liana__value_null(liana__arena *arena);
liana__value *liana__value_bool(liana__arena *arena, bool boolean);
liana__value *liana__value_int(liana__arena *arena, int64_t integer);
liana__value *liana__value_float(liana__arena *arena, double number);
liana__value *liana__value_string(liana__arena *arena, const char *string);
liana__value *liana__value_list(liana__arena *arena);
liana__value *liana__value_map(liana__arena *arena);

/* The value of an unquoted word in YAML 1.2's core schema (yaml.org/spec/1.2.2, section 10.3.2): null, a bool, a
 * number, else text. A whole number outside int64 becomes a FLOAT. */
liana__value *liana__value_from_word(liana__arena *arena, const char *word);

/* Appends to a list; sets a key of a map (replaces it in place, or appends it). Running out of memory is recorded in
 * the arena. A NULL item is ignored. */
void liana__value_add(liana__arena *arena, liana__value *list, liana__value *item);
void liana__value_set(liana__arena *arena, liana__value *map, const char *key, liana__value *item);
/* Appends a key that the map does not have yet: for readers that have refused duplicates. */
void liana__value_append(liana__arena *arena, liana__value *map, const char *key, const liana__place *place,
                         liana__value *item);

/* Removes a key from a map, if it is there. */
void liana__value_remove(liana__value *map, const char *key);

/* The item of a map, or NULL. A NULL map gives NULL. */
const liana__value *liana__value_get(const liana__value *map, const char *key);

/* A copy of the tree without its places; NULL becomes null. */
liana__value *liana__value_copy(liana__arena *arena, const liana__value *value);

/* Whether kinds and contents are equal, with maps in the same order, without places. NaN equals NaN; 1 is not 1.0. */
bool liana__value_equal(const liana__value *a, const liana__value *b);

/* The name of a kind for messages: "null", "true or false", "a whole number", "a number", "text", "a list", "a
 * mapping". */
const char *liana__value_kind_name(liana__value_kind kind);

/* The value for messages: "the text 'abc'", "the number 0.5", "a list of 3", "null". In `buffer`. */
const char *liana__value_describe(const liana__value *value, char *buffer, size_t size);

/* Writes the tree as YAML (block style; short lists of scalars in flow style; strings quoted only where YAML needs it)
 * and as JSON (maps in the order of their keys; indent 0 writes one line, otherwise short lists of scalars stay on one
 * line). The same tree gives the same text. Reading it gives an equal tree, with three exceptions: JSON has no NaN and
 * no infinity (null is written); bytes that are not UTF-8 become U+FFFD; YAML readers may refuse keys above 1024
 * bytes. */
void liana__value_write_yaml(const liana__value *value, liana__text *text);
void liana__value_write_json(const liana__value *value, int indent, liana__text *text);

/* Appends a double with 15 to 17 digits, as many as are needed to read the same double back, and with a point: "0.1",
 * "3.0", "1.0e-05" (YAML 1.1 readers read 1e-05 as text), "nan", "-inf". The locale does not matter. */
void liana__text_add_double(liana__text *text, double number);

#endif
