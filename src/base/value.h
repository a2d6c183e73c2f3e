/* value.h - a tree of plain values (what YAML and JSON hold) that knows where each value was written. */
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

/* Where a value was written: file (or "command line"), line and column from 1; line 0 means made by the program. */
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
    /* LIST and MAP. `keys` is NULL for a list; `key_places` says where each key stands. */
    size_t count;
    size_t capacity;
    struct liana__value **items;
    const char **keys;
    liana__place *key_places;
} liana__value;

/* Constructors; all memory comes from the arena, strings are copied. NULL when memory could not be had. */
liana__value *liana__value_null(liana__arena *arena);
liana__value *liana__value_bool(liana__arena *arena, bool boolean);
liana__value *liana__value_int(liana__arena *arena, int64_t integer);
liana__value *liana__value_float(liana__arena *arena, double number);
liana__value *liana__value_string(liana__arena *arena, const char *string);
liana__value *liana__value_list(liana__arena *arena);
liana__value *liana__value_map(liana__arena *arena);

/* Appends to a list; sets a key of a map (replacing it in place, or appending it). Running out of memory is sticky in
 * the arena. A NULL item is ignored. */
void liana__value_add(liana__arena *arena, liana__value *list, liana__value *item);
void liana__value_set(liana__arena *arena, liana__value *map, const char *key, liana__value *item);

/* The item of a map, or NULL. A NULL map gives NULL. */
const liana__value *liana__value_get(const liana__value *map, const char *key);

/* "null", "true or false", "a whole number", "a number", "text", "a list", "a mapping": for messages. */
const char *liana__value_kind_name(liana__value_kind kind);

/* Writes the tree as YAML (block style; short lists of scalars in flow style; strings quoted only where YAML needs
 * it) and as JSON (numbers with the fewest digits that read back as the same double; maps in the order of their
 * keys; indent 0 writes one line). Both are deterministic, and what they write reads back equal. */
void liana__value_write_yaml(const liana__value *value, liana__text *text);
void liana__value_write_json(const liana__value *value, int indent, liana__text *text);

/* Appends a double with the fewest digits that read back as the same double ("0.1", "1e-05", "3.0"). */
void liana__text_add_double(liana__text *text, double number);

#endif
