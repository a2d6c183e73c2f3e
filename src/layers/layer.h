/* layer.h - layers, which are liana_layer_type of <liana/parts.h>.
 *
 * To add a layer: write src/layers/<family>/<stem>.c with the struct, add one row to src/layers/layers.def, and an
 * options struct with a builder to include/liana/layers/<family>.h. Names, options, defaults and formulas are
 * Keras's. */
#ifndef LIANA_LAYERS_LAYER_H
#define LIANA_LAYERS_LAYER_H

#include "base/part.h"

#include <liana/ops.h>

/* Checks that the text of an option names an activation. */
liana_status liana__check_activation(liana_check *check, const char *option, const char *text) LIANA_MUST_USE;

/* Checks all options of a table that name initialisers, regularisers, constraints and activations: by the ends of their
 * names. Called for every layer. */
liana_status liana__check_named_parts(liana_check *check, const liana_options *fields) LIANA_MUST_USE;

/* Checks that input 0 is [batch, height, width, channels]. */
liana_status liana__build_images(liana_layer_build *build) LIANA_MUST_USE;

#define LIANA__LAYER(stem, name) extern const liana_layer_type liana__layer_##name;
#include "layers/layers.def"
#undef LIANA__LAYER

/* Options that ask for a rule of masks of Keras 2, which Keras's files do not have as such: of layers that go through
 * steps, and of layers that join others. Files of Keras 2 are read with them. */
#define LIANA__MASK_WITH_STATES "mask_with_states"
#define LIANA__MASKS_OF_KERAS2 "masks_of_keras2"
extern const char *const liana__keras2_masks[];

/* An option of BatchNormalization, which Keras's files do not have as such. */
#define LIANA__POPULATION_VARIANCE "population_variance"

/* The kind: its list has all layer types in the order of layers.def. */
extern const liana__kind liana__layer_kind;

/* Calls a layer: converts integer inputs where the type does not take them, makes the mask of the result, and checks
 * the layer's result. */
liana_tensor liana__layer_invoke(const liana_layer_type *type, liana_layer_call *call);

/* Or of all masks; an invalid one if an input has none (Keras 3's rule for layers that join inputs). Of arguments only
 * the first one's. */
liana_tensor liana__layer_join_masks(const liana_layer_type *type, const liana_layer_call *call);

/* The options of every layer. */
typedef struct liana__layer_common_options {
    const char *name;
    bool trainable, training;
} liana__layer_common_options;
extern const liana_options liana__layer_common;

/* The first two option names of liana_padding, for tables. */
extern const char *const liana__padding_names[];

#endif
