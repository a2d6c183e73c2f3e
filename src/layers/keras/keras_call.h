/* keras_call.h - calls of layers whose types have `arguments`, in an architecture file. */
#ifndef LIANA_LAYERS_KERAS_CALL_H
#define LIANA_LAYERS_KERAS_CALL_H

#include "layers/keras/keras_file.h"

typedef struct liana__keras_call {
    liana__keras_reference inputs[LIANA_MAX_LAYER_INPUTS]; /* by slot */
    uint32_t slots;                                        /* bit i: inputs[i] is there */
    liana__value *options;                                 /* the call's own, a map in the arena */
} liana__keras_call;

/* Reads a call of either form: {args, kwargs}, or a list of tensors of which the first has the named arguments. Errors:
 * UNIMPLEMENTED with the argument; OUT_OF_MEMORY. */
liana_status liana__keras_read_call(const liana_layer_type *type, const liana__value *call, const char *where,
                                    liana__arena *arena, liana__keras_call *result, liana__error *error) LIANA_MUST_USE;

/* *first is the value of the first argument: a tensor, or a list of tensors; the others go into `named`. `tensors` are
 * by slot; NULL: not given. */
void liana__keras_write_call(const liana_layer_type *type, const void *options, liana__value *const *tensors,
                             liana__arena *arena, liana__value **first, liana__value *named);

#endif
