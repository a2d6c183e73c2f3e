/* evaluate, predict, summary and list, on a small run that train made. */
#include "harness/command_run.h"
#include "harness/text_files.h"

#include "base/file.h"
#include "formats/hdf5.h"
#include "formats/image.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Trains the small run, and then takes away the data that only training needs. */
static const char *make_run(void)
{
    liana__test_folder();
    const char *config = liana__test_tiny_run(200);
    assert_code(liana__test_command("train", config), 0);
    remove(liana__test_path("train-images"));
    remove(liana__test_path("train-labels"));
    static char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    return run;
}

static json_t *command_json(liana__test_result got)
{
    if (got.code) print_error("%s", got.err);
    assert_int_equal(got.code, 0);
    json_t *json = liana__test_parse_json(got.out);
    liana__test_free_result(&got);
    return json;
}

static json_t *read_json(const char *name)
{
    json_error_t problem;
    json_t *json = json_load_file(liana__test_path(name), 0, &problem);
    assert_non_null(json);
    return json;
}

static double number(const json_t *json, const char *key)
{
    return json_number_value(json_object_get(json, key));
}

static void test_evaluate_gives_the_history(void **state)
{
    (void)state;
    const char *run = make_run();
    json_t *history = read_json("run/history.json"), *epochs = json_object_get(history, "epochs");
    assert_int_equal(json_array_size(epochs), 3);
    json_t *got = command_json(liana__test_command("evaluate", run, "--json"));
    assert_string_equal(json_string_value(json_object_get(got, "event")), "evaluation");
    assert_int_equal(number(got, "examples"), 100);
    assert_compare(number(got, "loss"), ==, number(json_array_get(epochs, 2), "val_loss"));
    assert_compare(number(got, "accuracy"), ==, number(json_array_get(epochs, 2), "val_accuracy"));
    json_decref(got);
    /* An earlier checkpoint, by its name: 200 examples in batches of 32 are 7 updates an epoch. */
    got = command_json(liana__test_command("evaluate", run, "--json", "--checkpoint", "step-0000000007"));
    assert_compare(number(got, "loss"), ==, number(json_array_get(epochs, 0), "val_loss"));
    json_decref(got);
    /* Other data. */
    liana__test_tiny_data("other", 60, 9);
    char data[256];
    snprintf(data, sizeof data, "data.validation={images: %s, labels: %s}", liana__test_path("other-images"),
             liana__test_path("other-labels"));
    got = command_json(liana__test_command("evaluate", run, "--json", data));
    assert_int_equal(number(got, "examples"), 60);
    json_decref(got);
    json_decref(history);
    liana__test_result plain = liana__test_command("evaluate", run);
    assert_says(plain.out, "accuracy 0.");
    assert_says(plain.out, "over 100 examples, with '");
    assert_code(plain, 0);
}

/* The matrix has every example once, and the right ones on its diagonal. */
static void test_confusion_matrix(void **state)
{
    (void)state;
    const char *run = make_run();
    liana__test_result got =
        liana__test_command("evaluate", run, "--json", "train.metrics=[accuracy, confusion_matrix]");
    json_t *json = liana__test_parse_json(got.out), *rows = json_object_get(json, "confusion_matrix"), *row, *cell;
    size_t i, k;
    json_int_t total = 0, right = 0, examples = json_integer_value(json_object_get(json, "examples"));
    assert_int_equal(json_array_size(rows), LIANA__TINY_CLASSES);
    json_array_foreach(rows, i, row)
    {
        assert_int_equal(json_array_size(row), LIANA__TINY_CLASSES);
        json_array_foreach(row, k, cell)
        {
            total += json_integer_value(cell);
            if (i == k) right += json_integer_value(cell);
        }
    }
    assert_compare(total, ==, examples);
    assert_compare(examples, >, 0);
    double accuracy = json_number_value(json_object_get(json, "accuracy"));
    double counted = accuracy * (double)examples - (double)right;
    assert_compare(counted, <, 1e-6);
    assert_compare(counted, >, -1e-6);
    json_decref(json);
    assert_code(got, 0);
}

