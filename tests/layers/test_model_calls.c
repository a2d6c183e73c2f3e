/* Models with several inputs and outputs, layers that are called several times, and models within models: their parts,
 * refusals, Keras JSON in both directions, and summaries. */
#include "harness/harness.h"

#include "formats/json.h"
#include "formats/yaml.h"
#include "layers/model.h"

#include <liana/layers.h>

#include <stdlib.h>
#include <string.h>

static liana_context *context;
static liana_model *model;
static liana__arena arena;
static liana__error error;

static int set_up(void **state)
{
    (void)state;
    error = (liana__error){0};
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) return -1;
    return liana_model_create(context, NULL, &model) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_model_destroy(model);
    liana_context_destroy(context);
    liana__arena_free(&arena);
    return 0;
}

static liana_model *new_model(const char *name)
{
    liana_model *made;
    assert_ok(liana_model_create(context, name, &made), &context->error);
    return made;
}

static void start_again(void)
{
    liana_model_destroy(model);
    model = new_model(NULL);
}

static void assert_whole(const liana_model *which)
{
    assert_ok(liana_model_status(which), &context->error);
    assert_ok(liana__model_check(which, &error), &error);
}

static void assert_port(liana__model_port port, const char *name, liana_dtype dtype, liana_shape shape)
{
    assert_string_equal(port.name, name);
    assert_int_equal(port.dtype, dtype);
    assert_true(liana_shape_equal(&port.shape, &shape));
}

/* ---- inputs and outputs ---- */

/* Words, a number and an amount give a class and a score. */
static void build_table(void)
{
    liana_layer words = liana_input(model, .shape = LIANA_INTS(6), .dtype = LIANA_S32, .name = "words");
    liana_layer age = liana_input(model, .shape = LIANA_INTS(1), .name = "age");
    liana_layer kind = liana_input(model, .dtype = LIANA_S32, .name = "kind");
    words = liana_embedding(model, .input_dim = 20, .output_dim = 4, .mask_zero = true, .input = words);
    words = liana_global_average_pooling1d(model);
    age = liana_normalization(model, .input = age);
    kind = liana_category_encoding(model, .num_tokens = 3, .input = kind);
    liana_layer all = liana_concatenate(model, .inputs = {words, age, kind});
    liana_layer score = liana_dense(model, .units = 1, .activation = "sigmoid", .name = "score", .input = all);
    liana_layer class = liana_dense(model, .units = 5, .activation = "softmax", .name = "class", .input = all);
    liana_model_outputs(model, class, score);
}

static void test_inputs_and_outputs_have_names_dtypes_and_shapes(void **state)
{
    (void)state;
    build_table();
    assert_whole(model);
    assert_int_equal(liana__model_num_inputs(model), 3);
    assert_port(liana__model_input(model, 0), "words", LIANA_S32, liana_shape_of(1, 6));
    assert_port(liana__model_input(model, 1), "age", LIANA_F32, liana_shape_of(1, 1));
    assert_port(liana__model_input(model, 2), "kind", LIANA_S32, liana_shape_of(1));
    assert_int_equal(liana__model_input(model, 0).num_ids, 20);
    assert_int_equal(liana__model_input(model, 1).num_ids, 0);
    assert_int_equal(liana__model_input(model, 2).num_ids, 3);
    assert_null(liana__model_input(model, 3).name);
    assert_int_equal(liana__model_num_outputs(model), 2);
    assert_port(liana__model_output(model, 0), "class", LIANA_F32, liana_shape_of(1, 5));
    assert_port(liana__model_output(model, 1), "score", LIANA_F32, liana_shape_of(1, 1));
    assert_null(liana__model_output(model, 2).name);
    assert_ok(liana__model_check_probabilities(model, 0, &error), &error);
    assert_fails(liana__model_check_probabilities(model, 1, &error), LIANA_INVALID_CONFIG, &error, "'score'");
    assert_int_equal(liana_model_info(model).num_inputs, 3);
    liana_port port = liana_model_output(model, 1);
    liana_shape shape = liana_shape_of(-1, 1);
    assert_true(liana_shape_equal(&port.shape, &shape));
    assert_string_equal(liana_model_input(model, 2).name, "kind");
    assert_false(liana__model_is_sequential(model));
    assert_int_equal(liana_model_info(model).num_weights, 8);
    assert_string_equal(liana_model_weight(model, 0).name, "embedding/embeddings");
    assert_true(liana_model_weight(model, 0).trainable);
    assert_false(liana_model_weight(model, 1).trainable);
    assert_null(liana_model_weight(model, 8).name);
}

