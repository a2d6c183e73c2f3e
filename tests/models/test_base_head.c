/* model.base as a user writes it: the architecture's own options, and a head of the user's own layers. */
#include "harness/command_run.h"

#include "base/file.h"
#include "base/memory.h"
#include "layers/model.h"

#include <liana/train.h>

#include <stdlib.h>
#include <string.h>

static liana__arena arena;

static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_data("train", 16, 1);
    liana__test_tiny_data("validation", 8, 2);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    liana__arena_free(&arena);
    return 0;
}

static const char *path_of(const char *name)
{
    return liana__arena_string(&arena, liana__test_path(name));
}

/* Images of 12 x 12 are made larger. The size of batches keeps the statistics of a shard sound. */
static const char *write_config(const char *name, const char *model, const char *train)
{
    const char *text = liana__arena_format(&arena,
                                           "data:\n"
                                           "  train: {images: train-images, labels: train-labels}\n"
                                           "  validation: {images: validation-images, labels: validation-labels}\n"
                                           "  image_size: [32, 32]\n"
                                           "  channels: 3\n"
                                           "  num_classes: 4\n"
                                           "model: %s\n"
                                           "train: {batch_size: 8, optimizer: {name: SGD, learning_rate: 0.05}%s}\n",
                                           model, train);
    return liana__arena_string(&arena, liana__test_write(name, text, strlen(text)));
}

static const char *read_text(const char *name)
{
    char *text = NULL;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(name), 1 << 20, &text, &size, &error), &error);
    const char *copy = liana__arena_string(&arena, text);
    free(text);
    return copy;
}

static void assert_summary(const char *model, const char *text)
{
    const char *config = write_config("config.yaml", model, "");
    liana__test_result summary = liana__test_command("summary", config);
    if (!strstr(summary.out, text)) fail_msg("%s: expected '%s' in\n%s%s", model, text, summary.out, summary.err);
    assert_code(summary, 0);
}

/* ---- options ---- */

#define HEAD4 "layers: [GlobalAveragePooling2D, {Dense: {units: 4, activation: softmax}}]"

/* Each option changes the model as the builder's struct does: the totals are Keras's and those of
 * the head. */
static void test_options_go_through(void **state)
{
    (void)state;
    assert_summary("{base: MobileNetV3Small, " HEAD4 "}", "Total params: 941,428\n");
    assert_summary("{base: MobileNetV3Small, alpha: 0.75, " HEAD4 "}", "Total params: 584,892\n");
    assert_summary("{base: MobileNetV3Small, minimalistic: true, " HEAD4 "}", "Total params: 443,308\n");
    assert_summary("{base: MobileNetV3Large, minimalistic: true, alpha: 0.75, " HEAD4 "}", "Total params: 868,404\n");
    assert_summary("{base: MobileNetV3Small, " HEAD4 "}", "rescaling (Rescaling)");
    assert_summary("{base: MobileNet, alpha: 0.25, depth_multiplier: 2, " HEAD4 "}", "Total params: 431,916\n");
    assert_summary("{base: EfficientNetB0, drop_connect_rate: 0.5, " HEAD4 "}", "block2b_drop (Dropout)");
    assert_summary("{base: MobileNetV3Small, dropout_rate: 0.5, include_top: true}", "dropout (Dropout)");
    assert_summary("{base: MobileNetV2, alpha: 0.35, pooling: max, layers: [{Dense: {units: 4, activation: softmax}}]}",
                   "global_max_pooling2d (GlobalMaxPooling2D)");
    const char *config = write_config("config.yaml", "{base: EfficientNetB0, drop_connect_rate: 0, " HEAD4 "}", "");
    liana__test_result summary = liana__test_command("summary", config);
    assert_never_says(summary.out, "block2b_drop");
    assert_code(summary, 0);
    config = write_config("config.yaml", "{base: MobileNetV3Small, dropout_rate: 0, include_top: true}", "");
    summary = liana__test_command("summary", config, "model.include_preprocessing=false");
    assert_never_says(summary.out, "Dropout");
    assert_never_says(summary.out, "Rescaling");
    assert_code(summary, 0);
}

static void assert_model_refused(const char *model, const char *first, const char *second, const char *third)
{
    const char *config = write_config("config.yaml", model, "");
    assert_refused(liana__test_command("summary", config), 2, first, second, third);
}

