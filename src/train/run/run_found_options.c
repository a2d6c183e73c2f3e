/* Finds options of layers in the training data before the model is built: vocabularies and boundaries of bins. They
 * become part of the configuration, which the run keeps. */
#include "base/scoped.h"
#include "base/waiting.h"
#include "data/dataset/element.h"
#include "data/loader/batch_texts.h"
#include "layers/layer.h"
#include "layers/preprocessing/adaptation.h"
#include "layers/preprocessing/lookup.h"
#include "train/run/run_internal.h"

#include <liana/layers/core.h>
#include <stdlib.h>
#include <string.h>

/* An entry of model.layers: "Flatten", or {Dense: {units: 2}}. */
typedef struct entry {
    const liana_layer_type *type; /* NULL: none of liana's layers */
    liana__value *options;        /* NULL: there are none */
    const char *name;             /* NULL: none is given */
} entry;

static entry entry_of(const liana__run *run, const liana__value *value)
{
    entry made = {.type = NULL};
    const bool is_word = value->kind == LIANA__VALUE_STRING;
    if (!is_word && (value->kind != LIANA__VALUE_MAP || value->count != 1)) return made;
    made.type = liana__part_find(run->context, &liana__layer_kind, is_word ? value->string : value->keys[0], NULL);
    made.options = is_word || value->items[0]->kind != LIANA__VALUE_MAP ? NULL : value->items[0];
    const liana__value *name = made.options ? liana__value_get(made.options, "name") : NULL;
    made.name = name && name->kind == LIANA__VALUE_STRING ? name->string : NULL;
    return made;
}

/* The entries that are inputs, and those that read one and whose options may be found. */
typedef struct plan {
    liana__run *run;
    const liana__run_options *options;
    liana__value *list;    /* of those entries */
    liana_model *model;    /* of that list */
    liana__value **layers; /* by layer of the model: its entry; NULL: an input that no entry gives */
    liana__data_match match;
    bool is_needed; /* some option is not given */
} plan;

static bool is_input(const entry *item)
{
    return item->type == &liana__layer_input_layer;
}

static bool is_given(const entry *item)
{
    return item->options &&
           (liana__value_get(item->options, "vocabulary") || liana__value_get(item->options, "bin_boundaries"));
}

/* Whether a layer reads inputs alone. */
static bool reads_inputs(const plan *own, const liana__value *layers, size_t index)
{
    const entry item = entry_of(own->run, layers->items[index]);
    const liana__value *inputs = item.options ? liana__value_get(item.options, "inputs") : NULL;
    if (inputs && inputs->kind == LIANA__VALUE_LIST && inputs->count == 1) inputs = inputs->items[0];
    if (!inputs && index == 0) return true;
    if (!inputs) {
        const entry before = entry_of(own->run, layers->items[index - 1]);
        return is_input(&before);
    }
    for (size_t i = 0; i < index && inputs->kind == LIANA__VALUE_STRING; i++) {
        const entry other = entry_of(own->run, layers->items[i]);
        if (is_input(&other) && other.name && strcmp(other.name, inputs->string) == 0) return true;
    }
    return false;
}

static liana_status fail_at(const liana__value *value, const char *class_name, liana__error *error)
{
    return liana__fail_at(error, &value->place, "model.layers",
                          "%s: it reads no input of the model, so nothing can be found in the data; give its "
                          "vocabulary or bin_boundaries",
                          class_name);
}

static liana_status choose_entries(plan *own, liana__error *error)
{
    const liana__value *layers = own->run->config->model.layers;
    own->list = liana__value_list(&own->run->arena);
    for (size_t i = 0; own->list && i < layers->count; i++) {
        const entry item = entry_of(own->run, layers->items[i]);
        const bool has_options = item.type && item.type->to_adapt;
        if (has_options && !is_given(&item)) {
            if (!reads_inputs(own, layers, i)) return fail_at(layers->items[i], item.type->part.name, error);
            /* Boundaries need the number of bins. */
            own->is_needed = true;
        }
        if (is_input(&item) || (has_options && reads_inputs(own, layers, i))) {
            liana__value_add(&own->run->arena, own->list, layers->items[i]);
        }
    }
    return own->run->arena.failed || !own->list ? liana__fail_memory(error, "the layers") : LIANA_OK;
}

