/* The list of layers, and checks that several of them make. */
#include "base/format.h"
#include "base/scoped.h"
#include "ir/graph.h"
#include "ir/part_result.h"
#include "ir/shape.h"
#include "layers/activations.h"
#include "layers/initializers.h"
#include "layers/model.h"

#include <liana/layers/merging.h>

#include <stdio.h>
#include <string.h>

static const liana_option common_rows[] = {
    LIANA_OPTION_ROW(liana__layer_common_options, name, STRING,
                     .doc = "the layer's name in weight files and messages; default as in Keras, such as conv2d_1"),
    LIANA_OPTION_ROW(liana__layer_common_options, trainable, BOOL, .default_text = "true",
                     .doc = "whether training changes the layer's weights"),
    LIANA_OPTION_ROW(liana__layer_common_options, training, BOOL, .default_text = "true",
                     .doc = "false: the layer computes as in inference also in training (Keras's call with "
                            "training=False)"),
};
const liana_options liana__layer_common = LIANA__FIELD_TABLE("layer", liana__layer_common_options, common_rows);

const char *const liana__keras2_masks[] = {LIANA__MASK_WITH_STATES, LIANA__MASKS_OF_KERAS2, NULL};
const char *const liana__padding_names[] = {"valid", "same", NULL};
_Static_assert(LIANA_PADDING_VALID == 0 && LIANA_PADDING_SAME == 1, "liana__padding_names follows liana_padding");

typedef struct merge_prefix {
    LIANA_MERGE_OPTIONS;
} merge_prefix;

/* Each layer's struct of options begins with these. */
static size_t common_size(const liana_layer_type *layer)
{
    return layer->max_inputs > 1 ? sizeof(merge_prefix) : sizeof(liana_plain_layer_options);
}

static size_t count_slots(const liana_layer_type *layer)
{
    size_t count = 0;
    while (liana__argument_of_slot(layer, count)) count++;
    return count;
}

static liana_status accept(liana_context *context, liana_part *part)
{
    liana_layer_type *layer = (liana_layer_type *)part;
    LIANA_TRY(liana__part_needs(context, part, layer->call || layer->texts, "call"));
    if (layer->min_inputs == 0 && layer->max_inputs == 0) layer->min_inputs = layer->max_inputs = 1;
    if (layer->min_inputs == 0 || layer->max_inputs < layer->min_inputs || layer->max_inputs > LIANA_MAX_LAYER_INPUTS) {
        return liana__part_refuse(context, part, "it takes %zu to %zu inputs, expected numbers from 1 to %d",
                                  layer->min_inputs, layer->max_inputs, LIANA_MAX_LAYER_INPUTS);
    }
    if (layer->arguments && count_slots(layer) != layer->max_inputs) {
        return liana__part_refuse(context, part, "its arguments have %zu inputs, expected %zu, its max_inputs",
                                  count_slots(layer), layer->max_inputs);
    }
    if ((unsigned)layer->masking > LIANA_MASKING_OWN || (unsigned)layer->sums > LIANA_SUMS_KEPT_BY_DOING_NOTHING) {
        return liana__part_refuse(context, part, "its masking or its sums are of an unknown kind");
    }
    const char *first = layer->max_inputs > 1 ? "LIANA_MERGE_OPTIONS" : "LIANA_LAYER_OPTIONS";
    if (part->options.size < common_size(layer)) {
        return liana__part_refuse(context, part,
                                  "its struct of options has %zu bytes, expected one that begins with %s",
                                  part->options.size, first);
    }
    for (size_t i = 0; i < part->options.count; i++) {
        if (part->options.items[i].offset >= common_size(layer)) continue;
        return liana__part_refuse(context, part, "its option '%s' lies within the first %zu bytes, which are %s",
                                  part->options.items[i].name, common_size(layer), first);
    }
    return LIANA_OK;
}

static const liana_part *const list[] = {
#define LIANA__LAYER(stem, name) &liana__layer_##name.part,
#include "layers/layers.def"
#undef LIANA__LAYER
    NULL,
};

static const char *const reserved[] = {"trainable", "inputs", "input", "dtype", NULL};

