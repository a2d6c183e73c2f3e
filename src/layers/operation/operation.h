/* operation.h - functions of keras.ops as layers of models: the class Operation.
 *
 * A function is written as a call, "mean(axis=1, keepdims=true)". Keras distinguishes operands, which are tensors or
 * constants, and settings. The inputs of the layer are the operands that the text does not give, in order.
 *
 * To add a function: a row of its name, class and parameters, and how it is built, in table.c. */
#ifndef LIANA_LAYERS_OPERATION_OPERATION_H
#define LIANA_LAYERS_OPERATION_OPERATION_H

#include "layers/option_rows.h"

enum { LIANA__MOST_OPERANDS = LIANA_MAX_LAYER_INPUTS };

struct liana__operation_call;

typedef struct liana__operation_row {
    const char *name;       /* in keras.ops */
    const char *class_name; /* Keras's */
    const char *module;     /* in keras.src.ops */
    /* Names of parameters, with blanks between. One operand that ends with '*' is a list of all inputs; with '+' these
     * are arguments one after the other. */
    const char *operands, *settings;
    /* How it is built: of one or two operands of one dtype, or otherwise. */
    liana_tensor (*of_one)(liana_location here, liana_tensor x);
    liana_tensor (*of_two)(liana_location here, liana_tensor a, liana_tensor b);
    liana_tensor (*build)(struct liana__operation_call *call);
    bool takes_integers; /* integers and bools stay what they are; else they become floats */
} liana__operation_row;

/* All functions; the last one has no name. */
extern const liana__operation_row liana__operations[];

/* A function with its arguments. */
typedef struct liana__function_call {
    const liana__operation_row *row;
    const liana__value *arguments; /* a map, without null */
} liana__function_call;

/* Reads a text, in the arena. Errors: INVALID_CONFIG without a place; OUT_OF_MEMORY. */
liana_status liana__operation_read(const char *text, liana__arena *arena, liana__function_call *operation,
                                   liana__error *error) LIANA_MUST_USE;
/* The text of it. NULL: out of memory. */
const char *liana__operation_text(liana__arena *arena, const liana__function_call *operation);

/* Whether `name` is one of the words of a list with blanks between; without their '*' or '+'. */
bool liana__operation_has(const char *list, const char *name);
/* The next word of such a list, in `word`; false: there is none. *list goes forward. */
bool liana__operation_next(const char **list, char word[32]);
/* Whether the word before `list` stands for several operands. */
bool liana__operation_is_list(const char *list);

/* An operation that is being built. */
typedef struct liana__operation_call {
    liana_layer_call *layer;
    liana_location here;
    const liana__operation_row *row;
    const liana__value *arguments;
    /* In the order of the row, or of a list; of one dtype. Those that are no numbers are not there: id 0. */
    liana_tensor operands[LIANA__MOST_OPERANDS];
    size_t count;
} liana__operation_call;

/* Fails the graph with INVALID_ARGUMENT: "NAME: MESSAGE". Returns an invalid tensor. */
liana_tensor liana__operation_fail(const liana__operation_call *call, const char *format, ...) LIANA__PRINTF(2, 3);

/* ---- Keras's files (keras.c) ---- */

/* Reads a node of a graph: an operation of Keras 3 with `call`, its {args, kwargs}; or a TFOpLambda or SlicingOpLambda
 * of Keras 2 with `call`, its list of inputs. *text is in the arena. Errors: UNIMPLEMENTED with the operation or the
 * argument that liana does not have; OUT_OF_MEMORY. */
liana_status liana__operation_from_keras(const liana__value *node, const liana__value *call, liana__arena *arena,
                                         const char **text, liana__error *error) LIANA_MUST_USE;

/* Whether a class is that of an operation. */
bool liana__operation_is_class(const char *class_name);

/* For Keras 3: the module, the config without a name, and the arguments of the call on `tensors`. NULL: out of
 * memory. */
const char *liana__operation_module(liana__arena *arena, const liana__function_call *operation);
liana__value *liana__operation_config(liana__arena *arena, const liana__function_call *operation);
liana__value *liana__operation_args(liana__arena *arena, const liana__function_call *operation,
                                    liana__value *const *tensors, size_t count);

/* Builds the operation of a text that was checked. */
liana_tensor liana__operation_build(liana_layer_call *layer, const liana__function_call *operation);

#endif
