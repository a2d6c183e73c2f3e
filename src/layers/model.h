/* model.h - the container of layers, which the trainer, the checkpoints and the summaries use.
 *
 * Build it with liana_model_create and the builders of <liana/layers.h>, with liana__model_from_layers (YAML), or with
 * liana__model_from_keras (JSON). Then call liana__model_check. Then, for each graph, liana__model_call. */
#ifndef LIANA_LAYERS_MODEL_H
#define LIANA_LAYERS_MODEL_H

#include "base/context.h"
#include "layers/initializers.h"
#include "layers/layer.h"

typedef struct liana__weight {
    const char *name;       /* "conv2d/kernel": the name of the variable in graphs and checkpoints */
    const char *short_name; /* "kernel" */
    liana_shape shape;
    size_t layer;   /* index of its layer */
    bool trainable; /* a property of its kind: false for moving averages; see liana__weight_trainable */
    liana__initializer initializer;
} liana__weight;

typedef struct liana__layer {
    const liana__layer_type *type;
    const char *name;
    void *options;
    bool trainable;
    size_t *inputs; /* indices of earlier layers */
    size_t num_inputs;
    size_t first_weight;
    size_t num_weights;
    liana_shape shape; /* of the result, with a batch of 1 */
    bool is_softmax;   /* over the last axis of the result */
    bool is_identity;  /* with these options, outside training */
    liana_location where;
} liana__layer;

struct liana_model {
    liana_context *context;
    liana__arena arena;
    const char *name;             /* NULL: by its layers */
    bool functional;              /* Keras JSON says Functional, even if the layers are a sequence */
    const liana_location *blamed; /* the line that asked for an architecture, which errors name while its layers are
                                   * built */
    liana__error error;           /* the sticky one */
    liana__layer *layers;         /* inputs before users; [0] is the InputLayer, the last one is the output */
    size_t num_layers;
    size_t layer_capacity;
    liana__weight *weights; /* Keras's order: layer by layer */
    size_t num_weights;
    size_t weight_capacity;
    liana_precision precision;
    liana_preprocessing preprocessing; /* names in the arena; set by src/train */
    bool knows_classes;                /* the classes are known: without names they are numbers */
    /* The values of the first num_values weights: f32 on the host, malloc'ed, kept by src/train. */
    float **values;
    size_t num_values;
    uint64_t values_version;    /* another number whenever values are */
    uint64_t structure_version; /* ... whenever layers, or what of them trains, are */
    /* What fit, evaluate and predict compiled; kept by src/train. */
    void *compiled;
    void (*destroy_compiled)(void *compiled);
};

/* ---- building ---- */

/* A request for a layer whose options are in a map. */
typedef struct liana__layer_request {
    liana_location here;
    const char *where; /* the dotted key in messages ("model.layers[2].Conv2D"); NULL: the layer's name */
    const liana__layer_type *type;
    const char *name;     /* NULL: Keras's automatic name */
    bool frozen;          /* trainable: false */
    const size_t *inputs; /* layer indices; NULL: the layer before */
    size_t num_inputs;
    const liana__value *options;   /* NULL: all defaults */
    const char *const *other_keys; /* keys of the map that are not options; NULL-terminated, or NULL */
} liana__layer_request;
liana_layer liana__model_add(liana_model *model, const liana__layer_request *request);

/* Converts a builder's options struct to a map. Pairs given as one number are completed. An enum outside of its names
 * and a list that is too long are refused ("option: found ..."). */
liana_status liana__options_to_map(const liana__fields *fields, const void *options, liana__arena *arena,
                                   const liana__value **map, liana__error *error) LIANA_MUST_USE;

/* Sets the model's error (unless it has one) as "file:line: message", and returns an invalid layer. */
liana_layer liana__model_fail(liana_model *model, liana_location here, liana_status status, const char *format, ...)
    LIANA__PRINTF(4, 5);

/* Adds the layers of a YAML list to a model: each `- Flatten` or `- Conv2D: {filters: 32, ...}`. Besides the options, a
 * layer may have the keys name, inputs (a name or a list of names; default: the layer before) and trainable. If the
 * model is empty and the list does not begin with InputLayer, one for examples of `input_shape` (without the batch) is
 * added first. The error is the model's; it names file, line, column and the dotted key below `where`. */
