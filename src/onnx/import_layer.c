/* Layers that the import adds to the model, their names and the values of their weights. */
#include "base/part.h"
#include "onnx/import_internal.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ---- options ---- */

liana__import_options liana__import_options_new(liana__import *own)
{
    return (liana__import_options){own, liana__value_map(&own->arena)};
}

static void set(const liana__import_options *options, const char *name, liana__value *value)
{
    if (options->map) liana__value_set(&options->own->arena, options->map, name, value);
}

void liana__import_set_int(const liana__import_options *options, const char *name, int64_t value)
{
    set(options, name, liana__value_int(&options->own->arena, value));
}

void liana__import_set_float(const liana__import_options *options, const char *name, double value)
{
    set(options, name, liana__value_float(&options->own->arena, value));
}

void liana__import_set_bool(const liana__import_options *options, const char *name, bool value)
{
    set(options, name, liana__value_bool(&options->own->arena, value));
}

void liana__import_set_text(const liana__import_options *options, const char *name, const char *value)
{
    set(options, name, liana__value_string(&options->own->arena, value));
}

void liana__import_set_ints(const liana__import_options *options, const char *name, const int64_t *values, int count)
{
    liana__arena *arena = &options->own->arena;
    liana__value *list = liana__value_list(arena);
    for (int i = 0; list && i < count; i++) liana__value_add(arena, list, liana__value_int(arena, values[i]));
    set(options, name, list);
}

/* ---- names ---- */

/* Names of PyTorch's modules repeat those around them: "layer1/layer1.0/conv1" is "layer1.0.conv1". */
static void join_scopes(char *name)
{
    char *from = name, *to = name;
    while (*from) {
        const size_t length = strcspn(from, "/");
        const char *next = from[length] ? from + length + 1 : NULL;
        const bool is_repeated = next && strncmp(next, from, length) == 0 && next[length] == '.';
        if (!is_repeated) {
            if (to != name) *to++ = '.';
            memmove(to, from, length);
            to += length;
        }
        from += length + (from[length] == '/');
    }
    *to = 0;
}

/* "/layer1/layer1.0/conv1/Conv" -> "layer1.0.conv1"; "" if the name says nothing but the operator. */
static const char *node_stem(liana__import *own, const liana__import_node *node)
{
    char name[160];
    const char *begin = node->name + strspn(node->name, "/");
    if (liana__starts_with(begin, "node_")) begin += 5;
    snprintf(name, sizeof name, "%s", begin);
    char *last = strrchr(name, '/');
    if (last) *last = 0;
    const size_t length = strlen(node->op);
    const bool is_bare = !last && strncmp(name, node->op, length) == 0 && !isalpha((unsigned char)name[length]);
    if (is_bare) return "";
    join_scopes(name);
    return liana__arena_string(&own->arena, name);
}

const char *liana__import_stem(liana__import *own, const liana__import_constant *weight)
{
    static const char *const endings[] = {".weight", ".bias", "_weight", ".kernel"};
    const char *name = weight ? weight->name : NULL;
    for (size_t i = 0; name && i < sizeof endings / sizeof *endings; i++) {
        const size_t length = strlen(name), end = strlen(endings[i]);
        if (length > end && length < 160 && strcmp(name + length - end, endings[i]) == 0) {
            return liana__arena_format(&own->arena, "%.*s", (int)(length - end), name);
        }
    }
    return NULL;
}

/* A name that layers may have, and that is free; NULL: Keras's automatic one. */
static const char *layer_name(liana__import *own, const liana__import_node *node, const char *stem)
{
    if (!stem) stem = node_stem(own, node);
    char *name = stem && *stem ? liana__arena_string(&own->arena, stem) : NULL;
    for (char *at = name; at && *at; at++) {
        if ((unsigned char)*at <= ' ' || *at == '/' || *at == ':' || *at == 0x7f) *at = '_';
    }
    return name ? liana__model_free_name(own->model, name, false) : NULL;
}

/* ---- layers ---- */

static liana_status take_error(const liana__import *own, const liana__import_node *node)
{
    const liana__error *found = &own->model->error;
    const size_t length = strlen(own->path);
    const bool is_placed = strncmp(found->message, own->path, length) == 0 && found->message[length] == ':';
    return liana__import_fail(own, node, found->status == LIANA_OUT_OF_MEMORY ? found->status : LIANA_INVALID_DATA,
                              "%.900s", found->message + (is_placed ? length + 2 : 0));
}

