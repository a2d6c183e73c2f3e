/* field.h - field tables: they describe the members of a struct. They are the one source of option names, kinds,
 * defaults and docs.
 *
 * Op attributes, layer options, optimizer options and sections of the configuration are plain structs. With a table of
 * fields, one piece of code reads them from YAML, writes them to YAML and JSON, prints, compares and lists them, and
 * suggests the nearest name for an unknown one. */
#ifndef LIANA_BASE_FIELD_H
#define LIANA_BASE_FIELD_H

#include "base/value.h"

typedef enum liana__field_kind {
    LIANA__FIELD_BOOL,     /* bool */
    LIANA__FIELD_INT,      /* int64_t */
    LIANA__FIELD_FLOAT,    /* double; NaN means "not given" if default_text is "null" (written as null) */
    LIANA__FIELD_STRING,   /* const char *, NULL if not given */
    LIANA__FIELD_PATH,     /* const char *: relative paths are relative to the folder of the file in which they are
                            * written */
    LIANA__FIELD_ENUM,     /* int, an index into `names` */
    LIANA__FIELD_INT_PAIR, /* int64_t[2]; written as one number (both) or [first, second] */
    LIANA__FIELD_INTS,     /* liana__ints; written as a list (or one number) */
    LIANA__FIELD_STRINGS,  /* liana__strings; written as a list (or one text) */
    LIANA__FIELD_PATHS,    /* liana__strings of paths, each relative to the folder of its file */
    LIANA__FIELD_VALUE,    /* const liana__value *: kept as it is, for another reader */
    LIANA__FIELD_SECTION,  /* a nested struct described by `section` */
} liana__field_kind;

enum { LIANA__MAX_INTS = 16 };
typedef struct liana__ints {
    int64_t count;
    int64_t values[LIANA__MAX_INTS];
} liana__ints;

typedef struct liana__strings {
    size_t count;
    const char *const *items;
} liana__strings;

struct liana__fields;

typedef struct liana__field {
    const char *name;
    liana__field_kind kind;
    size_t offset;
    /* As written in YAML (a word, or a list of words in []); NULL means zero, NULL or empty. */
    const char *default_text;
    bool required;
    /* Allowed range of INT, FLOAT, INT_PAIR and INTS, both ends included; INFINITY: no limit on that side. Not checked
     * if minimum == maximum. A FLOAT must always be finite. */
    double minimum;
    double maximum;
    const char *const *names; /* ENUM: NULL-terminated */
    const struct liana__fields *section;
    const char *doc; /* one sentence, with the unit */
} liana__field;

typedef struct liana__fields {
    const char *name; /* the struct's name in messages: "data", "Conv2D" */
    size_t size;      /* sizeof the struct */
    size_t count;
    const liana__field *items;
} liana__fields;

/* A row for a member that is called as the option is; its kind is what comes behind LIANA__FIELD_. Further members of
 * the row may follow. And the table itself, from an array of rows. */
#define LIANA__FIELD_ROW(type, member, field_kind, ...)                                                   \
    {                                                                                                     \
        .name = #member, .kind = LIANA__FIELD_##field_kind, .offset = offsetof(type, member), __VA_ARGS__ \
    }
#define LIANA__FIELD_TABLE(table_name, type, rows)                        \
    {                                                                     \
        (table_name), sizeof(type), sizeof(rows) / sizeof *(rows), (rows) \
    }

/* Fills a struct with the defaults (with zeros first). Errors: OUT_OF_MEMORY; INTERNAL if a field refuses its own
 * default_text. */
liana_status liana__fields_default(const liana__fields *fields, liana__arena *arena, void *object, liana__error *error)
    LIANA_MUST_USE;

/* Fills a struct from a map, with defaults where a key is missing. A NULL map is an empty one. null means "not given"
 * for strings, paths, lists and values (whatever their default is), and all defaults for a section. `ignored` (NULL or
 * NULL-terminated) lists keys that belong to another reader ("name", "class"). Errors: INVALID_CONFIG with file, line,
 * column, the dotted key below `where` ("train", "model.layers[2]"), what was found and what was expected. For an
 * unknown key the message suggests the nearest known one. */
liana_status liana__fields_read(const liana__fields *fields, const liana__value *map, const char *where,
                                const char *const *ignored, liana__arena *arena, void *object, liana__error *error)
    LIANA_MUST_USE;

/* The struct as a map, with every field (nested sections as nested maps; NULL strings as null). */
liana__value *liana__fields_write(const liana__fields *fields, liana__arena *arena, const void *object);

/* The field of that name, or NULL. */
const liana__field *liana__fields_find(const liana__fields *fields, const char *name);

/* Fails with INVALID_CONFIG and "file:line:column: where: message". If the line is 0, only the file is named (such as
 * "command line"); if that is NULL too, no place is. `where` may be NULL or empty. */
liana_status liana__fail_at(liana__error *error, const liana__place *place, const char *where, const char *format, ...)
    LIANA__PRINTF(4, 5);

#endif
