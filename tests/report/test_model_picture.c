/* Models as boxes and arrows: which boxes there are, where they stand, and that all architectures fit. */
#include "harness/models/one_model.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/yaml.h"
#include "models/models.h"
#include "report/model_boxes.h"
#include "report/pictures.h"

#include <liana/layers.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static liana__arena arena;
static liana__error error;

static int end_with_arena(void **state)
{
    liana__arena_free(&arena);
    error = (liana__error){0};
    return end(state);
}

static liana__model_boxes boxes_of(const liana_model *which)
{
    liana__model_boxes found;
    assert_ok(liana_model_status(which), &context->error);
    assert_ok(liana__model_boxes_find(which, &arena, &found, &error), &error);
    return found;
}

static size_t find_box(const liana__model_boxes *found, const char *name)
{
    size_t i = 0;
    while (i < found->count && strcmp(found->boxes[i].name, name) != 0) i++;
    assert_compare(i, <, found->count);
    return i;
}

static bool leads(const liana__model_boxes *found, const char *from, const char *to)
{
    const size_t a = find_box(found, from), b = find_box(found, to);
    for (size_t i = 0; i < found->num_edges; i++) {
        if (found->edges[i].from == a && found->edges[i].to == b) return true;
    }
    return false;
}

/* ---- boxes ---- */

/* Two inputs, two outputs, a branch: parameters by hand. */
static void test_inputs_outputs_and_branches(void **state)
{
    (void)state;
    liana_layer image = liana_input(model, .shape = LIANA_INTS(8, 8, 3), .name = "image");
    liana_layer age = liana_input(model, .shape = LIANA_INTS(1), .name = "age");
    liana_layer a =
        liana_conv2d(model, .filters = 4, .kernel_size = 3, .padding = LIANA_PADDING_SAME, .name = "a", .input = image);
    liana_layer b = liana_conv2d(model, .filters = 4, .kernel_size = 1, .name = "b", .input = image);
    liana_layer sum = liana_add(model, .inputs = {a, b}, .name = "sum");
    liana_layer flat = liana_flatten(model, .name = "flat", .input = sum);
    liana_layer all = liana_concatenate(model, .inputs = {flat, age}, .name = "all");
    liana_layer class = liana_dense(model, .units = 5, .name = "class", .input = all);
    liana_layer score = liana_dense(model, .units = 1, .name = "score", .input = all);
    liana_model_outputs(model, class, score);
    const liana__model_boxes found = boxes_of(model);
    assert_int_equal(found.count, 9);
    assert_false(found.grouped);
    assert_int_equal(found.num_edges, 9);
    assert_true(leads(&found, "image", "a") && leads(&found, "image", "b") && leads(&found, "a", "sum"));
    assert_true(leads(&found, "flat", "all") && leads(&found, "age", "all") && leads(&found, "all", "score"));
    assert_false(leads(&found, "image", "sum"));
    const liana__model_box *box = &found.boxes[find_box(&found, "a")];
    assert_string_equal(box->kind, "Conv2D");
    assert_string_equal(box->shape, "(None, 8, 8, 4)");
    assert_int_equal(box->parameters, 3 * 3 * 3 * 4 + 4);
    assert_int_equal(found.boxes[find_box(&found, "class")].parameters, (8 * 8 * 4 + 1) * 5 + 5);
    assert_true(found.boxes[find_box(&found, "age")].is_input);
    assert_true(found.boxes[find_box(&found, "class")].is_output && found.boxes[find_box(&found, "score")].is_output);
    assert_false(found.boxes[find_box(&found, "all")].is_output);
}

