/* Refusals of model functions, specs and options of estimators, with names. */
#include "harness/number_rows.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = LIANA__ROWS, WIDTH = LIANA__ROW_WIDTH, CLASSES = LIANA__ROW_CLASSES };

enum mistake {
    NO_LOSS = 100,
    MEAN_LOSS,
    WHOLE_LOSS,
    UNKNOWN_FEATURE,
    LABEL_AS_FEATURE,
    FEATURE_AS_LABEL,
    NO_VARIABLE,
    NO_INITIALIZER,
    WHOLE_VARIABLE,
    TWO_METRICS,
    UNKNOWN_METRIC,
    NAMELESS_METRIC,
    METRIC_IN_TRAINING,
    RATE_TENSOR,
    UNKNOWN_OPTIMIZER,
    FEW_CLASSES,
    OTHER_SIZES,
    NO_PREDICTION,
    TWO_PREDICTIONS,
    MEAN_PREDICTION,
    LABEL_IN_PREDICT,
    RESERVED_NAME,
    STRANGE_VARIABLE,
};

/* The scores of four classes, or of fewer. */
static liana_tensor scores_of(const liana_features *features, int what)
{
    int64_t classes = what == FEW_CLASSES ? 2 : CLASSES;
    const liana_dtype dtype = what == WHOLE_VARIABLE ? LIANA_S32 : LIANA_F32;
    liana_tensor x = liana_feature(features, what == UNKNOWN_FEATURE ? "xx" : what == LABEL_AS_FEATURE ? "label" : "x");
    const char *name = what == RESERVED_NAME ? "count" : "w";
    if (what == NO_VARIABLE) {
        liana_tensor twice[] = {x, x};
        return liana_op_softmax(liana_op_concat(twice, 2, 1));
    }
    liana_tensor w = liana_graph_variable(features->graph, name, dtype, liana_shape_of(WIDTH, classes));
    if (what != NO_INITIALIZER) liana_graph_initializer(w, "glorot_uniform");
    if (what == WHOLE_VARIABLE) w = liana_op_cast(w, LIANA_F32);
    return liana_op_softmax(liana_op_matmul(x, w, false, false));
}

static void add_mistakes(const liana_features *features, int what, liana_tensor scores, liana_tensor label,
                         liana_estimator_spec *spec)
{
    liana_tensor w = liana_graph_tensor(features->graph, "w");
    static liana_tensor chosen;
    chosen = scores;
    if (what == NO_LOSS) spec->loss = (liana_tensor){0};
    if (what == MEAN_LOSS) spec->loss = liana_op_reduce_mean(spec->loss, LIANA_ALL_AXES, false);
    if (what == WHOLE_LOSS) spec->loss = liana_op_cast(spec->loss, LIANA_S32);
    if (what == OTHER_SIZES && features->size != 2)
        spec->loss =
            liana_op_broadcast_to(liana_op_reduce_sum(w, LIANA_ALL_AXES, false), liana_shape_of(features->size, 7));
    if (what == TWO_METRICS)
        spec->metrics[0] = spec->metrics[1] = (liana_estimator_metric){.output = scores, .target = label};
    if (what == UNKNOWN_METRIC)
        spec->metrics[0] = (liana_estimator_metric){.metric = {.name = "acuracy"}, .output = scores};
    if (what == NAMELESS_METRIC) spec->metrics[0] = (liana_estimator_metric){.values = scores};
    if (what == RATE_TENSOR) spec->optimizer.rate = liana_graph_scalar(features->graph, LIANA_F32, 1);
    if (what == UNKNOWN_OPTIMIZER) spec->optimizer.optimizer = "Adamm";
    if (what == STRANGE_VARIABLE) spec->variables = &chosen, spec->num_variables = 1;
}

static liana_estimator_spec wrong_fn(const liana_features *features, const liana_features *targets,
                                     const liana_estimator_mode *mode, void *params)
{
    const int what = ((const liana__number_rows *)params)->what;
    liana_tensor scores = scores_of(features, what);
    liana_estimator_spec spec = {.predictions = {{"p", scores}}};
    if (what == NO_PREDICTION) spec.predictions[0] = (liana_prediction){0};
    if (what == TWO_PREDICTIONS) spec.predictions[1] = spec.predictions[0];
    if (what == MEAN_PREDICTION) spec.predictions[0].tensor = liana_op_reduce_mean(scores, LIANA_ALL_AXES, false);
    if (mode->kind == LIANA_MODE_PREDICT && what != LABEL_IN_PREDICT) return spec;
    liana_tensor label = liana_feature(targets, what == FEATURE_AS_LABEL ? "x" : "label");
    spec.loss = liana_loss_of(scores, label, NULL);
    add_mistakes(features, what, scores, label, &spec);
    if (what == METRIC_IN_TRAINING && mode->kind == LIANA_MODE_TRAIN) {
        spec.metrics[0] = (liana_estimator_metric){.output = scores, .target = label};
    }
    return spec;
}

/* A mistake, and how it is answered. */
typedef struct refusal {
    int what;
    liana_status status;
    const char *text;
} refusal;

