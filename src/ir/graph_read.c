/* Graphs from bytes that nobody vouches for; graph_file.h has the layout. */
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "base/scoped.h"
#include "ir/body.h"
#include "ir/graph_file.h"

#include <stdlib.h>

typedef struct reader {
    const uint8_t *next, *end;
    const liana__op *const *ops;
    liana_graph *graph;
    const char **texts; /* in the graph's arena */
    uint32_t num_texts;
    int body_depth; /* of the graph that is read */
    liana__error *error;
} reader;

/* ---- header ---- */

static liana_status check_magic(const uint8_t *bytes, size_t size, liana__error *error)
{
    size_t known = size < LIANA__GRAPH_FILE_MAGIC_SIZE ? size : LIANA__GRAPH_FILE_MAGIC_SIZE;
    if (known && memcmp(bytes, LIANA__GRAPH_FILE_MAGIC, known) != 0) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "this is no serialised graph of liana: expected it to begin with '%s'",
                           LIANA__GRAPH_FILE_MAGIC);
    }
    if (size >= LIANA__GRAPH_FILE_HEADER) return LIANA_OK;
    return liana__fail(error, LIANA_DATA_LOSS, "cut off: found %zu bytes, expected at least the header of %d", size,
                       LIANA__GRAPH_FILE_HEADER);
}

static liana_status check_sum(const char *what, uint32_t stored, const uint8_t *bytes, size_t size, liana__error *error)
{
    uint32_t found = liana__crc32c(bytes, size);
    if (found == stored) return LIANA_OK;
    return liana__fail(error, LIANA_DATA_LOSS, "damaged: the %s has the checksum 0x%08x, expected 0x%08x", what, found,
                       stored);
}

static liana_status check_header(const uint8_t *bytes, size_t size, liana__error *error)
{
    LIANA_TRY(check_magic(bytes, size, error));
    LIANA_TRY(check_sum("header", liana__load_u32(bytes + LIANA__GRAPH_FILE_CHECKED), bytes, LIANA__GRAPH_FILE_CHECKED,
                        error));
    uint32_t version = liana__load_u32(bytes + 8);
    if (version < 1 || version > LIANA__GRAPH_FILE_VERSION) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "the serialised graph has version %u, this liana reads up to %d; %s", version,
                           LIANA__GRAPH_FILE_VERSION, version ? "use a newer liana" : "the first version is 1");
    }
    uint64_t expected = liana__load_u64(bytes + 16);
    size_t found = size - LIANA__GRAPH_FILE_HEADER;
    if (found != expected) {
        return liana__fail(error, LIANA_DATA_LOSS, "%s: found %zu bytes after the header, expected %llu",
                           found < expected ? "cut off" : "too long", found, (unsigned long long)expected);
    }
    return check_sum("body", liana__load_u32(bytes + 12), bytes + LIANA__GRAPH_FILE_HEADER, found, error);
}

/* ---- numbers and texts ---- */

/* The next bytes; NULL, with the error INVALID_DATA, if there are fewer. */
static const uint8_t *take_bytes(reader *r, const char *what, size_t size)
{
    size_t left = (size_t)(r->end - r->next);
    if (size > left) {
        liana__fail(r->error, LIANA_INVALID_DATA, "%s: found %zu bytes to the end, expected %zu", what, left, size);
        return NULL;
    }
    r->next += size;
    return r->next - size;
}

static liana_status get_u32(reader *r, const char *what, uint32_t *value)
{
    const uint8_t *bytes = take_bytes(r, what, 4);
    if (!bytes) return LIANA_INVALID_DATA;
    *value = liana__load_u32(bytes);
    return LIANA_OK;
}

static liana_status get_int(reader *r, const char *what, int64_t *value)
{
    const uint8_t *bytes = take_bytes(r, what, 8);
    if (!bytes) return LIANA_INVALID_DATA;
    *value = (int64_t)liana__load_u64(bytes);
    return LIANA_OK;
}

/* A number of things that take at least `least` bytes each. */
static liana_status get_count(reader *r, const char *what, size_t least, uint32_t *count)
{
    LIANA_TRY(get_u32(r, what, count));
    size_t most = (size_t)(r->end - r->next) / least;
    if (*count <= most) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA, "%s: found %u, but the bytes that follow hold at most %zu", what,
                       *count, most);
}

