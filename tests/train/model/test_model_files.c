/* Models in one file: Keras's own files (tests/samples), and those that liana writes, read back here and by Keras. */
#include "harness/command_run.h"

#include "base/file.h"
#include "formats/zip.h"
#include "harness/one_context.h"
#include "harness/peers.h"
#include "layers/model.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

static const char *sample(const char *name)
{
    static char path[1024];
    snprintf(path, sizeof path, "%s/tests/samples/%s", LIANA_SOURCE_DIR, name);
    return path;
}

static liana_model *load(const char *path)
{
    liana_model *model;
    assert_ok(liana_model_load(context, path, &model), &context->error);
    return model;
}

/* ---- Keras's files ---- */

/* By keras_compiled.py: the outputs that Keras printed. */
static void check_outputs(liana_model *model)
{
    static const float expected[3][3] = {{0.35866498947143555F, 0.36949098110198975F, 0.27184396982192993F},
                                         {0.3783462941646576F, 0.39624425768852234F, 0.22540950775146484F},
                                         {0.3947851061820984F, 0.4203324317932129F, 0.18488240242004395F}};
    float inputs[3][4], outputs[3][3];
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 4; k++) inputs[i][k] = (float)((i + 1) * (k - 1)) / 4;
    }
    const liana_array batch = {.name = "row", .dtype = LIANA_F32, .shape = liana_shape_of(3, 4), .data = inputs};
    assert_ok(liana_predict_on_batch(model, &batch, 1, outputs[0]), &context->error);
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < 3; k++) assert_near(outputs[i][k], expected[i][k], 1e-6, i, k);
    }
}

static void check_settings(const liana_model *model)
{
    liana__text text = {0};
    assert_non_null(model->objective);
    assert_non_null(model->optimizer);
    liana__value_write_json(model->objective, 0, &text);
    liana__value_write_json(model->optimizer, 0, &text);
    assert_says(text.data, "\"loss\": \"sparse_categorical_crossentropy\"");
    assert_says(text.data, "{\"name\": \"sparse_top_k_categorical_accuracy\", \"as\": \"among_two\", \"k\": 2}");
    assert_says(text.data, "\"name\": \"CosineDecay\", \"initial_learning_rate\": 0.01, \"decay_steps\": 100");
    assert_says(text.data, "\"beta_1\": 0.8");
    liana__text_free(&text);
}

static void test_whole_models_of_keras_are_loaded(void **state)
{
    (void)state;
    static const char *const files[] = {"keras3_compiled.keras", "keras3_compiled.h5"};
    for (size_t i = 0; i < 2; i++) {
        liana_model *model = load(sample(files[i]));
        assert_string_equal(liana__model_name(model), "compiled");
        check_outputs(model);
        check_settings(model);
        liana_model_destroy(model);
        /* The architecture alone has initial weights, and the settings. */
        assert_ok(liana_model_load_architecture(context, sample(files[i]), &model), &context->error);
        check_settings(model);
        assert_compare(model->num_values, ==, 0);
        liana_model_destroy(model);
    }
}

/* A name says nothing: the first bytes do. */
static void test_kinds_are_told_by_first_bytes(void **state)
{
    (void)state;
    static const char *const files[][2] = {{"keras3_compiled.keras", "a.h5"}, {"keras3_compiled.h5", "b.json"}};
    liana__test_folder();
    for (size_t i = 0; i < 2; i++) {
        char *bytes;
        size_t size;
        assert_ok(liana__file_read(sample(files[i][0]), 1 << 20, &bytes, &size, &context->error), &context->error);
        liana_model *model = load(liana__test_write(files[i][1], bytes, size));
        check_outputs(model);
        liana_model_destroy(model);
        free(bytes);
    }
}

