/* Recurrent layers and wrappers of layers, against numbers that Keras 3.15.1 computed: built in C, from YAML, and from
 * the JSON that liana writes; and what they refuse.
 *
 * The numbers are of models that begin with Embedding(5, 3, mask_zero=True) on the ids below, with element k of all
 * weights, counted through them in their order, set to 0.6 sin(0.9 k + 0.5). */
#include "harness/harness.h"

#include "base/format.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "formats/yaml.h"
#include "harness/graph_run.h"
#include "harness/model_run.h"
#include "layers/model.h"

#include <liana/layers.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 3, STEPS = 4 };

static const int32_t ids[EXAMPLES * STEPS] = {1, 2, 0, 3, 4, 0, 0, 1, 2, 3, 1, 4};

static liana_context *context;
static liana__device *cpu;

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

/* ---- the models ---- */

static void add_lstm(liana_model *m)
{
    liana_lstm(m, .units = 2);
}

static void add_lstm_back(liana_model *m)
{
    liana_lstm(m, .units = 2, .return_sequences = true, .go_backwards = true, .use_bias = false,
               .recurrent_activation = "hard_sigmoid");
}

static void add_gru(liana_model *m)
{
    liana_gru(m, .units = 2);
}

static void add_gru_before(liana_model *m)
{
    liana_gru(m, .units = 2, .reset_after = false, .return_sequences = true, .zero_output_for_mask = true);
}

static void add_simple_rnn(liana_model *m)
{
    liana_simple_rnn(m, .units = 3, .activation = "relu");
}

static void add_stacked(liana_model *m)
{
    liana_rnn(m, .return_sequences = true, .go_backwards = true,
              .cell = LIANA_HELD("StackedRNNCells", liana_stacked_rnn_cells_options, LIANA_STACKED_RNN_CELLS_DEFAULTS,
                                 .cells = {.items = {LIANA_HELD("LSTMCell", liana_lstm_cell_options,
                                                                LIANA_LSTM_CELL_DEFAULTS, .units = 2),
                                                     LIANA_HELD("GRUCell", liana_gru_cell_options,
                                                                LIANA_GRU_CELL_DEFAULTS, .units = 3)}}));
}

static void add_bidirectional(liana_model *m)
{
    liana_bidirectional(m, .merge_mode = LIANA_MERGE_SUM,
                        .layer = LIANA_HELD("LSTM", liana_lstm_options, LIANA_LSTM_DEFAULTS, .units = 2,
                                            .return_sequences = true));
}

static void add_two_layers(liana_model *m)
{
    liana_bidirectional(m, .layer = LIANA_HELD("GRU", liana_gru_options, LIANA_GRU_DEFAULTS, .units = 2),
                        .backward_layer = LIANA_HELD("LSTM", liana_lstm_options, LIANA_LSTM_DEFAULTS, .units = 1,
                                                     .go_backwards = true));
}

static void add_time_distributed(liana_model *m)
{
    liana_time_distributed(m, .layer = LIANA_HELD("Dense", liana_dense_options, LIANA_DENSE_DEFAULTS, .units = 2,
                                                  .activation = "relu"));
}

static void add_conv_lstm1d(liana_model *m)
{
    liana_reshape(m, .target_shape = LIANA_INTS(2, 6, 1));
    liana_conv_lstm1d(m, .filters = 2, .kernel_size = {2}, .strides = {2}, .return_sequences = true, .use_bias = false);
}

static void add_conv_lstm2d(liana_model *m)
{
    liana_reshape(m, .target_shape = LIANA_INTS(2, 2, 3, 1));
    liana_conv_lstm2d(m, .filters = 2, .kernel_size = 2, .padding = LIANA_PADDING_SAME);
}

static void add_conv_lstm3d(liana_model *m)
{
    liana_reshape(m, .target_shape = LIANA_INTS(2, 1, 2, 3, 1));
    liana_conv_lstm3d(m, .filters = 1, .kernel_size = {1, 2, 2}, .recurrent_activation = "hard_sigmoid");
}

/* The states after one LSTM are those before the next. */
static void add_seq2seq(liana_model *m)
{
    liana_layer x = liana_model_layer(m, "embedding");
    liana_layer first = liana_lstm(m, .units = 2, .return_state = true);
    liana_lstm(m, .units = 2, .return_sequences = true,
               .inputs = {x, liana_layer_output(first, 1), liana_layer_output(first, 2)});
}

