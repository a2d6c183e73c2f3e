/* Layers whose states are kept from batch to batch, against Keras 3.15.1 on TensorFlow.
 *
 * Element k of all weights, counted through them in their order, is 0.6 sin(0.9 k + 0.5); element i of the inputs is
 * sin(0.7 i + 0.3), and target i is cos(0.5 i). Keras had Input(batch_shape=(2, 3, 2)), and reset_state() of each layer
 * where the tests here reset. */
#include "harness/harness.h"
#include "harness/pjrt_plugin.h"

#include "layers/model.h"

#include <liana/layers.h>
#include <liana/train.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EXAMPLES = 6, STEPS = 3, FEATURES = 2, BATCH = 2 };

/* On which models compute; NULL: the CPU. */
static const char *device;

typedef struct fixture {
    liana_context *context;
    liana_dataset *data;
    float x[EXAMPLES * STEPS * FEATURES], y[EXAMPLES];
} fixture;

static void done(const fixture *own, liana_status status)
{
    assert_ok(status, &own->context->error);
}

static int set_up(void **state)
{
    fixture *own = calloc(1, sizeof *own);
    assert_non_null(own);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own->context), LIANA_OK);
    for (size_t i = 0; i < sizeof own->x / sizeof *own->x; i++) own->x[i] = (float)sin(0.7 * (double)i + 0.3);
    for (size_t i = 0; i < EXAMPLES; i++) own->y[i] = (float)cos(0.5 * (double)i);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(EXAMPLES, STEPS, FEATURES), own->x},
                                  {"y", LIANA_F32, liana_shape_of(EXAMPLES, 1), own->y}};
    own->data = liana_dataset_from_tensor_slices(own->context, arrays, 2);
    assert_non_null(own->data);
    *state = own;
    return 0;
}

static int tear_down(void **state)
{
    fixture *own = *state;
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
    free(own);
    return 0;
}

/* ---- models ---- */

static void set_weights(const fixture *own, liana_model *model)
{
    int64_t k = 0;
    done(own, liana__model_values_complete(model, &own->context->error));
    for (size_t i = 0; i < model->num_weights; i++) {
        const int64_t count = liana_shape_size(&model->weights[i].shape);
        for (int64_t e = 0; e < count && !model->weights[i].is_state; e++, k++) {
            model->values[i][e] = (float)(0.6 * sin(0.9 * (double)k + 0.5));
        }
    }
    model->values_version++;
}

static liana_model *begin_model(const fixture *own)
{
    liana_model *m;
    done(own, liana_model_create(own->context, NULL, &m));
    liana_input(m, .shape = LIANA_INTS(STEPS, FEATURES), .batch_size = BATCH, .name = "x");
    return m;
}

static liana_model *make_model(const fixture *own)
{
    liana_model *m = begin_model(own);
    liana_lstm(m, .units = 2, .stateful = true, .return_sequences = true);
    liana_bidirectional(m, .layer =
                               LIANA_HELD("GRU", liana_gru_options, LIANA_GRU_DEFAULTS, .units = 2, .stateful = true));
    liana_dense(m, .units = 1, .name = "y");
    set_weights(own, m);
    return m;
}

static void expect_near(const float *found, const float *expected, size_t count)
{
    for (size_t i = 0; i < count; i++) assert_near(found[i], expected[i], 2e-6);
}

static void expect_predictions(const fixture *own, liana_model *model, const float *expected)
{
    float found[EXAMPLES];
    done(own, liana_predict(model, own->data, &(liana_predict_options){.device = device}, found));
    expect_near(found, expected, EXAMPLES);
}

/* ---- predictions ---- */

static const float first[] = {-0.9937844f, -0.9843767f, -1.1760671f, -1.1851673f, -1.2591360f, -1.2697346f};
static const float second[] = {-1.3280091f, -1.3085049f, -1.3473730f, -1.3563612f, -1.3518894f, -1.3625464f};

static void test_batches_go_on_with_the_states_of_the_batch_before(void **state)
{
    const fixture *own = *state;
    liana_model *model = make_model(own);
    expect_predictions(own, model, first);
    expect_predictions(own, model, second);
    done(own, liana_model_reset_states(model));
    expect_predictions(own, model, first);
    liana_model_destroy(model);
}