/* Every cut of a good file is an error, and none a model. */
static void test_cut_files_are_refused(void **state)
{
    (void)state;
    static const char *const names[] = {"keras3_compiled.keras", "keras3_compiled.h5"};
    liana__test_folder();
    for (size_t i = 0; i < 2; i++) {
        char *bytes;
        size_t size;
        assert_ok(liana__file_read(sample(names[i]), 1 << 20, &bytes, &size, &context->error), &context->error);
        for (size_t cut = 1; cut < size; cut += size / 40) {
            liana_model *model;
            const char *path = liana__test_write("cut", bytes, cut);
            assert_compare(liana_model_load(context, path, &model), !=, LIANA_OK, cut);
            assert_null(model);
        }
        free(bytes);
    }
}

#ifdef LIANA_HAVE_HDF5
/* ---- files of liana ---- */

/* Two inputs, a nested model with moving averages, a frozen layer, a name with '/'. */
static liana_model *build(void)
{
    liana_model *model, *inner;
    assert_ok(liana_model_create(context, "inner", &inner), &context->error);
    liana_input(inner, .shape = LIANA_INTS(5, 5, 4));
    liana_conv2d(inner, .filters = 3, .kernel_size = 2, .name = "first");
    liana_batch_normalization(inner, .name = "norm");
    liana_conv2d(inner, .filters = 2, .kernel_size = 2, .activation = "relu", .name = "second");
    liana_batch_normalization(inner, .name = "last");
    assert_ok(liana_model_create(context, "both", &model), &context->error);
    liana_layer image = liana_input(model, .shape = LIANA_INTS(6, 6, 3), .name = "picture");
    liana_layer row = liana_input(model, .shape = LIANA_INTS(4), .name = "row");
    liana_layer x = liana_conv2d(model, .input = image, .filters = 4, .kernel_size = 2, .name = "stem/conv");
    x = liana_nested(model, .nested = inner, .inputs = {x});
    x = liana_flatten(model, .input = x);
    liana_layer y = liana_dense(model, .input = row, .units = 3, .activation = "tanh", .name = "side");
    liana_concatenate(model, .inputs = {x, y});
    liana_dropout(model, .rate = 0.25);
    liana_dense(model, .units = 3, .activation = "softmax", .name = "out");
    assert_ok(liana_model_status(model), &context->error);
    liana_model_destroy(inner);
    return model;
}

/* Element k of weight w is another number for each. */
static void fill(liana_model *model)
{
    for (size_t w = 0; w < model->num_weights; w++) {
        const liana__weight *weight = &model->weights[w];
        const size_t count = (size_t)liana_shape_size(&weight->shape);
        float *values = malloc(count * sizeof *values);
        for (size_t k = 0; k < count; k++) values[k] = (float)((37 * w + 11 * k) % 101 + 1) / 128;
        const liana_array array = {.name = weight->name, .dtype = LIANA_F32, .shape = weight->shape, .data = values};
        assert_ok(liana_model_set_weights(model, &array, 1), &context->error);
        free(values);
    }
}

static liana_model *build_filled(void)
{
    liana_model *model = build();
    fill(model);
    const liana_preprocessing known = {.scale = LIANA_SCALE_MINUS_ONE_ONE,
                                       .antialias = true,
                                       .class_names = (const char *const[]){"ant", "bee", "cat", NULL}};
    assert_ok(liana_model_set_preprocessing(model, &known), &context->error);
    return model;
}

static void assert_same_weights(liana_model *model, liana_model *other)
{
    assert_compare(model->num_weights, ==, other->num_weights);
    for (size_t w = 0; w < model->num_weights; w++) {
        assert_string_equal(model->weights[w].name, other->weights[w].name);
        assert_memory_equal(model->values[w], other->values[w],
                            (size_t)liana_shape_size(&model->weights[w].shape) * sizeof(float));
    }
}

static void test_whole_files_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"m.keras", "m.h5", "m.hdf5", "folder"};
    liana__test_folder();
    liana_model *model = build_filled();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = liana__test_path(names[i]);
        assert_ok(liana_model_save(model, path), &context->error);
        liana_model *back = load(path);
        assert_same_weights(model, back);
        const liana_preprocessing known = liana_model_preprocessing(back);
        assert_int_equal(known.scale, LIANA_SCALE_MINUS_ONE_ONE);
        assert_true(known.antialias);
        assert_int_equal(known.num_class_names, 3);
        assert_string_equal(known.class_names[1], "bee");
        liana_model_destroy(back);
    }
    liana_model_destroy(model);
}