static void test_null_models_answer(void **state)
{
    (void)state;
    assert_int_equal(liana_model_info(NULL).num_inputs, 0);
    assert_int_equal(liana_model_info(NULL).num_outputs, 0);
    assert_null(liana_model_input(NULL, 0).name);
    assert_null(liana_model_output(NULL, 0).name);
    assert_int_equal(liana_model_info(NULL).num_weights, 0);
    assert_null(liana_model_weight(NULL, 0).name);
    assert_int_equal(liana_model_status(NULL), LIANA_INVALID_ARGUMENT);
    assert_int_equal(liana_layer_reuse((liana_layer){0}, (liana_layer){0}).id, 0);
    assert_int_equal(liana_nested((liana_model *)NULL, .nested = model).id, 0);
    assert_int_equal(liana_nested_output((liana_layer){0}, 0).id, 0);
    liana_model_outputs_at(LIANA_HERE, NULL, NULL, 0, NULL);
    assert_int_equal(liana_model_create(NULL, NULL, NULL), LIANA_INVALID_ARGUMENT);
    assert_int_equal(liana_model_create(context, NULL, NULL), LIANA_INVALID_ARGUMENT);
    assert_null(liana_model_summary(NULL));
}

static void test_names_of_outputs(void **state)
{
    (void)state;
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3)), b = liana_input(model, .shape = LIANA_INTS(3));
    liana_layer x = liana_dense(model, .units = 2, .input = a), y = liana_layer_reuse(x, b);
    liana_model_outputs(model, x, y);
    assert_whole(model);
    assert_string_equal(liana__model_output(model, 0).name, "dense");
    assert_string_equal(liana__model_output(model, 1).name, "dense_1");
    liana_model_outputs_at(LIANA_HERE, model, (const liana_layer[]){y, x}, 2, (const char *const[]){"right", NULL});
    assert_whole(model);
    assert_string_equal(liana__model_output(model, 0).name, "right");
    assert_string_equal(liana__model_output(model, 1).name, "dense");
}

/* Calls with a model of two inputs, each of which must make the error that is named. */
#define assert_model_refuses(status, call, ...)                                                               \
    do {                                                                                                      \
        start_again();                                                                                        \
        liana_layer a = liana_input(model, .shape = LIANA_INTS(3), .name = "a");                              \
        liana_layer b = liana_input(model, .shape = LIANA_INTS(4), .name = "b");                              \
        liana_layer x = liana_dense(model, .units = 2, .name = "first", .input = a);                          \
        assert_int_not_equal(x.id + b.id, 0);                                                                 \
        assert_ok(liana_model_status(model), &context->error);                                                \
        call;                                                                                                 \
        assert_fails(liana_model_status(model), status, &context->error, "test_model_calls.c:", __VA_ARGS__); \
    } while (0)

static void test_wrong_outputs_and_calls_are_refused(void **state)
{
    (void)state;
    liana_model *other = new_model("other");
    liana_layer foreign = liana_input(other, .shape = LIANA_INTS(3));
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_model_outputs(model, x, foreign), "output 1",
                         "not a layer of this model", "another");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_model_outputs(model, (liana_layer){model, 99}), "output 0",
                         "not a layer");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_model_outputs_at(LIANA_HERE, model, NULL, 1, NULL), "NULL");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_model_outputs_at(LIANA_HERE, model, &x, 0, NULL), "0 outputs");
    assert_model_refuses(LIANA_INVALID_ARGUMENT,
                         liana_model_outputs_at(LIANA_HERE, model, (const liana_layer[]){x, a}, 2,
                                                (const char *const[]){"z", "z"}),
                         "two outputs", "'z'");
    assert_model_refuses(LIANA_INVALID_CONFIG, liana_input(model, .shape = LIANA_INTS(2), .name = "b"), "'b'",
                         "already");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_layer_reuse(x, b), "call 2 of layer 'first' (Dense)",
                         "'kernel' is [3, 2]", "need [4, 2]");
    assert_model_refuses(LIANA_INVALID_CONFIG, liana_layer_reuse(x, a, a), "first", "2 inputs", "expected 1");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_layer_reuse(x, foreign), "input 0", "another");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_layer_reuse(a, b), "'a'", "not called");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_layer_reuse_at(LIANA_HERE, x, NULL, 1), "NULL");
    liana_layer none = {.id = 0};
    assert_model_refuses(LIANA_INVALID_ARGUMENT, none.model = model; liana_layer_reuse(none, a), "not a layer");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_model_add_at(LIANA_HERE, model, NULL, &x), "NULL");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_model_add_at(LIANA_HERE, model, "Dense", NULL), "NULL");
    liana_model_destroy(other);
}

