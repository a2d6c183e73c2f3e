/* parts.h - own parts: layers, activations, regularisers, constraints, initialisers, losses, metrics, optimizers,
 * schedules, callbacks and kinds of data that a program or a plugin adds to liana. Use them if `liana list` does not have what you need.
 *
 *     typedef struct power_options {
 *         double exponent;
 *     } power_options;
 *
 *     static const liana_option power_rows[] = {
 *         {.name = "exponent", .kind = LIANA_OPTION_FLOAT, .offset = offsetof(power_options, exponent),
 *          .default_text = "2.0", .minimum = 1, .maximum = 8, .doc = "of the distance"},
 *     };
 *
 *     static liana_tensor power(const liana_loss_call *call) { ... liana_op_... }
 *
 *     static const liana_loss_type power_loss = {
 *         LIANA_PART(liana_loss_type, "power_error", "The distance to the target to a power."),
 *         LIANA_PART_OPTIONS(power_options, power_rows), .takes_values = true, .elements = power};
 *
 *     liana_register_loss(context, &power_loss);
 *
 * After that the name means the part wherever a name of liana's own may stand: in YAML, in options of C functions, in
 * `liana list`, in saved models. Options are written and checked as those of liana's own parts. A part builds graphs of
 * liana's ops, so it runs on every device; it brings no kernels. Its functions may be called on any thread, several at
 * the same time, and must give the same result for the same arguments: then results depend neither on the number of
 * threads nor on how often a run was resumed.
 *
 * liana_register_... copies the struct, its texts and its table of options. The functions must stay valid until the
 * context is destroyed. Errors: INVALID_ARGUMENT (a struct of another size or version, a name that is taken or that no
 * configuration can hold, a missing function, a row of the table that cannot be), OUT_OF_MEMORY; the message names the
 * part, and who has its name. Register before anything names the part.
 *
 * A plugin is a shared library that registers parts: see liana_plugin at the end. docs/own-parts.md says more. */
#ifndef LIANA_PARTS_H
#define LIANA_PARTS_H

#include <liana/callback.h>
#include <liana/element.h>
#include <liana/layers.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the structs below. It grows when a struct changes its meaning; new members at the end do not count. */
enum { LIANA_PARTS_VERSION = 1 };

/* ---- options ---- */

typedef enum liana_option_kind {
    LIANA_OPTION_BOOL,  /* bool */
    LIANA_OPTION_INT,   /* int64_t */
    LIANA_OPTION_FLOAT, /* double; NaN for null, if default_text is "null" */
    LIANA_OPTION_TEXT,  /* const char *; NULL if it is not given */
    LIANA_OPTION_WORD,  /* int: the index of a word in `words` */
    LIANA_OPTION_INTS,  /* liana_ints */
} liana_option_kind;

/* A row of a table of options: one member of a struct of options. */
typedef struct liana_option {
    const char *name;
    liana_option_kind kind;
    size_t offset;            /* offsetof(the struct, the member) */
    const char *default_text; /* as in YAML: "0.5", "[1, 2]"; NULL: false, 0, NULL, the first word, no numbers */
    bool required;
    double minimum; /* of numbers, both included; not checked if minimum == maximum */
    double maximum;
    const char *const *words; /* of WORD; ends with NULL */
    const char *doc;          /* one sentence; NULL: none */
} liana_option;

/* How each struct below begins. */
#define LIANA_PART_MEMBERS                                                                                             \
    size_t size;                 /* sizeof the struct */                                                               \
    int version;                 /* LIANA_PARTS_VERSION */                                                             \
    const char *name;            /* letters, digits, '_', '-' and '.', at most 60 */                                   \
    const char *doc;             /* one sentence; NULL: none */                                                        \
    size_t options_size;         /* of the struct of options, in bytes; 0: there are none */                           \
    const liana_option *options; /* [num_options] */                                                                   \
    size_t num_options;                                                                                                \
    /* Checks what the table cannot. Returns NULL, or a static sentence: what was expected. NULL: nothing to check. */ \
    const char *(*check)(const void *options)

/* The first members of a designated initialiser; and those about options, from an array of rows. */
#define LIANA_PART(type, part_name, part_doc) \
    .size = sizeof(type), .version = LIANA_PARTS_VERSION, .name = (part_name), .doc = (part_doc)
#define LIANA_PART_OPTIONS(type, rows) \
    .options_size = sizeof(type), .options = (rows), .num_options = sizeof(rows) / sizeof *(rows)

/* ---- layers ---- */

/* What a layer knows when it declares its weights. */
typedef struct liana_layer_build {
    const void *options;
    const liana_shape *inputs; /* with a batch of 1 */
    size_t num_inputs;
    void *internal;
} liana_layer_build;

