/* The bytes of serialised graphs: their layout, and that damaged, hostile and newer ones are refused with an error that
 * names the finding. */
#include "harness/harness.h"

#include "base/context.h"
#include "base/crc32c.h"
#include "base/little_endian.h"
#include "harness/mutate.h"
#include "harness/one_context.h"
#include "harness/try/try_graph.h"
#include "ir/graph_file.h"
#include "ops/pool/pool2d.h"
#include "ops/samples.h"

#include <stdlib.h>
#include <string.h>

static liana__error error;

/* ---- the bytes of one graph, written by hand after the layout in graph_file.h ---- */

enum { NUM_TEXTS = 33, MOST_BYTES = 8192 };

/* The values that a case may spoil. */
typedef struct example {
    uint32_t version, num_texts, first_text_size;
    uint32_t flags, first_gradient, num_nodes, num_outputs, num_assignments;
    uint32_t rank, node_flags, name; /* of x */
    int64_t rows;                    /* of x */
    int64_t result_rows;             /* of the matmul, and then the same of it: */
    uint32_t num_inputs, input, num_attributes, type, truth;
    bool lacks_wide;
    uint32_t num_axes;
    uint32_t result, variable, value;
    size_t extra; /* bytes behind the graph */
    const char *texts[NUM_TEXTS];
} example;

static const example right = {
    .version = 1,
    .num_texts = NUM_TEXTS,
    .first_text_size = 5,
    .flags = 1,
    .first_gradient = 7,
    .num_nodes = 10,
    .num_outputs = 2,
    .num_assignments = 1,
    .rank = 2,
    .name = 3,
    .rows = 2,
    .result_rows = 2,
    .num_inputs = 2,
    .input = 2,
    .num_attributes = 3,
    .type = 1,
    .num_axes = 1,
    .result = 5,
    .variable = 2,
    .value = 8,
    .texts = {"input",     "f32",         "g.c",         "x",        "variable",         "w",
              "matmul",    "transpose_a", "transpose_b", "wide",     "reduce_sum",       "axes",
              "keep_dims", "cast",        "bf16",        "dtype",    "constant",         "multiply",
              "clip",      "low",         "high",        "i",        "max_pool2d",       "size",
              "window",    "strides",     "padding",     "explicit", "vertical_padding", "horizontal_padding",
              "dilations", "y",           "pooled"},
};

typedef struct bytes {
    uint8_t data[MOST_BYTES];
    size_t size;
} bytes;

static void u32(bytes *b, uint32_t value)
{
    for (int i = 0; i < 4; i++) b->data[b->size++] = (uint8_t)(value >> 8 * i);
}

static void u64(bytes *b, int64_t value)
{
    u32(b, (uint32_t)value);
    u32(b, (uint32_t)((uint64_t)value >> 32));
}

static void f64(bytes *b, double value)
{
    int64_t bits;
    memcpy(&bits, &value, sizeof bits);
    u64(b, bits);
}

static void pair(bytes *b, uint32_t name, int64_t first, int64_t second)
{
    u32(b, name);
    u32(b, LIANA__ATTRIBUTE_PAIR);
    u64(b, first);
    u64(b, second);
}

/* op, dtype, shape, flags, file, line */
static void head(bytes *b, uint32_t op, uint32_t dtype, uint32_t rank, const int64_t *dims, uint32_t flags,
                 uint32_t line)
{
    u32(b, op);
    u32(b, dtype);
    u32(b, rank);
    for (uint32_t i = 0; i < rank; i++) u64(b, dims[i]);
    u32(b, flags);
    u32(b, 2);
    u32(b, line);
}

static void write_leaves(bytes *b, const example *e)
{
    const int64_t x[16] = {e->rows, 3, 1, 1, 1, 1, 1, 1, 1}, w[] = {3, 3};
    head(b, 0, 1, e->rank, x, e->node_flags, 1);
    u32(b, e->name);
    head(b, 4, 1, 2, w, 1, 2);
    u32(b, 5);
}

static void write_product(bytes *b, const example *e)
{
    head(b, 6, 1, 2, (int64_t[]){e->result_rows, 3}, 0, 3);
    u32(b, e->num_inputs);
    u32(b, 1);
    u32(b, e->input);
    u32(b, e->num_attributes);
    u32(b, 7);
    u32(b, e->type);
    u32(b, e->truth);
    u32(b, 8);
    u32(b, LIANA__ATTRIBUTE_BOOL);
    u32(b, 1);
    if (e->lacks_wide) return;
    u32(b, 9);
    u32(b, LIANA__ATTRIBUTE_BOOL);
    u32(b, 0);
}