liana_status liana__import_add(liana__import *own, const liana__import_node *node, const char *type, const char *stem,
                               const liana__import_options *options, const size_t *inputs, size_t num_inputs,
                               size_t *result)
{
    const char *nearest;
    const liana__layer_request request = {
        .here = own->where,
        .type = liana__part_find(NULL, &liana__layer_kind, type, &nearest),
        .name = layer_name(own, node, stem),
        .inputs = inputs,
        .num_inputs = num_inputs,
        .options = options ? options->map : NULL,
    };
    if (own->arena.failed) return liana__fail_memory(own->error, own->path);
    const liana_layer layer = liana__model_add(own->model, &request);
    if (!layer.id) return take_error(own, node);
    *result = layer.id - 1;
    return LIANA_OK;
}

liana_status liana__import_operation(liana__import *own, const liana__import_node *node, const size_t *inputs,
                                     size_t num_inputs, size_t *result, const char *format, ...)
{
    char *written = NULL;
    va_list arguments;
    va_start(arguments, format);
    const int length = vasprintf(&written, format, arguments);
    va_end(arguments);
    if (length < 0) return liana__fail_memory(own->error, own->path);
    const liana__import_options options = liana__import_options_new(own);
    liana__import_set_text(&options, "function", written);
    free(written);
    return liana__import_add(own, node, "Operation", NULL, &options, inputs, num_inputs, result);
}

liana_status liana__import_again(liana__import *own, const liana__import_node *node, size_t layer, size_t input,
                                 size_t *result)
{
    const liana__layer_request request = {.here = own->where, .inputs = &input, .num_inputs = 1};
    const liana_layer made = liana__model_reuse(own->model, layer, &request);
    if (!made.id) return take_error(own, node);
    *result = made.id - 1;
    return LIANA_OK;
}

bool liana__import_find_shared(const liana__import *own, const char *key, size_t *layer)
{
    for (size_t i = 0; i < own->num_shared; i++) {
        if (strcmp(own->shared[i].key, key) != 0) continue;
        *layer = own->shared[i].layer;
        return true;
    }
    return false;
}

liana_status liana__import_share(liana__import *own, const char *key, size_t result)
{
    if (!liana__grow(&own->shared, own->num_shared, &own->shared_capacity, sizeof *own->shared)) {
        return liana__fail_memory(own->error, own->path);
    }
    own->shared[own->num_shared++] = (liana__import_shared){key, own->model->nodes[result].layer};
    return LIANA_OK;
}

/* ---- values ---- */

liana_status liana__import_give(liana__import *own, const liana__import_node *node, size_t result, size_t index,
                                float *values)
{
    const size_t layer = own->model->nodes[result].layer;
    if (!values) return LIANA_OK;
    const bool has_room = liana__grow(&own->pending, own->num_pending, &own->pending_capacity, sizeof *own->pending);
    if (!has_room || index >= own->model->layers[layer].num_weights) {
        free(values);
        return has_room ? liana__import_fail(own, node, LIANA_INTERNAL, "its layer has no weight %zu", index)
                        : liana__fail_memory(own->error, own->path);
    }
    own->pending[own->num_pending++] = (liana__import_pending){layer, index, values};
    return LIANA_OK;
}

liana_status liana__import_permuted(liana__import *own, liana__import_constant *constant, const int *order,
                                    float **values)
{
    *values = NULL;
    if (own->options->without_values) return LIANA_OK;
    const float *from = liana__import_floats(own, constant);
    if (!from) return own->error->status;
    int64_t strides[LIANA_MAX_RANK], stride = 1, index[LIANA_MAX_RANK] = {0};
    for (int i = constant->rank - 1; i >= 0; i--) {
        strides[i] = stride;
        stride *= constant->dims[i];
    }
    float *made = malloc(((size_t)constant->count + 1) * sizeof *made);
    if (!made) return liana__fail_memory(own->error, own->path);
    int64_t place = 0;
    for (int64_t i = 0; i < constant->count; i++) {
        made[i] = from[place];
        for (int axis = constant->rank - 1; axis >= 0; axis--) {
            place += strides[order[axis]];
            if (++index[axis] < constant->dims[order[axis]]) break;
            place -= strides[order[axis]] * constant->dims[order[axis]];
            index[axis] = 0;
        }
    }
    *values = made;
    return LIANA_OK;
}
