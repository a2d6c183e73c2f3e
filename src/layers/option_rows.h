/* option_rows.h - rows for the tables of layer options. Each row names the options struct and the member; the member
 * has Keras's name of the option. */
#ifndef LIANA_LAYERS_OPTION_ROWS_H
#define LIANA_LAYERS_OPTION_ROWS_H

#include "layers/layer.h"

#include <math.h>

/* Members of a layer type that computes each shard by itself, and reads that many tensors. */
#define LIANA__INPUTS(least, most) .keeps_shards_apart = true, .min_inputs = (least), .max_inputs = (most)

/* A whole number of at least 1; a pair of them; one for each axis. */
#define LIANA__COUNT_ROW(type, member, ...) \
    LIANA_OPTION_ROW(type, member, INT, .minimum = 1, .maximum = INT32_MAX, __VA_ARGS__)
#define LIANA__PAIR_ROW(type, member, ...) \
    LIANA_OPTION_ROW(type, member, INT_PAIR, .minimum = 1, .maximum = INT32_MAX, __VA_ARGS__)
#define LIANA__AXES_ROW_1(type, member, ...) \
    LIANA_OPTION_ROW(type, member, INT_SINGLE, .maximum = INT32_MAX, __VA_ARGS__)
#define LIANA__AXES_ROW_2(type, member, ...) LIANA_OPTION_ROW(type, member, INT_PAIR, .maximum = INT32_MAX, __VA_ARGS__)
#define LIANA__AXES_ROW_3(type, member, ...) \
    LIANA_OPTION_ROW(type, member, INT_TRIPLE, .maximum = INT32_MAX, __VA_ARGS__)
#define LIANA__PADDING_ROW(type)                                                                  \
    LIANA_OPTION_ROW(type, padding, ENUM, .default_text = "valid", .names = liana__padding_names, \
                     .doc = "valid: only whole windows; same: zeros around the input, output = ceil(input / stride)")
#define LIANA__ACTIVATION_ROW(type) \
    LIANA_OPTION_ROW(type, activation, STRING, .doc = "activation of the result; default: linear")
#define LIANA__BIAS_ROW(type) \
    LIANA_OPTION_ROW(type, use_bias, BOOL, .default_text = "true", .doc = "whether a bias is added")
#define LIANA__INITIALIZER_ROW(type, member, text) \
    LIANA_OPTION_ROW(type, member, STRING, .default_text = text, .doc = "initial values of this weight")
/* Regularisers and constraints are checked and read by their names: see model/rules.c. */
#define LIANA__REGULARIZER_ROW(type, member) \
    LIANA_OPTION_ROW(type, member, STRING, .doc = "what is added to the loss for its size, such as l2(0.01)")
#define LIANA__CONSTRAINT_ROW(type, member) \
    LIANA_OPTION_ROW(type, member, STRING,  \
                     .doc = "what its values are limited to after each update, such as max_norm(2)")

#endif
