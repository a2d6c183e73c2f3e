/* Serialised graphs come back whole: each op's samples, and the graphs of training steps, node by node and to the bits
 * of their results on the cpu device. */
#include "harness/harness.h"

#include "harness/objective.h"

#include "backends/cpu/cpu.h"
#include "backends/host.h"
#include "base/random.h"
#include "harness/graph_run.h"
#include "ir/body.h"
#include "ir/graph_file.h"
#include "ops/samples.h"
#include "passes/pass.h"
#include "step/slice_update.h"

#include <liana/layers.h>
#include <liana/models.h>
#include <stdlib.h>
#include <string.h>

static const liana__samples *const all_samples[] = {
#define LIANA__OP(stem, name) &liana__samples_##name,
#include "ops/ops.def"
#undef LIANA__OP
};
enum { NUM_OPS = sizeof all_samples / sizeof *all_samples };

static liana_context *context;
static liana__device *cpu;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    return liana__test_open_devices(2, &context, &cpu, NULL);
}

static int tear_down(void **state)
{
    (void)state;
    return liana__test_close_devices(context, cpu, NULL);
}

/* ---- equality, member by member ---- */

static bool same_attributes(const liana__fields *fields, const void *a, const void *b);

static bool same_member(const liana__field *field, const void *a, const void *b)
{
    switch (field->kind) {
    case LIANA__FIELD_BOOL: return *(const bool *)a == *(const bool *)b;
    case LIANA__FIELD_INT: return *(const int64_t *)a == *(const int64_t *)b;
    case LIANA__FIELD_FLOAT: return memcmp(a, b, sizeof(double)) == 0;
    case LIANA__FIELD_ENUM: return *(const int *)a == *(const int *)b;
    case LIANA__FIELD_INT_PAIR: return memcmp(a, b, 2 * sizeof(int64_t)) == 0;
    case LIANA__FIELD_INTS: {
        const liana__ints *first = a, *second = b;
        return first->count == second->count &&
               memcmp(first->values, second->values, (size_t)first->count * sizeof *first->values) == 0;
    }
    case LIANA__FIELD_SECTION: return same_attributes(field->section, a, b);
    default: fail_msg("the attribute %s is of a kind that this test does not know", field->name);
    }
    return false;
}

static bool same_attributes(const liana__fields *fields, const void *a, const void *b)
{
    bool same = true;
    for (size_t i = 0; fields && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        same = same && same_member(field, (const char *)a + field->offset, (const char *)b + field->offset);
    }
    return same;
}

