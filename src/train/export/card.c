/* The model card: README.md of an exported folder. */
#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"
#include "base/value_read.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "models/preprocessing.h"
#include "train/checkpoint/checkpoint.h"
#include "train/export/export.h"
#include "train/export/sha256.h"
#include "train/training/history.h"

#include <stdio.h>
#include <string.h>

typedef struct card {
    const liana__export *own;
    const liana_predictor *predictor;
    const liana__export_examples *examples;
    const char *folder;
    liana_predictor_facts facts;
    const liana__value *state;  /* of the checkpoint; NULL: none */
    const liana__value *config; /* of the run; NULL: none */
    liana__text text;
} card;

/* A text of somebody else's within a line: without what Markdown would read. */
static void add_plain(card *own, const char *text)
{
    char plain[512];
    snprintf(plain, sizeof plain, "%s", text);
    liana__escape_controls(plain, sizeof plain);
    for (const char *at = plain; *at; at++) {
        if (strchr("\\`*_<>|[]#", *at)) liana__text_add(&own->text, "\\");
        liana__text_add_bytes(&own->text, at, 1);
    }
}

static void add_code(card *own, const char *text)
{
    char plain[1024];
    snprintf(plain, sizeof plain, "%s", text);
    liana__escape_controls(plain, sizeof plain);
    for (char *at = plain; *at; at++) {
        if (*at == '`') *at = '\'';
    }
    liana__text_add(&own->text, "`%s`", plain);
}

static void add_shape(card *own, const liana_shape *shape)
{
    liana__text_add(&own->text, "[batch");
    for (int i = 1; i < shape->rank; i++) liana__text_add(&own->text, ", %lld", (long long)shape->dims[i]);
    liana__text_add(&own->text, "]");
}

/* ---- parts ---- */

static void add_title(card *own)
{
    const int64_t parameters = liana__model_num_parameters(own->own->model, false);
    const liana_predictor_port output = liana_predictor_output(own->predictor, 0);
    liana__text_add(&own->text, "# ");
    add_plain(own, own->facts.name);
    liana__text_add(&own->text, "\n\nA model with %lld parameters", (long long)parameters);
    if (output.num_class_names) {
        liana__text_add(&own->text, " that tells %zu classes%s apart", output.num_class_names,
                        own->facts.takes_images ? " of images" : "");
    }
    liana__text_add(&own->text, ", exported by liana %s from ", liana_version());
    add_code(own, own->own->from);
    liana__text_add(&own->text, ".\n");
}

static void add_input_notes(card *own)
{
    const liana_preprocessing *known = &own->facts.preprocessing;
    if (!own->facts.takes_images) return;
    liana__text_add(&own->text,
                    "\nPixels are 0 to 255%s. Images of other sizes are resized to %lld x %lld with bilinear "
                    "interpolation%s%s. Then the model's scale follows: `%s`. liana does all of this.\n",
                    own->facts.channels == 3 ? ", in the order red, green, blue" : ", grey",
                    (long long)own->facts.height, (long long)own->facts.width, known->antialias ? ", antialiased" : "",
                    known->round ? ", and rounded" : "", liana__scale_names[known->scale]);
}

static void add_ports(card *own)
{
    liana__text_add(&own->text, "\n## Inputs and outputs\n\n| | name | dtype | shape |\n|---|---|---|---|\n");
    for (size_t i = 0; i < own->facts.num_inputs + own->facts.num_outputs; i++) {
        const bool is_input = i < own->facts.num_inputs;
        const liana_predictor_port port = is_input ? liana_predictor_input(own->predictor, i)
                                                   : liana_predictor_output(own->predictor, i - own->facts.num_inputs);
        liana__text_add(&own->text, "| %s | ", is_input ? "input" : "output");
        add_code(own, port.name);
        liana__text_add(&own->text, " | %s | ",
                        port.dtype == LIANA_STRING ? "string" : liana_dtype_name((liana_dtype)port.dtype));
        add_shape(own, &port.shape);
        liana__text_add(&own->text, " |\n");
    }
    add_input_notes(own);
}

