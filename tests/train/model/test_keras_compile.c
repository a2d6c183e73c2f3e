/* Keras's compile settings as keys of `train:`, and back. The texts are those that Keras 3.15 and tf_keras 2.21 write;
 * tests/train/model/keras_compile_check.py has Keras read liana's settings. */
#include "harness/compare.h"
#include "harness/peers.h"

#include "base/file.h"
#include "formats/json.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "optimizers/optimizer.h"
#include "train/model/keras_compile.h"

#include <liana/liana.h>
#include <string.h>

static liana_context *context;
static liana_model *one, *two;
static liana__arena arena;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    if (liana_model_create(context, "one", &one) != LIANA_OK) return -1;
    if (liana_model_create(context, "two", &two) != LIANA_OK) return -1;
    liana_input(one, .shape = LIANA_INTS(4));
    liana_dense(one, .units = 3, .name = "o");
    liana_layer x = liana_input(two, .shape = LIANA_INTS(4));
    liana_layer a = liana_dense(two, .units = 3, .name = "a", .input = x);
    liana_layer b = liana_dense(two, .units = 1, .name = "b", .input = x);
    liana_model_outputs(two, a, b);
    return liana_model_status(two) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(one);
    liana_model_destroy(two);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

static liana__value *parse(const char *json)
{
    liana__value *value;
    assert_ok(liana__json_parse(json, strlen(json), "config.json", &arena, &value, &error), &error);
    return value;
}

static const char *line(const liana__value *value)
{
    return liana__json_line(value, &arena);
}

static void expect_read_at(const liana_model *model, bool keras3, const char *settings, const char *expected, int at)
{
    const liana__value *train;
    liana_status status =
        liana__keras_compile_read(model, parse(settings), "compile_config", keras3, &arena, &train, &error);
    if (status != LIANA_OK) fail_msg("line %d: %s", at, error.message);
    if (!liana__value_equal(train, parse(expected))) {
        fail_msg("line %d: found %s, expected %s", at, line(train), line(parse(expected)));
    }
}
#define expect_read(model, keras3, settings, expected) expect_read_at(model, keras3, settings, expected, __LINE__)

#define COMMON                                                                                                  \
    "\"weight_decay\": null, \"clipnorm\": null, \"global_clipnorm\": null, \"clipvalue\": null, \"use_ema\": " \
    "false, \"ema_momentum\": 0.99, \"ema_overwrite_frequency\": null"
#define COMMON3 COMMON ", \"loss_scale_factor\": null, \"gradient_accumulation_steps\": null"
#define KERAS3(name, config)                                                                \
    "{\"module\": \"keras.optimizers\", \"class_name\": \"" name "\", \"config\": {" config \
    "}, \"registered_name\": null}"

/* ---- optimizers ---- */

static void test_optimizers_of_keras3(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {KERAS3("Adam", "\"name\": \"adam\", \"learning_rate\": 0.0010000000474974513, " COMMON3
                        ", \"beta_1\": 0.9, \"beta_2\": 0.999, \"epsilon\": 1e-07, \"amsgrad\": false"),
         "{\"name\": \"Adam\", \"learning_rate\": 0.001, \"beta_1\": 0.9, \"beta_2\": 0.999, \"epsilon\": 1e-07, "
         "\"amsgrad\": false}"},
        {KERAS3("SGD", "\"name\": \"sgd\", \"learning_rate\": 0.10000000149011612, " COMMON3
                       ", \"momentum\": 0.9, \"nesterov\": true"),
         "{\"name\": \"SGD\", \"learning_rate\": 0.1, \"momentum\": 0.9, \"nesterov\": true}"},
        {KERAS3("AdamW",
                "\"name\": \"adam_w\", \"learning_rate\": {\"module\": \"keras.optimizers.schedules\", "
                "\"class_name\": \"CosineDecay\", \"config\": {\"initial_learning_rate\": 0.1, \"decay_steps\": 10, "
                "\"alpha\": 0.0, \"name\": \"CosineDecay\", \"warmup_target\": 0.2, \"warmup_steps\": 3}, "
                "\"registered_name\": null}, \"weight_decay\": 0.004, \"clipnorm\": 1.0, \"use_ema\": true, "
                "\"ema_momentum\": 0.98, \"ema_overwrite_frequency\": 7"),
         "{\"name\": \"AdamW\", \"learning_rate\": {\"name\": \"CosineDecay\", \"initial_learning_rate\": 0.2, "
         "\"decay_steps\": 10, \"alpha\": 0.0, \"warmup_steps\": 3, \"warmup_learning_rate\": 0.1}, "
         "\"weight_decay\": 0.004, \"clipnorm\": 1.0, \"use_ema\": true, \"ema_momentum\": 0.98, "
         "\"ema_overwrite_frequency\": 7}"},
        {KERAS3("RMSprop",
                "\"learning_rate\": {\"module\": \"keras.optimizers.schedules\", \"class_name\": "
                "\"PiecewiseConstantDecay\", \"config\": {\"boundaries\": [1, 2], \"values\": [0.1, 0.2, 0.3], "
                "\"name\": \"PiecewiseConstant\"}, \"registered_name\": null}, \"rho\": 0.9, \"centered\": true"),
         "{\"name\": \"RMSprop\", \"learning_rate\": {\"name\": \"PiecewiseConstantDecay\", \"boundaries\": [1, 2], "
         "\"values\": [0.1, 0.2, 0.3]}, \"rho\": 0.9, \"centered\": true}"},
        /* A CosineDecay without warmup_target has no warm-up. */
        {KERAS3("Lion",
                "\"learning_rate\": {\"class_name\": \"CosineDecay\", \"config\": {\"initial_learning_rate\": 0.1, "
                "\"decay_steps\": 10, \"warmup_target\": null, \"warmup_steps\": 5}}, \"beta_2\": 0.99"),
         "{\"name\": \"Lion\", \"learning_rate\": {\"name\": \"CosineDecay\", \"initial_learning_rate\": 0.1, "
         "\"decay_steps\": 10}, \"beta_2\": 0.99}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *settings = liana__arena_format(&arena, "{\"optimizer\": %s}", cases[i][0]);
        expect_read(one, true, settings,
                    liana__arena_format(&arena, "{\"optimizer\": %s, \"metrics\": []}", cases[i][1]));
    }
}

