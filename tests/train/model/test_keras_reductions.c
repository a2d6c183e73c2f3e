/* Reductions, left-out classes, weights and losses of whole batches in whole trainings: the weights after an epoch of
 * three uneven updates, and the metrics, are those of Keras 3.15.1 on TensorFlow 2.21 (a Dense layer of four values
 * without a bias, batches of 4, no shuffling), in shards of any size. */
#include "harness/harness.h"
#include "harness/tiny_fit.h"

#include <liana/liana.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 10, INPUTS = 3, VALUES = 4, MOST_METRICS = 3 };

typedef enum target_kind { TARGET_NUM, TARGET_CLS, TARGET_BINS } target_kind;

typedef struct trial {
    const char *loss, *optimizer;
    target_kind target;
    const char *activation;
    const char *metrics[MOST_METRICS];
    bool weighted, needs_whole_batch;
    double weights[INPUTS * VALUES];
    int num_metrics;
    double values[MOST_METRICS]; /* of an evaluation after it */
} trial;

static const trial trials[] = {
    {"{name: mse, reduction: sum}",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_NUM,
     "linear",
     {"mae", "{name: mse, weighted: true}"},
     true,
     false,
     {-0.361947268, 0.0116432225, 0.332373679, -0.111443967, 0.0777682364, -0.35626936, 0.0240786448, 0.364149868,
      -0.247263774, 0.130518019, -0.394703686, 0.00660818815},
     2,
     {0.442387432, 0.255876034}},
    {"{name: mse, reduction: mean_with_sample_weight}",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_NUM,
     "linear",
     {"{name: mae, weighted: true}"},
     true,
     false,
     {-0.368413329, 0.0118167726, 0.354121894, -0.108583361, 0.104073621, -0.372935146, 0.0125444513, 0.363476336,
      -0.24846442, 0.133212164, -0.386133611, 0.0128788268},
     1,
     {0.429966152}},
    {"mse",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_NUM,
     "linear",
     {"mae", "{name: mae, weighted: true, as: weighted_mae}"},
     true,
     false,
     {-0.371304989, 0.00476239854, 0.363189787, -0.118685, 0.11256846, -0.371660531, 0.00687962305, 0.370406479,
      -0.249137864, 0.127919346, -0.380914867, 0.00437038485},
     2,
     {0.447459549, 0.432404965}},
    {"{name: SparseCategoricalCrossentropy, ignore_class: 1}",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_CLS,
     "softmax",
     {"accuracy", "{name: accuracy, weighted: true, as: weighted_accuracy}"},
     true,
     false,
     {-0.383676231, -0.00323012238, 0.379184812, -0.117278412, 0.122887656, -0.368850678, 0.00736482814, 0.363598198,
      -0.249814183, 0.123070717, -0.374584734, 0.00132819032},
     2,
     {0.300000012, 0.260869563}},
    {"{name: SparseCategoricalCrossentropy, ignore_class: 1, reduction: mean_with_sample_weight}",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_CLS,
     "softmax",
     {NULL},
     true,
     false,
     {-0.396508008, -0.00754524674, 0.382709444, -0.103656173, 0.122784249, -0.360995173, 0.0161358677, 0.347075045,
      -0.254069954, 0.120902874, -0.374026567, 0.00719363615},
     0,
     {0}},
    {"dice",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_BINS,
     "sigmoid",
     {NULL},
     false,
     true,
     {-0.370714158, 0.00440500677, 0.379508108, -0.12059769, 0.12187025, -0.378177464, -0.00319538545, 0.371822298,
      -0.24341397, 0.131687894, -0.368363827, 0.00668684021},
     0,
     {0}},
    {"{name: dice, axis: [1]}",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_BINS,
     "sigmoid",
     {NULL},
     true,
     false,
     {-0.37331602, 0.0017262944, 0.37674582, -0.12327572, 0.12404529, -0.375969559, -0.000974810508, 0.374031514,
      -0.248350948, 0.126681834, -0.373323619, 0.00168032909},
     0,
     {0}},
    {"mse",
     "{name: SGD, learning_rate: 0.1, momentum: 0.9, gradient_accumulation_steps: 2}",
     TARGET_NUM,
     "linear",
     {NULL},
     false,
     false,
     {-0.369824231, 0.000427246094, 0.366662592, -0.124926761, 0.1154541, -0.369335949, 0.00104980473, 0.376733392,
      -0.251574695, 0.124890134, -0.373559564, -0.00264892587},
     0,
     {0}},
    {"binary_crossentropy",
     "{name: SGD, learning_rate: 0.1}",
     TARGET_BINS,
     "sigmoid",
     {"auc", "{name: AUC, weighted: true, as: weighted_auc}"},
     true,
     false,
     {-0.368688792, 0.00479774456, 0.380088925, -0.119202375, 0.119994327, -0.378626525, -0.00429259986, 0.370041251,
      -0.242528841, 0.131032482, -0.368359387, 0.0070071416},
     2,
     {0.3984375, 0.38197118}},
};

