/* weight_source.h - the source that weights.c reads, in any format: layers with named arrays. */
#ifndef LIANA_TRAIN_WEIGHT_SOURCE_H
#define LIANA_TRAIN_WEIGHT_SOURCE_H

#include "formats/hdf5.h"
#include "formats/safetensors.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "train/checkpoint/torch_names.h"

typedef struct liana__source_weight {
    const char *short_name; /* without the layer: "kernel" */
    int rank;
    const int64_t *shape;
    const void *entry; /* the format's own record; NULL: the weight has these values */
    const float *values;
    bool is_transposed; /* its elements are in PyTorch's order */
} liana__source_weight;

typedef struct liana__source_layer {
    const char *name;
    const char *model; /* the file's layer, if that is a nested model to which this layer belongs; else NULL */
    const char *owner; /* the layer in the name of its first weight, which may be inside a nested model of one layer */
    liana__source_weight *weights;
    size_t num_weights;
} liana__source_layer;

typedef struct liana__weight_source {
    const char *path;
    bool by_name; /* weights are matched by their names, not by their order */
    liana__source_layer *layers;
    size_t num_layers;
    bool has_scopes;  /* TensorFlow's names may begin with scopes, or with the model ("sequential/dense/kernel") */
    bool has_modules; /* PyTorch's names and layouts */
    const liana__torch_network *network; /* of torchvision or timm, or NULL */
    bool is_known;                       /* the network is that and no other */
    /* One of them. */
    liana__hdf5 *hdf5;
    bool is_safetensors;
    liana__safetensors safetensors;
    liana__tf_checkpoint tensorflow;
    liana__arena arena;
} liana__weight_source;

/* Opens a source, in the format that the first bytes show. `path` must outlive the source. */
liana_status liana__weight_source_open(const char *path, liana__weight_source *source, liana__error *error)
    LIANA_MUST_USE;
void liana__weight_source_close(liana__weight_source *source);
/* The layer of that name, or NULL. "encoder/dense" is also found as the layer "dense" of the file's nested model
 * "encoder", and "dense" in any nested model, if it is in one only. In a TensorFlow checkpoint the name may be the end of
 * a longer one, of one layer only. Of a network of PyTorch it is the module that is Keras's layer. */
const liana__source_layer *liana__weight_source_find(const liana__weight_source *source, const char *layer);
/* The end of a message about missing layers: how the network of the file differs from Keras's of that name. */
typedef struct liana__difference_text {
    char text[512];
} liana__difference_text;
liana__difference_text liana__weight_source_difference(const liana__weight_source *source);
/* What the file leaves open, in a sentence; else NULL. */
const char *liana__weight_source_note(const liana__weight_source *source);
/* Reads one array as f32. */
liana_status liana__weight_source_read(const liana__weight_source *source, const liana__source_weight *weight,
                                       float *values, liana__error *error) LIANA_MUST_USE;

#endif