typedef struct made {
    const char *name;
    void (*add)(liana_model *m);
    const char *yaml;
    size_t count;
    float expected[40];
} made;

static const made cases[] = {
    {"an LSTM",
     add_lstm,
     "LSTM: {units: 2}",
     6,
     {-0.1029401f, -0.3201405f, 0.003602795f, -0.2266857f, -0.04015284f, -0.2415148f}},
    {"an LSTM from the last step",
     add_lstm_back,
     "LSTM: {units: 2, return_sequences: true, go_backwards: true, use_bias: false, recurrent_activation: "
     "hard_sigmoid}",
     24,
     {-0.1005733f,  -0.1182478f, -0.1005733f,  -0.1182478f,  -0.004323946f, 0.04743253f, -0.01275011f, -0.09297734f,
      -0.01422381f, -0.1164877f, -0.01422381f, -0.1164877f,  -0.01422381f,  -0.1164877f, 0.07337533f,  -0.01560239f,
      0.086147f,    0.04165448f, 0.04343904f,  -0.08113447f, -0.07635746f,  -0.1560589f, 0.008780495f, 0.03358496f}},
    {"a GRU", add_gru, "GRU: {units: 2}", 6, {0.2710607f, 0.6768585f, 0.4837009f, 0.8047493f, 0.6074182f, 0.7862048f}},
    {"a GRU with its reset before the product",
     add_gru_before,
     "GRU: {units: 2, reset_after: false, return_sequences: true, zero_output_for_mask: true}",
     24,
     {0.3118761f, 0.6074328f,  0.4518314f, 0.4100957f, 0,          0,         0.3756545f, 0.6068302f,
      0.4082432f, 0.4091101f,  0,          0,          0,          0,         0.5831584f, 0.7567049f,
      0.1535819f, 0.09655537f, 0.1732987f, 0.463212f,  0.4813592f, 0.769576f, 0.7437472f, 0.720213f}},
    {"a SimpleRNN", add_simple_rnn, "SimpleRNN: {units: 3, activation: relu}", 9, {0, 0, 0, 0, 0, 0, 0, 0, 0.4402751f}},
    {"cells one after the other",
     add_stacked,
     "RNN: {return_sequences: true, go_backwards: true, cell: {StackedRNNCells: {cells: [LSTMCell: {units: 2}, "
     "GRUCell: {units: 3}]}}}",
     36,
     {-0.1288321f,  -0.3820217f,  -0.2719803f, -0.1288321f, -0.3820217f, -0.2719803f,  -0.06767055f, -0.5204998f,
      -0.4666268f,  -0.127871f,   -0.6375335f, -0.5784547f, -0.1092387f, -0.3563482f,  -0.260869f,   -0.1092387f,
      -0.3563482f,  -0.260869f,   -0.1092387f, -0.3563482f, -0.260869f,  -0.08938295f, -0.5019308f,  -0.4363874f,
      -0.04641905f, -0.316346f,   -0.263395f,  -0.1137717f, -0.5175126f, -0.4374801f,  -0.1768785f,  -0.6461189f,
      -0.5590448f,  -0.09955183f, -0.6636352f, -0.6388177f}},
    {"both directions",
     add_bidirectional,
     "Bidirectional: {merge_mode: sum, layer: {LSTM: {units: 2, return_sequences: true}}}",
     24,
     {0.03856979f,
      -0.2549887f,
      0.04758258f,
      -0.1816583f,
      0,
      0,
      -0.08487027f,
      -0.4273506f,
      0.1501986f,
      -0.04730258f,
      0,
      0,
      0,
      0,
      0.04248217f,
      -0.2634108f,
      0.1374046f,
      -0.05334469f,
      0.009384699f,
      -0.358463f,
      -0.006615415f,
      -0.3306656f,
      0.03945706f,
      -0.2103794f}},
    {"two layers",
     add_two_layers,
     "Bidirectional: {layer: {GRU: {units: 2}}, backward_layer: {LSTM: {units: 1, go_backwards: true}}}",
     9,
     {0.2710607f, 0.6768585f, -0.1561279f, 0.4837009f, 0.8047493f, -0.152061f, 0.6074182f, 0.7862048f, -0.1727653f}},
    {"a Dense on each step",
     add_time_distributed,
     "TimeDistributed: {layer: {Dense: {units: 2, activation: relu}}}",
     24,
     {0.6476493f, 0.9453024f, 0,          0.2276175f, 0.1974855f, 0.331498f,  0.8609979f, 0.9114909f,
      0,          0.392634f,  0.1974855f, 0.331498f,  0.1974855f, 0.331498f,  0.6476493f, 0.9453024f,
      0,          0.2276175f, 0.8609979f, 0.9114909f, 0.6476493f, 0.9453024f, 0,          0.392634f}},
    {"convolutions of sequences",
     add_conv_lstm1d,
     "Reshape: {target_shape: [2, 6, 1]}\n- ConvLSTM1D: {filters: 2, kernel_size: 2, strides: 2, return_sequences: "
     "true, "
     "use_bias: false}",
     36,
     {0.02171579f,   -0.033469f,   0.058448f,    0.007949174f, -0.1015574f, 0.04085424f,  -0.08183589f, 0.01992589f,
      -0.09483824f,  0.03048167f,  -0.0194109f,  -0.0257675f,  0.05836821f, 0.00839987f,  -0.07330529f, 0.009118938f,
      -0.1515954f,   0.007997029f, -0.07026057f, 0.05857801f,  -0.1320252f, -0.03900532f, -0.01025188f, -0.02694437f,
      0.01822873f,   0.03293328f,  -0.1511621f,  0.007109237f, 0.02278795f, -0.03319917f, 0.02485612f,  -0.009604887f,
      -0.004706409f, -0.02010754f, 0.0267038f,   0.01559749f}},
    {"convolutions of images",
     add_conv_lstm2d,
     "Reshape: {target_shape: [2, 2, 3, 1]}\n- ConvLSTM2D: {filters: 2, kernel_size: 2, padding: same}",
     36,
     {-0.1559305f,  -0.1708472f, -0.2127892f,  -0.3725214f, -0.07243822f, -0.3020216f, -0.07300141f, -0.2043978f,
      -0.04649528f, -0.1682f,    -0.05252873f, -0.1691075f, -0.1930617f,  -0.3293986f, -0.1893978f,  -0.3949166f,
      -0.1386314f,  -0.3433448f, -0.0451847f,  -0.1644547f, -0.03608493f, -0.1450645f, -0.0338722f,  -0.1589622f,
      -0.02875203f, -0.2364719f, -0.0469809f,  -0.151351f,  -0.04995837f, -0.1592403f, -0.01720916f, -0.1542757f,
      -0.02130959f, -0.1763912f, -0.06288072f, -0.2251891f}},
    {"convolutions of volumes",
     add_conv_lstm3d,
     "Reshape: {target_shape: [2, 1, 2, 3, 1]}\n- ConvLSTM3D: {filters: 1, kernel_size: [1, 2, 2], "
     "recurrent_activation: hard_sigmoid}",
     6,
     {0.1085465f, 0.0720515f, 0.09752499f, 0.1138027f, 0.1054201f, 0.1283603f}},
    {"states of another layer", add_seq2seq, NULL, 24, {-0.02012701f, -0.1872288f, 0.00495762f,   -0.1591651f,
                                                        -0.07000417f, -0.1768639f, -0.02448478f,  -0.2066122f,
                                                        0.07874382f,  -0.1025594f, -0.006760671f, -0.144122f,
                                                        -0.07473706f, -0.1593101f, 0.008362069f,  -0.1119465f,
                                                        -0.01205253f, -0.1592609f, 0.00373807f,   -0.1997696f,
                                                        0.03963587f,  -0.1544291f, 0.1102481f,    -0.09701437f}},
};