static void write_sum_and_cast(bytes *b, const example *e)
{
    head(b, 10, 1, 1, (int64_t[]){2}, 2, 4);
    u32(b, 1);
    u32(b, 3);
    u32(b, 3);
    u32(b, 11);
    u32(b, LIANA__ATTRIBUTE_INTS);
    u32(b, e->num_axes);
    u64(b, 1);
    for (uint32_t name = 12; name != 0; name = name == 12 ? 9 : 0) {
        u32(b, name);
        u32(b, LIANA__ATTRIBUTE_BOOL);
        u32(b, 0);
    }
    head(b, 13, 14, 1, (int64_t[]){2}, 0, 5);
    u32(b, 1);
    u32(b, 4);
    u32(b, 1);
    u32(b, 15);
    u32(b, LIANA__ATTRIBUTE_NAME);
    u32(b, 14);
}

/* The constant 0.5, w times it, and that clipped to -1 and 2. */
static void write_new_weights(bytes *b)
{
    head(b, 16, 1, 0, NULL, 0, 6);
    u32(b, 0x3f000000);
    head(b, 17, 1, 2, (int64_t[]){3, 3}, 0, 7);
    u32(b, 2);
    u32(b, 2);
    u32(b, 6);
    u32(b, 0);
    head(b, 18, 1, 2, (int64_t[]){3, 3}, 0, 8);
    u32(b, 1);
    u32(b, 7);
    u32(b, 2);
    u32(b, 19);
    u32(b, LIANA__ATTRIBUTE_FLOAT);
    f64(b, -1);
    u32(b, 20);
    u32(b, LIANA__ATTRIBUTE_FLOAT);
    f64(b, 2);
}

static void write_pooling(bytes *b)
{
    head(b, 0, 1, 4, (int64_t[]){1, 2, 2, 1}, 0, 9);
    u32(b, 21);
    head(b, 22, 1, 4, (int64_t[]){1, 1, 1, 1}, 0, 10);
    u32(b, 1);
    u32(b, 9);
    u32(b, 2);
    pair(b, 23, 2, 2);
    u32(b, 24);
    u32(b, LIANA__ATTRIBUTE_SECTION);
    u32(b, 5);
    pair(b, 25, 2, 2);
    u32(b, 26);
    u32(b, LIANA__ATTRIBUTE_NAME);
    u32(b, 27);
    pair(b, 28, 0, 0);
    pair(b, 29, 0, 0);
    pair(b, 30, 1, 1);
}

/* With checksums that are right. */
static void write_example(const example *e, bytes *b)
{
    *b = (bytes){.size = LIANA__GRAPH_FILE_HEADER};
    u32(b, e->num_texts);
    for (int i = 0; i < NUM_TEXTS; i++) {
        char text[64] = {0};
        snprintf(text, sizeof text, "%s", e->texts[i]);
        uint32_t size = i ? (uint32_t)strlen(text) : e->first_text_size;
        u32(b, size);
        if (size > sizeof text) size = sizeof text;
        memcpy(b->data + b->size, text, size);
        b->size += size;
    }
    u32(b, e->flags);
    u32(b, e->first_gradient);
    u32(b, e->num_nodes);
    u32(b, e->num_outputs);
    u32(b, e->num_assignments);
    write_leaves(b, e);
    write_product(b, e);
    write_sum_and_cast(b, e);
    write_new_weights(b);
    write_pooling(b);
    u32(b, 31);
    u32(b, e->result);
    u32(b, 32);
    u32(b, 10);
    u32(b, e->variable);
    u32(b, e->value);
    b->size += e->extra;
    liana__store_u32(b->data + 8, e->version);
    liana__repair_graph(b->data, b->size);
}

