/* Opens and reads files of weights in any of the formats. */
#include "train/checkpoint/automatic_names.h"
#include "train/checkpoint/weights.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"
#include "base/text.h"
#include "formats/sniff.h"
#include "ir/shape.h"
#include "onnx/export_model.h"
#include "onnx/import.h"

#include <stdlib.h>
#include <string.h>

/* The part of a weight's name before its last '/': the layer that the weight belongs to, with the name of the model
 * before it where Keras put that there ("mobilenet/conv1/kernel:0"). NULL if there is none. */
static const char *owner_of(liana__arena *arena, const char *name)
{
    const char *end = strrchr(name, '/');
    return end ? liana__arena_format(arena, "%.*s", (int)(end - name), name) : NULL;
}

static const char *short_name_of(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash ? slash + 1 : name;
}

static bool same_text(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

/* The layer of that name in a nested model of the file, or in none (NULL). */
static liana__source_layer *find_layer(const liana__weight_source *source, const char *model, const char *name)
{
    for (size_t i = 0; i < source->num_layers; i++) {
        liana__source_layer *layer = &source->layers[i];
        if (strcmp(layer->name, name) == 0 && same_text(layer->model, model)) return layer;
    }
    return NULL;
}

static liana__source_layer *add_layer(liana__weight_source *source, const liana__source_layer *wanted)
{
    liana__source_layer *layer = &source->layers[source->num_layers++];
    *layer = *wanted;
    return layer;
}

/* `most` is the number of weights in the file. */
static bool add_to_layer(liana__weight_source *source, liana__source_layer *layer, const liana__source_weight *weight,
                         size_t most)
{
    /* Layers have few weights: room is doubled when the count is a power of two. */
    if ((layer->num_weights & (layer->num_weights - 1)) == 0) {
        size_t room = layer->num_weights ? 2 * layer->num_weights : 1;
        if (room > most) room = most;
        liana__source_weight *wider = liana__arena_allocate(&source->arena, room * sizeof *wider);
        if (!wider) return false;
        if (layer->num_weights) memcpy(wider, layer->weights, layer->num_weights * sizeof *wider);
        layer->weights = wider;
    }
    layer->weights[layer->num_weights++] = *weight;
    return true;
}

static size_t hash_text(size_t hash, const char *text)
{
    while (text && *text) hash = (hash ^ (unsigned char)*text++) * 0x100000001b3u;
    return hash;
}

/* The number of the layer of that name, or 0 where it would be: files may have very many layers. */
static size_t *find_place(const liana__weight_source *source, const liana__source_layer *wanted)
{
    size_t at = hash_text(hash_text(0xcbf29ce484222325u, wanted->model), wanted->name);
    for (;; at++) {
        size_t *place = &source->places[at & (source->num_places - 1)];
        const liana__source_layer *layer = *place ? &source->layers[*place - 1] : NULL;
        if (!layer || (strcmp(layer->name, wanted->name) == 0 && same_text(layer->model, wanted->model))) return place;
    }
}

/* Adds a weight to the layer of that name, which is made if need be. */
static bool add_weight(liana__weight_source *source, const liana__source_layer *wanted,
                       const liana__source_weight *weight, size_t most)
{
    size_t *place = find_place(source, wanted);
    if (!*place) {
        add_layer(source, wanted);
        *place = source->num_layers;
    }
    return add_to_layer(source, &source->layers[*place - 1], weight, most);
}

static liana_status make_room(liana__weight_source *source, size_t num_layers, liana__error *error)
{
    source->num_places = 2;
    while (source->num_places < 2 * (num_layers + 1)) source->num_places *= 2;
    source->places = liana__arena_allocate(&source->arena, source->num_places * sizeof *source->places);
    source->layers = liana__arena_allocate(&source->arena, (num_layers + 1) * sizeof *source->layers);
    return source->layers && source->places ? LIANA_OK : liana__fail_memory(error, source->path);
}

/* The Normalization before a network that reads images which are normalised already. */
static bool add_normalization(liana__weight_source *source, const liana__torch_config *config)
{
    static const int64_t shape[] = {3};
    static const float count[] = {0};
    float variance[3];
    for (int i = 0; i < 3; i++) variance[i] = config->deviation[i] * config->deviation[i];
    const float *mean = liana__arena_copy(&source->arena, config->mean, sizeof config->mean);
    const float *squares = liana__arena_copy(&source->arena, variance, sizeof variance);
    const liana__source_layer wanted = {.name = "normalization"};
    const liana__source_weight weights[] = {{.short_name = "mean", .rank = 1, .shape = shape, .values = mean},
                                            {.short_name = "variance", .rank = 1, .shape = shape, .values = squares},
                                            {.short_name = "count", .shape = shape, .values = count}};
    bool good = mean && squares;
    for (size_t i = 0; i < 3; i++) good = good && add_weight(source, &wanted, &weights[i], 3);
    return good;
}

/* ---- Keras HDF5 ---- */

/* The length of the model's name in the names of a nested model's weights: all folders that contain all weights, but no
 * folder inside a layer's name ("densenet121/" of "densenet121/conv1/bn/gamma"). SIZE_MAX: the file's layer is not a
 * model; its weights belong to one layer. */
static size_t measure_model_name(liana__arena *arena, const liana__hdf5_layer *layer)
{
    const char *first = layer->num_weights ? owner_of(arena, layer->weights[0].name) : NULL;
    bool nested = false;
    size_t common = first && strrchr(first, '/') ? (size_t)(strrchr(first, '/') - first) + 1 : 0;
    for (size_t i = 1; first && i < layer->num_weights; i++) {
        const char *owner = owner_of(arena, layer->weights[i].name);
        if (!owner || strcmp(owner, first) == 0) continue;
        nested = true;
        while (common && strncmp(owner, first, common) != 0) {
            do {
                common--;
            } while (common && first[common - 1] != '/');
        }
    }
    return nested ? common : SIZE_MAX;
}

/* The length of the name of the model's layer to which a held layer's name belongs ("bidirectional/forward_lstm"), or
 * its own. `within` is the nested model's, or NULL. 0: there is no such layer that holds others. */
static size_t measure_layer(const liana_model *model, const char *within, const char *name)
{
    size_t found = 0;
    for (size_t i = 0; model && i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        const size_t saved = liana__layer_num_saved(model, layer, layer->num_weights);
        if (!saved) continue;
        size_t last = layer->first_weight + layer->num_weights - 1;
        while (model->weights[last].is_state) last--;
        if (!model->weights[last].place) continue;
        const char *own = layer->name;
        const size_t outer = within ? strlen(within) : 0;
        if (outer && (strncmp(own, within, outer) != 0 || own[outer] != '/')) continue;
        if (outer) own += outer + 1;
        const size_t length = strlen(own);
        const bool is_same = strncmp(name, own, length) == 0 && (name[length] == '/' || !name[length]);
        if (is_same && length > found) found = length;
    }
    return found;
}

static liana_status list_hdf5(liana__weight_source *source, const liana_model *model, liana__error *error)
{
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(source->hdf5);
    if (contents->backend && strcmp(contents->backend, "theano") == 0) {
        return liana__fail(error, LIANA_UNIMPLEMENTED,
                           "%s: the file was written with Keras's Theano backend, which flips kernels; convert it with "
                           "Keras's TensorFlow backend first",
                           source->path);
    }
    LIANA_TRY(make_room(source, contents->num_layers + contents->num_weights, error));
    for (size_t i = 0; i < contents->num_layers; i++) {
        const liana__hdf5_layer *layer = &contents->layers[i];
        const bool is_layer = measure_layer(model, NULL, layer->name) == strlen(layer->name);
        size_t model_name = is_layer ? SIZE_MAX : measure_model_name(&source->arena, layer);
        for (size_t k = 0; k < layer->num_weights; k++) {
            const liana__hdf5_weight *entry = &layer->weights[k];
            const char *owner = owner_of(&source->arena, entry->name);
            liana__source_layer wanted = {.name = layer->name, .owner = owner};
            if (model_name < SIZE_MAX && owner) {
                const size_t length = measure_layer(model, layer->name, owner + model_name);
                const char *name = length ? liana__arena_format(&source->arena, "%.*s", (int)length, owner + model_name)
                                          : owner + model_name;
                if (!name) return liana__fail_memory(error, source->path);
                wanted = (liana__source_layer){.name = name, .model = layer->name};
            }
            liana__source_weight weight = {.short_name = short_name_of(entry->name),
                                           .rank = entry->data.rank,
                                           .shape = entry->data.shape,
                                           .entry = entry};
            if (!add_weight(source, &wanted, &weight, contents->num_weights)) {
                return liana__fail_memory(error, source->path);
            }
        }
    }
    return LIANA_OK;
}

static bool has_layer(const liana_model *model, const char *name)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        if (strcmp(model->layers[i].name, name) == 0) return true;
    }
    return false;
}