static void test_optimizers_of_keras2(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        /* The attribute of an HDF5 file of tf_keras. */
        {"{\"class_name\": \"Custom>Adam\", \"config\": {\"name\": \"Adam\", " COMMON
         ", \"jit_compile\": false, \"is_legacy_optimizer\": false, \"learning_rate\": {\"module\": "
         "\"keras.optimizers.schedules\", \"class_name\": \"ExponentialDecay\", \"config\": "
         "{\"initial_learning_rate\": 0.1, \"decay_steps\": 10, \"decay_rate\": 0.9, \"staircase\": false, \"name\": "
         "null}, \"registered_name\": null}, \"beta_1\": 0.9}}",
         "{\"name\": \"Adam\", \"learning_rate\": {\"name\": \"ExponentialDecay\", \"initial_learning_rate\": 0.1, "
         "\"decay_steps\": 10, \"decay_rate\": 0.9, \"staircase\": false}, \"beta_1\": 0.9}"},
        /* Keras before 2.11, and Keras 1. */
        {"{\"class_name\": \"SGD\", \"config\": {\"name\": \"SGD\", \"learning_rate\": 0.01, \"decay\": 0.5, "
         "\"momentum\": 0.9, \"nesterov\": false}}",
         "{\"name\": \"SGD\", \"learning_rate\": {\"name\": \"InverseTimeDecay\", \"initial_learning_rate\": 0.01, "
         "\"decay_steps\": 1, \"decay_rate\": 0.5}, \"momentum\": 0.9, \"nesterov\": false}"},
        {"{\"class_name\": \"Nadam\", \"config\": {\"lr\": 0.002, \"schedule_decay\": 0.004, \"beta_1\": 0.9}}",
         "{\"name\": \"Nadam\", \"learning_rate\": 0.002, \"beta_1\": 0.9}"},
        {"{\"class_name\": \"RMSprop\", \"config\": {\"lr\": 0.0010000000474974513, \"decay\": 0.0, \"rho\": 0.8}}",
         "{\"name\": \"RMSprop\", \"learning_rate\": 0.001, \"rho\": 0.8}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *settings =
            liana__arena_format(&arena, "{\"optimizer_config\": %s, \"metrics\": null}", cases[i][0]);
        expect_read(one, false, settings,
                    liana__arena_format(&arena, "{\"optimizer\": %s, \"metrics\": []}", cases[i][1]));
    }
}

/* ---- losses and metrics ---- */

#define OBJECT(module, name, config) \
    "{\"module\": \"" module "\", \"class_name\": \"" name "\", \"config\": {" config "}, \"registered_name\": null}"
#define REDUCED "\"reduction\": \"sum_over_batch_size\""

#define TOP_K \
    OBJECT("keras.metrics", "SparseTopKCategoricalAccuracy", "\"name\": \"top\", \"dtype\": \"float32\", \"k\": 3")
#define AUC                                                                                                            \
    OBJECT("keras.metrics", "AUC",                                                                                     \
           "\"name\": \"auc_1\", \"num_thresholds\": 50, \"curve\": \"PR\", \"summation_method\": \"interpolation\", " \
           "\"multi_label\": true, \"num_labels\": null, \"label_weights\": null, \"from_logits\": false")
#define PRECISION                        \
    OBJECT("keras.metrics", "Precision", \
           "\"name\": \"precision\", \"thresholds\": [0.4], \"top_k\": null, \"class_id\": 1")

