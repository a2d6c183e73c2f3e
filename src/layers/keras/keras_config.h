/* keras_config.h - converts a layer's "config" of Keras 1, 2 or 3 to the options of liana's tables. */
#ifndef LIANA_LAYERS_KERAS_CONFIG_H
#define LIANA_LAYERS_KERAS_CONFIG_H

#include "layers/layer.h"

/* Writes the options into *options. Old names become new ones. Options that do not change the result are left out.
 * Options that would change it are refused: channels first, an axis other than the last (`rank` is the input's; 0:
 * there is none), parts that liana does not have. `class_name` is that of the file, whose type is `type`. `keras3`:
 * names have the meaning of Keras 3. Values keep their places. Errors: UNIMPLEMENTED and INVALID_CONFIG, with place and
 * key. */
liana_status liana__keras_read_config(const liana_context *context, const char *class_name,
                                      const liana_layer_type *type, const liana__value *config, const char *where,
                                      int rank, bool keras3, liana__arena *arena, liana__value **options,
                                      liana__error *error) LIANA_MUST_USE;

/* The precision of a dtype, or of a dtype policy; NULL (not given) is float32, as are float16 and mixed_float16. An
 * InputLayer may have any dtype, as images do. Errors: UNIMPLEMENTED for a dtype that has no counterpart, such as
 * float64. */
liana_status liana__keras_read_dtype(const liana__value *dtype, bool is_input, const char *where,
                                     liana_precision *precision, liana__error *error) LIANA_MUST_USE;

#endif