/* Keras lists the weights of a nested model that are trained before the others: which they are may change. */
static void test_frozen_layers_keep_their_weights(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = build_filled();
    for (size_t i = 0; i < model->num_layers; i++) {
        if (!model->layers[i].num_weights) continue;
        liana__model_set_trainable(model, i, i + 1, false);
        assert_ok(liana_model_save(model, liana__test_path("m.h5")), &context->error);
        liana_model *back = load(liana__test_path("m.h5"));
        assert_same_weights(model, back);
        assert_false(back->layers[i].trainable);
        liana_model_destroy(back);
    }
    liana_model_destroy(model);
}

static void test_weights_alone_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"m.weights.h5", "m.safetensors", "m.keras", "m.h5"};
    liana__test_folder();
    liana_model *model = build_filled();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = liana__test_path(names[i]);
        liana_model *other = build();
        assert_ok(liana_model_save(model, path), &context->error);
        assert_ok(liana_model_load_weights(other, path, false), &context->error);
        assert_same_weights(model, other);
        liana_model_destroy(other);
    }
    liana_model *other;
    assert_ok(liana_model_save(model, liana__test_path("m.json")), &context->error);
    assert_ok(liana_model_load_architecture(context, liana__test_path("m.json"), &other), &context->error);
    assert_compare(other->num_weights, ==, model->num_weights);
    liana_model_destroy(other);
    liana_model_destroy(model);
}

/* From Keras to liana and back: what Keras wrote is written again. */
static void test_settings_come_back(void **state)
{
    (void)state;
    static const char *const names[] = {"m.keras", "m.h5"};
    liana__test_folder();
    for (size_t i = 0; i < 2; i++) {
        liana_model *model = load(sample("keras3_compiled.keras"));
        assert_ok(liana_model_save(model, liana__test_path(names[i])), &context->error);
        liana_model *back = load(liana__test_path(names[i]));
        check_settings(back);
        check_outputs(back);
        liana_model_destroy(back);
        liana_model_destroy(model);
    }
}

/* The sample, with another word in its architecture and settings. Returns its path. */
static const char *write_changed(const char *word, const char *other)
{
    liana__zip *archive;
    char *config, *weights;
    assert_ok(liana__zip_open(sample("keras3_compiled.keras"), &archive, &context->error), &context->error);
    const liana__zip_entry *of_weights = liana__zip_find(archive, "model.weights.h5");
    assert_ok(liana__zip_read(archive, liana__zip_find(archive, "config.json"), &config, &context->error),
              &context->error);
    assert_ok(liana__zip_read(archive, of_weights, &weights, &context->error), &context->error);
    const char *place = strstr(config, word);
    liana__text text = {0};
    assert_non_null(place);
    liana__text_add(&text, "%.*s%s%s", (int)(place - config), config, other, place + strlen(word));
    const liana__zip_new_entry entries[] = {{"config.json", text.data, text.length},
                                            {"model.weights.h5", weights, (size_t)of_weights->size}};
    const char *path = liana__test_path("changed.keras");
    assert_ok(liana__zip_write(path, entries, 2, &context->error), &context->error);
    liana__text_free(&text);
    free(config);
    free(weights);
    liana__zip_close(archive);
    return path;
}