static liana_status build_model(plan *own, liana__error *error)
{
    liana__run *run = own->run;
    const liana_shape shape = run->image_shape[0]
                                  ? liana_shape_of(run->image_shape[0], run->image_shape[1], run->image_shape[2])
                                  : run->input_shape;
    LIANA_TRY(liana_model_create(run->context, "found", &own->model));
    if (liana__model_from_layers(own->model, own->list, "model.layers", &shape) != LIANA_OK) {
        *error = own->model->error;
        return error->status;
    }
    const size_t count = own->model->num_layers, first = count - own->list->count;
    own->layers = liana__arena_allocate(&run->arena, (count + 1) * sizeof *own->layers);
    if (!own->layers) return liana__fail_memory(error, "the layers");
    for (size_t i = 0; i < own->list->count; i++) own->layers[first + i] = own->list->items[i];
    return liana__run_match_inputs(run, own->model, run->training.source, &own->match, error);
}

/* ---- one layer ---- */

static liana_status may_go_on(const liana__run *run, uint64_t done, liana__error *error)
{
    enum { BETWEEN_LOOKS = 256 };
    if (done % BETWEEN_LOOKS != 0 || !liana__waiting_stops(run->context)) return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED,
                       "stopped on request after %llu of %llu training examples; the same command begins again",
                       (unsigned long long)done, (unsigned long long)run->training.source->num_records);
}

/* The component that the layer reads; num_components: the data have none of that name. */
static size_t place_of(const plan *own, size_t layer, const liana__layer_node **input)
{
    const liana_model *model = own->model;
    const liana__source *source = own->run->training.source;
    size_t node = 0, which = 0, place = 0;
    while (model->nodes[node].layer != layer) node++;
    *input = &model->nodes[model->nodes[node].inputs[0]];
    while (model->inputs[which] != model->nodes[node].inputs[0]) which++;
    const char *name = own->match.inputs[which].name;
    while (place < source->num_components && strcmp(source->components[place].name, name ? name : "") != 0) place++;
    return place;
}

static liana_status add_record(liana__adaptation *found, const liana_component *component,
                               const liana_source_record *record, size_t place, liana__error *error)
{
    const int64_t size = liana_shape_size(&component->shape);
    if (!found->type->texts) {
        return liana__adaptation_add_numbers(found, (liana_dtype)component->dtype, record->values[place], size, error);
    }
    LIANA__SCOPED_MEMORY liana_bytes *texts = malloc((size_t)size * sizeof *texts + 1);
    LIANA__SCOPED_MEMORY char *digits = malloc((size_t)size * LIANA__LONGEST_NUMBER + 1);
    if (!texts || !digits) return liana__fail_memory(error, "texts of numbers");
    const liana__given_texts given = {component->dtype, record->values[place]};
    liana__texts_of(&given, size, texts, digits);
    return liana__adaptation_add_texts(found, texts, error);
}

static liana_status add_records(const plan *own, liana__adaptation *found, size_t place, liana__error *error)
{
    const liana__source *source = own->run->training.source;
    const liana_component *component = &source->components[place];
    void *scratch = liana__source_scratch_create(source);
    liana_status status = scratch ? LIANA_OK : liana__fail_memory(error, "the records");
    for (uint64_t i = 0; status == LIANA_OK && i < source->num_records; i++) {
        liana_source_record record;
        status = may_go_on(own->run, i, error);
        if (status == LIANA_OK) status = liana__source_read(source, i, scratch, &record, error);
        if (status != LIANA_OK) break;
        status = add_record(found, component, &record, place, error);
        if (status == LIANA_OK) continue;
        liana__fail_within(error, "column '%.100s'", component->name);
        liana__source_fail_within(source, i, &record, error);
    }
    if (scratch) liana__source_scratch_destroy(source, scratch);
    return status;
}