static void test_a_model_has_at_most_16_inputs_and_no_loose_ends(void **state)
{
    (void)state;
    for (int i = 0; i < LIANA_MAX_LAYER_INPUTS; i++) liana_input(model, .shape = LIANA_INTS(2));
    assert_ok(liana_model_status(model), &context->error);
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "only InputLayers");
    liana_input(model, .shape = LIANA_INTS(2));
    assert_fails(liana_model_status(model), LIANA_OUT_OF_RANGE, &context->error, "at most 16 inputs");
    start_again();
    liana_layer a = liana_input(model, .shape = LIANA_INTS(2), .name = "a");
    liana_input(model, .shape = LIANA_INTS(2), .name = "unread");
    liana_dense(model, .units = 2, .input = a);
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "layer 'unread'", "does not lead");
}

/* ---- calls ---- */

static void test_a_layer_called_twice_has_its_weights_once(void **state)
{
    (void)state;
    liana_layer a = liana_input(model, .shape = LIANA_INTS(3)), b = liana_input(model, .shape = LIANA_INTS(5, 3));
    liana_layer x = liana_dense(model, .units = 2, .input = a), y = liana_layer_reuse(x, b);
    liana_shape shape = liana_layer_shape(y), expected = liana_shape_of(-1, 5, 2);
    assert_true(liana_shape_equal(&shape, &expected));
    y = liana_flatten(model);
    liana_concatenate(model, .inputs = {x, y});
    assert_whole(model);
    assert_int_equal(model->num_weights, 2);
    assert_int_equal(model->num_layers, 5);
    assert_int_equal(model->num_nodes, 6);
    assert_int_equal(model->nodes[3].layer, 2);
    assert_int_equal(model->nodes[3].number, 1);
    assert_int_equal(liana_model_layer(model, "dense").id, x.id);
    assert_int_equal(liana__layer_salt(7, 0), 7);
    assert_int_not_equal(liana__layer_salt(7, 1), liana__layer_salt(8, 0));
}

/* ---- nested models ---- */

/* Two outputs of one input: an encoder with a Dense, a BatchNormalization and a Dropout. */
static liana_model *new_encoder(void)
{
    liana_model *made = new_model("encoder");
    liana_input(made, .shape = LIANA_INTS(4), .name = "text");
    liana_layer h = liana_dense(made, .units = 3, .activation = "relu");
    liana_layer z = liana_batch_normalization(made);
    z = liana_dropout(made, .rate = 0.5);
    liana_model_outputs(made, z, h);
    assert_whole(made);
    return made;
}

static void test_nested_models_share_weights(void **state)
{
    (void)state;
    liana_model *encoder = new_encoder();
    liana_layer a = liana_input(model, .shape = LIANA_INTS(4), .name = "a");
    liana_layer b = liana_input(model, .shape = LIANA_INTS(4), .name = "b");
    liana_layer x = liana_nested(model, .nested = encoder, .inputs = {a});
    liana_layer y = liana_nested(model, .nested = encoder, .inputs = {b});
    liana_layer z = liana_nested(model, .nested = encoder, .inputs = {b}, .name = "own", .trainable = false);
    liana_add(model, .inputs = {x, y, z, liana_nested_output(x, 1)});
    assert_whole(model);
    assert_int_equal(liana_nested_output(x, 2).id, 0);
    assert_int_equal(model->num_weights, 12);
    assert_compare(liana__model_find_weight(model, "encoder/dense/kernel"), >=, 0);
    assert_compare(liana__model_find_weight(model, "own/batch_normalization/moving_mean"), >=, 0);
    assert_true(liana__weight_trainable(model, (size_t)liana__model_find_weight(model, "encoder/dense/kernel")));
    assert_false(liana__weight_trainable(model, (size_t)liana__model_find_weight(model, "own/dense/kernel")));
    assert_int_equal(model->num_nested, 2);
    assert_int_equal(model->num_uses, 3);
    assert_int_equal(model->nested[0].num_uses, 2);
    assert_int_equal(model->num_layers, 2 + 4 + 4 + 1);
    assert_int_equal(model->num_nodes, 2 + 3 * 4 + 1);
    assert_int_equal(liana_layer_reuse(liana_model_layer(model, "encoder/dense"), a).id, 0);
    assert_fails(liana_model_status(model), LIANA_INVALID_ARGUMENT, &context->error, "'encoder/dense'",
                 "nest that model again");
    liana_model_destroy(encoder);
}