static void test_evaluate_refuses(void **state)
{
    (void)state;
    const char *run = make_run();
    assert_refused(liana__test_command("evaluate", liana__test_path("nothing")), 2, "nothing", "is not a run folder");
    assert_refused(liana__test_command("evaluate", liana__test_path("run/checkpoints")), 2, "no config.yaml in it");
    assert_refused(liana__test_command("evaluate", run, "--checkpoint", "step-9"), 1, "step-9", "checkpoints");
    assert_refused(liana__test_command("evaluate", run, "data.validation=null"), 2, "data.validation", "missing");
    assert_ok(liana__folder_remove(liana__test_path("run/checkpoints"), NULL), NULL);
    assert_refused(liana__test_command("evaluate", run), 1, "has no checkpoint yet", "liana train");
}

/* The rows of the run's own predictions (id,label) are the first two columns of predict's. */
static void test_predict_agrees_with_the_run(void **state)
{
    (void)state;
    const char *run = make_run();
    assert_code(liana__test_command("predict", run, "--data", liana__test_path("test-images"), "--out",
                                    liana__test_path("p.csv")),
                0);
    char *full = liana__test_read_text("p.csv"), *short_form = liana__test_read_text("run/test_predictions.csv");
    assert_begins(full, "id,label,class,confidence,true_label,true_class,correct\n");
    assert_begins(short_form, "id,label\n");
    char *row = full, *expected = short_form, *row_end, *expected_end;
    int rows = 0, right = 0;
    for (; (row_end = strchr(row, '\n')) && (expected_end = strchr(expected, '\n')); rows++) {
        *expected_end = 0;
        int id = -1, label = -1;
        double confidence;
        if (rows) {
            assert_begins(row, expected);
            assert_int_equal(sscanf(row, "%d,%d,,%lf\n", &id, &label, &confidence), 3);
            assert_int_equal(id, rows - 1);
            assert_compare(confidence, >, 0.25);
            assert_compare(confidence, <=, 1);
            uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
            right += label == liana__test_tiny_image(3, (uint32_t)id, pixels);
        }
        row = row_end + 1;
        expected = expected_end + 1;
    }
    assert_int_equal(rows, 101);
    assert_compare(right, >=, 80);
    free(full);
    free(short_form);
}

/* Class names come from the configuration; labels that make no sense are not looked at. */
static void test_predict_names_classes_and_ignores_labels(void **state)
{
    (void)state;
    const char *run = make_run();
    uint8_t labels[8 + 100] = {0, 0, 8, 1, 0, 0, 0, 100};
    memset(labels + 8, 77, 100);
    liana__test_write("validation-labels", labels, sizeof labels);
    json_t *got = command_json(
        liana__test_command("predict", run, "data.class_names=[\"upper, left\", upper right, lower left, lower right]",
                            "--json", "--data", liana__test_path("validation-images"), "--out",
                            liana__test_path("p.csv")));
    assert_int_equal(number(got, "examples"), 100);
    json_decref(got);
    char *text = liana__test_read_text("p.csv");
    assert_says(text, ",0,\"upper, left\",0.");
    assert_says(text, ",3,lower right,0.");
    free(text);
}

/* A photo and nothing else: the likeliest classes, the likeliest first. The file of the same run says the same. */
static void test_predict_prints_what_a_photo_shows(void **state)
{
    (void)state;
    const char *run = make_run(), *names = "data.class_names=[a, b, c, d]";
    liana__error error = {0};
    liana__text png = {0};
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    char photo[256], expected[64];
    liana__test_tiny_image(3, 0, pixels);
    assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
    snprintf(photo, sizeof photo, "%s", liana__test_write("photo.png", png.data, png.length));
    liana__text_free(&png);
    assert_code(liana__test_command("predict", run, photo, names, "--out", liana__test_path("p.csv")), 0);
    char *csv = liana__test_read_text("p.csv"), name;
    int label;
    double confidence, probability, last = 2, sum = 0;
    assert_int_equal(sscanf(strchr(csv, '\n') + 1, "photo.png,%d,%c,%lf", &label, &name, &confidence), 3);
    free(csv);
    liana__test_result plain = liana__test_command("predict", run, photo, names);
    snprintf(expected, sizeof expected, "photo.png\n  %.4f  %c\n", confidence, name);
    assert_begins(plain.out, expected);
    assert_string_equal(plain.err, "");
    assert_code(plain, 0);
    json_t *got = command_json(liana__test_command("predict", run, photo, names, "--json"));
    json_t *classes = json_object_get(got, "classes"), *item;
    size_t index;
    assert_int_equal(json_array_size(classes), 4); /* of at most five */
    assert_int_equal(number(json_array_get(classes, 0), "label"), label);
    json_array_foreach(classes, index, item)
    {
        probability = number(item, "probability");
        assert_compare(probability, <=, last);
        last = probability;
        sum += probability;
    }
    assert_compare(sum, >, 0.9999);
    assert_compare(sum, <, 1.0001);
    json_decref(got);
}