static void test_losses_and_metrics(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        {"{\"loss\": \"mse\", \"metrics\": [\"MAE\", \"accuracy\"], \"steps_per_execution\": 4}",
         "{\"loss\": \"mean_squared_error\", \"metrics\": [\"mean_absolute_error\", \"accuracy\"], "
         "\"steps_per_execution\": 4}"},
        {"{\"loss\": " OBJECT("keras.losses", "SparseCategoricalCrossentropy",
                              "\"name\": \"x\", " REDUCED ", \"from_logits\": true, \"ignore_class\": null") "}",
         "{\"loss\": {\"name\": \"sparse_categorical_crossentropy\", \"from_logits\": true}, \"metrics\": []}"},
        {"{\"loss\": {\"o\": " OBJECT("keras.losses", "CategoricalCrossentropy",
                                      "\"reduction\": \"auto\", \"from_logits\": false, \"label_smoothing\": 0.1, "
                                      "\"axis\": -1") "}, \"loss_weights\": {\"o\": 0.5}}",
         "{\"loss\": {\"name\": \"categorical_crossentropy\", \"label_smoothing\": 0.1}, \"loss_weights\": {\"o\": "
         "0.5}, \"metrics\": []}"},
        {"{\"loss\": {\"module\": \"builtins\", \"class_name\": \"function\", \"config\": \"mean_absolute_error\", "
         "\"registered_name\": \"function\"}, \"metrics\": [[\"mse\"]], \"weighted_metrics\": []}",
         "{\"loss\": \"mean_absolute_error\", \"metrics\": [\"mean_squared_error\"]}"},
        {"{\"loss\": [" OBJECT("keras.losses", "Huber", "\"name\": \"huber_loss\", " REDUCED ", \"delta\": 2.0") "]}",
         "{\"loss\": {\"name\": \"huber\", \"delta\": 2.0}, \"metrics\": []}"},
        {"{\"loss\": \"binary_crossentropy\", \"metrics\": [" TOP_K ", " AUC ", " PRECISION
         ", {\"class_name\": \"MeanMetricWrapper\", \"config\": {\"name\": \"o_mae\", \"fn\": "
         "\"mean_absolute_error\"}}]}",
         "{\"loss\": \"binary_crossentropy\", \"metrics\": [{\"name\": \"sparse_top_k_categorical_accuracy\", "
         "\"as\": \"top\", \"k\": 3}, "
         "{\"name\": \"auc\", \"num_thresholds\": 50, \"curve\": \"PR\", \"summation_method\": \"interpolation\", "
         "\"multi_label\": true}, {\"name\": "
         "\"precision\", \"thresholds\": 0.4, \"class_id\": 1}, \"mean_absolute_error\"]}"},
        {"{\"loss\": " OBJECT("keras.losses", "MeanSquaredError", "\"reduction\": \"sum\"") "}",
         "{\"loss\": {\"name\": \"mean_squared_error\", \"reduction\": \"sum\"}, \"metrics\": []}"},
        {"{\"loss\": " OBJECT("keras.losses", "SparseCategoricalCrossentropy", "\"ignore_class\": 255") "}",
         "{\"loss\": {\"name\": \"sparse_categorical_crossentropy\", \"ignore_class\": 255}, \"metrics\": []}"},
        {"{\"loss\": " OBJECT("keras.losses", "Dice", "\"axis\": [1, 2], \"name\": \"dice\"") "}",
         "{\"loss\": {\"name\": \"dice\", \"axis\": [1, 2]}, \"metrics\": []}"},
        {"{\"loss\": " OBJECT("keras.losses", "CategoricalFocalCrossentropy", "\"gamma\": 0.0, \"axis\": -1") "}",
         "{\"loss\": {\"name\": \"categorical_focal_crossentropy\", \"gamma\": 0.0}, \"metrics\": []}"},
        {"{\"loss\": \"mse\", \"metrics\": [" OBJECT("keras.metrics", "Accuracy", "\"name\": \"accuracy\"") ", " OBJECT(
             "keras.metrics", "MeanIoU",
             "\"name\": \"mean_io_u\", \"dtype\": \"float32\", \"num_classes\": "
             "3, "
             "\"ignore_class\": null, \"axis\": -1") "], \"weighted_metrics\": "
                                                     "[\"mse\", " OBJECT("keras."
                                                                         "metric"
                                                                         "s",
                                                                         "MeanSqu"
                                                                         "aredErr"
                                                                         "or",
                                                                         "\"name"
                                                                         "\": "
                                                                         "\"own"
                                                                         "\"") "]"
                                                                               "}",
         "{\"loss\": \"mean_squared_error\", \"metrics\": [\"equality\", {\"name\": \"mean_iou\", \"dtype\": "
         "\"float32\", \"num_classes\": 3}, {\"name\": \"mean_squared_error\", \"weighted\": true}, {\"name\": "
         "\"mean_squared_error\", \"as\": \"own\", \"weighted\": true}]}"},
        {"{\"loss\": \"mse\", \"metrics\": [\"mse\"], \"weighted_metrics\": [\"mse\"]}",
         "{\"loss\": \"mean_squared_error\", \"metrics\": [\"mean_squared_error\", {\"name\": "
         "\"mean_squared_error\", \"weighted\": true, \"as\": \"weighted_mean_squared_error\"}]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) expect_read(one, true, cases[i][0], cases[i][1]);
}

static void test_several_outputs(void **state)
{
    (void)state;
    static const char by_name[] = "{\"loss\": {\"a\": \"sparse_categorical_crossentropy\", \"b\": "
                                  "\"mean_squared_error\"}, \"loss_weights\": {\"b\": 2.0}, \"metrics\": {\"a\": "
                                  "[\"accuracy\"]}}";
    expect_read(two, true,
                "{\"loss\": [\"sparse_categorical_crossentropy\", \"mse\"], \"loss_weights\": [1.0, 2.0], "
                "\"metrics\": [[\"accuracy\"], []]}",
                by_name);
    expect_read(two, true,
                "{\"loss\": [\"sparse_categorical_crossentropy\", \"mse\"], \"loss_weights\": {\"b\": 2.0}, "
                "\"metrics\": {\"a\": \"acc\"}}",
                by_name);
    /* A flat list: of each output one in Keras 3, all for all in Keras 2. */
    expect_read(two, true, "{\"loss\": \"mse\", \"metrics\": [\"mae\", \"mse\"]}",
                "{\"loss\": {\"a\": \"mean_squared_error\", \"b\": \"mean_squared_error\"}, \"metrics\": {\"a\": "
                "[\"mean_absolute_error\"], \"b\": [\"mean_squared_error\"]}}");
    expect_read(two, false, "{\"loss\": {\"b\": \"mse\"}, \"metrics\": [\"mae\", \"mse\"]}",
                "{\"loss\": {\"a\": null, \"b\": \"mean_squared_error\"}, \"metrics\": {\"a\": "
                "[\"mean_absolute_error\", \"mean_squared_error\"], \"b\": [\"mean_absolute_error\", "
                "\"mean_squared_error\"]}}");
}

/* A model that was not compiled has no settings. */
static void test_nothing(void **state)
{
    (void)state;
    static const char *const texts[] = {"null", "{}"};
    const liana__value *train = NULL;
    for (int i = 0; i < 2; i++) {
        train = parse("1");
        assert_ok(liana__keras_compile_read(one, parse(texts[i]), "c", true, &arena, &train, &error), &error);
        assert_null(train);
    }
}

/* ---- parts that one side does not have ---- */

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *settings, *says[3];
    } cases[] = {
        {"{\"optimizer\": " KERAS3("Moon", "\"name\": \"moon\"") "}", {"compile_config.optimizer", "Moon"}},
        {"{\"optimizer\": " KERAS3("Adam", "\"gradient_accumulation_steps\": 1") "}",
         {"gradient_accumulation_steps", "found 1", "at least 2"}},
        {"{\"optimizer\": " KERAS3("Adam", "\"beta_3\": 4") "}", {"unknown key 'beta_3'", "beta_1"}},
        {"{\"optimizer\": " KERAS3("SGD", "\"learning_rate\": {\"class_name\": \"MyDecay\", \"config\": {}}") "}",
         {"learning_rate", "MyDecay"}},
        {"{\"optimizer\": 3}", {"optimizer", "expected a name"}},
        {"{\"optimizer\": {\"class_name\": \"Adam\", \"config\": [1, 2]}}", {"optimizer", "class_name and config"}},
        {"{\"loss\": {\"class_name\": \"Huber\", \"config\": [1]}}", {"loss", "class_name and config"}},
        {"{\"metrics\": [{\"class_name\": \"AUC\", \"config\": 3}]}", {"metrics", "class_name and config"}},
        {"{\"loss\": \"tversy\"}", {"compile_config.loss", "tversy"}},
        {"{\"loss\": " OBJECT("keras.losses", "MeanSquaredError", "\"reduction\": \"none\"") "}",
         {"reduction", "'none'", "sum_over_batch_size"}},
        {"{\"loss\": " OBJECT("keras.losses", "MeanSquaredError", "\"reduction\": null") "}",
         {"reduction", "null", "sum_over_batch_size"}},
        {"{\"loss\": " OBJECT("keras.losses", "SparseCategoricalCrossentropy", "\"ignore_class\": \"x\"") "}",
         {"ignore_class", "'x'"}},
        {"{\"loss\": [\"mse\", \"mse\"]}", {"loss", "a list of 2", "1 outputs"}},
        {"{\"loss\": {\"p\": \"mse\"}}", {"no output 'p'", "'o'"}},
        {"{\"metrics\": [\"mean_iou\"]}", {"compile_config.metrics", "num_classes"}},
        {"{\"metrics\": [" OBJECT("keras.metrics", "AUC", "\"summation_method\": \"trapezes\"") "]}",
         {"summation_method", "trapezes", "interpolation"}},
        {"{\"metrics\": [\"mse\"], \"weighted_metrics\": [\"mea\"]}", {"weighted_metrics", "mea"}},
        {"{\"loss\": \"mse\", \"loss_weights\": {\"o\": \"much\"}}", {"loss_weights", "'much'"}},
        {"[]", {"compile_config", "a list"}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana__value *train;
        error = (liana__error){0};
        const liana_status status =
            liana__keras_compile_read(one, parse(cases[i].settings), "compile_config", true, &arena, &train, &error);
        if (status == LIANA_OK) fail_msg("accepted: %s", cases[i].settings);
        for (size_t k = 0; k < 3 && cases[i].says[k]; k++) assert_says(error.message, cases[i].says[k]);
    }
}