/* Declares the next weight, f32: trainable weights first. `name` as Keras would call it ("kernel"); `initializer` with
 * its arguments ("glorot_uniform", "constant(0.5)"). Errors stay with the model. */
LIANA_API void liana_layer_add_weight(liana_layer_build *build, const char *name, liana_shape shape,
                                      const char *initializer, bool trainable);
/* Refuses input `index`: "found an input of shape [batch, 10], expected EXPECTED". Returns INVALID_ARGUMENT. */
LIANA_API liana_status liana_layer_refuse(liana_layer_build *build, size_t index, const char *expected);

/* What a layer builds its graph of. */
typedef struct liana_layer_forward {
    liana_location here; /* where the layer was written, for liana_op_..._at */
    const void *options;
    const liana_tensor *inputs; /* [num_inputs], of `dtype`, or of an integer dtype if the type takes those */
    const liana_tensor *masks;  /* [num_inputs], bool; id 0: the input has none */
    size_t num_inputs;
    liana_dtype dtype;           /* a float: that of the weights */
    const liana_tensor *weights; /* in the order of their declaration */
    bool training;
    /* For liana_op_dropout: u64 [batch], seed and salt. positions only in training; else id 0. */
    liana_tensor positions;
    uint64_t seed;
    uint32_t salt;
    liana_tensor mask; /* set by the layer if its masking is LIANA_MASKING_OWN */
    void *internal;
} liana_layer_forward;

/* Moves an untrainable weight in training: average = momentum * average + (1 - momentum) * statistic, with the statistic
 * averaged over the whole update. At most two in a layer. Errors stay with the graph. */
LIANA_API void liana_layer_update_average(liana_layer_forward *call, size_t weight, liana_tensor statistic,
                                          double momentum);

/* What becomes of the masks of sequences; the rules are Keras 3's. */
typedef enum liana_masking {
    LIANA_MASKING_DROPPED, /* the result has none */
    LIANA_MASKING_KEPT,    /* the input's; of several: or, and none if an input has none */
    LIANA_MASKING_OWN,     /* the layer reads `masks`, and sets `mask` */
} liana_masking;

/* A layer. Its struct of options begins with LIANA_LAYER_OPTIONS (layers.h), which the table has no rows for. Without
 * options it may be liana_plain_layer_options. */
typedef struct liana_layer_type {
    LIANA_PART_MEMBERS;
    size_t min_inputs;   /* both 0: one input */
    size_t max_inputs;   /* at most LIANA_MAX_LAYER_INPUTS */
    bool takes_integers; /* inputs of an integer dtype come as they are; else they are converted to `dtype` */
    liana_masking masking;
    /* Declares weights and checks the inputs' shapes. NULL: no weights, any shape. */
    liana_status (*weights)(liana_layer_build *build);
    /* Builds the result. Also called with a batch of 1, to find its shape. */
    liana_tensor (*call)(liana_layer_forward *call);
} liana_layer_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_layer(liana_context *context, const liana_layer_type *type);

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

/* What the outputs must be that a loss compares. */
typedef enum liana_predictions {
    LIANA_PREDICTIONS_NUMBERS,              /* any numbers */
    LIANA_PREDICTIONS_CLASS_PROBABILITIES,  /* of a softmax: with sum 1 along the last axis */
    LIANA_PREDICTIONS_BINARY_PROBABILITIES, /* of a sigmoid: each by itself */
} liana_predictions;

typedef struct liana_loss_call {
    const void *options;
    liana_tensor output; /* [batch, ..., n] */
    liana_tensor logits; /* what softmax or sigmoid made `output` of; id 0: not known */
    /* Classes: s32 [batch, ...], indices along the last axis of `output`. Values: as `output`. */
    liana_tensor target;
    bool target_is_classes;
} liana_loss_call;

typedef struct liana_loss_type {
    LIANA_PART_MEMBERS;
    liana_predictions predictions;
    bool takes_classes; /* which targets it takes; one of them at least */
    bool takes_values;
    /* The loss of each element, [batch, ...]: the shape of the output without the last axis, and its dtype. Their mean is
     * minimised. */
    liana_tensor (*elements)(const liana_loss_call *call);
} liana_loss_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_loss(liana_context *context, const liana_loss_type *type);

typedef struct liana_metric_call {
    const void *options;
    liana_tensor output;           /* f32 [batch, ..., n]: predictions */
    liana_predictions predictions; /* what they are, by the output's loss */
    liana_tensor target;           /* as in liana_loss_call */
    bool target_is_classes;
    liana_tensor weights; /* f32 [batch, ...]: how much each element counts in `add`; id 0: 1 */
} liana_metric_call;