liana_status liana__model_from_layers(liana_model *model, const liana__value *list, const char *where,
                                      const liana_shape *input_shape) LIANA_MUST_USE;

/* Checks that the model has an input, at least one other layer, and no layer that does not lead to the output. */
liana_status liana__model_check(const liana_model *model, liana__error *error) LIANA_MUST_USE;

/* Checks that the model's outputs are probabilities: at least 0, with sum 1. It must end in a softmax, or in layers
 * after one that keep this. Errors: INVALID_CONFIG, with place and layer. */
liana_status liana__model_check_probabilities(const liana_model *model, liana__error *error) LIANA_MUST_USE;

/* ---- questions ---- */

/* -1 if there is none. */
int liana__model_find_layer(const liana_model *model, const char *name);
int liana__model_find_weight(const liana_model *model, const char *name);
/* The shapes of the model's input and result, with a batch of 1. */
liana_shape liana__model_input_shape(const liana_model *model);
liana_shape liana__model_output_shape(const liana_model *model);
/* Whether training changes the weight by its gradient: it is not a moving average, and its layer is not frozen. */
bool liana__weight_trainable(const liana_model *model, size_t weight);
/* Whether every layer's only input is the layer before it. */
bool liana__model_is_sequential(const liana_model *model);
/* The model's name, or "sequential" or "model". */
const char *liana__model_name(const liana_model *model);
void liana__model_summary(const liana_model *model, liana__text *text);

/* ---- changing ---- */

/* trainable of layers begin..end-1. */
void liana__model_set_trainable(liana_model *model, size_t begin, size_t end, bool trainable);
/* Freezes the layers before `name`; it and the later layers are trained. NOT_FOUND with the nearest name. */
liana_status liana__model_train_from(liana_model *model, const char *name, liana__error *error) LIANA_MUST_USE;

/* The initial values of a weight: f32, row-major, drawn by (seed, index of the weight, element). */
void liana__model_initialize(const liana_model *model, uint64_t seed, size_t weight, float *values);

/* ---- graphs ---- */

typedef struct liana__model_mode {
    bool training; /* dropout drops, batch normalisation uses the shard's statistics */
    /* u64 [batch]: each example's address; needed in training if a Dropout has a rate above 0. */
    liana_tensor positions;
    /* f32 [batch]: 1, or 0 for rows that count as missing in batch statistics; invalid: none does. */
    liana_tensor present;
    uint64_t seed;
} liana__model_mode;

/* A moving average to update: average = momentum * average + (1 - momentum) * statistic. The statistic (of the weight's
 * shape) is averaged over the shards of the update, weighted by their example counts. If `about` is a weight, the
 * statistic is a second moment about that weight's old value. The square of (the average of that weight's own statistic
 * - its old value) is then subtracted. So the variance is that of the whole update, however it was cut into shards, and
 * stays accurate when the mean is far larger than the deviation. */
typedef struct liana__model_update {
    size_t weight;
    liana_tensor statistic;
    double momentum;
    size_t about; /* or LIANA__NO_WEIGHT */
} liana__model_update;

/* Arrays are in the graph's arena. */
typedef struct liana__model_results {
    liana_tensor output;
    liana_tensor logits;   /* the logits, if the output is a softmax over the last axis; else invalid */
    liana_tensor *layers;  /* the result of each layer */
    liana_tensor *weights; /* the graph's variable of each weight */
    liana__model_update *updates;
    size_t num_updates;
} liana__model_results;

/* Builds the model's graph on `input` [batch, ...] for any batch size. Each weight is a variable of `input`'s dtype
 * with the weight's name. Errors stay with the graph, with the place where the layer was written; a model that has
 * failed, or an input of another shape, is an error. */
liana__model_results liana__model_call(const liana_model *model, liana_tensor input, const liana__model_mode *mode);

/* ---- Keras JSON ---- */

/* The architecture in the form of Keras 2's model.to_json(). NULL: out of memory. */
liana__value *liana__model_to_keras(const liana_model *model, liana__arena *arena);

/* Adds the layers of an architecture file of Keras 1, 2 or 3 to an empty model (Sequential or Functional; one input,
 * one output, channels last, no layer used twice). The error is the model's; it names file, line and layer. */
liana_status liana__model_from_keras(liana_model *model, const liana__value *architecture) LIANA_MUST_USE;

#endif