/* A layer that is called twice has two boxes, and its weights count once. A frozen layer trains nothing. */
static void test_shared_and_nested_layers(void **state)
{
    (void)state;
    static const char layers[] = "- InputLayer: {shape: [3], name: a}\n"
                                 "- InputLayer: {shape: [3], name: b}\n"
                                 "- Functional:\n"
                                 "    name: encoder\n"
                                 "    inputs: a\n"
                                 "    layers: [{InputLayer: {shape: [3]}}, {Dense: {units: 3, name: inner}}]\n"
                                 "- Reuse: {layer: encoder, inputs: b, name: of_b}\n"
                                 "- Concatenate: {inputs: [encoder, of_b], name: both}\n"
                                 "- Dense: {units: 6, name: twice, trainable: false}\n"
                                 "- Reuse: {layer: twice, inputs: twice}\n";
    liana__value *list;
    assert_ok(liana__yaml_parse(layers, sizeof layers - 1, "run.yaml", &arena, &list, &error), &error);
    const liana_shape shape = liana_shape_of(3);
    assert_ok(liana__model_from_layers(model, list, "model.layers", &shape), &model->error);
    const liana__model_boxes found = boxes_of(model);
    assert_int_equal(found.count, 7);
    int64_t parameters = 0, trainable = 0;
    size_t shared = 0, nested = 0;
    for (size_t i = 0; i < found.count; i++) {
        parameters += found.boxes[i].parameters;
        trainable += found.boxes[i].trainable;
        shared += found.boxes[i].is_shared;
        nested += found.boxes[i].is_nested;
    }
    assert_int_equal(parameters, (3 * 3 + 3) + (6 * 6 + 6));
    assert_int_equal(trainable, 3 * 3 + 3);
    assert_int_equal(shared, 2);
    assert_int_equal(nested, 2);
    for (size_t i = 0; i < found.num_edges; i++) assert_compare(found.edges[i].from, <, found.edges[i].to, i);
}