static liana_status get_text(reader *r, const char *what, const char **text)
{
    uint32_t index;
    LIANA_TRY(get_u32(r, what, &index));
    if (index >= r->num_texts) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "%s: found text %u, expected a number below %u", what, index,
                           r->num_texts);
    }
    *text = r->texts[index];
    return LIANA_OK;
}

static liana_status get_flags(reader *r, const char *what, uint32_t known, uint32_t *flags)
{
    LIANA_TRY(get_u32(r, what, flags));
    if (!(*flags & ~known)) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA, "%s: found 0x%x, expected no bits but 0x%x", what, *flags, known);
}

static liana_status read_text(reader *r, uint32_t index)
{
    uint32_t size;
    LIANA_TRY(get_u32(r, "its size", &size));
    if (size > LIANA__GRAPH_FILE_MAX_TEXT) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "found %u bytes, expected at most %d", size,
                           LIANA__GRAPH_FILE_MAX_TEXT);
    }
    const uint8_t *bytes = take_bytes(r, "its bytes", size);
    if (!bytes) return LIANA_INVALID_DATA;
    if (memchr(bytes, 0, size)) return liana__fail(r->error, LIANA_INVALID_DATA, "found a zero byte in it");
    char *text = liana__arena_allocate(&r->graph->arena, (size_t)size + 1);
    if (!text) return liana__fail_memory(r->error, "the texts of a graph");
    memcpy(text, bytes, size);
    r->texts[index] = text;
    return LIANA_OK;
}

static liana_status read_texts(reader *r)
{
    uint32_t count;
    LIANA_TRY(get_count(r, "the number of texts", 4, &count));
    r->texts = calloc((size_t)count + 1, sizeof *r->texts);
    if (!r->texts) return liana__fail_memory(r->error, "the texts of a graph");
    for (uint32_t i = 0; i < count; i++) {
        if (read_text(r, i) != LIANA_OK) return liana__fail_within(r->error, "text %u of %u", i, count);
    }
    r->num_texts = count;
    return LIANA_OK;
}

/* "unknown op 'matmull'; did you mean 'matmul'?" */
static liana_status fail_unknown(reader *r, const char *kind, const char *name, const char *const *names, size_t count)
{
    const char *nearest = liana__nearest(name, names, count);
    return liana__fail(r->error, LIANA_INVALID_DATA, "unknown %s '%.100s'%s", kind, name,
                       nearest ? liana__hint(nearest).text : "; a newer liana may know it");
}

/* ---- attributes ---- */

static const char *type_name(uint32_t type)
{
    static const char *const names[LIANA__NUM_ATTRIBUTE_TYPES] = {
        [LIANA__ATTRIBUTE_NONE] = "nothing",
        [LIANA__ATTRIBUTE_BOOL] = "a bool",
        [LIANA__ATTRIBUTE_INT] = "a whole number",
        [LIANA__ATTRIBUTE_FLOAT] = "a number",
        [LIANA__ATTRIBUTE_NAME] = "a name",
        [LIANA__ATTRIBUTE_PAIR] = "two whole numbers",
        [LIANA__ATTRIBUTE_INTS] = "a list of whole numbers",
        [LIANA__ATTRIBUTE_SECTION] = "a group of attributes",
    };
    return type < LIANA__NUM_ATTRIBUTE_TYPES ? names[type] : "a type that this liana does not know";
}

static liana_status get_bool(reader *r, bool *value)
{
    uint32_t stored;
    LIANA_TRY(get_u32(r, "the value", &stored));
    *value = stored == 1;
    if (stored <= 1) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA, "found %u, expected 0 or 1", stored);
}

static liana_status get_name(reader *r, const liana__field *field, int *value)
{
    const char *name;
    LIANA_TRY(get_text(r, "the value", &name));
    size_t count = 0;
    for (; field->names[count]; count++) {
        if (strcmp(field->names[count], name) != 0) continue;
        *value = (int)count;
        return LIANA_OK;
    }
    return fail_unknown(r, "value", name, field->names, count);
}

static liana_status get_ints(reader *r, liana__ints *ints)
{
    uint32_t count;
    LIANA_TRY(get_u32(r, "the number of values", &count));
    if (count > LIANA_MAX_INTS) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "found %u values, expected at most %d", count, LIANA_MAX_INTS);
    }
    *ints = (liana__ints){.count = count};
    for (uint32_t i = 0; i < count; i++) LIANA_TRY(get_int(r, "a value", &ints->values[i]));
    return LIANA_OK;
}

