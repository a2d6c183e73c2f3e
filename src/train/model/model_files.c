/* Models in folders and files, and weights from files. */
#include "base/scoped.h"
#include "formats/json.h"
#include "formats/tensorflow/foreign_model.h"
#include "ir/shape.h"
#include "models/models.h"
#include "onnx/export_model.h"
#include "train/checkpoint/named_weights.h"
#include "train/checkpoint/remote_checkpoints.h"
#include "train/checkpoint/temporary.h"
#include "train/checkpoint/weights.h"
#include "train/model/compiled.h"
#include "train/model/model_file.h"
#include "train/model/model_objective.h"

#include <liana/train.h>
#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana__outlet_close, liana__outlet)

static const char *const ARCHITECTURE = "model.json";
static const char *const WEIGHTS = "weights.safetensors";

static liana_status save_folder(liana_model *model, const char *folder, liana__arena *arena, liana__error *error)
{
    const char *architecture = liana__path_join(arena, folder, ARCHITECTURE);
    const char *weights = liana__path_join(arena, folder, WEIGHTS);
    if (!architecture || !weights) return liana__fail_memory(error, folder);
    LIANA_TRY(liana__folder_make(folder, error));
    LIANA_TRY(liana__model_weights_write(model, weights, arena, error));
    return liana__json_write(architecture, liana__model_to_keras(model, LIANA__KERAS3, arena), error);
}

/* model.json comes last: a folder without it is not read. */
static liana_status send_model(liana_model *model, const char *url, liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED_BY(liana__outlet_close_scoped) liana__outlet *outlet = NULL;
    LIANA_TRY(
        liana__outlet_open(&(liana__outlet_options){.url = url, .last = ARCHITECTURE, .fresh = true}, &outlet, error));
    LIANA_TRY(save_folder(model, liana__outlet_folder(outlet), arena, error));
    return liana__outlet_flush(outlet, error);
}

liana_status liana__model_write_any(liana_model *model, const char *path, liana__keras_form in,
                                    const liana__notes *notes, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const bool is_onnx = liana__onnx_is_named(path), is_remote = liana__path_is_remote(path);
    const bool is_file = liana__model_file_is_named(path) || is_onnx;
    if (is_file && is_remote) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s': only folders are sent to a bucket; write the file to this machine, and copy it",
                           path);
    }
    if ((!is_file || is_onnx) && in != LIANA__KERAS3) return liana__model_fail_older(path, error);
    if (!is_file) LIANA_TRY(liana__folder_name_check(path, "a folder with model.json and weights.safetensors", error));
    if (is_onnx) return liana__onnx_save(model, path, &(liana_onnx_options){0}, LIANA__ONNX_MOST_INSIDE, error);
    LIANA_TRY(liana__model_check(model, error));
    LIANA_TRY(liana__model_check_used(model, error)); /* else nobody could load it */
    LIANA_TRY(liana__model_values_complete(model, error));
    if (is_file) return liana__model_file_write(model, path, in, notes, error);
    return (is_remote ? send_model : save_folder)(model, path, &arena, error);
}

/* A program that asks for the log of training reads notes there. */
static void tell_log(void *user, const char *note)
{
    liana__log(user, LIANA__LOG_TRAIN, "%s", note);
}

static liana__notes notes_of(liana_context *context)
{
    return (liana__notes){tell_log, context};
}

liana_status liana_model_save(liana_model *model, const char *path)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, path);
    const liana__notes notes = notes_of(model->context);
    LIANA__CONTEXT_CALL(model->context,
                        liana__model_write_any(model, path, LIANA__KERAS3, &notes, &model->context->error));
}

typedef struct weights_file {
    const char *path;
    size_t num_required;
} weights_file;

static liana_status load_file(liana_model *model, const void *options, float *const *values, liana__arena *arena,
                              liana__error *error)
{
    const weights_file *own = options;
    return liana__weights_load(model, own->path, own->num_required, values, arena, NULL, error);
}