static void test_lamb_is_not_for_hdf5(void **state)
{
    (void)state;
    const liana__value *settings;
    const liana_status status = liana__keras_compile_write(one, parse("{\"optimizer\": \"Lamb\", \"loss\": \"mse\"}"),
                                                           LIANA__KERAS_TRAINING_CONFIG, &arena, &settings, &error);
    assert_int_equal(status, LIANA_UNIMPLEMENTED);
    assert_says(error.message, "Lamb");
}

/* Parts that Keras does not have. */
static void test_refusals_to_write(void **state)
{
    (void)state;
    static const char *const cases[][3] = {
        {"{\"optimizer\": \"LARS\"}", "train.optimizer", "LARS"},
        {"{\"optimizer\": {\"name\": \"AdamW\", \"exclude_from_weight_decay\": [\"bias\"]}}",
         "exclude_from_weight_decay", "no such option"},
        {"{\"optimizer\": {\"name\": \"SGD\", \"rate_multipliers\": {\"o\": 0.1}}}", "rate_multipliers", "no such"},
        {"{\"optimizer\": {\"name\": \"SGD\", \"learning_rate\": {\"name\": \"OneCycle\"}}}", "learning_rate",
         "OneCycle"},
        {"{\"optimizer\": {\"name\": \"SGD\", \"learning_rate\": {\"name\": \"CosineDecay\"}}}", "decay_steps",
         "updates"},
        {"{\"optimizer\": {\"name\": \"SGD\", \"learning_rate\": {\"name\": \"CosineDecay\", \"decay_epochs\": 3}}}",
         "decay_epochs", "updates"},
        {"{\"optimizer\": {\"name\": \"SGD\", \"learning_rate\": {\"name\": \"PolynomialDecay\", \"decay_steps\": 3, "
         "\"warmup_steps\": 2}}}",
         "warmup_steps", "no such"},
        {"{\"optimizer\": {\"name\": \"SGD\", \"learning_rate\": {\"name\": \"CosineDecay\", \"decay_steps\": 3, "
         "\"by\": \"epoch\"}}}",
         "by", "updates"},
        {"{\"loss\": \"mse\", \"metrics\": [\"cohen_kappa\"]}", "train.metrics", "cohen_kappa"},
        {"{\"loss\": \"mse\", \"metrics\": [{\"name\": \"accuracy\", \"as\": \"right\"}]}", "as", "accuracy"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const liana__value *settings;
        error = (liana__error){0};
        const liana_status status =
            liana__keras_compile_write(one, parse(cases[i][0]), LIANA__KERAS_COMPILE_CONFIG, &arena, &settings, &error);
        if (status != LIANA_UNIMPLEMENTED) fail_msg("%s: status %d: %s", cases[i][0], (int)status, error.message);
        assert_says(error.message, cases[i][1]);
        assert_says(error.message, cases[i][2]);
    }
}

/* Each part that liana brings is written, or is one of those that Keras does not have. */
static void check_parts(const liana__kind *kind, const char *before, const char *behind, const char *const *missing)
{
    for (size_t i = 0; kind->builtin[i]; i++) {
        const char *name = kind->builtin[i]->name;
        const liana__value *settings;
        bool is_missing = false, needs_options = false;
        const liana_options *table = &kind->builtin[i]->options;
        for (size_t k = 0; k < table->count; k++) needs_options = needs_options || table->items[k].required;
        if (needs_options) continue; /* test_there_and_back has it */
        for (size_t k = 0; missing[k]; k++) is_missing = is_missing || strcmp(missing[k], name) == 0;
        char train[400];
        snprintf(train, sizeof train, "%s\"%s\"%s", before, name, behind);
        error = (liana__error){0};
        const liana_status status =
            liana__keras_compile_write(one, parse(train), LIANA__KERAS_COMPILE_CONFIG, &arena, &settings, &error);
        if (status != (is_missing ? LIANA_UNIMPLEMENTED : LIANA_OK)) fail_msg("%s: %s", name, error.message);
        if (is_missing) assert_says(error.message, name);
    }
}

static void test_every_part(void **state)
{
    (void)state;
    static const char *const none[] = {NULL}, *const optimizers[] = {"LARS", NULL};
    static const char *const metrics[] = {"mean",
                                          "sum",
                                          "class_precision",
                                          "class_recall",
                                          "class_f1_score",
                                          "cohen_kappa",
                                          "class_fbeta_score",
                                          "support",
                                          "matthews_correlation",
                                          "confusion_matrix",
                                          NULL};
    check_parts(&liana__loss_kind, "{\"loss\": ", "}", none);
    check_parts(&liana__metric_kind, "{\"loss\": \"mse\", \"metrics\": [", "]}", metrics);
    check_parts(&liana__optimizer_kind, "{\"loss\": \"mse\", \"optimizer\": ", "}", optimizers);
    /* test_there_and_back has the other schedules. */
    static const char *const schedules[] = {"OneCycle", "Hypergradient", NULL};
    for (size_t i = 0; schedules[i]; i++) {
        const liana__value *settings;
        const char *train =
            liana__arena_format(&arena, "{\"optimizer\": {\"name\": \"SGD\", \"learning_rate\": {\"name\": \"%s\"}}}",
                                schedules[i]);
        const liana_status status =
            liana__keras_compile_write(one, parse(train), LIANA__KERAS_COMPILE_CONFIG, &arena, &settings, &error);
        assert_int_equal(status, LIANA_UNIMPLEMENTED);
        assert_says(error.message, schedules[i]);
    }
}

/* ---- there and back ---- */

enum { MOST_CASES = 64, NUM_RATES = 30 };

/* Settings with every optimizer and schedule that Keras has. */
static const char *const settings_of_one[] = {
    "{\"optimizer\": \"Adam\", \"loss\": \"mse\", \"metrics\": []}",
    "{\"optimizer\": {\"name\": \"AdamW\", \"learning_rate\": 0.25, \"clipnorm\": 0.5}, \"loss\": \"mae\", "
    "\"metrics\": "
    "[\"mae\", \"accuracy\"]}",
    "{\"optimizer\": {\"name\": \"SGD\", \"momentum\": 0.9, \"nesterov\": true, \"learning_rate\": {\"name\": "
    "\"CosineDecay\", \"initial_learning_rate\": 0.5, \"decay_steps\": 20, \"alpha\": 0.125, \"warmup_steps\": 4, "
    "\"warmup_learning_rate\": 0.125}}, \"loss\": {\"name\": \"huber\", \"delta\": 2.0}, \"metrics\": [\"mse\"]}",
    "{\"optimizer\": {\"name\": \"RMSprop\", \"centered\": true, \"learning_rate\": {\"name\": \"ExponentialDecay\", "
    "\"initial_learning_rate\": 0.5, \"decay_steps\": 7, \"decay_rate\": 0.75, \"staircase\": true}}, \"loss\": "
    "{\"name\": \"sparse_categorical_crossentropy\", \"from_logits\": true}, \"metrics\": [\"top_5_accuracy\", "
    "{\"name\": "
    "\"top_k_accuracy\", \"k\": 2}]}",
    "{\"optimizer\": {\"name\": \"Adagrad\", \"learning_rate\": {\"name\": \"InverseTimeDecay\", "
    "\"initial_learning_rate\": 0.5, \"decay_steps\": 7, \"decay_rate\": 0.5}}, \"loss\": {\"name\": "
    "\"categorical_crossentropy\", \"label_smoothing\": 0.1}, \"metrics\": [{\"name\": \"f1_score\", \"average\": "
    "\"macro\"}, {\"name\": \"fbeta_score\", \"beta\": 2.0}]}",
    "{\"optimizer\": {\"name\": \"Adadelta\", \"learning_rate\": {\"name\": \"PolynomialDecay\", "
    "\"initial_learning_rate\": 0.5, \"decay_steps\": 12, \"end_learning_rate\": 0.0625, \"power\": 2.0, \"cycle\": "
    "true}}, \"loss\": {\"name\": \"binary_crossentropy\", \"from_logits\": true}, \"metrics\": [{\"name\": \"auc\", "
    "\"curve\": \"PR\"}, {\"name\": \"precision\", \"thresholds\": 0.25}, \"recall\"]}",
    "{\"optimizer\": {\"name\": \"Adamax\", \"learning_rate\": {\"name\": \"CosineDecayRestarts\", "
    "\"initial_learning_rate\": 0.5, \"first_decay_steps\": 5, \"t_mul\": 2.0, \"m_mul\": 0.5, \"alpha\": 0.125}}, "
    "\"loss\": \"mse\", \"metrics\": [{\"name\": \"binary_accuracy\", \"threshold\": 0.25}]}",
    "{\"optimizer\": {\"name\": \"Nadam\", \"learning_rate\": {\"name\": \"PiecewiseConstantDecay\", \"boundaries\": "
    "[3, "
    "9], \"values\": [0.5, 0.25, 0.125]}}, \"loss\": \"mse\", \"metrics\": []}",
    "{\"optimizer\": {\"name\": \"Ftrl\", \"l1_regularization_strength\": 0.25, \"use_ema\": true, \"ema_momentum\": "
    "0.5, \"ema_overwrite_frequency\": 3}, \"loss\": \"mse\", \"metrics\": []}",
    "{\"optimizer\": {\"name\": \"Lion\", \"weight_decay\": 0.5, \"clipvalue\": 0.25}, \"loss\": \"mse\", \"metrics\": "
    "[], \"loss_weights\": {\"o\": 0.5}}",
    "{\"optimizer\": {\"name\": \"Muon\", \"exclude_layers\": [\"x\"], \"rms_rate\": 0.0, "
    "\"gradient_accumulation_steps\": 4}, \"loss\": {\"name\": \"tversky\", \"axis\": [1], \"alpha\": 0.25, "
    "\"reduction\": "
    "\"sum\"}, \"metrics\": [{\"name\": \"iou\", \"num_classes\": 3, \"target_class_ids\": [0, 2]}, {\"name\": "
    "\"one_hot_iou\", "
    "\"num_classes\": 3, \"target_class_ids\": [0], \"ignore_class\": 1}, {\"name\": \"mean_iou\", \"num_classes\": "
    "3}, "
    "{\"name\": \"one_hot_mean_iou\", \"num_classes\": 3}, {\"name\": \"precision_at_recall\", \"recall\": 0.5}, "
    "{\"name\": "
    "\"recall_at_precision\", \"precision\": 0.5}, {\"name\": \"sensitivity_at_specificity\", \"specificity\": 0.5}, "
    "{\"name\": \"specificity_at_sensitivity\", \"sensitivity\": 0.5, \"class_id\": 0, \"weighted\": true}]}",
    "{\"optimizer\": {\"name\": \"Adafactor\", \"clip_threshold\": 2.0}, \"loss\": {\"name\": \"mse\", \"reduction\": "
    "\"mean_with_sample_weight\"}, \"metrics\": [{\"name\": \"recall\", \"thresholds\": [0.25, 0.5]}, {\"name\": "
    "\"r2_score\", "
    "\"class_aggregation\": \"none\"}, {\"name\": \"mse\", \"weighted\": true}, \"mae\"]}",
    "{\"optimizer\": {\"name\": \"ScheduleFreeAdamW\", \"warmup_steps\": 3}, \"loss\": {\"name\": "
    "\"sparse_categorical_crossentropy\", \"ignore_class\": 0}, \"metrics\": [{\"name\": "
    "\"sparse_categorical_crossentropy\", "
    "\"ignore_class\": 1}]}",
    "{\"optimizer\": {\"name\": \"LossScaleOptimizer\", \"inner_optimizer\": {\"name\": \"Adam\", \"learning_rate\": "
    "0.25}, \"initial_scale\": 1024.0, \"dynamic_growth_steps\": 5}, \"loss\": \"mse\", \"metrics\": []}",
    "{\"optimizer\": {\"name\": \"LossScaleOptimizer\", \"inner_optimizer\": {\"name\": \"MultiOptimizer\", "
    "\"optimizer_map\": {\"default_optimizer\": {\"name\": \"SGD\", \"momentum\": 0.5}, \"optimizer_map\": "
    "{\".*/bias\": {\"name\": \"Adam\", \"learning_rate\": {\"name\": \"CosineDecay\", "
    "\"initial_learning_rate\": 0.5, \"decay_steps\": 20}}, \"x/kernel\": {\"name\": \"Lion\"}}}}}, \"loss\": "
    "\"mse\", \"metrics\": []}",
    "{\"optimizer\": {\"name\": \"Lamb\", \"global_clipnorm\": 0.25}, \"loss\": \"mse\", \"metrics\": [], "
    "\"steps_per_execution\": 3}", /* which Keras does not take from HDF5 files */
};
static const char *const settings_of_two[] = {
    "{\"optimizer\": \"Adam\", \"loss\": {\"a\": \"sparse_categorical_crossentropy\", \"b\": \"mse\"}, "
    "\"loss_weights\": {\"b\": 0.5}, \"metrics\": {\"a\": [\"accuracy\", \"top_5_accuracy\"], \"b\": [\"mae\"]}}",
};

static const liana__value *write_settings(const liana_model *model, const char *train, liana__keras_compile_form form)
{
    const liana__value *settings;
    assert_ok(liana__keras_compile_write(model, parse(train), form, &arena, &settings, &error), &error);
    return settings;
}

static const liana__value *read_settings(const liana_model *model, const liana__value *settings)
{
    const liana__value *train;
    assert_ok(liana__keras_compile_read(model, settings, "settings", true, &arena, &train, &error), &error);
    return train;
}

/* Written settings that are read and written once more stay the same. */
static void check_back(const liana_model *model, const char *train)
{
    for (int form = LIANA__KERAS_COMPILE_CONFIG; form <= LIANA__KERAS_TRAINING_CONFIG; form++) {
        if (form == LIANA__KERAS_TRAINING_CONFIG && strstr(train, "Lamb")) continue;
        const liana__value *settings = write_settings(model, train, (liana__keras_compile_form)form);
        const liana__value *back = read_settings(model, settings);
        const char *again = line(write_settings(model, line(back), (liana__keras_compile_form)form));
        assert_string_equal(again, line(settings));
    }
}

static void test_there_and_back(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof settings_of_one / sizeof *settings_of_one; i++) check_back(one, settings_of_one[i]);
    for (size_t i = 0; i < sizeof settings_of_two / sizeof *settings_of_two; i++) check_back(two, settings_of_two[i]);
}

