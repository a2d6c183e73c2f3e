/* model.h - the container of layers, which the trainer, the checkpoints and the summaries use.
 *
 * Build it with liana_model_create and the builders of <liana/layers.h>, with liana__model_from_layers (YAML), or with
 * liana__model_from_keras (JSON). Then call liana__model_check. Then, for each graph, liana__model_call. */
#ifndef LIANA_LAYERS_MODEL_H
#define LIANA_LAYERS_MODEL_H

#include "base/context.h"
#include "layers/initializers.h"
#include "layers/layer.h"
#include "layers/rules/constraints.h"
#include "layers/rules/regularizers.h"

/* No weight. */
static const size_t LIANA__NO_WEIGHT = SIZE_MAX;

typedef struct liana__weight {
    const char *name;       /* "conv2d/kernel": the name of the variable in graphs and checkpoints */
    const char *short_name; /* "kernel"; of a held layer "forward_lstm/lstm_cell/kernel" */
    const char *place;      /* below the layer, in files of Keras 3: "query_dense"; NULL: the layer itself */
    size_t number;          /* there */
    liana_shape shape;
    size_t layer;         /* index of its layer */
    bool trainable;       /* a property of its kind: false for moving averages; see liana__weight_trainable */
    bool frozen;          /* the held layer that it belongs to is not trained */
    bool is_state;        /* of a stateful layer: kept from batch to batch, and in no file of Keras */
    size_t begins_as;     /* the weight whose new value its update begins with, or LIANA__NO_WEIGHT: its own value */
    bool has_forget_ones; /* the second of four equal parts is 1, whatever the initialiser (unit_forget_bias) */
    const float *begin;   /* its first values, instead of the initialiser; NULL: none */
    liana__initializer initializer;
    liana__regularizer regularizer; /* type NULL: none */
    liana__constraint constraint;   /* type NULL: none */
} liana__weight;

/* Whether a weight stands at a place of its layer (NULL: in the layer itself). */
bool liana__weight_is_at(const liana__weight *weight, const char *place);

/* No layer, node, nested model or use of one. */
static const size_t LIANA__NONE = SIZE_MAX;

/* A layer and its weights. Results are those of its nodes. */
typedef struct liana__layer {
    const liana_layer_type *type;
    const char *name; /* "encoder/dense" for a layer of a nested model */
    void *options;
    bool trainable;
    bool inference; /* training: false; see liana__layer_infers. Only of a type that reads it */
    liana__regularizer activity_regularizer; /* of its results; type NULL: none */
    size_t within;                           /* the innermost nested model that it belongs to, or LIANA__NONE */
    size_t first_weight;
    size_t num_weights;
    size_t num_nodes; /* how often it is called */
    liana_location where;
} liana__layer;

/* One call of a layer on results of earlier nodes (Keras's word). Layers stand in the order of their first nodes. While
 * each layer is called once, node i is the node of layer i. */
typedef struct liana__layer_node {
    size_t layer;
    size_t number;  /* which call of its layer this is, from 0 */
    size_t *inputs; /* indices of earlier nodes; none for an input of the model */
    size_t num_inputs;
    uint32_t slots;      /* bit i: there is an input for slot i, the i-th input among the type's arguments */
    const void *options; /* the layer's, with those of this call */
    size_t output;       /* which result of the call it is. The others stand behind the first, their only input */
    size_t num_outputs;  /* of the call; of another result 0 */
    size_t within;       /* the innermost use of a nested model that it belongs to, or LIANA__NONE */
    liana_shape shape;   /* of the result, with a batch of 1 */
    liana_dtype dtype;   /* of the result; LIANA_F32 stands for any float dtype */
    bool is_softmax;     /* over the last axis of the result */
    bool is_identity;    /* with these options, outside training */
    uint32_t free;       /* bit d: dimension d follows from sizes that the data give; the shape has one of them */
    /* Of an input that holds texts: the node of the layer that the host computes of them (texts.h), or LIANA__NONE
     * while there is none. That node's result is what graphs get for the input. */
    bool is_text;
    size_t reader;
    const void *text_state; /* of that layer's node; NULL: an ordinary one */
    uint64_t text_fingerprint;
    liana_location where;
} liana__layer_node;

/* A stem of automatic names, and the first number that may be free: no name is ever given back. */
typedef struct liana__name_stem {
    const char *name;
    int next;
} liana__name_stem;

/* Tells models apart, also after one of them is destroyed: its address stays taken while somebody holds it. */
typedef struct liana__identity {
    size_t num_holders;
} liana__identity;

/* A model used as a layer. Its layers are layers of this model, and its nodes are nodes of this model, once for each
 * use. So everything that reads layers, nodes or weights needs not know about nesting. */