/* A small file may describe a model that no memory holds: then its weights are compared before any is made. */
static liana_status compare_first(const liana_model *model, const char *path, size_t num_required, liana__arena *arena,
                                  liana__error *error)
{
    liana__file_version version;
    uint64_t size = 0;
    for (size_t i = 0; i < model->num_weights; i++) size += liana__byte_size(LIANA_F32, &model->weights[i].shape);
    if (liana__file_version_find(path, &version) && size <= (uint64_t)version.size) return LIANA_OK;
    return liana__weights_load(model, path, num_required, NULL, arena, NULL, error);
}

static liana_status load_weights(liana_model *model, const char *path, size_t num_required, liana__arena *arena,
                                 liana__error *error)
{
    const weights_file file = {path, num_required};
    LIANA_TRY(compare_first(model, path, num_required, arena, error));
    return liana__model_values_change(model, load_file, &file, arena, error);
}

static liana_status load_own_weights(liana_model *model, const char *path, bool partial)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    size_t num_required = model->num_layers;
    liana__error *error = &model->context->error;
    if (liana__weights_are_named(path, path)) {
        const liana__notes notes = notes_of(model->context);
        liana__weights_wanted wanted;
        LIANA_TRY(liana__named_weights_of(model, path, &wanted, &num_required, error));
        LIANA_TRY(liana__named_weights_fetch(&wanted, NULL, model->context, &notes, &arena, &path, error));
        LIANA_TRY(load_weights(model, path, partial ? 0 : num_required, &arena, error));
        liana_scale *scale = &model->preprocessing.scale;
        if (*scale == LIANA_SCALE_AUTO) *scale = liana__architecture_find(wanted.architecture, NULL)->scale;
        return LIANA_OK;
    }
    return load_weights(model, path, partial ? 0 : num_required, &arena, error);
}

liana_status liana_model_load_weights(liana_model *model, const char *path, bool partial)
{
    LIANA__REQUIRE(NULL, model);
    LIANA__REQUIRE(&model->context->error, path);
    LIANA__CONTEXT_CALL(model->context, load_own_weights(model, path, partial));
}

/* The weights of liana_model_save, or of a run, and the precision that they were trained in, where it is recorded. */
static liana_status find_weights(const char *folder, const char *checkpoint, liana__arena *arena, const char **path,
                                 liana_precision *precision, bool *is_run, liana__error *error)
{
    *path = liana__path_join(arena, folder, WEIGHTS);
    const char *checkpoints = liana__path_join(arena, folder, "checkpoints"), *newest;
    if (!*path || !checkpoints) return liana__fail_memory(error, folder);
    *is_run = checkpoint || !liana__file_exists(*path);
    if (!*is_run) return LIANA_OK;
    *precision = liana__precision_named(liana__checkpoint_precision(checkpoints, arena));
    LIANA_TRY(checkpoint ? liana__checkpoint_find(checkpoints, checkpoint, arena, &newest, error)
                         : liana__checkpoint_newest(checkpoints, arena, &newest, error));
    if (!newest) return liana__fail(error, LIANA_NOT_FOUND, "'%s' holds neither %s nor checkpoints", folder, WEIGHTS);
    *path = liana__path_join(arena, newest, "variables.safetensors");
    return *path ? LIANA_OK : liana__fail_memory(error, folder);
}

/* The two files that liana_model_save writes. */
static liana_status load_remote_model(liana_model *model, const char *folder, liana__remote *remote,
                                      liana__arena *arena, liana__error *error)
{
    const char *names[] = {liana__path_join(arena, folder, ARCHITECTURE), liana__path_join(arena, folder, WEIGHTS)};
    liana__paths paths;
    if (!names[0] || !names[1]) return liana__fail_memory(error, folder);
    LIANA_TRY(liana__remote_resolve(remote, names, 2, arena, &paths, error));
    liana__value *architecture;
    LIANA_TRY(liana__json_read(paths.items[0], arena, &architecture, error));
    LIANA_TRY(liana__model_from_keras(model, architecture));
    LIANA_TRY(liana__preprocessing_read_file(model, paths.items[1], error));
    return load_weights(model, paths.items[1], model->num_layers, arena, error);
}

