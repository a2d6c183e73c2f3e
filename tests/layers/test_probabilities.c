/* Which models give probabilities of classes, as a loss on these needs. */
#include "harness/harness.h"

#include "layers/model.h"

#include <liana/layers.h>

static liana_context *context;
static liana_model *model;
static liana__error error;

static void start_again(void)
{
    liana_model_destroy(model);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
}

/* The ends of a model, one after the other: of 3 classes for an input of 4 x 4 x 2. */
static void dense_softmax(void)
{
    liana_flatten(model);
    liana_dense(model, .units = 3, .activation = "softmax");
}

static void softmax_layer(void)
{
    liana_flatten(model);
    liana_dense(model, .units = 3);
    liana_softmax(model);
}

static void activation_softmax(void)
{
    liana_flatten(model);
    liana_dense(model, .units = 3);
    liana_activation(model, .activation = "softmax");
    liana_activation(model, .activation = "linear");
}

static void softmax_in_a_row(void)
{
    liana_conv2d(model, .filters = 3, .kernel_size = 4, .activation = "softmax");
    liana_reshape(model, .target_shape = LIANA_INTS(1, 3));
    liana_flatten(model);
}

static void mean_of_softmaxes(void)
{
    liana_conv2d(model, .filters = 3, .kernel_size = 1, .activation = "softmax");
    liana_average_pooling2d(model);
    liana_global_average_pooling2d(model);
}

static void many_softmaxes_in_a_row(void)
{
    liana_conv2d(model, .filters = 3, .kernel_size = 3, .activation = "softmax");
    liana_flatten(model);
}

static void greatest_of_softmaxes(void)
{
    liana_conv2d(model, .filters = 3, .kernel_size = 1, .activation = "softmax");
    liana_global_max_pooling2d(model);
}

static void dense_linear(void)
{
    liana_flatten(model);
    liana_dense(model, .units = 3, .name = "end");
}

static void dense_relu(void)
{
    liana_flatten(model);
    liana_dense(model, .units = 3, .activation = "relu", .name = "end");
}

static void dense_sigmoid(void)
{
    liana_flatten(model);
    liana_dense(model, .units = 1, .activation = "sigmoid", .name = "end");
}

static void activation_behind_softmax(void)
{
    dense_softmax();
    liana_activation(model, .activation = "tanh", .name = "end");
}

static void dropout_behind_softmax(void)
{
    dense_softmax();
    liana_dropout(model, .rate = 0.5, .name = "end");
}

static void sum_of_softmaxes(void)
{
    liana_layer x = liana_flatten(model);
    liana_layer a = liana_dense(model, .units = 3, .activation = "softmax", .input = x);
    liana_layer b = liana_dense(model, .units = 3, .activation = "softmax", .input = x);
    liana_add(model, .inputs = {a, b}, .name = "end");
}

static void test_models_that_give_probabilities(void **state)
{
    (void)state;
    void (*const ends[])(void) = {dense_softmax, softmax_layer, activation_softmax, softmax_in_a_row,
                                  mean_of_softmaxes};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        start_again();
        liana_input(model, .shape = LIANA_INTS(4, 4, 2));
        ends[i]();
        assert_ok(liana_model_status(model), &model->error);
        assert_ok(liana__model_check_probabilities(model, 0, &error), &error);
    }
}

static void test_models_that_do_not(void **state)
{
    (void)state;
    static const struct {
        void (*end)(void);
        const char *layer, *advice;
    } cases[] = {
        {dense_linear, "layer 'end' (Dense, activation: linear)", "end the model in a softmax"},
        {dense_relu, "layer 'end' (Dense, activation: relu)", "end the model in a softmax"},
        {dense_sigmoid, "layer 'end' (Dense, activation: sigmoid)", "two classes need two units"},
        {activation_behind_softmax, "layer 'end' (Activation, activation: tanh)", "remove this layer"},
        {dropout_behind_softmax, "layer 'end' (Dropout)", "remove this layer"},
        {sum_of_softmaxes, "layer 'end' (Add)", "end the model in a softmax"},
        {many_softmaxes_in_a_row, "(Flatten)", "the layer before it gives probabilities"},
        {greatest_of_softmaxes, "(GlobalMaxPooling2D)", "the layer before it gives probabilities"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_again();
        liana_input(model, .shape = LIANA_INTS(4, 4, 2));
        cases[i].end();
        assert_ok(liana_model_status(model), &model->error);
        assert_fails(liana__model_check_probabilities(model, 0, &error), LIANA_INVALID_CONFIG, &error,
                     "test_probabilities.c:", cases[i].layer, "not probabilities of classes", cases[i].advice);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models_that_give_probabilities),
        cmocka_unit_test(test_models_that_do_not),
    };
    if (liana_context_create(NULL, &context) != LIANA_OK) return 1;
    int failures = cmocka_run_group_tests(tests, NULL, NULL);
    liana_model_destroy(model);
    liana_context_destroy(context);
    return failures;
}
