/* options.h - tables that describe the members of a struct of options. From such a table liana reads options from YAML,
 * writes, checks, compares and lists them, and suggests the nearest name for an unknown one.
 *
 *     typedef struct power_options {
 *         double exponent;
 *     } power_options;
 *
 *     static const liana_option power_rows[] = {
 *         LIANA_OPTION_ROW(power_options, exponent, FLOAT, .default_text = "2.0", .minimum = 1, .maximum = 8,
 *                          .doc = "of the distance"),
 *     }; */
#ifndef LIANA_OPTIONS_H
#define LIANA_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__cplusplus)
#include <initializer_list>
#endif

#ifdef __cplusplus
extern "C" {
#endif

enum { LIANA_MAX_INTS = 16, LIANA_MAX_AXES = 8 };

/* A list of whole numbers: LIANA_INTS(28, 28, 1). */
typedef struct liana_ints {
    int64_t count;
    int64_t values[LIANA_MAX_INTS];
} liana_ints;
#if !defined(__cplusplus)
#define LIANA_INTS(...) ((liana_ints){(int64_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), {__VA_ARGS__}})
#endif

/* A list of numbers: LIANA_FLOATS(0.5, 0.25). */
typedef struct liana_floats {
    size_t count;
    const double *items;
} liana_floats;
#if !defined(__cplusplus)
#define LIANA_FLOATS(...) \
    ((liana_floats){sizeof((const double[]){__VA_ARGS__}) / sizeof(double), (const double[]){__VA_ARGS__}})
#endif

/* A list of any number of whole numbers: LIANA_INTEGERS(12, 36). */
typedef struct liana_integers {
    size_t count;
    const int64_t *items;
} liana_integers;
#if !defined(__cplusplus)
#define LIANA_INTEGERS(...) \
    ((liana_integers){sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__}})
#endif

/* A list of texts. */
typedef struct liana_strings {
    size_t count;
    const char *const *items;
} liana_strings;

/* A layer that another one holds, such as the LSTM of a Bidirectional: LIANA_HELD (layer.h). Programs give the class
 * and the struct of options; NULL: there is none. */
typedef struct liana_held_layer {
    const struct liana__value *value; /* liana's: as it was read */
    const char *layer_class;
    const void *options;
    /* liana's, once it was read: its type, its name, and its weights among those of the layer that holds it. */
    const struct liana_layer_type *type;
    const char *name;
    bool frozen, inference;
    size_t first_weight, num_weights;
} liana_held_layer;

enum { LIANA_MAX_HELD_LAYERS = 16 };

/* Layers that another one holds: .items = {LIANA_HELD(...), LIANA_HELD(...)}. */
typedef struct liana_held_layers {
    const struct liana__value *value; /* liana's */
    size_t count;                     /* liana's */
    liana_held_layer items[LIANA_MAX_HELD_LAYERS];
} liana_held_layers;

typedef enum liana_option_kind {
    LIANA_OPTION_BOOL,     /* bool */
    LIANA_OPTION_INT,      /* int64_t */
    LIANA_OPTION_FLOAT,    /* double; NaN means "not given" if default_text is "null" (written as null) */
    LIANA_OPTION_STRING,   /* const char *; NULL if it is not given */
    LIANA_OPTION_PATH,     /* const char *: relative paths are relative to the folder of the file in which they are
                            * written */
    LIANA_OPTION_ENUM,     /* int: the index of a word in `names` */
    LIANA_OPTION_INT_PAIR, /* int64_t[2]; written as one number (both) or [first, second] */
    LIANA_OPTION_INTS,     /* liana_ints; written as a list (or one number) */
    LIANA_OPTION_STRINGS,  /* liana_strings; written as a list (or one text) */
    LIANA_OPTION_PATHS,    /* liana_strings of paths, each relative to the folder of its file */
    LIANA_OPTION_VALUE,    /* const struct liana__value *: kept as it is, for another reader */
    LIANA_OPTION_SECTION,  /* a nested struct, of which `section` is the table */
    LIANA_OPTION_FLOATS,   /* liana_floats; written as a list (or one number). Lists in lists are read row by row */
    LIANA_OPTION_AXES,   /* int64_t[LIANA_MAX_AXES]: axes up to the first 0, which would be the batch; written as a list
                            * (or one number) */
    LIANA_OPTION_LAYER,  /* liana_held_layer, of a layer that holds another: {LSTM: {units: 8}} */
    LIANA_OPTION_LAYERS, /* liana_held_layers: a list of these */
    /* As INT_PAIR for other numbers of axes. */
    LIANA_OPTION_INT_SINGLE, /* int64_t[1]; written as one number or [number] */
    LIANA_OPTION_INT_TRIPLE, /* int64_t[3]; written as one number (all) or [first, second, third] */
    LIANA_OPTION_INTEGERS,   /* liana_integers; written as a list (or one number) */
} liana_option_kind;

struct liana_options;

/* A row of a table: one member of a struct of options. */
typedef struct liana_option {
    const char *name;
    liana_option_kind kind;
    size_t offset; /* offsetof(the struct, the member) */
    /* As it is written in YAML: a word, or a list of words in []. NULL: false, 0, NULL, the first word, or empty. */
    const char *default_text;
    bool required;
    /* Allowed range of INT, FLOAT, INT_PAIR and its like, INTS, INTEGERS and FLOATS, both ends included; INFINITY: no
     * limit on that side. Not checked if minimum == maximum. Floats must always be finite. */
    double minimum;
    double maximum;
    const char *const *names; /* of ENUM; ends with NULL */
    const struct liana_options *section;
    const char *doc; /* one sentence, with the unit */
    /* Of PATH and PATHS: whether a text is a name that stays as it is; `path` is the path that it would be. NULL: all
     * texts are paths. */
    bool (*is_name)(const char *text, const char *path);
} liana_option;

/* A table. */
typedef struct liana_options {
    const char *name; /* of the struct, in messages; NULL for a part, which has a name */
    size_t size;      /* sizeof the struct */
    size_t count;
    const liana_option *items;
} liana_options;

/* A row for a member that has the option's name; its kind follows LIANA_OPTION_. Further members of the row may
 * follow. */
#define LIANA_OPTION_ROW(type, member, option_kind, ...)                                                   \
    {                                                                                                      \
        .name = #member, .kind = LIANA_OPTION_##option_kind, .offset = offsetof(type, member), __VA_ARGS__ \
    }

#ifdef __cplusplus
}

/* The numbers live until the end of the caller's expression. */
inline liana_floats liana_floats_(std::initializer_list<double> values)
{
    return liana_floats{values.size(), values.begin()};
}
#define LIANA_FLOATS(...) liana_floats_({__VA_ARGS__})

inline liana_integers liana_integers_(std::initializer_list<int64_t> values)
{
    return liana_integers{values.size(), values.begin()};
}
#define LIANA_INTEGERS(...) liana_integers_({__VA_ARGS__})
#endif
#endif
