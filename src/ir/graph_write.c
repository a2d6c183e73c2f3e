/* Graphs as bytes; graph_file.h has the layout. */
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "ir/body.h"
#include "ir/graph_file.h"

#include <stdlib.h>

/* The table of texts: each text once, in the order of first use. */
typedef struct text_table {
    const char **items;
    size_t count, capacity;
    uint32_t *slots;  /* a hash table of indices plus 1; 0 is an empty slot */
    size_t num_slots; /* 0 or a power of two above twice the count */
} text_table;

typedef struct writer {
    text_table texts;
    liana__text body; /* everything behind the texts */
    liana_status status;
    liana__error *error;
} writer;

/* Keeps the first error. */
static void fail_memory(writer *w)
{
    if (w->status == LIANA_OK) w->status = liana__fail_memory(w->error, "the bytes of a graph");
}

/* ---- texts ---- */

/* FNV-1a. */
static uint32_t hash_of(const char *text)
{
    uint32_t hash = 2166136261u;
    for (; *text; text++) hash = (hash ^ (unsigned char)*text) * 16777619u;
    return hash;
}

/* The slot that holds `text`, or the empty one where it belongs. */
static uint32_t *find_slot(const text_table *texts, const char *text)
{
    size_t at = hash_of(text) & (texts->num_slots - 1);
    while (texts->slots[at] && strcmp(texts->items[texts->slots[at] - 1], text) != 0) {
        at = (at + 1) & (texts->num_slots - 1);
    }
    return &texts->slots[at];
}

static bool grow_slots(text_table *texts)
{
    if (2 * (texts->count + 1) < texts->num_slots) return true;
    size_t num_slots = texts->num_slots ? 2 * texts->num_slots : 256;
    uint32_t *slots = calloc(num_slots, sizeof *slots);
    if (!slots) return false;
    free(texts->slots);
    texts->slots = slots;
    texts->num_slots = num_slots;
    for (size_t i = 0; i < texts->count; i++) *find_slot(texts, texts->items[i]) = (uint32_t)i + 1;
    return true;
}

/* The index of a text, which must outlive the writer. */
static uint32_t index_of(writer *w, const char *text)
{
    text_table *texts = &w->texts;
    if (!grow_slots(texts) || !liana__grow(&texts->items, texts->count, &texts->capacity, sizeof *texts->items)) {
        fail_memory(w);
        return 0;
    }
    uint32_t *slot = find_slot(texts, text);
    if (*slot) return *slot - 1;
    size_t length = strlen(text);
    if (length > LIANA__GRAPH_FILE_MAX_TEXT && w->status == LIANA_OK) {
        w->status = liana__fail(w->error, LIANA_INVALID_ARGUMENT,
                                "the name '%.60s...' has %zu bytes; a serialised graph holds names of at most %d", text,
                                length, LIANA__GRAPH_FILE_MAX_TEXT);
    }
    texts->items[texts->count++] = text;
    *slot = (uint32_t)texts->count;
    return *slot - 1;
}

/* ---- numbers ---- */

static void put_u32(liana__text *out, uint32_t value)
{
    uint8_t bytes[4];
    liana__store_u32(bytes, value);
    liana__text_add_bytes(out, (const char *)bytes, sizeof bytes);
}

static void put_u64(liana__text *out, uint64_t value)
{
    uint8_t bytes[8];
    liana__store_u64(bytes, value);
    liana__text_add_bytes(out, (const char *)bytes, sizeof bytes);
}

static void put_text(writer *w, const char *text)
{
    put_u32(&w->body, index_of(w, text));
}

/* ---- attributes ---- */

static void put_ints(writer *w, const liana__ints *ints)
{
    int64_t count = ints->count < 0 ? 0 : ints->count > LIANA_MAX_INTS ? LIANA_MAX_INTS : ints->count;
    put_u32(&w->body, (uint32_t)count);
    for (int64_t i = 0; i < count; i++) put_u64(&w->body, (uint64_t)ints->values[i]);
}

static void put_attributes(writer *w, const liana__node *node, const liana__fields *fields, const void *attributes);

static void put_value(writer *w, const liana__node *node, const liana__field *field, const void *member)
{
    liana__text *body = &w->body;
    liana__attribute_type type = liana__attribute_type_of(field->kind);
    put_text(w, field->name);
    put_u32(body, (uint32_t)type);
    switch (type) {
    case LIANA__ATTRIBUTE_BOOL: put_u32(body, *(const bool *)member); return;
    case LIANA__ATTRIBUTE_FLOAT: /* the bits of a double */
    case LIANA__ATTRIBUTE_INT: {
        uint64_t bits;
        memcpy(&bits, member, sizeof bits);
        put_u64(body, bits);
        return;
    }
    case LIANA__ATTRIBUTE_NAME: put_text(w, field->names[*(const int *)member]); return;
    case LIANA__ATTRIBUTE_PAIR:
        for (int i = 0; i < 2; i++) put_u64(body, (uint64_t)((const int64_t *)member)[i]);
        return;
    case LIANA__ATTRIBUTE_INTS: put_ints(w, member); return;
    case LIANA__ATTRIBUTE_SECTION: put_attributes(w, node, field->section, member); return;
    case LIANA__ATTRIBUTE_NONE:
    case LIANA__NUM_ATTRIBUTE_TYPES: break;
    }
    if (w->status != LIANA_OK) return;
    w->status = liana__fail(w->error, LIANA_INTERNAL,
                            "node %u (%s): the attribute '%s' is of a kind that graph_file.h cannot store", node->id,
                            node->op->name, field->name);
}