/* "run/checkpoints/best" is the run and the name of its checkpoint. False: the path is of another form. */
static bool split_checkpoint(const char *path, liana__arena *arena, const char **folder, const char **checkpoint)
{
    static const char between[] = "/checkpoints/";
    const size_t length = strlen(path), end = length && path[length - 1] == '/' ? length - 1 : length;
    const char *trimmed = liana__arena_format(arena, "%.*s", (int)end, path);
    const char *name = trimmed ? strrchr(trimmed, '/') : NULL;
    const size_t before = name ? (size_t)(name - trimmed) + 1 : 0;
    if (before == sizeof between - 2 && strncmp(trimmed, between + 1, before) == 0) {
        *folder = "."; /* from within the run folder */
        *checkpoint = name + 1;
        return true;
    }
    if (before < sizeof between || strncmp(trimmed + before - (sizeof between - 1), between, sizeof between - 1) != 0) {
        return false;
    }
    *folder = liana__arena_format(arena, "%.*s", (int)(before - (sizeof between - 1)), trimmed);
    *checkpoint = name + 1;
    return *folder && **checkpoint;
}

/* `checkpoint` NULL: the weights of liana_model_save, else the newest checkpoint of a run. */
static liana_status load_local_model(liana_model *model, const char *folder, const char *checkpoint,
                                     liana__arena *arena, liana__error *error)
{
    const char *path = liana__path_join(arena, folder, ARCHITECTURE);
    if (!path) return liana__fail_memory(error, folder);
    liana__value *architecture;
    LIANA_TRY(liana__refuse_foreign_model(folder, error));
    LIANA_TRY(liana__preprocessing_load_plugins(model, folder, error));
    LIANA_TRY(liana__json_read(path, arena, &architecture, error));
    if (liana__value_get(architecture, "weightsManifest")) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "'%s' is a layers model of TensorFlow.js, which liana writes and does not read: load the "
                           "file that it was made of; its architecture alone is '%s'",
                           folder, path);
    }
    LIANA_TRY(liana__model_from_keras(model, architecture));
    bool is_run = false;
    LIANA_TRY(find_weights(folder, checkpoint, arena, &path, &model->precision, &is_run, error));
    LIANA_TRY(is_run ? liana__preprocessing_read_run(model, folder, error)
                     : liana__preprocessing_read_file(model, path, error));
    LIANA_TRY(load_weights(model, path, model->num_layers, arena, error));
    const char *from = is_run ? liana__path_folder(arena, path) : NULL;
    if (is_run && !from) return liana__fail_memory(error, folder);
    return is_run ? liana__compiled_remember_checkpoint(model, from, error) : LIANA_OK;
}

/* ---- a file ---- */

typedef struct whole_file {
    const char *path;
    liana__optimizer_state *state; /* NULL: the model was not compiled */
} whole_file;

static liana_status load_values(liana_model *model, const void *options, float *const *values, liana__arena *arena,
                                liana__error *error)
{
    const whole_file *own = options;
    liana__weights_report report;
    return liana__weights_load_whole(model, own->path, values, own->state, arena, &report, error);
}

/* With the state of the optimizer, which a fit goes on from. */
static liana_status load_compiled(liana_model *model, const char *path, liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED(liana__optimizer_state) state = {0};
    const whole_file file = {path, model->optimizer ? &state : NULL};
    LIANA_TRY(compare_first(model, path, model->num_layers, arena, error));
    if (file.state) LIANA_TRY(liana__optimizer_state_create(model, model->optimizer, path, &state, error));
    LIANA_TRY(liana__model_values_change(model, load_values, &file, arena, error));
    if (!file.state || (state.iteration == 0 && !state.fault)) return LIANA_OK;
    LIANA_TRY(liana__model_keep_optimizer(model, state.optimizer, error));
    return liana__compiled_take_state(model, &state, error);
}

static liana_status load_whole(liana_model *model, const char *path, const liana__notes *notes, liana__arena *arena,
                               liana__error *error)
{
    liana__model_file file;
    LIANA_TRY(liana__model_file_open(path, arena, &file, error));
    LIANA_TRY(liana__model_file_fill(&file, model, notes, error));
    if (!model->num_weights) return LIANA_OK;
    if (file.has_weights) return load_compiled(model, path, arena, error);
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is an architecture without weights: load it with liana_model_load_architecture (--model), "
                       "and a file of weights with liana_model_load_weights (--weights)",
                       path);
}

