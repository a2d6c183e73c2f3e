/* operation.h - functions of keras.ops as layers: their options and builder (layer.h). */
#ifndef LIANA_LAYERS_OPERATION_H
#define LIANA_LAYERS_OPERATION_H

#include <liana/layer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A function of Keras's `keras.ops` on its inputs, written as a call: "mean(axis=1, keepdims=true)", "subtract(x1=1)",
 * "get_item(key=[:, 1:, 0])". The inputs are the operands that the text does not give, in order: those of
 * "subtract(x1=1)" are 1 and the input. Axis 0 is the batch, whose examples do not meet: the function must leave it
 * where it is. The result has no mask. docs/guides/models.md lists the functions. */
typedef struct liana_operation_options {
    LIANA_MERGE_OPTIONS;
    const char *function LIANA_DEFAULT_();
} liana_operation_options;
#define LIANA_OPERATION_DEFAULTS .trainable = true, .training = true
#define liana_operation(...) LIANA_ADD_("Operation", liana_operation_options, LIANA_OPERATION_DEFAULTS, __VA_ARGS__, )

#ifdef __cplusplus
}
#endif
#endif