/* Settings that liana does not have are told, and nothing is made up for them. */
static void test_unknown_settings_are_left_out(void **state)
{
    (void)state;
    static const struct {
        const char *word, *other, *told, *has, *lacks;
    } cases[] = {
        {"\"sparse_categorical_crossentropy\"", "\"my_own_loss\"", "its losses are not known", "", "compile_config"},
        {"\"SparseTopKCategoricalAccuracy\"", "\"MyOwnMetric\"", "leaves out the metrics",
         "SparseCategoricalCrossentropy", "SparseTopK"},
        {"\"Adam\"", "\"MyAdam\"", "names the default, Adam", "SparseCategoricalCrossentropy", "MyAdam"},
        {"\"CosineDecay\"", "\"MyDecay\"", "leaves out the optimizer", "SparseTopKCategoricalAccuracy", "MyDecay"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__zip *archive;
        char *config;
        liana__test_folder();
        char from[600], to[600];
        snprintf(from, sizeof from, "%s", write_changed(cases[i].word, cases[i].other));
        snprintf(to, sizeof to, "%s", liana__test_path("out.keras"));
        liana__test_result done = liana__test_command("convert-model", from, to);
        assert_says(done.out, cases[i].told);
        assert_code(done, 0);
        assert_ok(liana__zip_open(to, &archive, &context->error), &context->error);
        assert_ok(liana__zip_read(archive, liana__zip_find(archive, "config.json"), &config, &context->error),
                  &context->error);
        assert_says(config, cases[i].has);
        if (strstr(config, cases[i].lacks)) fail_msg("'%s' is in %s", cases[i].lacks, config);
        free(config);
        liana__zip_close(archive);
    }
}

/* ---- refusals ---- */

static void refuse_load(const char *path, liana_status status, const char *first, const char *second)
{
    liana_model *model;
    assert_fails(liana_model_load(context, path, &model), status, &context->error, first, second);
    assert_null(model);
}

static void test_files_without_a_model_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = build_filled();
    const liana__zip_new_entry weights = {"model.weights.h5", "x", 1}, text = {"config.json", "{", 1},
                               list = {"config.json", "[1]", 3};
    assert_ok(liana_model_save(model, liana__test_path("w.weights.h5")), &context->error);
    assert_ok(liana_model_save(model, liana__test_path("w.safetensors")), &context->error);
    assert_ok(liana_model_save(model, liana__test_path("a.json")), &context->error);
    assert_ok(liana_model_save(model, liana__test_path("m.keras")), &context->error);
    assert_ok(liana__zip_write(liana__test_path("none.keras"), &weights, 1, &context->error), &context->error);
    assert_ok(liana__zip_write(liana__test_path("text.keras"), &text, 1, &context->error), &context->error);
    assert_ok(liana__zip_write(liana__test_path("list.keras"), &list, 1, &context->error), &context->error);
    refuse_load(liana__test_path("w.weights.h5"), LIANA_INVALID_DATA, "w.weights.h5", "without an architecture");
    refuse_load(liana__test_path("w.safetensors"), LIANA_INVALID_DATA, "a safetensors file", "expected");
    refuse_load(liana__test_path("a.json"), LIANA_INVALID_DATA, "a.json", "without weights");
    refuse_load(liana__test_path("none.keras"), LIANA_INVALID_DATA, "none.keras", "config.json");
    refuse_load(liana__test_path("text.keras"), LIANA_INVALID_DATA, "text.keras: config.json", "");
    refuse_load(liana__test_path("list.keras"), LIANA_INVALID_CONFIG, "list.keras", "a list of 1");
    refuse_load(liana__test_write("photo.keras", "\xff\xd8\xff\xe0", 4), LIANA_INVALID_DATA, "a JPEG image", "");
    refuse_load(liana__test_write("empty.keras", "", 0), LIANA_INVALID_DATA, "empty.keras", "is empty");
    refuse_load(liana__test_write("list.json", "[]", 2), LIANA_INVALID_CONFIG, "list.json", "a list of 0");
    refuse_load(liana__test_path("missing.keras"), LIANA_NOT_FOUND, "missing.keras", "");
    liana_model_destroy(model);
}

