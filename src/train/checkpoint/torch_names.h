/* torch_names.h - safetensors files of PyTorch's models: the names and layouts of their tensors, and which networks of
 * torchvision and timm compute what Keras's do. */
#ifndef LIANA_TRAIN_TORCH_NAMES_H
#define LIANA_TRAIN_TORCH_NAMES_H

#include "formats/safetensors.h"

/* Whether the names are those of a PyTorch module ("features.conv0.weight"). */
bool liana__torch_has_names(const liana__safetensors_contents *contents);

/* A weight of a Keras layer that a tensor can be. */
typedef struct liana__torch_weight {
    const char *short_name; /* "kernel" */
    int rank;
    int64_t shape[LIANA__SAFETENSORS_MAX_RANK]; /* in Keras's layout */
    bool is_transposed;                         /* [out, in, height, width] becomes [height, width, in, out] */
} liana__torch_weight;
enum { LIANA__TORCH_MOST_WEIGHTS = 2 };

/* The weights that a tensor can be: of a layer that is named as the module. Their number, which is 0 for what PyTorch
 * counts only (num_batches_tracked). */
int liana__torch_weights(const liana__safetensors_tensor *tensor,
                         liana__torch_weight weights[LIANA__TORCH_MOST_WEIGHTS]);
/* The module of a tensor: "features.conv0" of "features.conv0.weight". NULL: it has none, or memory is out. */
const char *liana__torch_module(const liana__safetensors_tensor *tensor, liana__arena *arena);
/* Puts the elements of a tensor into Keras's layout; `from` has the tensor's. */
void liana__torch_transpose(const liana__safetensors_tensor *tensor, const float *from, float *to);

/* A network of torchvision or timm. */
typedef struct liana__torch_network {
    const char *mark;  /* a tensor that only this network has */
    const char *mark2; /* another one that it has, or NULL */
    const char *name;  /* "DenseNet of torchvision or timm" */
    /* Writes the name of the module that is Keras's layer. False: there is none. NULL: the network differs. */
    bool (*find_module)(const char *layer, char *module, size_t size);
    const char *difference; /* how it differs from Keras's, or NULL */
    const char *note;       /* what the file does not say, or NULL */
    const char *family;     /* how timm's names of the variants that agree begin, or NULL */
    bool is_normalised;     /* its images are normalised before it, where Keras's network does that itself */
} liana__torch_network;

/* The network whose tensors the file has, or NULL. *prefix is before all their names: "", or of a program that wraps
 * the network ("module."). In the arena. */
const liana__torch_network *liana__torch_find_network(const liana__safetensors *file, liana__arena *arena,
                                                      const char **prefix);

/* What timm's configuration beside a file says of it: config.json, as its hub has it. */
typedef struct liana__torch_config {
    bool is_known;      /* the file is of the variant that agrees with Keras's */
    float mean[3];      /* by which images are normalised before the network: ImageNet's, if nothing is said */
    float deviation[3]; /* the same */
} liana__torch_config;

/* For images that are normalised by ImageNet's mean and deviation. */
extern const liana__torch_config liana__torch_imagenet;

/* Reads it. Errors: UNIMPLEMENTED (the file is of another variant). */
liana_status liana__torch_read_config(const liana__torch_network *network, const char *path,
                                      liana__torch_config *config, liana__error *error) LIANA_MUST_USE;

#endif