const liana__kind liana__layer_kind = {.kind = LIANA_PART_LAYER,
                                       .size = sizeof(liana_layer_type),
                                       .builtin = list,
                                       .reserved = reserved,
                                       .accept = accept};

liana_tensor liana__layer_join_masks(const liana_layer_type *type, const liana_layer_call *call)
{
    liana_tensor mask = call->masks[0];
    for (size_t i = 1; i < call->num_inputs && mask.id && !type->arguments; i++) {
        const liana_shape shape = liana_tensor_shape(mask), own = liana_tensor_shape(call->masks[i]);
        if (call->masks[i].id && own.rank != shape.rank) {
            liana__graph_fail(call->inputs[0].graph, call->here, LIANA_INVALID_ARGUMENT,
                              "%s: found masks of shapes %s and %s, which cannot be joined; expected inputs with one "
                              "number of axes, or without masks",
                              type->part.name, liana__shape_print(&shape).text, liana__shape_print(&own).text);
            return (liana_tensor){call->inputs[0].graph, 0};
        }
        mask = call->masks[i].id ? liana_op_logical_or_at(call->here, mask, call->masks[i]) : call->masks[i];
    }
    return mask;
}

/* Averages are of untrainable weights, with a statistic of their shape. */
static void check_update(const liana_layer_type *type, const liana_layer_call *call, const liana_layer_update *update)
{
    liana_graph *graph = call->inputs[0].graph;
    const size_t weight = update->weight;
    const bool is_known = type->reads_training && weight < call->num_weights &&
                          (!update->is_variance || update->mean < call->num_weights) && update->momentum >= 0 &&
                          update->momentum <= 1 && !(call->declared && call->declared[weight].trainable);
    if (graph->status == LIANA_OK && !is_known) {
        liana__graph_fail(
            graph, call->here, LIANA_INVALID_ARGUMENT,
            "the layer '%s': an average is of weight %zu with momentum %g, expected an untrainable weight "
            "and a momentum from 0 to 1, in a type with reads_training",
            type->part.name, weight, update->momentum);
    }
    if (graph->status != LIANA_OK) return;
    const liana_shape shape = liana_tensor_shape(call->weights[weight]);
    (void)liana__part_result(&type->part, "call", update->statistic, graph, liana_tensor_dtype(update->statistic),
                             &shape);
}

/* Checks the results of a layer. */
static liana_tensor look_at(const liana_layer_type *type, liana_layer_call *call, liana_tensor result)
{
    liana_graph *graph = call->inputs[0].graph;
    result = liana__part_result(&type->part, "call", result, graph, call->dtype, NULL);
    if (type->masking == LIANA_MASKING_OWN && call->mask.id) {
        const liana_shape shape = liana_tensor_shape(call->mask);
        call->mask = liana__part_result(&type->part, "call", call->mask, graph, LIANA_BOOL, &shape);
    }
    if (call->num_updates > LIANA_MAX_LAYER_UPDATES) {
        liana__graph_fail(graph, call->here, LIANA_INVALID_ARGUMENT, "the layer '%s': it has %zu averages, expected %d",
                          type->part.name, call->num_updates, LIANA_MAX_LAYER_UPDATES);
        call->num_updates = 0;
    }
    for (size_t i = 0; i < call->num_updates; i++) check_update(type, call, &call->updates[i]);
    if (call->num_more > LIANA_MAX_MORE_RESULTS) {
        liana__graph_fail(graph, call->here, LIANA_INVALID_ARGUMENT,
                          "the layer '%s': it has %zu results after the first, expected at most %d", type->part.name,
                          call->num_more, LIANA_MAX_MORE_RESULTS);
        call->num_more = 0;
    }
    for (size_t i = 0; i < call->num_more; i++) {
        call->more[i] = liana__part_result(&type->part, "call", call->more[i], graph, call->dtype, NULL);
    }
    return result;
}

/* A mask that came as an input: what is not 0 counts. */
static liana_tensor mask_of(liana_location here, liana_tensor given)
{
    const liana_dtype dtype = liana_tensor_dtype(given);
    if (dtype == LIANA_BOOL) return given;
    return liana_op_not_equal_at(here, given, liana_graph_scalar_at(here, given.graph, dtype, 0));
}

