/* field.h - field tables: they describe the members of a struct. They are the one source of option names, kinds,
 * defaults and docs.
 *
 * Op attributes, layer options, optimizer options and sections of the configuration are plain structs. With a table of
 * fields, one piece of code reads them from YAML, writes them to YAML and JSON, prints, compares and lists them, and
 * suggests the nearest name for an unknown one. */
#ifndef LIANA_BASE_FIELD_H
#define LIANA_BASE_FIELD_H

#include "base/value.h"

#include <liana/options.h>

/* The rows and tables are those of the public header, where parts of programs have theirs. */
typedef liana_option liana__field;
typedef liana_options liana__fields;
typedef liana_ints liana__ints;
typedef liana_strings liana__strings;
typedef liana_floats liana__floats;
typedef liana_integers liana__integers;
#define LIANA__FIELD_ROW LIANA_OPTION_ROW
#define LIANA__FIELD_BOOL LIANA_OPTION_BOOL
#define LIANA__FIELD_INT LIANA_OPTION_INT
#define LIANA__FIELD_FLOAT LIANA_OPTION_FLOAT
#define LIANA__FIELD_STRING LIANA_OPTION_STRING
#define LIANA__FIELD_PATH LIANA_OPTION_PATH
#define LIANA__FIELD_ENUM LIANA_OPTION_ENUM
#define LIANA__FIELD_INT_PAIR LIANA_OPTION_INT_PAIR
#define LIANA__FIELD_INT_SINGLE LIANA_OPTION_INT_SINGLE
#define LIANA__FIELD_INT_TRIPLE LIANA_OPTION_INT_TRIPLE
#define LIANA__FIELD_INTS LIANA_OPTION_INTS
#define LIANA__FIELD_STRINGS LIANA_OPTION_STRINGS
#define LIANA__FIELD_PATHS LIANA_OPTION_PATHS
#define LIANA__FIELD_VALUE LIANA_OPTION_VALUE
#define LIANA__FIELD_SECTION LIANA_OPTION_SECTION
#define LIANA__FIELD_FLOATS LIANA_OPTION_FLOATS
#define LIANA__FIELD_INTEGERS LIANA_OPTION_INTEGERS
#define LIANA__FIELD_AXES LIANA_OPTION_AXES
#define LIANA__FIELD_LAYER LIANA_OPTION_LAYER
#define LIANA__FIELD_LAYERS LIANA_OPTION_LAYERS

/* A table of an array of rows. */
#define LIANA__FIELD_TABLE(table_name, type, rows)                        \
    {                                                                     \
        (table_name), sizeof(type), sizeof(rows) / sizeof *(rows), (rows) \
    }

/* Fills a struct with the defaults (with zeros first). Errors: OUT_OF_MEMORY; INTERNAL if a field refuses its own
 * default_text. */
liana_status liana__fields_default(const liana__fields *fields, liana__arena *arena, void *object, liana__error *error)
    LIANA_MUST_USE;

/* Fills a struct from a map, with defaults where a key is missing. A NULL map is an empty one. null means "not given"
 * for strings, paths, lists and values (for any default), and all defaults for a section. `ignored` (NULL or
 * NULL-terminated) lists keys that belong to another reader ("name", "class"). Errors: INVALID_CONFIG with file, line,
 * column, the dotted key below `where` ("train", "model.layers[2]"), the value found and the value expected. For an
 * unknown key the message suggests the nearest known one. */
liana_status liana__fields_read(const liana__fields *fields, const liana__value *map, const char *where,
                                const char *const *ignored, liana__arena *arena, void *object, liana__error *error)
    LIANA_MUST_USE;

/* The struct as a map, with every field (nested sections as nested maps; NULL strings as null). */
liana__value *liana__fields_write(const liana__fields *fields, liana__arena *arena, const void *object);

/* How many numbers a fixed list of whole numbers has: INT_SINGLE 1, INT_PAIR 2, INT_TRIPLE 3; others 0. */
size_t liana__field_num_ints(liana_option_kind kind);

/* The field of that name, or NULL. */
const liana__field *liana__fields_find(const liana__fields *fields, const char *name);

/* Fails with INVALID_CONFIG and "file:line:column: where: message". If the line is 0, only the file is named (such as
 * "command line"); if that is NULL too, no place is. `where` may be NULL or empty. */
liana_status liana__fail_at(liana__error *error, const liana__place *place, const char *where, const char *format, ...)
    LIANA__PRINTF(4, 5);

#endif