typedef struct liana__nested {
    const char *name; /* "encoder"; "outer/encoder" inside the nested model "outer" */
    bool functional;  /* as in liana_model */
    bool inference;   /* training: false, of all its layers */
    size_t within;
    liana__identity *identity; /* of the model from which it was made; held */
    uint64_t version;          /* that model's structure then */
    size_t first_layer;        /* its layers stand in a row, those of models nested in it among them */
    size_t num_layers;
    size_t num_nodes; /* of each use, also in a row */
    size_t *inputs;   /* nodes of its InputLayers, counted from the first node of a use */
    size_t num_inputs;
    size_t *outputs;
    const char **output_names;
    size_t num_outputs;
    size_t num_uses;
} liana__nested;

typedef struct liana__nested_use {
    size_t nested;
    size_t number; /* which use of the nested model, from 0 */
    size_t first_node;
    size_t within; /* the use of another nested model that it belongs to, or LIANA__NONE */
} liana__nested_use;

/* An output of the model. */
typedef struct liana__model_end {
    const char *name;
    size_t node;
} liana__model_end;

struct liana_model {
    liana_context *context;
    liana__arena arena;
    const char *name;             /* NULL: by its layers */
    bool functional;              /* Keras JSON says Functional, even if the layers are a sequence */
    const liana_location *blamed; /* the line that asked for an architecture, which errors name while its layers are
                                   * built */
    liana__error error;           /* the sticky one */
    liana__identity *identity;    /* its own */
    liana__layer *layers;
    size_t num_layers;
    size_t layer_capacity;
    liana__layer_node *nodes; /* inputs before users */
    size_t num_nodes;
    size_t node_capacity;
    liana__nested *nested;
    size_t num_nested;
    size_t nested_capacity;
    liana__nested_use *uses;
    size_t num_uses;
    size_t use_capacity;
    size_t building_nested; /* the nested model that gets added layers and nodes; usually LIANA__NONE */
    size_t building_use;
    size_t inputs[LIANA_MAX_LAYER_INPUTS]; /* nodes of the InputLayers, in the order of the model's inputs */
    size_t num_inputs;
    liana__model_end outputs[LIANA_MAX_MODEL_OUTPUTS];
    size_t num_outputs;      /* 0: none was chosen, the last layer is the output */
    bool gives_inner;        /* they are results of an inner layer, and later layers lead nowhere */
    liana__model_end *calls; /* further calls of layers and nested models that have names of their own */
    size_t num_calls;
    size_t call_capacity;
    liana__name_stem *stems;
    size_t num_stems;
    size_t stem_capacity;
    liana__weight *weights; /* Keras's order: layer by layer */
    size_t num_weights;
    size_t weight_capacity;
    liana_precision precision;
    liana_preprocessing preprocessing; /* names in the arena; set by src/train */
    bool knows_classes;                /* the classes are known: without names they are numbers */
    const liana__value *objective;     /* its losses and metrics, in the arena; NULL: not known; kept by src/train */
    const liana__value *optimizer;     /* that it was trained with, as `train.optimizer` names it; as above */
    bool is_compiled;                  /* its file had these: a fit that names none has them */
    bool knows_objective;              /* it was trained with that objective; NULL: with the usual losses and metrics */
    /* The architecture that was added to it first, and its options, in the arena; kept by src/models. */
    const char *architecture; /* NULL: none was */
    const liana__value *architecture_options;
    size_t architecture_end; /* the number of layers with it */
    /* The values of the first num_values weights: f32 on the host, malloc'ed, kept by src/train. */
    float **values;
    size_t num_values;
    uint64_t values_version;    /* another number whenever values are */
    bool has_chosen_sizes;      /* of inputs with free sizes: by a program or data */
    uint64_t structure_version; /* ... whenever layers, or their trainable weights, are */
    /* The results of compiling for fit, evaluate and predict; kept by src/train. */
    void *compiled;
    void (*destroy_compiled)(void *compiled);
};

/* ---- building ---- */

/* A request for a layer whose options are in a map. */
typedef struct liana__layer_request {
    liana_location here;
    const char *where; /* the dotted key in messages ("model.layers[2].Conv2D"); NULL: the layer's name */
    const liana_layer_type *type;
    const char *name;     /* NULL: Keras's automatic name */
    bool frozen;          /* trainable: false */
    bool inference;       /* training: false */
    const size_t *inputs; /* nodes; NULL: the node before */
    size_t num_inputs;
    uint32_t slots;                /* of the inputs; 0: the first ones */
    const liana__value *options;   /* NULL: all defaults */
    const char *const *other_keys; /* keys of the map that are not options; NULL-terminated, or NULL */
} liana__layer_request;
liana_layer liana__model_add(liana_model *model, const liana__layer_request *request);

/* Gives the result of a call a name. Errors: INVALID_CONFIG for a name that is taken; OUT_OF_MEMORY. */
liana_status liana__model_name_call(liana_model *model, size_t node, const char *name, liana__error *error)
    LIANA_MUST_USE;

