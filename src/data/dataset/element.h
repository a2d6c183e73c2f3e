/* element.h - the inside of elements: what they are said to be, where their bytes lie, and memory to keep them in. */
#ifndef LIANA_DATA_ELEMENT_H
#define LIANA_DATA_ELEMENT_H

#include "base/error.h"
#include "base/memory.h"

#include <liana/element.h>

/* The components of a dataset's elements; names are borrowed. */
typedef struct liana__spec {
    size_t count;
    liana_component components[LIANA_MAX_COMPONENTS];
} liana__spec;

/* Copies components, their names into the arena, after checking them: names that are there and differ, known dtypes,
 * dimensions of at least 0 (the first may be unknown), a size below 2^40 bytes. Errors: INVALID_ARGUMENT,
 * OUT_OF_MEMORY. */
liana_status liana__spec_make(liana__arena *arena, const liana_component *components, size_t count, liana__spec *spec,
                              liana__error *error) LIANA_MUST_USE;
/* INVALID_ARGUMENT with the first component that differs, unless both say the same. */
liana_status liana__spec_match(const liana__spec *found, const liana__spec *expected, liana__error *error)
    LIANA_MUST_USE;
/* The index of a component, or -1. */
int liana__spec_find(const liana__spec *spec, const char *name);
/* "u8 [28, 28, 1]" */
typedef struct liana__component_text {
    char text[160];
} liana__component_text;
liana__component_text liana__component_describe(const liana_component *component);

/* How many values a component has, and how many bytes they take, where its first dimension is `rows`. */
int64_t liana__component_count(const liana_component *component, int64_t rows);
size_t liana__component_size(const liana_component *component, int64_t rows);
/* The first dimension, as far as it is known; 1 for a scalar. */
int64_t liana__component_rows(const liana_component *component);

struct liana__holder;

/* Everything is borrowed from whoever gave the element, until that gives the next one. */
struct liana_element {
    const liana__spec *spec;
    uint64_t record; /* the index in the data that it came from */
    const void *data[LIANA_MAX_COMPONENTS];
    int64_t rows[LIANA_MAX_COMPONENTS]; /* first dimensions */
    struct liana__holder *store;        /* while it is being made */
};

/* Memory of one element, kept from element to element. Zero-initialise, free with liana__holder_free. */
typedef struct liana__holder {
    liana_element element;
    void *columns[LIANA_MAX_COMPONENTS];
    size_t capacities[LIANA_MAX_COMPONENTS];
    char *heap; /* bytes of strings */
    size_t heap_size;
    size_t heap_capacity;
    char *message; /* of liana_element_fail, or NULL */
} liana__holder;

/* Makes room for an element, its first dimensions `rows` where the spec does not say them; then it is filled through
 * the store's element, and finished. Strings are empty at first, numbers are anything. Errors: OUT_OF_MEMORY. */
liana_status liana__holder_begin(liana__holder *store, const liana__spec *spec, int64_t rows, liana__error *error)
    LIANA_MUST_USE;
/* All zeros and empty strings. */
void liana__holder_clear(liana__holder *store);
/* Copies component `from` of an element to where the value of number `at` of component `to` stands. */
liana_status liana__holder_put(liana__holder *store, size_t to, int64_t at, const liana_element *element, size_t from,
                               liana__error *error) LIANA_MUST_USE;
/* Sets string `index` of a component to a copy of the bytes. */
liana_status liana__holder_set_string(liana__holder *store, size_t component, int64_t index, const void *bytes,
                                      size_t size, liana__error *error) LIANA_MUST_USE;
void liana__holder_finish(liana__holder *store, liana_element *element);
/* All of it: begin, put each component, finish. */
liana_status liana__holder_copy(liana__holder *store, const liana_element *element, liana_element *copy,
                                liana__error *error) LIANA_MUST_USE;
size_t liana__holder_bytes(const liana__holder *store);
void liana__holder_free(liana__holder *store);

#endif