static bool same_name(const char *a, const char *b)
{
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void assert_same_graph(const liana_graph *a, const liana_graph *b);

static bool same_node(const liana__node *a, const liana__node *b)
{
    bool same = a->op == b->op && a->id == b->id && a->dtype == b->dtype && liana_shape_equal(&a->shape, &b->shape) &&
                same_name(a->name, b->name) && a->num_inputs == b->num_inputs && a->keep_wide == b->keep_wide &&
                a->recomputed == b->recomputed && same_name(a->where.file, b->where.file) &&
                a->where.line == b->where.line;
    for (uint32_t i = 0; same && i < a->num_inputs; i++) same = a->inputs[i]->id == b->inputs[i]->id;
    for (size_t i = 0; same && i < a->op->num_bodies; i++) {
        assert_same_graph(liana__node_body(a, i), liana__node_body(b, i));
    }
    if (!same || !liana__is_constant(a))
        return same && same_attributes(a->op->attributes, a->attributes, b->attributes);
    return memcmp(a->attributes, b->attributes, liana__byte_size(a->dtype, &a->shape)) == 0;
}

static void assert_same_leaves(liana__node *const *a, liana__node *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_compare(a[i]->id, ==, b[i]->id, i);
}

static void assert_same_graph(const liana_graph *a, const liana_graph *b)
{
    assert_int_equal(a->mixed_precision, b->mixed_precision);
    assert_int_equal(a->first_gradient, b->first_gradient);
    assert_int_equal(a->num_nodes, b->num_nodes);
    for (size_t id = 1; id < a->num_nodes; id++) {
        if (!same_node(a->nodes[id], b->nodes[id])) fail_msg("node %zu (%s) changed", id, a->nodes[id]->op->name);
    }
    assert_int_equal(a->num_inputs, b->num_inputs);
    assert_same_leaves(a->inputs, b->inputs, a->num_inputs);
    assert_int_equal(a->num_variables, b->num_variables);
    assert_same_leaves(a->variables, b->variables, a->num_variables);
    assert_int_equal(a->num_outputs, b->num_outputs);
    for (size_t i = 0; i < a->num_outputs; i++) {
        assert_string_equal(a->outputs[i].name, b->outputs[i].name);
        assert_compare(a->outputs[i].node->id, ==, b->outputs[i].node->id, i);
    }
    assert_int_equal(a->num_assignments, b->num_assignments);
    for (size_t i = 0; i < a->num_assignments; i++) {
        assert_compare(a->assignments[i].variable->id, ==, b->assignments[i].variable->id, i);
        assert_compare(a->assignments[i].value->id, ==, b->assignments[i].value->id, i);
    }
}

/* The graph that comes back, which is the same in every respect, as are its bytes and its text. */
static liana_graph *round_trip(const liana_graph *graph)
{
    uint8_t *bytes, *again;
    size_t size, size_again;
    liana_graph *copy;
    assert_ok(liana__graph_write(graph, &bytes, &size, &error), &error);
    assert_ok(liana__graph_read(context, liana__ops, bytes, size, &copy, &error), &error);
    assert_ok(liana__graph_verify(copy, &error), &error);
    assert_same_graph(graph, copy);
    assert_ok(liana__graph_write(copy, &again, &size_again, &error), &error);
    assert_int_equal(size, size_again);
    assert_memory_equal(bytes, again, size);
    char *text = liana_graph_text(graph), *text_again = liana_graph_text(copy);
    assert_string_equal(text, text_again);
    free(text);
    free(text_again);
    free(bytes);
    free(again);
    return copy;
}

/* ---- the same results ---- */

/* Variances must not be negative, and labels should be some class. */
static liana__buffer *make_variable(const liana__node *node, uint32_t index)
{
    liana__buffer *buffer;
    assert_ok(liana__host_buffer_create(cpu, node->dtype, &node->shape, &buffer, &error), &error);
    char *data = malloc(buffer->size);
    assert_non_null(data);
    liana__philox_key key = liana__philox_make_key(5, LIANA__STREAM_TEST, index);
    for (int64_t i = 0; i < liana_shape_size(&node->shape); i++) {
        uint32_t words[4];
        liana__philox(key, (const uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        liana__store(data, node->dtype, i, 0.25 * liana__uniform_double(words[0], words[1]));
    }
    assert_ok(liana__host_buffer_write(buffer, data, &error), &error);
    free(data);
    return buffer;
}

static liana__buffer *make_buffer(const liana__node *node, const void *data)
{
    liana__buffer *buffer;
    assert_ok(liana__host_buffer_create(cpu, node->dtype, &node->shape, &buffer, &error), &error);
    if (data) assert_ok(liana__host_buffer_write(buffer, data, &error), &error);
    return buffer;
}

/* The contents of a buffer, which is destroyed, behind those in `all`. */
static void take_contents(liana__buffer *buffer, liana__text *all)
{
    char *data = malloc(buffer->size);
    assert_non_null(data);
    assert_ok(cpu->backend->download(buffer, data, &error), &error);
    liana__text_add_bytes(all, data, buffer->size);
    free(data);
    cpu->backend->buffer_destroy(buffer);
}

/* All outputs and variables of one execution on drawn inputs. */
static liana__text run(const liana_graph *graph)
{
    liana__executable *executable;
    assert_ok(cpu->backend->compile(cpu, graph, &executable, &error), &error);
    liana__test_value *values = calloc(graph->num_inputs + 1, sizeof *values);
    liana__buffer **in = calloc(graph->num_inputs + 1, sizeof *in);
    liana__buffer **variables = calloc(graph->num_variables + 1, sizeof *variables);
    liana__buffer **out = calloc(graph->num_outputs + 1, sizeof *out);
    assert_true(values && in && variables && out);
    liana__test_draw_inputs(graph, 21, values);
    for (size_t i = 0; i < graph->num_inputs; i++) in[i] = make_buffer(graph->inputs[i], values[i].data);
    for (size_t i = 0; i < graph->num_variables; i++) variables[i] = make_variable(graph->variables[i], (uint32_t)i);
    for (size_t i = 0; i < graph->num_outputs; i++) out[i] = make_buffer(graph->outputs[i].node, NULL);
    assert_ok(liana__cpu_execute(executable, 0, in, variables, out, &error), &error);
    liana__text all = {0};
    for (size_t i = 0; i < graph->num_outputs; i++) take_contents(out[i], &all);
    for (size_t i = 0; i < graph->num_variables; i++) take_contents(variables[i], &all);
    for (size_t i = 0; i < graph->num_inputs; i++) cpu->backend->buffer_destroy(in[i]);
    cpu->backend->executable_destroy(executable);
    liana__test_free_values(values, graph->num_inputs);
    free(values);
    free(in);
    free(variables);
    free(out);
    return all;
}

/* Takes over the graph. */
static void check(liana_graph *graph)
{
    assert_ok(liana_graph_status(graph), &context->error);
    liana_graph *copy = round_trip(graph);
    liana__text expected = run(graph), found = run(copy);
    assert_compare(expected.length, >, 0);
    assert_int_equal(expected.length, found.length);
    assert_memory_equal(expected.data, found.data, expected.length);
    liana__text_free(&expected);
    liana__text_free(&found);
    liana_graph_destroy(copy);
    liana_graph_destroy(graph);
}

/* ---- every op ---- */

static liana_graph *sample_graph(const liana__samples *op, const liana__sample *sample, liana_dtype dtype)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor y = liana__sample_build(sample, graph, dtype);
    assert_ok(liana_graph_status(graph), &context->error);
    bool differentiable = op->op->gradient && liana__dtype_is_float(liana_tensor_dtype(y)) && dtype == LIANA_F64;
    if (differentiable) {
        liana_tensor sum = liana_op_reduce_sum(y, LIANA_ALL_AXES, false), wrt[64], gradients[64];
        size_t count = 0;
        for (size_t i = 0; i < graph->num_inputs; i++) {
            if (liana__dtype_is_float(graph->inputs[i]->dtype)) {
                wrt[count++] = liana__node_tensor(graph, graph->inputs[i]);
            }
        }
        liana_gradients(sum, wrt, count, gradients);
        for (size_t i = 0; i < count; i++) {
            char name[24];
            snprintf(name, sizeof name, "gradient %zu", i);
            liana_graph_output(graph, name, gradients[i]);
        }
    }
    liana_graph_output(graph, "y", y);
    return graph;
}

static void test_op(void **state)
{
    const liana__samples *op = *state;
    static const liana_dtype dtypes[] = {LIANA_F32, LIANA_BF16, LIANA_F64};
    bool is_there = false;
    for (size_t i = 0; i < op->count; i++) {
        const liana__sample sample = liana__samples_at(op, i);
        for (size_t k = 0; k < sizeof dtypes / sizeof *dtypes; k++) {
            liana_graph *graph = sample_graph(op, &sample, dtypes[k]);
            for (size_t id = 1; id < graph->num_nodes; id++) is_there |= graph->nodes[id]->op == op->op;
            check(graph);
        }
    }
    assert_true(is_there);
}

/* ---- everything that a graph knows ---- */

static void test_all_that_a_graph_knows(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context);
    static const double bits[] = {-0.0, INFINITY, -INFINITY, 5e-324, 0.1};
    liana_location somewhere = {"", -3};
    liana_tensor x = liana_graph_input_at(somewhere, graph, "", LIANA_F64, liana_shape_of(5));
    liana_tensor w = liana_graph_variable(graph, "w \"\xc3\xa9\"\n", LIANA_F64, liana_shape_of(5));
    liana_tensor c = liana_graph_constant(graph, LIANA_F64, liana_shape_of(5), bits);
    liana_tensor clipped = liana_op_clip(liana_op_add(x, w), -INFINITY, 0.1);
    liana_tensor y = liana_op_maximum(clipped, c);
    liana__keep_wide(y);
    liana__tensor_node(clipped)->recomputed = true;
    liana_tensor gradient;
    liana_gradients(liana_op_reduce_sum(y, LIANA_ALL_AXES, false), &w, 1, &gradient);
    liana_graph_output(graph, "y", y);
    liana_graph_output(graph, "y once more", y);
    liana_graph_assign(w, gradient);
    graph->mixed_precision = true;
    assert_compare(graph->first_gradient, >, 0);
    liana_graph *copy = round_trip(graph);
    assert_true(copy->mixed_precision && liana__tensor_node(y)->keep_wide);
    liana_graph_destroy(copy);
    graph->mixed_precision = false;
    check(graph);
}

static void test_an_empty_graph(void **state)
{
    (void)state;
    liana_graph *graph = liana__test_new_graph(context), *copy = round_trip(graph);
    assert_int_equal(copy->num_nodes, 1);
    liana_graph_destroy(copy);
    liana_graph_destroy(graph);
}

/* Built twice on the same lines, graphs are equal; one constant's bit makes them differ. */
static liana_graph *twice(float value)
{
    liana_graph *graph = liana__test_new_graph(context);
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(3));
    liana_graph_output(graph, "y", liana_op_add(x, liana_graph_constant(graph, LIANA_F32, LIANA_SCALAR, &value)));
    return graph;
}

