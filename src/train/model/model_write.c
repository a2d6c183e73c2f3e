/* Writes a model into one file, whose format the end of its name says. */
#include "train/model/model_file.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/hdf5.h"
#include "formats/json.h"
#include "formats/safetensors.h"
#include "formats/zip.h"
#include "train/checkpoint/keras_optimizer.h"
#include "train/checkpoint/keras_weights.h"
#include "train/model/compiled.h"
#include "train/model/keras_compile.h"
#include "train/model/model_objective.h"
#include "train/model/tfjs_folder.h"

#include <string.h>

#include <math.h>

LIANA__SCOPED_POINTER(liana__hdf5_new_free, liana__hdf5_new)

/* The Kerases whose forms are written. */
static const char *const versions[] = {
    [LIANA__KERAS3] = "3.15.1", [LIANA__KERAS2] = "2.15.0", [LIANA__TFJS] = "2.15.0"};

typedef struct saving {
    const liana_model *model;
    const char *path;
    liana__keras_form in;
    const liana__optimizer_state *state; /* of the optimizer; NULL: none */
    const liana__notes *notes;
    liana__arena *arena;
    liana__error *error;
} saving;

/* ---- safetensors ---- */

liana_status liana__model_weights_write(const liana_model *model, const char *path, liana__arena *arena,
                                        liana__error *error)
{
    liana__safetensors_tensor *tensors = liana__arena_allocate(arena, (model->num_weights + 1) * sizeof *tensors);
    if (!tensors) return liana__fail_memory(error, path);
    size_t count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        liana__safetensors_tensor *tensor = &tensors[count];
        if (weight->is_state) continue;
        count++;
        *tensor = (liana__safetensors_tensor){.name = weight->name,
                                              .dtype = LIANA__SAFETENSORS_F32,
                                              .rank = weight->shape.rank,
                                              .data = model->values[i]};
        for (int k = 0; k < weight->shape.rank; k++) tensor->shape[k] = weight->shape.dims[k];
    }
    const char *preprocessing = liana__preprocessing_text(model, arena);
    const char *objective = liana__model_objective_text(model, arena);
    if (!preprocessing || !objective) return liana__fail_memory(error, path);
    liana__safetensors_entry entries[3] = {{"liana", LIANA_VERSION}};
    size_t num_entries = 1;
    if (*preprocessing) {
        entries[num_entries++] = (liana__safetensors_entry){liana__preprocessing_key, preprocessing};
    }
    if (*objective) entries[num_entries++] = (liana__safetensors_entry){liana__model_objective_key, objective};
    liana__safetensors_contents contents = {tensors, count, entries, num_entries};
    return liana__safetensors_write(path, &contents, true, NULL, error);
}

static liana_status write_safetensors(const saving *own)
{
    return liana__model_weights_write(own->model, own->path, own->arena, own->error);
}

/* ---- what stands beside the weights ---- */

/* Without this word tf_keras takes an optimizer for one of the time before Keras 2.11, which had other options. */
static liana_status name_generation(const saving *own, const liana__value **settings)
{
    liana__value *copy = liana__value_copy(own->arena, *settings);
    const liana__value *optimizer = liana__value_get(copy, "optimizer_config");
    liana__value *config = (liana__value *)liana__value_get(optimizer, "config");
    if (config) liana__value_set(own->arena, config, "is_legacy_optimizer", liana__value_bool(own->arena, false));
    *settings = copy;
    return own->arena->failed ? liana__fail_memory(own->error, own->path) : LIANA_OK;
}

static size_t num_rates(const liana__optimizer_state *state)
{
    const liana__update_rule rule = liana__optimizer_state_rule(state);
    return liana__rule_num_rates(&rule);
}

/* The optimizer with the rates that it has come to. Keras's files do not keep which weights it has excluded from weight
 * decay. */
static void set_optimizer(const saving *own, liana__value *train)
{
    static const char excluded[] = "exclude_from_weight_decay";
    const liana__value *from = own->state ? own->state->optimizer : own->model->optimizer;
    liana__value *optimizer = from ? liana__value_copy(own->arena, from) : NULL;
    if (!optimizer) return;
    for (size_t i = 0; own->state && i < num_rates(own->state); i++) {
        const double rate = liana__optimizer_state_rate_of(own->state, i);
        liana__value *options = liana__optimizer_state_options(own->state, optimizer, i, own->arena);
        if (options && !isnan(rate)) {
            liana__value_set(own->arena, options, "learning_rate", liana__value_float(own->arena, rate));
        }
    }
    const liana__value *names = liana__value_get(optimizer, excluded);
    if (names && names->kind == LIANA__VALUE_LIST && names->count) {
        liana__note(own->notes,
                    "'%s' does not say which weights have no weight decay, since Keras's files cannot: in Keras call "
                    "optimizer.exclude_from_weight_decay, in liana set it again",
                    own->path);
        liana__value_remove(optimizer, excluded);
    }
    liana__value_set(own->arena, train, "optimizer", optimizer);
}