/* The same graph by its builders. */
static liana_graph *build_example(void)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
#define LINE(line) ((liana_location){"g.c", line})
    liana_tensor x = liana_graph_input_at(LINE(1), graph, "x", LIANA_F32, liana_shape_of(2, 3));
    liana_tensor w = liana_graph_variable_at(LINE(2), graph, "w", LIANA_F32, liana_shape_of(3, 3));
    liana__keep_wide(w);
    liana_tensor sum =
        liana_op_reduce_sum_at(LINE(4), liana_op_matmul_at(LINE(3), x, w, false, true), LIANA_AXES(-1), false);
    liana__tensor_node(sum)->recomputed = true;
    liana_tensor y = liana_op_cast_at(LINE(5), sum, LIANA_BF16);
    liana_tensor half = liana_graph_scalar_at(LINE(6), graph, LIANA_F32, 0.5);
    liana_tensor clipped = liana_op_clip_at(LINE(8), liana_op_multiply_at(LINE(7), w, half), -1, 2);
    liana_tensor images = liana_graph_input_at(LINE(9), graph, "i", LIANA_F32, liana_shape_of(1, 2, 2, 1));
    liana_tensor pooled = liana_op_max_pool2d_at(LINE(10), images, (liana_pool_options){.window = {2, 2}});
#undef LINE
    liana_graph_output(graph, "y", y);
    liana_graph_output(graph, "pooled", pooled);
    liana_graph_assign(w, clipped);
    graph->mixed_precision = true;
    graph->first_gradient = 7;
    assert_ok(liana_graph_status(graph), &context->error);
    return graph;
}

static void test_bytes_are_those_of_the_layout(void **state)
{
    (void)state;
    static bytes expected;
    write_example(&right, &expected);
    liana_graph *graph = build_example();
    uint8_t *found;
    size_t size;
    assert_ok(liana__graph_write(graph, &found, &size, &error), &error);
    assert_int_equal(size, expected.size);
    assert_memory_equal(found, expected.data, size);
    assert_true(liana__try_graph(found, size));
    free(found);
    liana_graph_destroy(graph);
}

/* ---- refusals ---- */

static liana_status read_bytes(const void *data, size_t size)
{
    liana_graph *graph;
    error = (liana__error){0};
    liana_status status = liana__graph_read(context, liana__ops, data, size, &graph, &error);
    if (status == LIANA_OK) {
        liana_graph_destroy(graph);
    } else {
        assert_null(graph);
    }
    return status;
}

static liana_status read_example(const example *e)
{
    static bytes b;
    write_example(e, &b);
    return read_bytes(b.data, b.size);
}

/* The example with one change is refused, and the message has these texts. */
#define REFUSED(change, ...)                                                     \
    do {                                                                         \
        example e = right;                                                       \
        change;                                                                  \
        assert_fails(read_example(&e), LIANA_INVALID_DATA, &error, __VA_ARGS__); \
    } while (0)

static void test_header(void **state)
{
    (void)state;
    static bytes b;
    write_example(&right, &b);
    assert_fails(read_bytes(b.data, 0), LIANA_DATA_LOSS, &error, "cut off", "0 bytes", "28");
    assert_fails(read_bytes(b.data, 27), LIANA_DATA_LOSS, &error, "cut off", "27 bytes", "28");
    assert_fails(read_bytes(b.data, b.size - 1), LIANA_DATA_LOSS, &error, "cut off", "expected");
    assert_fails(read_bytes(b.data, b.size + 1), LIANA_DATA_LOSS, &error, "too long", "expected");
    assert_fails(read_bytes("LIANAELM", 8), LIANA_INVALID_DATA, &error, "no serialised graph", "LIANAGRF");
    assert_fails(read_bytes("{}", 2), LIANA_INVALID_DATA, &error, "no serialised graph", "LIANAGRF");
    b.data[40] ^= 1;
    assert_fails(read_bytes(b.data, b.size), LIANA_DATA_LOSS, &error, "damaged", "body", "checksum 0x");
    b.data[8] ^= 2;
    assert_fails(read_bytes(b.data, b.size), LIANA_DATA_LOSS, &error, "damaged", "header", "checksum 0x");
    REFUSED(e.version = 2, "version 2", "reads up to 1", "newer liana");
    REFUSED(e.version = 0, "version 0", "first version is 1");
    REFUSED(e.extra = 3, "3 bytes behind the graph");
}

static void test_texts(void **state)
{
    (void)state;
    REFUSED(e.num_texts = UINT32_MAX, "the number of texts", "4294967295");
    REFUSED(e.first_text_size = 6, "text 0 of 33", "zero byte");
    REFUSED(e.first_text_size = UINT32_MAX, "text 0 of 33", "4294967295 bytes", "at most 4096");
    REFUSED(e.first_text_size = 4000, "text 0 of 33", "expected 4000");
    REFUSED(e.name = 33, "node 1 of 10 (input)", "the name", "text 33", "below 33");
}