static void add_classes(card *own)
{
    enum { MOST_SHOWN = 100 };
    const liana_predictor_port output = liana_predictor_output(own->predictor, 0);
    if (!output.num_class_names) return;
    liana__text_add(&own->text, "\n## Classes\n\n");
    if (own->facts.num_outputs == 1 && output.num_values == 1) {
        liana__text_add(&own->text, "The output is the probability of the second class.\n\n");
    }
    for (size_t i = 0; i < output.num_class_names && i < MOST_SHOWN; i++) {
        liana__text_add(&own->text, "%s", i ? ", " : "");
        add_plain(own, output.class_names[i]);
    }
    if (output.num_class_names > MOST_SHOWN) {
        liana__text_add(&own->text, ", and %zu more", output.num_class_names - MOST_SHOWN);
    }
    liana__text_add(&own->text, ". `class_names.txt` has them in the order of the outputs.\n");
}

static void add_use(card *own)
{
    liana__text_add(&own->text, "\n## Use\n\nA C program:\n\n```c\nliana_predictor *p;\n"
                                "liana_predictor_open(context, \"FOLDER\", NULL, &p);\n");
    liana__text_add(&own->text, own->facts.takes_images ? "liana_predictor_run_images(p, &pixels, 1, outputs);\n"
                                                        : "liana_predictor_run(p, arrays, num_arrays, outputs);\n");
    liana__text_add(&own->text,
                    "```\n\nA Python program:\n\n```python\nimport liana\n\nmodel = liana.load(\"FOLDER\")\n"
                    "outputs = model.predict(%s)\n```\n",
                    own->facts.takes_images ? "\"photo.jpg\"" : "inputs");
}

/* ---- metrics ---- */

/* The epoch that the checkpoint was saved after; the last one where that is not known. */
static const liana__value *find_epoch(const card *own, const liana__value *epochs)
{
    const int64_t iteration = liana__value_int_of(own->state, "iteration", -1);
    for (size_t i = 0; i < epochs->count; i++) {
        if (liana__value_int_of(epochs->items[i], "global_step", -2) == iteration) return epochs->items[i];
    }
    return epochs->count ? epochs->items[epochs->count - 1] : NULL;
}

static void add_number(card *own, const liana__value *value)
{
    char text[64];
    if (!liana__value_is_number(value)) {
        liana__text_add(&own->text, " |");
        return;
    }
    liana__format(text, sizeof text, "%.4g", liana__shown(value->number));
    liana__text_add(&own->text, " %s |", text);
}

static void add_metric_rows(card *own, const liana__value *epoch)
{
    for (size_t i = 0; i < epoch->count; i++) {
        char validation[160];
        const char *key = epoch->keys[i];
        if (!liana__history_is_measure(key) || liana__starts_with(key, "val_")) continue;
        if (!liana__value_is_number(epoch->items[i])) continue;
        snprintf(validation, sizeof validation, "val_%.150s", key);
        liana__text_add(&own->text, "| ");
        add_plain(own, key);
        liana__text_add(&own->text, " |");
        add_number(own, epoch->items[i]);
        add_number(own, liana__value_get(epoch, validation));
        liana__text_add(&own->text, "\n");
    }
}

static void add_metrics(card *own)
{
    liana__arena *arena = own->own->arena;
    const liana__value *epochs, *epoch = NULL;
    liana__error ignored = {0};
    const char *path = own->own->run ? liana__path_join(arena, own->own->run, "history.json") : NULL;
    if (path && liana__file_exists(path) && liana__history_file_epochs(path, 1, arena, &epochs, &ignored) == LIANA_OK) {
        epoch = find_epoch(own, epochs);
    }
    liana__text_add(&own->text, "\n## Metrics\n\n");
    if (!epoch) {
        liana__text_add(&own->text, "None are recorded.\n");
        return;
    }
    liana__text_add(&own->text,
                    "After epoch %lld of %zu; `training/history.json` has all epochs.\n\n"
                    "| | training | validation |\n|---|---|---|\n",
                    (long long)liana__value_int_of(epoch, "epoch", 0), epochs->count);
    add_metric_rows(own, epoch);
    liana__text_add(&own->text,
                    "\nTraining values were measured while the weights changed. Nothing is known of data that differ "
                    "from these.\n");
}