/* Another architecture in an archive of Keras, whose metadata say a version. */
static void write_other_config(const char *name, const char *config)
{
    liana__zip *archive;
    liana__zip_new_entry entries[8];
    size_t count;
    assert_ok(liana__zip_open(sample("keras3_compiled.keras"), &archive, &context->error), &context->error);
    const liana__zip_entry *all = liana__zip_entries(archive, &count);
    assert_compare(count, <=, 8);
    char *bytes[8];
    for (size_t i = 0; i < count; i++) {
        assert_ok(liana__zip_read(archive, &all[i], &bytes[i], &context->error), &context->error);
        const bool is_config = strcmp(all[i].name, "config.json") == 0;
        entries[i] = (liana__zip_new_entry){all[i].name, is_config ? config : bytes[i],
                                            is_config ? strlen(config) : (size_t)all[i].size};
    }
    assert_ok(liana__zip_write(liana__test_path(name), entries, count, &context->error), &context->error);
    for (size_t i = 0; i < count; i++) free(bytes[i]);
    liana__zip_close(archive);
}

static void test_hostile_architectures_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    static const char *const texts[][2] = {{"[]", "a list of 0"},
                                           {"null", "null"},
                                           {"3", "the number 3"},
                                           {"\"Sequential\"", "'Sequential'"}};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        write_other_config("m.keras", texts[i][0]);
        refuse_load(liana__test_path("m.keras"), LIANA_INVALID_CONFIG, "m.keras': config.json: found", texts[i][1]);
    }
    /* 40 TB: the weights are compared before there is memory for them. */
    write_other_config("m.keras",
                       "{\"class_name\": \"Sequential\", \"config\": {\"name\": \"m\", \"layers\": ["
                       "{\"class_name\": \"InputLayer\", \"config\": {\"batch_shape\": [null, 4]}},"
                       "{\"class_name\": \"Dense\", \"config\": {\"name\": \"hidden\", \"units\": 1000000}},"
                       "{\"class_name\": \"Dense\", \"config\": {\"name\": \"out\", \"units\": 10000000}}]}}");
    refuse_load(liana__test_path("m.keras"), LIANA_INVALID_DATA, "layer 'hidden' has kernel [4, 5] in the file",
                "[4, 1000000] in the model");
}

static const char *const all_names[] = {"m.keras", "m.h5", "m.json"};

/* The layer is named before anything is written. */
static void test_unsayable_models_are_refused(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(4));
    liana_dense(model, .units = 2, .activation = "hard_sigmoid_keras2", .name = "gate");
    for (size_t i = 0; i < 3; i++) {
        liana__test_write(all_names[i], "old", 3);
        assert_fails(liana_model_save(model, liana__test_path(all_names[i])), LIANA_UNIMPLEMENTED, &context->error,
                     "'gate'", "hard_sigmoid");
        char *text;
        size_t size;
        assert_ok(liana__file_read(liana__test_path(all_names[i]), 100, &text, &size, &context->error),
                  &context->error);
        assert_string_equal(text, "old");
        free(text);
    }
    /* Its weights are numbers like any others. */
    assert_ok(liana_model_save(model, liana__test_path("m.weights.h5")), &context->error);
    assert_fails(liana_model_save(model, "gs://bucket/m.keras"), LIANA_UNIMPLEMENTED, &context->error,
                 "gs://bucket/m.keras", "to this machine");
    liana_model_destroy(model);
}

/* A disk that is full: no file becomes larger than 4 kB. */
static void test_a_half_written_file_replaces_nothing(void **state)
{
    (void)state;
    static const char *const names[] = {"m.keras", "m.h5", "m.weights.h5", "m.safetensors", "m.json"};
    struct rlimit before;
    liana__test_folder();
    liana_model *model = build_filled();
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *path = liana__test_path(names[i]);
        char *old, *now, temporary[600];
        size_t old_size, now_size;
        assert_ok(liana_model_save(model, path), &context->error);
        assert_ok(liana__file_read(path, 1 << 20, &old, &old_size, &context->error), &context->error);
        void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &(struct rlimit){1024, before.rlim_max}), 0);
        const liana_status status = liana_model_save(model, path);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        signal(SIGXFSZ, handler);
        assert_int_equal(status, LIANA_IO_ERROR);
        assert_says(context->error.message, names[i]);
        assert_ok(liana__file_read(path, 1 << 20, &now, &now_size, &context->error), &context->error);
        assert_compare(now_size, ==, old_size, i);
        assert_memory_equal(now, old, old_size);
        snprintf(temporary, sizeof temporary, "%s.tmp", path);
        assert_false(liana__file_exists(temporary));
        free(old);
        free(now);
    }
    liana_model_destroy(model);
}