liana_tensor liana__layer_invoke(const liana_layer_type *type, liana_layer_call *call)
{
    static const liana_tensor no_masks[LIANA_MAX_LAYER_INPUTS];
    liana_tensor converted[LIANA_MAX_LAYER_INPUTS];
    const liana_tensor *given = call->inputs;
    call->type = type;
    for (size_t i = 0; i < call->num_inputs; i++) {
        const char *argument = liana__argument_of_slot(type, i);
        converted[i] = given[i];
        if (argument && !given[i].id) continue;
        if (argument && liana__argument_is_mask(argument)) {
            converted[i] = mask_of(call->here, given[i]);
        } else if (!type->takes_integers && !liana__dtype_computes(liana_tensor_dtype(given[i]))) {
            converted[i] = liana_op_cast_at(call->here, given[i], call->dtype);
        }
    }
    call->inputs = converted;
    if (!call->masks) call->masks = no_masks;
    /* So a type that reads it says so, and can be told to compute as in inference. */
    if (!type->reads_training) call->training = false;
    liana_tensor result = look_at(type, call, type->call(call));
    call->inputs = given;
    if (type->masking == LIANA_MASKING_KEPT) call->mask = liana__layer_join_masks(type, call);
    if (type->masking == LIANA_MASKING_DROPPED) call->mask = (liana_tensor){0};
    return result;
}

const liana_held_layer *liana__held_next(const liana_layer_type *type, const void *options, size_t *next,
                                         const liana_option **option)
{
    size_t number = 0;
    for (size_t i = 0; i < type->part.options.count; i++) {
        const liana_option *row = &type->part.options.items[i];
        if (row->kind != LIANA_OPTION_LAYER && row->kind != LIANA_OPTION_LAYERS) continue;
        const void *member = (const char *)options + row->offset;
        const liana_held_layers *several = row->kind == LIANA_OPTION_LAYERS ? member : NULL;
        const liana_held_layer *items = several ? several->items : member;
        const size_t count = several ? several->count : items->type != NULL;
        if (*next < number + count) {
            if (option) *option = row;
            return &items[(*next)++ - number];
        }
        number += count;
    }
    return NULL;
}

bool liana__layer_keeps_shards_apart(const liana_layer_type *type, const void *options)
{
    const liana_held_layer *held;
    bool keeps = type->keeps_shards_apart;
    for (size_t next = 0; keeps && (held = liana__held_next(type, options, &next, NULL)) != NULL;) {
        keeps = liana__layer_keeps_shards_apart(held->type, held->options);
    }
    return keeps;
}

const char *liana__layer_whole_batch(const liana_layer_type *type, const void *options, bool trainable)
{
    const liana_held_layer *held;
    const char *what = type->whole_batch ? type->whole_batch(options, trainable) : NULL;
    for (size_t next = 0; !what && (held = liana__held_next(type, options, &next, NULL)) != NULL;) {
        if (held->inference) continue;
        what = liana__layer_whole_batch(held->type, held->options, trainable && !held->frozen);
    }
    return what;
}

liana_status liana__check_activation(liana_check *check, const char *option, const char *text)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__activation activation;
    liana__error reason = {0};
    const liana_status status = liana__activation_read(check->context, text, &arena, &activation, &reason);
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_memory(check->error, option);
    return status == LIANA_OK ? LIANA_OK : liana_option_refuse(check, option, "%s", reason.message);
}

liana_status liana_layer_refuse(liana_layer_build *build, size_t index, const char *expected)
{
    if (!build || !build->model || !expected) return LIANA_INVALID_ARGUMENT;
    if (build->status != LIANA_OK) return build->status;
    liana_shape shape = build->inputs[index < build->num_inputs ? index : 0];
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "[batch");
    for (int i = 1; i < shape.rank; i++) liana__text_add(&text, ", %lld", (long long)shape.dims[i]);
    return build->status = liana__fail(build->error, LIANA_INVALID_ARGUMENT, "found an input of shape %s], expected %s",
                                       text.data ? text.data : "[", expected);
}

liana_status liana__build_images(liana_layer_build *build)
{
    if (build->inputs[0].rank == 4) return LIANA_OK;
    return liana_layer_refuse(build, 0, "images: [batch, height, width, channels]");
}
