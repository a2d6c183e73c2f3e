/* element.h - elements of datasets. An element consists of named components.
 *
 * All elements of a dataset have the same components: same names, dtypes and shapes. They are known before the first
 * element is made. Strings are any bytes; they stay on the host. */
#ifndef LIANA_ELEMENT_H
#define LIANA_ELEMENT_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LIANA_STRING = LIANA_NUM_DTYPES, /* a dtype that only components have */
    LIANA_MAX_COMPONENTS = 16,
    LIANA_UNKNOWN_DIM = -1,
};

typedef struct liana_component {
    const char *name;
    int dtype; /* liana_dtype or LIANA_STRING */
    /* Static, with one exception: LIANA_UNKNOWN_DIM, the first dimension of a batch whose remainder is kept. */
    liana_shape shape;
} liana_component;

typedef struct liana_bytes {
    const void *data;
    size_t size;
} liana_bytes;

/* The values of a component, in row-major order. For LIANA_STRING `data` is an array of liana_bytes. */
typedef struct liana_array {
    const char *name;
    int dtype;
    liana_shape shape;
    const void *data;
} liana_array;

typedef struct liana_element liana_element;

/* These answer NULL with 0, NULL, or a shape of rank 0. */
LIANA_API size_t liana_element_num_components(const liana_element *element);
LIANA_API const liana_component *liana_element_component(const liana_element *element, size_t index);
/* The shape of the component in this element, without unknown dimensions. Rank 0 if there is no such component. */
LIANA_API liana_shape liana_element_shape(const liana_element *element, const char *name);

/* The numbers of a component. NULL if there is no such component, or if it holds strings. */
LIANA_API const void *liana_element_data(const liana_element *element, const char *name);
/* String `index` of a component, from 0. {NULL, 0} if there is none. Not NUL-terminated. */
LIANA_API liana_bytes liana_element_string(const liana_element *element, const char *name, int64_t index);

/* For functions that make an element: the memory for the numbers of a component. NULL as above. */
LIANA_API void *liana_element_output(liana_element *element, const char *name);
/* Sets a string to a copy of `bytes`, which may be NULL if `size` is 0. Errors: INVALID_ARGUMENT (no such string), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_element_set_string(liana_element *element, const char *name, int64_t index,
                                                               const void *bytes, size_t size);
/* Stores the sentence why the element cannot be made; NULL: none. Returns `status`, so that the function can return
 * it. */
LIANA_API liana_status liana_element_fail(liana_element *element, liana_status status, const char *message);

#ifdef __cplusplus
}
#endif
#endif