/* ---- Keras ---- */

static void add_case(liana__value *list, const liana_model *model, const char *train)
{
    liana__value *map = liana__value_map(&arena);
    liana__value_set(&arena, map, "outputs", liana__value_int(&arena, model == one ? 1 : 2));
    liana__value_set(&arena, map, "compile_config",
                     liana__value_copy(&arena, write_settings(model, train, LIANA__KERAS_COMPILE_CONFIG)));
    /* Keras 3.15 does not find Lamb there. */
    const bool of_file = !strstr(train, "Lamb");
    const liana__value *settings = of_file ? write_settings(model, train, LIANA__KERAS_TRAINING_CONFIG) : NULL;
    liana__value_set(&arena, map, "training_config", liana__value_copy(&arena, settings));
    liana__value_add(&arena, list, map);
}

/* Keras's own rates against those of liana's schedule. */
static void check_rates(const liana__value *train, const liana__value *rates)
{
    liana__optimizer_choice choice;
    assert_ok(liana__optimizer_read(context, liana__value_get(train, "optimizer"), "o", &arena, &choice, &error),
              &error);
    assert_int_equal(rates->count, NUM_RATES);
    for (int64_t step = 0; step < NUM_RATES; step++) {
        const double expected = rates->items[step]->number;
        assert_near(liana__learning_rate_at(&choice.learning_rate, step), expected, 1e-6 * (expected + 1e-3), step);
    }
}