static void test_a_nested_model_brings_its_values(void **state)
{
    (void)state;
    liana_model *encoder = new_encoder();
    assert_ok(liana__model_values_complete(encoder, &error), &error);
    for (int i = 0; i < 12; i++) encoder->values[0][i] = (float)i / 4;
    liana_input(model, .shape = LIANA_INTS(2));
    liana_dense(model, .units = 4);
    liana_nested(model, .nested = encoder);
    assert_whole(model);
    int kernel = liana__model_find_weight(model, "encoder/dense/kernel");
    assert_memory_equal(model->values[kernel], encoder->values[0], 12 * sizeof(float));
    encoder->values[0][0] = 99;
    assert_compare(model->values[kernel][0], ==, 0);
    liana_model_destroy(encoder);
}

static void test_wrong_nesting_is_refused(void **state)
{
    (void)state;
    liana_model *encoder = new_encoder(), *empty = new_model("empty"), *failed = new_model("failed"), *far;
    liana_context *elsewhere;
    assert_ok(liana_context_create(&(liana_context_options){.num_threads = 1}, &elsewhere), &context->error);
    assert_ok(liana_model_create(elsewhere, "far", &far), &elsewhere->error);
    liana_input(far, .shape = LIANA_INTS(3));
    liana_dense(far, .units = 3);
    liana_dense(failed, .units = 3);
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_nested(model, .nested = model), "a layer of itself");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_nested(model, .nested = NULL), "NULL");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_nested(model, .nested = far), "'far'", "another context");
    assert_model_refuses(LIANA_INVALID_CONFIG, liana_nested(model, .nested = empty), "'empty'", "no layers");
    assert_model_refuses(LIANA_INVALID_CONFIG, liana_nested(model, .nested = failed), "'failed'", "InputLayer");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_nested(model, .nested = encoder, .inputs = {a, b}), "2 inputs",
                         "expected 1");
    assert_model_refuses(LIANA_INVALID_ARGUMENT, liana_nested(model, .nested = encoder, .inputs = {a}),
                         "nested model 'encoder'", "'text' is f32[1, 4]", "f32[1, 3]", "'a'");
    assert_model_refuses(LIANA_INVALID_CONFIG, liana_nested(model, .nested = encoder, .inputs = {b}, .name = "first"),
                         "'first'", "already");
    assert_model_refuses(LIANA_INVALID_CONFIG,
                         liana_dense(model, .units = 1,
                                     .input = liana_nested(model, .nested = encoder, .inputs = {b}, .name = "e"),
                                     .name = "e"),
                         "'e'", "already");
    char *summary = liana_model_summary(model);
    assert_non_null(summary);
    free(summary);
    assert_model_refuses(
        LIANA_INVALID_ARGUMENT,
        {
            liana_nested(model, .nested = encoder, .inputs = {b});
            assert_ok(liana_model_set_batch_norm_momentum(encoder, 0.5), &context->error);
            liana_nested(model, .nested = encoder, .inputs = {b});
        },
        "has changed", "another name");
    liana_model_destroy(encoder);
    liana_model_destroy(empty);
    liana_model_destroy(failed);
    liana_model_destroy(far);
    liana_context_destroy(elsewhere);
}

