/* model.h - a model: joined layers, and the names, shapes and initial values of their weights.
 *
 * A model is built layer by layer with the builders of layers.h, as in Keras:
 *
 *     liana_model *m;
 *     liana_model_create(context, "mnist", &m);
 *     liana_input(m, .shape = LIANA_INTS(28, 28, 1));
 *     liana_conv2d(m, .filters = 32, .kernel_size = 3, .activation = "relu");
 *     liana_flatten(m);
 *     liana_dense(m, .units = 10, .activation = "softmax");
 *     if (liana_model_status(m) != LIANA_OK) ... liana_context_message(context) ...
 *
 * The input of a layer is the layer before it, unless .input (or .inputs) names others. The last layer is the model's
 * output, unless liana_model_outputs names one or several. Shapes are inferred and checked when a layer is added.
 *
 * A layer may be called several times (liana_layer_reuse), and a model may be a layer of another (liana_nested): see
 * layers.h. Layers and models can be called on tensors of a graph: see the end of this file.
 *
 * The first error stays with the model, with the caller's file and line. Later builders do nothing and return an
 * invalid layer (id 0). So it is enough to check liana_model_status() once, at the end. */
#ifndef LIANA_MODEL_H
#define LIANA_MODEL_H

#include <liana/graph.h>
#include <liana/preprocessing.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_model liana_model;

/* The precision of training and inference. Weights are kept in float32 in any case. */
typedef enum liana_precision {
    LIANA_FLOAT32, /* products and convolutions too, on every device (XLA's precision HIGHEST) */
    /* bfloat16: matrix products and the activations between them. float32: sums, statistics, softmax, losses, gradients
     * of weights, and updates. */
    LIANA_MIXED_BFLOAT16,
    /* float32, but products and convolutions as the device does them by itself (XLA's precision DEFAULT): a GPU may
     * round their operands to TF32, a TPU rounds them to bfloat16. On a CPU it is LIANA_FLOAT32. */
    LIANA_FLOAT32_DEFAULT,
    LIANA_PRECISION_AUTO, /* LIANA_MIXED_BFLOAT16 on GPUs, TPUs and CPUs with instructions for it, else LIANA_FLOAT32 */
} liana_precision;

/* A call of a layer of a model, and its result. Passed by value; valid as long as its model. */
typedef struct liana_layer {
    liana_model *model;
    uint32_t id; /* 0: none */
} liana_layer;

/* Creates an empty model. If `name` is NULL, it is "sequential" or "model", depending on the layers. The context must
 * outlive the model. Errors: OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_create(liana_context *context, const char *name, liana_model **model);
/* NULL is allowed. */
LIANA_API void liana_model_destroy(liana_model *model);

/* The first error while building, or LIANA_OK. Its message is in the context. */
LIANA_API LIANA_MUST_USE liana_status liana_model_status(const liana_model *model);

/* The first call of the layer of that name, or a layer with id 0. A layer "dense" of the nested model "encoder" is
 * "encoder/dense". */
LIANA_API liana_layer liana_model_layer(const liana_model *model, const char *name);

/* The shape of the layer's output, [batch, ...], with -1 for the batch size. A scalar if the layer is invalid. */
LIANA_API liana_shape liana_layer_shape(liana_layer layer);

/* ---- inputs and outputs ---- */

enum { LIANA_MAX_MODEL_OUTPUTS = 16 };

/* Makes layers the model's outputs, in this order, instead of the last one: liana_model_outputs(m, score, class).
 * `names` may be NULL, and so may each name: an output is then named as its layer (or as the nested model that it comes
 * from); the second output of one layer "dense" is "dense_1". A model that was fitted or loaded may get other outputs,
 * such as an inner layer that is to predict. It forgets the losses and metrics of its outputs before. While a layer
 * leads to no output it can neither be trained nor saved. Errors are the model's: INVALID_ARGUMENT (a layer of another
 * model, two outputs of one name). */
LIANA_API void liana_model_outputs_at(liana_location here, liana_model *model, const liana_layer *layers, size_t count,
                                      const char *const *names);

/* An input or output. */
typedef struct liana_port {
    const char *name;  /* valid as long as the model; NULL: there is no such port */
    liana_dtype dtype; /* LIANA_F32 stands for the float dtype in which the model computes */
    liana_shape shape; /* [batch, ...], with -1 for the batch size, and for sizes that the data give */
} liana_port;
/* Inputs are in the order of their liana_input. One of texts has the dtype LIANA_STRING; in graphs
 * (liana_model_call) it is the result of the layer that reads it, which the host computes. */
LIANA_API liana_port liana_model_input(const liana_model *model, size_t index);
LIANA_API liana_port liana_model_output(const liana_model *model, size_t index);