/* Batch by batch, as a program gives them. */
static void test_single_batches_keep_states_too(void **state)
{
    const fixture *own = *state;
    liana_model *model = make_model(own);
    for (size_t i = 0; i < 2 * EXAMPLES; i += BATCH) {
        float found[BATCH];
        const size_t at = i % EXAMPLES;
        const liana_array batch = {"x", LIANA_F32, liana_shape_of(BATCH, STEPS, FEATURES),
                                   own->x + at * STEPS * FEATURES};
        done(own, liana_predict_on_batch(model, &batch, 1, found));
        expect_near(found, (i < EXAMPLES ? first : second) + at, BATCH);
    }
    liana_model_destroy(model);
}

/* ---- training ---- */

typedef struct losses {
    double training[4], validation[4];
    size_t count;
} losses;

static bool note_epoch(void *user, const liana_epoch *epoch)
{
    losses *own = user;
    own->training[own->count] = epoch->training.loss;
    own->validation[own->count++] = epoch->validation.loss;
    return true;
}

static liana_fit_options fit_options(const fixture *own, losses *found)
{
    return (liana_fit_options){.training = own->data,
                               .device = device,
                               .epochs = 2,
                               .optimizer = "{name: SGD, learning_rate: 0.1}",
                               .loss = "mean_squared_error",
                               .keep_order = true,
                               .on_epoch = note_epoch,
                               .user = found};
}

static void test_a_fit_trains_as_keras_does(void **state)
{
    const fixture *own = *state;
    static const float after[] = {-0.1037568f, -0.1046098f, -0.1091939f, -0.1043093f, -0.1054678f, -0.1093898f};
    liana_model *model = make_model(own);
    losses found = {0};
    liana_results results;
    const liana_fit_options options = fit_options(own, &found);
    done(own, liana_fit(model, &options));
    assert_near(found.training[0], 1.5410971641540527, 5e-6);
    assert_near(found.training[1], 0.8466882705688477, 5e-6);
    done(own, liana_evaluate(model, own->data, &(liana_evaluate_options){.device = device}, &results));
    assert_near(results.loss, 0.531079113483429, 5e-6);
    expect_predictions(own, model, after);
    liana_model_destroy(model);
}

/* Validations go on with the training's states, and leave theirs to it. */
static void test_validations_keep_states_as_keras_does(void **state)
{
    const fixture *own = *state;
    liana_model *model = make_model(own);
    losses found = {0};
    liana_fit_options options = fit_options(own, &found);
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(4, STEPS, FEATURES), (void *)(uintptr_t)own->x},
                                  {"y", LIANA_F32, liana_shape_of(4, 1), (void *)(uintptr_t)own->y}};
    liana_dataset *data = liana_dataset_from_tensor_slices(own->context, arrays, 2);
    options.validation = data;
    done(own, liana_fit(model, &options));
    static const double expected[] = {1.5410971641540527, 0.8653416633605957, 1.1932090520858765, 0.6447490453720093};
    for (size_t i = 0; i < 2; i++) {
        assert_near(found.training[i], expected[i], 5e-6);
        assert_near(found.validation[i], expected[i + 2], 5e-6);
    }
    liana_dataset_close(data);
    liana_model_destroy(model);
}

static void test_reset_states_begins_each_epoch_with_zeros(void **state)
{
    const fixture *own = *state;
    static const float after[] = {-0.1489022f, -0.1484776f, -0.1710715f, -0.1679350f, -0.1773532f, -0.1826912f};
    liana_model *model = make_model(own);
    losses found = {0};
    liana_fit_options options = fit_options(own, &found);
    options.named_callbacks = "[ResetStates]";
    options.validation = own->data; /* changes nothing: it has states of its own */
    done(own, liana_fit(model, &options));
    assert_near(found.training[0], 1.5410971641540527, 5e-6);
    assert_near(found.training[1], 0.6771350502967834, 5e-6);
    expect_predictions(own, model, after);
    liana_model_destroy(model);
}

static void test_a_plugin_keeps_states_too(void **state)
{
    if (!liana__test_plugin_is_there()) skip();
    device = "pjrt:cpu";
    test_batches_go_on_with_the_states_of_the_batch_before(state);
    test_a_fit_trains_as_keras_does(state);
    test_validations_keep_states_as_keras_does(state);
    test_reset_states_begins_each_epoch_with_zeros(state);
    device = NULL;
}

/* ---- each layer ---- */

static void add_simple_rnn(liana_model *m)
{
    liana_simple_rnn(m, .units = 2, .stateful = true, .go_backwards = true);
}