typedef struct samples {
    float x[EXAMPLES * INPUTS], numbers[EXAMPLES * VALUES], answers[EXAMPLES * VALUES], weights[EXAMPLES];
    int32_t classes[EXAMPLES];
} samples;

static samples draw(void)
{
    samples made;
    for (int i = 0; i < EXAMPLES; i++) {
        for (int k = 0; k < INPUTS; k++) made.x[i * INPUTS + k] = (float)((i * 7 + k * 5) % 11 - 5) / 8;
        for (int k = 0; k < VALUES; k++) {
            made.numbers[i * VALUES + k] = (float)((i * 5 + k * 3) % 7 - 3) / 4;
            made.answers[i * VALUES + k] = (i * 5 + k * 3) % 3 == 0;
        }
        made.weights[i] = (float)(i * 5 % 4 + 1) / 4;
        made.classes[i] = i * 3 % 4;
    }
    return made;
}

static void done_at(liana_context *context, liana_status status, int line)
{
    liana__tiny_done(context, status, __FILE__, line);
}
#define DONE(context, call) done_at(context, call, __LINE__)

static liana_dataset *make_data(liana_context *context, const trial *t, samples *all)
{
    const bool classes = t->target == TARGET_CLS;
    liana_array target = {.name = "y",
                          .dtype = classes ? LIANA_S32 : LIANA_F32,
                          .shape = classes ? liana_shape_of(EXAMPLES) : liana_shape_of(EXAMPLES, VALUES)};
    target.data = classes ? (void *)all->classes : t->target == TARGET_BINS ? all->answers : all->numbers;
    const liana_array arrays[] = {
        {.name = "x", .dtype = LIANA_F32, .shape = liana_shape_of(EXAMPLES, INPUTS), .data = all->x},
        target,
        {.name = "w", .dtype = LIANA_F32, .shape = liana_shape_of(EXAMPLES), .data = all->weights}};
    liana_dataset *data = liana_dataset_from_tensor_slices(context, arrays, 3);
    assert_non_null(data);
    return data;
}

static liana_model *make_model(liana_context *context, const trial *t)
{
    liana_model *model;
    float kernel[INPUTS * VALUES];
    DONE(context, liana_model_create(context, NULL, &model));
    liana_input(model, .name = "x", .shape = LIANA_INTS(INPUTS));
    liana_dense(model, .units = VALUES, .use_bias = false, .activation = t->activation, .name = "y");
    for (int i = 0; i < INPUTS; i++) {
        for (int k = 0; k < VALUES; k++) kernel[i * VALUES + k] = (float)((i * 4 + k * 3) % 7 - 3) / 8;
    }
    const liana_array weights = {.name = "y/kernel",
                                 .dtype = LIANA_F32,
                                 .shape = liana_shape_of(INPUTS, VALUES),
                                 .data = kernel};
    DONE(context, liana_model_set_weights(model, &weights, 1));
    return model;
}

static void try_training(const trial *t, int64_t microbatch)
{
    liana_context *context;
    liana_results results;
    liana_array got;
    samples all = draw();
    float kernel[INPUTS * VALUES];
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    liana_dataset *data = make_data(context, t, &all);
    liana_model *model = make_model(context, t);
    const char *weight = t->weighted ? "w" : NULL;
    liana_fit_options fit = {.training = data,
                             .batch_size = 4,
                             .microbatch = microbatch,
                             .keep_order = true,
                             .optimizer = t->optimizer,
                             .loss = t->loss,
                             .example_weight = weight};
    liana_evaluate_options evaluate = {.batch_size = 4, .loss = t->loss, .example_weight = weight};
    for (int i = 0; i < MOST_METRICS; i++) fit.metrics[i] = evaluate.metrics[i] = t->metrics[i];
    DONE(context, liana_fit(model, &fit));
    DONE(context, liana_model_get_weights(model, "y/kernel", &got));
    memcpy(kernel, got.data, sizeof kernel);
    for (int i = 0; i < INPUTS * VALUES; i++) {
        if (fabs((double)kernel[i] - t->weights[i]) <= 2e-6) continue;
        fail_msg("%s, shards of %d: weight %d is %.9g, Keras has %.9g", t->loss, (int)microbatch, i, (double)kernel[i],
                 t->weights[i]);
    }
    DONE(context, liana_evaluate(model, data, &evaluate, &results));
    if (t->num_metrics) assert_int_equal(results.num_metrics, t->num_metrics);
    for (int i = 0; i < t->num_metrics; i++) {
        if (fabs(results.metrics[i] - t->values[i]) <= 1e-5) continue;
        fail_msg("%s, shards of %d: %s is %.9g, Keras has %.9g", t->loss, (int)microbatch, results.metric_names[i],
                 results.metrics[i], t->values[i]);
    }
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

static void test_trainings_are_those_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i++) {
        try_training(&trials[i], 0);
        try_training(&trials[i], 4);
        for (int64_t shard = 1; shard < 4 && !trials[i].needs_whole_batch; shard++) try_training(&trials[i], shard);
    }
}