static liana_status read_attributes(reader *r, const liana__fields *fields, void *object);

static liana_status read_value(reader *r, const liana__field *field, void *member)
{
    uint32_t type;
    LIANA_TRY(get_u32(r, "its type", &type));
    liana__attribute_type expected = liana__attribute_type_of(field->kind);
    if (type != (uint32_t)expected || expected == LIANA__ATTRIBUTE_NONE) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "found %s, expected %s", type_name(type),
                           type_name((uint32_t)expected));
    }
    switch (expected) {
    case LIANA__ATTRIBUTE_BOOL: return get_bool(r, member);
    case LIANA__ATTRIBUTE_FLOAT: {
        int64_t bits;
        LIANA_TRY(get_int(r, "the value", &bits));
        memcpy(member, &bits, sizeof bits);
        return LIANA_OK;
    }
    case LIANA__ATTRIBUTE_INT: return get_int(r, "the value", member);
    case LIANA__ATTRIBUTE_NAME: return get_name(r, field, member);
    case LIANA__ATTRIBUTE_PAIR:
        for (int i = 0; i < 2; i++) LIANA_TRY(get_int(r, "the value", (int64_t *)member + i));
        return LIANA_OK;
    case LIANA__ATTRIBUTE_INTS: return get_ints(r, member);
    default: return read_attributes(r, field->section, member);
    }
}

static liana_status find_field(reader *r, const liana__fields *fields, const char *name, const liana__field **field)
{
    enum { MOST = 64 };
    const char *names[MOST];
    size_t count = 0;
    *field = fields ? liana__fields_find(fields, name) : NULL;
    if (*field) return LIANA_OK;
    for (; fields && count < fields->count && count < MOST; count++) names[count] = fields->items[count].name;
    return fail_unknown(r, "attribute", name, names, count);
}

/* `object` has its defaults. */
static liana_status read_attributes(reader *r, const liana__fields *fields, void *object)
{
    uint32_t count;
    uint64_t seen = 0;
    LIANA_TRY(get_count(r, "the number of attributes", 8, &count));
    for (uint32_t i = 0; i < count; i++) {
        const char *name = NULL;
        const liana__field *field;
        LIANA_TRY(get_text(r, "an attribute's name", &name));
        LIANA_TRY(find_field(r, fields, name, &field));
        uint64_t bit = (uint64_t)1 << ((size_t)(field - fields->items) & 63);
        if (seen & bit) return liana__fail(r->error, LIANA_INVALID_DATA, "the attribute '%s' is there twice", name);
        seen |= bit;
        if (read_value(r, field, (char *)object + field->offset) != LIANA_OK) {
            return liana__fail_within(r->error, "attribute '%s'", field->name);
        }
    }
    return LIANA_OK;
}

/* ---- nodes ---- */

/* The begin of every node. */
typedef struct node_head {
    const char *op;
    liana_dtype dtype;
    liana_shape shape;
    uint32_t flags;
    liana_location where;
} node_head;

enum { NODE_BYTES = 24 /* the least that a node takes */ };

static liana_status read_dtype(reader *r, liana_dtype *dtype)
{
    const char *name, *names[LIANA_NUM_DTYPES];
    LIANA_TRY(get_text(r, "the dtype", &name));
    for (int i = 0; i < LIANA_NUM_DTYPES; i++) {
        names[i] = liana_dtype_name((liana_dtype)i);
        *dtype = (liana_dtype)i;
        if (strcmp(names[i], name) == 0) return LIANA_OK;
    }
    return fail_unknown(r, "dtype", name, names, LIANA_NUM_DTYPES);
}

static liana_status read_shape(reader *r, liana_dtype dtype, liana_shape *shape)
{
    uint32_t rank;
    LIANA_TRY(get_u32(r, "the rank", &rank));
    if (rank > LIANA_MAX_RANK)
        return liana__fail(r->error, LIANA_INVALID_DATA, "found the rank %u, expected 0 to %d", rank, LIANA_MAX_RANK);
    *shape = (liana_shape){.rank = (int)rank};
    for (uint32_t i = 0; i < rank; i++) LIANA_TRY(get_int(r, "a dimension", &shape->dims[i]));
    if (liana__shape_valid(dtype, shape)) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA,
                       "found the shape %s, expected dimensions of at least 1, below 64 TiB in all",
                       liana__type_print(dtype, shape).text);
}