/* A nested model that nothing reads is the user's mistake; an output of one that is read need not be. */
static void test_unread_nested_models(void **state)
{
    (void)state;
    liana_model *encoder = new_encoder();
    liana_layer a = liana_input(model, .shape = LIANA_INTS(4));
    liana_nested(model, .nested = encoder);
    liana_dense(model, .units = 2, .input = a);
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "'encoder'", "does not lead");
    start_again();
    liana_input(model, .shape = LIANA_INTS(4));
    liana_layer x = liana_nested(model, .nested = encoder);
    liana_dense(model, .units = 2, .input = liana_nested_output(x, 1));
    assert_whole(model);
    liana_model_destroy(encoder);
}

/* ---- Keras JSON ---- */

static const char *to_json(const liana_model *from)
{
    liana__text text = {0};
    liana__value *value = liana__model_to_keras(from, LIANA__KERAS3, &arena);
    assert_non_null(value);
    liana__value_write_json(value, 1, &text);
    const char *copy = liana__arena_string(&arena, text.data);
    liana__text_free(&text);
    return copy;
}

static liana_status from_json(liana_model *into, const char *json)
{
    liana__value *value;
    assert_ok(liana__json_parse(json, strlen(json), "model.json", &arena, &value, &error), &error);
    return liana__model_from_keras(into, value);
}

/* A written model reads back as a model of the same nodes, weights, inputs and outputs, and as the same JSON. */
static void assert_round_trip(void)
{
    assert_whole(model);
    const char *json = to_json(model);
    liana_model *copy = new_model(NULL);
    assert_ok(from_json(copy, json), &copy->error);
    assert_whole(copy);
    assert_string_equal(to_json(copy), json);
    assert_int_equal(copy->num_nodes, model->num_nodes);
    for (size_t i = 0; i < copy->num_nodes; i++) {
        const liana__layer_node *a = &copy->nodes[i], *b = &model->nodes[i];
        assert_string_equal(copy->layers[a->layer].name, model->layers[b->layer].name);
        assert_int_equal(a->number, b->number);
        assert_int_equal(a->dtype, b->dtype);
        assert_true(liana_shape_equal(&a->shape, &b->shape));
        assert_int_equal(a->num_inputs, b->num_inputs);
        assert_memory_equal(a->inputs, b->inputs, a->num_inputs * sizeof *a->inputs);
    }
    assert_int_equal(copy->num_weights, model->num_weights);
    for (size_t i = 0; i < copy->num_weights; i++) {
        assert_string_equal(copy->weights[i].name, model->weights[i].name);
        assert_int_equal(liana__weight_trainable(copy, i), liana__weight_trainable(model, i));
    }
    assert_int_equal(liana__model_num_inputs(copy), liana__model_num_inputs(model));
    for (size_t i = 0; i < liana__model_num_inputs(model); i++) {
        liana__model_port port = liana__model_input(model, i);
        assert_port(liana__model_input(copy, i), port.name, port.dtype, port.shape);
    }
    assert_int_equal(liana__model_num_outputs(copy), liana__model_num_outputs(model));
    for (size_t i = 0; i < liana__model_num_outputs(model); i++) {
        liana__model_port port = liana__model_output(model, i);
        assert_port(liana__model_output(copy, i), port.name, port.dtype, port.shape);
    }
    liana_model_destroy(copy);
}

/* An outer model with an encoder used twice, a Sequential used once, and a layer called twice. */
static void build_pair(const liana_model *encoder)
{
    liana_model *tower = new_model("tower");
    liana_input(tower, .shape = LIANA_INTS(3), .name = "code");
    liana_dense(tower, .units = 3);
    liana_nested(tower, .nested = encoder, .name = "inner", .inputs = {liana_dense(tower, .units = 4)});
    liana_layer a = liana_input(model, .shape = LIANA_INTS(4), .name = "a");
    liana_layer b = liana_input(model, .shape = LIANA_INTS(4), .name = "b");
    liana_layer x = liana_nested(model, .nested = encoder, .inputs = {a});
    liana_layer y = liana_nested(model, .nested = encoder, .inputs = {b});
    liana_layer joint = liana_dense(model, .units = 3, .name = "joint", .input = x);
    liana_layer joined = liana_layer_reuse(joint, liana_nested_output(y, 1));
    liana_layer sum = liana_add(model, .inputs = {joint, joined});
    liana_layer high = liana_nested(model, .nested = tower, .inputs = {sum});
    liana_model_outputs(model, high, joined);
    assert_whole(model);
    liana_model_destroy(tower);
}