static liana_estimator *make_wrong(liana__number_rows *own, int what)
{
    own->what = what;
    return liana__rows_estimator(own, (liana_estimator_options){.model_fn = wrong_fn});
}

static void test_what_is_refused(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {NO_LOSS, LIANA_INVALID_ARGUMENT, "numbers: the model function gives no loss when training; set .loss"},
        {MEAN_LOSS, LIANA_INVALID_ARGUMENT, "the loss is f32[], expected floats [2, ...]"},
        {MEAN_LOSS, LIANA_INVALID_ARGUMENT, "takes the mean itself"},
        {WHOLE_LOSS, LIANA_INVALID_ARGUMENT, "the loss is s32[2], expected floats"},
        {UNKNOWN_FEATURE, LIANA_NOT_FOUND, "no feature 'xx' when training; there are: 'x', 'y'"},
        {UNKNOWN_FEATURE, LIANA_NOT_FOUND, "test_model_function_errors.c:"},
        {LABEL_AS_FEATURE, LIANA_NOT_FOUND, "it is a label: ask the labels for it"},
        {FEATURE_AS_LABEL, LIANA_NOT_FOUND, "it is a feature: name the labels"},
        {NO_VARIABLE, LIANA_INVALID_ARGUMENT, "the loss depends on no variable that could be trained"},
        {NO_INITIALIZER, LIANA_INVALID_ARGUMENT, "the variable 'w' has no first value; give it an initialiser"},
        {WHOLE_VARIABLE, LIANA_INVALID_ARGUMENT, "the variable 'w' is s32[3, 4], expected f32"},
        {TWO_METRICS, LIANA_INVALID_ARGUMENT, "two metrics have the name 'accuracy'"},
        {UNKNOWN_METRIC, LIANA_INVALID_CONFIG, "acuracy"},
        {NAMELESS_METRIC, LIANA_INVALID_ARGUMENT, "needs a name"},
        {RATE_TENSOR, LIANA_INVALID_ARGUMENT, ".rate is a tensor; here it is a number or a schedule"},
        {UNKNOWN_OPTIMIZER, LIANA_INVALID_CONFIG, "did you mean 'Adam'?"},
        {FEW_CLASSES, LIANA_OUT_OF_RANGE, "label"},
        {FEW_CLASSES, LIANA_OUT_OF_RANGE, "out of range [0, 2)"},
        {OTHER_SIZES, LIANA_INVALID_ARGUMENT, "they must not depend on the size"},
        {RESERVED_NAME, LIANA_INVALID_ARGUMENT, "a variable is called 'count', which updates use themselves"},
        {STRANGE_VARIABLE, LIANA_INVALID_ARGUMENT, "entry 0 of the spec's .variables is no variable"},
    };
    liana__number_rows own;
    liana__number_rows_open(&own);
    liana_train_spec train = liana__rows_train(&own, 20);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_estimator *estimator = make_wrong(&own, cases[i].what);
        refused(liana_estimator_train(estimator, &train, NULL), cases[i].status, cases[i].text);
        assert_null(liana_estimator_variables(estimator));
        liana_estimator_destroy(estimator);
    }
    liana_estimator *estimator = make_wrong(&own, METRIC_IN_TRAINING);
    refused(liana_estimator_train(estimator, &train, &(liana_eval_spec){.input.dataset = own.data}),
            LIANA_INVALID_ARGUMENT, "gives the metric 'accuracy' when training but not when evaluating");
    liana_estimator_destroy(estimator);
    liana__number_rows_close(&own);
}

static void test_predictions_that_are_refused(void **state)
{
    (void)state;
    static const refusal cases[] = {
        {NO_PREDICTION, LIANA_INVALID_ARGUMENT, "gives no predictions; set .predictions"},
        {TWO_PREDICTIONS, LIANA_INVALID_ARGUMENT, "two predictions have the name 'p'"},
        {MEAN_PREDICTION, LIANA_INVALID_ARGUMENT, "the prediction 'p' is f32[], expected [2, ...]"},
        {LABEL_IN_PREDICT, LIANA_INVALID_ARGUMENT, "there is no label 'label' when predicting"},
    };
    liana__number_rows own;
    liana__number_rows_open(&own);
    float values[ROWS * CLASSES];
    liana_train_spec train = liana__rows_train(&own, 2);
    liana_predict_spec predict = {.input.dataset = own.data, .predictions = {{"p", values, ROWS * CLASSES}}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana_estimator *estimator = make_wrong(&own, cases[i].what);
        done(liana_estimator_train(estimator, &train, NULL));
        refused(liana_estimator_predict(estimator, &predict), cases[i].status, cases[i].text);
        refused(liana_estimator_export(estimator, liana__test_path("none"),
                                       &(liana_export_spec){.input.dataset = own.data}),
                cases[i].status, own.what == MEAN_PREDICTION ? "the prediction 'p'" : cases[i].text);
        liana_estimator_destroy(estimator);
    }
    liana__number_rows_close(&own);
}