/* ---- data ---- */

static void add_source(card *own, const char *name, const liana__source_config *where)
{
    liana__strings files;
    if (!liana__config_has_source(where)) return;
    if (liana__config_files(where, own->own->arena, &files, NULL) != LIANA_OK) return;
    liana__text_add(&own->text, "- %s: ", name);
    for (size_t i = 0; i < files.count; i++) {
        const char *shown = liana__path_shown(own->own->arena, files.items[i]);
        liana__text_add(&own->text, "%s", i ? ", " : "");
        add_code(own, shown ? shown : "");
    }
    liana__text_add(&own->text, "\n");
}

/* As the checkpoint records them. */
static void add_files(card *own)
{
    enum { MOST_FILES = 50 };
    const liana__value *data = liana__value_get(own->state, "data"), *files = liana__value_list_of(data, "files");
    const int64_t records = liana__value_int_of(data, "records", 0);
    if (records) liana__text_add(&own->text, "\n%lld training examples.", (long long)records);
    if (!files || !files->count) {
        liana__text_add(&own->text, records ? "\n" : "");
        return;
    }
    liana__text_add(&own->text, " Their files:\n\n| file | bytes | examples | CRC-32C |\n|---|---|---|---|\n");
    for (size_t i = 0; i < files->count && i < MOST_FILES; i++) {
        const liana__value *file = files->items[i];
        const int64_t contents = liana__value_int_of(file, "contents", -1);
        liana__text_add(&own->text, "| ");
        add_code(own, liana__value_text_of(file, "name", ""));
        liana__text_add(&own->text, " | %lld | %lld | ", (long long)liana__value_int_of(file, "bytes", 0),
                        (long long)liana__value_int_of(file, "records", 0));
        if (contents >= 0) liana__text_add(&own->text, "%08llx", (unsigned long long)contents);
        liana__text_add(&own->text, " |\n");
    }
    if (files->count > MOST_FILES) liana__text_add(&own->text, "\nand %zu more.\n", files->count - MOST_FILES);
}

static void add_data(card *own)
{
    const liana__config *config = own->own->config;
    liana__text_add(&own->text, "\n## Data\n\n");
    if (!config) {
        liana__text_add(&own->text, "Not known: the model was not exported from a run.\n");
        return;
    }
    add_source(own, "training", &config->data.train);
    add_source(own, "validation", &config->data.validation);
    add_source(own, "test", &config->data.test);
    if (config->data.validation_split > 0) {
        char share[32];
        liana__format(share, sizeof share, "%g", config->data.validation_split);
        liana__text_add(&own->text, "- validation: %s of the training data\n", share);
    }
    add_files(own);
}

/* ---- configuration ---- */

static const liana__value *find_setting(const card *own, const char *section, const char *key)
{
    return liana__value_get(liana__value_get(own->config, section), key);
}

static void add_setting(card *own, const char *section, const char *key)
{
    const liana__value *value = find_setting(own, section, key);
    LIANA__SCOPED(liana__text) line = {0};
    if (!value || value->kind == LIANA__VALUE_NULL) return;
    liana__value_write_json(value, 0, &line);
    if (line.failed || !line.length) return;
    if (line.data[line.length - 1] == '\n') line.data[line.length - 1] = '\0';
    liana__text_add(&own->text, "| %s.%s | ", section, key);
    add_code(own, line.data);
    liana__text_add(&own->text, " |\n");
}