/* Settings that Keras cannot say are told and left out: a model computes the same without them. NULL: there are none.
 */
static liana_status find_settings(const saving *own, liana__keras_compile_form form, const liana__value **settings)
{
    const liana_model *model = own->model;
    liana__error found = {0};
    *settings = NULL;
    if (!model->objective && !model->optimizer) return LIANA_OK;
    if (!model->objective && !model->knows_objective) {
        liana__note(own->notes, "'%s' says nothing of how the model was trained: its losses are not known", own->path);
        return LIANA_OK;
    }
    if (!model->optimizer && !own->state) {
        liana__note(own->notes, "it is not known which optimizer trained the model: '%s' names the default, Adam",
                    own->path);
    }
    liana__value *train =
        model->objective ? liana__value_copy(own->arena, model->objective) : liana__value_map(own->arena);
    /* The default of a fit. */
    if (train && !model->objective) {
        liana__value_set(own->arena, train, "metrics", liana__value_string(own->arena, "accuracy"));
    }
    if (train) set_optimizer(own, train);
    if (!train || own->arena->failed) return liana__fail_memory(own->error, own->path);
    liana_status status = liana__keras_compile_write(model, train, form, own->arena, settings, &found);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(own->error, own->path);
    if (status == LIANA_OK) return own->in != LIANA__KERAS3 ? name_generation(own, settings) : LIANA_OK;
    *settings = NULL;
    liana__note(own->notes, "'%s' says nothing of how the model was trained: %s", own->path, found.message);
    return LIANA_OK;
}

/* The variables of the optimizer that the settings name; none where there are no settings. */
static liana_status make_optimizer(const saving *own, const liana__value *settings,
                                   liana__keras_optimizer_variables *variables)
{
    const liana__keras_optimizer_form form =
        own->in == LIANA__KERAS2 ? LIANA__KERAS_OPTIMIZER_2 : LIANA__KERAS_OPTIMIZER_3;
    *variables = (liana__keras_optimizer_variables){0};
    if (!settings || !own->state) return LIANA_OK;
    return liana__keras_optimizer_make(own->state, form, own->arena, variables, own->error);
}

static liana_status make_architecture(const saving *own, liana__value **architecture)
{
    *architecture = liana__model_to_keras(own->model, own->in, own->arena);
    return *architecture ? LIANA_OK : liana__fail_memory(own->error, own->path);
}

static liana_status write_json(const saving *own)
{
    liana__value *architecture;
    LIANA_TRY(make_architecture(own, &architecture));
    return liana__json_write(own->path, architecture, own->error);
}

/* ---- Keras 3 ---- */

static liana_status write_weights_h5(const saving *own)
{
    LIANA__SCOPED_BY(liana__hdf5_new_free_scoped) liana__hdf5_new *tree = NULL;
    const char *bytes;
    size_t size;
    LIANA_TRY(liana__keras_weights_make(own->model, own->model->values, NULL, 0, own->path, &tree, own->error));
    LIANA_TRY(liana__hdf5_new_bytes(tree, &bytes, &size, own->error));
    return liana__file_replace(own->path, bytes, size, own->error);
}

static const char *make_metadata(const saving *own)
{
    liana__value *map = liana__value_map(own->arena);
    const char *facts = liana__model_facts_text(own->model, own->arena);
    if (!map || !facts) return NULL;
    liana__value_set(own->arena, map, "keras_version", liana__value_string(own->arena, versions[own->in]));
    liana__value_set(own->arena, map, LIANA__HDF5_OWN, liana__value_string(own->arena, facts));
    return liana__json_line(map, own->arena);
}

