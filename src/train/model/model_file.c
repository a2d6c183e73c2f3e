/* Reads a file of a model: the architecture, and what stands beside it. */
#include "train/model/model_file.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/hdf5.h"
#include "formats/json.h"
#include "formats/sniff.h"
#include "formats/tensorflow/foreign_model.h"
#include "onnx/export_model.h"
#include "onnx/import.h"
#include "train/model/keras_assets.h"
#include "train/model/keras_compile.h"
#include "train/model/model_objective.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana__hdf5_close, liana__hdf5)

/* A text of the file, as a tree. `part` is its name in messages. */
static liana_status parse(const char *text, const char *part, liana__arena *arena, const liana__model_file *file,
                          liana__value **value, liana__error *error)
{
    const char *name = liana__arena_format(arena, "%s: %s", file->path, part);
    if (!name) return liana__fail_memory(error, file->path);
    return liana__json_parse(text, strlen(text), name, arena, value, error);
}

/* An architecture is an object, whatever else is wrong with it. */
static liana_status check_architecture(const liana__model_file *file, const char *part, liana__error *error)
{
    char found[128];
    if (file->architecture->kind == LIANA__VALUE_MAP) return LIANA_OK;
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "'%s'%s%s: found %s, expected the architecture of a model, {\"class_name\": ..., \"config\": ...}", file->path,
        *part ? ": " : "", part, liana__value_describe(file->architecture, found, sizeof found));
}

static liana_status read_whole(liana__model_file *file, liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED_BY(liana__hdf5_close_scoped) liana__hdf5 *hdf5 = NULL;
    LIANA_TRY(liana__hdf5_open_description(file->path, &hdf5, error));
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(hdf5);
    const char *part = contents->is_archive ? "config.json" : "model_config";
    if (!contents->model_config) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           contents->is_archive ? "'%s' is a zip archive without config.json: not a .keras file"
                                                : "'%s' holds weights without an architecture; 'liana inspect' lists "
                                                  "them, and model.weights in a configuration loads them",
                           file->path);
    }
    LIANA_TRY(parse(contents->model_config, part, arena, file, &file->architecture, error));
    LIANA_TRY(check_architecture(file, part, error));
    if (contents->is_archive) LIANA_TRY(liana__keras_read_assets(file->path, file->architecture, arena, error));
    if (contents->keras_version && !liana__value_get(file->architecture, "keras_version")) {
        liana__value *version = liana__value_string(arena, contents->keras_version);
        liana__value_set(arena, file->architecture, "keras_version", version);
    }
    if (contents->training_config) {
        liana__value *settings;
        LIANA_TRY(parse(contents->training_config, "training_config", arena, file, &settings, error));
        file->settings = settings;
    }
    file->own = contents->own ? liana__arena_string(arena, contents->own) : NULL;
    file->has_weights = true;
    return arena->failed ? liana__fail_memory(error, file->path) : LIANA_OK;
}

liana_status liana__model_file_open(const char *path, liana__arena *arena, liana__model_file *file, liana__error *error)
{
    uint8_t head[LIANA__SNIFF_BYTES];
    size_t size = 0;
    *file = (liana__model_file){.path = path};
    LIANA_TRY(liana__refuse_foreign_model(path, error));
    if (liana__onnx_is_named(path) && !liana__folder_exists(path)) {
        file->is_onnx = file->has_weights = true;
        return LIANA_OK;
    }
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    if (size == 0) {
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "'%s' is empty, expected an architecture (.json), a whole model of Keras (.keras, .h5), or ONNX (.onnx)",
            path);
    }
    const char *kind = liana__sniff(head, size);
    const bool is_whole = kind && (strcmp(kind, "an HDF5 file") == 0 || strcmp(kind, "a zip archive") == 0);
    if (kind && !is_whole && strcmp(kind, "a JSON file") != 0 && strcmp(kind, "text") != 0) {
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "'%s' is %s, expected an architecture (.json), a whole model of Keras (.keras, .h5), or ONNX (.onnx)", path,
            kind);
    }
    LIANA_TRY(is_whole ? read_whole(file, arena, error) : liana__json_read(path, arena, &file->architecture, error));
    LIANA_TRY(check_architecture(file, "", error));
    if (!file->settings) file->settings = liana__value_get(file->architecture, "compile_config");
    if (!file->settings) file->settings = liana__value_get(file->architecture, "training_config");
    return LIANA_OK;
}