/* As predict's; the same values as those of the configuration. */
static void test_evaluate_takes_data(void **state)
{
    (void)state;
    const char *run = make_run(), *data = liana__test_path("validation-images");
    json_t *plain = command_json(liana__test_command("evaluate", run, "--json"));
    json_t *named = command_json(liana__test_command("evaluate", run, "--json", "--data", data));
    assert_true(json_equal(plain, named));
    json_decref(plain);
    json_decref(named);
    liana__test_tiny_data("other", 60, 9);
    named = command_json(liana__test_command("evaluate", run, "--json", "--data", liana__test_path("other-images")));
    assert_int_equal(number(named, "examples"), 60);
    json_decref(named);
    assert_refused(liana__test_command("evaluate", run, "--data", liana__test_path("no*")), 1, "no*");
}

static void test_predict_refuses(void **state)
{
    (void)state;
    const char *run = make_run(), *images = liana__test_path("test-images");
    assert_refused(liana__test_command("predict", run, "--out", "x.csv"), 2, "no images", "--data");
    assert_refused(liana__test_command("predict", run, "a.jpg", "--data", images), 2, "'a.jpg' and --data");
    assert_refused(liana__test_command("predict", run, "--data", images, "--json", "--out", "-"), 2, "--json",
                   "standard output");
    assert_refused(liana__test_command("predict", run, "--data", liana__test_path("no*"), "--out", "x.csv"), 1, "no*");
    assert_refused(liana__test_command("predict", run, "--data", images, "--out",
                                       liana__test_path("no/such/folder/p.csv")),
                   1, "no/such/folder/p.csv", "No such file or directory");
}

static void test_summary(void **state)
{
    (void)state;
    const char *run = make_run();
    liana__test_result of_run = liana__test_command("summary", run);
    liana__test_result of_json = liana__test_command("summary", liana__test_path("run/model.json"));
    assert_string_equal(of_run.err, "");
    assert_says(of_run.out, "Total params: 916\n");
    assert_says(of_run.out, "Non-trainable params: 16\n");
    assert_string_equal(of_run.out, of_json.out);
    liana__test_free_result(&of_json);
    assert_code(of_run, 0);
    /* Without the data, the configuration's must do. */
    const char *config = liana__test_path("config.yaml");
    assert_refused(liana__test_command("summary", config), 1, "train-images");
    json_t *got =
        command_json(liana__test_command("summary", config, "data.image_size=12", "data.channels=1", "--json"));
    assert_int_equal(number(got, "parameters"), 916);
    assert_int_equal(number(got, "trainable_parameters"), 900);
    assert_int_equal(number(got, "flops"), 2 * (10 * 10 * 8 * 9 + 200 * 4));
    json_t *layer = json_array_get(json_object_get(got, "layers"), 1);
    assert_string_equal(json_string_value(json_object_get(layer, "class")), "Conv2D");
    assert_int_equal(number(layer, "parameters"), 80);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(layer, "output_shape"), 3)), 8);
    json_decref(got);
    assert_refused(liana__test_command("summary", liana__test_path("run/model.json"), "train.epochs=2"), 2,
                   "train.epochs=2");
    /* Keras's files: a whole model has its architecture, weights alone have not, and a .keras may be cut. */
    char *json = liana__test_read_text("run/model.json");
    liana__error error = {0};
    float values[9] = {0};
    const liana__hdf5_new_weight weight = {"a/kernel:0", 1, {9}, values};
    const liana__hdf5_new_layer layers[] = {{"a", &weight, 1}};
    const liana__hdf5_description whole_file = {.model_config = json};
    assert_ok(liana__hdf5_write(liana__test_path("whole.h5"), layers, 1, &whole_file, &error), &error);
    assert_ok(liana__hdf5_write(liana__test_path("weights.h5"), layers, 1, NULL, &error), &error);
    liana__test_write("new.keras", "PK\003\004abc", 7);
    liana__test_write("photo", "\xff\xd8\xff\xe0", 4);
    liana__test_result whole = liana__test_command("summary", liana__test_path("whole.h5"));
    assert_says(whole.out, "Total params: 916\n");
    assert_code(whole, 0);
    assert_refused(liana__test_command("summary", liana__test_path("weights.h5")), 1, "weights.h5",
                   "weights without an architecture", "liana inspect");
    assert_refused(liana__test_command("summary", liana__test_path("new.keras")), 1, "new.keras", "is cut");
    assert_refused(liana__test_command("summary", liana__test_path("photo")), 2, "a JPEG image", "expected");
    free(json);
    liana__test_write("bad.json", "{", 1);
    assert_refused(liana__test_command("summary", liana__test_path("bad.json")), 1, "bad.json:1");
}