/* The op is in head->op even if the rest of the head fails. */
static liana_status read_head(reader *r, node_head *head)
{
    uint32_t line;
    LIANA_TRY(get_text(r, "the op", &head->op));
    LIANA_TRY(read_dtype(r, &head->dtype));
    LIANA_TRY(read_shape(r, head->dtype, &head->shape));
    LIANA_TRY(get_flags(r, "the flags", LIANA__NODE_KEEP_WIDE | LIANA__NODE_RECOMPUTED, &head->flags));
    LIANA_TRY(get_text(r, "the source file", &head->where.file));
    LIANA_TRY(get_u32(r, "the source line", &line));
    head->where.line = (int)line;
    return LIANA_OK;
}

/* The builders' error, which is the context's; the bytes are at fault, and not the caller. */
static liana_status check_built(reader *r)
{
    liana_graph *graph = r->graph;
    if (graph->status == LIANA_OK) return LIANA_OK;
    if (!r->error) return graph->status;
    if (r->error != &graph->context->error) *r->error = graph->context->error;
    if (graph->status != LIANA_OUT_OF_MEMORY) r->error->status = LIANA_INVALID_DATA;
    return r->error->status;
}

static liana_status read_named(reader *r, const node_head *head, bool is_input, liana_tensor *made)
{
    liana_graph *graph = r->graph;
    const char *name;
    LIANA_TRY(get_text(r, "the name", &name));
    size_t id = graph->num_nodes, count = is_input ? graph->num_inputs : graph->num_variables;
    if (count >= LIANA__GRAPH_FILE_MAX_NAMES) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "found more than %d %s", LIANA__GRAPH_FILE_MAX_NAMES,
                           is_input ? "inputs" : "variables");
    }
    *made = is_input ? liana_graph_input_at(head->where, graph, name, head->dtype, head->shape)
                     : liana_graph_variable_at(head->where, graph, name, head->dtype, head->shape);
    LIANA_TRY(check_built(r));
    /* A variable of the same name and type is the same node. */
    if (made->id == id) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA, "the variable '%.100s' is node %u already", name, made->id);
}

static liana_status read_constant(reader *r, const node_head *head, liana_tensor *made)
{
    const uint8_t *elements = take_bytes(r, "the elements", liana__byte_size(head->dtype, &head->shape));
    if (!elements) return LIANA_INVALID_DATA;
    *made = liana_graph_constant_at(head->where, r->graph, head->dtype, head->shape, elements);
    return check_built(r);
}

static liana_status find_op(reader *r, const char *name, const liana__op **op)
{
    enum { MOST = 512 };
    const char *names[MOST] = {"input", "variable", "constant"};
    size_t count = 3;
    for (const liana__op *const *each = r->ops; *each; each++) {
        *op = *each;
        if (strcmp((*each)->name, name) == 0) return LIANA_OK;
        if (count < MOST) names[count++] = (*each)->name;
    }
    return fail_unknown(r, "op", name, names, count);
}

/* A node that is made already. */
static liana_status get_node(reader *r, const char *what, liana_tensor *tensor)
{
    uint32_t id;
    LIANA_TRY(get_u32(r, what, &id));
    *tensor = (liana_tensor){r->graph, id};
    if (id > 0 && id < r->graph->num_nodes) return LIANA_OK;
    if (r->graph->num_nodes == 1) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "%s: found node %u, but no node comes before", what, id);
    }
    return liana__fail(r->error, LIANA_INVALID_DATA, "%s: found node %u, expected one that comes before: 1 to %zu",
                       what, id, r->graph->num_nodes - 1);
}

static liana_status read_inputs(reader *r, const liana__op *op, liana__arena *scratch, liana_tensor **inputs,
                                uint32_t *count)
{
    LIANA_TRY(get_count(r, "the number of inputs", 4, count));
    const size_t most = liana__op_most_inputs(op);
    if (*count < op->num_inputs || *count > most) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "found %u inputs, expected %zu to %zu", *count, op->num_inputs,
                           most);
    }
    *inputs = liana__arena_allocate(scratch, (*count + (size_t)1) * sizeof **inputs);
    if (!*inputs) return liana__fail_memory(r->error, "a node");
    for (uint32_t i = 0; i < *count; i++) {
        if (get_node(r, "an input", &(*inputs)[i]) != LIANA_OK) return liana__fail_within(r->error, "input %u", i);
    }
    return LIANA_OK;
}