/* The package `efficientnet` has Keras's EfficientNets without the layers that normalise images, which its users do
 * before by ImageNet's mean and deviation; and calls the last layer otherwise. */
static liana_status meet_package(liana__weight_source *source, const liana_model *model, liana__error *error)
{
    static const char *const layers[] = {"stem_conv", "block1a_dwconv", "block7a_project_conv", "top_conv"};
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        if (!find_layer(source, NULL, layers[i])) return LIANA_OK;
    }
    if (find_layer(source, NULL, "normalization") || !has_layer(model, "normalization")) return LIANA_OK;
    if (!add_normalization(source, &liana__torch_imagenet)) return liana__fail_memory(error, source->path);
    liana__source_layer *last = find_layer(source, NULL, "probs");
    if (last && !find_layer(source, NULL, "predictions")) last->name = "predictions";
    return LIANA_OK;
}

/* ---- Keras 3 ---- */

static liana_status list_keras3(liana__weight_source *source, liana__error *error)
{
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(source->hdf5);
    LIANA_TRY(make_room(source, contents->num_layers, error));
    for (size_t i = 0; i < contents->num_layers; i++) {
        const liana__hdf5_layer *from = &contents->layers[i];
        if (!from->num_weights) continue;
        liana__source_layer *layer = &source->layers[source->num_layers++];
        *layer = (liana__source_layer){.name = from->name, .model = from->model, .path = from->path};
        layer->weights = liana__arena_allocate(&source->arena, from->num_weights * sizeof *layer->weights);
        if (!layer->weights) return liana__fail_memory(error, source->path);
        for (size_t k = 0; k < from->num_weights; k++) {
            const liana__hdf5_weight *entry = &from->weights[k];
            layer->weights[layer->num_weights++] = (liana__source_weight){.short_name = entry->name,
                                                                          .rank = entry->data.rank,
                                                                          .shape = entry->data.shape,
                                                                          .entry = entry};
        }
    }
    return LIANA_OK;
}