/* Calls a layer of the model once more, on other nodes. The weights are the same. Of the request's options those of
 * calls are read; `type` and names are not. */
liana_layer liana__model_reuse(liana_model *model, size_t layer, const liana__layer_request *request);

/* A request for a model as a layer. The same `inner` under the same name shares its layers with its earlier uses. */
typedef struct liana__nest_request {
    liana_location here;
    const liana_model *inner; /* needed only during the call: its layers are copied, with their weights' values */
    const char *name;         /* NULL: the name of `inner` */
    bool frozen, inference;
    const size_t *inputs; /* nodes; NULL: the node before */
    size_t num_inputs;
} liana__nest_request;
/* Returns the nested model's first output. */
liana_layer liana__model_nest(liana_model *model, const liana__nest_request *request);

/* Makes nodes the model's outputs. `names` may be NULL: the names of their layers; so may each of them. */
liana_status liana__model_set_outputs(liana_model *model, liana_location here, const size_t *nodes,
                                      const char *const *names, size_t count);

/* Removes what leads to none of these nodes, which get their new numbers, but no input of the model. layers[i] is the
 * new number of layer i, or LIANA__NONE; it has room for all. For a model without nested ones and without values. */
liana_status liana__model_drop_unread(liana_model *model, size_t *outputs, size_t count, size_t *layers,
                                      liana__error *error) LIANA_MUST_USE;

/* Converts a builder's options struct to a map. Pairs given as one number are completed. An enum outside of its names
 * and a list that is too long are refused ("option: found ..."). */
liana_status liana__options_to_map(const liana_options *fields, const void *options, liana__arena *arena,
                                   const liana__value **map, liana__error *error) LIANA_MUST_USE;

/* ---- arguments of calls (model/arguments.c); see `arguments` of liana_layer_type ---- */

/* Whether an argument of that name is an option of calls. */
bool liana__argument_is_option(const liana_layer_type *type, const char *name);
bool liana__argument_is_mask(const char *name);
/* The name of the argument that a slot belongs to; NULL: there is no such slot, or the type has no arguments. */
const char *liana__argument_of_slot(const liana_layer_type *type, size_t slot);
/* The number of slots of an argument, and the first of them. 0: it is no input. */
size_t liana__argument_slots(const liana_layer_type *type, const char *name, size_t *first);
/* The argument at a position of Keras's call; NULL: there are fewer. */
const char *liana__argument_at(const liana_layer_type *type, size_t position);
/* How many inputs the type's functions see of a call with num_inputs. */
size_t liana__layer_num_slots(const liana_layer_type *type, size_t num_inputs);
/* The input at a slot: a node, or LIANA__NONE. */
size_t liana__node_input_at(const liana__layer_node *node, size_t slot);
/* Whether inputs at these slots can be those of a call. Errors: INVALID_CONFIG. */
liana_status liana__arguments_check(const liana_layer_type *type, uint32_t slots, liana__error *error) LIANA_MUST_USE;
/* *result: a layer's options with those of one call, which `given` has (NULL: none); in the arena. */
liana_status liana__arguments_read(const liana_layer_type *type, const void *options, const liana__value *given,
                                   const char *where, liana__arena *arena, const void **result, liana__error *error)
    LIANA_MUST_USE;
/* Whether calls of the type have options of their own. */
bool liana__layer_calls_have_options(const liana_layer_type *type);

/* Sets the model's error (unless it has one) as "file:line: message", and returns an invalid layer. */
liana_layer liana__model_fail(liana_model *model, liana_location here, liana_status status, const char *format, ...)
    LIANA__PRINTF(4, 5);

/* Makes `error` the model's, unless it has one; "file:line: " comes before it unless it names a place in that file
 * already. */
liana_layer liana__model_keep_error(liana_model *model, const liana_location *here, const liana__error *error);

/* Checks a name of a layer, and that it is free. `name` is whole, with the names of nested models. */
liana_status liana__model_check_name(const liana_model *model, const char *name, liana__error *error) LIANA_MUST_USE;
/* Gives a layer its name: that of the request, or Keras's automatic one. Errors: as liana__model_check_name;
 * OUT_OF_MEMORY. */
liana_status liana__model_name_layer(liana_model *model, const liana__layer_request *request, liana__layer *layer,
                                     liana__error *error) LIANA_MUST_USE;
/* MaxPooling2D -> max_pooling2d: Keras puts '_' before a capital that begins a word. */
void liana__snake_case(const char *class_name, char *snake, size_t size);
/* stem, stem_1, ...: the first name that is free. Inputs are counted from 1. NULL: out of memory. */
const char *liana__model_free_name(liana_model *model, const char *stem, bool is_input);

