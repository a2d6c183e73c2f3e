/* merging.h - layers that join several layers: their options and builders (layer.h). */
#ifndef LIANA_LAYERS_MERGING_H
#define LIANA_LAYERS_MERGING_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The sum or the product, element by element; shapes are broadcast as in numpy. */
typedef struct liana_merge_options {
    LIANA_MERGE_OPTIONS;
} liana_merge_options;
#define LIANA_MERGE_DEFAULTS .trainable = true, .training = true
#define liana_add(...) LIANA_ADD_("Add", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )
#define liana_multiply(...) LIANA_ADD_("Multiply", liana_merge_options, LIANA_MERGE_DEFAULTS, __VA_ARGS__, )

/* The inputs one after the other along `axis`. */
typedef struct liana_concatenate_options {
    LIANA_MERGE_OPTIONS;
    int64_t axis LIANA_DEFAULT_(-1);
} liana_concatenate_options;
#define LIANA_CONCATENATE_DEFAULTS .trainable = true, .training = true, .axis = -1
#define liana_concatenate(...) \
    LIANA_ADD_("Concatenate", liana_concatenate_options, LIANA_CONCATENATE_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