const liana__source_weight *liana__source_weight_at(const liana__source_layer *layer, const liana__weight *weight,
                                                    size_t index)
{
    char place[256];
    liana__format(place, sizeof place, "%s%s%zu", weight->place ? weight->place : "", weight->place ? "/" : "",
                  weight->number);
    for (size_t i = 0; layer->path && i < layer->num_weights; i++) {
        if (strcmp(layer->weights[i].short_name, place) == 0) return &layer->weights[i];
    }
    return &layer->weights[index];
}

bool liana__source_layer_fits(const liana_model *model, const liana__layer *layer, const liana__source_layer *from)
{
    bool same = from && from->num_weights == liana__layer_num_saved(model, layer, layer->num_weights);
    for (size_t i = 0; same && i < layer->num_weights; i++) {
        const liana__weight *own = &model->weights[layer->first_weight + i];
        const liana_shape *shape = &own->shape;
        if (own->is_state) continue;
        const liana__source_weight *weight =
            liana__source_weight_at(from, own, liana__layer_num_saved(model, layer, i));
        same = weight->rank == shape->rank &&
               memcmp(weight->shape, shape->dims, (size_t)shape->rank * sizeof *shape->dims) == 0;
    }
    return same;
}

static liana__source_layer *find_path(const liana__weight_source *source, const char *path)
{
    for (size_t i = 0; i < source->num_layers; i++) {
        if (strcmp(source->layers[i].path, path) == 0) return &source->layers[i];
    }
    return NULL;
}