/* Adds the layers of a YAML list to a model: each `- Flatten` or `- Conv2D: {filters: 32, ...}`. Apart from the
 * options, a layer may have the keys name, inputs (a name or a list of names; default: the layer before), trainable and
 * training. `- Sequential:` and `- Functional:` are models within the model, and `- Reuse:` calls a layer or one of
 * these again (liana__model_entries). If the model is empty and the list does not begin with InputLayer, one for
 * examples of `input_shape` (without the batch) is added first. The error is the model's; it names file, line, column
 * and the dotted key below `where`. */
liana_status liana__model_from_layers(liana_model *model, const liana__value *list, const char *where,
                                      const liana_shape *input_shape) LIANA_MUST_USE;
/* The same, for examples of another dtype. */
liana_status liana__model_from_layers_of(liana_model *model, const liana__value *list, const char *where,
                                         const liana_shape *input_shape, liana_dtype input_dtype) LIANA_MUST_USE;

/* Entries of such a list that are no layers; ended by one without a name. */
typedef struct liana__model_entry {
    const char *name;
    const char *doc;
    const liana_options *options;
} liana__model_entry;
extern const liana__model_entry liana__model_entries[];

/* Makes layers the model's outputs: a name, or a list of names, of YAML. NULL: the last layer. The error is the
 * model's. */
liana_status liana__model_outputs_from(liana_model *model, const liana__value *names, const char *where);

/* Checks that all layers lead to an output. Errors: INVALID_CONFIG with the layer. */
liana_status liana__model_check_used(const liana_model *model, liana__error *error) LIANA_MUST_USE;
/* Checks that the model has an input and at least one other layer, and that all layers lead to an output. A model that
 * was fitted, loaded or used may have got other outputs since, which leave layers out. */
liana_status liana__model_check(const liana_model *model, liana__error *error) LIANA_MUST_USE;

/* Checks that an output is probabilities: at least 0, with sum 1. It must end in a softmax, or in layers after one that
 * keep this. Errors: INVALID_CONFIG, with place and layer. */
liana_status liana__model_check_probabilities(const liana_model *model, size_t output, liana__error *error)
    LIANA_MUST_USE;
/* Whether a node is a softmax over one value, which is 1 whatever it reads. */
bool liana__model_is_lone_softmax(const liana_model *model, size_t node);
/* Fails if an output is such a softmax, or would be one in its loss (`of_loss`). Errors: INVALID_CONFIG, with place and
 * layer. */
liana_status liana__model_check_lone_softmax(const liana_model *model, size_t output, bool of_loss, liana__error *error)
    LIANA_MUST_USE;
/* Whether an output fits a loss: probabilities by a softmax, or by sigmoids; with NONE logits, so that it must not end
 * in one of these. `loss` is for messages. Errors: INVALID_CONFIG, with place and layer. */
liana_status liana__model_check_output(const liana_model *model, size_t output, liana_logits_kind expected,
                                       const char *loss, liana__error *error) LIANA_MUST_USE;
/* The text of an option of a layer; NULL: it has no such option, or it is not given. */
const char *liana__layer_option_text(const liana__layer *layer, const char *name);
/* Reads the regularisers and constraints that a layer's options name, for its results and for a weight. model/rules.c.
 * Errors: INVALID_CONFIG with the option, where they do not fit the weight. */
liana_status liana__read_activity_rule(liana_model *model, liana__layer *layer, liana__error *error) LIANA_MUST_USE;
liana_status liana__read_weight_rules(liana_layer_build *build, liana__weight *weight) LIANA_MUST_USE;

/* ---- options, and layers within a layer: model/held.c ---- */

/* Reads and checks the options of a type into the model's arena, with those of the layers that it holds. `other_keys`
 * are keys of the map that are no options. Errors: INVALID_CONFIG with place and key. */
liana_status liana__layer_read_options(liana_model *model, const liana_layer_type *type, const liana__value *map,
                                       const char *where, const char *const *other_keys, void **options,
                                       liana__error *error) LIANA_MUST_USE;
/* Copies those that are kept as they were written into the model's arena. */
liana_status liana__layer_keep_values(liana_model *model, const liana_options *fields, void *options,
                                      liana__error *error) LIANA_MUST_USE;
/* The options of every layer, from the same map. */
liana_status liana__layer_read_common(const liana__value *map, const char *where, liana__arena *arena,
                                      liana__layer_common_options *common, liana__error *error) LIANA_MUST_USE;
/* Sets in `map` the held layers that a program gave in its struct of options. */
liana_status liana__held_to_map(const liana_context *context, const liana_layer_type *type, const void *options,
                                liana__arena *arena, liana__value *map, liana__error *error) LIANA_MUST_USE;
/* The held layers of options that were read, one after the other: *next begins at 0. `option` (or NULL) gets the row.
 * NULL: there are no more. */