static void test_equal_graphs_give_equal_bytes(void **state)
{
    (void)state;
    liana_graph *graphs[3] = {twice(0.0f), twice(0.0f), twice(-0.0f)};
    uint8_t *bytes[3];
    size_t sizes[3];
    for (int i = 0; i < 3; i++) {
        assert_ok(liana__graph_write(graphs[i], &bytes[i], &sizes[i], &error), &error);
        liana_graph_destroy(graphs[i]);
        assert_int_equal(sizes[i], sizes[0]);
    }
    assert_memory_equal(bytes[0], bytes[1], sizes[0]);
    assert_memory_not_equal(bytes[0], bytes[2], sizes[0]);
    for (int i = 0; i < 3; i++) free(bytes[i]);
}

/* ---- the graphs of training ---- */

enum { SHARD = 4, CLASSES = 5 };

typedef struct training {
    const liana_model *model;
    liana__trainer_options options;
    liana__arena arena;
} training;

/* Nesterov's momentum or Adam. */
static training make_training(const liana_model *model, const liana_optimizer_type *optimizer)
{
    assert_ok(liana_model_status(model), &context->error);
    static const double class_weights[] = {2, 0.5};
    training made = {.model = model};
    void *options = liana__arena_allocate(&made.arena, optimizer->part.options.size);
    assert_non_null(options);
    assert_ok(liana__fields_default(&optimizer->part.options, &made.arena, options, &error), &error);
    made.options = (liana__trainer_options){.model = model,
                                            .objective = liana__test_objective(model, "[accuracy, top_5_accuracy]"),
                                            .optimizer = optimizer,
                                            .optimizer_options = options,
                                            .seed = UINT64_C(0xfedcba9876543210),
                                            .scale = LIANA_SCALE_TORCH,
                                            .mixes = true,
                                            .class_weights = class_weights,
                                            .num_class_weights = 2};
    return made;
}

