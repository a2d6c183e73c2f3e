/* The names that a program gave the variables of its TensorFlow checkpoint, from the checkpoint's graph of objects. */
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "base/scoped.h"
#include "base/text.h"
#include "formats/tensorflow/tf_checkpoint_internal.h"
#include "formats/tensorflow/varint.h"

#include <stdlib.h>
#include <string.h>

const char liana__tf_graph_key[] = "_CHECKPOINTABLE_OBJECT_GRAPH";
static const char value_end[] = "/.ATTRIBUTES/VARIABLE_VALUE", slot_part[] = "/.OPTIMIZER_SLOT/";

enum { MOST_GRAPH = 1 << 24 };

/* A key of the index, and the name of its variable. */
typedef struct renaming {
    const char *key;
    const char *name;
} renaming;

static int compare_renamings(const void *a, const void *b)
{
    return strcmp(((const renaming *)a)->key, ((const renaming *)b)->key);
}

/* Values of an optimizer or a metric. Keras 3 saves the variables of the model as the optimizer's. */
static bool is_state(const char *key)
{
    static const char own[] = "optimizer/_trainable_variables/", slots[] = "optimizer/";
    if (strstr(key, slot_part) || liana__starts_with(key, "keras_api/metrics/")) return true;
    for (const char *at = strstr(key, slots); at; at = strstr(at + 1, slots)) {
        if ((at == key || at[-1] == '/') && !liana__starts_with(at, own)) return true;
    }
    return false;
}

/* The bytes of a text that is the only element: its length as a varint, the checksum of the length as 32 bits, the
 * text. The variable's checksum is of the length as 32 bits, that checksum, and the text. */
static bool check_text(const liana__tf_variable *variable, const uint8_t *bytes, liana__byte_reader *text)
{
    uint64_t length;
    *text = (liana__byte_reader){bytes, (size_t)variable->size};
    if (!liana__read_varint(text, &length) || text->size < 4 || length != text->size - 4) return false;
    uint8_t number[4];
    liana__store_u32(number, (uint32_t)length);
    const uint32_t of_length = liana__crc32c(number, sizeof number), stored = liana__load_u32(text->data);
    if (stored != liana__crc32c_mask(of_length)) return false;
    uint32_t checksum = liana__crc32c_extend(of_length, text->data, text->size);
    *text = (liana__byte_reader){text->data + 4, (size_t)length};
    return liana__crc32c_mask(checksum) == variable->checksum;
}

static bool has_name(const Liana__Checkpoint__Attribute *attribute)
{
    return strcmp(attribute->name, "VARIABLE_VALUE") == 0 && *attribute->full_name &&
           liana__tf_is_text(attribute->full_name, strlen(attribute->full_name));
}

static liana_status list_names(const Liana__Checkpoint__ObjectGraph *graph, liana__arena *arena, renaming **list,
                               size_t *count, liana__error *error)
{
    size_t most = 0;
    for (size_t i = 0; i < graph->n_nodes; i++) most += graph->nodes[i]->n_attributes;
    *list = malloc((most + 1) * sizeof **list);
    if (!*list) return liana__fail_memory(error, "a graph of objects");
    for (size_t i = 0; i < graph->n_nodes; i++) {
        for (size_t k = 0; k < graph->nodes[i]->n_attributes; k++) {
            const Liana__Checkpoint__Attribute *attribute = graph->nodes[i]->attributes[k];
            if (!has_name(attribute)) continue;
            renaming *one = &(*list)[(*count)++];
            one->key = attribute->checkpoint_key;
            one->name = liana__arena_string(arena, attribute->full_name);
            if (!one->name) return liana__fail_memory(error, "a graph of objects");
        }
    }
    qsort(*list, *count, sizeof **list, compare_renamings);
    return LIANA_OK;
}

/* The key without its end: a path in the graph of objects. NULL: out of memory. */
static const char *path_of(const liana__tf_variable *variable, liana__arena *arena)
{
    const size_t length = strlen(variable->key), end = strlen(value_end);
    if (!liana__ends_with(variable->key, value_end)) return variable->key;
    return liana__arena_format(arena, "%.*s", (int)(length - end), variable->key);
}

/* What an optimizer keeps has no name of the program's: it could be taken for a layer's. */
static const char *name_of(const liana__tf_variable *variable, const renaming *list, size_t count, liana__arena *arena)
{
    const renaming wanted = {.key = variable->key};
    const renaming *found = bsearch(&wanted, list, count, sizeof *list, compare_renamings);
    return found && !variable->is_state ? found->name : path_of(variable, arena);
}

/* The length of the name of what a variable belongs to: "sequential/dense" of "sequential/dense/kernel". */
static size_t owner_length(const liana__tf_variable *variable)
{
    const char *slash = strrchr(variable->name, '/');
    return slash ? (size_t)(slash - variable->name) : 0;
}