/* ---- comparing ---- */

static float **set_weights(const liana_model *model)
{
    float **weights = liana__test_weights(model, 1);
    size_t count = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        for (int64_t k = 0; k < liana_shape_size(&model->weights[i].shape); k++) {
            weights[i][k] = (float)(0.6 * sin(0.9 * (double)count++ + 0.5));
        }
    }
    return weights;
}

static void compare(const liana_model *model, const made *wanted)
{
    liana_graph *graph;
    const void *const inputs[] = {ids};
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "ids", LIANA_S32, liana_shape_of(EXAMPLES, STEPS));
    liana__model_results results = liana__model_call(model, &x, &(liana__model_mode){.dtype = LIANA_F32});
    assert_ok(liana_graph_status(graph), &context->error);
    liana_graph_output(graph, "result", results.outputs[0].value);
    float **weights = set_weights(model), **found = liana__test_graph_run(cpu, graph, model, weights, inputs);
    const liana_shape shape = liana_tensor_shape(results.outputs[0].value);
    assert_int_equal(liana_shape_size(&shape), wanted->count);
    for (size_t i = 0; i < wanted->count; i++) assert_near(found[0][i], wanted->expected[i], 2e-6);
    liana__test_free_arrays(found, 1);
    liana__test_free_arrays(weights, model->num_weights);
    liana_graph_destroy(graph);
}