static void test_list(void **state)
{
    (void)state;
    liana__test_result all = liana__test_command("list");
    static const char *const kinds[] = {"configuration", "models",      "layers",      "losses",       "metrics",
                                        "optimizers",    "schedules",   "sources",     "devices",      "strategies",
                                        "ops",           "environment", "activations", "initializers", "regularizers",
                                        "constraints",   "datasets",    "transports",  "subcommands",  "exit_codes",
                                        "statuses",      "events"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        assert_says(all.out, kinds[i]);
        json_t *got = command_json(liana__test_command("list", kinds[i], "--json"));
        json_t *items = json_object_get(got, "items"), *item;
        assert_compare(json_array_size(items), >, 0);
        size_t index;
        json_array_foreach(items, index, item) assert_compare(*json_string_value(json_object_get(item, "name")), !=, 0);
        json_decref(got);
    }
    assert_code(all, 0);
    liana__test_result one = liana__test_command("list", "layers", "Conv2D");
    assert_says(one.out, "kernel_size");
    assert_says(one.out, "glorot_uniform");
    assert_says(one.out, "valid, same");
    assert_code(one, 0);
    one = liana__test_command("list", "configuration", "checkpoint");
    assert_says(one.out, "checkpoint.keep");
    assert_never_says(one.out, "train.epochs");
    assert_code(one, 0);
    /* One key with what programs call it; where they do not have it, nothing. */
    static const char *const in_c[][2] = {
        {"checkpoint.every_steps",
         "in C: liana_fit_options.checkpoint_steps, liana_run_config.save_checkpoints_steps\n"},
        {"train.batch_size",
         "in C: liana_fit_options.batch_size, liana_evaluate_options.batch_size, liana_run_config.batch_size\n"},
        {"stages", "in C: liana_fit_options.stages\n"}};
    for (size_t i = 0; i < sizeof in_c / sizeof *in_c; i++) {
        one = liana__test_command("list", "configuration", in_c[i][0]);
        assert_says(one.out, in_c[i][1]);
        assert_code(one, 0);
    }
    one = liana__test_command("list", "configuration", "train.threads");
    assert_never_says(one.out, "in C");
    assert_code(one, 0);
    /* A key with its type, its range and whether a run that goes on may change it. */
    one = liana__test_command("list", "configuration", "train.epochs");
    assert_says(one.out, "type: a whole number, 0 to 1000000\n");
    assert_says(one.out, "may change when a run goes on: yes\n");
    assert_code(one, 0);
    one = liana__test_command("list", "configuration", "train.batch_size");
    assert_says(one.out, "may change when a run goes on: no\n");
    assert_code(one, 0);
    one = liana__test_command("list", "activations", "ReLU");
    assert_says(one.out, "relu: max(x, 0)");
    assert_code(one, 0);
    one = liana__test_command("list", "exit_codes");
    assert_says(one.out, "\n75 ");
    assert_code(one, 0);
    one = liana__test_command("list", "subcommands", "train");
    assert_says(one.out, "Usage: liana train");
    assert_code(one, 0);
    assert_refused(liana__test_command("list", "subcommands", "trian"), 2, "did you mean 'train'");
    assert_refused(liana__test_command("list", "layer"), 2, "layer", "did you mean 'layers'");
    assert_refused(liana__test_command("list", "layers", "Conv4D"), 2, "Conv4D", "did you mean 'Conv");
}