/* ---- liana convert-model (convert_model.c), and commands that take its files ---- */

static char *read_text(const char *name)
{
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path(name), 1 << 20, &text, &size, &context->error), &context->error);
    return text;
}

static void test_convert_model_is_followed_by_others(void **state)
{
    (void)state;
    static const char *const names[] = {"m.keras", "m.h5", "folder"};
    liana__test_folder();
    char config[600], run[600], data[600], out[600];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(48));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(data, sizeof data, "%s", liana__test_path("validation-images"));
    snprintf(out, sizeof out, "%s", liana__test_path("run.csv"));
    assert_code(liana__test_command("train", config, "train.epochs=1"), 0);
    assert_code(liana__test_command("predict", run, "--data", data, "--out", out), 0);
    char *expected = read_text("run.csv");
    char labels[1300], trained[600];
    liana__test_result measured = liana__test_command("evaluate", run);
    snprintf(trained, sizeof trained, "%.*s", (int)strcspn(measured.out, "w"), measured.out);
    snprintf(labels, sizeof labels, "data={validation: {images: '%s', labels: '%s'}}", data,
             liana__test_path("validation-labels"));
    assert_code(measured, 0);
    for (size_t i = 0; i < 3; i++) {
        char file[600];
        snprintf(file, sizeof file, "%s", liana__test_path(names[i]));
        snprintf(out, sizeof out, "%s", liana__test_path("file.csv"));
        assert_code(liana__test_command("convert-model", run, file), 0);
        assert_code(liana__test_command("predict", "--model", file, "--data", data, "--out", out), 0);
        char *found = read_text("file.csv");
        measured = liana__test_command("evaluate", "--model", file, labels);
        assert_says(measured.out, trained);
        assert_says(measured.out, names[i]);
        assert_code(measured, 0);
        assert_string_equal(found, expected);
        free(found);
        if (i == 2) continue;
        assert_code(liana__test_command("summary", file), 0);
        /* A run goes on from the weights in the file. */
        char key[700], next[700];
        snprintf(key, sizeof key, "model={file: '%s'}", file);
        snprintf(next, sizeof next, "%s-run", file);
        liana__test_result went = liana__test_command("train", config, key, "train.epochs=1", "--out", next);
        assert_says(went.out, "loaded");
        assert_says(went.out, names[i]);
        assert_code(went, 0);
    }
    free(expected);
}

/* The resolved configuration says what Keras compiled; a key of one's own stands for itself. */
static void test_a_run_trains_as_keras_compiled(void **state)
{
    (void)state;
    static const char table[] = "a,b,c,d,class\n1,2,3,4,0\n2,3,4,5,1\n3,4,5,6,2\n4,5,6,7,1\n";
    liana__test_folder();
    liana__test_write("rows.csv", table, sizeof table - 1);
    char config[2000], path[600], out[600];
    const int length = snprintf(config, sizeof config,
                                "data:\n  train: {paths: rows.csv, kind: table}\n"
                                "  columns: {row: [a, b, c, d], label: class}\n"
                                "  targets: label\nmodel: {file: '%s'}\n"
                                "train: {epochs: 1, batch_size: 2}\noutput: run\n",
                                sample("keras3_compiled.keras"));
    snprintf(path, sizeof path, "%s", liana__test_write("c.yaml", config, (size_t)length));
    assert_code(liana__test_command("train", path), 0);
    char *resolved = read_text("run/config.yaml");
    assert_says(resolved, "CosineDecay");
    assert_says(resolved, "among_two");
    assert_says(resolved, "beta_1: 0.8");
    free(resolved);
    snprintf(out, sizeof out, "%s", liana__test_path("own"));
    assert_code(liana__test_command("train", path, "train.optimizer={name: SGD}", "train.metrics=[accuracy]", "--out",
                                    out),
                0);
    resolved = read_text("own/config.yaml");
    assert_says(resolved, "SGD");
    assert_never_says(resolved, "among_two");
    assert_never_says(resolved, "CosineDecay");
    free(resolved);
}