/* ---- losses that layers add ---- */

/* A layer that gives its input, and adds 0.1 x^2 of all its values to the loss. */
static liana_tensor add_squares(liana_layer_call *call)
{
    liana_tensor square = liana_op_square(call->inputs[0]);
    liana_tensor sum = liana_op_reduce_sum(square, LIANA_AXES(-1), false);
    call->penalties = liana_op_multiply(sum, liana_graph_scalar(sum.graph, LIANA_F32, 0.1));
    return liana_op_multiply(call->inputs[0], liana_graph_scalar(sum.graph, LIANA_F32, 1));
}

static const liana_layer_type squares = {
    LIANA_PART(LAYER, liana_layer_type, "squares", "Adds the squares of its values to the loss.",
               .options = {NULL, sizeof(liana_plain_layer_options), 0, NULL}),
    .keeps_shards_apart = true,
    .adds_loss = true,
    .call = add_squares,
};

/* The loss of an evaluation after a fit, with the layer or with Keras's ActivityRegularization, which is the same. */
static double train_with_penalty(bool own_layer, int64_t microbatch, float kernel[INPUTS * VALUES])
{
    const trial *t = &trials[2];
    liana_context *context;
    liana_results results;
    liana_array got;
    samples all = draw();
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    DONE(context, liana_register(context, &squares.part));
    liana_dataset *data = make_data(context, t, &all);
    liana_model *model = make_model(context, t);
    if (own_layer) {
        liana_own_layer(model, "squares", liana_plain_layer_options, .name = "z");
    } else {
        liana_activity_regularization(model, .l2 = 0.1, .name = "z");
    }
    const liana_fit_options fit = {.training = data,
                                   .batch_size = 4,
                                   .microbatch = microbatch,
                                   .keep_order = true,
                                   .optimizer = t->optimizer,
                                   .loss = "mse"};
    DONE(context, liana_fit(model, &fit));
    DONE(context, liana_evaluate(model, data, &(liana_evaluate_options){.batch_size = 4, .loss = "mse"}, &results));
    DONE(context, liana_model_get_weights(model, "y/kernel", &got));
    memcpy(kernel, got.data, INPUTS * VALUES * sizeof *kernel);
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
    return results.loss;
}

static void test_layers_add_losses(void **state)
{
    (void)state;
    float own[INPUTS * VALUES], other[INPUTS * VALUES];
    const double expected = train_with_penalty(false, 4, other);
    for (int64_t shard = 1; shard <= 4; shard++) {
        assert_near(train_with_penalty(true, shard, own), expected, 1e-6);
        for (int i = 0; i < INPUTS * VALUES; i++) assert_near(own[i], other[i], 1e-6, i);
    }
}

/* A loss of pairs, or of a whole batch, is not cut. */
static void test_whole_batches_are_not_cut(void **state)
{
    (void)state;
    static const trial cut[] = {
        {"dice", "SGD", TARGET_BINS, "sigmoid", {NULL}, false, true, {0}, 0, {0}},
        {"{name: tversky, axis: [0]}", "SGD", TARGET_BINS, "sigmoid", {NULL}, false, true, {0}, 0, {0}},
        {"circle", "SGD", TARGET_CLS, "linear", {NULL}, false, true, {0}, 0, {0}}};
    for (size_t i = 0; i < sizeof cut / sizeof *cut; i++) {
        liana_context *context;
        samples all = draw();
        assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
        liana_dataset *data = make_data(context, &cut[i], &all);
        liana_model *model = make_model(context, &cut[i]);
        const liana_fit_options fit = {
            .training = data, .batch_size = 4, .microbatch = 2, .loss = cut[i].loss, .optimizer = "SGD"};
        liana__tiny_refused(context, liana_fit(model, &fit), LIANA_INVALID_CONFIG, "microbatch: 4", __FILE__, __LINE__);
        liana_model_destroy(model);
        liana_dataset_close(data);
        liana_context_destroy(context);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_trainings_are_those_of_keras),
                                       cmocka_unit_test(test_layers_add_losses),
                                       cmocka_unit_test(test_whole_batches_are_not_cut)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
