/* Configurations: defaults, checks, overrides and messages. */
#include "harness/harness.h"

#include "base/file.h"
#include "harness/mutate.h"
#include "harness/try/try_values.h"
#include "train/config/config.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The example of the manual, with a file of class names that the tests write. */
static const char flowers[] = "data:\n"
                              "  train: ../data/train/*.tfrec\n"
                              "  validation: ../data/val/*.tfrec\n"
                              "  test: ../data/test/*.tfrec\n"
                              "  class_names: ../data/classes.txt\n"
                              "  image_size: [192, 192]\n"
                              "model:\n"
                              "  base: MobileNetV2\n"
                              "  alpha: 0.35\n"
                              "  weights: ../weights/mobilenet.h5\n"
                              "  dropout: 0.05\n"
                              "  batch_norm_momentum: 0.9\n"
                              "train:\n"
                              "  epochs: 5\n"
                              "  batch_size: 64\n"
                              "  microbatch: 16\n"
                              "  optimizer: {name: Adam, learning_rate: 3.0e-4}\n"
                              "  loss: sparse_categorical_crossentropy\n"
                              "  metrics: [accuracy]\n"
                              "  seed: 1\n"
                              "output: ../runs/flowers\n";

typedef struct fixture {
    liana__arena arena;
    liana__error error;
    liana__config config;
    char folder[256]; /* real, without a slash at its end */
} fixture;

static int set_up(void **state)
{
    static fixture fixed;
    fixed = (fixture){0};
    if (!realpath(liana__test_folder(), fixed.folder)) return 1;
    if (liana__folder_make(liana__test_path("examples"), NULL) != LIANA_OK) return 1;
    if (liana__folder_make(liana__test_path("data"), NULL) != LIANA_OK) return 1;
    liana__test_write("data/classes.txt", "daisy\r\n dandelion \nroses\n\n", 25);
    *state = &fixed;
    return 0;
}

static int tear_down(void **state)
{
    liana__arena_free(&((fixture *)*state)->arena);
    return 0;
}

static liana_status load(fixture *fixed, const char *text, size_t num_overrides, const char *const *overrides)
{
    const char *path = liana__test_write("examples/c.yaml", text, strlen(text));
    return liana__config_load(NULL, LIANA__PLUGINS_IGNORED, path, overrides, num_overrides, &fixed->arena,
                              &fixed->config, &fixed->error);
}

static void assert_path(const fixture *fixed, const char *path, const char *below)
{
    char expected[512];
    snprintf(expected, sizeof expected, "%s/%s", fixed->folder, below);
    assert_string_equal(path, expected);
}

static void test_the_example(void **state)
{
    fixture *fixed = *state;
    assert_ok(load(fixed, flowers, 0, NULL), &fixed->error);
    const liana__data_config *data = &fixed->config.data;
    assert_int_equal(data->train.paths.count, 1);
    assert_path(fixed, data->train.paths.items[0], "data/train/*.tfrec");
    assert_path(fixed, data->test.paths.items[0], "data/test/*.tfrec");
    assert_int_equal(data->class_names.count, 3);
    assert_string_equal(data->class_names.items[0], "daisy");
    assert_string_equal(data->class_names.items[1], "dandelion");
    assert_int_equal(data->num_classes, 3);
    assert_int_equal(data->image_size[1], 192);
    assert_int_equal(data->scale, LIANA_SCALE_AUTO);
    assert_true(data->shuffle);
    const liana__model_config *model = &fixed->config.model;
    assert_string_equal(model->base, "MobileNetV2");
    assert_compare(model->alpha, ==, 0.35);
    assert_path(fixed, model->weights, "weights/mobilenet.h5");
    assert_compare(model->dropout, ==, 0.05);
    assert_compare(model->batch_norm_momentum, ==, 0.9);
    assert_true(model->trainable);
    const liana__job_options *train = &fixed->config.job;
    assert_int_equal(train->epochs, 5);
    assert_int_equal(train->batch_size, 64);
    assert_int_equal(train->microbatch, 16);
    assert_int_equal(train->remainder, LIANA__REMAINDER_KEEP);
    assert_string_equal(liana__value_get(train->optimizer, "name")->string, "Adam");
    assert_compare(liana__value_get(train->optimizer, "learning_rate")->number, ==, 3e-4);
    assert_string_equal(train->metrics->items[0]->string, "accuracy");
    assert_int_equal(train->seed, 1);
    assert_true(fixed->config.job.checkpoint.every_epoch);
    assert_path(fixed, fixed->config.output, "runs/flowers");
    assert_ok(liana__config_require_training_data(&fixed->config, &fixed->error), &fixed->error);
}