/* Whether the file's names are those of the first num_required layers of the model. If some of the others are not
 * there, those that are must stand at the model's places: automatic names may be other layers' by chance. */
static bool can_trust_names(const liana__weight_source *source, const liana_model *model, size_t num_required,
                            const char *const *paths)
{
    size_t num_found = 0, num_missing = 0;
    bool same_places = true;
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        if (layer->num_weights == 0) continue;
        const liana__source_layer *from = liana__weight_source_find(source, layer->name);
        if (i < num_required && !liana__source_layer_fits(model, layer, from)) return false;
        num_found += from != NULL;
        num_missing += from == NULL;
        same_places = same_places && (!from || strcmp(from->path, paths[i]) == 0);
    }
    return num_found && (!num_missing || same_places);
}

/* Whether all layers with weights stand at these places of the file. */
static bool are_placed(const liana__weight_source *source, const liana_model *model, const char *const *paths)
{
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        if (layer->num_weights && !liana__source_layer_fits(model, layer, find_path(source, paths[i]))) return false;
    }
    return true;
}

/* Gives layers of the file the names of the model's layers at their places, where that is right: see the header. */
static liana_status take_places(liana__weight_source *source, const liana_model *model, size_t num_required,
                                liana__error *error)
{
    const bool has_names = liana__hdf5_get_contents(source->hdf5)->has_names;
    const char **paths, **others;
    LIANA_TRY(liana__keras_paths(model, &source->arena, &paths, error));
    bool all_placed = are_placed(source, model, paths);
    if (!all_placed) {
        LIANA_TRY(liana__keras_paths_of_steps(model, &source->arena, &others, error));
        all_placed = are_placed(source, model, others);
        if (all_placed) paths = others;
    }
    if (has_names && (!all_placed || can_trust_names(source, model, num_required, paths))) return LIANA_OK;
    for (size_t i = 0; i < model->num_layers; i++) {
        liana__source_layer *from = model->layers[i].num_weights ? find_path(source, paths[i]) : NULL;
        if (!from) continue;
        from->name = liana__arena_string(&source->arena, model->layers[i].name);
        from->model = NULL;
        if (!from->name) return liana__fail_memory(error, source->path);
    }
    return LIANA_OK;
}

/* ---- safetensors ---- */

static liana_status list_safetensors(liana__weight_source *source, const liana_model *model, liana__error *error)
{
    const liana__safetensors_contents *contents = &source->safetensors.contents;
    LIANA_TRY(make_room(source, contents->num_tensors, error));
    for (size_t i = 0; i < contents->num_tensors; i++) {
        const liana__safetensors_tensor *tensor = &contents->tensors[i];
        const size_t known = measure_layer(model, NULL, tensor->name);
        const char *slash = known ? tensor->name + known : strrchr(tensor->name, '/');
        if (!slash || !*slash) continue;
        const char *layer = liana__arena_format(&source->arena, "%.*s", (int)(slash - tensor->name), tensor->name);
        liana__source_weight weight = {.short_name = slash + 1,
                                       .rank = tensor->rank,
                                       .shape = tensor->shape,
                                       .entry = tensor};
        liana__source_layer wanted = {.name = layer};
        if (!layer || !add_weight(source, &wanted, &weight, contents->num_tensors)) {
            return liana__fail_memory(error, source->path);
        }
    }
    return LIANA_OK;
}

