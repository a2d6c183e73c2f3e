/* columns.h - columns: how components are made from the columns of a CSV file or the features of a tf.Example. */
#ifndef LIANA_DATA_COLUMNS_H
#define LIANA_DATA_COLUMNS_H

#include "base/field.h"

#include <liana/array.h>

enum { LIANA__DTYPE_DETECTED = -1 };

/* The most columns that `cross` takes together. */
enum { LIANA__MOST_CROSSED = 8 };

typedef struct liana__columns liana__columns;

/* One component. */
typedef struct liana__column {
    const char *name;
    liana__strings from; /* columns of a file, or one feature; never empty; "*": all columns that nothing else uses */
    bool stacked;        /* `from` was a list, so the component has a dimension even for one column */
    int dtype;           /* liana_dtype, LIANA_STRING or LIANA__DTYPE_DETECTED */
    bool category;       /* values are names; the component holds their numbers in the vocabulary */
    /* The names in the order of their numbers. Empty: those that occur, in byte order. */
    liana__strings vocabulary;
    bool ascending; /* the vocabulary is in byte order, without LIANA__UNKNOWN_NAME */
    /* 1: the vocabulary begins with LIANA__UNKNOWN_NAME, for names that it lacks; 0: those are an error. */
    int64_t num_oov_indices;
    int64_t hash_bins; /* a text becomes the number of a bin, by its hash; 0: not */
    int64_t cross;     /* the texts of all of `from` together become the number of one of so many bins; 0: not */
    /* A number becomes the count of boundaries that are not above it. NULL: it stays, unless num_bins is set: then the
     * table gives the boundaries. */
    int64_t num_bins;
    const liana__value *bin_boundaries; /* the option of that name */
    const double *boundaries;
    size_t num_boundaries;
    int64_t length;      /* cells hold several values, separated by blanks; the component is [length]; 0: one */
    double padding;      /* fills up to `length` */
    const char *lengths; /* name of another component, s32 []: how many values there were; NULL: none */
    /* Of tf.Examples: the feature with the place of each value; the others are padding. NULL: values come in order. */
    const char *indices;
    int64_t multi_hot;           /* values are class numbers; the component is [multi_hot], 1 at each of them; 0: not */
    const liana__value *missing; /* the option of that name, only while it is read */
    /* Stand for an empty cell or a missing feature: one for all of `from`, or one for each. Empty: it is an error. Of
     * columns of numbers also "mean" and "median", until the table is open. */
    liana__strings values_if_missing;
} liana__column;

/* The first name of a vocabulary with num_oov_indices, as Keras's StringLookup has it. */
#define LIANA__UNKNOWN_NAME "[UNK]"

/* "mean", "median" */
bool liana__is_statistic(const char *value);

/* Whether a mean, a median or boundaries of bins are still to be found. `columns` may be NULL. */
bool liana__columns_need_rows(const liana__columns *columns);

/* Whether the values become numbers of bins or names. */
static inline bool liana__column_is_numbered(const liana__column *column)
{
    return column->category || column->hash_bins || column->cross || column->num_bins || column->num_boundaries;
}

/* What stands for a missing value of number `index` of `from`; NULL: it is an error. */
static inline const char *liana__column_if_missing(const liana__column *column, size_t index)
{
    const liana__strings *values = &column->values_if_missing;
    return index < values->count ? values->items[index] : values->count ? values->items[0] : NULL;
}

struct liana__columns {
    size_t count;
    liana__column *items;
};

/* Reads {component: column, component: [column, ...], component: {from: ..., dtype: ..., ...}}, as data.columns is
 * written. Everything is in the arena. Errors: INVALID_CONFIG with place and key. */
liana_status liana__columns_read(const liana__value *map, const char *where, liana__arena *arena,
                                 liana__columns *columns, liana__error *error) LIANA_MUST_USE;
/* The map that reads to the same columns; NULL: out of memory. */
liana__value *liana__columns_write(const liana__columns *columns, liana__arena *arena);
/* Takes over the facts for the columns of the same name in `found`: dtypes, vocabularies, means, all names of '*'.
 * Strings are borrowed. */
