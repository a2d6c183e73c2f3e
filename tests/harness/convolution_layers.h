/* convolution_layers.h - one of each convolution, pooling, padding, cropping and upsampling layer that has brothers for
 * sequences and volumes, with options that are not the defaults. */
#ifndef LIANA_TESTS_CONVOLUTION_LAYERS_H
#define LIANA_TESTS_CONVOLUTION_LAYERS_H

#include <liana/model.h>

/* Adds them to the model, behind inputs "image", "steps" and "volume", and gives the layer to which all of them lead.
 * Errors stay with the model. */
liana_layer liana__test_add_convolutions(liana_model *model);

#endif