/* A metric is a mean (elements), or made of sums (size, add, finish). */
typedef struct liana_metric_type {
    LIANA_PART_MEMBERS;
    bool takes_classes;
    bool takes_values;
    /* f32 [batch, ...]: the shape of the output without the last axis. The metric is the mean over all elements. */
    liana_tensor (*elements)(const liana_metric_call *call);
    /* How many sums, for outputs of this shape (with a batch of 1). What some examples add to them: f32 [size], 0 for
     * examples of weight 0. The metric, of the sums over all examples. */
    size_t (*sums)(const void *options, const liana_shape *output);
    liana_tensor (*add)(const liana_metric_call *call);
    double (*finish)(const void *options, const double *sums, size_t count);
} liana_metric_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_metric(liana_context *context, const liana_metric_type *type);

/* ---- optimizers and schedules ---- */

enum { LIANA_MAX_SLOTS = 4 };

/* The update of one variable, or of a range of its elements, which is flat: [n]. */
typedef struct liana_optimizer_step {
    const void *options;
    liana_tensor variable;
    liana_tensor gradient;               /* of the mean loss */
    liana_tensor learning_rate;          /* f32 scalar */
    liana_tensor iteration;              /* f32 scalar: 1 at the first update */
    liana_tensor slots[LIANA_MAX_SLOTS]; /* their old values, in the variable's shape */
    /* Set by the optimizer. */
    liana_tensor new_variable;
    liana_tensor new_slots[LIANA_MAX_SLOTS];
} liana_optimizer_step;

/* An optimizer. learning_rate is an option of every optimizer, and not in its table. */
typedef struct liana_optimizer_type {
    LIANA_PART_MEMBERS;
    double default_learning_rate;
    const char
        *slots[LIANA_MAX_SLOTS]; /* names of what it keeps for each element, zeros at first; up to the first NULL */
    /* The update of an element reads others of its variable: it is always given the whole variable, in its shape. */
    bool reads_whole_variable;
    void (*update)(liana_optimizer_step *step);
} liana_optimizer_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_optimizer(liana_context *context,
                                                               const liana_optimizer_type *type);

/* A learning-rate schedule. initial_learning_rate, warm-up and the length of the decay are options of every schedule,
 * and not in its table. */
typedef struct liana_schedule_type {
    LIANA_PART_MEMBERS;
    /* The rate `step` updates after the warm-up. decay_steps > 0: the length of the decay. */
    double (*rate)(const void *options, double step, double decay_steps, double initial_learning_rate);
} liana_schedule_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_schedule(liana_context *context, const liana_schedule_type *type);

/* ---- initialisers ---- */

/* The first values of a weight. */
typedef struct liana_initializer_call {
    const void *options;
    const liana_shape *shape;
    double fan_in, fan_out; /* Keras's: of a kernel [..., in, out], in and out times the window's size */
    int64_t count;
    float *values; /* [count], row-major, to be filled */
    const void *internal;
} liana_initializer_call;

/* The random numbers of element `index` (from 0) of this weight: in [0, 1), and of the standard normal distribution. 0 if
 * the call is NULL. They depend on the run's seed and on which weight it is. */
LIANA_API double liana_initializer_uniform(const liana_initializer_call *call, uint64_t index);
LIANA_API double liana_initializer_normal(const liana_initializer_call *call, uint64_t index);

enum { LIANA_MAX_INITIALIZER_OPTIONS = 8 };

/* An initialiser. Its options are its arguments: numbers and words only. "my_normal(stddev=0.1)". */
typedef struct liana_initializer_type {
    LIANA_PART_MEMBERS;
    void (*fill)(const liana_initializer_call *call);
} liana_initializer_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_initializer(liana_context *context,
                                                                 const liana_initializer_type *type);

/* ---- activations, regularisers, constraints ---- */

/* They are named in options of layers, as an initialiser is: "leaky(slope=0.1)", "my_max_norm(2, axis=[0, 1])". Their
 * options are numbers, words and lists of numbers. */

typedef struct liana_activation_call {
    liana_location here; /* where the layer was written, for liana_op_..._at */
    const void *options;
    liana_tensor x; /* a float dtype, [batch, ...] */
} liana_activation_call;

/* An activation. The loss of its result is not computed from logits, as that of a softmax or sigmoid is. */
typedef struct liana_activation_type {
    LIANA_PART_MEMBERS;
    /* The result: of x's shape and dtype. */
    liana_tensor (*apply)(const liana_activation_call *call);
} liana_activation_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_activation(liana_context *context,
                                                                const liana_activation_type *type);

typedef struct liana_regularizer_call {
    const void *options;
    liana_tensor x; /* a weight, or what a layer gives */
} liana_regularizer_call;