static void test_json_round_trips(void **state)
{
    (void)state;
    build_table();
    assert_round_trip();
    start_again();
    liana_model *encoder = new_encoder();
    build_pair(encoder);
    assert_compare(liana__model_find_weight(model, "tower/inner/dense/kernel"), >=, 0);
    assert_round_trip();
    assert_says(to_json(model), "\"Sequential\"");
    start_again();
    liana_input(model, .shape = LIANA_INTS(4));
    liana_layer x = liana_nested(model, .nested = encoder);
    liana_dense(model, .units = 2, .input = x);
    assert_true(liana__model_is_sequential(model));
    assert_round_trip();
    start_again();
    liana_layer a = liana_input(model, .shape = LIANA_INTS(4));
    x = liana_dense(model, .units = 2);
    liana_layer y = liana_dense(model, .units = 1, .input = a);
    liana_model_outputs_at(LIANA_HERE, model, (const liana_layer[]){y, x}, 2, (const char *const[]){"price", "kind"});
    assert_round_trip();
    assert_says(to_json(model), "\"price\": [\"dense_1\", 0, 0]");
    liana_model_destroy(encoder);
}

/* ---- YAML ---- */

static liana_status from_yaml(const char *layers, const char *outputs)
{
    liana__value *list, *names = NULL;
    assert_ok(liana__yaml_parse(layers, strlen(layers), "run.yaml", &arena, &list, &error), &error);
    if (outputs) assert_ok(liana__yaml_parse(outputs, strlen(outputs), "run.yaml", &arena, &names, &error), &error);
    liana_shape shape = liana_shape_of(3);
    liana_status status = liana__model_from_layers(model, list, "model.layers", &shape);
    return status == LIANA_OK ? liana__model_outputs_from(model, names, "model.outputs") : status;
}

static void test_yaml_inputs_and_outputs(void **state)
{
    (void)state;
    static const char *const layers = "- InputLayer: {shape: [3], name: a}\n"
                                      "- InputLayer: {shape: [6], dtype: int32, name: words}\n"
                                      "- Embedding: {input_dim: 5, output_dim: 2, mask_zero: true}\n"
                                      "- GlobalMaxPooling1D\n"
                                      "- Concatenate: {inputs: [a, global_max_pooling1d]}\n"
                                      "- Dense: {units: 2, name: class}\n"
                                      "- Dense: {units: 1, name: score, inputs: concatenate}\n";
    assert_ok(from_yaml(layers, "[class, score]"), &model->error);
    assert_whole(model);
    assert_port(liana__model_input(model, 1), "words", LIANA_S32, liana_shape_of(1, 6));
    assert_string_equal(liana__model_output(model, 0).name, "class");
    assert_string_equal(liana__model_output(model, 1).name, "score");
    start_again();
    assert_ok(from_yaml(layers, "score"), &model->error);
    assert_fails(liana__model_check(model, &error), LIANA_INVALID_CONFIG, &error, "'class'", "does not lead",
                 "'score'");
    start_again();
    assert_fails(from_yaml(layers, "[class, scroe]"), LIANA_INVALID_CONFIG, &model->error,
                 "run.yaml:1:9: model.outputs", "scroe");
    start_again();
    assert_fails(from_yaml(layers, "[]"), LIANA_INVALID_CONFIG, &model->error, "model.outputs", "0 names");
    start_again();
    assert_fails(from_yaml("- InputLayer: {shape: [3], dtype: int8}\n", NULL), LIANA_INVALID_CONFIG, &model->error,
                 "dtype", "int8");
}

/* An encoder that is used for two inputs; the second use has a name, and both outputs are read. */
static const char yaml_pair[] = "- InputLayer: {name: a, shape: [4]}\n"
                                "- InputLayer: {name: b, shape: [4]}\n"
                                "- Functional:\n"
                                "    name: encoder\n"
                                "    inputs: a\n"
                                "    outputs: [dropout, dense]\n"
                                "    layers:\n"
                                "      - InputLayer: {name: text, shape: [4]}\n"
                                "      - Dense: {units: 3, activation: relu}\n"
                                "      - BatchNormalization\n"
                                "      - Dropout: {rate: 0.5}\n"
                                "- Reuse: {layer: encoder, inputs: b, name: of_b}\n"
                                "- Dense: {name: joint, units: 3, inputs: encoder}\n"
                                "- Reuse: {layer: joint, inputs: of_b/dense, name: joined}\n"
                                "- Dense: {name: first, units: 3, inputs: encoder/dropout}\n"
                                "- Add: {inputs: [joint, joined, first]}\n";

