/* Layers that a program registers. */
#include "ir/graph.h"
#include "ir/own_result.h"
#include "layers/model.h"

#include <string.h>

typedef struct own_layer {
    liana__own_part part;
    liana__layer_type type;
    liana_layer_type given;
} own_layer;

/* The options of layers keep no name, so the part's address is in its place: the program's struct of options, which
 * begins with it, is the internal one. */
typedef struct common_prefix {
    LIANA_LAYER_OPTIONS;
} common_prefix;
_Static_assert(offsetof(common_prefix, name) == 0 && sizeof(char *) == sizeof(liana__own_part *),
               "the address has the place of the name");

static const own_layer *own_of(const void *options)
{
    return (const own_layer *)liana__own_part_of(options);
}

/* ---- what the program's functions call ---- */

void liana_layer_add_weight(liana_layer_build *build, const char *name, liana_shape shape, const char *initializer,
                            bool trainable)
{
    if (!build || !build->internal) return;
    liana__layer_build *inner = build->internal;
    if (inner->status != LIANA_OK) return;
    const liana__layer *layer = &inner->model->layers[inner->layer];
    const size_t count = inner->is_reuse ? inner->checked : layer->num_weights;
    if (!name || !*name || strchr(name, '/') || !initializer) {
        inner->status = liana__fail(inner->error, LIANA_INVALID_ARGUMENT,
                                    "a weight is called '%.60s' and has the initialiser '%.60s', expected a name "
                                    "without '/' and an initialiser such as zeros",
                                    name ? name : "", initializer ? initializer : "");
    } else if (count >= (inner->is_reuse ? layer->num_weights : (size_t)LIANA__MAX_LAYER_WEIGHTS)) {
        inner->status = liana__fail(inner->error, LIANA_INVALID_ARGUMENT, "it has more weights than %s",
                                    inner->is_reuse ? "at its first call" : "the 16 that a layer may have");
    } else {
        const char *copy = liana__arena_string(&inner->model->arena, name);
        if (copy) liana__add_weight(inner, copy, shape, initializer, trainable);
        if (!copy) inner->status = liana__fail_memory(inner->error, "a model's weights");
    }
}

liana_status liana_layer_refuse(liana_layer_build *build, size_t index, const char *expected)
{
    if (!build || !build->internal || !expected) return LIANA_INVALID_ARGUMENT;
    return liana__build_fail(build->internal, index < build->num_inputs ? index : 0, expected);
}

void liana_layer_update_average(liana_layer_forward *call, size_t weight, liana_tensor statistic, double momentum)
{
    if (!call || !call->internal) return;
    liana__layer_call *inner = call->internal;
    liana_graph *graph = call->inputs[0].graph;
    if (liana_graph_status(graph) != LIANA_OK || !inner->training) return;
    const own_layer *own = own_of(inner->options);
    const bool may = inner->num_updates < LIANA__MAX_LAYER_UPDATES && weight < inner->num_weights &&
                     !inner->declared[weight].trainable && momentum >= 0 && momentum <= 1;
    if (!may) {
        liana__graph_fail(
            graph, call->here, LIANA_INVALID_ARGUMENT,
            "the layer '%s': average %zu is of weight %zu with momentum %g, expected at most %d averages, "
            "of untrainable weights, with a momentum from 0 to 1",
            own->part.name, inner->num_updates, weight, momentum, LIANA__MAX_LAYER_UPDATES);
        return;
    }
    const liana_shape shape = liana_tensor_shape(inner->weights[weight]);
    const liana_dtype dtype = liana_tensor_dtype(statistic);
    statistic = liana__own_result(&own->part, "call", statistic, graph, dtype, &shape);
    if (!statistic.id) return;
    inner->updates[inner->num_updates++] = (liana__layer_update){.weight = weight,
                                                                 .statistic = statistic,
                                                                 .momentum = momentum,
                                                                 .about = LIANA__NO_WEIGHT};
}

/* ---- what liana calls ---- */

static liana_status declare_weights(liana__layer_build *build)
{
    const own_layer *own = own_of(build->options);
    liana_layer_build given = {liana__own_options_of(&own->part, build->options), build->inputs, build->num_inputs,
                               build};
    liana_status status = own->given.weights(&given);
    if (build->status != LIANA_OK || status == LIANA_OK) return build->status;
    build->status = liana__fail(build->error, status, "its function 'weights' returned %s", liana_status_name(status));
    return status;
}