/* A regulariser has one of two functions. */
typedef struct liana_regularizer_type {
    LIANA_PART_MEMBERS;
    /* The penalty of each element: of x's shape and dtype. It must read no other element, since x may be a flat range of
     * a weight. Their sum is added to the loss. Only these can be an activity_regularizer. */
    liana_tensor (*elements)(const liana_regularizer_call *call);
    /* The penalty of a whole weight in its shape: a scalar of x's dtype. */
    liana_tensor (*whole)(const liana_regularizer_call *call);
    /* Refuses weights by their shape: returns what is expected, such as "a matrix", or NULL. NULL: takes all. */
    const char *(*refuse)(const void *options, const liana_shape *shape);
} liana_regularizer_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_regularizer(liana_context *context,
                                                                 const liana_regularizer_type *type);

typedef struct liana_constraint_call {
    const void *options;
    liana_tensor variable; /* as the optimizer has changed it */
} liana_constraint_call;

/* A constraint: what becomes of a weight after each update. */
typedef struct liana_constraint_type {
    LIANA_PART_MEMBERS;
    /* The result of an element depends on this element alone. Then `apply` may be given a flat range of the weight; else
     * it gets the whole weight in its shape. */
    bool is_by_element;
    /* The result: of the variable's shape and dtype. */
    liana_tensor (*apply)(const liana_constraint_call *call);
    /* As in liana_regularizer_type. */
    const char *(*refuse)(const void *options, const liana_shape *shape);
} liana_constraint_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_constraint(liana_context *context,
                                                                const liana_constraint_type *type);

/* ---- callbacks ---- */

/* A callback by name, for train.callbacks and liana_fit_options.named_callbacks. */
typedef struct liana_callback_type {
    LIANA_PART_MEMBERS;
    /* Memory of each use of the callback, in bytes, at least sizeof(void *). It begins with a pointer to its options
     * (const my_options *; NULL if there are none), followed by zeros. The functions get it as `user`. */
    size_t self_size;
    /* The functions; its size is sizeof(liana_callback). name and user are not read: the state has the part's name. */
    liana_callback functions;
    void (*close)(void *self); /* frees what self refers to; NULL: nothing */
} liana_callback_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_callback(liana_context *context, const liana_callback_type *type);

/* ---- kinds of data ---- */

enum { LIANA_SOURCE_MESSAGE = 256 };

/* Files that are opened together. */
typedef struct liana_source_opening {
    const char *const *paths; /* [num_paths], local; valid during the call */
    size_t num_paths;
    char *message; /* [LIANA_SOURCE_MESSAGE]: why it fails, with the file's name */
    /* Filled in. What the pointers lead to must stay valid until the source is closed. */
    void *handle;
    uint64_t num_records;
    bool has_labels;
    bool has_images;
    const liana_component *components; /* besides image, label and id, with static shapes and no strings */
    size_t num_components;             /* at most LIANA_MAX_COMPONENTS */
} liana_source_opening;

/* A record. Pointers must stay valid until the next record is read with the same scratch memory. */
typedef struct liana_source_record {
    uint64_t index;
    void *scratch; /* of this thread, scratch_size bytes, zeros at first */
    char *message; /* [LIANA_SOURCE_MESSAGE]: why it fails */
    /* Filled in: an encoded image (JPEG, PNG), or its pixels. */
    const void *bytes;
    size_t size;
    const uint8_t *pixels; /* [height, width, channels], if `bytes` is NULL */
    int64_t height, width;
    int channels;
    int64_t label;  /* -1: none */
    const char *id; /* NULL: none */
    const void *values[LIANA_MAX_COMPONENTS];
} liana_source_record;

/* A kind of data, for data.train.kind. It has no options. Records are read in any order, on several threads. */
typedef struct liana_source_type {
    LIANA_PART_MEMBERS;
    /* Whether a file of this path that begins with these bytes is of this kind. Asked after liana's own kinds. NULL: only
     * files are whose kind the configuration names. */
    bool (*recognises)(const char *path, const uint8_t *head, size_t head_size);
    /* Errors: any status; INVALID_DATA and DATA_LOSS for damaged files. */
    liana_status (*open)(liana_source_opening *opening);
    void (*close)(void *handle); /* NULL: nothing to close */
    liana_status (*read)(void *handle, liana_source_record *record);
    size_t scratch_size;
} liana_source_type;
LIANA_API LIANA_MUST_USE liana_status liana_register_source(liana_context *context, const liana_source_type *type);

/* ---- plugins ---- */

/* What a plugin says of itself, as the symbol liana_plugin_entry of a shared library. LIANA_PLUGIN defines it. liana
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

/* Loads a plugin: a path of a shared library. It stays loaded until the context is destroyed. A second call with the same
 * file does nothing. The program must be linked with the shared libliana, as the plugin is. Errors: NOT_FOUND (no such
 * file), INVALID_ARGUMENT (not a plugin; built for another version; linked with another liana), those of its parts. The
 * file's own code runs in the program: load only what you trust. */
LIANA_API LIANA_MUST_USE liana_status liana_load_plugin(liana_context *context, const char *path);

#ifdef __cplusplus
}
#endif
#endif
