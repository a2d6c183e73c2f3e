/* Graphs of an ONNX file: what nothing reads is left out; and the file itself. */
#include "base/file.h"
#include "onnx/export.h"

#include <string.h>

static Liana__Onnx__Dimension *make_dimension(liana__onnx_export *file, liana__onnx_size size)
{
    Liana__Onnx__Dimension *made = liana__onnx_allocate(file, sizeof *made);
    if (!made) return NULL;
    liana__onnx__dimension__init(made);
    const bool is_batch = size.per_example == 1 && size.constant == 0;
    if (size.per_example == 0) {
        made->value_case = LIANA__ONNX__DIMENSION__VALUE_DIM_VALUE;
        made->dim_value = size.constant;
    } else if (is_batch) {
        made->value_case = LIANA__ONNX__DIMENSION__VALUE_DIM_PARAM;
        made->dim_param = (char *)"batch";
    }
    return made;
}

Liana__Onnx__ValueInfo *liana__onnx_value_info(liana__onnx_export *file, const char *name, const liana__onnx_type *type)
{
    Liana__Onnx__ValueInfo *info = liana__onnx_allocate(file, sizeof *info);
    Liana__Onnx__Type *kind = liana__onnx_allocate(file, sizeof *kind);
    Liana__Onnx__TensorType *tensor = liana__onnx_allocate(file, sizeof *tensor);
    Liana__Onnx__Shape *shape = liana__onnx_allocate(file, sizeof *shape);
    liana__onnx_list dims = {0};
    if (!info || !kind || !tensor || !shape) return NULL;
    liana__onnx__value_info__init(info);
    liana__onnx__type__init(kind);
    liana__onnx__tensor_type__init(tensor);
    liana__onnx__shape__init(shape);
    for (int i = 0; i < type->rank; i++) liana__onnx_append(file, &dims, make_dimension(file, type->sizes[i]));
    shape->n_dim = dims.count;
    shape->dim = (Liana__Onnx__Dimension **)dims.items;
    tensor->has_elem_type = true;
    tensor->elem_type = liana__onnx_dtype(type->dtype);
    tensor->shape = shape;
    kind->tensor_type = tensor;
    info->name = (char *)name;
    info->type = kind;
    return info;
}

/* ---- names in nodes ---- */

/* Visits the names that a node reads, those of graphs within it too. Graphs lie in each other only as deep as bodies
 * of liana do. */
static void visit_inputs(Liana__Onnx__Node *node, void (*visit)(char **name, void *user), void *user)
{
    for (size_t i = 0; i < node->n_input; i++) visit(&node->input[i], user);
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Liana__Onnx__Graph *graph = node->attribute[i]->g;
        for (size_t k = 0; graph && k < graph->n_node; k++) visit_inputs(graph->node[k], visit, user);
    }
}

typedef struct renaming {
    const char *from, *to;
} renaming;

static void rename_one(char **name, void *user)
{
    const renaming *own = user;
    if (strcmp(*name, own->from) == 0) *name = (char *)own->to;
}

void liana__onnx_rename(liana__onnx_list *nodes, const char *from, const char *to)
{
    renaming own = {from, to};
    for (size_t i = 0; i < nodes->count; i++) {
        Liana__Onnx__Node *node = nodes->items[i];
        visit_inputs(node, rename_one, &own);
        for (size_t k = 0; k < node->n_output; k++) rename_one(&node->output[k], &own);
    }
}

typedef struct marking {
    const liana__onnx_export *file;
    bool *is_read; /* by place among the names */
} marking;

static void mark(char **name, void *user)
{
    const marking *own = user;
    if (**name) own->is_read[liana__onnx_name_place(own->file, *name)] = true;
}

static bool is_read(const marking *own, const Liana__Onnx__Node *node)
{
    for (size_t i = 0; i < node->n_output; i++) {
        if (own->is_read[liana__onnx_name_place(own->file, node->output[i])]) return true;
    }
    return false;
}

/* Nodes in their order without those that nothing reads. */
static void drop_unread(liana__onnx_scope *scope, marking *own)
{
    liana__onnx_list *nodes = &scope->nodes;
    size_t kept = nodes->count;
    for (size_t i = nodes->count; i-- > 0;) {
        Liana__Onnx__Node *node = nodes->items[i];
        if (!is_read(own, node)) continue;
        visit_inputs(node, mark, own);
        nodes->items[--kept] = node;
    }
    nodes->count -= kept;
    if (kept) memmove(nodes->items, nodes->items + kept, nodes->count * sizeof *nodes->items);
}

static void drop_unread_weights(liana__onnx_export *file, const marking *own)
{
    size_t kept = 0;
    for (size_t i = 0; i < file->initializers.count; i++) {
        const Liana__Onnx__Tensor *tensor = file->initializers.items[i];
        if (own->is_read[liana__onnx_name_place(file, tensor->name)]) {
            file->initializers.items[kept++] = file->initializers.items[i];
        }
    }
    file->initializers.count = kept;
}