static void add_gru(liana_model *m)
{
    liana_gru(m, .units = 2, .stateful = true, .reset_after = false);
}

static void add_stacked(liana_model *m)
{
    liana_rnn(m, .stateful = true,
              .cell = LIANA_HELD("StackedRNNCells", liana_stacked_rnn_cells_options, LIANA_STACKED_RNN_CELLS_DEFAULTS,
                                 .cells = {.items = {LIANA_HELD("LSTMCell", liana_lstm_cell_options,
                                                                LIANA_LSTM_CELL_DEFAULTS, .units = 2),
                                                     LIANA_HELD("GRUCell", liana_gru_cell_options,
                                                                LIANA_GRU_CELL_DEFAULTS, .units = 1)}}));
}

static void add_conv_lstm(liana_model *m)
{
    liana_conv_lstm1d(m, .filters = 1, .kernel_size = {2}, .stateful = true);
}

/* From step to step, and on to the next batch. */
static void add_time_distributed(liana_model *m)
{
    liana_time_distributed(m, .layer = LIANA_HELD("LSTM", liana_lstm_options, LIANA_LSTM_DEFAULTS, .units = 1,
                                                  .stateful = true));
}

static void test_each_layer_keeps_its_states(void **state)
{
    const fixture *own = *state;
    static const struct {
        void (*add)(liana_model *m);
        liana_ints shape;
        float expected[12];
        size_t values; /* of an example */
    } layers[] = {
        {add_simple_rnn,
         {2, {3, 2}},
         {0.4863019f, 0.3691349f, -0.0884319f, -0.1506010f, 0.6182394f, 0.6707928f, 0.5079467f, 0.3890993f, -0.1650938f,
          -0.1976009f, 0.6103707f, 0.6643124f},
         2},
        {add_gru,
         {2, {3, 2}},
         {0.1050927f, 0.3995765f, 0.3823302f, 0.1974954f, 0.6770830f, 0.8796912f, 0.2140551f, 0.4476917f, 0.4793878f,
          0.2147571f, 0.6973268f, 0.8792949f},
         2},
        {add_stacked, {2, {3, 2}}, {0.0967738f, 0.0994253f, 0.1433083f, 0.1118434f, 0.1251377f, 0.1459251f}, 1},
        {add_conv_lstm,
         {3, {2, 3, 1}},
         {-0.1039664f, -0.1033099f, -0.1722642f, -0.1490076f, -0.1576044f, -0.1772909f, -0.1402207f, -0.1291125f,
          -0.2093379f, -0.1808321f, -0.1658584f, -0.1829755f},
         2},
        {add_time_distributed,
         {3, {2, 3, 1}},
         {0.1558806f, -0.0307495f, -0.1161956f, 0.1284029f, -0.0638721f, -0.1215323f, 0.1853334f, -0.0309953f,
          -0.1274061f, 0.1268055f, -0.0685732f, -0.1194053f},
         2},
    };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++) {
        liana_model *m;
        done(own, liana_model_create(own->context, NULL, &m));
        liana_input(m, .shape = layers[i].shape, .batch_size = BATCH, .name = "x");
        layers[i].add(m);
        set_weights(own, m);
        for (size_t at = 0; at < EXAMPLES; at += BATCH) {
            float found[BATCH * 2];
            liana_array batch = {"x",
                                 LIANA_F32,
                                 {.rank = 1 + (int)layers[i].shape.count, .dims = {BATCH}},
                                 own->x + at * STEPS * FEATURES};
            for (int64_t k = 0; k < layers[i].shape.count; k++) batch.shape.dims[k + 1] = layers[i].shape.values[k];
            done(own, liana_predict_on_batch(m, &batch, 1, found));
            expect_near(found, layers[i].expected + at * layers[i].values, BATCH * layers[i].values);
        }
        liana_model_destroy(m);
    }
}

/* ---- files ---- */

/* As in Keras, states are in no file of a model; the batch size is. */
static void test_files_have_the_batch_size_and_no_states(void **state)
{
    const fixture *own = *state;
    static const char *const names[] = {"model.keras", "model.h5"};
    liana__test_folder();
    liana_model *model = make_model(own);
    assert_int_equal(liana_model_info(model).num_parameters, 117);
    expect_predictions(own, model, first);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        liana_model *read = NULL;
        done(own, liana_model_save(model, liana__test_path(names[i])));
        done(own, liana_model_load(own->context, liana__test_path(names[i]), &read));
        assert_int_equal(liana__model_batch_size(read), BATCH);
        expect_predictions(own, read, first);
        expect_predictions(own, read, second);
        liana_model_destroy(read);
    }
    liana_model_destroy(model);
}