const liana_held_layer *liana__held_next(const liana_layer_type *type, const void *options, size_t *next,
                                         const liana_option **option);
/* Whether a layer, and those that it holds, compute each example by itself or each shard: see liana_layer_type. */
bool liana__layer_keeps_shards_apart(const liana_layer_type *type, const void *options);
/* What a layer, or one that it holds, computes of the whole batch in training; NULL: nothing. */
const char *liana__layer_whole_batch(const liana_layer_type *type, const void *options, bool trainable);
/* Weights that are declared from now on are called "NAME/kernel", and belong to a group below that of `build`. */
liana_status liana__layer_build_within(liana_layer_build *build, const char *name, const char *group) LIANA_MUST_USE;
/* The group of a layer of a list that an attribute has: "cells/lstm_cell_1". NULL: out of memory, noted in `build`. */
const char *liana__held_group(liana_layer_build *build, const liana_held_layers *list, const char *attribute,
                              size_t index);
/* The seed of the draws of held layer, or call, `number`; that of the first is `seed`. */
uint64_t liana__held_seed(uint64_t seed, size_t number);
/* The call of a held layer, without inputs. */
liana_layer_call liana__held_open(const liana_layer_call *call, const liana_held_layer *held, size_t number);
/* Adds the penalty of a held layer's result, if it has an activity_regularizer: for layers that call it as Keras calls
 * a layer, and not its computation alone. */
void liana__held_penalty(liana_layer_call *call, const liana_held_layer *held, liana_tensor result);
/* The states of a held layer, or of a further call of it, become those of `call`. */
void liana__held_keep_states(liana_layer_call *call, const liana_held_layer *held, const liana_layer_call *own);
/* Declares a state that is kept from batch to batch: zeros at first. */
void liana__layer_add_state(liana_layer_build *build, const char *name, liana_shape shape);
/* The weight that was declared last is a bias with ones for the forget gate. */
void liana__layer_forget_ones(liana_layer_build *build);
/* The weight that was declared last begins with these values, in the model's arena. */
void liana__layer_begin_with(liana_layer_build *build, const float *values);

/* ---- layers that the host computes ---- */

/* Makes the result of such a layer's node from the layer's options, also once more when these have changed. */
liana_status liana__model_make_texts(liana_model *model, size_t node, liana__error *error) LIANA_MUST_USE;

/* ---- questions ---- */

/* -1 if there is none. */
int liana__model_find_layer(const liana_model *model, const char *name);
int liana__model_find_weight(const liana_model *model, const char *name);
/* The result that a configuration calls so, or LIANA__NONE: of the call that was named so, or of the last unnamed call
 * of that layer or nested model; "encoder/OUTPUT" for another output of a nested model, "lstm/1" for the second result
 * of a layer. */
size_t liana__model_find_node(const liana_model *model, const char *name);
/* The result of the last addition: of a nested model its first output. LIANA__NONE: the model is empty. */
size_t liana__model_last_node(const liana_model *model);
/* The outermost use of a nested model that a node belongs to, or LIANA__NONE. */
size_t liana__model_outermost_use(const liana_model *model, size_t node);
int liana__model_find_nested(const liana_model *model, const char *name);

/* An input or output of a model. */
typedef struct liana__model_port {
    const char *name;
    liana_dtype dtype; /* LIANA_F32 stands for the float dtype in which the model computes */
    liana_shape shape; /* with a batch of 1 */
    uint32_t free;     /* bit d: the data give the size of dimension d, or it follows from such */
    int64_t num_ids;   /* an input that an Embedding or a CategoryEncoding reads: ids are 0 to num_ids - 1; else 0 */
    /* An input that the host makes of texts: dtype and shape are those of the result. NULL: none. */
    const struct liana__text_layer *texts;
    const void *text_state;
    uint64_t text_fingerprint;
    liana_shape texts_shape; /* of an example's texts, without the batch; of one input */
    /* The model's inputs whose texts it takes, this one among them, in the order of the layer's inputs. */
    size_t text_inputs[LIANA_MAX_LAYER_INPUTS];
    size_t num_text_inputs;
} liana__model_port;
size_t liana__model_num_inputs(const liana_model *model);
size_t liana__model_num_outputs(const liana_model *model);
/* An index out of range gives a port without a name. */
liana__model_port liana__model_input(const liana_model *model, size_t index);
liana__model_port liana__model_output(const liana_model *model, size_t index);
/* The node of an output; LIANA__NONE: the model is empty. */
size_t liana__model_output_node(const liana_model *model, size_t index);
/* The size that all batches have by the inputs' batch_size; 0: any. */
int64_t liana__model_batch_size(const liana_model *model);
/* How many of the first `count` weights of a layer files of weights have: all but states. */
size_t liana__layer_num_saved(const liana_model *model, const liana__layer *layer, size_t count);
/* The first layer with a state that is kept from batch to batch; NULL: there is none. */
const liana__layer *liana__model_stateful_layer(const liana_model *model);
/* The shapes of the model's first input and output, with a batch of 1. */
liana_shape liana__model_input_shape(const liana_model *model);
liana_shape liana__model_output_shape(const liana_model *model);
/* Whether training changes the weight by its gradient: it is not a moving average, and its layer is not frozen. */
bool liana__weight_trainable(const liana_model *model, size_t weight);
/* Whether the layer, or a nested model that it belongs to, computes as in inference also in training. */
bool liana__layer_infers(const liana_model *model, size_t layer);
/* model/rules.c: whether a weight or a result has a regulariser; whether the loss has a penalty of the weight now;
 * whether the update of the weight reads all of it, for its regulariser or constraint. */