/* The variables as those of layers: of the optimizer, and of those within it. */
static liana_status describe_optimizer(const saving *own, const liana__value *settings, liana__keras3_layer **layers,
                                       size_t *num_layers)
{
    liana__keras_optimizer_variables variables;
    LIANA_TRY(make_optimizer(own, settings, &variables));
    const size_t count = variables.count;
    liana__keras3_layer *made = liana__arena_allocate(own->arena, (variables.num_groups + 1) * sizeof *made);
    liana__hdf5_data *data = liana__arena_allocate(own->arena, (count + 1) * sizeof *data);
    const void **values = liana__arena_allocate(own->arena, (count + 1) * sizeof *values);
    if (!made || !data || !values) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < count; i++) {
        data[i] = variables.items[i].data;
        values[i] = variables.items[i].values;
    }
    for (size_t i = 0; i < variables.num_groups; i++) {
        const liana__keras_optimizer_group *group = &variables.groups[i];
        made[i] = (liana__keras3_layer){.path = group->path,
                                        .name = group->name,
                                        .weights = data + group->first,
                                        .values = values + group->first,
                                        .num_weights = group->count};
    }
    *layers = made;
    *num_layers = count ? variables.num_groups : 0;
    return LIANA_OK;
}

static liana_status write_archive(const saving *own)
{
    liana__keras3_layer *optimizer = NULL;
    size_t num_optimizer = 0;
    LIANA__SCOPED_BY(liana__hdf5_new_free_scoped) liana__hdf5_new *tree = NULL;
    const char *bytes;
    size_t size;
    liana__value *architecture;
    const liana__value *settings;
    LIANA_TRY(make_architecture(own, &architecture));
    LIANA_TRY(find_settings(own, LIANA__KERAS_COMPILE_CONFIG, &settings));
    if (settings) liana__value_set(own->arena, architecture, "compile_config", liana__value_copy(own->arena, settings));
    const char *config = liana__json_line(architecture, own->arena), *metadata = make_metadata(own);
    if (!config || !metadata) return liana__fail_memory(own->error, own->path);
    LIANA_TRY(describe_optimizer(own, settings, &optimizer, &num_optimizer));
    LIANA_TRY(liana__keras_weights_make(own->model, own->model->values, optimizer, num_optimizer, own->path, &tree,
                                        own->error));
    LIANA_TRY(liana__hdf5_new_bytes(tree, &bytes, &size, own->error));
    const liana__zip_new_entry entries[] = {{"metadata.json", metadata, strlen(metadata)},
                                            {"config.json", config, strlen(config)},
                                            {"model.weights.h5", bytes, size}};
    return liana__zip_write(own->path, entries, sizeof entries / sizeof *entries, own->error);
}

/* ---- whole HDF5 files ---- */

/* Keras lists those that are trained before the others. */
static liana_status describe_item(const saving *own, liana__scope_item item, size_t *list, liana__hdf5_new_layer *layer)
{
    const liana_model *model = own->model;
    size_t count = 0;
    LIANA_TRY(liana__keras_item_weights(model, item, own->arena, list, &count, own->error));
    liana__hdf5_new_weight *weights = liana__arena_allocate(own->arena, (count + 1) * sizeof *weights);
    if (!weights) return liana__fail_memory(own->error, own->path);
    *layer = (liana__hdf5_new_layer){.name = liana__scope_item_name(model, item), .weights = weights};
    for (int trained = 1; trained >= 0; trained--) {
        for (size_t i = 0; i < count; i++) {
            const liana__weight *weight = &model->weights[list[i]];
            if (liana__weight_trainable(model, list[i]) != trained) continue;
            liana__hdf5_new_weight *made = &weights[layer->num_weights++];
            *made = (liana__hdf5_new_weight){weight->name, weight->shape.rank, {0}, model->values[list[i]]};
            memcpy(made->shape, weight->shape.dims, (size_t)weight->shape.rank * sizeof *weight->shape.dims);
        }
    }
    return LIANA_OK;
}

