/* parts.h - the contracts of layers, activations, regularisers, constraints, initialisers, losses, metrics, optimizers,
 * schedules and callbacks; data_parts.h has those of data. liana's own parts are structs of these types. So are those
 * that a program or a plugin registers. Write one if `liana list` does not have the part that you need.
 *
 *     typedef struct power_options {
 *         double exponent;
 *     } power_options;
 *
 *     static const liana_option power_rows[] = {
 *         LIANA_OPTION_ROW(power_options, exponent, FLOAT, .default_text = "2.0", .minimum = 1, .maximum = 8,
 *                          .doc = "of the distance"),
 *     };
 *
 *     static liana_tensor power(const liana_loss_call *call) { ... liana_op_... }
 *
 *     static const liana_loss_type power_loss = {
 *         LIANA_PART(LOSS, liana_loss_type, "power_error", "The distance to the target to a power.",
 *                    LIANA_PART_OPTIONS(power_options, power_rows)),
 *         .targets = LIANA_TARGET_VALUES, .elements = power};
 *
 *     liana_register(context, &power_loss.part);
 *
 * After that the name means the part wherever a name of liana's own may stand: in YAML, in options of C functions, in
 * `liana list`, in saved models. Options are written and checked as those of liana's own parts. A part builds graphs of
 * liana's ops, so it runs on every device; it brings no kernels. Its functions may be called on any thread, several at
 * the same time, and must give the same result for the same arguments: then results depend neither on the number of
 * threads nor on how often a run was resumed.
 *
 * A plugin is a shared library that registers parts: see liana_plugin at the end. docs/guides/own-parts.md has more. */
#ifndef LIANA_PARTS_H
#define LIANA_PARTS_H

#include <liana/array.h>
#include <liana/callback.h>
#include <liana/layer.h>
#include <liana/options.h>

