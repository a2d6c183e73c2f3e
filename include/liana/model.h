/* model.h - a model: layers that are joined, with their weights' names, shapes and initial values.
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
 * A layer takes the layer before it as its input unless .input (or .inputs) says otherwise. Shapes are inferred and
 * checked as each layer is added. The first error sticks to the model together with the caller's file and line; later
 * builders do nothing and return an invalid layer (id 0), so only liana_model_status() has to be checked, once. The
 * layer added last is the model's output. */
#ifndef LIANA_MODEL_H
#define LIANA_MODEL_H

#include <liana/graph.h>
#include <liana/preprocessing.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_model liana_model;

/* What training and inference compute in. Weights are kept in float32 in any case. */
typedef enum liana_precision {
    LIANA_FLOAT32,
    /* Products of matrices and the activations between them in bfloat16; sums, statistics, softmax, losses, gradients
     * of weights and updates in float32. */
    LIANA_MIXED_BFLOAT16,
    LIANA_PRECISION_AUTO, /* LIANA_MIXED_BFLOAT16 where the processor has instructions for it, else LIANA_FLOAT32 */
} liana_precision;

/* A layer of a model, and what it gives; passed by value, dies with its model. */
typedef struct liana_layer {
    liana_model *model;
    uint32_t id; /* 0: none */
} liana_layer;

/* Creates an empty model. `name` may be NULL: "sequential" or "model", by its layers. The context must outlive the
 * model. Errors: OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_create(liana_context *context, const char *name, liana_model **model);
LIANA_API void liana_model_destroy(liana_model *model);

/* The first error met while building, or LIANA_OK; its message is then the context's. */
LIANA_API LIANA_MUST_USE liana_status liana_model_status(const liana_model *model);

/* The layer of that name, or one with id 0. */
LIANA_API liana_layer liana_model_layer(const liana_model *model, const char *name);

/* [batch, ...]: what the layer gives, with the batch size written as -1. A scalar if the layer is invalid. */
LIANA_API liana_shape liana_layer_shape(liana_layer layer);

/* The number of single numbers in all weights, or in those that training changes. */
LIANA_API int64_t liana_model_num_parameters(const liana_model *model, bool trainable_only);

/* Freezes the layers before the one of that name (their weights stay as they are; batch normalisation in them runs on
 * its moving averages) and lets it and the later ones train. Errors: NOT_FOUND. */
LIANA_API LIANA_MUST_USE liana_status liana_model_train_from(liana_model *model, const char *layer_name);

/* The momentum of all batch normalisations, from 0 to 1: what share of its moving averages an update keeps. Keras's
 * (0.99; 0.999 in MobileNetV2) is for thousands of updates. Errors: INVALID_ARGUMENT. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_batch_norm_momentum(liana_model *model, double momentum);

/* What liana_evaluate and liana_predict compute the model in: what liana_fit trained it in, or was set last; for a
 * model that was loaded from a run folder what the run was trained in; else LIANA_FLOAT32. */
LIANA_API liana_precision liana_model_precision(const liana_model *model);
LIANA_API void liana_model_set_precision(liana_model *model, liana_precision precision);

/* How images enter the model, and what its classes are called: as liana_fit trained it, as the folder says that it was
 * loaded from, or as was set last. The names belong to the model and live as long as it does. */
LIANA_API liana_preprocessing liana_model_preprocessing(const liana_model *model);
/* A model is fitted to and evaluated on data with its classes only: give it others before a fit to others; of zeros it
 * forgets all. Errors: INVALID_ARGUMENT (no liana_scale, or not as many names as the model has outputs), OUT_OF_MEMORY;
 * the model keeps what it knew. */
LIANA_API LIANA_MUST_USE liana_status liana_model_set_preprocessing(liana_model *model,
                                                                    const liana_preprocessing *preprocessing);

/* The model as a table of layers with output shapes and numbers of parameters, as Keras's model.summary() prints it.
 * The string is malloc'ed for the caller to free(); NULL when memory could not be had. */
LIANA_API char *liana_model_summary(const liana_model *model);

#ifdef __cplusplus
}
#endif
#endif
