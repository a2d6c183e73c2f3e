/* element.h - the inside of elements: their components, the places of their bytes, and memory to keep them. */
#ifndef LIANA_DATA_ELEMENT_H
#define LIANA_DATA_ELEMENT_H

#include "base/error.h"
#include "base/memory.h"

#include <liana/dataset.h>

/* The dimensions of a component that may be unknown: the first LIANA__MOST_UNKNOWN. */
enum { LIANA__MOST_UNKNOWN = 2 };

/* The components of a dataset's elements; names are borrowed. */
typedef struct liana__spec {
    size_t count;
    liana_component components[LIANA_MAX_COMPONENTS];
} liana__spec;

/* Copies components, with their names, into the arena, after checking them: names that exist and differ, known dtypes,
 * dimensions of at least 0 (the first two may be unknown), a size below 2^40 bytes. Errors: INVALID_ARGUMENT,
 * OUT_OF_MEMORY. */
liana_status liana__spec_make(liana__arena *arena, const liana_component *components, size_t count, liana__spec *spec,
                              liana__error *error) LIANA_MUST_USE;
/* Fails with INVALID_ARGUMENT and the first component that differs, unless both are equal. */
liana_status liana__spec_match(const liana__spec *found, const liana__spec *expected, liana__error *error)
    LIANA_MUST_USE;
/* The index of a component, or -1. */
int liana__spec_find(const liana__spec *spec, const char *name);
/* "u8 [28, 28, 1]" */
typedef struct liana__component_text {
    char text[160];
} liana__component_text;
liana__component_text liana__component_describe(const liana_component *component);

/* Whether the spec knows all dimensions. */
bool liana__component_is_static(const liana_component *component);
/* The number of values of a component whose first dimension is `rows`, and whose second one, if it is unknown, is
 * `width`; their bytes. */
int64_t liana__component_count(const liana_component *component, int64_t rows, int64_t width);
size_t liana__component_size(const liana_component *component, int64_t rows, int64_t width);
/* The first dimension, if it is known; 1 for a scalar. */
int64_t liana__component_rows(const liana_component *component);
/* The second dimension, if it is known; 0 if there is none. */
int64_t liana__component_width(const liana_component *component);
/* Bytes of one value. */
size_t liana__component_value_size(const liana_component *component);

struct liana__holder;

/* An element. Everything is borrowed from its giver, until the next element. */
struct liana_element {
    const liana__spec *spec;
    uint64_t record; /* index of its origin in the data */
    const void *data[LIANA_MAX_COMPONENTS];
    /* The first and the second dimensions, where the spec does not know them; elsewhere they need not be set. */
    int64_t rows[LIANA_MAX_COMPONENTS];
    int64_t widths[LIANA_MAX_COMPONENTS];
    struct liana__holder *store; /* while it is made */
};

/* The first and the second dimension of a component of an element; the shape of its values; their number and bytes. */
int64_t liana__element_rows(const liana_element *element, size_t component);
int64_t liana__element_width(const liana_element *element, size_t component);
liana_shape liana__element_shape(const liana_element *element, size_t component);
int64_t liana__element_count(const liana_element *element, size_t component);
size_t liana__element_size(const liana_element *element, size_t component);
/* Sets component `to` of an element to component `from` of another. */
void liana__element_borrow(liana_element *element, size_t to, const liana_element *other, size_t from);

/* Row `row` of an element whose components have a first dimension more than those of the spec. */
void liana__element_row(const liana__spec *spec, const liana_element *whole, int64_t row, liana_element *element);

/* Memory for one element, reused for the next. Zero-initialise; free with liana__holder_free. */
typedef struct liana__holder {
    liana_element element;
    void *columns[LIANA_MAX_COMPONENTS];
    size_t capacities[LIANA_MAX_COMPONENTS];
    char *heap; /* bytes of strings */
    size_t heap_size;
    size_t heap_capacity;
    char *message; /* of liana_element_fail, or NULL */
} liana__holder;

/* Makes room for an element; `rows` is its first dimension where the spec does not say it, and an unknown second one is
 * 0. Then it is filled through the store's element, and finished. Strings are empty at first; numbers are undefined.
 * Errors: OUT_OF_MEMORY. */
liana_status liana__holder_begin(liana__holder *store, const liana__spec *spec, int64_t rows, liana__error *error)
    LIANA_MUST_USE;
/* Makes room for other unknown dimensions of a component, whose values are lost. */
liana_status liana__holder_resize(liana__holder *store, size_t component, int64_t rows, int64_t width,
                                  liana__error *error) LIANA_MUST_USE;
/* Sets everything to zeros and empty strings. */
void liana__holder_clear(liana__holder *store);
/* Makes component `to` a copy of component `from` of an element, whose spec must be the same or know more. */
liana_status liana__holder_take(liana__holder *store, size_t to, const liana_element *element, size_t from,
                                liana__error *error) LIANA_MUST_USE;
/* Copies component `from` of an element to value number `at` of component `to`. */
liana_status liana__holder_put(liana__holder *store, size_t to, int64_t at, const liana_element *element, size_t from,
                               liana__error *error) LIANA_MUST_USE;
/* Sets string `index` of a component to a copy of the bytes. */
liana_status liana__holder_set_string(liana__holder *store, size_t component, int64_t index, const void *bytes,
                                      size_t size, liana__error *error) LIANA_MUST_USE;
void liana__holder_finish(liana__holder *store, liana_element *element);
/* Copies an element: begin, put each component, finish. */
liana_status liana__holder_copy(liana__holder *store, const liana_element *element, liana_element *copy,
                                liana__error *error) LIANA_MUST_USE;
size_t liana__holder_bytes(const liana__holder *store);
void liana__holder_free(liana__holder *store);

#endif