/* A weight for each that a tensor can be. */
static bool add_tensor(liana__weight_source *source, const liana__safetensors_tensor *tensor, size_t most)
{
    liana__arena *arena = &source->arena;
    liana__torch_weight can_be[LIANA__TORCH_MOST_WEIGHTS];
    const int count = liana__torch_weights(tensor, can_be);
    const liana__source_layer wanted = {.name = liana__torch_module(tensor, arena)};
    for (int i = 0; wanted.name && i < count; i++) {
        const liana__source_weight weight = {
            .short_name = can_be[i].short_name,
            .rank = can_be[i].rank,
            .shape = liana__arena_copy(arena, can_be[i].shape, sizeof can_be[i].shape),
            .entry = tensor,
            .is_transposed = can_be[i].is_transposed,
        };
        if (!weight.shape || !add_weight(source, &wanted, &weight, most)) return false;
    }
    return !arena->failed;
}

static liana_status list_modules(liana__weight_source *source, liana__error *error)
{
    const liana__safetensors_contents *contents = &source->safetensors.contents;
    const size_t most = LIANA__TORCH_MOST_WEIGHTS * contents->num_tensors;
    liana__torch_config config;
    source->has_modules = true;
    source->network = liana__torch_find_network(&source->safetensors, &source->arena, &source->prefix);
    if (source->network) LIANA_TRY(liana__torch_read_config(source->network, source->path, &config, error));
    source->is_known = source->network && config.is_known;
    LIANA_TRY(make_room(source, contents->num_tensors + 1, error));
    for (size_t i = 0; i < contents->num_tensors; i++) {
        if (!add_tensor(source, &contents->tensors[i], most)) return liana__fail_memory(error, source->path);
    }
    if (!source->network || !source->network->is_normalised || add_normalization(source, &config)) return LIANA_OK;
    return liana__fail_memory(error, source->path);
}

/* ---- TensorFlow ---- */

/* A variable and the layer in its name. */
typedef struct named_variable {
    const char *layer;
    const liana__tf_variable *variable;
} named_variable;

static int compare_variables(const void *a, const void *b)
{
    const named_variable *one = a, *other = b;
    const int order = strcmp(one->layer, other->layer);
    return order ? order : strcmp(one->variable->name, other->variable->name);
}

/* The weights of the model, without what an optimizer keeps, and texts: sorted by layers. */
static liana_status sort_variables(liana__weight_source *source, named_variable **sorted, size_t *count,
                                   liana__error *error)
{
    const liana__tf_checkpoint *file = &source->tensorflow;
    *count = 0;
    *sorted = liana__arena_allocate(&source->arena, (file->num_variables + 1) * sizeof **sorted);
    if (!*sorted) return liana__fail_memory(error, source->path);
    for (size_t i = 0; i < file->num_variables; i++) {
        const liana__tf_variable *one = &file->variables[i];
        if (one->is_state || one->is_copy || one->kind == LIANA__NUMBER_NONE || !strchr(one->name, '/')) continue;
        const char *layer = owner_of(&source->arena, one->name);
        if (!layer) return liana__fail_memory(error, source->path);
        (*sorted)[(*count)++] = (named_variable){layer, one};
    }
    qsort(*sorted, *count, sizeof **sorted, compare_variables);
    return LIANA_OK;
}