static void test_counts(void **state)
{
    (void)state;
    REFUSED(e.num_nodes = UINT32_MAX, "the number of nodes", "4294967295", "hold at most");
    REFUSED(e.num_nodes = 11, "node 11 of 11 (y)", "unknown dtype 'w'");
    REFUSED(e.num_nodes = 9, "assignment 0 of 1", "the variable", "found node 0");
    REFUSED(e.num_outputs = 1 << 30, "the number of outputs", "1073741824");
    REFUSED(e.num_outputs = 4, "output 3 of 4", "found 0 bytes to the end, expected 4");
    REFUSED(e.num_assignments = 1 << 30, "the number of assignments", "1073741824");
    REFUSED(e.num_assignments = 2, "assignment 1 of 2", "the variable", "0 bytes");
    REFUSED(e.first_gradient = 12, "first gradient", "node 12", "at most 11");
    REFUSED(e.flags = 3, "flags", "0x3", "0x1");
}

static void test_nodes(void **state)
{
    (void)state;
    REFUSED(e.texts[6] = "natmul", "node 3 of 10 (natmul)", "unknown op 'natmul'", "did you mean 'matmul'?");
    REFUSED(e.texts[16] = "constants", "node 6 of 10", "did you mean 'constant'?");
    REFUSED(e.texts[6] = "fast_fourier_transform", "unknown op", "a newer liana may know it");
    REFUSED(e.texts[1] = "f33", "node 1 of 10 (input)", "unknown dtype 'f33'", "did you mean 'f32'?");
    REFUSED(e.rank = 9, "node 1", "rank 9", "0 to 8");
    REFUSED(e.rows = 0, "node 1", "f32[0, 3]", "at least 1");
    REFUSED(e.rows = -2, "node 1", "f32[-2, 3]", "at least 1");
    REFUSED(e.rows = INT64_MAX, "node 1", "9223372036854775807", "64 TiB");
    REFUSED(e.rows = INT64_C(1) << 43, "node 1", "64 TiB");
    REFUSED(e.node_flags = 4, "node 1", "the flags", "0x4", "0x3");
    REFUSED(e.rows = 4, "node 3 of 10 (matmul)", "found a result of f32[2, 3]", "expected f32[4, 3]");
    REFUSED(e.result_rows = 7, "node 3 of 10 (matmul)", "f32[7, 3]", "f32[2, 3]", "shape rule");
    REFUSED(e.num_inputs = 3, "node 3 of 10 (matmul)", "found 3 inputs, expected 2 to 2");
    REFUSED(e.num_inputs = UINT32_MAX, "node 3", "number of inputs", "4294967295");
    REFUSED(e.input = 3, "node 3 of 10 (matmul)", "input 1", "found node 3", "1 to 2");
    REFUSED(e.input = 0, "node 3", "input 1", "found node 0");
    REFUSED(e.input = UINT32_MAX, "node 3", "input 1", "found node 4294967295");
    REFUSED(e.texts[21] = "x", "node 9 of 10 (input)", "already has an input 'x'");
    /* The op's own rule, with the line that built the node. */
    REFUSED(e.truth = 1, "node 3 of 10 (matmul)", "g.c:3", "matmul(f32[2, 3], f32[3, 3])", "columns");
}

static void test_attributes(void **state)
{
    (void)state;
    REFUSED(e.num_attributes = UINT32_MAX, "node 3", "number of attributes", "4294967295");
    REFUSED(e.texts[8] = "transpose_c", "node 3", "unknown attribute 'transpose_c'", "did you mean 'transpose_");
    REFUSED(e.texts[17] = "reshape", "node 7 of 10 (reshape)", "found 2 inputs, expected 1 to 1");
    REFUSED(e.texts[7] = "transpose_b", "node 3", "attribute 'transpose_b' is there twice");
    REFUSED(e.type = 2, "node 3", "attribute 'transpose_a'", "found a whole number, expected a bool");
    REFUSED(e.type = 99, "attribute 'transpose_a'", "a type that this liana does not know");
    REFUSED(e.truth = 2, "attribute 'transpose_a'", "found 2, expected 0 or 1");
    REFUSED(e.num_axes = 17, "node 4 of 10 (reduce_sum)", "attribute 'axes'", "17 values", "at most 16");
    REFUSED(e.texts[27] = "explizit", "node 10 of 10 (max_pool2d)", "attribute 'window': attribute 'padding'",
            "unknown value 'explizit'", "did you mean 'explicit'?");
    REFUSED(e.texts[30] = "dilution", "attribute 'window': unknown attribute 'dilution'", "did you mean 'dilations'?");
    /* An attribute that an older liana did not have gets its default. */
    example older = right;
    older.num_attributes = 2;
    older.lacks_wide = true;
    assert_ok(read_example(&older), &error);
}