static void test_the_least(void **state)
{
    fixture *fixed = *state;
    assert_ok(load(fixed, "model: {layers: [Flatten, {Dense: {units: 10}}]}", 0, NULL), &fixed->error);
    assert_int_equal(fixed->config.model.layers->count, 2);
    assert_true(isnan(fixed->config.model.batch_norm_momentum));
    assert_null(fixed->config.output);
    assert_string_equal(liana__value_get(fixed->config.job.optimizer, "name")->string, "Adam");
    assert_int_equal(fixed->config.job.batch_size, 32);
    assert_fails(liana__config_require_training_data(&fixed->config, &fixed->error), LIANA_INVALID_CONFIG,
                 &fixed->error, "c.yaml:1:1: data.train: missing");
}

static void test_forms_of_sources_and_names(void **state)
{
    fixture *fixed = *state;
    assert_ok(load(fixed,
                   "data:\n"
                   "  train: {images: t.gz, labels: /abs/l.gz}\n"
                   "  validation: [a, b/*.tfrec]\n"
                   "  test: {paths: c}\n"
                   "  class_names: [\"0\", \"1\"]\n"
                   "model: {base: M}\n"
                   "train:\n"
                   "  optimizer: SGD\n",
                   0, NULL),
              &fixed->error);
    const liana__data_config *data = &fixed->config.data;
    assert_path(fixed, data->train.images, "examples/t.gz");
    assert_string_equal(data->train.labels, "/abs/l.gz");
    assert_int_equal(data->train.paths.count, 0);
    assert_int_equal(data->validation.paths.count, 2);
    assert_path(fixed, data->validation.paths.items[1], "examples/b/*.tfrec");
    assert_path(fixed, data->test.paths.items[0], "examples/c");
    assert_int_equal(data->num_classes, 2);
    assert_string_equal(liana__value_get(fixed->config.job.optimizer, "name")->string, "SGD");
}

static void test_overrides(void **state)
{
    fixture *fixed = *state;
    static const char *const overrides[] = {
        "train.epochs=7",
        "train.optimizer.learning_rate={name: CosineDecay, warmup_steps: 10}",
        "model.layers[1].Dense.units=20",
        "model.layers.0={Rescaling: {scale: 2}}",
        "data.train=*.tfrec",
        "data.test=[x, y]",
        "data.class_names=[a, b=c]",
        "data.features.image=image/encoded",
        "train.metrics[0]=top_5",
        "output=",
        "train.device=",
        "checkpoint.every_steps=100",
        "train.epochs=8",
    };
    static const char text[] = "data: {train: old, features: ~}\n"
                               "model:\n"
                               "  layers:\n"
                               "  - Flatten\n"
                               "  - Dense: {units: 10}\n"
                               "train: {optimizer: SGD, metrics: [accuracy], epochs: 1}\n"
                               "output: here\n";
    char before[256];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir(liana__test_path("data")), 0);
    liana_status status = load(fixed, text, sizeof overrides / sizeof *overrides, overrides);
    assert_int_equal(chdir(before), 0);
    assert_ok(status, &fixed->error);
    const liana__config *config = &fixed->config;
    assert_int_equal(config->job.epochs, 8);
    assert_string_equal(liana__value_get(config->job.optimizer, "name")->string, "SGD");
    const liana__value *rate = liana__value_get(config->job.optimizer, "learning_rate");
    assert_int_equal(liana__value_get(rate, "warmup_steps")->integer, 10);
    const liana__value *layers = config->model.layers;
    assert_int_equal(liana__value_get(liana__value_get(layers->items[1], "Dense"), "units")->integer, 20);
    assert_int_equal(liana__value_get(liana__value_get(layers->items[0], "Rescaling"), "scale")->integer, 2);
    assert_path(fixed, config->data.train.paths.items[0], "data/*.tfrec"); /* below the current folder */
    assert_int_equal(config->data.test.paths.count, 2);
    assert_string_equal(config->data.class_names.items[1], "b=c");
    assert_string_equal(config->data.features.image, "image/encoded");
    assert_string_equal(config->job.metrics->items[0]->string, "top_5");
    assert_null(config->output);
    assert_string_equal(config->job.device, "cpu"); /* null: the default */
    assert_int_equal(config->job.checkpoint.every_steps, 100);
}