/* As a device compiles it: with fused ops. */
static void check_optimized(const liana_graph *graph)
{
    liana_graph *optimized;
    assert_ok(liana__passes_run(graph, &optimized, &error), &error);
    assert_non_null(optimized);
    check(optimized);
}

/* The graph of the update of all variables. */
static liana_graph *update_graph(const liana__trainer_options *options, const liana__step_sums *sums)
{
    liana__update_items items;
    liana_graph *graph;
    liana__arena arena = {0};
    const liana__updated_variable *weights, *variables;
    size_t count;
    const liana__update_rule rule = liana__trainer_rule(options);
    assert_ok(liana__model_list_weights(options->model, &arena, &weights, &context->error), &context->error);
    assert_ok(liana__list_updated(weights, options->model->num_weights, &rule, sums, &arena, &variables, &count,
                                  &context->error),
              &context->error);
    assert_ok(liana__update_items_create(variables, count, &rule, &items, &context->error), &context->error);
    liana__slice_piece *pieces = calloc(items.num_items, sizeof *pieces);
    assert_non_null(pieces);
    for (size_t i = 0; i < items.num_items; i++) pieces[i] = (liana__slice_piece){i, 0, items.items[i].size};
    const liana__update_slice slice = {pieces, items.num_items};
    assert_ok(liana__build_slice_update(context, &items, &slice, &graph), &context->error);
    free(pieces);
    liana__update_items_free(&items);
    liana__arena_free(&arena);
    return graph;
}

