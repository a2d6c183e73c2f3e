/* Estimators: the bits of liana_fit, evaluation, prediction, export, resume, warm start, and what they refuse. */
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 90, BATCH = 32, MICROBATCH = 8, EPOCHS = 2, CLASSES = LIANA__TINY_CLASSES, SIZE = LIANA__TINY_SIZE };

/* Params of the model function below. */
typedef struct tiny {
    liana_model *model;
    const char *optimizer;
    bool no_label; /* it asks for a label that is none */
} tiny;

typedef struct fixture {
    liana_context *context;
    liana_dataset *training, *validation;
    tiny params;
} fixture;

static const char adam[] =
    "{name: Adam, learning_rate: {name: ExponentialDecay, initial_learning_rate: 0.01, decay_steps: 2}}";

static fixture set_up(int threads)
{
    fixture own = {.params = {.optimizer = adam}};
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = threads}, &own.context), LIANA_OK);
    done(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.training));
    done(liana_dataset_open(own.context, liana__test_path("validation-images"), NULL, &own.validation));
    own.params.model = liana__tiny_model(own.context);
    return own;
}

static void tear_down(fixture *own)
{
    liana_model_destroy(own->params.model);
    liana_dataset_close(own->training);
    liana_dataset_close(own->validation);
    liana_context_destroy(own->context);
}

static liana_estimator_spec tiny_fn(const liana_features *features, const liana_features *labels,
                                    const liana_estimator_mode *mode, void *params)
{
    const tiny *own = params;
    liana_tensor image = liana_feature(features, "image"), output;
    liana_model_call(own->model, &image, 1, &mode->call, &output, NULL);
    liana_estimator_spec spec = {
        .predictions = {{"probabilities", output}, {"class", liana_op_argmax(output, -1)}},
    };
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    liana_tensor label = liana_feature(labels, own->no_label ? "lable" : "label");
    spec.loss = liana_loss_of(output, label, NULL);
    spec.metrics[0] = (liana_estimator_metric){.output = output, .target = label};
    spec.optimizer.optimizer = own->optimizer;
    return spec;
}

static liana_estimator_options usual(fixture *own)
{
    return (liana_estimator_options){.model_fn = tiny_fn,
                                     .params = &own->params,
                                     .name = "tiny",
                                     .config = {.batch_size = BATCH, .microbatch = MICROBATCH, .seed = 5}};
}

static liana_estimator *make(fixture *of, const liana_estimator_options *options)
{
    const fixture own = *of;
    liana_estimator *estimator;
    done(liana_estimator_create(own.context, options, &estimator));
    return estimator;
}

static liana_train_spec whole(const fixture *own)
{
    return (liana_train_spec){.input = {own->training}, .epochs = EPOCHS};
}

/* A new model with the weights of an estimator. */
static liana_model *model_of(fixture *of, liana_estimator *estimator)
{
    const fixture own = *of;
    liana_model *model = liana__tiny_model(own.context);
    const liana_variables *variables = liana_estimator_variables(estimator);
    assert_non_null(variables);
    done(liana_model_from_variables(model, variables));
    return model;
}

/* ---- the bits of liana_fit ---- */

static liana_model *fit(fixture *of, liana_precision precision)
{
    const fixture own = *of;
    liana_model *model = liana__tiny_model(own.context);
    done(liana_fit(model, &(liana_fit_options){.training = own.training,
                                               .validation = own.validation,
                                               .epochs = EPOCHS,
                                               .batch_size = BATCH,
                                               .microbatch = MICROBATCH,
                                               .optimizer = own.params.optimizer,
                                               .precision = precision,
                                               .seed = 5}));
    return model;
}

static void hold_to_fit(int threads, const char *optimizer, liana_precision precision)
{
    fixture own = set_up(threads);
    own.params.optimizer = optimizer;
    liana_estimator_options options = usual(&own);
    options.config.precision = precision;
    liana_estimator *estimator = make(&own, &options);
    liana_train_spec train = whole(&own);
    done(liana_estimator_train_and_evaluate(estimator, &train, &(liana_eval_spec){.input = {own.validation}}));
    assert_int_equal(liana_estimator_global_step(estimator), EPOCHS * 3);
    liana_model *model = model_of(&own, estimator), *expected = fit(&own, precision);
    liana_model *untrained = liana__tiny_model(own.context);
    assert_true(liana__same_weights(model, expected));
    assert_false(liana__same_weights(model, untrained));
    /* And so are measurements. */
    liana_results found, wanted;
    done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input = {own.validation}}, &found));
    done(liana_evaluate(expected, own.validation, &(liana_evaluate_options){.batch_size = BATCH}, &wanted));
    assert_int_equal(found.num_examples, COUNT / 2);
    assert_int_equal(found.num_metrics, 1);
    assert_string_equal(found.metric_names[0], "accuracy");
    if (precision == LIANA_FLOAT32) {
        assert_true(fabs(found.loss - wanted.loss) < 1e-6);
        assert_true(found.metrics[0] == wanted.metrics[0]);
    }
    liana_model_destroy(untrained);
    liana_model_destroy(expected);
    liana_model_destroy(model);
    liana_estimator_destroy(estimator);
    tear_down(&own);
}

static void test_bits_are_those_of_fit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) hold_to_fit(threads, adam, LIANA_FLOAT32);
    hold_to_fit(2, "{name: SGD, momentum: 0.9, learning_rate: 0.05}", LIANA_FLOAT32);
}

static void test_mixed_precision_is_that_of_fit(void **state)
{
    (void)state;
    hold_to_fit(2, adam, LIANA_MIXED_BFLOAT16);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bits_are_those_of_fit),
        cmocka_unit_test(test_mixed_precision_is_that_of_fit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