/* An alias keeps its value when the place that it was used in is changed. */
static void test_overrides_do_not_reach_through_aliases(void **state)
{
    fixture *fixed = *state;
    static const char text[] = "data: {train: &s {images: a, labels: b}, validation: *s}\nmodel: {base: M}\n";
    assert_ok(load(fixed, text, 1, (const char *const[]){"data.validation.images=/v"}), &fixed->error);
    assert_path(fixed, fixed->config.data.train.images, "examples/a");
    assert_string_equal(fixed->config.data.validation.images, "/v");
}

static void assert_message(void **state, const char *text, const char *override, const char *message)
{
    fixture *fixed = *state;
    assert_int_equal(load(fixed, text, override ? 1 : 0, &override), LIANA_INVALID_CONFIG);
    const char *found = fixed->error.message;
    /* Places in the file start with its path, which is another one each time. */
    const char *place = strstr(found, "c.yaml:");
    if (place && liana__starts_with(message, "c.yaml")) found = place;
    assert_string_equal(found, message);
}

#define MODEL "model: {base: M}\n"

static void test_mistakes_are_named_with_their_place(void **state)
{
    static const char *const cases[][2] = {
        {MODEL "train:\n  epochs: 5\n  bach_size: 3\n",
         "c.yaml:4:3: train: unknown key 'bach_size'; did you mean 'batch_size'?"},
        {"modle: {base: M}\n", "c.yaml:1:1: unknown key 'modle'; did you mean 'model'?"},
        {MODEL "data: {batch_size: 3}\n",
         "c.yaml:2:8: data: unknown key 'batch_size'; did you mean 'train.batch_size'?"},
        {MODEL "epochs: 3\n", "c.yaml:2:1: unknown key 'epochs'; did you mean 'train.epochs'?"},
        {MODEL "train: {output: x}\n", "c.yaml:2:9: train: unknown key 'output'; it belongs to the top level"},
        {MODEL "train: {learning_rate: 1}\n",
         "c.yaml:2:9: train: unknown key 'learning_rate'; did you mean 'train.optimizer.learning_rate'?"},
        {MODEL "train: {momentum: 0.9}\n",
         "c.yaml:2:9: train: unknown key 'momentum'; did you mean 'train.optimizer.momentum'?"},
        {MODEL "data: {validation_split: 0.2}\n",
         "c.yaml:2:26: data.validation_split: it needs 'train', of which it takes a part"},
        {MODEL "data: {train: a, validation: b, validation_split: 0.2}\n",
         "c.yaml:2:51: data.validation_split: 'validation' and 'validation_split' exclude each other; keep one of "
         "them"},
        {MODEL "data: {train: a, validation_split: 1}\n",
         "c.yaml:2:36: data.validation_split: found the number 1, expected a share below 1"},
        {MODEL "data: {columns: [a]}\n",
         "c.yaml:2:17: data.columns: found a list of 1, expected a mapping of components to columns"},
        {MODEL "data: {columns: {a: {form: b}}}\n",
         "c.yaml:2:22: data.columns.a: unknown key 'form'; did you mean 'from'?"},
        {MODEL "data: {columns: {a: {length: 3, multi_hot: 2}}}\n",
         "c.yaml:2:21: data.columns.a: 'length' and 'multi_hot' exclude each other; keep one of them"},
        {MODEL "data: {columns: {a: {lengths: n}}}\n", "c.yaml:2:21: data.columns.a: 'lengths' needs 'length'"},
        {MODEL "data: {columns: {a: {length: 3, lengths: b}, b: c}}\n",
         "c.yaml:2:17: data.columns: there are two components 'b'; give the lengths of 'a' another name"},
        {MODEL "data: {columns: {features: [a, b]}, inputs: {x: featurs}}\n",
         "c.yaml:2:49: data.inputs.x: there is no component 'featurs'; did you mean 'features'?"},
        {MODEL "data: {columns: {price: p}, targets: 3}\n",
         "c.yaml:2:38: data.targets: found the number 3, expected a component, or a mapping of names of the model to "
         "components"},
        {MODEL "data: {columns: {weight: w}, example_weight: wieght}\n",
         "c.yaml:2:46: data.example_weight: there is no component 'wieght'; did you mean 'weight'?"},
        {MODEL "train: {epochs: 0}\n",
         "c.yaml:2:17: train.epochs: found the number 0, expected a whole number from 1 to 1000000 (0 only with "
         "train.steps, train.max_minutes or train.stop_at)"},
        {MODEL "train: {epochs: many}\n",
         "c.yaml:2:17: train.epochs: found the text 'many', expected a whole number from 0 to 1000000"},
        {MODEL "train: {batch_size: 8, microbatch: 16}\n",
         "c.yaml:2:36: train.microbatch: found the number 16, expected at most batch_size, which is 8"},
        {MODEL "train: {remainder: drp}\n",
         "c.yaml:2:20: train.remainder: found the text 'drp', expected keep, drop or refuse; did you mean 'drop'?"},
        {MODEL "train: {optimizer: {learning_rate: 1}}\n",
         "c.yaml:2:20: train.optimizer: the key 'name' is missing, expected a name, or a mapping such as {name: Adam, "
         "learning_rate: 1.0e-3}"},
        {MODEL "train: {optimizer: 3}\n",
         "c.yaml:2:20: train.optimizer: found the number 3, expected a name, or a mapping such as {name: Adam, "
         "learning_rate: 1.0e-3}"},
        {MODEL "train: {optimizer: {name: 3}}\n",
         "c.yaml:2:27: train.optimizer: name: found the number 3, expected text"},
        {MODEL "train: {optimizer: {name: Adm}}\n", "c.yaml:2:27: train.optimizer: there is no optimizer 'Adm'; 'liana "
                                                    "list' shows them; did you mean 'Adam'?"},
        {MODEL "train: {optimizer: {name: Adam, beta1: 0.5}}\n",
         "c.yaml:2:33: train.optimizer: unknown key 'beta1'; did you mean 'beta_1'?"},
        {MODEL "train: {loss: null}\n", "c.yaml:2:15: train.loss: found null, expected the name of a loss"},
        {MODEL "data: {train: 3}\n", "c.yaml:2:15: data.train: found the number 3, expected a path, a list of paths, "
                                     "or {images: FILE, labels: FILE}"},
        {MODEL "data: {train: [a, 3]}\n",
         "c.yaml:2:19: data.train.paths[1]: found the number 3, expected text; write it in quotes"},
        {MODEL "data: {test: {labels: a}}\n", "c.yaml:2:14: data.test: 'labels' needs 'images'"},
        {MODEL "data: {test: {paths: a, images: b}}\n",
         "c.yaml:2:14: data.test: 'paths' and 'images' exclude each other; keep one of them"},
        {MODEL "data: {image_size: [0, 3]}\n",
         "c.yaml:2:20: data.image_size: one side is 0, expected both (no resizing) or none"},
        {MODEL "data: {image_size: 99999}\n",
         "c.yaml:2:20: data.image_size: found the number 99999, expected a whole number from 0 to 16384"},
        {MODEL "data: {channels: 2}\n", "c.yaml:2:18: data.channels: found the number 2, expected 1 or 3"},
        {MODEL "data: {repeat: true}\n",
         "c.yaml:2:16: data.repeat: endless data need train.steps_per_epoch, which says when an epoch ends"},
        {MODEL "data: {class_names: [a], num_classes: 2}\n",
         "c.yaml:2:39: data.num_classes: found the number 2, but data.class_names has 1 names"},
        {"train: {epochs: 1}\n", "c.yaml:1:1: model: expected 'base' (an architecture) or 'layers' (a list of layers)"},
        {"", "c.yaml:1:1: model: expected 'base' (an architecture) or 'layers' (a list of layers)"},
        {"model: {base: M, include_top: true, layers: [Flatten]}\n",
         "c.yaml:1:31: model.include_top: the base's own classifier and 'layers' exclude each other; keep one of them"},
        {"model: {base: ResNet50, alph: 0.5}\n", "c.yaml:1:25: model: unknown key 'alph'; did you mean 'alpha'?"},
        {"model: {base: NASNe, minimalistic: true}\n",
         "c.yaml:1:15: model.base: there is no architecture 'NASNe'; 'liana list models' shows them"},
        {"model: {layers: {}}\n",
         "c.yaml:1:17: model.layers: found a mapping of 0 keys, expected a list of layers: {Layer: {option: value}}"},
        {"model: {layers: [Flatten], dropout: 0.5}\n",
         "c.yaml:1:37: model.dropout: this is an option of 'base', but the model is given by 'layers'"},
        {"model: {base: M, trainable: false, trainable_from: x}\n",
         "c.yaml:1:52: model.trainable_from: it names the first layer to train, but 'trainable' is false"},
        {"model: {base: M, dropout: 1.5}\n",
         "c.yaml:1:27: model.dropout: found the number 1.5, expected a number from 0.0 to 0.99"},
        {"- a\n", "c.yaml:1:1: found a list of 1, expected a mapping (key: value)"},
        {"model: [\n", "c.yaml:2:1: not valid YAML: flow sequence without a closing bracket"},
        {MODEL MODEL, "c.yaml:2:1: the key 'model' was given before, in line 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_message(state, cases[i][0], NULL, cases[i][1]);
}

/* A rate that would be taken for another one, or for none. */
static void test_learning_rates_that_are_none(void **state)
{
    static const char tiny[] = ", which does not change weights in float32; expected a learning rate of at least "
                               "1.2e-38, or nothing for the optimizer's default, ";
    static const char range[] = ", expected a number from 0.0 to 1.0e+38";
    static const char kind[] = ", expected a number, or a schedule such as {name: CosineDecay, ...}";
    static const struct {
        const char *text, *found, *why, *default_rate;
    } cases[] = {
        {"Adam, learning_rate: 0", "the number 0", tiny, "0.001"},
        {"SGD, learning_rate: 0", "the number 0", tiny, "0.01"},
        {"Adam, learning_rate: 0.0", "the number 0.0", tiny, "0.001"},
        {"Adam, learning_rate: 1.0e-400", "the number 0.0", tiny, "0.001"},
        {"Adam, learning_rate: 1.0e-60", "the number 1.0e-60", tiny, "0.001"},
        {"Adam, learning_rate: {name: CosineDecay, initial_learning_rate: 0}", "the number 0", tiny, "0.001"},
        {"Adam, learning_rate: -1", "the number -1", range, ""},
        {"Adam, learning_rate: .nan", "the number nan", range, ""},
        {"Adam, learning_rate: .inf", "the number inf", range, ""},
        {"Adam, learning_rate: 1.0e39", "the number 1.0e+39", range, ""},
        {"Adam, learning_rate: nan", "the text 'nan'", kind, ""},
        {"Adam, learning_rate: '0.1'", "the text '0.1'", kind, ""},
        {"Adam, learning_rate: true", "true", kind, ""},
        {"Adam, learning_rate: [0.1]", "a list of 1", kind, ""},
        {"Adam, learning_rate: {name: CosineDecay, decay_steps: 0}", "0",
         ", expected a number above 0; remove the key for a decay to the end of the run", ""},
        {"Adam, learning_rate: {name: CosineDecay, decay_steps: 0, decay_epochs: 0.0}", "0",
         ", expected a number above 0; remove the key for a decay to the end of the run", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture *fixed = *state;
        char yaml[300], expected[400];
        snprintf(yaml, sizeof yaml, MODEL "train: {optimizer: {name: %s}}\n", cases[i].text);
        snprintf(expected, sizeof expected, ": found %s%s%s", cases[i].found, cases[i].why, cases[i].default_rate);
        assert_fails(load(fixed, yaml, 0, NULL), LIANA_INVALID_CONFIG, &fixed->error,
                     "c.yaml:2:", "train.optimizer.learning_rate", expected);
    }
}

static void test_learning_rates_that_are_some(void **state)
{
    static const char *const cases[] = {
        "Adam, learning_rate: 1.2e-38",
        "Adam, learning_rate: 1",
        "Adam, learning_rate: null",
        "SGD, momentum: 0, learning_rate: {name: PolynomialDecay, end_learning_rate: 0, warmup_epochs: 0}",
        "Adam, beta_1: 0, beta_2: 0, epsilon: 0, learning_rate: {name: CosineDecay, decay_steps: 0, decay_epochs: 1}",
        "Adam, learning_rate: {name: CosineDecay, initial_learning_rate: null, decay_steps: null}",
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fixture *fixed = *state;
        char yaml[300];
        snprintf(yaml, sizeof yaml, MODEL "train: {optimizer: {name: %s}}\n", cases[i]);
        assert_ok(load(fixed, yaml, 0, NULL), &fixed->error);
    }
}

static void test_mistakes_on_the_command_line(void **state)
{
    static const char *const cases[][2] = {
        {"train.bach_size=3", "command line: train: unknown key 'bach_size'; did you mean 'batch_size'?"},
        {"trian.epochs=3", "command line: unknown key 'trian'; did you mean 'train'?"},
        {"validation_split=0.2", "command line: unknown key 'validation_split'; did you mean 'data.validation_split'?"},
        {"epochs=3", "command line: unknown key 'epochs'; did you mean 'train.epochs'?"},
        {"train.epochs=x", "command line: train.epochs: found the text 'x', expected a whole number from 0 to 1000000"},
        {"train.epochs", "command line: found 'train.epochs', expected key=value, such as train.epochs=3"},
        {"=3", "command line: found '=3', expected key=value, such as train.epochs=3"},
        {"train.epochs.x=3",
         "command line: train.epochs: found the number 1, expected a mapping or a list, to set 'x' in it"},
        {"train.metrics[1]=x", "command line: train.metrics[1]: '1' is not an index of a list of 1; they count from 0"},
        {"train.metrics.first=x",
         "command line: train.metrics.first: 'first' is not an index of a list of 1; they count from 0"},
        {"train..epochs=3",
         "command line: 'train..epochs' is not a key, expected names with dots, such as model.layers[0].Dense.units"},
        {"train.metrics[0=3",
         "command line: 'train.metrics[0' is not a key, expected names with dots, such as model.layers[0].Dense.units"},
        {".=3", "command line: '.' is not a key, expected names with dots, such as model.layers[0].Dense.units"},
        {"train.metrics=[a",
         "command line: train.metrics: found '[a': not valid YAML: flow sequence without a closing bracket"},
        {"data.class_names=no.txt", "command line: data.class_names: cannot open 'no.txt': No such file or directory"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_message(state, MODEL "train: {epochs: 1, metrics: [a]}\n", cases[i][0], cases[i][1]);
    }
}

static void test_bad_files_of_class_names(void **state)
{
    fixture *fixed = *state;
    static const char text[] = MODEL "data: {class_names: names.txt}\n";
    assert_fails(load(fixed, text, 0, NULL), LIANA_INVALID_CONFIG, &fixed->error,
                 "c.yaml:2:21: data.class_names: cannot", "names.txt");
    liana__test_write("examples/names.txt", "a\n\nb\n", 5);
    assert_fails(load(fixed, text, 0, NULL), LIANA_INVALID_CONFIG, &fixed->error,
                 "c.yaml:2:21: data.class_names: ", "names.txt:2: found an empty line, expected the name of class 1");
    liana__test_write("examples/names.txt", "a\n\xFF\n", 4);
    assert_fails(load(fixed, text, 0, NULL), LIANA_INVALID_CONFIG, &fixed->error, "names.txt:2: found bytes");
    liana__test_write("examples/names.txt", "rose\ntulip\n rose \n", 18);
    assert_ok(load(fixed, text, 0, NULL), &fixed->error); /* two classes of one name, as ImageNet has them */
    liana__test_write("examples/names.txt", "\n", 1);
    assert_fails(load(fixed, text, 0, NULL), LIANA_INVALID_CONFIG, &fixed->error, "names.txt: found no line");
}

/* A vocabulary is a list, or a file with one text in each line, beside the configuration, as in Keras. */
static void test_files_of_vocabularies(void **state)
{
    fixture *fixed = *state;
    static const char layers[] = "model:\n  layers:\n"
                                 "    - InputLayer: {shape: [1], dtype: string}\n"
                                 "    - TextVectorization: {vocabulary: words.txt, output_sequence_length: 4}\n"
                                 "    - TimeDistributed: {layer: {IntegerLookup: {vocabulary: numbers.txt}}}\n"
                                 "data: {columns: {a: {from: x, vocabulary: words.txt}}}\n";
    liana__test_write("examples/words.txt", "red\n deep blue \r\n", 17);
    liana__test_write("examples/numbers.txt", "12\n-3\n", 6);
    assert_ok(load(fixed, layers, 0, NULL), &fixed->error);
    const liana__value *list = fixed->config.model.layers;
    const liana__value *words = liana__value_get(list->items[1]->items[0], "vocabulary");
    assert_int_equal(words->count, 2);
    assert_string_equal(words->items[0]->string, "red");
    assert_string_equal(words->items[1]->string, "deep blue");
    const liana__value *held = liana__value_get(list->items[2]->items[0], "layer");
    const liana__value *numbers = liana__value_get(held->items[0], "vocabulary");
    assert_int_equal(numbers->count, 2);
    assert_int_equal(numbers->items[0]->kind, LIANA__VALUE_INT);
    assert_int_equal(numbers->items[1]->integer, -3);
    assert_int_equal(fixed->config.data.components.items[0].vocabulary.count, 2);
    assert_string_equal(fixed->config.data.components.items[0].vocabulary.items[1], "deep blue");
    liana__test_write("examples/words.txt", "red\n\nblue\n", 10);
    assert_fails(load(fixed, layers, 0, NULL), LIANA_INVALID_CONFIG, &fixed->error,
                 "vocabulary: ", "words.txt:2: found an empty line, expected a text of the vocabulary 1");
    liana__test_write("examples/words.txt", "red\nblue\n", 9);
    liana__test_write("examples/numbers.txt", "", 0);
    assert_fails(load(fixed, layers, 0, NULL), LIANA_INVALID_CONFIG, &fixed->error, "numbers.txt: found no line");
    assert_fails(load(fixed, MODEL "data: {columns: {a: {from: x, vocabulary: none.txt}}}\n", 0, NULL),
                 LIANA_INVALID_CONFIG, &fixed->error, "c.yaml:2:", "vocabulary: cannot open", "none.txt");
}

static void test_a_missing_file(void **state)
{
    fixture *fixed = *state;
    assert_fails(liana__config_load(NULL, LIANA__PLUGINS_IGNORED, "no/such.yaml", NULL, 0, &fixed->arena,
                                    &fixed->config, &fixed->error),
                 LIANA_INVALID_CONFIG, &fixed->error, "no/such.yaml", "No such file");
}

/* Whatever the folder is that the written configuration lies in, and the current one. */
static void test_written_configurations_load_to_the_same(void **state)
{
    fixture *fixed = *state;
    assert_ok(load(fixed, flowers, 1,
                   (const char *const[]){"train.optimizer.learning_rate={name: CosineDecay, alpha: 0.5}"}),
              &fixed->error);
    liana__text first = {0}, second = {0};
    liana__config_write(&fixed->config, &first);
    assert_says(first.data, "\n    name: Adam\n");
    assert_says(first.data, "\n  class_names: [daisy, dandelion, roses]\n");
    assert_ok(liana__folder_remove(liana__test_path("data/classes.txt"), NULL), NULL);
    char before[256];
    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir("/"), 0);
    liana__config again;
    assert_ok(liana__config_parse(NULL, LIANA__PLUGINS_IGNORED, first.data, first.length, "/somewhere/else/config.yaml",
                                  NULL, 0, &fixed->arena, &again, &fixed->error),
              &fixed->error);
    assert_int_equal(chdir(before), 0);
    liana__config_write(&again, &second);
    assert_string_equal(first.data, second.data);
    assert_path(fixed, again.data.train.paths.items[0], "data/train/*.tfrec");
    liana__text_free(&first);
    liana__text_free(&second);
}

static void test_places_of_keys(void **state)
{
    fixture *fixed = *state;
    assert_ok(load(fixed, flowers, 1, (const char *const[]){"train.loss=x"}), &fixed->error);
    liana__place place = liana__config_place(&fixed->config, "model.base");
    assert_int_equal(place.line, 8);
    assert_int_equal(place.column, 9);
    place = liana__config_place(&fixed->config, "model.name"); /* not given: the section */
    assert_int_equal(place.line, 8);
    assert_int_equal(place.column, 3);
    place = liana__config_place(&fixed->config, "train.loss");
    assert_int_equal(place.line, 0);
    assert_string_equal(place.file, "command line");
}

static void test_damaged_configurations_fail_cleanly_or_round_trip(void **state)
{
    (void)state;
    static const char seed[] = "data: {train: [../a/*.tfrec, b], test: {images: x}, class_names: [a, b]}\n"
                               "model:\n  layers:\n  - Conv2D: {filters: 32}\n  - Dense: {units: 10}\n"
                               "train:\n  epochs: 5\n  batch_size: 64\n  microbatch: 16\n"
                               "  optimizer: {name: Adam, learning_rate: 3.0e-4}\n  metrics: [accuracy]\n"
                               "output: ../runs/flowers\n";
    int good = 0;
    for (uint32_t i = 0; i < 5000; i++) {
        size_t size;
        char *damaged = liana__test_mutate(seed, sizeof seed - 1, " \n:-[]{}#&*,.0123456789", 3, i, &size);
        good += liana__try_config((const uint8_t *)damaged, size);
        free(damaged);
    }
    assert_compare(good, >, 250);
    assert_compare(good, <, 4750);
}

/* Any key, with dots and brackets anywhere. */
static void test_damaged_overrides_fail_cleanly(void **state)
{
    (void)state;
    static const char *const seeds[] = {"train.optimizer.learning_rate={name: CosineDecay, alpha: 0.5}",
                                        "model.layers[1].Dense.units=20", "train.metrics.0=x"};
    int good = 0;
    for (uint32_t i = 0; i < 6000; i++) {
        size_t size;
        const char *seed = seeds[i % 3];
        char *damaged = liana__test_mutate(seed, strlen(seed), "..[]=0123{}", 4, i, &size);
        good += liana__try_override((const uint8_t *)damaged, size);
        free(damaged);
    }
    assert_compare(good, >, 300);
    assert_compare(good, <, 5700);
}

/* The reference pages are made from the tables: every key has a sentence. */
static void assert_documented(const liana__fields *fields)
{
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        if (!field->doc || strlen(field->doc) < 8) fail_msg("%s.%s has no doc", fields->name, field->name);
        if (field->kind == LIANA__FIELD_SECTION) assert_documented(field->section);
    }
}

static void test_every_key_is_documented(void **state)
{
    (void)state;
    assert_documented(liana__config_fields());
}

#define FIXED(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXED(test_the_example),
        FIXED(test_the_least),
        FIXED(test_forms_of_sources_and_names),
        FIXED(test_overrides),
        FIXED(test_overrides_do_not_reach_through_aliases),
        FIXED(test_mistakes_are_named_with_their_place),
        FIXED(test_learning_rates_that_are_none),
        FIXED(test_learning_rates_that_are_some),
        FIXED(test_mistakes_on_the_command_line),
        FIXED(test_bad_files_of_class_names),
        FIXED(test_files_of_vocabularies),
        FIXED(test_a_missing_file),
        FIXED(test_written_configurations_load_to_the_same),
        FIXED(test_places_of_keys),
        FIXED(test_damaged_configurations_fail_cleanly_or_round_trip),
        FIXED(test_damaged_overrides_fail_cleanly),
        FIXED(test_every_key_is_documented),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