static void test_blocks_by_name(void **state)
{
    (void)state;
    static const struct {
        const char *name, *block, *stage;
    } cases[] = {
        {"block1a_dwconv", "block1a", "block1"},
        {"block_12_expand", "block_12", "block_12"},
        {"conv2_block1_1_conv", "conv2_block1", "conv2"},
        {"convnext_tiny_stage_0_block_1_depthwise_conv", "convnext_tiny_stage_0_block_1", "convnext_tiny_stage_0"},
        {"block3_conv1", "block3", "block3"},
        {"block", "", ""},
        {"blocked_7", "", ""},
        {"dense_3", "", ""},
        {"", "", ""},
        {"___", "", ""},
        {"block_", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *name = cases[i].name;
        assert_int_equal(liana__model_block_name(name, false), strlen(cases[i].block));
        assert_int_equal(liana__model_block_name(name, true), strlen(cases[i].stage));
    }
}

/* Each layer is in one box, in each architecture; arrows lead on; the picture is written. */
static void test_all_architectures_fit(void **state)
{
    (void)state;
    liana__test_folder();
    size_t count = 0;
    for (size_t i = 0; liana__architectures[i]; i++, count++) {
        const liana__architecture *one = liana__architectures[i];
        start_again();
        assert_ok(liana__architecture_add(model, LIANA_HERE, one, NULL, one->name), &context->error);
        const liana__model_boxes found = boxes_of(model);
        size_t layers = 0;
        int64_t parameters = 0;
        for (size_t k = 0; k < found.count; k++) {
            layers += found.boxes[k].num_layers;
            parameters += found.boxes[k].parameters;
        }
        assert_int_equal(layers, model->num_layers);
        assert_int_equal(parameters, liana__model_num_parameters(model, false));
        assert_compare(found.count, <=, LIANA__MOST_BOXES, i);
        for (size_t k = 0; k < found.num_edges; k++) assert_compare(found.edges[k].from, <, found.edges[k].to, i, k);
        assert_ok(liana__model_picture_write(liana__test_path("m.svg"), model, &error), &error);
    }
    assert_compare(count, >, 30);
}

/* Table of the paper of InceptionResNetV2: 10 blocks of 35 x 35, 20 of 17 x 17, 10 of 8 x 8, of which Keras makes the
 * last one without an activation. */
static void test_blocks_that_repeat(void **state)
{
    (void)state;
    static const size_t expected[] = {10, 20, 9};
    size_t met = 0;
    start_again();
    for (size_t i = 0; liana__architectures[i]; i++) {
        const liana__architecture *one = liana__architectures[i];
        if (strcmp(one->name, "InceptionResNetV2") != 0) continue;
        assert_ok(liana__architecture_add(model, LIANA_HERE, one, NULL, one->name), &context->error);
    }
    const liana__model_boxes found = boxes_of(model);
    assert_compare(found.count, <, LIANA__FEW_BOXES);
    for (size_t i = 0; i < found.count; i++) {
        char begin[24];
        if (found.boxes[i].repeats == 1) continue;
        assert_compare(met, <, 3, i);
        assert_int_equal(found.boxes[i].repeats, expected[met]);
        snprintf(begin, sizeof begin, "%zu x ", expected[met++]);
        assert_begins(found.boxes[i].kind, begin);
        assert_int_equal(found.boxes[i].num_layers % found.boxes[i].repeats, 0);
    }
    assert_int_equal(met, 3);
}

/* ---- places ---- */

/* Boxes of a rank do not overlap, edges go down by ranks, and a chain is straight. */
static void test_places(void **state)
{
    (void)state;
    static const liana__graph_edge edges[] = {{0, 1}, {0, 2}, {0, 6}, {1, 3}, {2, 3}, {3, 4}, {4, 6}, {5, 6}, {6, 7}};
    const liana__graph graph = {8, edges, 9, 100, 10};
    liana__graph_layout layout;
    assert_ok(liana__graph_layout_make(&graph, &arena, &layout, &error), &error);
    static const size_t ranks[] = {0, 1, 1, 2, 3, 3, 4, 5};
    for (size_t i = 0; i < 8; i++) assert_int_equal(layout.places[i].rank, ranks[i]);
    assert_int_equal(layout.num_ranks, 6);
    assert_int_equal(layout.num_places, 8 + 3); /* the edge from 0 to 6 bends in three ranks */
    for (size_t i = 0; i < layout.num_places; i++) {
        for (size_t k = 0; k < i; k++) {
            if (layout.places[i].rank != layout.places[k].rank) continue;
            const double widths = (i < 8 ? 50 : 5) + (k < 8 ? 50 : 5);
            assert_compare(fabs(layout.places[i].x - layout.places[k].x), >=, widths - 1e-6, i, k);
        }
        assert_compare(layout.places[i].x, >=, (i < 8 ? 50 : 5) - 1e-6, i);
        assert_compare(layout.places[i].x, <=, layout.width - (i < 8 ? 50 : 5) + 1e-6, i);
    }
    for (size_t i = 0; i < 9; i++) {
        for (size_t k = 1; k < layout.paths[i].count; k++) {
            const size_t a = layout.paths[i].places[k - 1], b = layout.paths[i].places[k];
            assert_int_equal(layout.places[b].rank, layout.places[a].rank + 1);
        }
    }
    static const liana__graph_edge chain[] = {{0, 1}, {1, 2}};
    const liana__graph row = {3, chain, 2, 100, 10}, empty = {0, NULL, 0, 100, 10};
    assert_ok(liana__graph_layout_make(&row, &arena, &layout, &error), &error);
    for (size_t i = 0; i < 3; i++) assert_near(layout.places[i].x, 50, 1e-9, i);
    assert_ok(liana__graph_layout_make(&empty, &arena, &layout, &error), &error);
    assert_int_equal(layout.num_places, 0);
}

/* ---- the picture ---- */

static void test_names_that_could_harm(void **state)
{
    (void)state;
    liana__test_folder();
    liana_input(model, .shape = LIANA_INTS(3), .name = "a<b>&\"c");
    liana_dense(model, .units = 2,
                .name = "\xe2\x80\xae"
                        "evil \xff");
    const char *path = liana__test_path("odd.svg");
    assert_ok(liana__model_picture_write(path, model, &error), &error);
    char *svg;
    size_t size;
    assert_ok(liana__file_read(path, 1 << 24, &svg, &size, &error), &error);
    assert_says(svg, "</svg>");
    assert_never_says(svg, "evil");
    free(svg);
    assert_fails(liana__model_picture_write(liana__test_path("no/m.svg"), model, &error), LIANA_NOT_FOUND, &error,
                 "no/m.svg");
    assert_fails(liana__model_picture_write(liana__test_path("m.gif"), model, &error), LIANA_INVALID_ARGUMENT, &error,
                 "m.gif");
}

static void test_grouped_digits(void **state)
{
    (void)state;
    static const struct {
        int64_t number;
        const char *text;
    } cases[] = {{0, "0"}, {999, "999"}, {1000, "1,000"}, {66658687, "66,658,687"}, {-1234, "-1,234"}, {-123, "-123"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[40];
        liana__print_grouped(cases[i].number, text, sizeof text);
        assert_string_equal(text, cases[i].text);
    }
}

#define with_model(test) cmocka_unit_test_setup_teardown(test, begin, end_with_arena)

int main(void)
{
    const struct CMUnitTest tests[] = {
        with_model(test_inputs_outputs_and_branches), with_model(test_shared_and_nested_layers),
        cmocka_unit_test(test_blocks_by_name),        with_model(test_all_architectures_fit),
        with_model(test_blocks_that_repeat),          with_model(test_places),
        with_model(test_names_that_could_harm),       cmocka_unit_test(test_grouped_digits),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