/* Keras compiles by liana's settings, in both forms, and its own settings have the same meaning here. */
static void test_keras_reads(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) skip();
    liana__test_folder();
    const size_t count_one = sizeof settings_of_one / sizeof *settings_of_one;
    const size_t count = count_one + sizeof settings_of_two / sizeof *settings_of_two;
    liana__value *cases = liana__value_list(&arena), *found;
    for (size_t i = 0; i < count; i++) {
        add_case(cases, i < count_one ? one : two, i < count_one ? settings_of_one[i] : settings_of_two[i - count_one]);
    }
    const char *file = liana__arena_string(&arena, liana__test_path("cases.json"));
    const char *out = liana__arena_string(&arena, liana__test_path("found.json"));
    assert_ok(liana__json_write(file, cases, &error), &error);
    liana__test_run_keras("tests/train/model/keras_compile_check.py", (const char *const[]){file, out, NULL});
    assert_ok(liana__json_read(out, &arena, &found, &error), &error);
    assert_int_equal(found->count, 2 * count - 1);
    for (size_t i = 0; i < found->count; i++) {
        const size_t index = (size_t)liana__value_get(found->items[i], "case")->integer;
        const liana_model *model = index < count_one ? one : two;
        const char *train = index < count_one ? settings_of_one[index] : settings_of_two[index - count_one];
        const liana__value *item = found->items[i];
        const liana__value *back = read_settings(model, liana__value_get(item, "compile_config"));
        const char *expected = line(write_settings(model, train, LIANA__KERAS_COMPILE_CONFIG));
        const char *again = line(write_settings(model, line(back), LIANA__KERAS_COMPILE_CONFIG));
        /* Keras 3.15 does not write the delta of Huber. */
        if (!strstr(train, "delta")) assert_string_equal(again, expected);
        check_rates(back, liana__value_get(item, "rates"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_optimizers_of_keras3, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_optimizers_of_keras2, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_losses_and_metrics, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_several_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nothing, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refusals_to_write, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lamb_is_not_for_hdf5, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_every_part, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_there_and_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_keras_reads, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("keras_compile", tests, NULL, NULL);
}