static void test_results(void **state)
{
    (void)state;
    REFUSED(e.result = 11, "output 0 of 2", "found node 11", "1 to 10");
    REFUSED(e.result = 0, "output 0 of 2", "found node 0");
    REFUSED(e.texts[32] = "y", "output 1 of 2", "output 'y' was named twice");
    REFUSED(e.variable = 1, "assignment 0 of 1", "node 1 is of the op input", "expected a variable");
    REFUSED(e.variable = 11, "assignment 0 of 1", "the variable", "found node 11");
    REFUSED(e.value = 5, "assignment 0 of 1", "variable 'w' is f32[3, 3]", "bf16[2]");
}

/* The builders would answer with the node that is there. */
static void test_a_variable_twice(void **state)
{
    (void)state;
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_graph_variable(graph, "a", LIANA_F32, liana_shape_of(2));
    liana_graph_variable(graph, "b", LIANA_F32, liana_shape_of(2));
    uint8_t *data;
    size_t size;
    assert_ok(liana__graph_write(graph, &data, &size, &error), &error);
    uint8_t *b = memchr(data + LIANA__GRAPH_FILE_HEADER, 'b', size - LIANA__GRAPH_FILE_HEADER);
    while (b && (b[-4] != 1 || b[-3] || b[-2] || b[-1])) b = memchr(b + 1, 'b', size - (size_t)(b + 1 - data));
    assert_non_null(b);
    *b = 'a';
    liana__repair_graph(data, size);
    assert_fails(read_bytes(data, size), LIANA_INVALID_DATA, &error, "node 2 of 2 (variable)", "'a' is node 1 already");
    free(data);
    liana_graph_destroy(graph);
}

/* ---- what cannot be written ---- */

static void test_writer_refuses(void **state)
{
    (void)state;
    uint8_t *data = (uint8_t *)1;
    size_t size = 1;
    liana_graph *graph = build_example();
    liana_op_add(liana__node_tensor(graph, graph->inputs[0]), liana__node_tensor(graph, graph->variables[0]));
    assert_fails(liana__graph_write(graph, &data, &size, &error), LIANA_INVALID_ARGUMENT, &error, "building the graph",
                 "liana_graph_status");
    assert_null(data);
    assert_int_equal(size, 0);
    liana_graph_destroy(graph);

    assert_ok(liana_graph_create(context, &graph), &context->error);
    char name[LIANA__GRAPH_FILE_MAX_TEXT + 2];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = 0;
    liana_graph_input(graph, name, LIANA_F32, LIANA_SCALAR);
    assert_fails(liana__graph_write(graph, &data, &size, &error), LIANA_INVALID_ARGUMENT, &error, "nnn...",
                 "4097 bytes", "at most 4096");
    assert_null(data);
    liana_graph_destroy(graph);
}

/* ---- attributes that only files have: the ops' own rules must see them ---- */

/* One op on an input of this shape, with attributes as they are in memory. */
static void refused_by_rule(const liana__op *op, liana_shape shape, liana_dtype second, liana_shape second_shape,
                            const void *attributes, const char *text)
{
    liana_graph *graph;
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor inputs[] = {liana_graph_input(graph, "a", LIANA_F32, shape),
                             liana_graph_input(graph, "b", second, second_shape)};
    liana__build(LIANA_HERE, graph, op, inputs, op->num_inputs, attributes);
    assert_fails(liana_graph_status(graph), LIANA_INVALID_ARGUMENT, &context->error, text);
    liana_graph_destroy(graph);
}