static void test_options_that_are_refused(void **state)
{
    (void)state;
    assert_model_refused("{base: MobileNetV3Small, minimalstic: true}", "config.yaml:7:33", "unknown key 'minimalstic'",
                         "did you mean 'minimalistic'?");
    assert_model_refused("{base: MobileNetV3Small, poling: max}", "config.yaml:7:33", "unknown key 'poling'",
                         "did you mean 'pooling'?");
    assert_model_refused("{base: ResNet50, drop_connect_rate: 0.1}", "config.yaml:7:25",
                         "unknown key 'drop_connect_rate'", "ResNet50 has the options classifier_activation");
    assert_model_refused("{base: MobileNetV3Smal, minimalistic: true}", "config.yaml:7:15", "MobileNetV3Smal",
                         "did you mean 'MobileNetV3Small'?");
    assert_model_refused("{base: MobileNetV3Small, minimalistic: 3}", "config.yaml:7:47", "model.minimalistic",
                         "expected true or false");
    assert_model_refused("{base: EfficientNetB0, drop_connect_rate: 1.5}", "config.yaml:7:50",
                         "model.drop_connect_rate", "found the number 1.5");
    assert_model_refused("{base: MobileNetV3Small, classes: 7}", "config.yaml:7:33", "'classes'", "data.num_classes");
    assert_model_refused("{base: MobileNetV3Small, input_shape: [32, 32, 3]}", "config.yaml:7:33", "'input_shape'",
                         "data.image_size");
    assert_model_refused("{base: InceptionV3}", "model.input_shape", "found images of 32 x 32",
                         "expected at least 75 x 75");
    assert_model_refused("{base: ResNet50, include_top: true, layers: [Flatten]}", "model.include_top", "'layers'",
                         "exclude each other");
    assert_model_refused("{base: ResNet50, dropout: 0.2, layers: [Flatten]}", "model.dropout", "'layers'",
                         "Dropout: {rate: 0.2}");
    assert_model_refused("{base: ResNet50, include_top: true, dropout: 0.2}", "model.dropout",
                         "ResNet50 has no 'dropout'", "remove this key");
    assert_model_refused("{base: EfficientNetB0, include_top: true, dropout: 0.2}", "config.yaml:7:59",
                         "EfficientNetB0 has no 'dropout'", "'dropout_rate'");
    assert_model_refused("{base: ResNet50, pooling: none}", "model.pooling", "found none", "avg or max");
    assert_model_refused("{base: ResNet50, layers: [GlobalAveragePooling2D, {Dense: {units: 3, activation: softmax}}]}",
                         "3 classes", "the data have 4", "make them equal");
    assert_model_refused("{base: ResNet50, layers: [GlobalAveragePooling2D, {Dens: {units: 4}}]}", "config.yaml:7",
                         "'Dens'", "did you mean 'Dense'?");
}

/* What a MobileNetV3 does not have by name is refused before anything is fetched. */
static void test_weights_that_nobody_published(void **state)
{
    (void)state;
    const char *config = write_config("config.yaml", "{base: MobileNetV3Small, alpha: 0.5, weights: imagenet}", "");
    assert_refused(liana__test_command("train", config, "output=run"), 2, "MobileNetV3Small with alpha 0.5",
                   "some for alpha 1, 0.75", "the nearest is 0.75");
    config =
        write_config("config.yaml", "{base: MobileNetV3Large, alpha: 0.75, minimalistic: true, weights: imagenet}", "");
    assert_refused(liana__test_command("train", config, "output=run"), 2,
                   "MobileNetV3Large with alpha 0.75 and minimalistic: true", "some for alpha 1", "the nearest is 1");
    config = write_config("config.yaml", "{base: MobileNet, depth_multiplier: 2, weights: imagenet}", "");
    assert_refused(liana__test_command("train", config, "output=run"), 2, "depth_multiplier 1, not 2");
}

/* ---- a head of layers ---- */

static const char HEAD[] = "{base: MobileNetV3Small, alpha: 0.35, minimalistic: true, layers: [GlobalAveragePooling2D, "
                           "{Dropout: {rate: 0.2}}, {Dense: {units: 4, activation: softmax, name: classes}}]}";

static void assert_same_values(const liana_model *a, const liana_model *b, size_t first, size_t end, bool same)
{
    size_t differ = 0;
    for (size_t i = first; i < end; i++) {
        const size_t size = (size_t)liana_shape_size(&a->weights[i].shape) * sizeof(float);
        assert_string_equal(a->weights[i].name, b->weights[i].name);
        differ += memcmp(a->values[i], b->values[i], size) != 0;
    }
    if (same && differ) fail_msg("%zu of %zu weights differ", differ, end - first);
    if (!same) assert_compare(differ, >, (end - first) / 2);
}

static liana_model *load(liana_context *context, const char *path)
{
    liana_model *model;
    if (liana_model_load(context, path, &model) != LIANA_OK) fail_msg("%s", liana_context_message(context));
    return model;
}