/* The level that a process reports under LIANA_MAX_ISA=`limit` ("": none). */
static void assert_runs_under(const char *config, const char *limit, const char *level)
{
    char variable[64], logged[64];
    snprintf(variable, sizeof variable, "LIANA_MAX_ISA=%s", limit);
    snprintf(logged, sizeof logged, "instruction set %s", level);
    const char *const environment[] = {"LIANA_LOG=dispatch", variable, NULL};
    liana__test_result run = liana__test_process(environment, "summary", config);
    const char *found = strstr(run.err, logged);
    assert_non_null(found);
    assert_true(strchr(":\n", found[strlen(logged)]));
    assert_code(run, 0);
}

/* `make test-levels` takes the levels from here: each is one that a run takes, the last the one of a run without limit.
 */
static void test_listed_instruction_sets_are_those_of_runs(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(40);
    liana__test_result listed = liana__test_command("list", "instruction_sets");
    assert_int_equal(strncmp(listed.out, "baseline\n", 9), 0);
    const char *last = "";
    for (char *level = strtok(listed.out, "\n"); level; level = strtok(NULL, "\n")) {
        assert_runs_under(config, level, level);
        last = level;
    }
    assert_runs_under(config, "", last);
    assert_code(listed, 0);
}

/* The configuration takes the values of liana list. */
static void test_listed_defaults_can_be_written(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(40);
    json_t *got = command_json(liana__test_command("list", "configuration", "--json"));
    json_t *items = json_object_get(got, "items"), *item;
    size_t index;
    int tried = 0;
    json_array_foreach(items, index, item)
    {
        const char *name = json_string_value(json_object_get(item, "name"));
        if (strncmp(name, "model.", 6) == 0 || strncmp(name, "data.t", 6) == 0 || strncmp(name, "data.v", 6) == 0)
            continue;
        char word[256];
        snprintf(word, sizeof word, "%s=%s", name, json_string_value(json_object_get(item, "default")));
        assert_code(liana__test_command("summary", config, word), 0);
        tried++;
    }
    assert_compare(tried, >, 30);
    json_decref(got);
}

/* examples/mnist_fast.yaml, cut short: it is a valid configuration, trains and writes its run. */
static void test_the_fast_example_trains(void **state)
{
    (void)state;
    static const char *const keys[][2] = {
        {"data.train.images", "mnist/train-images-idx3-ubyte.gz"},
        {"data.train.labels", "mnist/train-labels-idx1-ubyte.gz"},
        {"data.validation.images", "mnist/t10k-images-idx3-ubyte.gz"},
        {"data.validation.labels", "mnist/t10k-labels-idx1-ubyte.gz"},
    };
    char data[4][4096], run[256];
    for (int i = 0; i < 4; i++) snprintf(data[i], sizeof data[i], "%s=%s", keys[i][0], liana__test_data(keys[i][1]));
    liana__test_folder();
    snprintf(run, sizeof run, "%s", liana__test_path("fast"));
    liana__test_result trained =
        liana__test_command("train", LIANA_SOURCE_DIR "/examples/mnist_fast.yaml", data[0], data[1], data[2], data[3],
                            "data.take=512", "train.steps_per_epoch=4", "--out", run);
    const char *last = strstr(trained.out, "trained for ");
    double seconds = 0, wait = -1;
    assert_true(last);
    assert_compare(sscanf(last, "trained for %lf s, %lf%% of it waiting", &seconds, &wait), ==, 2);
    assert_compare(seconds, >=, 0);
    assert_compare(wait, >=, 0);
    assert_compare(wait, <=, 100);
    assert_says(last, "waiting for input; the run is in '");
    assert_code(trained, 0);
    json_t *got = command_json(liana__test_command("evaluate", run, "--json"));
    assert_compare(number(got, "accuracy"), >, 0);
    json_decref(got);
}