static liana_status list_tensorflow(liana__weight_source *source, liana__error *error)
{
    named_variable *sorted;
    size_t count;
    LIANA_TRY(sort_variables(source, &sorted, &count, error));
    LIANA_TRY(make_room(source, count, error));
    liana__source_layer *layer = NULL;
    for (size_t i = 0; i < count; i++) {
        const liana__tf_variable *variable = sorted[i].variable;
        const liana__source_layer wanted = {.name = sorted[i].layer};
        if (!layer || strcmp(layer->name, wanted.name) != 0) layer = add_layer(source, &wanted);
        liana__source_weight weight = {.short_name = short_name_of(variable->name),
                                       .rank = variable->rank,
                                       .shape = variable->shape,
                                       .entry = variable};
        bool good = add_to_layer(source, layer, &weight, 2 * count);
        /* Keras 3 calls the kernel of a DepthwiseConv2D so. */
        if (good && weight.rank == 4 && strcmp(weight.short_name, "kernel") == 0) {
            weight.short_name = "depthwise_kernel";
            good = add_to_layer(source, layer, &weight, 2 * count);
        }
        if (!good) return liana__fail_memory(error, source->path);
    }
    return LIANA_OK;
}

/* ---- ONNX ---- */

/* The weights that a model of the file would have. */
static liana_status list_onnx(liana__weight_source *source, liana__error *error)
{
    const liana_model *model = source->onnx;
    LIANA_TRY(make_room(source, model->num_weights, error));
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        const liana__source_layer wanted = {.name = model->layers[weight->layer].name};
        const liana__source_weight own = {.short_name = weight->short_name,
                                          .rank = weight->shape.rank,
                                          .shape = weight->shape.dims,
                                          .entry = weight};
        if (!add_weight(source, &wanted, &own, model->num_weights)) return liana__fail_memory(error, source->path);
    }
    return LIANA_OK;
}

static liana_status open_onnx(const char *path, liana__weight_source *source, liana__error *error)
{
    source->by_name = true;
    liana_status status = liana_context_create(&(liana_context_options){.num_threads = 1}, &source->onnx_context);
    if (status == LIANA_OK) status = liana_model_create(source->onnx_context, NULL, &source->onnx);
    if (status != LIANA_OK) return liana__fail_memory(error, path);
    LIANA_TRY(liana__model_from_onnx(source->onnx, path, NULL, error));
    return list_onnx(source, error);
}

static void read_onnx(const liana__weight_source *source, const liana__weight *weight, float *values)
{
    const size_t index = (size_t)(weight - source->onnx->weights);
    memcpy(values, source->onnx->values[index], liana__byte_size(LIANA_F32, &weight->shape));
}

/* ---- all ---- */

static liana_status open_tensorflow(const char *index, liana__weight_source *source, liana__error *error)
{
    source->by_name = true;
    source->has_scopes = true;
    LIANA_TRY(liana__tf_checkpoint_open(index, &source->tensorflow, error));
    return list_tensorflow(source, error);
}

static liana_status open_keras(const char *path, const liana_model *model, size_t num_required,
                               liana__weight_source *source, liana__error *error)
{
    LIANA_TRY(liana__hdf5_open(path, &source->hdf5, error));
    if (!liana__hdf5_get_contents(source->hdf5)->is_keras3) {
        LIANA_TRY(list_hdf5(source, model, error));
        if (model) LIANA_TRY(liana__take_automatic_names(source, model, num_required, error));
        return model ? meet_package(source, model, error) : LIANA_OK;
    }
    LIANA_TRY(list_keras3(source, error));
    return model ? take_places(source, model, num_required, error) : LIANA_OK;
}

static liana_status open_safetensors(const char *path, const liana_model *model, liana__weight_source *source,
                                     liana__error *error)
{
    LIANA_TRY(liana__safetensors_open(path, &source->safetensors, error));
    source->is_safetensors = true;
    source->by_name = true;
    const bool has_modules = liana__torch_has_names(&source->safetensors.contents);
    return has_modules ? list_modules(source, error) : list_safetensors(source, model, error);
}