static void add_configuration(card *own)
{
    static const char *const keys[][2] = {{"model", "base"},       {"model", "weights"},   {"train", "epochs"},
                                          {"train", "batch_size"}, {"train", "optimizer"}, {"train", "loss"},
                                          {"train", "precision"},  {"train", "seed"},      {"train", "strategy"},
                                          {"data", "augment"},     {"data", "image_size"}};
    if (!own->own->run) return;
    liana__text_add(&own->text, "\n## Configuration\n\n`training/config.yaml` has every option. The most important:\n\n"
                                "| option | value |\n|---|---|\n");
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) add_setting(own, keys[i][0], keys[i][1]);
    liana__text_add(&own->text, "\nTo repeat the training:\n\n```sh\nliana train training/config.yaml "
                                "--out runs/again\n```\n");
    const char *isa = liana__value_text_of(own->state, "isa", NULL);
    if (isa) {
        liana__text_add(&own->text,
                        "\nThe weights are bit-identical on the same build of liana with the same data and the "
                        "instruction set `%s`.\n",
                        isa);
    }
}

/* ---- examples and files ---- */

static void add_examples(card *own)
{
    const liana__export_examples *examples = own->examples;
    liana__text_add(&own->text, "\n## Examples\n\n`examples/` has %zu inputs and the outputs that belong to them",
                    examples->count);
    liana__text_add(&own->text, examples->source ? ", from the %s" : "; the inputs are made-up numbers",
                    examples->source ? examples->source : "");
    liana__text_add(&own->text,
                    ". `examples/examples.json` says which file is which.%s\nAfter a move to another machine, this "
                    "computes them again and compares:\n\n```sh\nliana export --verify FOLDER\n```\n",
                    own->facts.takes_images ? " Their pixels are 0 to 255, of the model's size." : "");
}

static liana_status add_hashes(card *own, liana__error *error)
{
    liana__sha256_digits digits;
    const char *weights = liana__path_join(own->own->arena, own->folder, "weights.safetensors");
    if (!weights) return liana__fail_memory(error, "README.md");
    LIANA_TRY(liana__sha256_file(weights, &digits, error));
    liana__text_add(&own->text, "\n## Files\n\nThe SHA-256 of `weights.safetensors` is `%s`.", digits.text);
    if (own->own->checkpoint) {
        liana__text_add(&own->text, " The weights are those of the checkpoint ");
        add_code(own, liana__path_name(own->own->checkpoint));
        liana__text_add(&own->text, ".");
    }
    liana__text_add(&own->text, "\n`sha256sum -c SHA256SUMS` checks all files.\n");
    return LIANA_OK;
}

/* Data and place of the checkpoint, and the configuration; without them the card says less. */
static void read_run(card *own)
{
    liana__arena *arena = own->own->arena;
    liana__error ignored = {0};
    liana__value *state, *config;
    const char *config_path = own->own->run ? liana__path_join(arena, own->own->run, "config.yaml") : NULL;
    if (config_path && liana__yaml_read(config_path, arena, &config, &ignored) == LIANA_OK) own->config = config;
    const char *path =
        own->own->checkpoint ? liana__path_join(arena, own->own->checkpoint, liana__checkpoint_state) : NULL;
    if (path && liana__json_read(path, arena, &state, &ignored) == LIANA_OK) own->state = state;
}

liana_status liana__export_write_card(const liana__export *export, const liana_predictor *predictor,
                                      const liana__export_examples *examples, const char *folder, liana__error *error)
{
    card own = {export, predictor, examples, folder, liana_predictor_info(predictor), NULL, NULL, {0}};
    const char *path = liana__path_join(export->arena, folder, "README.md");
    read_run(&own);
    add_title(&own);
    add_ports(&own);
    add_classes(&own);
    add_use(&own);
    add_metrics(&own);
    add_data(&own);
    add_configuration(&own);
    add_examples(&own);
    liana_status status = add_hashes(&own, error);
    if (status == LIANA_OK && (!path || own.text.failed)) status = liana__fail_memory(error, "README.md");
    if (status == LIANA_OK) status = liana__file_replace(path, own.text.data, own.text.length, error);
    liana__text_free(&own.text);
    return status;
}
