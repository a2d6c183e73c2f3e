/* option_rows.h - rows for the tables of layer options; each names the options struct and the member, whose name is
 * Keras's name of the option. */
#ifndef LIANA_LAYERS_OPTION_ROWS_H
#define LIANA_LAYERS_OPTION_ROWS_H

#include "layers/layer.h"

#include <math.h>

/* A whole number from 1 on, and a pair of them. */
#define LIANA__COUNT_ROW(type, member, ...) \
    LIANA__FIELD_ROW(type, member, INT, .minimum = 1, .maximum = INT32_MAX, __VA_ARGS__)
#define LIANA__PAIR_ROW(type, member, ...) \
    LIANA__FIELD_ROW(type, member, INT_PAIR, .minimum = 1, .maximum = INT32_MAX, __VA_ARGS__)
#define LIANA__PADDING_ROW(type)                                                                  \
    LIANA__FIELD_ROW(type, padding, ENUM, .default_text = "valid", .names = liana__padding_names, \
                     .doc = "valid: whole windows only; same: zeros around, output = ceil(input / stride)")
#define LIANA__ACTIVATION_ROW(type) \
    LIANA__FIELD_ROW(type, activation, STRING, .doc = "applied to the result; default: linear")
#define LIANA__BIAS_ROW(type) \
    LIANA__FIELD_ROW(type, use_bias, BOOL, .default_text = "true", .doc = "whether a bias is added")
#define LIANA__INITIALIZER_ROW(type, member, text) \
    LIANA__FIELD_ROW(type, member, STRING, .default_text = text, .doc = "how this weight starts")

#endif