Liana__Onnx__Graph *liana__onnx_close(liana__onnx_scope *scope, const char *name, const liana__onnx_list *inputs,
                                      const liana__onnx_list *outputs)
{
    liana__onnx_export *file = scope->file;
    Liana__Onnx__Graph *graph = liana__onnx_allocate(file, sizeof *graph);
    marking own = {file, liana__onnx_allocate(file, file->name_capacity * sizeof *own.is_read)};
    if (!graph || !own.is_read || file->status != LIANA_OK) return NULL;
    liana__onnx__graph__init(graph);
    for (size_t i = 0; i < outputs->count; i++) mark(&((Liana__Onnx__ValueInfo *)outputs->items[i])->name, &own);
    drop_unread(scope, &own);
    graph->name = (char *)name;
    graph->n_node = scope->nodes.count;
    graph->node = (Liana__Onnx__Node **)scope->nodes.items;
    graph->n_input = inputs->count;
    graph->input = (Liana__Onnx__ValueInfo **)inputs->items;
    graph->n_output = outputs->count;
    graph->output = (Liana__Onnx__ValueInfo **)outputs->items;
    if (!scope->outer) {
        drop_unread_weights(file, &own);
        graph->n_initializer = file->initializers.count;
        graph->initializer = (Liana__Onnx__Tensor **)file->initializers.items;
    }
    return graph;
}

/* ---- the file ---- */

/* Where protobuf-c writes to. */
typedef struct sink {
    ProtobufCBuffer base;
    liana__file_writer writer;
    liana_status status;
    liana__error *error;
} sink;

static void append(ProtobufCBuffer *buffer, size_t size, const uint8_t *bytes)
{
    sink *to = (sink *)buffer;
    if (to->status == LIANA_OK && size) to->status = liana__file_write(&to->writer, bytes, size, to->error);
}

static liana_status write_model(const Liana__Onnx__Model *made, const char *path, liana__error *error)
{
    sink to = {.base = {append}, .error = error};
    LIANA_TRY(liana__file_begin(&to.writer, path, error));
    protobuf_c_message_pack_to_buffer(&made->base, &to.base);
    if (to.status == LIANA_OK) return liana__file_commit(&to.writer, true, error);
    liana__file_abandon(&to.writer);
    return to.status;
}

static Liana__Onnx__Entry *make_entry(liana__onnx_export *file, const char *key, const char *value)
{
    Liana__Onnx__Entry *entry = liana__onnx_allocate(file, sizeof *entry);
    if (!entry) return NULL;
    liana__onnx__entry__init(entry);
    entry->key = (char *)key;
    entry->value = (char *)value;
    return entry;
}

/* Says of a tensor where its bytes lie. */
static void move_out(liana__onnx_export *file, Liana__Onnx__Tensor *tensor, const char *place, uint64_t offset)
{
    liana__onnx_list entries = {0};
    const unsigned long long at = offset, length = tensor->raw_data.len;
    liana__onnx_append(file, &entries, make_entry(file, "location", place));
    liana__onnx_append(file, &entries, make_entry(file, "offset", liana__arena_format(file->arena, "%llu", at)));
    liana__onnx_append(file, &entries, make_entry(file, "length", liana__arena_format(file->arena, "%llu", length)));
    tensor->n_external_data = entries.count;
    tensor->external_data = (Liana__Onnx__Entry **)entries.items;
    tensor->has_data_location = true;
    tensor->data_location = LIANA__ONNX__TENSOR__DATA_LOCATION__EXTERNAL;
    tensor->has_raw_data = false;
    tensor->raw_data = (ProtobufCBinaryData){0};
}

/* The weights in a file of their own, each at a multiple of a page, so that runtimes may map them. */
static liana_status write_weights(liana__onnx_export *file, const char *path)
{
    enum { PAGE = 4096, LEAST = 1024 };
    static const uint8_t zeros[PAGE];
    liana__file_writer writer;
    const char *data = liana__arena_format(file->arena, "%s.data", path);
    if (!data) return liana__fail_memory(file->error, path);
    const char *slash = strrchr(data, '/'), *place = slash ? slash + 1 : data;
    liana_status status = liana__file_begin(&writer, data, file->error);
    uint64_t offset = 0;
    LIANA_TRY(status);
    for (size_t i = 0; i < file->initializers.count && status == LIANA_OK; i++) {
        Liana__Onnx__Tensor *tensor = file->initializers.items[i];
        const size_t size = tensor->raw_data.len, gap = (PAGE - size % PAGE) % PAGE;
        if (size < LEAST) continue;
        status = liana__file_write(&writer, tensor->raw_data.data, size, file->error);
        if (status == LIANA_OK && gap) status = liana__file_write(&writer, zeros, gap, file->error);
        move_out(file, tensor, place, offset);
        offset += size + gap;
    }
    if (status == LIANA_OK) status = file->status;
    if (status == LIANA_OK) return liana__file_commit(&writer, true, file->error);
    liana__file_abandon(&writer);
    return status;
}

liana_status liana__onnx_write(liana__onnx_export *file, const Liana__Onnx__Model *made, const char *path,
                               size_t most_inside)
{
    size_t size = 0;
    for (size_t i = 0; i < file->initializers.count; i++) {
        size += ((const Liana__Onnx__Tensor *)file->initializers.items[i])->raw_data.len;
    }
    if (size > most_inside) LIANA_TRY(write_weights(file, path));
    return write_model(made, path, file->error);
}