static liana_model *new_model(void)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    return model;
}

/* What the JSON of a model makes. */
static liana_model *again(const liana_model *model, liana__keras_form form)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana_model *read = new_model();
    const liana__value *json = liana__model_to_keras(model, form, &arena);
    assert_non_null(json);
    assert_ok(liana__model_from_keras(read, json), &context->error);
    return read;
}

static void test_layers_give_the_numbers_of_keras(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        print_message("%s\n", cases[i].name);
        liana_model *model = new_model();
        liana_input(model, .shape = LIANA_INTS(STEPS), .dtype = LIANA_S32);
        liana_embedding(model, .input_dim = 5, .output_dim = 3, .mask_zero = true);
        cases[i].add(model);
        assert_ok(liana_model_status(model), &context->error);
        compare(model, &cases[i]);
        for (int form = LIANA__KERAS3; form <= LIANA__KERAS2; form++) {
            /* Keras 2's hard_sigmoid is another function, and there a mask counts with initial states. */
            if (form == LIANA__KERAS2 && (!cases[i].yaml || strstr(cases[i].yaml, "hard_sigmoid"))) continue;
            liana_model *other = again(model, (liana__keras_form)form);
            compare(other, &cases[i]);
            liana_model_destroy(other);
        }
        liana_model_destroy(model);
    }
}

static liana_status read_yaml(liana_model *model, const char *layers, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *list;
    LIANA_TRY(liana__yaml_parse(layers, strlen(layers), "run.yaml", &arena, &list, error));
    const liana_shape shape = liana_shape_of(STEPS);
    const liana_status status = liana__model_from_layers(model, list, "model.layers", &shape);
    *error = model->error;
    return status;
}

static void test_yaml_says_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (!cases[i].yaml) continue;
        char text[600];
        liana__error error = {0};
        liana_model *model = new_model();
        liana__format(text, sizeof text,
                      "- InputLayer: {shape: [4], dtype: int32}\n"
                      "- Embedding: {input_dim: 5, output_dim: 3, mask_zero: true}\n- %s\n",
                      cases[i].yaml);
        assert_ok(read_yaml(model, text, &error), &error);
        compare(model, &cases[i]);
        liana_model_destroy(model);
    }
}

/* ---- weights ---- */

static void test_weights_have_the_names_and_places_of_keras(void **state)
{
    (void)state;
    static const char *const names[] = {"embedding/embeddings",
                                        "both/forward_lstm/lstm_cell/kernel",
                                        "both/forward_lstm/lstm_cell/recurrent_kernel",
                                        "both/forward_lstm/lstm_cell/bias",
                                        "both/backward_lstm/lstm_cell/kernel",
                                        "both/backward_lstm/lstm_cell/recurrent_kernel",
                                        "both/backward_lstm/lstm_cell/bias"};
    liana_model *model = new_model();
    liana_input(model, .shape = LIANA_INTS(STEPS), .dtype = LIANA_S32);
    liana_embedding(model, .input_dim = 5, .output_dim = 3);
    liana_bidirectional(model, .name = "both",
                        .layer = LIANA_HELD("LSTM", liana_lstm_options, LIANA_LSTM_DEFAULTS, .units = 2,
                                            .kernel_regularizer = "l2(0.5)", .bias_constraint = "non_neg"));
    assert_ok(liana_model_status(model), &context->error);
    assert_int_equal(model->num_weights, sizeof names / sizeof *names);
    for (size_t i = 0; i < model->num_weights; i++) assert_string_equal(model->weights[i].name, names[i]);
    assert_string_equal(model->weights[1].place, "forward_layer/cell");
    assert_string_equal(model->weights[6].place, "backward_layer/cell");
    assert_int_equal(model->weights[6].number, 2);
    assert_string_equal(model->weights[1].regularizer.type->part.name, "l2");
    assert_null(model->weights[2].regularizer.type);
    assert_string_equal(model->weights[3].constraint.type->part.name, "non_neg");
    /* unit_forget_bias */
    float **weights = liana__test_weights(model, 1);
    static const float bias[] = {0, 0, 1, 1, 0, 0, 0, 0};
    for (size_t i = 0; i < 8; i++) assert_near(weights[3][i], bias[i], 0);
    liana__test_free_arrays(weights, model->num_weights);
    liana_model_destroy(model);
}