/* Chooses the sizes of an input that its model leaves free (LIANA_ANY_SIZE). `shape` is [batch, ...]; the batch is not
 * read. Fits, predictions and evaluations of a program's own arrays choose them themselves, and liana_model_call takes
 * any; images of files have those chosen here. Errors: INVALID_ARGUMENT for another rank, for other sizes that are
 * not free, and for sizes that a layer does not take. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_input_shape(liana_model *model, size_t index, liana_shape shape);

/* ---- weights and training ---- */

/* A weight: in graphs it is the variable of this name, with the dtype that the model computes in. */
typedef struct liana_weight {
    const char *name; /* "conv2d/kernel"; valid as long as the model; NULL: there is no such weight */
    liana_shape shape;
    bool trainable; /* by gradients: false for moving averages and frozen layers */
} liana_weight;
/* In the order of the layers. */
LIANA_API liana_weight liana_model_weight(const liana_model *model, size_t index);

/* How much there is of a model. */
typedef struct liana_model_facts {
    size_t num_inputs, num_outputs, num_weights;
    int64_t num_parameters;           /* in all weights */
    int64_t num_trainable_parameters; /* in weights that gradients train */
} liana_model_facts;
LIANA_API liana_model_facts liana_model_info(const liana_model *model);

/* Counts the floating-point operations of one prediction of one example: those of convolutions and matrix products, as
 * papers count them, where a multiply-add is two operations. Products with zeros of the padding count. Normalisation,
 * activations, pooling and sums do not. It builds the graph, but no weights. Sizes that are left free are those of
 * liana_model_set_input_shape. Errors: those of the model; OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_count_flops(const liana_model *model, double *flops);

/* Freezes all layers before the named one (or before the first layer of the nested model of that name); it and the
 * later layers are trained. The weights of frozen layers do not change, and their batch normalisation uses the moving
 * averages. Errors: NOT_FOUND. */
LIANA_API LIANA_MUST_USE liana_status liana_model_train_from(liana_model *model, const char *layer_name);

/* Whether a layer, or all layers of a nested model, compute as in training while the model is trained. false: as in
 * inference, as Keras's layer(x, training=False); see .training in layers.h. `name` NULL: all layers that the model has
 * now, such as those of a base before its head is added. Errors: NOT_FOUND. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_training(liana_model *model, const char *name, bool training);

/* Sets the states of stateful layers to zeros, as before the first batch: between two sequences, as Keras's
 * reset_state() of layers. liana_fit, liana_evaluate and liana_predict reset nothing by themselves. A model without
 * such layers stays as it is. Errors: those of the model; OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_reset_states(liana_model *model);

/* Sets the momentum of all batch normalisations, 0 to 1: the share of the moving averages that an update keeps. Keras's
 * values (0.99; 0.999 in MobileNetV2) need thousands of updates. Errors: INVALID_ARGUMENT. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_batch_norm_momentum(liana_model *model, double momentum);

/* The precision in which liana_evaluate and liana_predict compute. It is the last one that was set, or the one that
 * liana_fit trained in, or for a model from a run folder that of the run; else LIANA_FLOAT32. */
LIANA_API liana_precision liana_model_precision(const liana_model *model);
LIANA_API void liana_model_set_precision(liana_model *model, liana_precision precision);

/* How images enter the model, and the names of its classes: as liana_fit trained it, as it was loaded, or as it was set
 * last. The names belong to the model, and are valid as long as it is. */
LIANA_API liana_preprocessing liana_model_preprocessing(const liana_model *model);
/* Sets the preprocessing. A model accepts only data with its classes: set other names before fitting it to other
 * classes. Zeros make it forget everything. Errors: INVALID_ARGUMENT (an unknown liana_scale, or a number of names that
 * differs from the number of outputs), OUT_OF_MEMORY; the model then stays as it was. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_preprocessing(liana_model *model,
                                                                    const liana_preprocessing *preprocessing);

/* The model as a table of layers with output shapes and numbers of parameters, like Keras's model.summary(). The string
 * is from malloc, and the caller frees it. NULL: out of memory. */
LIANA_API char *liana_model_summary(const liana_model *model);

/* ---- calling on tensors ----
 *
 * A call adds the layers to a graph. Weights are variables of the graph with the weights' names, so two calls share
 * them. The program owns the values of variables (see liana_model_weight for the list).
 *
 *     liana_tensor y;
 *     liana_call_effects effects;
 *     liana_call_mode mode = {.training = true, .positions = positions, .seed = 1};
 *     liana_model_call(model, &x, 1, &mode, &y, &effects);
 *     liana_gradients(loss_of(y), weights, num_weights, gradients);
 *     liana_effects_assign(&effects);
 */