static liana_status write_h5(const saving *own)
{
    liana__value *architecture;
    const liana__value *settings;
    liana__scope_item *items;
    liana__keras_optimizer_variables optimizer;
    size_t count;
    LIANA_TRY(make_architecture(own, &architecture));
    LIANA_TRY(find_settings(own, LIANA__KERAS_TRAINING_CONFIG, &settings));
    LIANA_TRY(make_optimizer(own, settings, &optimizer));
    if (optimizer.count && own->in == LIANA__KERAS3) {
        liana__note(own->notes,
                    "Keras 3 cannot go on with the optimizer of a .h5 file, its own ones included: compile the model "
                    "again after loading, or write a .keras file");
    }
    const liana__hdf5_description whole = {.model_config = liana__json_line(architecture, own->arena),
                                           .training_config = settings ? liana__json_line(settings, own->arena) : NULL,
                                           .own = liana__model_facts_text(own->model, own->arena),
                                           .keras_version = versions[own->in],
                                           .optimizer = optimizer.items,
                                           .num_optimizer = optimizer.count};
    LIANA_TRY(liana__keras_order(own->model, LIANA__NONE, own->arena, &items, &count, own->error));
    liana__hdf5_new_layer *layers = liana__arena_allocate(own->arena, (count + 1) * sizeof *layers);
    size_t *list = liana__arena_allocate(own->arena, (own->model->num_weights + 1) * sizeof *list);
    if (!layers || !list || !whole.own || own->arena->failed) return liana__fail_memory(own->error, own->path);
    for (size_t i = 0; i < count; i++) LIANA_TRY(describe_item(own, items[i], list, &layers[i]));
    return liana__hdf5_write(own->path, layers, count, &whole, own->error);
}

/* ---- TensorFlow.js ---- */

static liana_status write_tfjs(const saving *own)
{
    liana__tfjs_parts parts = {.keras_version = versions[own->in], .facts_key = LIANA__HDF5_OWN};
    LIANA_TRY(make_architecture(own, &parts.architecture));
    LIANA_TRY(find_settings(own, LIANA__KERAS_TRAINING_CONFIG, &parts.settings));
    parts.facts = liana__model_facts_text(own->model, own->arena);
    if (!parts.facts) return liana__fail_memory(own->error, own->path);
    const char *left_out = liana__tfjs_left_out(own->model, own->arena);
    if (left_out) {
        liana__note(own->notes, "'%s' leaves out parts that TensorFlow.js does not have, which count in training: %s",
                    own->path, left_out);
    }
    return liana__tfjs_folder_write(own->model, &parts, own->path, own->arena, own->error);
}

/* ---- all ---- */

typedef struct form {
    const char *ending;
    bool has_layers; /* Keras must be able to say them */
    bool is_older;   /* Keras 2 has the format, too */
    bool has_state;  /* of the optimizer */
    bool is_tfjs;    /* a folder, in TensorFlow.js's words */
    liana_status (*write)(const saving *own);
} form;

static const form *find_form(const char *path)
{
    static const form forms[] = {
        {".tfjs", .has_layers = true, .is_tfjs = true, .write = write_tfjs}, /* also its model.json */
        {".weights.h5", .write = write_weights_h5},
        {".keras", .has_layers = true, .has_state = true, .write = write_archive},
        {".h5", .has_layers = true, .is_older = true, .has_state = true, .write = write_h5},
        {".hdf5", .has_layers = true, .is_older = true, .has_state = true, .write = write_h5},
        {".json", .has_layers = true, .is_older = true, .write = write_json},
        {".safetensors", .write = write_safetensors},
    };
    const size_t length = strlen(path);
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const size_t size = strlen(forms[i].ending);
        size_t end = length;
        if (forms[i].is_tfjs) end = liana__tfjs_folder_length(path);
        /* ".h5" alone is the name of a hidden folder. */
        if (end > size && path[end - size - 1] != '/' && strncmp(path + end - size, forms[i].ending, size) == 0) {
            return &forms[i];
        }
    }
    return NULL;
}

liana_status liana__model_fail_older(const char *path, liana__error *error)
{
    return liana__fail(
        error, LIANA_UNIMPLEMENTED,
        "'%s': in the form of Keras 2 liana writes .h5 and .json; give such a name, or leave --keras out", path);
}

bool liana__model_file_is_named(const char *path)
{
    return find_form(path) != NULL;
}

liana_status liana__model_file_write(liana_model *model, const char *path, liana__keras_form in,
                                     const liana__notes *notes, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__optimizer_state) made = {0};
    const liana__optimizer_state *state = NULL;
    const form *wanted = find_form(path);
    if (wanted->is_tfjs) in = LIANA__TFJS;
    if (in == LIANA__KERAS2 && !wanted->is_older) return liana__model_fail_older(path, error);
    if (wanted->has_layers) LIANA_TRY(liana__model_check_keras(model, in, error));
    if (wanted->has_state) LIANA_TRY(liana__compiled_find_state(model, &made, &state, error));
    if (state && state->fault) liana__note(notes, "'%s' gets no state of the optimizer: %s", path, state->fault);
    if (state && (state->fault || state->iteration == 0)) state = NULL;
    return wanted->write(&(saving){model, path, in, state, notes, &arena, error});
}