static void test_convert_model_refuses(void **state)
{
    (void)state;
    liana__test_folder();
    liana_model *model = build();
    fill(model);
    char json[600], keras[600];
    assert_ok(liana_model_save(model, liana__test_path("m.json")), &context->error);
    assert_ok(liana_model_save(model, liana__test_path("m.keras")), &context->error);
    snprintf(json, sizeof json, "%s", liana__test_path("m.json"));
    snprintf(keras, sizeof keras, "%s", liana__test_path("m.keras"));
    liana_model_destroy(model);
    assert_refused(liana__test_command("convert-model", json, liana__test_path("x.keras")), 1, "m.json",
                   "without weights", "--weights");
    assert_code(liana__test_command("convert-model", json, liana__test_path("x.keras"), "--weights", keras), 0);
    assert_same_file(keras, liana__test_path("x.keras"));
    assert_refused(liana__test_command("convert-model", keras, liana__test_path("x.tflite")), 1, "x.tflite",
                   "a TensorFlow Lite file");
    assert_refused(liana__test_command("convert-model", keras, liana__test_path("y.keras"), "--keras", "2"), 1,
                   "y.keras", "Keras 2", ".h5");
    assert_refused(liana__test_command("convert-model", keras, liana__test_path("y"), "--keras", "2"), 1, "Keras 2");
    assert_refused(liana__test_command("convert-model", liana__test_path("no"), liana__test_path("y.keras")), 1, "no");
    assert_false(liana__file_exists(liana__test_path("y.keras")));
    assert_false(liana__folder_exists(liana__test_path("y")));
}

/* ---- Keras as a peer ---- */

enum { ROWS = 3, MOST_INPUTS = 2, MOST_OUTPUTS = 16 };

typedef struct batch {
    liana_array arrays[MOST_INPUTS];
    size_t count;
} batch;

static batch make_batch(const liana_model *model)
{
    batch made = {.count = liana__model_num_inputs(model)};
    for (size_t i = 0; i < made.count; i++) {
        const liana__model_port port = liana__model_input(model, i);
        liana_shape shape = port.shape;
        shape.dims[0] = ROWS;
        const size_t count = (size_t)liana_shape_size(&shape);
        float *values = malloc(count * sizeof *values);
        for (size_t k = 0; k < count; k++) values[k] = (float)((31 * k + 7 * i) % 97) / 97 - 0.5f;
        made.arrays[i] = (liana_array){.name = port.name, .dtype = LIANA_F32, .shape = shape, .data = values};
    }
    return made;
}

static void free_batch(batch *made)
{
    for (size_t i = 0; i < made->count; i++) free((void *)(uintptr_t)made->arrays[i].data);
}

static size_t predict(liana_model *model, const batch *from, float outputs[MOST_OUTPUTS])
{
    const liana_shape shape = liana__model_output_shape(model);
    assert_ok(liana_predict_on_batch(model, from->arrays, from->count, outputs), &context->error);
    return (size_t)(ROWS * shape.dims[1]);
}

static void write_numbers(const batch *from, const float *outputs, size_t count, bool is_compiled)
{
    FILE *file = fopen(liana__test_path("numbers.json"), "w");
    assert_non_null(file);
    fprintf(file, "{\"is_compiled\": %s, \"inputs\": {", is_compiled ? "true" : "false");
    for (size_t i = 0; i < from->count; i++) {
        const liana_array *array = &from->arrays[i];
        const float *values = array->data;
        fprintf(file, "%s\"%s\": {\"shape\": [", i ? ", " : "", array->name);
        for (int k = 0; k < array->shape.rank; k++) fprintf(file, "%s%d", k ? ", " : "", (int)array->shape.dims[k]);
        fprintf(file, "], \"values\": [");
        for (int64_t k = 0; k < liana_shape_size(&array->shape); k++) {
            fprintf(file, "%s%.9g", k ? ", " : "", (double)values[k]);
        }
        fprintf(file, "]}");
    }
    fprintf(file, "}, \"outputs\": [");
    for (size_t i = 0; i < count; i++) fprintf(file, "%s%.9g", i ? ", " : "", (double)outputs[i]);
    fprintf(file, "]}");
    assert_int_equal(fclose(file), 0);
}

