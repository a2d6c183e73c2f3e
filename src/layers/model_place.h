/* model_place.h - the layer that an error of compiling or running belongs to. */
#ifndef LIANA_LAYERS_MODEL_PLACE_H
#define LIANA_LAYERS_MODEL_PLACE_H

#include "layers/model.h"

/* Puts "layer 'NAME' (TYPE)" before an error that names the place of a layer as FILE:LINE:. The error stays as it is if
 * it names a layer or no place, or if several layers are at the place, as those that a loop makes. Both may be NULL. */
void liana__name_layer_at_place(const liana_model *model, liana__error *error);

#endif