/* Whether the component's values are those that the layer reads. */
static liana_status check_component(const plan *own, size_t layer, const liana__layer_node *input, size_t place,
                                    liana__error *error)
{
    const liana__source *source = own->run->training.source;
    const bool needs_texts = own->model->layers[layer].type->texts != NULL;
    if (source->streams) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the data are a stream, in which nothing is found before the training; give its %s",
                           needs_texts ? "vocabulary" : "bin_boundaries");
    }
    if (place == source->num_components) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "it reads images or labels, in which it has nothing to find");
    }
    const liana_component *component = &source->components[place];
    const bool fits = needs_texts ? liana__dtype_has_texts(component->dtype) : component->dtype != LIANA_STRING;
    if (fits && liana_shape_size(&component->shape) == liana_shape_size(&input->shape)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "the component '%.100s' is %s, expected %lld %s", component->name,
                       liana__component_describe(component).text, (long long)liana_shape_size(&input->shape),
                       needs_texts ? "texts or whole numbers" : "numbers");
}

static liana__text_inputs texts_of(const liana_model *model, const liana__layer_node *input)
{
    const liana_input_options *options = model->layers[input->layer].options;
    liana__text_inputs made = {.shape = {.rank = input->shape.rank - 1},
                               .count = 1,
                               .has_numbers = {options->dtype != LIANA_STRING}};
    for (int i = 0; i < made.shape.rank; i++) made.shape.dims[i] = input->shape.dims[i + 1];
    return made;
}

/* The options of an entry, which becomes a map if it is a word. NULL: out of memory. */
static liana__value *options_of(liana__run *run, liana__value *value)
{
    const entry item = entry_of(run, value);
    if (item.options) return item.options;
    liana__value *options = liana__value_map(&run->arena), *map = liana__value_map(&run->arena);
    if (!options || !map) return NULL;
    options->place = map->place = value->place;
    liana__value_append(&run->arena, map, item.type->part.name, &value->place, options);
    *value = *map;
    return options;
}

/* Puts what was found into the layer's entry. */
static liana_status keep(const plan *own, size_t layer, const liana__value *found, liana__error *error)
{
    liana__value *options = options_of(own->run, own->layers[layer]);
    if (!options) return liana__fail_memory(error, "the layers");
    for (size_t i = 0; i < found->count; i++) {
        liana__value_set(&own->run->arena, options, found->keys[i], found->items[i]);
    }
    return own->run->arena.failed ? liana__fail_memory(error, "the layers") : LIANA_OK;
}

static liana_status find_options(const plan *own, size_t layer, liana__error *error)
{
    const liana__layer *item = &own->model->layers[layer];
    const liana__layer_node *input;
    const size_t place = place_of(own, layer, &input);
    const liana__text_inputs texts = texts_of(own->model, input);
    liana__value *found = liana__value_map(&own->run->arena);
    if (!found) return liana__fail_memory(error, "the layers");
    LIANA_TRY(check_component(own, layer, input, place, error));
    LIANA__SCOPED(liana__adaptation) adaptation = {0};
    LIANA_TRY(liana__adaptation_begin(item->type, item->options, &texts, &adaptation, error));
    LIANA_TRY(add_records(own, &adaptation, place, error));
    LIANA_TRY(liana__adaptation_end(&adaptation, &own->run->arena, found, error));
    LIANA_TRY(keep(own, layer, found, error));
    const liana__source *source = own->run->training.source;
    liana__run_note(own->options, "layer '%s' (%s): %zu %s were found in '%s' of %lld training examples", item->name,
                    item->type->part.name, found->items[0]->count,
                    item->type->texts ? "texts of its vocabulary" : "boundaries of bins",
                    source->components[place].name, (long long)source->num_records);
    return LIANA_OK;
}

/* ---- sizes ---- */

/* The number of a lookup layer's numbers; 0: there is no such layer. */
static int64_t size_of(const plan *own, const char *name)
{
    const int layer = liana__model_find_layer(own->model, name);
    const liana__layer *item = layer < 0 ? NULL : &own->model->layers[layer];
    if (!item || !own->layers[layer]) return 0;
    const entry found = entry_of(own->run, own->layers[layer]);
    const liana__value *list = found.options ? liana__value_get(found.options, "vocabulary") : NULL;
    const liana__value *boundaries = found.options ? liana__value_get(found.options, "bin_boundaries") : NULL;
    if (boundaries) return (int64_t)boundaries->count + 1;
    if (!list || !item->type->texts) return 0;
    size_t node = 0;
    while (own->model->nodes[node].layer != (size_t)layer) node++;
    const liana__lookup *lookup = item->type->texts->lookup(own->model->nodes[node].text_state);
    /* Before the vocabulary is found, its texts have no numbers. */
    return item->type->to_adapt(item->options) ? lookup->first + (int64_t)list->count : lookup->depth;
}