bool liana__model_is_regularized(const liana_model *model);
bool liana__weight_is_regularized(const liana_model *model, size_t weight);
bool liana__weight_is_needed_whole(const liana_model *model, size_t weight);
/* Whether the only input of everything is the result before it; nested models count as one. */
bool liana__model_is_sequential(const liana_model *model);
/* The model's name, or "sequential" or "model". */
const char *liana__model_name(const liana_model *model);
void liana__model_summary(const liana_model *model, liana__text *text);

/* ---- scopes ----
 *
 * A scope is the model itself (LIANA__NONE), or a nested model. Its items are layers and nested models, in the order in
 * which they were added: Keras's layers of a model. */

typedef struct liana__scope_item {
    bool is_nested;
    size_t index; /* of a layer or nested model */
} liana__scope_item;

/* A result within a scope: output `output` of call `number` of an item. */
typedef struct liana__scope_result {
    liana__scope_item item;
    size_t number;
    size_t output;
} liana__scope_result;

/* Steps through the items: begin with *next = 0. false: there are no more. */
bool liana__scope_next(const liana_model *model, size_t scope, size_t *next, liana__scope_item *item);
/* The name of an item within its scope. */
const char *liana__scope_item_name(const liana_model *model, liana__scope_item item);
size_t liana__scope_num_calls(const liana_model *model, size_t scope, liana__scope_item item);
/* The inputs of call `number` of an item, in the scope's first use. Returns how many. */
size_t liana__scope_inputs(const liana_model *model, size_t scope, liana__scope_item item, size_t number,
                           liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS]);
/* The results that are the scope's outputs or inputs. Returns how many. */
size_t liana__scope_outputs(const liana_model *model, size_t scope,
                            liana__scope_result outputs[LIANA_MAX_MODEL_OUTPUTS]);
size_t liana__scope_own_inputs(const liana_model *model, size_t scope,
                               liana__scope_result inputs[LIANA_MAX_LAYER_INPUTS]);
/* The node of a result, in the scope's first use. */
const liana__layer_node *liana__scope_result_node(const liana_model *model, const liana__scope_result *result);
/* Whether it was said of the item itself that it computes as in inference. */
bool liana__scope_item_infers(const liana_model *model, liana__scope_item item);
/* Whether a Keras Sequential could say the same. */
bool liana__scope_is_sequential(const liana_model *model, size_t scope);

/* ---- changing ---- */

/* trainable of layers begin..end-1. */
void liana__model_set_trainable(liana_model *model, size_t begin, size_t end, bool trainable);
/* training: false of layers begin..end-1. */
void liana__model_set_inference(liana_model *model, size_t begin, size_t end, bool inference);
/* Freezes the layers before `name`; it and the later layers are trained. NOT_FOUND with the nearest name. */
liana_status liana__model_train_from(liana_model *model, const char *name, liana__error *error) LIANA_MUST_USE;

/* A number that tells the draws of calls apart. The first call of a layer draws as the layer alone does. */
enum { LIANA__MOST_LAYERS = 1 << 20, LIANA__MOST_CALLS = 1 << 12 };
static inline uint32_t liana__layer_salt(size_t layer, size_t number)
{
    return (uint32_t)(layer | number * LIANA__MOST_LAYERS);
}

/* Checks that inputs of these shapes, with a batch of 1, fit the layer of a node. Rank 0: an input is not given. */
liana_status liana__layer_check_inputs(const liana_model *model, size_t node, const liana_shape *shapes,
                                       size_t num_inputs, liana__error *error) LIANA_MUST_USE;

/* Infers the results of a node again, after the shapes of its inputs have changed. Its weights stay as they are: a
 * shape that would change one is an error. */
liana_status liana__model_infer_node(liana_model *model, size_t node, liana__error *error) LIANA_MUST_USE;

/* Whether an input has sizes that the data give. */
bool liana__model_has_free_sizes(const liana_model *model);