static void test_yaml_nests_and_calls_again(void **state)
{
    (void)state;
    liana_model *encoder = new_encoder();
    liana_layer a = liana_input(model, .shape = LIANA_INTS(4), .name = "a");
    liana_layer b = liana_input(model, .shape = LIANA_INTS(4), .name = "b");
    liana_layer x = liana_nested(model, .nested = encoder, .inputs = {a});
    liana_layer y = liana_nested(model, .nested = encoder, .inputs = {b});
    liana_layer joint = liana_dense(model, .name = "joint", .units = 3, .input = x);
    liana_layer joined = liana_layer_reuse(joint, liana_nested_output(y, 1));
    liana_layer first = liana_dense(model, .name = "first", .units = 3, .input = x);
    liana_add(model, .inputs = {joint, joined, first});
    assert_whole(model);
    const char *built = to_json(model);
    start_again();
    assert_ok(from_yaml(yaml_pair, NULL), &model->error);
    assert_round_trip();
    model->name = "model";
    assert_string_equal(to_json(model), built);
    start_again();
    assert_ok(from_yaml(yaml_pair, "[joined, encoder/dense, add]"), &model->error);
    assert_round_trip();
    assert_string_equal(liana__model_output(model, 0).name, "joined");
    assert_string_equal(liana__model_output(model, 1).name, "encoder/dense");
    liana_model_destroy(encoder);
}

static void test_yaml_of_a_sequential_within(void **state)
{
    (void)state;
    static const char *const layers = "- InputLayer: {name: words, shape: [6], dtype: int32}\n"
                                      "- Sequential:\n"
                                      "    name: reader\n"
                                      "    trainable: false\n"
                                      "    layers:\n"
                                      "      - Embedding: {input_dim: 9, output_dim: 4}\n"
                                      "      - Sequential: {name: pool, layers: [GlobalAveragePooling1D]}\n"
                                      "- Dense: {units: 2}\n";
    assert_ok(from_yaml(layers, NULL), &model->error);
    assert_whole(model);
    assert_port(liana__model_input(model, 0), "words", LIANA_S32, liana_shape_of(1, 6));
    assert_int_equal(liana__model_input(model, 0).num_ids, 9);
    assert_false(
        liana__weight_trainable(model, (size_t)liana__model_find_weight(model, "reader/embedding/embeddings")));
    assert_compare(liana__model_find_nested(model, "reader/pool"), >=, 0);
    assert_true(liana__weight_trainable(model, (size_t)liana__model_find_weight(model, "dense/kernel")));
    assert_round_trip();
}

/* Without .input a layer reads the first output of a nested model, though its last node may be another. */
static void test_the_layer_after_a_nested_model_reads_its_first_output(void **state)
{
    (void)state;
    liana_model *inner = new_model("inner");
    liana_layer in = liana_input(inner, .shape = LIANA_INTS(4));
    liana_layer narrow = liana_dense(inner, .units = 2, .input = in);
    liana_layer wide = liana_dense(inner, .units = 5, .input = in);
    liana_model_outputs(inner, narrow, wide);
    liana_input(model, .shape = LIANA_INTS(4));
    liana_layer nested = liana_nested(model, .nested = inner);
    assert_port(liana__model_output(model, 0), "inner", LIANA_F32, liana_shape_of(1, 2));
    liana_dense(model, .units = 1);
    assert_whole(model);
    assert_int_equal(model->nodes[model->num_nodes - 1].inputs[0], nested.id - 1);
    assert_round_trip();
    liana_model_destroy(inner);
}

