/* Weights of classes, mixing and targets: by the output whose target is the label, and in the range of its loss. */
#include "harness/text_files.h"
#include "harness/tiny_fit.h"

#include "harness/graph_run.h"
#include "harness/objective.h"
#include "ir/graph.h"
#include "losses/target.h"
#include "train/objective/objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 6, FEATURES = 2 };

static const float features[ROWS * FEATURES] = {0.1f, 0.9f, -0.4f, 0.3f,  0.8f, -0.7f,
                                                0.5f, 0.5f, -0.9f, -0.2f, 0.3f, -0.6f};

static void assert_close(double got, double expected)
{
    if (fabs(got - expected) > 1e-5 * (1 + fabs(expected))) fail_msg("found %.9g, expected %.9g", got, expected);
}

/* ---- weights of classes, from C ---- */

typedef struct fixture {
    liana_context *context;
} fixture;

static fixture set_up(void)
{
    fixture own;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &own.context), LIANA_OK);
    return own;
}

/* One dense output of `units`, named `name`. */
static liana_model *make_model(const fixture *own, const char *name, int64_t units, const char *activation)
{
    liana_model *model;
    assert_int_equal(liana_model_create(own->context, NULL, &model), LIANA_OK);
    liana_input(model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_dense(model, .name = name, .units = units, .activation = activation);
    assert_ok(liana_model_status(model), NULL);
    return model;
}

/* The loss of an update with weights of classes, and the model's predictions before it. */
static double weighted_loss(const fixture *own, liana_model *model, const char *loss, liana_array target,
                            const double *weights, int64_t num_weights, float *predicted)
{
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), (void *)features}, target};
    liana_results results;
    liana__tiny_done(own->context, liana_predict_on_batch(model, arrays, 1, predicted), __FILE__, __LINE__);
    const liana_fit_options options = {.loss = loss,
                                       .class_weights = weights,
                                       .num_class_weights = num_weights,
                                       .optimizer = "SGD"};
    liana__tiny_done(own->context, liana_train_on_batch(model, &options, arrays, 2, &results), __FILE__, __LINE__);
    return results.loss;
}

/* Keras: the mean over the batch of weight[class] * loss; the class of a single value is the value. */
static void test_weights_of_a_sigmoid_and_of_numbers(void **state)
{
    (void)state;
    fixture own = set_up();
    const double weights[] = {1, 4};
    float labels[ROWS] = {0, 1, 0, 0, 1, 0}, p[ROWS];
    const liana_array target = {"label", LIANA_F32, liana_shape_of(ROWS, 1), labels};
    liana_model *model = make_model(&own, "y", 1, "sigmoid");
    double found = weighted_loss(&own, model, "binary_crossentropy", target, weights, 2, p), expected = 0;
    for (int i = 0; i < ROWS; i++) {
        const double right = labels[i] > 0 ? (double)p[i] : 1 - (double)p[i];
        expected -= weights[(int)labels[i]] * log(right) / ROWS;
    }
    assert_close(found, expected);
    liana_model_destroy(model);
    /* Of numbers, too: a number outside the table counts once. */
    float numbers[ROWS] = {0, 1, 3, -1, 1, 0.6f};
    const liana_array other = {"size", LIANA_F32, liana_shape_of(ROWS, 1), numbers};
    static const double each[ROWS] = {1, 4, 1, 1, 4, 4};
    model = make_model(&own, "size", 1, NULL);
    found = weighted_loss(&own, model, "mse", other, weights, 2, p);
    expected = 0;
    for (int i = 0; i < ROWS; i++) expected += each[i] * pow((double)p[i] - (double)numbers[i], 2) / ROWS;
    assert_close(found, expected);
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

/* The class of several values is the largest, the first of equals. */
static void test_weights_of_rows(void **state)
{
    (void)state;
    enum { UNITS = 3 };
    fixture own = set_up();
    const double weights[UNITS] = {2, 0.5, 3};
    static const int classes[ROWS] = {0, 1, 2, 1, 0, 2};
    float rows[ROWS * UNITS] = {0}, p[ROWS * UNITS];
    for (int i = 0; i < ROWS; i++) rows[i * UNITS + classes[i]] = 1;
    const liana_array target = {"y", LIANA_F32, liana_shape_of(ROWS, UNITS), rows};
    liana_model *model = make_model(&own, "y", UNITS, "softmax");
    double expected = 0, found = weighted_loss(&own, model, "categorical_crossentropy", target, weights, UNITS, p);
    for (int i = 0; i < ROWS; i++) expected -= weights[classes[i]] * log((double)p[i * UNITS + classes[i]]) / ROWS;
    assert_close(found, expected);
    liana_model_destroy(model);
    /* Several sigmoids, of which the third row has two classes: the first of them counts. */
    rows[2 * UNITS + 1] = 1;
    model = make_model(&own, "y", UNITS, "sigmoid");
    found = weighted_loss(&own, model, "binary_crossentropy", target, weights, UNITS, p);
    expected = 0;
    for (int i = 0; i < ROWS; i++) {
        double mean = 0;
        for (int k = 0; k < UNITS; k++) {
            const double q = (double)p[i * UNITS + k];
            mean -= log(rows[i * UNITS + k] > 0 ? q : 1 - q) / UNITS;
        }
        expected += weights[i == 2 ? 1 : classes[i]] * mean / ROWS;
    }
    assert_close(found, expected);
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

static liana_model *make_two(const fixture *own, const char *second)
{
    liana_model *model;
    assert_int_equal(liana_model_create(own->context, NULL, &model), LIANA_OK);
    liana_layer x = liana_input(model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_layer size = liana_dense(model, .name = "size", .units = 1, .input = x);
    liana_layer kind = liana_dense(model, .name = second, .units = 2, .activation = "softmax", .input = x);
    liana_model_outputs(model, size, kind);
    assert_ok(liana_model_status(model), NULL);
    return model;
}

static liana_fit_options two_options(const char *second, const double *weights)
{
    return (liana_fit_options){.losses = {{.output = "size", .name = "mse"},
                                          {.output = second, .name = "sparse_categorical_crossentropy"}},
                               .class_weights = weights,
                               .num_class_weights = weights ? 2 : 0,
                               .optimizer = "SGD"};
}

/* The second output's target is the label: its loss is weighted, and the first one's is not. */
static void test_weights_are_of_the_label(void **state)
{
    (void)state;
    fixture own = set_up();
    const double weights[] = {3, 0};
    float numbers[ROWS] = {1, 2, 3, 4, 5, 6};
    int32_t labels[ROWS] = {0, 1, 1, 0, 1, 0};
    liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), (void *)features},
                            {"size", LIANA_F32, liana_shape_of(ROWS, 1), numbers},
                            {"label", LIANA_S32, liana_shape_of(ROWS), labels}};
    liana_results plain, weighted;
    liana_model *model = make_two(&own, "label");
    liana_fit_options options = two_options("label", NULL);
    done(liana_test_on_batch(model, &(liana_evaluate_options){.losses = {options.losses[0], options.losses[1]}}, arrays,
                             3, &plain));
    float p[ROWS * 3]; /* of each example: the size, and the two classes */
    done(liana_predict_on_batch(model, arrays, 1, p));
    double expected = 0;
    for (int i = 0; i < ROWS; i++) expected -= weights[labels[i]] * log((double)p[i * 3 + 1 + labels[i]]) / ROWS;
    options = two_options("label", weights);
    done(liana_train_on_batch(model, &options, arrays, 3, &weighted));
    assert_string_equal(weighted.metric_names[0], "size_loss");
    assert_close(weighted.metrics[0], plain.metrics[0]);
    assert_close(weighted.metrics[1], expected);
    liana_model_destroy(model);
    /* Where no target is called the label, nothing says whose classes these are. */
    model = make_two(&own, "kind");
    arrays[2].name = "kind";
    options = two_options("kind", weights);
    refused(liana_train_on_batch(model, &options, arrays, 3, NULL), LIANA_INVALID_CONFIG, "class_weights");
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

/* ---- mixing ---- */

/* The sums of a shard of three examples: loss and metric, of outputs and two targets that are given. */
static void mix_sums(const fixture *own, liana_model *model, const char *loss, const char *metrics, int64_t units,
                     const float *p, const void *targets, const void *partners, const float *shares, double sums[2])
{
    enum { COUNT = 3 };
    const liana__objective *objective = liana__test_objective_of(model, loss, metrics);
    const liana__objective_output *output = &objective->outputs[0];
    liana_graph *graph = liana__test_new_graph(own->context);
    liana_shape shape = output->target_shape;
    shape.dims[0] = COUNT;
    liana__objective_call call = {.outputs = {liana_graph_input(graph, "p", LIANA_F32, liana_shape_of(COUNT, units))}};
    call.targets[0] = liana_graph_input(graph, "t", output->target_dtype, shape);
    call.partners[0] = liana_graph_input(graph, "u", output->target_dtype, shape);
    call.shares = liana_graph_input(graph, "s", LIANA_F32, liana_shape_of(COUNT));
    liana__objective_build(objective, &call);
    liana_graph_output(graph, "sums", call.sums);
    assert_ok(liana_graph_status(graph), &own->context->error);
    liana__device *device;
    liana__error error = {0};
    assert_ok(liana__device_open_with(own->context, "cpu", 1, &device, &error), &error);
    liana__test_value inputs[] = {{LIANA_F32, liana_shape_of(COUNT, units), (void *)p},
                                  {output->target_dtype, shape, (void *)targets},
                                  {output->target_dtype, shape, (void *)partners},
                                  {LIANA_F32, liana_shape_of(COUNT), (void *)shares}};
    liana__test_value result;
    liana__test_run(device, graph, inputs, &result);
    for (int i = 0; i < 2; i++) sums[i] = (double)((const float *)result.data)[i];
    liana__test_free_values(&result, 1);
    liana_graph_destroy(graph);
    liana__device_close(device);
}

/* Cross-entropies are those of the mixed targets, as Keras's MixUp makes them; accuracy is shared out. */
static void test_targets_are_mixed_as_images_are(void **state)
{
    (void)state;
    fixture own = set_up();
    const float p[3] = {0.2f, 0.7f, 0.9f}, t[3] = {0, 1, 1}, u[3] = {1, 1, 0}, shares[3] = {0.25f, 0.5f, 0.9f};
    double sums[2], loss = 0, right = 0;
    liana_model *model = make_model(&own, "y", 1, "sigmoid");
    mix_sums(&own, model, "binary_crossentropy", "[accuracy]", 1, p, t, u, shares, sums);
    for (int i = 0; i < 3; i++) {
        const double s = (double)shares[i], mixed = s * (double)t[i] + (1 - s) * (double)u[i], q = (double)p[i];
        loss -= mixed * log(q) + (1 - mixed) * log(1 - q);
        right += s * ((q > 0.5) == (t[i] > 0)) + (1 - s) * ((q > 0.5) == (u[i] > 0));
    }
    assert_close(sums[0], loss);
    assert_close(sums[1], right);
    liana_model_destroy(model);
    /* Numbers are mixed themselves, and compared once. */
    const float numbers[3] = {3, -1, 2}, others[3] = {1, 5, 0};
    model = make_model(&own, "y", 1, NULL);
    mix_sums(&own, model, "mse", "[mean_absolute_error]", 1, p, numbers, others, shares, sums);
    loss = right = 0;
    for (int i = 0; i < 3; i++) {
        const double s = (double)shares[i], mixed = s * (double)numbers[i] + (1 - s) * (double)others[i];
        loss += pow((double)p[i] - mixed, 2);
        right += fabs((double)p[i] - mixed);
    }
    assert_close(sums[0], loss);
    assert_close(sums[1], right);
    liana_model_destroy(model);
    /* Classes, each by its share. */
    const float rows[6] = {0.3f, 0.7f, 0.6f, 0.4f, 0.5f, 0.5f};
    const int32_t one[3] = {0, 1, 1}, two[3] = {1, 1, 0};
    model = make_model(&own, "y", 2, "softmax");
    mix_sums(&own, model, "categorical_crossentropy", "[accuracy]", 2, rows, one, two, shares, sums);
    loss = 0;
    for (int i = 0; i < 3; i++) {
        const double s = (double)shares[i];
        loss -= s * log((double)rows[2 * i + one[i]]) + (1 - s) * log((double)rows[2 * i + two[i]]);
    }
    assert_close(sums[0], loss);
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

/* ---- from a configuration ---- */

static const char table[] = "a,b,kind,y,p,q,r\n"
                            "1,2,cat,0,1,0,0\n"
                            "2,1,cat,1,0,1,0\n"
                            "3,1,cat,1,0,0,1\n"
                            "1,3,dog,0,0.5,0.5,0\n";

/* Weights begin at 0, so the first loss is known: the sigmoid says 0.5. */
static const char config[] =
    "data:\n"
    "  train: {paths: %s, kind: table}\n"
    "  columns: {x: [a, b], label: {from: kind, category: true}, y: y, z: [p, q, r]}\n"
    "  inputs: x\n"
    "  targets: label\n"
    "  shuffle: false\n"
    "model:\n"
    "  layers: [{InputLayer: {name: x, shape: [2]}}, {Dense: {name: out, units: 1, activation: sigmoid,\n"
    "            kernel_initializer: zeros}}]\n"
    "train: {epochs: 1, batch_size: 4, loss: binary_crossentropy, optimizer: SGD}\n";

static char file[256], out[256], data[256];

static void make_config(void)
{
    char text[2048];
    liana__test_folder();
    snprintf(data, sizeof data, "%s", liana__test_write("table.csv", table, strlen(table)));
    snprintf(text, sizeof text, config, data);
    snprintf(file, sizeof file, "%s", liana__test_write("config.yaml", text, strlen(text)));
    snprintf(out, sizeof out, "%s", liana__test_path("run"));
}

/* The loss of the only epoch, with the overrides. */
static double first_loss(const char *first, const char *second, const char *third, const char *fourth)
{
    char command[400];
    snprintf(command, sizeof command, "rm -rf '%s'", out);
    assert_int_equal(system(command), 0);
    const char *const words[] = {"train", file, "--out", out, first, second, third, fourth, NULL};
    liana__test_result got = liana__test_command_words(words);
    assert_code(got, 0);
    char *text = liana__test_read_text("run/history.json");
    json_t *json = liana__test_parse_json(text);
    const json_t *epoch = json_array_get(json_object_get(json, "epochs"), 0);
    const double loss = json_number_value(json_object_get(epoch, "loss"));
    json_decref(json);
    free(text);
    return loss;
}

static void test_weights_in_a_configuration(void **state)
{
    (void)state;
    make_config();
    const double ln2 = log(2);
    assert_close(first_loss("train.class_weights={dog: 4}", NULL, NULL, NULL), 7 * ln2 / 4);
    assert_close(first_loss("train.class_weights={1: 4}", "train.loss=mse", NULL, NULL), (3 + 4) * 0.25 / 4);
    /* Balanced: every class adds up to the same, and the mean weight is 1. Here 3 * 2/3 and 1 * 2. */
    assert_close(first_loss("train.class_weights=balanced", NULL, NULL, NULL), ln2);
    /* One-hot columns have no names, and are counted by number. */
    assert_close(first_loss("train.class_weights={1: 5}", "data.targets=z", "train.loss=categorical_crossentropy",
                            "model.layers=[{Dense: {units: 3, activation: softmax, kernel_initializer: zeros}}]"),
                 (1 + 5 + 1 + 1) * log(3) / 4);
    /* Evenly drawn classes weigh evenly, whatever their counts in the file. */
    assert_close(first_loss("train.class_weights=balanced", "data.sample_weights=balanced", NULL, NULL), ln2);
    assert_close(first_loss("train.class_weights=balanced", "data.oversample.target_count=3", "train.batch_size=6",
                            NULL),
                 ln2);
}

static void test_weights_that_are_refused(void **state)
{
    (void)state;
    make_config();
    assert_refused(liana__test_command("train", file, "--out", out, "train.class_weights={1: 2, dog: 3}"), 2,
                   "train.class_weights", "'1' and 'dog'", "same class");
    assert_refused(liana__test_command("train", file, "--out", out, "data.sample_weights={cat: 2, 0: 3}"), 2,
                   "data.sample_weights", "'cat' and '0'", "same class");
    assert_refused(liana__test_command("train", file, "--out", out, "train.class_weights={0: 2, 00: 3}"), 2,
                   "train.class_weights", "'0' and '00'", "same class");
    assert_refused(liana__test_command("train", file, "--out", out, "train.class_weights=balanced", "data.targets=y"),
                   2, "train.class_weights", "'balanced'", "'y'");
    assert_refused(liana__test_command("train", file, "--out", out, "data.columns={x: [a, b], y: y}", "data.targets=y",
                                       "data.sample_weights=balanced"),
                   2, "data.sample_weights", "no label");
    assert_refused(
        liana__test_command("train", file, "--out", out, "train.class_weights={1: 2}", "data.targets={u: y, v: z}",
                            "train.loss={u: mse, v: categorical_crossentropy}",
                            "model.layers=[{InputLayer: {name: x, shape: [2]}}, {Dense: {name: u, units: 1}}, "
                            "{Dense: {name: v, units: 3, activation: softmax, inputs: x}}]",
                            "model.outputs=[u, v]"),
        2, "train.class_weights");
}

/* ---- targets that a loss is not defined for ---- */

static void put_row(const char *row)
{
    char text[1024];
    snprintf(text, sizeof text, "%s%s\n", table, row);
    liana__test_write("table.csv", text, strlen(text));
}

static const char three[] = "model.layers=[{Dense: {units: 3, activation: softmax}}]";

static void test_targets_out_of_range(void **state)
{
    (void)state;
    make_config();
    static const char *const rows[] = {"1,1,dog,2,0,0,1", "1,1,dog,-1,0,0,1", "1,1,dog,1.5,0,0,1"};
    static const char *const found[] = {"is 2", "is -1", "is 1.5"};
    for (int i = 0; i < 3; i++) {
        put_row(rows[i]);
        assert_refused(liana__test_command("train", file, "--out", out, "data.targets=y"), 1, "table.csv", "record 4",
                       "'y'", found[i], "binary_crossentropy");
    }
    static const char *const sums[] = {"1,1,dog,1,0,0,0", "1,1,dog,1,1,1,0", "1,1,dog,1,0.5,0.4,0"};
    static const char *const totals[] = {"add up to 0,", "add up to 2,", "add up to 0.9,"};
    for (int i = 0; i < 3; i++) {
        put_row(sums[i]);
        assert_refused(liana__test_command("train", file, "--out", out, "data.targets=z", three,
                                           "train.loss=categorical_crossentropy"),
                       1, "table.csv", "record 4", "'z'", totals[i], "expected 1");
    }
    put_row("1,1,dog,1,1.5,-0.5,0");
    assert_refused(liana__test_command("train", file, "--out", out, "data.targets=z", three,
                                       "train.loss=categorical_crossentropy"),
                   1, "table.csv", "record 4", "value 0", "is 1.5");
    /* Numbers may be any. Percentages that were rounded pass. */
    assert_true(isfinite(first_loss("data.targets=z", three, "train.loss=mse", NULL)));
    put_row("1,1,dog,1,0.33,0.33,0.33");
    assert_true(isfinite(first_loss("data.targets=z", three, "train.loss=categorical_crossentropy", NULL)));
}

/* Validation and evaluation look at the same; bad records can be left out. */
static void test_targets_out_of_range_elsewhere(void **state)
{
    (void)state;
    make_config();
    char validation[400];
    put_row("1,1,dog,7,0,0,1");
    snprintf(validation, sizeof validation, "data.validation={paths: %s, kind: table}", data);
    char good[256], train[400];
    snprintf(good, sizeof good, "%s", liana__test_write("good.csv", table, strlen(table)));
    snprintf(train, sizeof train, "data.train={paths: %s, kind: table}", good);
    assert_refused(liana__test_command("train", file, "--out", out, "data.targets=y", train, validation), 1,
                   "table.csv", "record 4", "is 7");
    assert_code(liana__test_command("train", file, "--out", liana__test_path("skipped"), "data.targets=y",
                                    "data.on_bad_record=skip"),
                0);
    assert_true(isfinite(first_loss("data.targets=y", train, NULL, NULL)));
    assert_refused(liana__test_command("evaluate", out, "--data", data), 1, "table.csv", "record 4", "is 7");
}

/* Arrays have rows. */
static void test_arrays_out_of_range(void **state)
{
    (void)state;
    fixture own = set_up();
    float labels[ROWS] = {0, 1, 0, 0, 2, 0}, rows[ROWS * 2] = {1, 0, 0, 1, 1, 1, 0, 1, 1, 0, 1, 0};
    liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), (void *)features},
                            {"y", LIANA_F32, liana_shape_of(ROWS, 1), labels}};
    liana_model *model = make_model(&own, "y", 1, "sigmoid");
    const liana_fit_options options = {.loss = "binary_crossentropy"};
    refused(liana_train_on_batch(model, &options, arrays, 2, NULL), LIANA_OUT_OF_RANGE, "example 4");
    labels[4] = NAN;
    refused(liana_test_on_batch(model, &(liana_evaluate_options){.loss = "binary_crossentropy"}, arrays, 2, NULL),
            LIANA_OUT_OF_RANGE, "is nan");
    liana_model_destroy(model);
    model = make_model(&own, "y", 2, "softmax");
    arrays[1] = (liana_array){"y", LIANA_F32, liana_shape_of(ROWS, 2), rows};
    refused(liana_train_on_batch(model, &(liana_fit_options){.loss = "categorical_crossentropy"}, arrays, 2, NULL),
            LIANA_OUT_OF_RANGE, "example 2");
    liana_dataset *set = liana_dataset_from_tensor_slices(own.context, arrays, 2);
    refused(liana_fit(model, &(liana_fit_options){.training = set, .loss = "categorical_crossentropy"}),
            LIANA_OUT_OF_RANGE, "add up to 2");
    liana_dataset_close(set);
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_weights_of_a_sigmoid_and_of_numbers),
        cmocka_unit_test(test_weights_of_rows),
        cmocka_unit_test(test_weights_are_of_the_label),
        cmocka_unit_test(test_targets_are_mixed_as_images_are),
        cmocka_unit_test(test_weights_in_a_configuration),
        cmocka_unit_test(test_weights_that_are_refused),
        cmocka_unit_test(test_targets_out_of_range),
        cmocka_unit_test(test_targets_out_of_range_elsewhere),
        cmocka_unit_test(test_arrays_out_of_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
