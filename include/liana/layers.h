/* layers.h - the layers of models, in families as in Keras's documentation; layer.h says what all of them have. */
#ifndef LIANA_LAYERS_H
#define LIANA_LAYERS_H

#include <liana/layers/activation.h>
#include <liana/layers/attention.h>
#include <liana/layers/colors.h>
#include <liana/layers/convolution.h>
#include <liana/layers/core.h>
#include <liana/layers/image_geometry.h>
#include <liana/layers/merging.h>
#include <liana/layers/normalization.h>
#include <liana/layers/operation.h>
#include <liana/layers/pooling.h>
#include <liana/layers/preprocessing.h>
#include <liana/layers/recurrent.h>
#include <liana/layers/regularization.h>
#include <liana/layers/reshaping.h>
#include <liana/ops.h>

#endif