static liana_status read_graph(reader *r);

/* Reads a body with a reader of its own, whose graph the caller frees also after an error. */
static liana_status read_body(reader *r, reader *inner)
{
    *inner = *r;
    inner->graph = NULL;
    if (++inner->body_depth > LIANA__MOST_BODY_DEPTH) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "found bodies in bodies, expected them at most %d deep",
                           LIANA__MOST_BODY_DEPTH);
    }
    if (liana_graph_create(r->graph->context, &inner->graph) != LIANA_OK) return liana__fail_memory(r->error, "a body");
    LIANA_TRY(read_graph(inner));
    r->next = inner->next;
    return LIANA_OK;
}

static liana_status read_bodies(reader *r, const liana__op *op, liana__bodies *bodies)
{
    for (size_t i = 0; i < op->num_bodies; i++) {
        reader inner;
        liana_status status = read_body(r, &inner);
        bodies->items[i] = inner.graph;
        if (status != LIANA_OK) return liana__fail_within(r->error, "body %zu", i);
    }
    return LIANA_OK;
}

static liana_status build_call(reader *r, const node_head *head, const liana__op *op, const liana_tensor *inputs,
                               uint32_t num_inputs, void *attributes, liana_tensor *made)
{
    liana_status status = read_attributes(r, op->attributes, attributes);
    if (status == LIANA_OK) status = read_bodies(r, op, attributes);
    if (status == LIANA_OK) {
        *made = liana__build(head->where, r->graph, op, inputs, num_inputs, attributes);
        status = check_built(r);
    }
    /* The node, if it was made, owns them as well. */
    for (size_t i = 0; i < op->num_bodies; i++) liana_graph_destroy(((liana__bodies *)attributes)->items[i]);
    return status;
}

static liana_status read_call(reader *r, const node_head *head, liana__arena *scratch, liana_tensor *made)
{
    const liana__op *op;
    liana_tensor *inputs = NULL;
    uint32_t num_inputs = 0;
    LIANA_TRY(find_op(r, head->op, &op));
    LIANA_TRY(read_inputs(r, op, scratch, &inputs, &num_inputs));
    void *attributes = NULL;
    if (op->attributes) {
        attributes = liana__arena_allocate(scratch, op->attributes->size);
        if (!attributes) return liana__fail_memory(r->error, "a node");
        LIANA_TRY(liana__fields_default(op->attributes, scratch, attributes, r->error));
    }
    LIANA_TRY(build_call(r, head, op, inputs, num_inputs, attributes, made));
    const liana__node *node = liana__tensor_node(*made);
    if (node->dtype == head->dtype && liana_shape_equal(&node->shape, &head->shape)) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA, "found a result of %s, expected %s by the op's shape rule",
                       liana__type_print(head->dtype, &head->shape).text,
                       liana__type_print(node->dtype, &node->shape).text);
}

static liana_status read_node(reader *r, node_head *head)
{
    liana_tensor made = {0};
    liana_status status;
    LIANA_TRY(read_head(r, head));
    bool is_input = strcmp(head->op, "input") == 0;
    if (is_input || strcmp(head->op, "variable") == 0) {
        status = read_named(r, head, is_input, &made);
    } else if (strcmp(head->op, "constant") == 0) {
        status = read_constant(r, head, &made);
    } else {
        LIANA__SCOPED(liana__arena) scratch = {0};
        status = read_call(r, head, &scratch, &made);
    }
    if (status != LIANA_OK) return status;
    liana__node *node = liana__tensor_node(made);
    node->keep_wide = head->flags & LIANA__NODE_KEEP_WIDE;
    node->recomputed = head->flags & LIANA__NODE_RECOMPUTED;
    return LIANA_OK;
}

/* ---- results, and the whole ---- */

static liana_status read_output(reader *r)
{
    const char *name;
    liana_tensor tensor;
    LIANA_TRY(get_text(r, "the name", &name));
    LIANA_TRY(get_node(r, "the result", &tensor));
    liana_graph_output_at(liana__tensor_node(tensor)->where, r->graph, name, tensor);
    return check_built(r);
}

