/* layer.h - the layer contract: everything liana knows about a kind of layer, in one const struct.
 *
 * To add a layer: write src/layers/<stem>.c with the struct, add one row to src/layers/layers.def, and an options
 * struct with a builder to include/liana/layers.h. Names, options, defaults and formulas are Keras's. */
#ifndef LIANA_LAYERS_LAYER_H
#define LIANA_LAYERS_LAYER_H

#include "base/context.h"
#include "base/field.h"

#include <liana/layers.h>

/* ---- checking options ---- */

typedef struct liana__layer_check {
    const liana_context *context;
    void *options;           /* may be completed in place (defaults that depend on other options) */
    const liana__value *map; /* the map from which they were read */
    const char *where;
    liana__error *error;
} liana__layer_check;

/* Fails with INVALID_CONFIG about one option, with its place: "config.yaml:3:9: model.layers[1].Conv2D.groups:
 * message". */
liana_status liana__option_fail(liana__layer_check *check, const char *option, const char *format, ...)
    LIANA__PRINTF(3, 4);
/* Checks that the text of an option names an activation; an initialiser. */
liana_status liana__check_activation(liana__layer_check *check, const char *option, const char *name) LIANA_MUST_USE;
liana_status liana__check_initializer(liana__layer_check *check, const char *option, const char *text) LIANA_MUST_USE;

/* Checks all options of a table that name regularisers and constraints. Called for every layer. */
liana_status liana__check_rules(liana__layer_check *check, const liana__fields *fields) LIANA_MUST_USE;

/* ---- declaring weights ---- */

typedef struct liana__layer_build {
    const void *options;
    const liana_shape *inputs; /* with a batch of 1 */
    size_t num_inputs;
    /* The rest belongs to the model. */
    liana_model *model;
    size_t layer;   /* its index */
    bool is_reuse;  /* the layer has its weights; they must fit these inputs too */
    size_t checked; /* weights, if it is a reuse */
    liana__error *error;
    liana_status status;
} liana__layer_build;

/* Declares the next weight, with Keras's name ("kernel"), in Keras's order: trainable weights first. */
void liana__add_weight(liana__layer_build *build, const char *name, liana_shape shape, const char *initializer,
                       bool trainable);
/* Fails with INVALID_ARGUMENT: "found an input of shape [1, 10], expected ..." */
liana_status liana__build_fail(liana__layer_build *build, size_t input, const char *expected);
/* Checks that input 0 is [batch, height, width, channels]. */
liana_status liana__build_images(liana__layer_build *build) LIANA_MUST_USE;

/* ---- building graph ---- */

/* No weight. */
static const size_t LIANA__NO_WEIGHT = SIZE_MAX;

/* A new value of a moving average: average = momentum * average + (1 - momentum) * statistic, with the statistic
 * averaged over the shards of the update. For a variance, `about` names the moving average of the mean. The statistic
 * is then the second moment about that mean's old value. After averaging, the square of the mean's change is
 * subtracted: the variance over all shards is not the mean of their variances. */
typedef struct liana__layer_update {
    size_t weight; /* which of the layer's weights */
    liana_tensor statistic;
    double momentum;
    size_t about; /* index of a weight of the layer, or LIANA__NO_WEIGHT */
} liana__layer_update;

enum { LIANA__MAX_LAYER_UPDATES = 2, LIANA__MAX_LAYER_WEIGHTS = 16 };

/* The activation that a result is of, so that a loss can start from the logits. */
typedef enum liana__logits_kind {
    LIANA__LOGITS_NONE,
    LIANA__LOGITS_SOFTMAX, /* result = softmax(logits) over the last axis */
    LIANA__LOGITS_SIGMOID, /* result = 1 / (1 + e^-logits) */
} liana__logits_kind;