/* How a model or layer is called. Zeros are the defaults: not for training. */
typedef struct liana_call_mode {
    bool training;          /* dropout drops, batch normalisation uses the batch's statistics */
    liana_tensor positions; /* u64 [batch]: dropout draws by these numbers (liana_op_dropout); only in training */
    liana_tensor present;   /* f32 [batch]: 1, or 0 for examples left out of batch statistics; invalid: none is */
    uint64_t seed;          /* of dropout; two calls of a model in one graph draw alike unless their seeds differ */
    liana_dtype dtype;      /* of the weights if no input is a float; LIANA_F32 (0) or another float dtype */
    /* bool [batch, steps], one for each input, false where a step is padding; an invalid tensor: none. NULL: none. */
    const liana_tensor *masks;
    struct liana_call_record *record; /* liana's, in a mode that liana gives: keep it */
} liana_call_mode;

/* A new value of a moving average. */
typedef struct liana_variable_update {
    liana_tensor variable;
    liana_tensor value;
    /* The terms of the value, for updates from several shards (step.h): average * momentum + statistic * (1 -
     * momentum). If `about` is a variable, the statistic is a second moment about its old value; the square of (the
     * statistic of `about` - its old value) is subtracted first. */
    liana_tensor statistic;
    double momentum;
    liana_tensor about; /* invalid: none */
} liana_variable_update;

/* The results of a call that are not outputs. They belong to the graph. */
typedef struct liana_call_effects {
    const liana_variable_update *updates; /* of batch normalisations that are trained; states, also outside training */
    size_t num_updates;
    const liana_tensor *masks; /* bool, one for each output; an invalid tensor: none */
    /* Floats [batch]: the penalties of activity regularizers, for each example; add them to its loss. Invalid: there
     * are none. */
    liana_tensor penalties;
    const liana_tensor *results; /* all of the call, such as the states of a recurrent layer */
    size_t num_results;
} liana_call_effects;

/* Calls a model on its inputs, and sets `outputs` [num_outputs]. Inputs are [batch, ...], with one batch size; floats
 * have one dtype, which the weights get. `mode` and `effects` may be NULL: not for training; not wanted. Errors stay
 * with the graph of the first input (sticky, see graph.h): another shape, dtype or number of inputs. Outputs are then
 * invalid. */
#define liana_model_call(model, inputs, num_inputs, mode, outputs, effects) \
    liana_model_call_at(LIANA_HERE, model, inputs, num_inputs, mode, outputs, effects)
LIANA_API void liana_model_call_at(liana_location here, const liana_model *model, const liana_tensor *inputs,
                                   size_t num_inputs, const liana_call_mode *mode, liana_tensor *outputs,
                                   liana_call_effects *effects);

/* Calls one layer of a model on any tensors that fit its weights. The layer's place in the model does not matter. */
#define liana_layer_call(layer, inputs, num_inputs, mode, effects) \
    liana_layer_call_at(LIANA_HERE, layer, inputs, num_inputs, mode, effects)
LIANA_API liana_tensor liana_layer_call_at(liana_location here, liana_layer layer, const liana_tensor *inputs,
                                           size_t num_inputs, const liana_call_mode *mode, liana_call_effects *effects);

/* The variables of the trainable weights in a graph, in the order of the weights: for liana_gradients, liana_minimize
 * and liana_shard_gradients. `variables` has room for all weights (liana_model_info). Returns how many there are. Those
 * that the graph does not have are left out: call the model first. */
LIANA_API size_t liana_model_variables(const liana_model *model, const liana_graph *graph, liana_tensor *variables);

/* liana_model_penalty(model, graph): the sum that the regularizers of a model's weights add to the loss, as a scalar of
 * the graph, f32; 0 without regularizers. A weight counts if training changes it (Keras 3's rule). Variables of weights
 * that the graph does not have are added. With a loss that is the mean over the whole batch, add it to the loss
 * (Keras's model.losses); in a step, give it to liana_update_add_loss. liana_apply_gradients applies the constraints of
 * weights by itself. */
#define liana_model_penalty(model, graph) liana_model_penalty_at(LIANA_HERE, model, graph)
LIANA_API liana_tensor liana_model_penalty_at(liana_location here, const liana_model *model, liana_graph *graph);

/* Assigns all updates. A variable can be assigned once in a graph: of two training calls, assign those of one. */
#define liana_effects_assign(effects) liana_effects_assign_at(LIANA_HERE, effects)
LIANA_API void liana_effects_assign_at(liana_location here, const liana_call_effects *effects);

#ifdef __cplusplus
}
#endif
#endif