/* Gives the inputs with free sizes these shapes [batch, ...], and the nodes those that follow from them. Rank 0: an
 * input keeps the shape that it has. After an error the model is as before. */
liana_status liana__model_set_input_shapes(liana_model *model, const liana_shape *shapes, liana__error *error)
    LIANA_MUST_USE;

/* The initial values of a weight: f32, row-major, drawn by (seed, index of the weight, element). */
void liana__model_initialize(const liana_model *model, uint64_t seed, size_t weight, float *values);

/* Sets each weight that has no value on the host yet (all of a new model, or those of new layers) to its initial
 * value. */
liana_status liana__model_values_complete(liana_model *model, liana__error *error) LIANA_MUST_USE;

/* ---- results of inner layers ---- */

/* The nodes of all results of a layer, or of the outputs of a nested model. A layer that is called several times has
 * those of its last call without a name of its own. A layer of a nested model needs the nested model's name only where
 * several layers are called so. "lstm/1" is one result. Errors: NOT_FOUND, with the nearest name. */
liana_status liana__model_find_results(const liana_model *model, const char *name,
                                       size_t nodes[LIANA_MAX_MODEL_OUTPUTS], size_t *count, liana__error *error)
    LIANA_MUST_USE;

/* Makes them the outputs of the model, which then only predicts: layers behind them may lead nowhere. Errors: as
 * above. */
liana_status liana__model_give_results(liana_model *model, const char *name, liana__error *error) LIANA_MUST_USE;

/* The outputs of a model, to put them back later. Meanwhile no layer may be added. */
typedef struct liana__kept_outputs {
    liana__model_end items[LIANA_MAX_MODEL_OUTPUTS];
    size_t count;
    bool gives_inner;
    const liana__value *objective;
    uint64_t structure_version;
} liana__kept_outputs;
void liana__model_outputs_keep(const liana_model *model, liana__kept_outputs *kept);
void liana__model_outputs_restore(liana_model *model, const liana__kept_outputs *kept);

/* ---- graphs ---- */

typedef struct liana__model_mode {
    bool training; /* dropout drops, batch normalisation uses the shard's statistics */
    /* u64 [batch]: each example's address; needed in training if a Dropout has a rate above 0. */
    liana_tensor positions;
    /* f32 [batch]: 1, or 0 for rows that count as missing in batch statistics; invalid: none does. */
    liana_tensor present;
    /* This number of shards of equal size stands one behind the other in the batch, each with batch statistics of its
     * own; only with `present`. Layers of a program's own do not know of it. 0: one. */
    int64_t leaves;
    uint64_t seed;
    liana_dtype dtype;         /* of the weights of a model without float inputs: LIANA_F32 or another float */
    const liana_tensor *masks; /* bool, one for each input, or an invalid one; NULL: none */
    liana_location here;       /* the caller, for errors about its inputs; zeros: the place of the layer is named */
    bool asks_for_shapes;      /* any batch is right for stateful layers, and their states are not read */
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
    size_t about;  /* or LIANA__NO_WEIGHT */
    bool is_state; /* the statistic is the new state of a stateful layer, with momentum 0; also outside training */
} liana__model_update;

/* A moving average that calls of one layer follow one after the other follows the mean of their statistics, the later
 * ones weighted more: a' = m (m a + (1-m) s) + (1-m) t = m^2 a + (1-m^2) (m s + t) / (1+m). */
void liana__join_averages(liana_location here, liana_tensor *statistic, double *momentum, liana_tensor later,
                          double later_momentum);

/* An output of a called model. */
typedef struct liana__model_result {
    liana_tensor value;
    liana_tensor logits; /* invalid unless the value is an activation of them */
    liana_logits_kind logits_kind;
    liana_tensor mask; /* bool [batch, steps]: false where a step is padding; invalid: none is */
} liana__model_result;

/* The number of parameters in all weights but states, or in trainable weights only. */
int64_t liana__model_num_parameters(const liana_model *model, bool trainable_only);

/* Arrays are in the graph's arena. */
typedef struct liana__model_results {
    const liana__model_result *outputs; /* in the order of the model's; invalid tensors after an error */
    size_t num_outputs;
    liana_tensor *nodes;   /* the result of each node */
    liana_tensor *weights; /* the graph's variable of each weight */
    liana__model_update *updates;
    size_t num_updates;
    liana_tensor penalties; /* [batch]: of the activity regularisers, for each example; invalid: there are none */
} liana__model_results;

/* Builds the model's graph on `inputs`, one [batch, ...] for each of the model's, for any batch size. Float inputs have
 * one dtype; that of the weights is the same. Each weight is a variable with the weight's name. Errors stay with the
 * graph, with the place where the layer was written; a model that has failed, or an input of another shape or dtype, is
 * an error. */