static liana_status open_any(const char *path, const liana_model *model, size_t num_required,
                             liana__weight_source *source, liana__error *error)
{
    const char *index = liana__tf_checkpoint_find(path, &source->arena);
    if (index) return open_tensorflow(index, source, error);
    if (liana__onnx_is_named(path)) return open_onnx(path, source, error);
    static const uint8_t signature[8] = {0x89, 'H', 'D', 'F', '\r', '\n', 0x1a, '\n'};
    uint8_t head[LIANA__SNIFF_BYTES];
    size_t size;
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    bool is_keras = (size >= sizeof signature && memcmp(head, signature, sizeof signature) == 0) ||
                    (size >= 4 && memcmp(head, "PK\3\4", 4) == 0);
    /* A safetensors file begins with the size of its JSON header, and the header with '{'. */
    bool is_safetensors = size > 8 && head[8] == '{';
    const char *looks = is_safetensors ? NULL : liana__sniff(head, size);
    LIANA_TRY(liana__refuse_pickle(looks, path, error));
    if (is_keras) return open_keras(path, model, num_required, source, error);
    if (is_safetensors) return open_safetensors(path, model, source, error);
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "%s: expected weights as Keras HDF5, .keras, .onnx, safetensors or a TensorFlow checkpoint (.index)%s%s", path,
        looks ? ", found " : "", looks ? looks : "");
}

liana_status liana__weight_source_open(const char *path, const liana_model *model, size_t num_required,
                                       liana__weight_source *source, liana__error *error)
{
    *source = (liana__weight_source){.path = path};
    liana_status status = open_any(path, model, num_required, source, error);
    if (status != LIANA_OK) liana__weight_source_close(source);
    return status;
}

void liana__weight_source_close(liana__weight_source *source)
{
    liana__hdf5_close(source->hdf5);
    if (source->is_safetensors) liana__safetensors_close(&source->safetensors);
    liana__tf_checkpoint_free(&source->tensorflow);
    liana_model_destroy(source->onnx);
    liana_context_destroy(source->onnx_context);
    liana__arena_free(&source->arena);
    *source = (liana__weight_source){0};
}

/* The layer of that name in the file's nested models, if there is only one. */
static const liana__source_layer *find_in_any_model(const liana__weight_source *source, const char *name)
{
    const liana__source_layer *found = NULL;
    for (size_t i = 0; i < source->num_layers; i++) {
        const liana__source_layer *layer = &source->layers[i];
        if (!layer->model || strcmp(layer->name, name) != 0) continue;
        if (found) return NULL;
        found = layer;
    }
    return found;
}

/* A nested model of one layer, which the file does not tell from a layer: its weights say "dense/kernel". */
static bool is_model_of_one(const liana__source_layer *layer, const char *inner)
{
    if (!layer->owner || layer->model || strcmp(layer->owner, layer->name) == 0) return false;
    size_t length = strlen(inner), owner = strlen(layer->owner);
    return owner >= length && strcmp(layer->owner + owner - length, inner) == 0 &&
           (owner == length || layer->owner[owner - length - 1] == '/');
}

/* "encoder/dense": Keras writes "dense" below its layer "encoder". A name inside several models may lack some. */
static const liana__source_layer *find_inside(const liana__weight_source *source, const char *name)
{
    const char *slash = strchr(name, '/');
    for (size_t i = 0; slash && i < source->num_layers; i++) {
        const liana__source_layer *layer = &source->layers[i];
        const char *model = layer->model ? layer->model : layer->name;
        size_t length = strlen(model);
        if (strncmp(name, model, length) != 0 || name[length] != '/') continue;
        for (const char *inner = name + length; inner; inner = strchr(inner + 1, '/')) {
            bool same = layer->model ? strcmp(layer->name, inner + 1) == 0 : is_model_of_one(layer, inner + 1);
            if (same) return layer;
        }
    }
    return NULL;
}