static void put_attributes(writer *w, const liana__node *node, const liana__fields *fields, const void *attributes)
{
    size_t count = fields ? fields->count : 0;
    put_u32(&w->body, (uint32_t)count);
    for (size_t i = 0; i < count; i++) {
        put_value(w, node, &fields->items[i], (const char *)attributes + fields->items[i].offset);
    }
}

/* ---- nodes ---- */

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "elements of constants are written as they lie in memory");

static void put_graph(writer *w, const liana_graph *graph);

static void put_node(writer *w, const liana__node *node)
{
    liana__text *body = &w->body;
    put_text(w, node->op->name);
    put_text(w, liana_dtype_name(node->dtype));
    put_u32(body, (uint32_t)node->shape.rank);
    for (int i = 0; i < node->shape.rank; i++) put_u64(body, (uint64_t)node->shape.dims[i]);
    put_u32(body, (node->keep_wide ? LIANA__NODE_KEEP_WIDE : 0) | (node->recomputed ? LIANA__NODE_RECOMPUTED : 0));
    put_text(w, node->where.file ? node->where.file : "");
    put_u32(body, (uint32_t)node->where.line);
    if (liana__is_constant(node)) {
        liana__text_add_bytes(body, liana__constant_data(node), liana__byte_size(node->dtype, &node->shape));
    } else if (liana__is_input(node) || liana__is_variable(node)) {
        put_text(w, node->name);
    } else {
        put_u32(body, node->num_inputs);
        for (uint32_t i = 0; i < node->num_inputs; i++) put_u32(body, node->inputs[i]->id);
        put_attributes(w, node, node->op->attributes, node->attributes);
        for (size_t i = 0; i < node->op->num_bodies; i++) put_graph(w, liana__node_body(node, i));
    }
}

static void put_graph(writer *w, const liana_graph *graph)
{
    liana__text *body = &w->body;
    put_u32(body, graph->mixed_precision ? LIANA__GRAPH_MIXED_PRECISION : 0);
    put_u32(body, (uint32_t)graph->first_gradient);
    put_u32(body, (uint32_t)graph->num_nodes - 1);
    put_u32(body, (uint32_t)graph->num_outputs);
    put_u32(body, (uint32_t)graph->num_assignments);
    for (size_t id = 1; id < graph->num_nodes; id++) put_node(w, graph->nodes[id]);
    for (size_t i = 0; i < graph->num_outputs; i++) {
        put_text(w, graph->outputs[i].name);
        put_u32(body, graph->outputs[i].node->id);
    }
    for (size_t i = 0; i < graph->num_assignments; i++) {
        put_u32(body, graph->assignments[i].variable->id);
        put_u32(body, graph->assignments[i].value->id);
    }
}

/* Header, texts and the rest. */
static void join(writer *w, liana__text *out)
{
    uint8_t header[LIANA__GRAPH_FILE_HEADER] = {0};
    liana__text_add_bytes(out, (const char *)header, sizeof header);
    put_u32(out, (uint32_t)w->texts.count);
    for (size_t i = 0; i < w->texts.count; i++) {
        size_t length = strlen(w->texts.items[i]);
        put_u32(out, (uint32_t)length);
        liana__text_add_bytes(out, w->texts.items[i], length);
    }
    liana__text_add_bytes(out, w->body.data, w->body.length);
    if (w->body.failed || out->failed) {
        fail_memory(w);
        return;
    }
    uint8_t *start = (uint8_t *)out->data;
    size_t size = out->length - LIANA__GRAPH_FILE_HEADER;
    memcpy(start, LIANA__GRAPH_FILE_MAGIC, LIANA__GRAPH_FILE_MAGIC_SIZE);
    liana__store_u32(start + 8, LIANA__GRAPH_FILE_VERSION);
    liana__store_u32(start + 12, liana__crc32c(start + LIANA__GRAPH_FILE_HEADER, size));
    liana__store_u64(start + 16, size);
    liana__store_u32(start + LIANA__GRAPH_FILE_CHECKED, liana__crc32c(start, LIANA__GRAPH_FILE_CHECKED));
}

static liana_status check_limits(const liana_graph *graph, liana__error *error)
{
    if (graph->status != LIANA_OK) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "building the graph failed (%s), so it cannot be serialised; check liana_graph_status first",
                           liana_status_text(graph->status));
    }
    const struct {
        const char *what;
        size_t count;
    } lists[] = {{"inputs", graph->num_inputs},
                 {"variables", graph->num_variables},
                 {"outputs", graph->num_outputs},
                 {"assignments", graph->num_assignments}};
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        if (lists[i].count <= LIANA__GRAPH_FILE_MAX_NAMES) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "the graph has %zu %s; a serialised one holds at most %d",
                           lists[i].count, lists[i].what, LIANA__GRAPH_FILE_MAX_NAMES);
    }
    return LIANA_OK;
}

liana_status liana__graph_write(const liana_graph *graph, uint8_t **bytes, size_t *size, liana__error *error)
{
    *bytes = NULL;
    *size = 0;
    LIANA_TRY(check_limits(graph, error));
    writer w = {.error = error};
    liana__text out = {0};
    put_graph(&w, graph);
    if (w.status == LIANA_OK) join(&w, &out);
    free(w.texts.items);
    free(w.texts.slots);
    liana__text_free(&w.body);
    if (w.status == LIANA_OK) {
        *bytes = (uint8_t *)out.data;
        *size = out.length;
    } else {
        liana__text_free(&out);
    }
    return w.status;
}