static liana_status read_assignment(reader *r)
{
    liana_tensor variable, value;
    LIANA_TRY(get_node(r, "the variable", &variable));
    LIANA_TRY(get_node(r, "the value", &value));
    const liana__node *node = liana__tensor_node(variable);
    if (!liana__is_variable(node)) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "the variable: node %u is of the op %s, expected a variable",
                           node->id, node->op->name);
    }
    liana_graph_assign_at(liana__tensor_node(value)->where, variable, value);
    return check_built(r);
}

typedef struct graph_counts {
    uint32_t nodes, outputs, assignments, first_gradient;
} graph_counts;

static liana_status read_counts(reader *r, graph_counts *counts)
{
    uint32_t flags;
    LIANA_TRY(get_flags(r, "the graph's flags", LIANA__GRAPH_MIXED_PRECISION, &flags));
    r->graph->mixed_precision = flags & LIANA__GRAPH_MIXED_PRECISION;
    LIANA_TRY(get_u32(r, "the first gradient", &counts->first_gradient));
    LIANA_TRY(get_count(r, "the number of nodes", NODE_BYTES, &counts->nodes));
    LIANA_TRY(get_count(r, "the number of outputs", 8, &counts->outputs));
    LIANA_TRY(get_count(r, "the number of assignments", 8, &counts->assignments));
    if (counts->outputs > LIANA__GRAPH_FILE_MAX_NAMES || counts->assignments > LIANA__GRAPH_FILE_MAX_NAMES) {
        return liana__fail(r->error, LIANA_INVALID_DATA, "found %u outputs and %u assignments, expected at most %d",
                           counts->outputs, counts->assignments, LIANA__GRAPH_FILE_MAX_NAMES);
    }
    /* One past the last node is the gradient of a result that needs no node. */
    if (counts->first_gradient <= counts->nodes + (uint64_t)1) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA, "found the first gradient at node %u, expected at most %llu",
                       counts->first_gradient, (unsigned long long)counts->nodes + 1);
}

/* Everything but the texts. */
static liana_status read_graph(reader *r)
{
    graph_counts counts = {0};
    LIANA_TRY(read_counts(r, &counts));
    for (uint32_t id = 1; id <= counts.nodes; id++) {
        node_head head = {0};
        if (read_node(r, &head) == LIANA_OK) continue;
        if (!head.op) return liana__fail_within(r->error, "node %u of %u", id, counts.nodes);
        return liana__fail_within(r->error, "node %u of %u (%.100s)", id, counts.nodes, head.op);
    }
    r->graph->first_gradient = counts.first_gradient;
    for (uint32_t i = 0; i < counts.outputs; i++) {
        if (read_output(r) != LIANA_OK) return liana__fail_within(r->error, "output %u of %u", i, counts.outputs);
    }
    for (uint32_t i = 0; i < counts.assignments; i++) {
        if (read_assignment(r) == LIANA_OK) continue;
        return liana__fail_within(r->error, "assignment %u of %u", i, counts.assignments);
    }
    return LIANA_OK;
}

static liana_status read_all(reader *r)
{
    LIANA_TRY(read_texts(r));
    LIANA_TRY(read_graph(r));
    if (r->next == r->end) return LIANA_OK;
    return liana__fail(r->error, LIANA_INVALID_DATA, "found %zu bytes behind the graph, expected none",
                       (size_t)(r->end - r->next));
}

liana_status liana__graph_read(liana_context *context, const liana__op *const *ops, const void *bytes, size_t size,
                               liana_graph **graph, liana__error *error)
{
    *graph = NULL;
    LIANA_TRY(check_header(bytes, size, error));
    reader r = {.next = (const uint8_t *)bytes + LIANA__GRAPH_FILE_HEADER,
                .end = (const uint8_t *)bytes + size,
                .ops = ops,
                .error = error};
    if (liana_graph_create(context, &r.graph) != LIANA_OK) return liana__fail_memory(error, "a graph");
    liana_status status = read_all(&r);
    free(r.texts);
    if (status != LIANA_OK) {
        liana_graph_destroy(r.graph);
        return status;
    }
    *graph = r.graph;
    return LIANA_OK;
}