static liana_tensor call_layer(liana__layer_call *call)
{
    const own_layer *own = own_of(call->options);
    liana_layer_forward given = {
        .here = call->here,
        .options = liana__own_options_of(&own->part, call->options),
        .inputs = call->inputs,
        .masks = call->masks,
        .num_inputs = call->num_inputs,
        .dtype = call->dtype,
        .weights = call->weights,
        .training = call->training,
        .positions = call->positions,
        .seed = call->seed,
        .salt = call->salt,
        .internal = call,
    };
    liana_graph *graph = call->inputs[0].graph;
    liana_tensor result = liana__own_result(&own->part, "call", own->given.call(&given), graph, call->dtype, NULL);
    if (own->given.masking == LIANA_MASKING_OWN && given.mask.id) {
        const liana_shape shape = liana_tensor_shape(given.mask);
        call->mask = liana__own_result(&own->part, "call", given.mask, graph, LIANA_BOOL, &shape);
    }
    return result;
}

/* ---- registering ---- */

static liana_status check_type(liana_context *context, own_layer *own)
{
    liana_layer_type *given = &own->given;
    if (!given->call) return liana__own_part_refuse(context, &own->part, "its function 'call' is NULL");
    if (given->min_inputs == 0 && given->max_inputs == 0) given->min_inputs = given->max_inputs = 1;
    if (given->min_inputs == 0 || given->max_inputs < given->min_inputs || given->max_inputs > LIANA_MAX_LAYER_INPUTS) {
        return liana__own_part_refuse(context, &own->part, "it takes %zu to %zu inputs, expected numbers from 1 to %d",
                                      given->min_inputs, given->max_inputs, LIANA_MAX_LAYER_INPUTS);
    }
    if ((unsigned)given->masking > LIANA_MASKING_OWN) {
        return liana__own_part_refuse(context, &own->part, "its masking is of the unknown kind %d",
                                      (int)given->masking);
    }
    const size_t smallest = given->max_inputs > 1 ? sizeof(liana_merge_options) : sizeof(liana_plain_layer_options);
    if (own->part.options.size < smallest) {
        return liana__own_part_refuse(context, &own->part,
                                      "its struct of options has %zu bytes, expected one that begins with %s",
                                      own->part.options.size,
                                      given->max_inputs > 1 ? "LIANA_MERGE_OPTIONS" : "LIANA_LAYER_OPTIONS");
    }
    for (size_t i = 0; i < own->part.options.count; i++) {
        if (own->part.options.items[i].offset >= smallest) continue;
        return liana__own_part_refuse(context, &own->part,
                                      "its option '%s' lies within the first %zu bytes, which are %s",
                                      own->part.options.items[i].name, smallest,
                                      given->max_inputs > 1 ? "LIANA_MERGE_OPTIONS" : "LIANA_LAYER_OPTIONS");
    }
    return LIANA_OK;
}

liana_status liana_register_layer(liana_context *context, const liana_layer_type *type)
{
    static const liana__masking masking[] = {
        [LIANA_MASKING_DROPPED] = LIANA__MASK_DROPPED,
        [LIANA_MASKING_KEPT] = LIANA__MASK_KEPT,
        [LIANA_MASKING_OWN] = LIANA__MASK_OWN,
    };
    static const char *const reserved[] = {"trainable", "inputs", "input", "dtype", "data_format", NULL};
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, type);
    own_layer *own = liana__own_part_allocate(context, sizeof *own);
    if (!own) return LIANA_OUT_OF_MEMORY;
    const liana__own_request request = {.kind = LIANA__PART_LAYER,
                                        .given = type,
                                        .size = sizeof *type,
                                        .reserved = reserved};
    LIANA_TRY(liana__own_part_begin(context, &request, &own->part, &own->given));
    LIANA_TRY(check_type(context, own));
    own->type = (liana__layer_type){
        .name = own->part.name,
        .doc = own->part.doc,
        .options = &own->part.options,
        .own = &own->part,
        .min_inputs = own->given.min_inputs,
        .max_inputs = own->given.max_inputs,
        .takes_integers = own->given.takes_integers,
        .reads_training = true,
        .masking = masking[own->given.masking],
        .weights = own->given.weights ? declare_weights : NULL,
        .call = call_layer,
    };
    return liana__own_part_add(context, &own->part, liana__layer_find(NULL, own->part.name, NULL) != NULL, &own->type);
}