void liana__columns_inherit(liana__columns *columns, const liana__columns *found);
/* The table of the keys of one column, for lists of keys. */
const liana__fields *liana__column_fields(void);
/* A copy in another arena. Errors: OUT_OF_MEMORY. */
liana_status liana__columns_copy(const liana__columns *columns, liana__arena *arena, liana__columns *copy,
                                 liana__error *error) LIANA_MUST_USE;
/* Whether a component is made of a feature of this name. `columns` may be NULL. */
bool liana__columns_use(const liana__columns *columns, const char *name);
/* The only column or feature that a component is made of; NULL: there is none, or several. That of the component 'id'
 * gives the ids of the records. */
const char *liana__columns_only(const liana__columns *columns, const char *name);
/* Whether the component 'label' is made of a column. Then the records have no other label, so `wanted`, the name of the
 * column or feature of labels (NULL: the usual names), must be that column. Errors: INVALID_ARGUMENT. */
liana_status liana__columns_make_label(const liana__columns *columns, const char *wanted, bool *make,
                                       liana__error *error) LIANA_MUST_USE;
const liana__column *liana__columns_get(const liana__columns *columns, const char *name);

/* The components of all columns, each followed by that of its lengths. */
typedef struct liana__column_components {
    size_t count;
    liana_component items[LIANA_MAX_COMPONENTS];
    size_t sizes[LIANA_MAX_COMPONENTS];                 /* bytes of one example */
    const liana__column *made_by[LIANA_MAX_COMPONENTS]; /* NULL: lengths of the component before */
} liana__column_components;

/* Errors: INVALID_CONFIG (too many). */
liana_status liana__columns_components(const liana__columns *columns, liana__column_components *components,
                                       liana__error *error) LIANA_MUST_USE;

/* One value of a cell or feature. */
typedef enum liana__cell_kind { LIANA__CELL_TEXT, LIANA__CELL_WHOLE, LIANA__CELL_REAL } liana__cell_kind;
typedef struct liana__cell {
    liana__cell_kind kind;
    const char *text; /* not NUL-terminated */
    size_t size;
    int64_t whole;
    double real;
} liana__cell;

/* The kind of number that a text is, with its value; LIANA__CELL_TEXT if it is no number. "nan" and "inf" are texts. */
liana__cell liana__cell_read(const char *text, size_t size);
/* Whether a text stands for a value that is missing, as other programs write it: "", "NA", "nan", "null", "?", ... */
bool liana__cell_is_missing(const char *text, size_t size);
/* The next value of a cell of several, separated by blanks; advances *at. False: there is none. */
bool liana__cell_next(const char **at, const char *end, const char **text, size_t *size);

/* Fills the component's values of one example with padding or zeros, before the first put. */
void liana__column_begin(const liana__column *column, void *values);
/* Writes value number `k` (from 0). Values at `length` and beyond are left out. A text of LIANA_STRING is borrowed.
 * Errors, without a place: INVALID_DATA (no number, a name that the vocabulary lacks), OUT_OF_RANGE (does not fit the
 * dtype, or is no class of `multi_hot`). */
liana_status liana__column_put(const liana__column *column, void *values, int64_t k, const liana__cell *cell,
                               liana__error *error) LIANA_MUST_USE;

/* Sets the boundaries; the numbers are copied. Errors: OUT_OF_MEMORY. */
liana_status liana__column_set_boundaries(liana__column *column, const double *boundaries, size_t count,
                                          liana__arena *arena, liana__error *error) LIANA_MUST_USE;

/* Writes the only value of a column with `cross`, of the texts of all of its columns or features. */
void liana__column_put_cross(const liana__column *column, void *values, const liana_bytes *texts);

/* Sets the vocabulary, which is borrowed; with num_oov_indices it gets LIANA__UNKNOWN_NAME if it lacks it. Errors:
 * OUT_OF_MEMORY. */
liana_status liana__column_set_vocabulary(liana__column *column, const liana__strings *vocabulary, liana__arena *arena,
                                          liana__error *error) LIANA_MUST_USE;

#endif