typedef struct liana__layer_call {
    liana_location here; /* the place where the layer was written, passed to every op builder */
    const void *options;
    const liana_tensor *inputs; /* of the dtype below, or of an integer dtype if the type takes those */
    const liana_tensor *masks;  /* bool, of each input; an invalid one: none */
    size_t num_inputs;
    liana_dtype dtype;           /* a float: that of the weights */
    const liana_tensor *weights; /* in the order of their declaration */
    const struct liana__weight
        *declared; /* [num_weights]: the same, as the model knows them; only in a model's graph */
    size_t num_weights;
    bool training;
    bool trainable;
    liana_tensor positions; /* u64 [batch], for dropout; only in training */
    liana_tensor present;   /* f32 [batch]: 1, or 0 for rows that count as missing; invalid: none does */
    int64_t leaves;         /* so many leaves of equal size stand one behind the other in the batch; 0: one */
    uint64_t seed;
    uint32_t salt;
    /* Set by the layer. */
    liana_tensor logits; /* if the result is an activation of them */
    liana__logits_kind logits_kind;
    liana_tensor mask; /* of the result, if the type's masking is LIANA__MASK_OWN */
    liana__layer_update updates[LIANA__MAX_LAYER_UPDATES];
    size_t num_updates;
} liana__layer_call;

/* What a layer does to numbers that add up to 1 along the last axis, such as probabilities of classes. */
typedef enum liana__sums {
    LIANA__SUMS_CHANGED,
    LIANA__SUMS_KEPT,                  /* keeps them: gives means over places */
    LIANA__SUMS_KEPT_IN_A_ROW,         /* keeps them if they are one row for each example: moves them */
    LIANA__SUMS_KEPT_BY_DOING_NOTHING, /* keeps them if its options make it do nothing */
} liana__sums;

/* What becomes of the inputs' masks. A mask is bool, false where a step of a sequence is padding: [batch, steps] for
 * values [batch, steps, ...]. The rules are those of Keras 3. */
typedef enum liana__masking {
    LIANA__MASK_DROPPED, /* the result has none */
    LIANA__MASK_KEPT,    /* the mask of the input; for several inputs: or, and none if an input has none */
    LIANA__MASK_OWN,     /* the layer reads `masks`, and sets `mask` */
} liana__masking;

typedef struct liana__layer_type {
    const char *name; /* Keras's class name */
    const char *doc;
    const struct liana__own_part *own; /* of a program's own layer (own_layer.c) */
    const liana__fields *options;      /* without those of liana__layer_common and inputs, which every layer has */
    size_t min_inputs;
    size_t max_inputs;
    bool has_data_format; /* Keras has this option, which must be channels_last */
    bool takes_integers;  /* inputs of an integer dtype come as they are; else they are converted to the float dtype */
    bool reads_training;  /* its result, or a weight's new value, is another one in training */
    liana__masking masking;
    liana__sums sums;
    /* Checks what the table of options cannot. NULL: nothing. */
    liana_status (*check)(liana__layer_check *check);
    /* Declares weights and checks the inputs' shapes. NULL: no weights, any shape. */
    liana_status (*weights)(liana__layer_build *build);
    /* How many values ids may have, from 0, for layers that look them up. NULL: they look nothing up. */
    int64_t (*num_ids)(const void *options);
    /* The regulariser of the result, where it is no option "activity_regularizer": its text in the arena; NULL: out of
     * memory. NULL: the option says. */
    const char *(*activity_regularizer)(liana__arena *arena, const void *options);
    /* Builds the layer's graph. Also called with a batch of 1, to find the output's shape. NULL only for InputLayer. */
    liana_tensor (*call)(liana__layer_call *call);
    /* For options that Keras writes in another form than the table: from_keras completes `options` from the whole
     * `config`; to_keras changes a config that has the table's options. NULL: no difference. */
    void (*from_keras)(liana__arena *arena, const liana__value *config, liana__value *options);
    void (*to_keras)(liana__arena *arena, const void *options, liana__value *config);
} liana__layer_type;

#define LIANA__LAYER(stem, name) extern const liana__layer_type liana__layer_##name;
#include "layers/layers.def"
#undef LIANA__LAYER

/* All layer types in the order of layers.def, NULL-terminated. */
extern const liana__layer_type *const liana__layer_types[];
/* Finds a layer type by class name, also among the context's own (NULL: there are none). NULL: there is none; *nearest (may be NULL) is then the nearest name, or NULL. */
const liana__layer_type *liana__layer_find(const liana_context *context, const char *class_name, const char **nearest);

/* Calls a layer: converts integer inputs where the type does not take them, and makes the mask of the result. */
liana_tensor liana__layer_invoke(const liana__layer_type *type, liana__layer_call *call);

/* name, trainable and training: the options of every layer. */
extern const liana__fields liana__layer_common;

/* The first two option names of liana_padding, for tables. */
extern const char *const liana__padding_names[];

#endif