/* ---- the model ---- */

/* Some of the compile settings as losses and metrics. */
static liana_status take_some(const liana__model_file *file, const char *const *keys, liana_model *model,
                              liana__arena *arena, liana__error *error)
{
    bool keras3;
    const liana__value *architecture = file->architecture, *train = NULL;
    liana__value *some = liana__value_map(arena);
    LIANA_TRY(liana__keras_find_generation(architecture, architecture, &keras3, error));
    for (; some && *keys; keys++) {
        const liana__value *item = liana__value_get(file->settings, *keys);
        if (item) liana__value_append(arena, some, *keys, &item->place, liana__value_copy(arena, item));
    }
    if (arena->failed) return liana__fail_memory(error, "the compile settings");
    LIANA_TRY(liana__keras_compile_read(model, some, "compile", keras3, arena, &train, error));
    if (liana__value_get(train, "optimizer")) {
        return liana__model_keep_optimizer(model, liana__value_get(train, "optimizer"), error);
    }
    return liana__model_objective_read(model, train, arena, error);
}

/* Takes the settings of these keys, or none of them. *found says why. */
static bool takes(const liana__model_file *file, const char *const *keys, liana_model *model, liana__error *found)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    *found = (liana__error){0};
    return take_some(file, keys, model, &arena, found) == LIANA_OK;
}

static void tell_left(const liana__model_file *file, const char *what, const liana__error *found,
                      const liana__notes *notes)
{
    liana__note(notes, "liana leaves out %s that '%s' was compiled with: %s", what, file->path, found->message);
}

/* Of settings that liana does not have, the others are kept. */
static liana_status take_settings(const liana__model_file *file, liana_model *model, const liana__notes *notes,
                                  liana__error *error)
{
    static const char *const optimizer[] = {"optimizer", "optimizer_config", NULL};
    static const char *const objective[] = {"loss", "loss_weights", "metrics", NULL};
    static const char *const losses[] = {"loss", "loss_weights", NULL};
    liana__error found, of_metrics;
    model->is_compiled = true;
    if (!takes(file, optimizer, model, &found)) {
        if (found.status == LIANA_OUT_OF_MEMORY) return liana__fail_as(error, &found);
        tell_left(file, "the optimizer", &found, notes);
    }
    if (takes(file, objective, model, &of_metrics)) return LIANA_OK;
    const bool has_losses = takes(file, losses, model, &found);
    if (of_metrics.status == LIANA_OUT_OF_MEMORY) return liana__fail_as(error, &of_metrics);
    tell_left(file, has_losses ? "the metrics" : "the losses and metrics", has_losses ? &of_metrics : &found, notes);
    return LIANA_OK;
}

liana_status liana__model_file_fill(const liana__model_file *file, liana_model *model, const liana__notes *notes,
                                    liana__error *error)
{
    if (file->is_onnx) {
        liana__onnx_facts facts = {NULL, NULL};
        const liana__onnx_import_options options = {.without_values = true, .facts = &facts, .notes = *notes};
        LIANA_TRY(liana__model_from_onnx(model, file->path, &options, error));
        LIANA_TRY(liana__model_check(model, error));
        return liana__preprocessing_from_onnx(model, facts.class_names, facts.pixels, file->path, error);
    }
    liana_status status = liana__model_from_keras(model, file->architecture);
    if (status != LIANA_OK && error) *error = model->error;
    LIANA_TRY(status);
    LIANA_TRY(liana__model_check(model, error));
    if (file->settings) LIANA_TRY(take_settings(file, model, notes, error));
    return file->own ? liana__model_facts_read(model, file->own, file->path, error) : LIANA_OK;
}