/* ---- draws ---- */

/* The first output of training for the examples begin..end-1, [end - begin, width]. */
static float *train_part(const liana_model *model, int64_t begin, int64_t end, size_t *width)
{
    static const uint64_t positions[EXAMPLES] = {7, 8, 9};
    liana_graph *graph;
    const int64_t count = end - begin;
    const void *const inputs[] = {ids + begin * STEPS, positions + begin};
    assert_ok(liana_graph_create(context, &graph), &context->error);
    liana_tensor x = liana_graph_input(graph, "ids", LIANA_S32, liana_shape_of(count, STEPS));
    const liana__model_mode mode = {.training = true,
                                    .positions =
                                        liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(count)),
                                    .seed = 5,
                                    .dtype = LIANA_F32};
    liana__model_results results = liana__model_call(model, &x, &mode);
    assert_ok(liana_graph_status(graph), &context->error);
    liana_graph_output(graph, "result", results.outputs[0].value);
    float **weights = set_weights(model), **found = liana__test_graph_run(cpu, graph, model, weights, inputs);
    const liana_shape shape = liana_tensor_shape(results.outputs[0].value);
    *width = (size_t)(liana_shape_size(&shape) / count);
    float *result = found[0];
    found[0] = NULL;
    liana__test_free_arrays(found, 1);
    liana__test_free_arrays(weights, model->num_weights);
    liana_graph_destroy(graph);
    return result;
}

/* Dropout draws by the position of an example, however a batch is cut. Another draw would change a number by more. */
static void test_draws_do_not_depend_on_the_cut_of_a_batch(void **state)
{
    (void)state;
    static const char *const layers[] = {
        "LSTM: {units: 3, dropout: 0.4, recurrent_dropout: 0.3}",
        "GRU: {units: 3, dropout: 0.4, recurrent_dropout: 0.3, reset_after: false, return_sequences: true}",
        "SimpleRNN: {units: 3, dropout: 0.4, recurrent_dropout: 0.3, go_backwards: true}",
        "RNN: {cell: {StackedRNNCells: {cells: [LSTMCell: {units: 2, dropout: 0.4}, GRUCell: {units: 3}]}}}",
        "Bidirectional: {layer: {LSTM: {units: 2, dropout: 0.4, recurrent_dropout: 0.4}}}",
        "TimeDistributed: {layer: {Dropout: {rate: 0.5}}}",
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        char text[600];
        liana__error error = {0};
        liana_model *model = new_model();
        size_t width = 0;
        liana__format(text, sizeof text,
                      "- InputLayer: {shape: [4], dtype: int32}\n"
                      "- Embedding: {input_dim: 5, output_dim: 3, mask_zero: true}\n- %s\n",
                      layers[i]);
        assert_ok(read_yaml(model, text, &error), &error);
        float *whole = train_part(model, 0, EXAMPLES, &width);
        float *first = train_part(model, 0, 1, &width), *rest = train_part(model, 1, EXAMPLES, &width);
        for (size_t k = 0; k < width; k++) assert_near(first[k], whole[k], 1e-6);
        for (size_t k = 0; k < 2 * width; k++) assert_near(rest[k], whole[width + k], 1e-6);
        free(whole);
        free(first);
        free(rest);
        liana_model_destroy(model);
    }
}

/* ---- refusals ---- */