#ifdef __cplusplus
extern "C" {
#endif

/* liana's own; parts hand them on. */
struct liana__arena;
struct liana__error;
struct liana__value;
struct liana__weight;

/* The version of the structs below. It grows when a struct changes its meaning; new members at the end do not count. */
enum { LIANA_PARTS_VERSION = 6 };

/* ---- common to all parts ---- */

typedef enum liana_part_kind {
    LIANA_PART_LAYER = 1,
    LIANA_PART_LOSS,
    LIANA_PART_METRIC,
    LIANA_PART_OPTIMIZER,
    LIANA_PART_SCHEDULE,
    LIANA_PART_INITIALIZER,
    LIANA_PART_ACTIVATION,
    LIANA_PART_REGULARIZER,
    LIANA_PART_CONSTRAINT,
    LIANA_PART_CALLBACK,
    LIANA_PART_SOURCE,
    LIANA_PART_STAGE,
    LIANA_PART_AUGMENTATION,
} liana_part_kind;

/* Options that were read, and are checked. */
typedef struct liana_check {
    void *options; /* may be completed in place: defaults that depend on other options */
    /* The rest is liana's. */
    const liana_context *context;
    const struct liana__value *map; /* the map that they were read from */
    const char *where;              /* its dotted key */
    struct liana__error *error;
} liana_check;

/* Refuses an option (NULL: the part) with a message as of printf: the value found and the value expected. The message
 * names its place, "config.yaml:3:9: train.loss.exponent: ...". Returns INVALID_CONFIG. */
LIANA_API liana_status liana_option_refuse(liana_check *check, const char *option, const char *format, ...)
    LIANA_PRINTF(3, 4);

enum { LIANA_MAX_ALIASES = 3 };

/* How each struct below begins. */
typedef struct liana_part {
    size_t size; /* sizeof the struct */
    int version; /* LIANA_PARTS_VERSION */
    liana_part_kind kind;
    const char *name;                       /* letters, digits, '_', '-' and '.', at most 60 */
    const char *doc;                        /* one sentence; NULL: none */
    const char *aliases[LIANA_MAX_ALIASES]; /* further names; up to the first NULL */
    liana_options options;                  /* zeros: there are none */
    /* Checks options that the table cannot check. Errors: of liana_option_refuse. NULL: nothing to check. */
    liana_status (*check)(liana_check *check);
} liana_part;

/* The first member of a designated initialiser: the kind, the struct, the name, the doc. Further members of liana_part
 * may follow, such as its options from an array of rows. */
#define LIANA_PART(part_kind, type, part_name, ...) \
    .part = {.size = sizeof(type),                  \
             .version = LIANA_PARTS_VERSION,        \
             .kind = LIANA_PART_##part_kind,        \
             .name = (part_name),                   \
             .doc = __VA_ARGS__}
#define LIANA_PART_OPTIONS(type, rows) .options = {NULL, sizeof(type), sizeof(rows) / sizeof *(rows), (rows)}

/* Registers a part. Its struct, its texts and its table of options are copied. Its functions must stay valid until the
 * context is destroyed. Register before anything names the part. Errors: INVALID_ARGUMENT (a struct of another size or
 * version, a name that is taken or that no configuration can hold, a missing function, a row of the table that cannot
 * be), OUT_OF_MEMORY; the message names the part, and the part that has its name. */
LIANA_API LIANA_MUST_USE liana_status liana_register(liana_context *context, const liana_part *part);

/* The function that makes predictions of logits. */
typedef enum liana_logits_kind {
    LIANA_LOGITS_NONE,    /* the predictions are any numbers */
    LIANA_LOGITS_SOFTMAX, /* softmax over the last axis: probabilities of classes, with sum 1 */
    LIANA_LOGITS_SIGMOID, /* 1 / (1 + e^-logits): probabilities, each by itself */
} liana_logits_kind;

/* ---- layers ---- */

/* Facts for a layer that declares its weights. */
typedef struct liana_layer_build {
    const void *options;
    const liana_shape *inputs; /* with a batch of 1; of a type with `arguments`, rank 0: that one is not given */
    size_t num_inputs;
    /* The rest is the model's. */
    liana_model *model;
    size_t layer;   /* its index */
    bool is_reuse;  /* the layer has its weights; they must fit these inputs too */
    size_t checked; /* weights, if it is a reuse */
    struct liana__error *error;
    liana_status status;
    /* A layer may set these for the weights that it declares next. Where Keras 3's files keep them, if that is below
     * the layer: "query_dense", "forward_layer/cell". Their regulariser and constraint, if they have no option of the
     * weight's name. */
    const char *place;
    const char *regularizer;
    const char *constraint;
    /* The units that go into a weight and come out of it, for initialisers; 0: by its shape. */
    int64_t fan_in, fan_out;
    /* The model's: the held layer whose weights are declared (NULL: the layer itself), the number of the first of them,
     * what stands before their names ("forward_lstm/lstm_cell/"), and before their places. */
    const liana_held_layer *held;
    size_t base;
    const char *names, *group;
    const struct liana_layer_type *type; /* of the layer, or of the held one */
} liana_layer_build;

/* Declares the next weight, f32: trainable weights first. `name` as Keras would call it ("kernel"); `initializer` with
 * its arguments ("glorot_uniform", "constant(0.5)"). Errors stay with the model. */
LIANA_API void liana_layer_add_weight(liana_layer_build *build, const char *name, liana_shape shape,
                                      const char *initializer, bool trainable);
/* Refuses input `index`: "found an input of shape [batch, 10], expected EXPECTED". Returns INVALID_ARGUMENT. */
LIANA_API liana_status liana_layer_refuse(liana_layer_build *build, size_t index, const char *expected);

enum {
    LIANA_MAX_LAYER_UPDATES = 8,
    LIANA_MAX_LAYER_WEIGHTS = 64,
    LIANA_MAX_MORE_RESULTS = 15,
    LIANA_MAX_ACTIVITIES = 8
};

/* A new value of a moving average, which is an untrainable weight: average = momentum * average + (1 - momentum) *
 * statistic, with the statistic averaged over the shards of the update. The statistic of a variance is the second
 * moment about the old value of the mean's moving average. After averaging, the square of the mean's change is
 * subtracted: the variance over all shards is not the mean of their variances. */
typedef struct liana_layer_update {
    size_t weight; /* which of the layer's weights */
    liana_tensor statistic;
    double momentum; /* 0 to 1 */
    bool is_variance;
    size_t mean; /* if it is a variance: the weight that is the moving average of the mean, which has an update too */
} liana_layer_update;

/* The new value of a weight that is kept from batch to batch, such as the state of a stateful layer. */
typedef struct liana_layer_state {
    size_t weight; /* which of the layer's weights */
    liana_tensor value;
} liana_layer_state;

/* Facts for a layer that builds its graph. */
typedef struct liana_layer_call {
    liana_location here; /* where the layer was written, for liana_op_..._at */
    const void *options;
    /* [num_inputs], of `dtype`, or of an integer dtype if the type takes those. Of a type with `arguments`: one for
     * each input among them; id 0: it is not given; those whose names end in "mask" are bool. */
    const liana_tensor *inputs;
    const liana_tensor *masks; /* [num_inputs], bool; id 0: the input has none */
    size_t num_inputs;
    liana_dtype dtype;           /* a float: that of the weights */
    const liana_tensor *weights; /* [num_weights], in the order of their declaration */
    size_t num_weights;
    const struct liana__weight *declared; /* liana's: the same, as a model knows them */
    bool training;
    bool trainable;
    /* For liana_op_dropout: u64 [batch], seed and salt. positions only in training; else id 0. */
    liana_tensor positions;
    uint64_t seed;
    uint32_t salt;
    liana_tensor present; /* f32 [batch]: 1, or 0 for rows that count as missing; id 0: none does */
    int64_t shards;       /* shards of equal size that stand one behind the other in the batch; 0: one */
    /* Set by the layer. */
    liana_tensor logits; /* if the result is made of them: the loss starts from there */
    liana_logits_kind logits_kind;
    liana_tensor mask;                                   /* of the result, if the type's masking is LIANA_MASKING_OWN */
    liana_layer_update updates[LIANA_MAX_LAYER_UPDATES]; /* in training */
    size_t num_updates;
    liana_tensor more[LIANA_MAX_MORE_RESULTS]; /* results after the first, such as states; their number is by options */
    size_t num_more;
    /* The values that the activity regulariser is about, if they are not the results. */
    liana_tensor activities[LIANA_MAX_ACTIVITIES];
    size_t num_activities;
    /* Of a layer whose type has adds_loss: [batch], whose mean over the examples is added to the model's loss, as
     * Keras's add_loss adds it. liana's: of the activity regularisers of held layers. id 0: none. */
    liana_tensor penalties;
    /* liana's: the type of the layer; states after the batch, in training and outside it; whether the batch stands for
     * any, since only shapes are asked for. */
    const struct liana_layer_type *type;
    liana_layer_state states[LIANA_MAX_MORE_RESULTS];
    size_t num_states;
    bool asks_for_shapes;
} liana_layer_call;

/* For a type that holds layers (LIANA_OPTION_LAYER). Declares the weights of a held layer for inputs of these shapes;
 * `group` is the attribute in which Keras keeps it, such as "layer". Errors stay with the model. */
LIANA_API liana_status liana_layer_build_held(liana_layer_build *build, const liana_held_layer *held, const char *group,
                                              const liana_shape *inputs, size_t num_inputs);
/* Builds the graph of a held layer on `inputs`. `number` tells the draws of held layers, or of several calls of one,
 * apart. `masks` may be NULL, as for liana_layer_call; *mask (or NULL) gets that of the result. The updates of its
 * averages become those of `call`; those of a further call of it follow. */
LIANA_API liana_tensor liana_layer_call_held(liana_layer_call *call, const liana_held_layer *held, size_t number,
                                             const liana_tensor *inputs, const liana_tensor *masks, size_t num_inputs,
                                             liana_tensor *mask);

/* The effect of a layer on the inputs' masks. A mask is bool, false where a step of a sequence is padding: [batch,
 * steps] for values [batch, steps, ...]. The rules are those of Keras 3. */
typedef enum liana_masking {
    LIANA_MASKING_DROPPED, /* the result has none */
    LIANA_MASKING_KEPT,    /* the input's; of several: or, and none if an input has none */
    LIANA_MASKING_OWN,     /* the layer reads `masks`, and sets `mask` */
} liana_masking;

/* The effect of a layer on numbers that add up to 1 along the last axis, such as probabilities of classes. */
typedef enum liana_sums {
    LIANA_SUMS_CHANGED,
    LIANA_SUMS_KEPT,                  /* keeps them: gives means over places */
    LIANA_SUMS_KEPT_IN_A_ROW,         /* keeps them if they are one row for each example: moves them */
    LIANA_SUMS_KEPT_BY_DOING_NOTHING, /* keeps them if its options make it do nothing */
} liana_sums;

/* A layer. Its struct of options begins with LIANA_LAYER_OPTIONS (layers.h), or LIANA_MERGE_OPTIONS if it takes several
 * inputs; the table has no rows for those. Without options it may be liana_plain_layer_options. */
typedef struct liana_layer_type {
    liana_part part;
    size_t min_inputs;    /* both 0: one input */
    size_t max_inputs;    /* at most LIANA_MAX_LAYER_INPUTS */
    bool has_data_format; /* Keras has this option, which must be channels_last */
    bool takes_integers;  /* inputs of an integer dtype come as they are; else they are converted to `dtype` */
    bool reads_training; /* its result, or a weight's new value, is another one in training; else `training` is false */
    /* Each example is computed by itself, or as `shards` and `present` say. Otherwise a batch never has several shards,
     * which is slower on some devices. */
    bool keeps_shards_apart;
    /* What it computes of the whole batch in training, such as "histograms". Such a batch must be one shard or one
     * device program, else the trainer refuses it. NULL, or a result of NULL: nothing. */
    const char *(*whole_batch)(const void *options, bool trainable);
    liana_masking masking;
    liana_sums sums;
    bool adds_loss; /* its call sets `penalties`, in training and in evaluations */
    /* Declares weights and checks the inputs' shapes. NULL: no weights, any shape. */
    liana_status (*weights)(liana_layer_build *build);
    /* How many values ids may have, from 0, for layers that look them up. NULL: they look nothing up. */
    int64_t (*num_ids)(const void *options);
    /* The regulariser of the result, where it is no option "activity_regularizer": writes its text, such as "l2(0.1)".
     * NULL: the option says. */
    void (*activity_regularizer)(const void *options, char *text, size_t size);
    /* Builds the result. Also called with a batch of 1, to find its shape. */
    liana_tensor (*call)(liana_layer_call *call);
    /* For options that Keras writes in another form than the table: from_keras completes `options` from the whole
     * `config`; to_keras changes a config that has the table's options. NULL: no difference. */
    void (*from_keras)(struct liana__arena *arena, const struct liana__value *config, struct liana__value *options);
    void (*to_keras)(struct liana__arena *arena, const void *options, struct liana__value *config);
    /* The names of the arguments of a call in Keras's order, ended by NULL. One that is a row of the table is an option
     * of the call: Keras's files have it there, and each call of a layer has its own. The others but "training" are
     * inputs, of which the first min_inputs must be given; several of one name are Keras's list of tensors. Masks that
     * Keras finds by itself count as not given. NULL: the inputs stand one after the other. */
    const char *const *arguments;
    /* Completes options before the layers that they hold are read. NULL: there is nothing to complete. */
    void (*complete)(struct liana__arena *arena, void *options);
    /* liana's: the option that must be found in data before the layer computes; NULL: none is missing. */
    const char *(*to_adapt)(const void *options);
    /* liana's: one step of an RNN, and how an RNN takes steps; NULL: it is none. */
    const struct liana__cell_type *cell;
    const struct liana__rnn_type *rnn;
    /* liana's: the host computes it of texts, and `call` is NULL. NULL: it is an ordinary one. */
    const struct liana__text_layer *texts;
} liana_layer_type;

typedef struct liana_plain_layer_options {
    LIANA_LAYER_OPTIONS;
} liana_plain_layer_options;

/* liana_own_layer(model, NAME, TYPE, .option = ...) adds a layer by the name and the struct of its options, as
 * liana_dense does. Members that are not given are 0, so give them; .trainable and .training are true. */
#if !defined(__cplusplus)
#define LIANA_PLAIN_DEFAULTS_ .trainable = true, .training = true
#define liana_own_layer(model, name, type, ...) LIANA_ADD_(name, type, LIANA_PLAIN_DEFAULTS_, model, __VA_ARGS__, )
#endif

/* ---- losses and metrics ---- */

/* Bits, so that a loss or metric can take several. */
typedef enum liana_target_kind {
    LIANA_TARGET_CLASSES = 1, /* s32, the output's shape without its last axis: an index along that axis */
    LIANA_TARGET_VALUES = 2,  /* the output's shape and dtype */
} liana_target_kind;

/* The target of an output. */
typedef struct liana_target {
    liana_target_kind kind;
    liana_tensor tensor;
} liana_target;

/* Which values a loss is defined for. The host checks them before they are trained on or measured. */
typedef enum liana_target_range {
    LIANA_RANGE_ANY,
    LIANA_RANGE_UNIT,   /* each from 0 to 1: the probability of yes */
    LIANA_RANGE_SHARES, /* the same, and those of an element (the last axis) add up to 1: probabilities of classes */
} liana_target_range;

/* The arguments of a loss. Shapes are those of a shard. */
typedef struct liana_loss_call {
    const void *options;
    liana_tensor output; /* [batch, ..., n]: the model's predictions */
    /* The input of the loss's activation, which gave `output`; id 0: not known. Losses of logits are accurate for any
     * margin. */
    liana_tensor logits;
    liana_target target;
    liana_tensor present; /* f32 [batch]: 1, or 0 for rows that are missing; id 0: none is */
} liana_loss_call;

typedef struct liana_loss_type {
    liana_part part;
    liana_logits_kind activation; /* outputs must be such probabilities, or any numbers */
    unsigned targets;             /* LIANA_TARGET_CLASSES, LIANA_TARGET_VALUES: those that it takes */
    liana_target_range range;     /* of targets that are values */
    /* The loss of each element, [batch, ...]: the shape of the output without the last axis, and its dtype. Their mean
     * over the whole update is minimised. */
    liana_tensor (*elements)(const liana_loss_call *call);
    /* Whether an example's loss depends on the other examples of the batch. Then the batch must be one shard. NULL: it
     * does not. */
    bool (*needs_whole_batch)(const void *options);
    /* Targets that are classes are sequences of their own length, [batch, any number]. */
    bool takes_sequences;
    /* Whether elements are left out of the mean; f32, the shape of the elements: 0 where one is, else 1. It reads
     * options and targets alone. NULL: all count. */
    bool (*leaves_out)(const void *options);
    liana_tensor (*counts)(const liana_loss_call *call);
} liana_loss_type;

/* The arguments of a metric. Shapes are those of a shard. */
typedef struct liana_metric_call {
    const void *options;
    liana_tensor output;          /* f32 [batch, ..., n]: predictions */
    liana_logits_kind activation; /* their kind, by the output's loss */
    liana_tensor logits;          /* as of a loss; id 0: not known */
    liana_target target;
    liana_tensor weights; /* f32 [batch, ...], without the last axis: how much each element counts; id 0: 1 */
} liana_metric_call;

/* The outputs that a metric is about. */
typedef enum liana_metric_takes {
    LIANA_METRIC_OF_NUMBERS, /* any */
    LIANA_METRIC_OF_ANSWERS, /* probabilities of classes, or answers of yes and no */
    LIANA_METRIC_OF_CLASSES, /* the same, but one class for each element: not several answers of yes and no */
} liana_metric_takes;

/* A metric is an accumulator: a mean (elements), or made of sums (sums, add, finish). On the device a shard adds
 * numbers to sums. The host adds the sums of all batches in f64, and finishes them. So a metric is the same however the
 * data are split, and after a resume. */
typedef struct liana_metric_type {
    liana_part part;
    unsigned targets; /* as of a loss */
    liana_metric_takes takes;
    /* f32 [batch, ...]: the shape of the output without the last axis. The metric is the mean over all elements. */
    liana_tensor (*elements)(const liana_metric_call *call);
    /* How many sums, for outputs of this shape (with a batch of 1). */
    size_t (*sums)(const void *options, const liana_shape *output);
    /* Why options do not fit outputs of this shape; NULL: they do. A NULL function: all do. */
    const char *(*misfit)(const void *options, const liana_shape *output);
    /* Returns a doubt that is worth a note, although the options fit; NULL: there is none. */
    const char *(*doubt)(const void *options, const liana_shape *output);
    /* Builds a shard's share of the sums: f32 [sums], 0 for examples of weight 0. */
    liana_tensor (*add)(const liana_metric_call *call);
    /* The metric, of the sums over all examples. */
    double (*finish)(const void *options, const double *sums, size_t count);
    /* The result may be several numbers: `num_values` says how many (0: it is the one of `finish`), and `finish_all`
     * makes them. `is_matrix`: they are the rows of a square matrix; else one for each value of an element. */
    size_t (*num_values)(const void *options, const liana_shape *output);
    void (*finish_all)(const void *options, const double *sums, size_t count, double *values);
    bool is_matrix;
    /* The loss whose mean the metric is: it has the loss's options. NULL: it has its own. */
    const liana_loss_type *mean_of;
} liana_metric_type;

/* ---- optimizers and schedules ---- */

/* Of these slots and rounds LIANA_MAX_OWN_SLOTS and LIANA_MAX_OWN_ROUNDS are the optimizer's; the others are for the
 * rules that every optimizer has. */
enum {
    LIANA_MAX_OWN_SLOTS = 4,
    LIANA_MAX_SLOTS = 8,
    LIANA_MAX_OWN_ROUNDS = 2,
    LIANA_MAX_SUM_ROUNDS = 8,
    LIANA_MAX_ROUND_SUMS = 4,
};

/* The options that every optimizer has, as Keras's have: the options of an optimizer begin with this, and its
 * table has LIANA_OPTIMIZER_ROWS. */
typedef struct liana_optimizer_common {
    double weight_decay; /* NaN: none */
    liana_strings exclude_from_weight_decay;
    double clipnorm, clipvalue, global_clipnorm; /* NaN: none; at most one is given */
    bool use_ema;
    double ema_momentum;
    int64_t ema_overwrite_frequency;     /* 0: never */
    int64_t gradient_accumulation_steps; /* 0: none */
    double loss_scale_factor;            /* NaN: none */
    int64_t lookahead_period;            /* 0: none */
    double lookahead_step_size;
    int64_t swa_period; /* 0: none */
    int64_t swa_start;
} liana_optimizer_common;

/* The last rows of each optimizer's table. `decay` is the default of weight_decay: "null", or a number. */
#define LIANA_OPTIMIZER_ROWS(decay)                                                                                    \
    LIANA_OPTION_ROW(liana_optimizer_common, weight_decay, FLOAT, .default_text = decay, .minimum = 0, .maximum = 1,   \
                     .doc = "Each update first takes learning_rate * weight_decay of every weight away."),             \
        LIANA_OPTION_ROW(liana_optimizer_common, exclude_from_weight_decay, STRINGS,                                   \
                         .doc = "Weights without decay: those in whose names one of these regular expressions "        \
                                "matches, such as [bias, gamma, beta]."),                                              \
        LIANA_OPTION_ROW(liana_optimizer_common, clipnorm, FLOAT, .default_text = "null", .minimum = 1e-12,            \
                         .maximum = 1e12, .doc = "The largest norm of the gradient of a weight; it is scaled down."),  \
        LIANA_OPTION_ROW(liana_optimizer_common, clipvalue, FLOAT, .default_text = "null", .minimum = 1e-12,           \
                         .maximum = 1e12, .doc = "The largest absolute value of an element of a gradient."),           \
        LIANA_OPTION_ROW(liana_optimizer_common, global_clipnorm, FLOAT, .default_text = "null", .minimum = 1e-12,     \
                         .maximum = 1e12, .doc = "The largest norm of all gradients together; they are scaled down."), \
        LIANA_OPTION_ROW(liana_optimizer_common, use_ema, BOOL, .default_text = "false",                               \
                         .doc =                                                                                        \
                             "Whether to keep moving averages of the weights, which the model has after training."),   \
        LIANA_OPTION_ROW(liana_optimizer_common, ema_momentum, FLOAT, .default_text = "0.99", .minimum = 0,            \
                         .maximum = 1, .doc = "How much of an average stays in an update."),                           \
        LIANA_OPTION_ROW(liana_optimizer_common, ema_overwrite_frequency, INT, .default_text = "0", .minimum = 0,      \
                         .maximum = 16777216,                                                                          \
                         .doc = "Every so many updates the weights become their averages; 0: only after training."),   \
        LIANA_OPTION_ROW(liana_optimizer_common, gradient_accumulation_steps, INT, .default_text = "0", .minimum = 0,  \
                         .maximum = 16777216,                                                                          \
                         .doc =                                                                                        \
                             "Weights change once in so many steps, by the mean of their gradients; 0: each step."),   \
        LIANA_OPTION_ROW(liana_optimizer_common, loss_scale_factor, FLOAT, .default_text = "null", .minimum = 1e-12,   \
                         .maximum = 1e12, .doc = "Keras's factor of the loss, by which gradients are divided again."), \
        LIANA_OPTION_ROW(liana_optimizer_common, lookahead_period, INT, .default_text = "0", .minimum = 0,             \
                         .maximum = 16777216,                                                                          \
                         .doc = "Lookahead: every so many updates the weights go back a part of the way; 0: never."),  \
        LIANA_OPTION_ROW(liana_optimizer_common, lookahead_step_size, FLOAT, .default_text = "0.5", .minimum = 0,      \
                         .maximum = 1, .doc = "The share of the way since the last time that they keep."),             \
        LIANA_OPTION_ROW(liana_optimizer_common, swa_period, INT, .default_text = "0", .minimum = 0,                   \
                         .maximum = 16777216,                                                                          \
                         .doc = "Stochastic weight averaging: every so many updates the weights join a mean, which "   \
                                "the model has after training; 0: never."),                                            \
        LIANA_OPTION_ROW(liana_optimizer_common, swa_start, INT, .default_text = "0", .minimum = 0,                    \
                         .maximum = 16777216, .doc = "How many updates come before the first weights of the mean.")

/* The update of one trainable variable, or of the range of its elements that a slice has. A range is flat, [n]; a
 * complete variable has its shape. */
typedef struct liana_optimizer_step {
    const void *options;
    const char *name;    /* of the variable, such as "dense/kernel" */
    double weight_decay; /* of this variable; 0: none */
    bool excluded;       /* from weight decay, by its name */
    liana_tensor variable;
    liana_tensor gradient;               /* of the mean loss of the update */
    liana_tensor learning_rate;          /* f32 scalar: of this variable */
    liana_tensor common_rate;            /* of the schedule, before the variable's multiplier */
    liana_tensor iteration;              /* f32 scalar: 1 at the first update */
    liana_tensor slots[LIANA_MAX_SLOTS]; /* the slots' old values, in the variable's shape */
    /* Finished sums, f32 scalars, by round and term; see liana_update_reads. */
    liana_tensor sums[LIANA_MAX_SUM_ROUNDS][LIANA_MAX_ROUND_SUMS];
    /* Set by the optimizer. With new_variable one of these may be set: the amount that was subtracted from the
     * variable, or added to it. */
    liana_tensor descent, change;
    liana_tensor new_variable;
    liana_tensor new_slots[LIANA_MAX_SLOTS];
} liana_optimizer_step;

/* The range of a round's sums: the elements of each variable, or those of all trainable variables. */
typedef enum liana_sum_scope { LIANA_SUM_OF_VARIABLE, LIANA_SUM_OF_ALL } liana_sum_scope;

/* Sums that an update needs at once. `terms` builds the terms of each sum: one f32 number for each element, in the
 * variable's shape. It sees the step without results, and the sums of earlier rounds. */
typedef struct liana_sum_round {
    liana_sum_scope scope;
    size_t num_sums; /* 1 to LIANA_MAX_ROUND_SUMS */
    void (*terms)(const liana_optimizer_step *step, liana_tensor *terms);
} liana_sum_round;

/* Inputs of an update in addition to an element of the variable, its gradient and its slots. Zeros: nothing, and any
 * cut through a variable gives the same bits. */
typedef struct liana_update_reads {
    bool whole; /* all elements of the variable, in its shape */
    size_t num_rounds;
    liana_sum_round rounds[LIANA_MAX_SUM_ROUNDS];
} liana_update_reads;

/* An optimizer. learning_rate and rate_multipliers are options of every optimizer, and not in its table. */
typedef struct liana_optimizer_type {
    liana_part part;
    double default_learning_rate;
    /* The names of the slots that it keeps for each element; up to the first NULL. */
    const char *slots[LIANA_MAX_SLOTS];
    /* How many of them the options need; NULL: all. */
    size_t (*num_slots)(const void *options);
    /* The name of a slot where it depends on the options; NULL: slots[slot]. */
    const char *(*slot_name)(const void *options, size_t slot);
    /* The value of a slot's elements before the first update. NULL: 0 for all. */
    double (*slot_begins_at)(const void *options, size_t slot);
    /* The inputs of the update with these options. NULL: elements only. */
    liana_update_reads (*reads)(const void *options);
    /* Whether the update reads step->weight_decay itself, instead of on weights that have decayed already. */
    bool own_weight_decay;
    void (*update)(liana_optimizer_step *step);
} liana_optimizer_type;

typedef enum liana_schedule_by { LIANA_BY_STEP, LIANA_BY_EPOCH } liana_schedule_by;
static const char *const liana_schedule_by_names[] = {"step", "epoch", NULL};

/* The options of all schedules: those of a schedule begin with this, and its table has LIANA_SCHEDULE_ROWS. Lengths may
 * be given in updates or in epochs. */
typedef struct liana_schedule_common {
    double initial_learning_rate; /* NaN: the optimizer's default */
    double warmup_steps;
    double warmup_epochs;
    double warmup_share;
    double warmup_learning_rate; /* where the warm-up starts */
    double scale;
    int64_t scale_with_batch; /* 0: not */
    int by;                   /* liana_schedule_by */
    double decay_steps;       /* both NaN: the rest of the run */
    double decay_epochs;
} liana_schedule_common;

/* The last rows of each schedule's table: those of every rate, and those of a decay of one length. */
#define LIANA_SCHEDULE_RATE_ROWS                                                                                    \
    LIANA_OPTION_ROW(liana_schedule_common, initial_learning_rate, FLOAT, .default_text = "null", .minimum = 0,     \
                     .maximum = 1e38, .doc = "The rate after the warm-up; default: the optimizer's."),              \
        LIANA_OPTION_ROW(liana_schedule_common, warmup_steps, FLOAT, .default_text = "0.0", .minimum = 0,           \
                         .maximum = 1e12, .doc = "Length of the linear warm-up in updates."),                       \
        LIANA_OPTION_ROW(liana_schedule_common, warmup_epochs, FLOAT, .default_text = "0.0", .minimum = 0,          \
                         .maximum = 1e9, .doc = "Length of the linear warm-up in epochs, added to warmup_steps."),  \
        LIANA_OPTION_ROW(liana_schedule_common, warmup_share, FLOAT, .default_text = "0.0", .minimum = 0,           \
                         .maximum = 1, .doc = "Length of the linear warm-up as a share of the run's updates."),     \
        LIANA_OPTION_ROW(liana_schedule_common, warmup_learning_rate, FLOAT, .default_text = "0.0", .minimum = 0,   \
                         .maximum = 1e6, .doc = "The rate at which the warm-up starts."),                           \
        LIANA_OPTION_ROW(liana_schedule_common, scale, FLOAT, .default_text = "1.0", .minimum = 1e-12,              \
                         .maximum = 1e12, .doc = "A factor of every rate of the schedule."),                        \
        LIANA_OPTION_ROW(liana_schedule_common, scale_with_batch, INT, .default_text = "0", .minimum = 0,           \
                         .maximum = 1e9,                                                                            \
                         .doc = "The batch size that the rates are for; they are multiplied by batch_size / this. " \
                                "0: they are not."),                                                                \
        LIANA_OPTION_ROW(liana_schedule_common, by, ENUM, .default_text = "step", .names = liana_schedule_by_names, \
                         .doc = "Whether the rate changes with each step, or only with each epoch (the warm-up: "   \
                                "always with each step).")
#define LIANA_SCHEDULE_ROWS                                                                                           \
    LIANA_SCHEDULE_RATE_ROWS,                                                                                         \
        LIANA_OPTION_ROW(liana_schedule_common, decay_steps, FLOAT, .default_text = "null", .minimum = 0,             \
                         .maximum = 1e12,                                                                             \
                         .doc = "Length of the decay in updates after the warm-up; default: to the end of the run."), \
        LIANA_OPTION_ROW(liana_schedule_common, decay_epochs, FLOAT, .default_text = "null", .minimum = 0,            \
                         .maximum = 1e9, .doc = "Length of the decay in epochs, added to decay_steps.")

/* A schedule with its options, and the run that it is for. */
typedef struct liana_learning_rate {
    const struct liana_schedule_type *schedule;
    const void *options;
    double default_learning_rate; /* the optimizer's */
    int64_t steps_per_epoch;
    int64_t total_steps;
    int64_t batch_size;
} liana_learning_rate;

/* Sums over all weights for a schedule whose rate follows the training: of gradient * direction, and the squares of
 * both. The direction is the last update's subtracted amount, over its learning rate. */
enum { LIANA_RATE_PRODUCT, LIANA_RATE_GRADIENT, LIANA_RATE_DIRECTION, LIANA_NUM_RATE_SUMS };

/* A learning-rate schedule: a function of the update's number, so a resumed run needs only that number. */
typedef struct liana_schedule_type {
    liana_part part;
    /* The rate `step` updates after the warm-up (a fraction of an update only if the warm-up's length is). decay_steps
     * > 0 is the resolved length of the decay. */
    double (*rate)(const void *options, double step, double decay_steps, double initial_learning_rate);
    /* In place of `rate`, for schedules that need the length of an epoch. */
    double (*rate_of_run)(const liana_learning_rate *run, double step, double initial_learning_rate);
    /* Of a schedule whose rate follows the training, and is state: the rate of an update, from that of the update
     * before it (at first, `rate`'s) and sums over all weights (LIANA_RATE_PRODUCT...). NULL: a pure function. */
    double (*adapt)(const void *options, double rate, const float *sums);
    /* Whether the rate does not depend on the length of the run. */
    bool endless;
} liana_schedule_type;

/* ---- initialisers ---- */

/* The first values of a weight. */
typedef struct liana_initializer_call {
    const void *options;
    const liana_shape *shape;
    double fan_in, fan_out; /* Keras's: of a kernel [..., in, out], in and out times the window's size */
    int64_t count;
    float *values;   /* [count], row-major, zeros, to be filled */
    uint32_t key[2]; /* liana's: the address of the weight's draws */
} liana_initializer_call;

/* The random numbers of element `index` (from 0) of this weight: in [0, 1), and of the standard normal distribution,
 * where each `attempt` (from 0) is another one. 0 if the call is NULL. They depend on the run's seed and on which
 * weight it is. */
LIANA_API double liana_initializer_uniform(const liana_initializer_call *call, uint64_t index);
LIANA_API double liana_initializer_normal(const liana_initializer_call *call, uint64_t index, uint32_t attempt);

enum { LIANA_MAX_INITIALIZER_OPTIONS = 8, LIANA_MAX_INITIALIZER_BYTES = 256 };

/* An initialiser. Its options are its arguments: numbers and words only, within the limits above.
 * "my_normal(stddev=0.1)". The first alias is its class_name in Keras's JSON. An option `seed`, a whole number of which
 * negative ones mean none, chooses the draws in place of the run's seed and the weight. */
typedef struct liana_initializer_type {
    liana_part part;
    bool draws_nothing; /* the same values for each seed */
    void (*fill)(const liana_initializer_call *call);
    /* Refuses weights by their shape: returns the expected shape, such as "a matrix", or NULL. NULL: takes all. */
    const char *(*refuse)(const void *options, const liana_shape *shape);
} liana_initializer_type;

/* ---- activations, regularisers, constraints ---- */

/* They are named in options of layers, as an initialiser is: "leaky(slope=0.1)", "my_max_norm(2, axis=[0, 1])". Their
 * options are numbers, words and lists of numbers. The first alias is the class_name in Keras's JSON. */

typedef struct liana_activation_call {
    liana_location here; /* where the layer was written, for liana_op_..._at */
    const void *options;
    liana_tensor x; /* a float dtype, [batch, ...] */
} liana_activation_call;

typedef struct liana_activation_type {
    liana_part part;
    liana_logits_kind logits_kind; /* not NONE: `apply` is this function, and losses start from x */
    /* The result: of x's dtype, and of its shape unless `changes_shape`. */
    liana_tensor (*apply)(const liana_activation_call *call);
    bool changes_shape;
} liana_activation_type;

typedef struct liana_regularizer_call {
    const void *options;
    liana_tensor x;  /* a weight, or the output of a layer */
    liana_axes axes; /* which the penalty is summed over. Without axes (count 0) each element is its own sum */
} liana_regularizer_call;

typedef struct liana_regularizer_type {
    liana_part part;
    /* The penalty is a sum over elements, each by itself. Then x may be a flat range of a weight, and the regulariser
     * can be an activity_regularizer. Otherwise it is of a whole weight in its shape. */
    bool is_by_element;
    /* Refuses weights by their shape: returns the expected shape, such as "a matrix", or NULL. NULL: takes all. */
    const char *(*refuse)(const void *options, const liana_shape *shape);
    /* The penalty, of x's dtype: x's shape without the axes; a scalar if it is not by element. */
    liana_tensor (*penalty)(const liana_regularizer_call *call);
} liana_regularizer_type;

typedef struct liana_constraint_call {
    const void *options;
    liana_tensor variable; /* as the optimizer has changed it */
} liana_constraint_call;

/* A constraint changes a weight after each update. */
typedef struct liana_constraint_type {
    liana_part part;
    /* The result of an element depends on this element alone. Then `apply` may be given a flat range of the weight;
     * else it gets the whole weight in its shape. */
    bool is_by_element;
    /* Refuses options that weights of a shape cannot have, with liana_option_refuse. NULL: nothing. */
    liana_status (*fits)(liana_check *check, const liana_shape *shape);
    /* The result: of the variable's shape and dtype. */
    liana_tensor (*apply)(const liana_constraint_call *call);
} liana_constraint_type;

/* ---- callbacks ---- */

typedef enum liana_callback_event {
    LIANA_ON_TRAIN_BEGIN, /* also of a training that goes on from a checkpoint; states are loaded */
    LIANA_ON_EPOCH_BEGIN, /* before its first update; not repeated where an epoch goes on from a checkpoint */
    LIANA_ON_STEP_BEGIN,
    LIANA_ON_STEP_END,   /* an update is done, or a group of them (steps_per_execution) */
    LIANA_ON_DIVERGENCE, /* an update's loss is not finite */
    LIANA_ON_VALIDATION_BEGIN,
    LIANA_ON_VALIDATION_STEP, /* a batch of the validation is done */
    LIANA_ON_VALIDATION_END,
    LIANA_ON_EPOCH_END,  /* after the validation, if there was one */
    LIANA_ON_LAST_STEP,  /* of a stage or of a training that ends well: before averages take the place of weights */
    LIANA_ON_TRAIN_END,  /* of a training that ends well, before its last checkpoint */
    LIANA_ON_CHECKPOINT, /* the state was saved */
    LIANA_ON_BATCH,      /* before an update whose batch a callback asked for: of this process's examples */
    LIANA_NUM_CALLBACK_EVENTS
} liana_callback_event;

/* A callback of a training: its type, its options, and the values that it keeps while it runs. */
typedef struct liana_callback_item {
    const struct liana_callback_type *type;
    const void *options;
    void *self;    /* self_size bytes, zeros at first */
    char name[64]; /* of its state; no other of the training has it. "" if it has none */
} liana_callback_item;

/* A status other than LIANA_OK ends the training with it; its message is that of liana_fit_fail. */
typedef liana_status liana_event_function(liana_callback_item *own, liana_fit_context *context);

/* A callback by name, for train.callbacks and liana_fit_options.named_callbacks. Callbacks run in every process, with
 * the same values, and must come to the same decisions (callback.h). */
typedef struct liana_callback_type {
    liana_part part;
    size_t self_size; /* of self, in bytes */
    /* The part of it that is state: saved, restored and compared with the training's. NULL: nothing. `load` gets the
     * state that `save` stored, or nothing at all in the first training with this callback. */
    void (*save)(const liana_callback_item *own, liana_callback_state *state);
    liana_status (*load)(liana_callback_item *own, const liana_fit_context *context, const liana_callback_state *state);
    void (*close)(liana_callback_item *own);             /* frees all that self refers to; NULL: nothing */
    liana_event_function *on[LIANA_NUM_CALLBACK_EVENTS]; /* NULL: not called */
} liana_callback_type;

/* ---- plugins ---- */

/* A plugin's description of itself: the symbol liana_plugin_entry of a shared library. LIANA_PLUGIN defines it. liana
 * checks all of it before it calls anything. */
typedef struct liana_plugin {
    size_t size;      /* sizeof(liana_plugin) */
    int version;      /* LIANA_PARTS_VERSION */
    const char *name; /* in messages */
    /* Registers the plugin's parts. Its status is that of liana_load_plugin; nothing is registered if it fails. */
    liana_status (*enter)(liana_context *context);
    const char *(*library)(void); /* liana_version, of the liana that the plugin is linked with */
} liana_plugin;

#if defined(__cplusplus)
#define LIANA_PLUGIN_LINKAGE_ extern "C"
#else
#define LIANA_PLUGIN_LINKAGE_ extern
#endif
/* LIANA_PLUGIN("my parts", enter); defines the entry: once in a plugin, outside of functions. */
#define LIANA_PLUGIN(plugin_name, enter_function)                                                      \
    LIANA_PLUGIN_LINKAGE_ LIANA_API const liana_plugin liana_plugin_entry;                             \
    const liana_plugin liana_plugin_entry = {sizeof(liana_plugin), LIANA_PARTS_VERSION, (plugin_name), \
                                             (enter_function), liana_version}

/* Loads a plugin: a path of a shared library. It stays loaded until the context is destroyed. A second call with the
 * same file does nothing. The program must be linked with the shared libliana, as the plugin is. Errors: NOT_FOUND (no
 * such file), INVALID_ARGUMENT (not a plugin; built for another version; linked with another liana), those of its
 * parts. The file's own code runs in the program: load only files that you trust. */
LIANA_API LIANA_MUST_USE liana_status liana_load_plugin(liana_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif
