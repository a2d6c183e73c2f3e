/* liana predict --layer: the outputs of inner layers as CSV and as numpy's arrays, and networks with ImageNet's
 * classifier. */
#include "harness/peers.h"
#include "harness/run_files.h"
#include "harness/text_files.h"
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "base/text.h"
#include "models/imagenet.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { COUNT = 21, SIDE = LIANA__TINY_SIZE, FLAT = 200, MAP = 10 * 10 * 8 };

/* An array of a .npy file in the test's folder; free data. */
typedef struct array {
    char *file;
    char shape[64]; /* "(21, 200)" */
    const float *values;
    size_t count;
} array;

static array read_npy(const char *name)
{
    static const char descr[] = "{'descr': '<f4', 'fortran_order': False, 'shape': ";
    array own = {0};
    size_t size;
    liana__error error;
    assert_ok(liana__file_read(liana__test_path(name), SIZE_MAX, &own.file, &size, &error), &error);
    assert_compare(size, >=, 64);
    assert_memory_equal(own.file, "\x93NUMPY\x01\x00", 8);
    const size_t header = 10 + (size_t)(uint8_t)own.file[8] + ((size_t)(uint8_t)own.file[9] << 8);
    assert_int_equal(header % 64, 0);
    assert_int_equal(own.file[header - 1], '\n');
    assert_memory_equal(own.file + 10, descr, sizeof descr - 1);
    const char *begin = own.file + 10 + sizeof descr - 1, *end = strchr(begin, ')');
    assert_non_null(end);
    snprintf(own.shape, sizeof own.shape, "%.*s", (int)(end + 1 - begin), begin);
    assert_memory_equal(end + 1, ", }", 3);
    own.values = (const float *)(void *)(own.file + header);
    own.count = (size - header) / sizeof(float);
    assert_int_equal(header + own.count * sizeof(float), size);
    return own;
}

/* The values of a CSV file, [rows, columns], and its header; the ids are 0, 1, 2, ... */
static float *read_csv(const char *name, size_t rows, size_t columns, const char *first, const char *last)
{
    char *text = liana__test_read_text(name), *at = strchr(text, '\n'), cell[128];
    float *values = malloc(rows * columns * sizeof *values);
    assert_non_null(at);
    snprintf(cell, sizeof cell, "id,%s%s", first, columns > 1 ? "," : "\n");
    assert_memory_equal(text, cell, strlen(cell));
    snprintf(cell, sizeof cell, ",%s\n", last);
    assert_memory_equal(at + 1 - strlen(cell), cell, strlen(cell));
    at++;
    for (size_t i = 0; i < rows; i++) {
        assert_int_equal(strtoul(at, &at, 10), i);
        for (size_t k = 0; k < columns; k++) {
            assert_int_equal(*at, ',');
            values[i * columns + k] = strtof(at + 1, &at);
        }
        assert_int_equal(*at++, '\n');
    }
    assert_int_equal(*at, 0);
    free(text);
    return values;
}

/* A trained run; returns its path. */
static const char *train(void)
{
    static char run[300];
    liana__test_folder();
    const char *config = liana__test_tiny_run(2 * COUNT);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "--out", run), 0);
    liana__test_tiny_data("new", COUNT, 9);
    return run;
}

#define PREDICT(layer, out)                                                                        \
    liana__test_command("predict", run, liana__test_path("new-images"), "--layer", layer, "--out", \
                        liana__test_path(out))

/* ---- files ---- */

static void test_both_files_have_the_values_of_the_layer(void **state)
{
    (void)state;
    const char *run = train();
    assert_code(PREDICT("flatten", "f.csv"), 0);
    liana__test_result got = PREDICT("flatten", "f.npy");
    assert_says(got.out, "layer 'flatten' in '");
    assert_says(got.out, "f.npy': 21 x 200; ids in '");
    assert_code(got, 0);
    float *cells = read_csv("f.csv", COUNT, FLAT, "flatten_0", "flatten_199");
    array own = read_npy("f.npy");
    assert_string_equal(own.shape, "(21, 200)");
    assert_int_equal(own.count, COUNT * FLAT);
    assert_memory_equal(own.values, cells, COUNT * FLAT * sizeof *cells);
    char *ids = liana__test_read_text("f.ids.csv");
    assert_memory_equal(ids, "id\n0\n1\n", 7);
    assert_string_equal(ids + strlen(ids) - 4, "\n20\n");
    free(ids);
    free(cells);
    free(own.file);
}

/* Channels change fastest, as in the model's memory and behind a Flatten. */
static void test_maps_keep_their_shape(void **state)
{
    (void)state;
    const char *run = train();
    assert_code(PREDICT("conv2d", "m.npy"), 0);
    assert_code(PREDICT("conv2d", "m.csv"), 0);
    array own = read_npy("m.npy");
    assert_string_equal(own.shape, "(21, 10, 10, 8)");
    assert_int_equal(own.count, COUNT * MAP);
    float *cells = read_csv("m.csv", COUNT, MAP, "conv2d_0", "conv2d_799");
    assert_memory_equal(own.values, cells, COUNT * MAP * sizeof *cells);
    free(cells);
    free(own.file);
}

/* In C: the same bits, and the model predicts and trains as before. */
static void test_the_option_of_programs(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(2 * COUNT);
    liana_model *model = liana__tiny_model(own.context), *twin = liana__tiny_model(own.context);
    static float flat[COUNT * FLAT], again[COUNT * FLAT], before[COUNT * 4], after[COUNT * 4];
    const liana_fit_options options = {.training = own.training,
                                       .loss = "sparse_categorical_crossentropy",
                                       .batch_size = 8};
    done(liana_fit(model, &options));
    done(liana_fit(twin, &options));
    done(liana_predict(model, own.validation, NULL, before));
    done(liana_predict(model, own.validation, &(liana_predict_options){.layer = "flatten"}, flat));
    done(liana_predict(model, own.validation, NULL, after));
    assert_memory_equal(before, after, sizeof before);
    liana_model_outputs(twin, liana_model_layer(twin, "flatten"));
    done(liana_predict(twin, own.validation, NULL, again));
    assert_memory_equal(flat, again, sizeof flat);
    liana_model_outputs(twin, liana_model_layer(twin, "dense"));
    /* The fit goes on with the optimizer's state: nothing was compiled anew in between. */
    done(liana_fit(model, &options));
    refused(liana_predict(model, own.validation, &(liana_predict_options){.layer = "flaten"}, flat), LIANA_NOT_FOUND,
            "has no layer 'flaten'; did you mean 'flatten'?");
    done(liana_predict(model, own.validation, NULL, after));
    liana_model_destroy(model);
    liana_model_destroy(twin);
    liana__tiny_fit_close(&own);
}

static void test_any_number_of_examples(void **state)
{
    (void)state;
    const char *run = train();
    static const struct {
        const char *take, *shape;
    } rows[] = {{"data.take=1", "(1, 200)"}, {"data.take=16", "(16, 200)"}, {"data.take=17", "(17, 200)"}};
    assert_code(PREDICT("flatten", "all.npy"), 0);
    array all = read_npy("all.npy");
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_code(liana__test_command("predict", run, liana__test_path("new-images"), "--layer", "flatten", "--out",
                                        liana__test_path("f.npy"), rows[i].take),
                    0);
        array own = read_npy("f.npy");
        assert_string_equal(own.shape, rows[i].shape);
        for (size_t k = 0; k < own.count; k++) assert_near(own.values[k], all.values[k], 1e-5);
        free(own.file);
    }
    free(all.file);
}

static void test_standard_output_and_json(void **state)
{
    (void)state;
    const char *run = train();
    liana__test_result got = liana__test_process(NULL, "predict", run, liana__test_path("new-images"), "--layer",
                                                 "flatten", "--out", "-", "data.take=2");
    assert_memory_equal(got.out, "id,flatten_0,flatten_1,", 23);
    assert_says(got.err, "layer 'flatten' in '/dev/stdout': 2 x 200\n");
    assert_code(got, 0);
    got = liana__test_command("predict", run, liana__test_path("new-images"), "--layer", "conv2d", "--json", "--out",
                              liana__test_path("m.npy"));
    json_t *event = liana__test_parse_json(got.out);
    assert_string_equal(json_string_value(json_object_get(event, "event")), "features");
    assert_int_equal(json_integer_value(json_object_get(event, "examples")), COUNT);
    const json_t *shape = json_array_get(json_object_get(event, "shapes"), 0);
    assert_int_equal(json_array_size(shape), 4);
    assert_int_equal(json_integer_value(json_array_get(shape, 3)), 8);
    json_decref(event);
    assert_code(got, 0);
}

/* ---- layers with several results, and nested models ---- */

static const char *save_model(liana_context *context, void (*build)(liana_model *model), const char *name)
{
    static char path[300];
    liana_model *model;
    assert_ok(liana_model_create(context, "parts", &model), liana__context_error(context));
    build(model);
    assert_ok(liana_model_status(model), liana__context_error(context));
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    assert_ok(liana_model_save(model, path), liana__context_error(context));
    liana_model_destroy(model);
    return path;
}

static void build_recurrent(liana_model *model)
{
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1), .name = "image");
    liana_reshape(model, .target_shape = LIANA_INTS(SIDE, SIDE));
    liana_layer lstm = liana_lstm(model, .units = 3, .return_state = true, .name = "lstm");
    liana_dense(model, .input = liana_layer_output(lstm, 0), .units = 4, .activation = "softmax");
}

static void build_nested(liana_model *model)
{
    liana_model *inner;
    assert_ok(liana_model_create(model->context, "encoder", &inner), &model->context->error);
    liana_input(inner, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_conv2d(inner, .filters = 2, .kernel_size = 3, .name = "features");
    liana_flatten(inner, .name = "flat");
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1), .name = "image");
    liana_nested(model, .nested = inner);
    liana_dense(model, .units = 4, .activation = "softmax", .name = "flat");
    liana_model_destroy(inner);
}

static void predict_with(const char *model, const char *layer, const char *out)
{
    assert_code(liana__test_command("predict", "--model", model, liana__test_path("new-images"), "--layer", layer,
                                    "--out", liana__test_path(out)),
                0);
}

static void test_each_result_of_a_layer_has_a_file(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(8);
    const char *model = save_model(own.context, build_recurrent, "recurrent");
    liana__test_tiny_data("new", COUNT, 9);
    predict_with(model, "lstm", "l.npy");
    predict_with(model, "lstm", "l.csv");
    predict_with(model, "lstm/2", "c.npy");
    array results[3] = {read_npy("l.npy"), read_npy("l_1.npy"), read_npy("l_2.npy")}, cell = read_npy("c.npy");
    float *cells = read_csv("l.csv", COUNT, 9, "lstm_0", "lstm_2_2");
    for (int r = 0; r < 3; r++) {
        assert_string_equal(results[r].shape, "(21, 3)");
        for (int i = 0; i < COUNT; i++) {
            assert_memory_equal(results[r].values + (ptrdiff_t)3 * i, cells + (ptrdiff_t)9 * i + (ptrdiff_t)3 * r,
                                3 * sizeof *cells);
        }
    }
    /* The output is the first state; the second one is the cell's. */
    assert_memory_equal(results[0].values, results[1].values, COUNT * 3 * sizeof *cells);
    assert_memory_equal(results[2].values, cell.values, COUNT * 3 * sizeof *cells);
    assert_memory_not_equal(results[0].values, cell.values, COUNT * 3 * sizeof *cells);
    for (int r = 0; r < 3; r++) free(results[r].file);
    free(cell.file);
    free(cells);
    liana__tiny_fit_close(&own);
}

static void test_layers_of_nested_models(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(8);
    const char *model = save_model(own.context, build_nested, "nested.keras");
    liana__test_tiny_data("new", COUNT, 9);
    predict_with(model, "encoder/flat", "a.npy");
    predict_with(model, "encoder", "b.npy");
    predict_with(model, "features", "c.npy");
    predict_with(model, "flat", "d.npy");
    array a = read_npy("a.npy"), b = read_npy("b.npy"), c = read_npy("c.npy"), d = read_npy("d.npy");
    assert_string_equal(a.shape, "(21, 200)");
    assert_string_equal(b.shape, "(21, 200)");
    assert_string_equal(c.shape, "(21, 10, 10, 2)");
    assert_string_equal(d.shape, "(21, 4)");
    assert_memory_equal(a.values, b.values, COUNT * FLAT * sizeof *a.values);
    assert_memory_equal(a.values, c.values, COUNT * FLAT * sizeof *a.values);
    free(a.file), free(b.file), free(c.file), free(d.file);
    liana__tiny_fit_close(&own);
}

/* ---- mistakes ---- */

static void test_mistakes(void **state)
{
    (void)state;
    const char *run = train();
    char fifo[300], missing[300], images[300];
    snprintf(images, sizeof images, "%s", liana__test_path("new-images"));
    snprintf(fifo, sizeof fifo, "%s", liana__test_path("fifo.npy"));
    snprintf(missing, sizeof missing, "%s", liana__test_path("missing/f.npy"));
    assert_refused(PREDICT("flaten", "f.csv"), 2, "no layer 'flaten'", "did you mean 'flatten'?");
    assert_refused(PREDICT("no_such_thing", "f.csv"), 2, "no layer 'no_such_thing'", "liana summary");
    assert_refused(PREDICT("", "f.csv"), 2, "--layer has an empty value");
    assert_false(liana__file_exists(liana__test_path("f.csv")));
    assert_refused(liana__test_command("predict", run, images, "--layer", "flatten"), 2, "--layer flatten needs a file",
                   "--out FILE.npy");
    assert_refused(liana__test_command("predict", run, images, "--layer", "flatten", "--out", "f.csv", "--top", "3"), 2,
                   "--top is for predictions");
    assert_refused(liana__test_command("predict", run, images, "--layer", "flatten", "--out", "f.csv",
                                       "--probabilities"),
                   2, "--probabilities is for predictions");
    assert_refused(liana__test_command("predict", run, images, "--layer", "flatten", "--out", missing), 1, "missing");
    /* Somebody reads the pipe, so that it can be opened. */
    assert_int_equal(mkfifo(fifo, 0600), 0);
    const int reader = open(fifo, O_RDONLY | O_NONBLOCK);
    assert_compare(reader, >=, 0);
    assert_refused(liana__test_command("predict", run, images, "--layer", "flatten", "--out", fifo), 1,
                   "no regular file", "CSV");
    close(reader);
}

/* ---- ImageNet's names ---- */

static void save_weights(const char *path)
{
    liana_context *context;
    liana_model *model;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_mobilenet(model, .alpha = 0.25, .input_shape = LIANA_INTS(32, 32, 3));
    assert_ok(liana_model_save(model, path), &context->error);
    liana_model_destroy(model);
    liana_context_destroy(context);
}

#define WITH_NETWORK(...)                                                                                        \
    liana__test_command("predict", "--model", "MobileNet", "--weights", weights, liana__test_path("new-images"), \
                        "model.alpha=0.25", "data.image_size=[32, 32]", "data.take=1", __VA_ARGS__)

static void test_an_architecture_says_names(void **state)
{
    (void)state;
    liana__test_folder();
    char weights[300], named[64];
    snprintf(weights, sizeof weights, "%s", liana__test_path("w.safetensors"));
    save_weights(weights);
    liana__test_tiny_data("new", 1, 9);
    liana__test_result got = WITH_NETWORK("--json");
    json_t *event = liana__test_parse_json(got.out), *first = json_array_get(json_object_get(event, "classes"), 0);
    assert_int_equal(json_array_size(json_object_get(event, "classes")), 5);
    const size_t label = (size_t)json_integer_value(json_object_get(first, "label"));
    assert_compare(label, <, 1000);
    assert_string_equal(json_string_value(json_object_get(first, "class")), liana__imagenet_names[label]);
    assert_string_equal(json_string_value(json_object_get(first, "wordnet_id")), liana__imagenet_ids[label]);
    assert_int_equal(json_object_size(json_object_get(event, "probabilities")), 1000);
    assert_non_null(json_object_get(json_object_get(event, "probabilities"), "crane"));
    assert_non_null(json_object_get(json_object_get(event, "probabilities"), "crane_517"));
    json_decref(event);
    assert_code(got, 0);
    got = WITH_NETWORK("--top", "1");
    snprintf(named, sizeof named, "  %s\n", liana__imagenet_names[label]);
    assert_says(got.out, named);
    assert_code(got, 0);
    /* Other names count. */
    char list[12000] = "data.class_names=[";
    size_t used = strlen(list);
    for (int i = 0; i < 1000; i++) used += (size_t)snprintf(list + used, sizeof list - used, "%sk%d", i ? "," : "", i);
    snprintf(list + used, sizeof list - used, "]");
    got = WITH_NETWORK(list);
    snprintf(named, sizeof named, "  k%zu\n", label);
    assert_says(got.out, named);
    assert_code(got, 0);
}

static void test_mistakes_with_architectures(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_data("new", 1, 9);
    char images[300];
    snprintf(images, sizeof images, "%s", liana__test_path("new-images"));
    assert_refused(liana__test_command("predict", "--model", "MobileNet", images), 2, "MobileNet is an architecture",
                   "--weights imagenet");
    assert_refused(liana__test_command("predict", "--model", "MobileNett", images), 2, "no such file or architecture",
                   "did you mean 'MobileNet'?");
    assert_refused(liana__test_command("predict", "--model", "MobileNet", "--weights", "imagenett", images), 2,
                   "did you mean 'imagenet'?");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_both_files_have_the_values_of_the_layer),
        cmocka_unit_test(test_maps_keep_their_shape),
        cmocka_unit_test(test_the_option_of_programs),
        cmocka_unit_test(test_any_number_of_examples),
        cmocka_unit_test(test_standard_output_and_json),
        cmocka_unit_test(test_each_result_of_a_layer_has_a_file),
        cmocka_unit_test(test_layers_of_nested_models),
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_an_architecture_says_names),
        cmocka_unit_test(test_mistakes_with_architectures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