/* ---- a run folder in place of a configuration ---- */

/* It goes on as its config.yaml says, with changes, and ends as with the configuration. */
static void test_train_takes_a_run(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(100);
    char run[256], other[256], third[256];
    snprintf(run, sizeof run, "%s", liana__test_path("first"));
    snprintf(other, sizeof other, "%s", liana__test_path("second"));
    snprintf(third, sizeof third, "%s", liana__test_path("third"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "--out", run), 0);
    assert_refused(liana__test_command("train", run), 2, "is a run folder", "--resume goes on", "--out DIR");
    assert_code(liana__test_command("train", run, "--resume", "train.epochs=3"), 0);
    assert_code(liana__test_command("train", config, "train.epochs=3", "--out", other), 0);
    char left[600], right[600];
    snprintf(left, sizeof left, "%s/variables.safetensors", liana__test_newest_checkpoint("first"));
    snprintf(right, sizeof right, "%s/variables.safetensors", liana__test_newest_checkpoint("second"));
    assert_same_file(left, right);
    /* From an earlier checkpoint of it; and another run that is configured the same. */
    assert_code(liana__test_command("train", run, "--resume-from", "step-0000000004"), 0);
    snprintf(left, sizeof left, "%s/variables.safetensors", liana__test_newest_checkpoint("first"));
    assert_same_file(left, right);
    assert_code(liana__test_command("train", run, "train.epochs=3", "--out", third), 0);
    snprintf(left, sizeof left, "%s/variables.safetensors", liana__test_newest_checkpoint("third"));
    assert_same_file(left, right);
    /* It was moved: it goes on where it is. */
    char moved[256];
    snprintf(moved, sizeof moved, "%s", liana__test_path("moved"));
    assert_int_equal(rename(run, moved), 0);
    assert_code(liana__test_command("train", moved, "--resume", "train.epochs=4"), 0);
    assert_false(liana__folder_exists(run));
    assert_refused(liana__test_command("train", liana__test_path("moved/checkpoints"), "--resume"), 2,
                   "is not a run folder", "no config.yaml");
}

/* Another device computes other last bits, so it must be allowed; the state fits. */
static void test_resume_on_another_device(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(100);
    char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "train.epochs=1", "train.device=reference", "--out", run), 0);
    assert_refused(liana__test_command("train", run, "--resume", "train.epochs=2", "train.device=cpu"), 2,
                   "'train.device': \"reference\" -> \"cpu\"", "--allow-changed");
    liana__test_result got =
        liana__test_command("train", run, "--resume", "train.epochs=2", "train.device=cpu", "--allow-changed");
    assert_says(got.out, "'train.device': \"reference\" -> \"cpu\"");
    assert_says(got.out, "epoch 2/2");
    assert_code(got, 0);
    /* And back; a change of the training's data or device stays refused. */
    assert_code(liana__test_command("train", run, "--resume", "train.epochs=3", "train.device=reference",
                                    "--allow-changed"),
                0);
    assert_refused(liana__test_command("train", run, "--resume", "train.epochs=4", "train.batch_size=16",
                                       "--allow-changed"),
                   2, "train.batch_size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_evaluate_gives_the_history),
        cmocka_unit_test(test_evaluate_refuses),
        cmocka_unit_test(test_confusion_matrix),
        cmocka_unit_test(test_train_takes_a_run),
        cmocka_unit_test(test_resume_on_another_device),
        cmocka_unit_test(test_predict_agrees_with_the_run),
        cmocka_unit_test(test_predict_names_classes_and_ignores_labels),
        cmocka_unit_test(test_predict_prints_what_a_photo_shows),
        cmocka_unit_test(test_evaluate_takes_data),
        cmocka_unit_test(test_predict_refuses),
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_list),
        cmocka_unit_test(test_listed_instruction_sets_are_those_of_runs),
        cmocka_unit_test(test_listed_defaults_can_be_written),
        cmocka_unit_test(test_the_fast_example_trains),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