/* ---- a URL ---- */

/* Of a server's names the end alone tells a file from a folder. */
static bool is_file_name(const char *url)
{
    static const char *const endings[] = {".keras", ".h5", ".hdf5", ".json", ".onnx"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (liana__ends_with(url, endings[i])) return true;
    }
    return false;
}

/* On a server: the weights of liana_model_save, else a run. */
static liana_status load_from(liana__remote *remote, liana_model *model, const char *folder, const liana__notes *notes,
                              liana__arena *arena, liana__error *error)
{
    liana__error none = {0};
    const char *local, *run = folder, *checkpoint = NULL;
    if (is_file_name(folder)) {
        LIANA_TRY(liana__remote_file(remote, folder, arena, &local, error));
        return load_whole(model, local, notes, arena, error);
    }
    liana_status status = load_remote_model(model, folder, remote, arena, error);
    if (status != LIANA_NOT_FOUND || liana__starts_with(folder, "http")) return status;
    split_checkpoint(folder, arena, &run, &checkpoint);
    status = liana__remote_run(remote, run, checkpoint, arena, &local, &none);
    if (status == LIANA_OK) return load_local_model(model, local, checkpoint, arena, error);
    /* Neither: then it is the file of a model that is missing. */
    if (status != LIANA_NOT_FOUND && error) *error = none;
    return status;
}

static liana_status fetch_model(liana_model *model, const char *folder, const liana__notes *notes, liana__arena *arena,
                                liana__error *error)
{
    liana__remote *remote;
    LIANA_TRY(liana__remote_create(NULL, &remote, error));
    liana_status status = load_from(remote, model, folder, notes, arena, error);
    if (status != LIANA_OK) liana__remote_fail_within(remote, error);
    liana__remote_destroy(remote);
    return status;
}

liana_status liana__model_read_any(liana_model *model, const char *folder, const liana__notes *notes,
                                   liana__arena *arena, liana__error *error)
{
    const char *run, *checkpoint, *path = liana__path_join(arena, folder, ARCHITECTURE);
    if (liana__path_is_remote(folder)) return fetch_model(model, folder, notes, arena, error);
    if (!path) return liana__fail_memory(error, folder);
    if (liana__file_exists(folder) && !liana__folder_exists(folder))
        return load_whole(model, folder, notes, arena, error);
    if (!liana__file_exists(path) && split_checkpoint(folder, arena, &run, &checkpoint)) {
        return load_local_model(model, run, checkpoint, arena, error);
    }
    return load_local_model(model, folder, NULL, arena, error);
}

/* Fills an empty model from a file or folder. */
typedef liana_status (*loader)(liana_model *model, const char *path, const liana__notes *notes, liana__arena *arena,
                               liana__error *error);

static liana_status make_model(liana_context *context, const char *path, loader load, liana_model **out)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana__notes notes = notes_of(context);
    liana_model *model;
    *out = NULL;
    LIANA_TRY(liana_model_create(context, NULL, &model));
    liana_status status = load(model, path, &notes, &arena, &context->error);
    if (status == LIANA_OK) *out = model;
    if (status != LIANA_OK) liana_model_destroy(model);
    return status;
}

liana_status liana_model_load(liana_context *context, const char *path, liana_model **out)
{
    LIANA__REQUIRE_AS(liana__context_error(context), out, "model");
    *out = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, path);
    LIANA__CONTEXT_CALL(context, make_model(context, path, liana__model_read_any, out));
}

static liana_status load_architecture(liana_model *model, const char *path, const liana__notes *notes,
                                      liana__arena *arena, liana__error *error)
{
    liana__model_file file;
    LIANA_TRY(liana__model_file_open(path, arena, &file, error));
    return liana__model_file_fill(&file, model, notes, error);
}

liana_status liana_model_load_architecture(liana_context *context, const char *path, liana_model **out)
{
    LIANA__REQUIRE_AS(liana__context_error(context), out, "model");
    *out = NULL;
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, path);
    LIANA__CONTEXT_CALL(context, make_model(context, path, load_architecture, out));
}
