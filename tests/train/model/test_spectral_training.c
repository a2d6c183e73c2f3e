/* Trainings with SpectralNormalization, against Keras 3.15.1 on TensorFlow: each update begins with the kernel over its
 * greatest singular value.
 *
 * Element k of kernel, bias, vector_u, and of the kernel and bias of the layer behind, counted through them in this
 * order, is 0.6 sin(0.9 k + 0.5); element i of the inputs is sin(0.7 i + 0.3), and target i is cos(0.5 i). Two epochs
 * of three batches in their order. */
#include "harness/harness.h"

#include "layers/model.h"

#include <liana/layers.h>
#include <liana/train.h>

#include <math.h>
#include <string.h>

enum { EXAMPLES = 6, FEATURES = 3, UNITS = 2 };

static const struct {
    const char *optimizer;
    float kernel[FEATURES * UNITS], vector[UNITS], outputs[EXAMPLES];
    double losses[2];
} known[] = {
    {"{name: SGD, learning_rate: 0.1, momentum: 0.9}",
     {0.2269014f, 0.3491323f, 0.3824059f, -0.3310157f, -0.4738923f, -0.7903563f},
     {0.5091549f, 0.8606750f},
     {0.6353140f, 0.7916189f, 0.6633639f, 0.6363292f, 0.7919321f, 0.6617786f},
     {1.2439411878585815, 0.9281001091003418}},
    {"{name: Adam, learning_rate: 0.05}",
     {0.0753107f, 0.4594848f, 0.2346609f, -0.1719538f, -0.5655429f, -0.7231978f},
     {0.5512314f, 0.8343524f},
     {-0.0762156f, -0.5210837f, -0.2804337f, -0.0779960f, -0.5224970f, -0.2755306f},
     {1.218814730644226, 0.8884844779968262}},
};

static liana_context *context;

static void done(liana_status status)
{
    assert_ok(status, &context->error);
}

static float *values_of(liana_model *model, const char *name)
{
    const int found = liana__model_find_weight(model, name);
    assert_compare(found, >=, 0);
    return model->values[found];
}

static void set_values(liana_model *model)
{
    static const char *const names[] = {"s/dense/kernel", "s/dense/bias", "s/vector_u", "y/kernel", "y/bias"};
    static const size_t sizes[] = {FEATURES * UNITS, UNITS, UNITS, UNITS, 1};
    double k = 0;
    done(liana__model_values_complete(model, &context->error));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        float *values = values_of(model, names[i]);
        for (size_t e = 0; e < sizes[i]; e++, k++) values[e] = (float)(0.6 * sin(0.9 * k + 0.5));
    }
    model->values_version++;
}

static double losses[2];

static bool note_epoch(void *user, const liana_epoch *epoch)
{
    (void)user;
    losses[epoch->epoch - 1] = epoch->training.loss;
    return true;
}

static liana_dataset *make_data(void)
{
    static float x[EXAMPLES * FEATURES], y[EXAMPLES];
    for (size_t i = 0; i < EXAMPLES * FEATURES; i++) x[i] = (float)sin(0.7 * (double)i + 0.3);
    for (size_t i = 0; i < EXAMPLES; i++) y[i] = (float)cos(0.5 * (double)i);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(EXAMPLES, FEATURES), x},
                                  {"y", LIANA_F32, liana_shape_of(EXAMPLES, 1), y}};
    return liana_dataset_from_tensor_slices(context, arrays, 2);
}

/* Also with shards of one example, and on devices that share the update. */
static void test_updates_begin_with_the_quotient(void **state)
{
    (void)state;
    static const struct {
        int64_t microbatch;
        liana_strategy strategy;
    } ways[] = {{0, {0}}, {1, {0}}, {1, {.name = "mirrored", .replicas = 2}}};
    liana_dataset *data = make_data();
    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        liana_model *m;
        float outputs[EXAMPLES];
        const size_t k = i % 2;
        done(liana_model_create(context, NULL, &m));
        liana_input(m, .shape = LIANA_INTS(FEATURES), .name = "x");
        liana_spectral_normalization(m, .name = "s", .power_iterations = 2,
                                     .layer = LIANA_HELD("Dense", liana_dense_options, LIANA_DENSE_DEFAULTS,
                                                         .units = UNITS, .activation = "tanh"));
        liana_dense(m, .units = 1, .name = "y");
        set_values(m);
        done(liana_fit(m, &(liana_fit_options){.training = data,
                                               .epochs = 2,
                                               .batch_size = 2,
                                               .microbatch = ways[i / 2].microbatch,
                                               .strategy = ways[i / 2].strategy,
                                               .optimizer = known[k].optimizer,
                                               .loss = "mean_squared_error",
                                               .keep_order = true,
                                               .on_epoch = note_epoch}));
        const float *kernel = values_of(m, "s/dense/kernel"), *vector = values_of(m, "s/vector_u");
        for (size_t e = 0; e < 2; e++) assert_near(losses[e], known[k].losses[e], 1e-5);
        for (size_t e = 0; e < FEATURES * UNITS; e++) assert_near(kernel[e], known[k].kernel[e], 1e-5);
        for (size_t e = 0; e < UNITS; e++) assert_near(vector[e], known[k].vector[e], 1e-5);
        done(liana_predict(m, data, NULL, outputs));
        for (size_t e = 0; e < EXAMPLES; e++) assert_near(outputs[e], known[k].outputs[e], 1e-5);
        liana_model_destroy(m);
    }
    liana_dataset_close(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_updates_begin_with_the_quotient)};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    liana_context_destroy(context);
    return failed;
}