static void check_training(training *own)
{
    const liana__shard_rows rows = {SHARD, 1, false};
    for (int mixed = 0; mixed < 2; mixed++) {
        liana_graph *shard, *evaluation, *update;
        liana__shard_sums sums = {0}, none = {0};
        own->options.mixed_precision = mixed;
        assert_ok(liana__build_model_shard(context, &own->options, LIANA__STEP_TRAINING, &rows, &sums, &shard),
                  &context->error);
        assert_compare(shard->first_gradient, >, 0);
        assert_compare(shard->mixed_precision, ==, (bool)mixed, mixed);
        assert_ok(liana__build_model_shard(context, &own->options, LIANA__STEP_EVALUATION, &rows, &none, &evaluation),
                  &context->error);
        update = update_graph(&own->options, &sums.sums);
        liana__shard_sums_free(&sums);
        assert_compare(update->num_assignments, >=, own->model->num_weights);
        check_optimized(shard);
        check_optimized(evaluation);
        check(shard);
        check(evaluation);
        check(update);
    }
    liana__arena_free(&own->arena);
}

static void test_small_model(void **state)
{
    (void)state;
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(18, 18, 3));
    liana_conv2d(model, .filters = 6, .kernel_size = 3, .use_bias = false);
    liana_batch_normalization(model, .momentum = 0.9);
    liana_relu(model, .max_value = 6);
    liana_conv2d(model, .filters = 8, .kernel_size = 3, .activation = "relu");
    liana_max_pooling2d(model);
    liana_depthwise_conv2d(model, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .activation = "swish");
    liana_dropout(model, .rate = 0.3);
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    training own = make_training(model, &liana__optimizer_Adam);
    check_training(&own);
    own = make_training(model, &liana__optimizer_SGD);
    check_training(&own);
    liana_model_destroy(model);
}

static void test_mobilenet(void **state)
{
    (void)state;
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_mobilenet_v2(model, .input_shape = LIANA_INTS(32, 32, 3), .alpha = 0.35, .classes = CLASSES);
    training own = make_training(model, &liana__optimizer_SGD);
    check_training(&own);
    liana_model_destroy(model);
}

static void test_efficientnet(void **state)
{
    (void)state;
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(32, 32, 3), .classes = CLASSES);
    training own = make_training(model, &liana__optimizer_Adam);
    check_training(&own);
    liana_model_destroy(model);
}

static void test_resnet(void **state)
{
    (void)state;
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_resnet50(model, .input_shape = LIANA_INTS(32, 32, 3), .classes = CLASSES);
    training own = make_training(model, &liana__optimizer_SGD);
    check_training(&own);
    liana_model_destroy(model);
}

int main(void)
{
    static struct CMUnitTest tests[NUM_OPS + 7] = {
        [NUM_OPS] = cmocka_unit_test(test_all_that_a_graph_knows),
        [NUM_OPS + 1] = cmocka_unit_test(test_an_empty_graph),
        [NUM_OPS + 2] = cmocka_unit_test(test_equal_graphs_give_equal_bytes),
        [NUM_OPS + 3] = cmocka_unit_test(test_small_model),
        [NUM_OPS + 4] = cmocka_unit_test(test_mobilenet),
        [NUM_OPS + 5] = cmocka_unit_test(test_efficientnet),
        [NUM_OPS + 6] = cmocka_unit_test(test_resnet),
    };
    for (size_t i = 0; i < NUM_OPS; i++) {
        tests[i] = (struct CMUnitTest){all_samples[i]->op->name, test_op, NULL, NULL, (void *)all_samples[i]};
    }
    return cmocka_run_group_tests_name("graph_round_trip", tests, set_up, tear_down);
}