/* The size of a lookup layer in place of each {vocabulary: LAYER}. */
static void fill_sizes(const plan *own, liana__value *value)
{
    const liana__value *name =
        value->kind == LIANA__VALUE_MAP && value->count == 1 ? liana__value_get(value, "vocabulary") : NULL;
    const int64_t size = name && name->kind == LIANA__VALUE_STRING ? size_of(own, name->string) : 0;
    if (size) {
        *value =
            (liana__value){.kind = LIANA__VALUE_INT, .place = value->place, .integer = size, .number = (double)size};
        return;
    }
    for (size_t i = 0; i < value->count; i++) fill_sizes(own, value->items[i]);
}

static liana_status find_all(plan *own, liana__error *error)
{
    LIANA_TRY(build_model(own, error));
    for (size_t i = 0; i < own->model->num_layers; i++) {
        const liana__layer *layer = &own->model->layers[i];
        if (!layer->type->to_adapt || !layer->type->to_adapt(layer->options)) continue;
        if (find_options(own, i, error) == LIANA_OK) continue;
        return liana__fail_within(error, "layer '%s' (%s)", layer->name, layer->type->part.name);
    }
    fill_sizes(own, (liana__value *)(uintptr_t)own->run->config->model.layers);
    return LIANA_OK;
}

liana_status liana__run_find_options(liana__run *run, const liana__run_options *options, liana__error *error)
{
    plan own = {.run = run, .options = options};
    if (!run->config->model.layers || run->config->model.layers->kind != LIANA__VALUE_LIST) return LIANA_OK;
    if (!options->training || !run->training.source) return LIANA_OK;
    LIANA_TRY(choose_entries(&own, error));
    bool has_any = false;
    for (size_t i = 0; i < own.list->count; i++) {
        const entry item = entry_of(run, own.list->items[i]);
        has_any = has_any || !is_input(&item);
    }
    if (!has_any) return LIANA_OK;
    const liana_status status = find_all(&own, error);
    liana_model_destroy(own.model);
    return status;
}

/* ---- a run that goes on ---- */

/* Sizes of lookup layers, where both trees have the same form. */
static void take_sizes(liana__value *value, const liana__value *kept)
{
    const bool is_size = value->kind == LIANA__VALUE_MAP && value->count == 1 &&
                         strcmp(value->keys[0], "vocabulary") == 0 && kept->kind == LIANA__VALUE_INT;
    if (is_size) {
        const liana__place place = value->place;
        *value = *kept;
        value->place = place;
        return;
    }
    if (value->kind != kept->kind || (value->kind != LIANA__VALUE_MAP && value->kind != LIANA__VALUE_LIST)) return;
    for (size_t i = 0; i < value->count; i++) {
        const liana__value *other = value->kind == LIANA__VALUE_MAP ? liana__value_get(kept, value->keys[i])
                                    : i < kept->count               ? kept->items[i]
                                                                    : NULL;
        if (other) take_sizes(value->items[i], other);
    }
}

liana_status liana__run_take_found_options(liana__run *run, const liana__value *kept, liana__error *error)
{
    static const char *const keys[] = {"vocabulary", "idf_weights", "bin_boundaries"};
    liana__value *layers = (liana__value *)(uintptr_t)run->config->model.layers;
    if (!layers || !kept || layers->kind != LIANA__VALUE_LIST || kept->kind != LIANA__VALUE_LIST) return LIANA_OK;
    for (size_t i = 0; i < layers->count && i < kept->count; i++) {
        const entry own = entry_of(run, layers->items[i]), other = entry_of(run, kept->items[i]);
        if (!own.type || own.type != other.type || !own.type->to_adapt || is_given(&own) || !other.options) continue;
        liana__value *options = options_of(run, layers->items[i]);
        for (size_t k = 0; options && k < sizeof keys / sizeof *keys; k++) {
            const liana__value *found = liana__value_get(other.options, keys[k]);
            if (found) liana__value_set(&run->arena, options, keys[k], liana__value_copy(&run->arena, found));
        }
        if (!options || run->arena.failed) return liana__fail_memory(error, "the layers");
    }
    take_sizes(layers, kept);
    return LIANA_OK;
}