/* The first stage trains the head alone, the second one all. */
static void test_stages_of_fine_tuning(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    const char *begin = write_config("begin.yaml", HEAD, ", epochs: 1");
    const char *run = path_of("begin"), *file = path_of("begin.h5");
    assert_code(liana__test_command("train", begin, "--out", run), 0);
    assert_code(liana__test_command("convert-model", run, file), 0);
    const char *weights = liana__arena_format(&arena, "model.weights=%s", file);
    const char *head = path_of("head"), *all = path_of("all");
    assert_code(liana__test_command("train", begin, "--out", head, weights, "model.trainable=false",
                                    "train.optimizer.learning_rate=0.5"),
                0);
    assert_code(liana__test_command("train", begin, "--out", all, weights, "model.trainable=false", "train.epochs=2",
                                    "stages=[{epochs: 1}, {epochs: 1, train_all: true}]"),
                0);
    liana_model *before = load(context, run), *frozen = load(context, head), *tuned = load(context, all);
    const size_t num_base = before->num_weights - 2;
    assert_int_equal(liana__model_find_weight(before, "classes/kernel"), num_base);
    size_t trained = 0;
    for (size_t i = 0; i < num_base; i++) {
        const liana__weight *weight = &before->weights[i];
        const size_t size = (size_t)liana_shape_size(&weight->shape) * sizeof(float);
        if (memcmp(before->values[i], frozen->values[i], size) != 0) fail_msg("%s was trained", weight->name);
        trained += memcmp(before->values[i], tuned->values[i], size) != 0;
    }
    assert_compare(trained, >, num_base / 2);
    assert_same_values(before, frozen, num_base, before->num_weights, false);
    liana_model_destroy(before);
    liana_model_destroy(frozen);
    liana_model_destroy(tuned);
    liana_context_destroy(context);
}

/* Interrupted after one epoch and gone on with: the same weights as in one go. */
static void test_resume(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    const char *config = write_config("config.yaml", HEAD, ", epochs: 2");
    const char *whole = path_of("whole"), *parts = path_of("parts");
    assert_code(liana__test_command("train", config, "--out", whole), 0);
    assert_code(liana__test_command("train", config, "--out", parts, "train.epochs=1"), 0);
    assert_refused(liana__test_command("train", config, "--out", parts, "--resume", "model.minimalistic=false"), 2,
                   "minimalistic", "differs from the beginning of this run");
    assert_code(liana__test_command("train", config, "--out", parts, "--resume"), 0);
    assert_says(read_text("parts/config.yaml"), "  minimalistic: true\n");
    liana_model *one = load(context, whole), *other = load(context, parts);
    assert_same_values(one, other, 0, one->num_weights, true);
    liana_model_destroy(one);
    liana_model_destroy(other);
    liana_context_destroy(context);
}

/* By the configuration that the run keeps. */
static void assert_evaluates(const char *run)
{
    liana__test_result result = liana__test_command("evaluate", run, "--json");
    assert_says(result.out, "\"loss\":");
    assert_code(result, 0);
}

/* The run's configuration has the scale that the base's own layers ask for; files of Keras hold the whole model. */
static void test_saved_as_keras(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    const char *config = write_config("config.yaml", HEAD, ", epochs: 1");
    const char *run = path_of("run"), *file = path_of("model.keras"), *bare = path_of("bare");
    assert_code(liana__test_command("train", config, "--out", run), 0);
    assert_says(read_text("run/config.yaml"), "scale: none\n");
    assert_code(liana__test_command("convert-model", run, file), 0);
    liana_model *trained = load(context, run), *saved = load(context, file);
    assert_same_values(trained, saved, 0, trained->num_weights, true);
    assert_string_equal(liana__model_name(saved), "MobileNetV3Small");
    liana_model_destroy(trained);
    liana_model_destroy(saved);
    assert_evaluates(run);
    assert_code(liana__test_command("train", config, "--out", bare, "model.include_preprocessing=false"), 0);
    assert_says(read_text("bare/config.yaml"), "-1..1");
    liana_context_destroy(context);
}

/* A head may read layers within the base, and have several outputs. */
static void test_a_head_that_reads_inner_layers(void **state)
{
    (void)state;
    assert_summary("{base: MobileNetV2, alpha: 0.35, layers: [{GlobalAveragePooling2D: {inputs: block_12_project_BN, "
                   "name: early}}, {GlobalAveragePooling2D: {inputs: out_relu, name: late}}, {Concatenate: {inputs: "
                   "[early, late], name: both}}, {Dense: {units: 4, activation: softmax, name: classes}}], outputs: "
                   "classes}",
                   "both (Concatenate)");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_options_go_through, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_options_that_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_weights_that_nobody_published, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_stages_of_fine_tuning, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_resume, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_saved_as_keras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_head_that_reads_inner_layers, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("base_head", tests, NULL, NULL);
}