static bool same_owner(const liana__tf_variable *a, const liana__tf_variable *b)
{
    const size_t length = owner_length(a);
    return length == owner_length(b) && strncmp(a->name, b->name, length) == 0;
}

/* By owners, then by names, then by keys. */
static int compare_variables(const void *a, const void *b)
{
    const liana__tf_variable *const *one = a, *const *other = b;
    const size_t length = owner_length(*one), other_length = owner_length(*other);
    int order = strncmp((*one)->name, (*other)->name, length < other_length ? length : other_length);
    if (order == 0) order = (length > other_length) - (length < other_length);
    if (order == 0) order = strcmp((*one)->name, (*other)->name);
    return order ? order : strcmp((*one)->key, (*other)->key);
}

static bool same_values(const liana__tf_variable *a, const liana__tf_variable *b)
{
    bool same = a->kind == b->kind && a->size == b->size && a->checksum == b->checksum && a->rank == b->rank;
    for (int axis = 0; same && axis < a->rank; axis++) same = a->shape[axis] == b->shape[axis];
    return same;
}

/* Variables of one name are copies of each other (a SavedModel of Keras 3 has all twice), or those of two models: then
 * the names of that owner say nothing, and each variable has its path. */
static liana_status settle_names(liana__tf_variable **sorted, size_t count, liana__arena *arena, liana__error *error)
{
    size_t end;
    for (size_t begin = 0; begin < count; begin = end) {
        bool same = true;
        for (end = begin + 1; end < count && same_owner(sorted[begin], sorted[end]); end++) {
            sorted[end]->is_copy = strcmp(sorted[end - 1]->name, sorted[end]->name) == 0;
            same = same && (!sorted[end]->is_copy || same_values(sorted[end - 1], sorted[end]));
        }
        for (size_t i = begin; i < end && !same; i++) {
            sorted[i]->is_copy = false;
            sorted[i]->name = path_of(sorted[i], arena);
            if (!sorted[i]->name) return liana__fail_memory(error, "a graph of objects");
        }
    }
    return LIANA_OK;
}

static liana_status read_names(liana__tf_checkpoint *checkpoint, const uint8_t *bytes,
                               const liana__tf_variable *graph_text, liana__tf_variable *variables, liana__error *error)
{
    LIANA__SCOPED(liana__tf_memory) memory = {0};
    LIANA__SCOPED_MEMORY renaming *list = NULL;
    liana__byte_reader text;
    size_t count = 0;
    if (!check_text(graph_text, bytes, &text)) {
        return liana__fail(error, LIANA_DATA_LOSS, "'%s': the graph of objects (%s) is damaged",
                           checkpoint->files[graph_text->file].path, graph_text->key);
    }
    liana__tf_memory_begin(&memory, text.size);
    const Liana__Checkpoint__ObjectGraph *graph =
        liana__checkpoint__object_graph__unpack(&memory.allocator, text.size, text.data);
    if (!graph) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': the graph of objects (%s) is not one", checkpoint->path,
                           graph_text->key);
    }
    LIANA_TRY(list_names(graph, &checkpoint->arena, &list, &count, error));
    LIANA__SCOPED_MEMORY liana__tf_variable **sorted = malloc((checkpoint->num_variables + 1) * sizeof *sorted);
    if (!sorted) return liana__fail_memory(error, checkpoint->path);
    for (size_t i = 0; i < checkpoint->num_variables; i++) {
        variables[i].is_state = is_state(variables[i].key);
        variables[i].name = name_of(&variables[i], list, count, &checkpoint->arena);
        if (!variables[i].name) return liana__fail_memory(error, checkpoint->path);
        sorted[i] = &variables[i];
    }
    qsort(sorted, checkpoint->num_variables, sizeof *sorted, compare_variables);
    return settle_names(sorted, checkpoint->num_variables, &checkpoint->arena, error);
}

liana_status liana__tf_name_variables(liana__tf_checkpoint *checkpoint, liana__tf_variable *variables,
                                      liana__error *error)
{
    const liana__tf_variable *text = NULL;
    for (size_t i = 0; i < checkpoint->num_variables && !text; i++) {
        if (strcmp(variables[i].key, liana__tf_graph_key) == 0) text = &variables[i];
    }
    if (!text || text->num_slices) return LIANA_OK;
    if (text->size > MOST_GRAPH) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "'%s': the graph of objects has %llu bytes, at most %d are read",
                           checkpoint->path, (unsigned long long)text->size, MOST_GRAPH);
    }
    uint8_t *bytes = malloc((size_t)text->size + 1);
    if (!bytes) return liana__fail_memory(error, checkpoint->path);
    liana_status status = liana__tf_read_bytes(checkpoint, text, 0, bytes, (size_t)text->size, error);
    if (status == LIANA_OK) status = read_names(checkpoint, bytes, text, variables, error);
    free(bytes);
    return status;
}