/* A training that goes on from a checkpoint has its states. */
static void test_a_resumed_fit_goes_on_with_its_states(void **state)
{
    const fixture *own = *state;
    liana__test_folder();
    liana_model *whole = make_model(own), *parts = make_model(own), *resumed = make_model(own);
    losses found = {0}, expected = {0};
    liana_fit_options options = fit_options(own, &expected);
    done(own, liana_fit(whole, &options));
    options = fit_options(own, &found);
    options.checkpoints = liana__test_path("checkpoints");
    options.epochs = 1;
    done(own, liana_fit(parts, &options));
    options.epochs = 2;
    options.resume = true;
    done(own, liana_fit(resumed, &options));
    assert_near(found.training[1], expected.training[1], 0);
    liana_model_destroy(whole);
    liana_model_destroy(parts);
    liana_model_destroy(resumed);
}

/* ---- refusals ---- */

static void expect_refusal(const fixture *own, liana_status status, const char *says)
{
    assert_int_not_equal(status, LIANA_OK);
    assert_says(own->context->error.message, says);
    assert_says(own->context->error.message, "layer 'lstm'");
    assert_says(own->context->error.message, "stateful");
}

static void test_data_and_options_that_cut_or_move_sequences_are_refused(void **state)
{
    const fixture *own = *state;
    liana_model *model = make_model(own);
    losses found = {0};
    const liana_fit_options good = fit_options(own, &found);
    liana_fit_options options = good;
    options.keep_order = false;
    expect_refusal(own, liana_fit(model, &options), "shuffle: false");
    options = good;
    options.batch_size = 3;
    expect_refusal(own, liana_fit(model, &options), "found batches of 3 examples, expected 2");
    options = good;
    options.microbatch = 1;
    expect_refusal(own, liana_fit(model, &options), "set microbatch");
    options = good;
    options.strategy = (liana_strategy){.name = "mirrored", .replicas = 2};
    expect_refusal(own, liana_fit(model, &options), "several devices");
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(5, STEPS, FEATURES), (void *)(uintptr_t)own->x},
                                  {"y", LIANA_F32, liana_shape_of(5, 1), (void *)(uintptr_t)own->y}};
    liana_dataset *odd = liana_dataset_from_tensor_slices(own->context, arrays, 2);
    options = good;
    options.training = odd;
    expect_refusal(own, liana_fit(model, &options), "5 examples, which leave 1 beside the batches of 2");
    float outputs[5];
    expect_refusal(own, liana_predict(model, odd, NULL, outputs), "5 examples, which leave 1");
    expect_refusal(own, liana_predict(model, own->data, &(liana_predict_options){.batch_size = 6}, outputs),
                   "found batches of 6 examples");
    assert_int_equal(found.count, 0);
    done(own, liana_predict(model, odd, &(liana_predict_options){.steps = 2}, outputs));
    options = good;
    options.named_callbacks = "[ResetStates]";
    liana_model *other = begin_model(own);
    liana_lstm(other, .units = 2);
    liana_dense(other, .units = 1, .name = "y");
    assert_int_equal(liana_fit(other, &options), LIANA_INVALID_CONFIG);
    assert_says(own->context->error.message, "no layer of the model has stateful: true");
    liana_dataset_close(odd);
    liana_model_destroy(other);
    liana_model_destroy(model);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batches_go_on_with_the_states_of_the_batch_before),
        cmocka_unit_test(test_single_batches_keep_states_too),
        cmocka_unit_test(test_a_fit_trains_as_keras_does),
        cmocka_unit_test(test_validations_keep_states_as_keras_does),
        cmocka_unit_test(test_reset_states_begins_each_epoch_with_zeros),
        cmocka_unit_test(test_a_plugin_keeps_states_too),
        cmocka_unit_test(test_each_layer_keeps_its_states),
        cmocka_unit_test(test_files_have_the_batch_size_and_no_states),
        cmocka_unit_test(test_a_resumed_fit_goes_on_with_its_states),
        cmocka_unit_test(test_data_and_options_that_cut_or_move_sequences_are_refused),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
