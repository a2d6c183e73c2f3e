/* liana predict --layer and ImageNet's names against Keras, on the same files (tests/cli/keras_features.py). */
#include "harness/command_run.h"
#include "harness/peers.h"

#include "base/file.h"
#include "base/text.h"

#include <liana/liana.h>

#include <stdio.h>
#include <string.h>

static char folder[300];

static const char *in_folder(const char *name)
{
    return liana__test_path(name);
}

/* The file that decode_predictions would fetch, from liana's list; Keras compares its hash. */
static void write_index(void)
{
    liana__text text = {0};
    liana__error error;
    assert_ok(liana__folder_make(in_folder("models"), &error), &error);
    for (size_t i = 0; i < LIANA_IMAGENET_CLASSES; i++) {
        const liana_imagenet_class own = liana_imagenet_class_at(i);
        liana__text_add(&text, "%s\"%zu\": [\"%s\", \"%s\"]", i ? ", " : "{", i, own.wordnet_id, own.name);
    }
    liana__text_add(&text, "}");
    liana__test_write("models/imagenet_class_index.json", text.data, text.length);
    liana__text_free(&text);
}

static void predict_layer(const char *model, const char *layer, const char *out)
{
    char path[300], images[300], to[300];
    snprintf(path, sizeof path, "%s", in_folder(model));
    snprintf(images, sizeof images, "%s", in_folder("images"));
    snprintf(to, sizeof to, "%s", in_folder(out));
    assert_code(liana__test_command("predict", "--model", path, images, "--layer", layer, "--out", to), 0);
}

static void predict_names(void)
{
    char path[300], images[300];
    snprintf(path, sizeof path, "%s", in_folder("mobilenet.keras"));
    snprintf(images, sizeof images, "%s", in_folder("images"));
    liana__test_result got = liana__test_command("predict", "--model", path, images, "--json", "data.scale=-1..1");
    liana__test_write("names.jsonl", got.out, strlen(got.out));
    assert_code(got, 0);
}

static void test_layers_and_names_are_those_of_keras(void **state)
{
    (void)state;
    static const char script[] = "tests/cli/keras_features.py";
    if (!liana__test_peer("tensorflow")) skip();
    snprintf(folder, sizeof folder, "%s", liana__test_folder());
    write_index();
    liana__test_run_keras(script, (const char *const[]){"write", folder, NULL});
    predict_layer("model.keras", "pool", "pool.npy");
    predict_layer("model.keras", "mobilenetv2_0.35_64", "base.npy");
    predict_layer("model.keras", "block_6_expand_relu", "block.npy");
    predict_layer("model.keras", "block_6_expand_relu", "block.csv");
    predict_layer("model.keras", "head", "head.npy");
    predict_layer("lstm.keras", "lstm", "lstm.npy");
    predict_names();
    liana__test_run_keras(script, (const char *const[]){"check", folder, NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_and_names_are_those_of_keras),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