static void test_rules_of_ops_that_only_gradients_make(void **state)
{
    (void)state;
    const struct {
        int64_t axis, size;
    } scatters[] = {{INT64_C(1) << 32, 3}, {-1, 3}, {3, 3}, {INT64_MAX, 3}, {0, -1}, {0, INT64_MAX}};
    static const char *const texts[] = {"axis 4294967296",
                                        "axis -1",
                                        "axis 3",
                                        "axis 9223372036854775807",
                                        "the result would have the shape",
                                        "the result would have the shape"};
    for (size_t i = 0; i < sizeof scatters / sizeof *scatters; i++) {
        refused_by_rule(&liana__op_scatter_add, liana_shape_of(2, 3), LIANA_S32, liana_shape_of(2), &scatters[i],
                        texts[i]);
    }
    refused_by_rule(&liana__op_scatter_add, (liana_shape){8, {1, 1, 1, 1, 1, 1, 1, 1}}, LIANA_S32, LIANA_SCALAR,
                    (const int64_t[]){2, 3}, "rank 9");
    const liana__pool_attributes pool = {.size = {2, 2}, .window.dilations = {2, 1}};
    refused_by_rule(&liana__op_max_pool2d, liana_shape_of(1, 9, 9, 1), LIANA_F32, LIANA_SCALAR, &pool, "dilations");
    const liana__pool_attributes average = {.size = {2, 2}, .input = {INT64_MAX, 2}};
    refused_by_rule(&liana__op_average_pool2d_gradient, liana_shape_of(1, 1, 1, 1), LIANA_F32, LIANA_SCALAR, &average,
                    "rows");
}

/* ---- damage ---- */

static uint8_t *copy_of(const void *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    assert_non_null(copy);
    if (size) memcpy(copy, data, size);
    return copy;
}

static void test_cut_anywhere(void **state)
{
    (void)state;
    static bytes b;
    write_example(&right, &b);
    for (size_t size = 0; size < b.size; size++) {
        uint8_t *part = copy_of(b.data, size);
        assert_false(liana__try_graph(part, size));
        assert_false(liana__try_graph_repaired(part, size));
        free(part);
    }
}

static void test_each_byte_changed(void **state)
{
    (void)state;
    static bytes b;
    write_example(&right, &b);
    size_t accepted = 0;
    static const uint8_t changes[] = {1, 2, 4, 8, 16, 32, 64, 128, 0xff};
    for (size_t i = 0; i < b.size; i++) {
        for (size_t k = 0; k < sizeof changes; k++) {
            uint8_t *changed = copy_of(b.data, b.size);
            changed[i] ^= changes[k];
            assert_false(liana__try_graph(changed, b.size));
            accepted += liana__try_graph_repaired(changed, b.size);
            free(changed);
        }
    }
    assert_compare(accepted, >, 100); /* other names, lines, numbers */
}

/* Bytes put in, left out and repeated, in the example and in each op's first sample. */
static void mutate(const uint8_t *data, size_t size, uint64_t seed, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        size_t mutated_size;
        char *mutated = liana__test_mutate((const char *)data, size, "\x01\x02\x7f\xff", seed, i, &mutated_size);
        liana__try_graph_repaired((const uint8_t *)mutated, mutated_size);
        free(mutated);
    }
}

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};

static void test_mutations(void **state)
{
    (void)state;
    static bytes b;
    write_example(&right, &b);
    mutate(b.data, b.size, 1, 3000);
    for (size_t i = 0; i < sizeof all_samples / sizeof *all_samples; i++) {
        liana_graph *graph;
        assert_ok(liana_graph_create(context, &graph), &context->error);
        const liana__sample first = liana__samples_at(all_samples[i], 0);
        liana_graph_output(graph, "y", liana__sample_build(&first, graph, LIANA_F32));
        uint8_t *data;
        size_t size;
        assert_ok(liana__graph_write(graph, &data, &size, &error), &error);
        mutate(data, size, 2 + i, 200);
        free(data);
        liana_graph_destroy(graph);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bytes_are_those_of_the_layout),
        cmocka_unit_test(test_header),
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_nodes),
        cmocka_unit_test(test_attributes),
        cmocka_unit_test(test_results),
        cmocka_unit_test(test_a_variable_twice),
        cmocka_unit_test(test_writer_refuses),
        cmocka_unit_test(test_rules_of_ops_that_only_gradients_make),
        cmocka_unit_test(test_cut_anywhere),
        cmocka_unit_test(test_each_byte_changed),
        cmocka_unit_test(test_mutations),
    };
    return cmocka_run_group_tests_name("graph_file", tests, set_up, tear_down);
}