liana__model_results liana__model_call(const liana_model *model, const liana_tensor *inputs,
                                       const liana__model_mode *mode);

/* The maker of a mode for a program may be told of the calls that are made with it. `penalties` are those of the
 * results. */
typedef struct liana_call_record {
    void (*add)(struct liana_call_record *record, const liana_model *model, const liana_call_effects *effects,
                liana_tensor penalties);
} liana_call_record;

/* The new value of the moving average of update `index`: momentum, statistic and `about` as above, in one step. The
 * results' weights begin with the model's weight `first`. */
liana_tensor liana__model_average(const liana__model_results *results, size_t first, size_t index);

/* Builds one layer on tensors, as a node of it in the model would be: with that call's options and draws. `results` has
 * the call's outputs, no nodes, and the layer's own weights. */
liana__model_results liana__model_call_layer(const liana_model *model, size_t node, const liana_tensor *inputs,
                                             size_t num_inputs, const liana__model_mode *mode);

/* ---- Keras JSON ---- */

/* The form of model.to_json(): that of Keras 3 is liana's own as well, that of Keras 2 is for tf_keras. TensorFlow.js
 * takes Keras 2's with words of its own. */
typedef enum liana__keras_form {
    LIANA__KERAS3,
    LIANA__KERAS2,
    LIANA__TFJS,
} liana__keras_form;

/* The architecture. Parts that a form cannot say are written so that liana reads them back; see
 * liana__model_check_keras. NULL: out of memory. */
liana__value *liana__model_to_keras(const liana_model *model, liana__keras_form form, liana__arena *arena);

/* Lists the parts that Keras would not read in that form, or would compute otherwise: layers and other parts of a
 * program's own, the other version's hard_sigmoid, training: false, names. Called before a file for Keras is written.
 * Errors: UNIMPLEMENTED, with all layers. */
liana_status liana__model_check_keras(const liana_model *model, liana__keras_form form, liana__error *error)
    LIANA_MUST_USE;

/* The name of a weight in TensorFlow.js, in the arena (NULL: out of memory), or false: it has no such weight; and the
 * value there. */
bool liana__tfjs_weight_name(const liana_model *model, size_t weight, liana__arena *arena, const char **name);
float liana__tfjs_weight_value(const liana_model *model, size_t weight, float value);

/* The parts of the model that TensorFlow.js does not have and that count in training alone, in the arena. They are left
 * out. NULL: there are none. */
const char *liana__tfjs_left_out(const liana_model *model, liana__arena *arena);

/* Gives each layer of the model its path, in the arena: `layers/`, the class in snake case, and from the second layer
 * of that class on `_1`, `_2`, ..., counted in the order of Keras's list of layers. For a Functional model that is the
 * order of depth, which need not be the order in which the layers were added. A nested model is a layer of its own
 * class. The path of nested model k is paths[num_layers + k]. */
liana_status liana__keras_paths(const liana_model *model, liana__arena *arena, const char ***paths, liana__error *error)
    LIANA_MUST_USE;

/* As liana__keras_paths, but a Sequential of TimeDistributed layers has the paths of a TimeDistributed that holds a
 * Sequential, without the part "layer", which the reader of files leaves out (formats/hdf5). */
liana_status liana__keras_paths_of_steps(const liana_model *model, liana__arena *arena, const char ***paths,
                                         liana__error *error) LIANA_MUST_USE;

/* The items of a scope in the order of Keras's list of layers, in the arena. Errors: OUT_OF_MEMORY. */
liana_status liana__keras_order(const liana_model *model, size_t scope, liana__arena *arena, liana__scope_item **items,
                                size_t *count, liana__error *error) LIANA_MUST_USE;

/* Puts the layers from first_layer on, whose nodes begin at first_node, into that order, with their nodes and weights.
 * The last one stays the last. If one of them is called twice or belongs to a nested model, nothing is done.
 * Errors: OUT_OF_MEMORY. */
liana_status liana__keras_sort(liana_model *model, size_t first_layer, size_t first_node, liana__error *error)
    LIANA_MUST_USE;

/* Whether names have the meaning of Keras 3: by "keras_version" in `wrapper` or `root`, else by the forms that only
 * one version writes. Errors: UNIMPLEMENTED for a version other than 1, 2 and 3. */
liana_status liana__keras_find_generation(const liana__value *wrapper, const liana__value *root, bool *keras3,
                                          liana__error *error) LIANA_MUST_USE;

/* Adds the layers of an architecture file of Keras 1, 2 or 3 to an empty model (Sequential or Functional, channels
 * last). A "keras_version" beside the architecture decides the meaning of names, else its form does: a reader of files
 * that keep the version elsewhere sets the key first. The error is the model's; it names file, line and layer. */
liana_status liana__model_from_keras(liana_model *model, const liana__value *architecture) LIANA_MUST_USE;

#endif