/* "dense" as the end of "sequential/dense", if it is that of one layer only. */
static const liana__source_layer *find_in_scopes(const liana__weight_source *source, const char *name)
{
    const liana__source_layer *found = NULL;
    const size_t length = strlen(name);
    for (size_t i = 0; source->has_scopes && i < source->num_layers; i++) {
        const liana__source_layer *layer = &source->layers[i];
        const size_t whole = strlen(layer->name);
        if (whole <= length || layer->name[whole - length - 1] != '/' || !liana__ends_with(layer->name, name)) continue;
        if (found) return NULL;
        found = layer;
    }
    return found;
}

static const liana__source_layer *find_in_network(const liana__weight_source *source, const char *name)
{
    char module[128], whole[256];
    const liana__torch_network *network = source->network;
    if (!network || !network->find_module || !network->find_module(name, module, sizeof module)) return NULL;
    liana__format(whole, sizeof whole, "%s%s", source->prefix, module);
    return find_layer(source, NULL, whole);
}

/* Keras 3 takes no '/' in the name of a layer: its "conv1/conv" is "conv1_conv". */
static const liana__source_layer *find_without_slashes(const liana__weight_source *source, const char *name)
{
    char own[256];
    if (!source->hdf5 || !strchr(name, '/') || strlen(name) >= sizeof own) return NULL;
    liana__format(own, sizeof own, "%s", name);
    for (char *slash = own; (slash = strchr(slash, '/')) != NULL;) *slash = '_';
    return find_layer(source, NULL, own);
}

const liana__source_layer *liana__weight_source_find(const liana__weight_source *source, const char *layer)
{
    const liana__source_layer *found = find_layer(source, NULL, layer);
    if (!found) found = find_inside(source, layer);
    if (!found) found = find_in_any_model(source, layer);
    if (!found) found = find_in_scopes(source, layer);
    if (!found) found = find_without_slashes(source, layer);
    return found ? found : find_in_network(source, layer);
}

liana__difference_text liana__weight_source_difference(const liana__weight_source *source)
{
    liana__difference_text difference = {""};
    const liana__torch_network *network = source->network;
    if (network && network->difference) {
        liana__format(difference.text, sizeof difference.text,
                      "; the file has the names of the %s, which %s: its weights would compute something else here",
                      network->name, network->difference);
    }
    return difference;
}

const char *liana__weight_source_note(const liana__weight_source *source)
{
    return source->network && !source->is_known ? source->network->note : NULL;
}

static liana_status read_transposed(const liana__weight_source *source, const liana__safetensors_tensor *tensor,
                                    float *values, liana__error *error)
{
    const size_t count = tensor->size / liana__safetensors_dtype_size(tensor->dtype);
    LIANA__SCOPED_MEMORY float *own = malloc((count + 1) * sizeof *own);
    if (!own) return liana__fail_memory(error, tensor->name);
    LIANA_TRY(liana__safetensors_read_floats(&source->safetensors, tensor, own, error));
    liana__torch_transpose(tensor, own, values);
    return LIANA_OK;
}

liana_status liana__weight_source_read(const liana__weight_source *source, const liana__source_weight *weight,
                                       float *values, liana__error *error)
{
    if (weight->values) {
        const size_t count = weight->rank ? (size_t)weight->shape[0] : 1;
        memcpy(values, weight->values, count * sizeof *values);
        return LIANA_OK;
    }
    if (source->onnx) {
        read_onnx(source, weight->entry, values);
        return LIANA_OK;
    }
    if (source->hdf5) return liana__hdf5_read(source->hdf5, weight->entry, values, error);
    if (source->has_scopes) return liana__tf_checkpoint_read(&source->tensorflow, weight->entry, values, error);
    if (weight->is_transposed) return read_transposed(source, weight->entry, values, error);
    return liana__safetensors_read_floats(&source->safetensors, weight->entry, values, error);
}