/* Nothing is trained yet; NaN; data that a function cannot read. */
static void test_specs_that_are_refused(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    liana_estimator *estimator = liana__rows_estimator(&own, liana__line_options());
    float values[ROWS];
    liana_train_spec train = liana__rows_train(&own, 2);
    liana_eval_spec eval = {.input.dataset = own.data};
    liana_predict_spec predict = {.input.dataset = own.data, .predictions = {{"y", values, ROWS}}};
    refused(liana_estimator_evaluate(estimator, &eval, NULL), LIANA_NOT_FOUND, "there is no checkpoint in");
    refused(liana_estimator_predict(estimator, &predict), LIANA_NOT_FOUND, "train first");
    assert_null(liana_estimator_variables(estimator));
    assert_int_equal(liana_estimator_global_step(estimator), 0);
    train.steps = -1;
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_ARGUMENT, "train.steps is -1");
    train = (liana_train_spec){.max_steps = 1};
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_ARGUMENT, "train.input.dataset is NULL");
    train = liana__rows_train(&own, 2);
    eval.every_steps = eval.every_epochs = 1;
    refused(liana_estimator_train(estimator, &train, &eval), LIANA_INVALID_ARGUMENT, "exclude each other");
    eval = (liana_eval_spec){.input = {own.data, .image_shape = {8, 8}}};
    refused(liana_estimator_evaluate(estimator, &eval, NULL), LIANA_INVALID_ARGUMENT, "eval.input.image_shape[2] is 0");
    eval = (liana_eval_spec){.input.dataset = own.data, .steps = -3};
    refused(liana_estimator_evaluate(estimator, &eval, NULL), LIANA_INVALID_ARGUMENT, "steps is -3");
    /* A dataset that is batched already. */
    liana_dataset *batched =
        liana_dataset_batch(liana_dataset_retain(own.data), &(liana_batch_options){.batch_size = 6});
    train.input.dataset = batched;
    refused(liana_estimator_train(estimator, &train, NULL), LIANA_INVALID_ARGUMENT, "the dataset is batched");
    liana_dataset_close(batched);
    /* Evaluation data without a component. */
    const liana_array only_x = {"x", LIANA_F32, liana_shape_of(ROWS, WIDTH), own.xs};
    liana_dataset *short_data = liana_dataset_from_tensor_slices(own.context, &only_x, 1);
    train = liana__rows_train(&own, 2);
    eval = (liana_eval_spec){.input.dataset = short_data};
    refused(liana_estimator_train(estimator, &train, &eval), LIANA_INVALID_ARGUMENT, "the data have no component 'y'");
    /* Predictions need no labels. */
    done(liana_estimator_train(estimator, &train, NULL));
    predict.input.dataset = short_data;
    done(liana_estimator_predict(estimator, &predict));
    liana_dataset_close(short_data);
    liana_estimator_destroy(estimator);
    liana__number_rows_close(&own);
}

static void test_options_that_are_refused(void **state)
{
    (void)state;
    liana__number_rows own;
    liana__number_rows_open(&own);
    static const struct {
        liana_run_config config;
        liana_status status;
        const char *text;
    } cases[] = {
        {{.batch_size = -1}, LIANA_INVALID_ARGUMENT, "estimator: config.batch_size is -1"},
        {{.keep_checkpoint_max = -2}, LIANA_INVALID_ARGUMENT, "config.keep_checkpoint_max is -2"},
        {{.save_checkpoints_secs = -1}, LIANA_INVALID_ARGUMENT, "config.save_checkpoints_secs is -1"},
        {{.precision = (liana_precision)7}, LIANA_INVALID_ARGUMENT, "config.precision is 7"},
        {{.model_dir = "https://example.com/run"}, LIANA_INVALID_ARGUMENT, "web servers take no files"},
        {{.device = "cpi"}, LIANA_INVALID_CONFIG, "did you mean 'cpu'?"},
        {{.strategy = {.name = "mirored"}}, LIANA_INVALID_CONFIG, "mirrored"},
    };
    liana_estimator *estimator;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana_estimator_options options = {.model_fn = liana__line_fn, .config = cases[i].config};
        refused(liana_estimator_create(own.context, &options, &estimator), cases[i].status, cases[i].text);
        assert_null(estimator);
    }
    refused(liana_estimator_create(own.context, &(liana_estimator_options){.name = "mine"}, &estimator),
            LIANA_INVALID_ARGUMENT, "mine: the options have no model_fn");
    /* The temporary folder goes with the estimator; one that is named stays. */
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("stays"));
    liana_estimator_options options = liana__line_options();
    options.config.model_dir = folder;
    estimator = liana__rows_estimator(&own, options);
    liana_train_spec train = liana__rows_train(&own, 1);
    done(liana_estimator_train(estimator, &train, NULL));
    liana_estimator_destroy(estimator);
    estimator = liana__rows_estimator(&own, options);
    done(liana_estimator_evaluate(estimator, &(liana_eval_spec){.input.dataset = own.data}, NULL));
    assert_int_equal(liana_estimator_global_step(estimator), 1);
    liana_estimator_destroy(estimator);
    liana__number_rows_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_predictions_that_are_refused),
        cmocka_unit_test(test_specs_that_are_refused),
        cmocka_unit_test(test_options_that_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
