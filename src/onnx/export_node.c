/* Names, nodes and attributes of an ONNX file. */
#include "onnx/export.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

liana_status liana__onnx_fail(liana__onnx_export *file, liana_status status, const char *format, ...)
{
    va_list arguments;
    if (file->status != LIANA_OK) return file->status;
    va_start(arguments, format);
    file->status = liana__fail_list(file->error, status, format, arguments);
    va_end(arguments);
    return file->status;
}

void *liana__onnx_allocate(liana__onnx_export *file, size_t size)
{
    void *memory = liana__arena_allocate(file->arena, size ? size : 1);
    if (!memory) liana__onnx_fail(file, LIANA_OUT_OF_MEMORY, "out of memory for the ONNX file");
    return memory;
}

void liana__onnx_append(liana__onnx_export *file, liana__onnx_list *list, void *item)
{
    if (!item) return;
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 16;
        void **items = liana__onnx_allocate(file, capacity * sizeof *items);
        if (!items) return;
        if (list->count) memcpy(items, list->items, list->count * sizeof *items);
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
}

/* ---- names ---- */

static size_t hash_of(const char *name)
{
    uint64_t hash = UINT64_C(14695981039346656037); /* FNV-1a */
    for (; *name; name++) hash = (hash ^ (uint8_t)*name) * UINT64_C(1099511628211);
    return (size_t)hash;
}

size_t liana__onnx_name_place(const liana__onnx_export *file, const char *name)
{
    size_t at = hash_of(name) & (file->name_capacity - 1);
    while (file->names[at] && strcmp(file->names[at], name) != 0) at = (at + 1) & (file->name_capacity - 1);
    return at;
}

static bool make_room(liana__onnx_export *file)
{
    if (2 * (file->num_names + 1) <= file->name_capacity) return true;
    const char **old = file->names;
    const size_t count = file->name_capacity, capacity = count ? 2 * count : 256;
    const char **names = liana__onnx_allocate(file, capacity * sizeof *names);
    if (!names) return false;
    file->names = names;
    file->name_capacity = capacity;
    for (size_t i = 0; i < count; i++) {
        if (old[i]) names[liana__onnx_name_place(file, old[i])] = old[i];
    }
    return true;
}

const char *liana__onnx_free_name(liana__onnx_export *file, const char *wanted)
{
    if (!make_room(file)) return "";
    const char *name = liana__arena_string(file->arena, wanted);
    for (int number = 1; name && file->names[liana__onnx_name_place(file, name)]; number++) {
        name = liana__arena_format(file->arena, "%s_%d", wanted, number);
    }
    if (!name) {
        liana__onnx_fail(file, LIANA_OUT_OF_MEMORY, "out of memory for the ONNX file");
        return "";
    }
    file->names[liana__onnx_name_place(file, name)] = name;
    file->num_names++;
    return name;
}

const char *liana__onnx_layer_of(const liana__onnx_scope *scope, const liana__node *node)
{
    const char *layer = scope->layers && node ? scope->layers[node->id] : scope->layer;
    return layer ? layer : "model";
}

/* ---- refusals ---- */

const char *liana__onnx_refuse(liana__onnx_scope *scope, const liana__node *node, const char *format, ...)
{
    enum { MOST_NAMED = 12 };
    liana__onnx_export *file = scope->file;
    char text[256], line[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    snprintf(line, sizeof line, "\n  layer '%s': %s", liana__onnx_layer_of(scope, node), text);
    /* One layer may have the same fault many times. */
    if (file->faults.data && strstr(file->faults.data, line)) return "";
    if (file->num_faults++ < MOST_NAMED) liana__text_add(&file->faults, "%s", line);
    return "";
}

/* ---- nodes ---- */

static Liana__Onnx__Attribute *make_attribute(liana__onnx_export *file, const liana__onnx_attribute *given)
{
    Liana__Onnx__Attribute *made = liana__onnx_allocate(file, sizeof *made);
    if (!made) return NULL;
    liana__onnx__attribute__init(made);
    made->name = liana__arena_string(file->arena, given->name);
    made->has_type = true;
    made->type = given->type;
    made->has_i = given->type == LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__INT;
    made->i = given->integer;
    made->has_f = given->type == LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__FLOAT;
    made->f = (float)given->number;
    made->g = given->graph;
    if (given->text && given->type == LIANA__ONNX__ATTRIBUTE__ATTRIBUTE_TYPE__STRINGS) {
        made->strings = liana__onnx_allocate(file, sizeof *made->strings);
        made->n_strings = made->strings != NULL;
        if (made->strings) *made->strings = (ProtobufCBinaryData){strlen(given->text), (uint8_t *)given->text};
    } else if (given->text) {
        made->has_s = true;
        made->s = (ProtobufCBinaryData){strlen(given->text), (uint8_t *)given->text};
    }
    made->n_ints = given->num_ints;
    if (given->num_ints) {
        made->ints = liana__arena_copy(file->arena, given->ints, given->num_ints * sizeof *given->ints);
        if (!made->ints) made->n_ints = 0;
    }
    return made;
}

static size_t count_names(const char *const *names)
{
    size_t count = 0;
    while (names && names[count]) count++;
    return count;
}

/* The names themselves are in the arena, or static. */
static char **copy_names(liana__onnx_export *file, const char *const *names, size_t count)
{
    char **copy = liana__onnx_allocate(file, count * sizeof *copy);
    for (size_t i = 0; copy && i < count; i++) copy[i] = (char *)names[i];
    return copy;
}

void liana__onnx_say_many(liana__onnx_scope *scope, const liana__node *node, const char *type,
                          const char *const *inputs, const liana__onnx_attribute *attributes, const char **outputs,
                          size_t num_outputs)
{
    liana__onnx_export *file = scope->file;
    liana__onnx_list made = {0};
    Liana__Onnx__Node *say = liana__onnx_allocate(file, sizeof *say);
    for (size_t i = 0; i < num_outputs; i++) outputs[i] = "";
    if (!say || file->status != LIANA_OK) return;
    liana__onnx__node__init(say);
    const char *wanted = liana__arena_format(file->arena, "%s/%s", liana__onnx_layer_of(scope, node), type);
    for (size_t i = 0; i < num_outputs; i++) outputs[i] = liana__onnx_free_name(file, wanted ? wanted : "");
    say->name = (char *)outputs[0];
    say->op_type = liana__arena_string(file->arena, type);
    say->n_input = count_names(inputs);
    while (say->n_input && !*inputs[say->n_input - 1]) say->n_input--; /* optional ones at the end */
    say->input = copy_names(file, inputs, say->n_input);
    say->n_output = num_outputs;
    say->output = copy_names(file, outputs, num_outputs);
    for (size_t i = 0; attributes && attributes[i].name; i++) {
        liana__onnx_append(file, &made, make_attribute(file, &attributes[i]));
    }
    say->n_attribute = made.count;
    say->attribute = (Liana__Onnx__Attribute **)made.items;
    if (say->input && say->output && say->op_type) liana__onnx_append(file, &scope->nodes, say);
    if (file->arena->failed) liana__onnx_fail(file, LIANA_OUT_OF_MEMORY, "out of memory for the ONNX file");
}

const char *liana__onnx_say(liana__onnx_scope *scope, const liana__node *node, const char *type,
                            const char *const *inputs, const liana__onnx_attribute *attributes)
{
    const char *output;
    liana__onnx_say_many(scope, node, type, inputs, attributes, &output, 1);
    return output;
}