static void test_bad_options_are_refused_before_the_first_step(void **state)
{
    (void)state;
    static const struct {
        const char *layers, *says;
    } bad[] = {
        {"- InputLayer: {shape: [4]}\n- LSTM: {units: 2}", "[batch, steps, features]"},
        {"- InputLayer: {shape: [4, 3]}\n- LSTM: {units: 0}", "units"},
        {"- InputLayer: {shape: [4, 3]}\n- LSTM: {units: 2, stateful: true}", "set batch_size of the InputLayer"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {layer: {GRU: {units: 2, stateful: true}}}",
         "its layer 'forward_gru' (GRU): stateful: found true"},
        {"- InputLayer: {shape: [4, 3, 2]}\n- TimeDistributed: {layer: {GRU: {units: 2, stateful: true}}}",
         "its layer 'gru' (GRU): stateful: found true"},
        {"- InputLayer: {shape: [4, 3], batch_size: -1}\n- LSTM: {units: 2}", "batch_size"},
        {"- InputLayer: {shape: [4, 3]}\n- LSTM: {units: 2, dropout: 1.5}", "dropout"},
        {"- InputLayer: {shape: [4, 3]}\n- LSTM: {units: 2, reset_after: true}", "reset_after"},
        {"- InputLayer: {shape: [4, 3]}\n- GRU: {units: 2, recurrent_activation: nosuch}", "recurrent_activation"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {}", "layer"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {layer: {Dense: {units: 2}}}", "goes through steps"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {layer: {LSTMCell: {units: 2}}}", "a cell goes into an RNN"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {layer: {LSTM: {units: 2}}, backward_layer: {LSTM: {units: "
         "2}}}",
         "both layers have go_backwards: false"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {layer: {LSTM: {units: 2}}, backward_layer: {LSTM: {units: "
         "2, "
         "go_backwards: true, return_sequences: true}}}",
         "return_sequences"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {merge_mode: max, layer: {LSTM: {units: 2}}}", "merge_mode"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {layer: {LSTM: {units: 2, unitz: 3}}}",
         "layer.LSTM: unknown key 'unitz'"},
        {"- InputLayer: {shape: [4, 3]}\n- Bidirectional: {layer: {LSMT: {units: 2}}}", "did you mean 'LSTM'"},
        {"- InputLayer: {shape: [4, 3]}\n- RNN: {cell: {LSTM: {units: 2}}}", "expected a cell"},
        {"- InputLayer: {shape: [4, 3]}\n- RNN: {cell: {StackedRNNCells: {cells: [Dense: {units: 2}]}}}",
         "expected cells"},
        {"- InputLayer: {shape: [4, 3]}\n- RNN: {cell: {StackedRNNCells: {cells: []}}}", "a list of 1 to 16"},
        {"- InputLayer: {shape: [4, 3]}\n- TimeDistributed: {layer: {GRUCell: {units: 2}}}", "a cell goes into an RNN"},
        {"- InputLayer: {shape: [4]}\n- TimeDistributed: {layer: {Dense: {units: 2}}}", "[batch, steps, ...]"},
        {"- InputLayer: {shape: [4, 3]}\n- TimeDistributed: {layer: {InputLayer: {shape: [3]}}}", "may hold"},
        {"- InputLayer: {shape: [4, 3], name: x}\n- Dense: {units: 2, name: h, inputs: x}\n- LSTM: {units: 2, inputs: "
         "[x, "
         "h]}",
         "found 1 states, expected 2"},
        {"- InputLayer: {shape: [4, 3], name: x}\n- Flatten: {name: h, inputs: x}\n- GRU: {units: 2, inputs: [x, h]}",
         "a state of its GRUCell"},
        {"- InputLayer: {shape: [4, 3]}\n- LSTMCell: {units: 2}", "states"},
        {"- InputLayer: {shape: [4, 3]}\n- LSTM: {units: 2, return_state: true, name: a}\n- Dense: {units: 2, inputs: "
         "[a, "
         "a/1]}",
         "'a' (LSTM) has several results; read its first alone, or leave out its option"},
        {"- InputLayer: {shape: [4, 3]}\n- GRU: {units: 2, return_state: true}\n- Dense: {units: 1}",
         "has 2 results: name those that are read"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        liana__error error = {0};
        liana_model *model = new_model();
        print_message("%s\n", bad[i].layers);
        assert_int_not_equal(read_yaml(model, bad[i].layers, &error), LIANA_OK);
        assert_says(error.message, bad[i].says);
        assert_says(error.message, "run.yaml:");
        liana_model_destroy(model);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layers_give_the_numbers_of_keras),
        cmocka_unit_test(test_yaml_says_the_same),
        cmocka_unit_test(test_weights_have_the_names_and_places_of_keras),
        cmocka_unit_test(test_draws_do_not_depend_on_the_cut_of_a_batch),
        cmocka_unit_test(test_bad_options_are_refused_before_the_first_step),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