static void save_as(liana_model *model, const char *name)
{
    assert_ok(liana_model_save(model, liana__test_path(name)), &context->error);
}

static void convert(const char *from, const char *to)
{
    char input[600], output[600];
    snprintf(input, sizeof input, "%s", liana__test_path(from));
    snprintf(output, sizeof output, "%s", liana__test_path(to));
    assert_code(liana__test_command("convert-model", input, output, "--keras", "2"), 0);
}

/* Keras's file, or weights for the model. */
static void check_back(const char *name, liana_model *model, const batch *from, const float *outputs)
{
    float found[MOST_OUTPUTS];
    liana_model *back = NULL;
    if (model) {
        fill(model);
        liana__model_set_trainable(model, 0, model->num_layers, true);
        assert_ok(liana_model_load_weights(model, liana__test_path(name), false), &context->error);
    } else {
        back = load(liana__test_path(name));
    }
    const size_t count = predict(model ? model : back, from, found);
    for (size_t i = 0; i < count; i++) assert_near(found[i], outputs[i], 1e-5, i);
    liana_model_destroy(back);
}

static void check_with_keras(liana_model *model, bool is_compiled)
{
    static const char *const names[] = {"liana.keras", "liana.h5", "liana.weights.h5", "liana.json"};
    static const char *const whole[] = {"back.keras", "back.h5", "back2.h5", "back2.keras"};
    static const char *const weights[] = {"back.keras", "back.h5", "back.weights.h5", "back2.h5", "back2.weights.h5"};
    float outputs[MOST_OUTPUTS];
    char folder[600];
    batch from = make_batch(model);
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    write_numbers(&from, outputs, predict(model, &from, outputs), is_compiled);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) save_as(model, names[i]);
    convert("liana.keras", "older.h5");
    convert("liana.h5", "older.json");
    liana__test_run_keras("tests/train/model/keras_files_check.py", (const char *const[]){folder, NULL});
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) check_back(whole[i], NULL, &from, outputs);
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) check_back(weights[i], model, &from, outputs);
    free_batch(&from);
    liana_model_destroy(model);
}

static void test_keras_loads_every_file(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) skip();
    check_with_keras(load(sample("keras3_compiled.keras")), true);
    check_with_keras(build_filled(), false);
    /* A frozen layer inside of a nested model. */
    liana_model *model = build_filled();
    for (size_t i = 0; i < model->num_layers; i++) {
        if (strcmp(model->layers[i].name, "inner/norm") == 0) liana__model_set_trainable(model, i, i + 1, false);
    }
    check_with_keras(model, false);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_whole_models_of_keras_are_loaded),
        cmocka_unit_test(test_kinds_are_told_by_first_bytes),
#ifdef LIANA_HAVE_HDF5
        cmocka_unit_test(test_whole_files_come_back),
        cmocka_unit_test(test_frozen_layers_keep_their_weights),
        cmocka_unit_test(test_weights_alone_come_back),
        cmocka_unit_test(test_settings_come_back),
        cmocka_unit_test(test_unknown_settings_are_left_out),
        cmocka_unit_test(test_files_without_a_model_are_refused),
        cmocka_unit_test(test_hostile_architectures_are_refused),
        cmocka_unit_test(test_unsayable_models_are_refused),
        cmocka_unit_test(test_a_half_written_file_replaces_nothing),
        cmocka_unit_test(test_convert_model_is_followed_by_others),
        cmocka_unit_test(test_convert_model_refuses),
        cmocka_unit_test(test_a_run_trains_as_keras_compiled),
        cmocka_unit_test(test_keras_loads_every_file),
#endif
        cmocka_unit_test(test_cut_files_are_refused),
    };
    return cmocka_run_group_tests_name("model_files", tests, set_up, tear_down);
}
