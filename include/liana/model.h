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
 * output. Shapes are inferred and checked when a layer is added.
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
    LIANA_FLOAT32,
    /* bfloat16: matrix products and the activations between them. float32: sums, statistics, softmax, losses, gradients
     * of weights, and updates. */
    LIANA_MIXED_BFLOAT16,
    LIANA_PRECISION_AUTO, /* LIANA_MIXED_BFLOAT16 if the processor has instructions for it, else LIANA_FLOAT32 */
} liana_precision;

/* A layer of a model, and its output. Passed by value; valid as long as its model. */
typedef struct liana_layer {
    liana_model *model;
    uint32_t id; /* 0: none */
} liana_layer;

/* Creates an empty model. If `name` is NULL, it is "sequential" or "model", depending on the layers. The context must
 * outlive the model. Errors: OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_create(liana_context *context, const char *name, liana_model **model);
LIANA_API void liana_model_destroy(liana_model *model);

/* The first error while building, or LIANA_OK. Its message is in the context. */
LIANA_API LIANA_MUST_USE liana_status liana_model_status(const liana_model *model);

/* The layer of that name, or a layer with id 0. */
LIANA_API liana_layer liana_model_layer(const liana_model *model, const char *name);

/* The shape of the layer's output, [batch, ...], with -1 for the batch size. A scalar if the layer is invalid. */
LIANA_API liana_shape liana_layer_shape(liana_layer layer);

/* The number of parameters in all weights, or in trainable weights only. */
LIANA_API int64_t liana_model_num_parameters(const liana_model *model, bool trainable_only);

/* Freezes all layers before the named one; it and the later layers are trained. The weights of frozen layers do not
 * change, and their batch normalisation uses the moving averages. Errors: NOT_FOUND. */
LIANA_API LIANA_MUST_USE liana_status liana_model_train_from(liana_model *model, const char *layer_name);

/* Sets the momentum of all batch normalisations, 0 to 1: the share of the moving averages that an update keeps. Keras's
 * values (0.99; 0.999 in MobileNetV2) need thousands of updates. Errors: INVALID_ARGUMENT. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_batch_norm_momentum(liana_model *model, double momentum);

/* The precision in which liana_evaluate and liana_predict compute. It is what was set last, or what liana_fit trained
 * in, or for a model from a run folder what the run was trained in; else LIANA_FLOAT32. */
LIANA_API liana_precision liana_model_precision(const liana_model *model);
LIANA_API void liana_model_set_precision(liana_model *model, liana_precision precision);

/* How images enter the model, and the names of its classes: as liana_fit trained it, as it was loaded, or as it was set
 * last. The names belong to the model, and are valid as long as it is. */
LIANA_API liana_preprocessing liana_model_preprocessing(const liana_model *model);
/* Sets the preprocessing. A model accepts only data with its classes: set other names before fitting it to other
 * classes. Zeros make it forget everything. Errors: INVALID_ARGUMENT (an unknown liana_scale, or a number of names that
 * differs from the number of outputs), OUT_OF_MEMORY; the model then keeps what it knew. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_preprocessing(liana_model *model,
                                                                    const liana_preprocessing *preprocessing);

/* The model as a table of layers with output shapes and numbers of parameters, like Keras's model.summary(). The string
 * is from malloc, and the caller frees it. NULL: out of memory. */
LIANA_API char *liana_model_summary(const liana_model *model);

#ifdef __cplusplus
}
#endif
#endif
