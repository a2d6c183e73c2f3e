/* element.h - what a dataset consists of: elements, which are named components.
 *
 * The components of all elements of a dataset have the same names, dtypes and shapes, known before the first element
 * is. Strings are any bytes; they stay on the host. */
#ifndef LIANA_ELEMENT_H
#define LIANA_ELEMENT_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LIANA_STRING = LIANA_NUM_DTYPES, /* a dtype of components only */
    LIANA_MAX_COMPONENTS = 16,
    LIANA_UNKNOWN_DIM = -1,
};

typedef struct liana_component {
    const char *name;
    int dtype; /* liana_dtype or LIANA_STRING */
    /* Static, but for the first dimension of a batch whose remainder is kept: LIANA_UNKNOWN_DIM. */
    liana_shape shape;
} liana_component;

typedef struct liana_bytes {
    const void *data;
    size_t size;
} liana_bytes;

/* Values of a component, row-major; for LIANA_STRING `data` is an array of liana_bytes. */
typedef struct liana_array {
    const char *name;
    int dtype;
    liana_shape shape;
    const void *data;
} liana_array;

typedef struct liana_element liana_element;

LIANA_API size_t liana_element_num_components(const liana_element *element);
LIANA_API const liana_component *liana_element_component(const liana_element *element, size_t index);
/* The component's shape in this element, without unknown dimensions; rank 0 where there is no such component. */
LIANA_API liana_shape liana_element_shape(const liana_element *element, const char *name);

/* The numbers of a component; NULL where there is none of that name, or it holds strings. */
LIANA_API const void *liana_element_data(const liana_element *element, const char *name);
/* String `index` of a component, from 0; {NULL, 0} where there is none. Not NUL-terminated. */
LIANA_API liana_bytes liana_element_string(const liana_element *element, const char *name, int64_t index);

/* For functions that make an element: where the numbers of a component go (NULL as above). */
LIANA_API void *liana_element_output(liana_element *element, const char *name);
/* Copies a string. Errors: INVALID_ARGUMENT (no such string), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_element_set_string(liana_element *element, const char *name, int64_t index,
                                                               const void *bytes, size_t size);
/* Says in a sentence why the element cannot be made, and returns `status`, for the function to return. */
LIANA_API liana_status liana_element_fail(liana_element *element, liana_status status, const char *message);

#ifdef __cplusplus
}
#endif
#endif