static void test_wrong_nesting_in_yaml_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *layers, *place, *word, *other;
        liana_status status;
    } cases[] = {
        {"- Functional: {name: f}\n", "run.yaml:1:", "model.layers[0].Functional", "layers", LIANA_INVALID_CONFIG},
        {"- Functional: {layers: 3}\n", "run.yaml:1:", "Functional.layers", "a list of layers", LIANA_INVALID_CONFIG},
        {"- Sequential: {layers: [Dense: {unit: 3}]}\n", "run.yaml:1:", "Sequential.layers[0].Dense", "units",
         LIANA_INVALID_CONFIG},
        {"- Sequential: {layers: [Dense: {units: 3}], outputs: dens}\n", "run.yaml:1:", "Sequential.outputs", "dens",
         LIANA_INVALID_CONFIG},
        {"- Dense: {units: 3}\n- Reuse: {inputs: dense}\n", "run.yaml:2:", "Reuse", "layer", LIANA_INVALID_CONFIG},
        {"- Dense: {units: 3}\n- Reuse: {layer: dens}\n", "run.yaml:2:", "Reuse", "there is no layer 'dens'",
         LIANA_INVALID_CONFIG},
        {"- Dense: {units: 3}\n- Reuse: {layer: input_1}\n", "run.yaml:2:", "Reuse", "is an input",
         LIANA_INVALID_CONFIG},
        {"- Dense: {units: 3}\n- Reuse: {layer: dense, name: dense}\n", "run.yaml:2:", "Reuse", "'dense' already",
         LIANA_INVALID_CONFIG},
        {"- Dense: {units: 3}\n- Reuse: {layer: dense, name: x}\n- Dense: {units: 3, name: x}\n", "run.yaml:3",
         "'x' already", "another name", LIANA_INVALID_CONFIG},
        {"- Dense: {units: 4}\n- Reuse: {layer: dense}\n", "run.yaml:2", "kernel", "these inputs need",
         LIANA_INVALID_ARGUMENT},
        {"- Sequential: {name: s, layers: [Dense: {units: 3}]}\n- Reuse: {layer: s/dense}\n", "run.yaml:2:", "Reuse",
         "'s/dense'", LIANA_INVALID_CONFIG},
        {"- Sequential: {name: s, layers: [Dense: {units: 3}, Flatten]}\n- Dense: {units: 1, inputs: s/dense}\n",
         "run.yaml:2:", "inputs", "'s/dense'", LIANA_INVALID_CONFIG},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_again();
        assert_fails(from_yaml(cases[i].layers, NULL), cases[i].status, &model->error, cases[i].place, cases[i].word,
                     cases[i].other);
    }
}

/* ---- summaries ---- */

static void test_summary_of_calls_and_nested_models(void **state)
{
    (void)state;
    liana_model *encoder = new_encoder();
    build_pair(encoder);
    char *summary = liana_model_summary(model);
    assert_non_null(summary);
    static const char *const rows[] = {
        " a (InputLayer)        (None, 4)     0",
        " encoder (Functional)  (None, 3)     27       a",
        "                       (None, 3)              b",
        " joint (Dense)         (None, 3)     12       encoder[0][0]",
        "                                              encoder[1][1]",
        " add (Add)             (None, 3)     0        joint[0][0]",
        "                                              joint[1][0]",
        " tower (Sequential)    (None, 3)     55       add",
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (!strstr(summary, rows[i])) fail_msg("no row\n%s\nin\n%s", rows[i], summary);
    }
    free(summary);
    liana_model_destroy(encoder);
}

static void test_train_from_a_nested_model(void **state)
{
    (void)state;
    liana_model *encoder = new_encoder();
    build_pair(encoder);
    assert_ok(liana_model_train_from(model, "tower"), &context->error);
    assert_false(liana__weight_trainable(model, (size_t)liana__model_find_weight(model, "joint/kernel")));
    assert_true(liana__weight_trainable(model, (size_t)liana__model_find_weight(model, "tower/dense/kernel")));
    assert_fails(liana_model_train_from(model, NULL), LIANA_INVALID_ARGUMENT, &context->error, "NULL");
    liana_model_destroy(encoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_inputs_and_outputs_have_names_dtypes_and_shapes, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_null_models_answer, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names_of_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_outputs_and_calls_are_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_model_has_at_most_16_inputs_and_no_loose_ends, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_layer_called_twice_has_its_weights_once, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_nested_models_share_weights, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_nested_model_brings_its_values, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_nesting_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_unread_nested_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_json_round_trips, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_yaml_inputs_and_outputs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_yaml_nests_and_calls_again, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_yaml_of_a_sequential_within, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_the_layer_after_a_nested_model_reads_its_first_output, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_wrong_nesting_in_yaml_is_refused, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_summary_of_calls_and_nested_models, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_train_from_a_nested_model, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
