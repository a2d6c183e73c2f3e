/* The C code that the pages in docs quote: it compiles, and has the documents' results. */
#include "harness/command_run.h"

#include <liana/liana.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(NULL, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

static void check(liana_status status)
{
    if (status != LIANA_OK) fail_msg("%s: %s", liana_status_name(status), liana_context_message(context));
}

/* ---- docs/guides/onnx.md ---- */

static void test_an_onnx_file(void **state)
{
    (void)state;
    liana_model *m;
    check(liana_model_create(context, "bed", &m));
    liana_input(m, .shape = LIANA_INTS(32, 32, 3));
    liana_flatten(m);
    liana_dense(m, .units = 3, .activation = "softmax");
    if (chdir(liana__test_folder()) != 0) fail_msg("no folder");
    const liana_onnx_options options = {.batch = 1, .pixels = LIANA_ONNX_UINT8};
    check(liana_model_save_onnx(m, "bed.onnx", &options));
    assert_int_equal(access("bed.onnx", R_OK), 0);
    liana_model_destroy(m);
}

/* ---- docs/guides/embed.md ---- */

static atomic_int num_failed;

static void *predict_frames(void *user)
{
    static const unsigned char gray[20 * 30];
    const liana_pixels pixels = {gray, 20, 30, 1, 0};
    liana_predictor *predictor = user;
    float outputs[3];
    for (int i = 0; i < 10; i++) {
        if (liana_predictor_run_images(predictor, &pixels, 1, outputs) != LIANA_OK) num_failed++;
        if (fabsf(outputs[0] + outputs[1] + outputs[2] - 1) > 1e-5f) num_failed++;
    }
    return NULL;
}

static void test_predictors_of_threads(void **state)
{
    (void)state;
    pthread_t thread;
    liana_model *m;
    num_failed = 0;
    const liana_preprocessing scale = {.scale = LIANA_SCALE_ZERO_ONE};
    check(liana_model_create(context, "flowers", &m));
    liana_input(m, .shape = LIANA_INTS(8, 8, 3));
    liana_flatten(m);
    liana_dense(m, .units = 3, .activation = "softmax");
    check(liana_model_set_preprocessing(m, &scale));
    if (chdir(liana__test_folder()) != 0) fail_msg("no folder");
    check(liana_model_save(m, "flowers"));
    liana_model_destroy(m);
    liana_predictor *first, *second;
    const liana_predictor_options options = {.batch_size = 8, .num_threads = 1};
    check(liana_predictor_open(context, "flowers", &options, &first));
    check(liana_predictor_share(first, &options, &second));
    pthread_create(&thread, NULL, predict_frames, second);
    predict_frames(first);
    pthread_join(thread, NULL);
    liana_predictor_close(second);
    liana_predictor_close(first);
    assert_int_equal(num_failed, 0);
}

/* ---- docs/guides/models.md ---- */

static void test_inputs_and_outputs(void **state)
{
    (void)state;
    liana_model *m;
    check(liana_model_create(context, "houses", &m));
    liana_layer words = liana_input(m, .name = "words", .shape = LIANA_INTS(20), .dtype = LIANA_S32);
    liana_layer age = liana_input(m, .name = "age", .shape = LIANA_INTS(1));
    words = liana_embedding(m, .input_dim = 10000, .output_dim = 32, .mask_zero = true, .input = words);
    words = liana_global_average_pooling1d(m);
    liana_layer both = liana_concatenate(m, .inputs = {words, liana_normalization(m, .input = age)});
    liana_layer class = liana_dense(m, .name = "class", .units = 5, .activation = "softmax", .input = both);
    liana_layer price = liana_dense(m, .name = "price", .units = 1, .input = both);
    liana_model_outputs(m, class, price);
    check(liana_model_status(m));
    assert_int_equal(liana_layer_shape(both).dims[1], 33);
    liana_model_destroy(m);
}

static void test_names_of_imagenet(void **state)
{
    (void)state;
    static float probabilities[LIANA_IMAGENET_CLASSES];
    probabilities[985] = 0.75f;
    liana_imagenet_class best[5];
    check(liana_decode_predictions(context, probabilities, 1, LIANA_IMAGENET_CLASSES, 5, best));
    printf("%s %s %.4f\n", best[0].wordnet_id, best[0].name, (double)best[0].probability);
    assert_string_equal(best[0].name, "daisy");
}

static void test_functions_as_layers(void **state)
{
    (void)state;
    liana_model *m;
    check(liana_model_create(context, "functions", &m));
    liana_layer x = liana_input(m, .shape = LIANA_INTS(4, 6));
    liana_layer mean = liana_operation(m, .function = "mean(axis=1, keepdims=true)", .inputs = {x});
    liana_layer rest = liana_operation(m, .function = "subtract(x1=1)", .inputs = {mean}); /* 1 - mean */
    liana_layer part = liana_operation(m, .function = "get_item(key=[:, 1:, ::2])", .inputs = {x});
    liana_model_outputs(m, rest, part);
    check(liana_model_status(m));
    assert_int_equal(liana_layer_shape(part).dims[2], 3);
    liana_model_destroy(m);
}

static void test_states_of_a_decoder(void **state)
{
    (void)state;
    liana_model *m;
    check(liana_model_create(context, "chat", &m));
    liana_layer words = liana_input(m, .name = "words", .shape = LIANA_INTS(7, 5));
    liana_layer answer = liana_input(m, .name = "answer", .shape = LIANA_INTS(9, 5));
    liana_layer states = liana_lstm(m, .units = 64, .return_state = true, .inputs = {words});
    liana_layer said = liana_lstm(m, .units = 64, .return_sequences = true,
                                  .inputs = {answer, liana_layer_output(states, 1), liana_layer_output(states, 2)});
    liana_model_outputs(m, said, states);
    check(liana_model_status(m));
    assert_int_equal(liana_layer_shape(said).dims[1], 9);
    liana_model_destroy(m);
}

static void test_reused_and_nested(void **state)
{
    (void)state;
    liana_model *m, *encoder;
    check(liana_model_create(context, "encoder", &encoder));
    liana_layer code = liana_input(encoder, .shape = LIANA_INTS(4));
    liana_layer first = liana_dense(encoder, .name = "first", .units = 3, .input = code);
    liana_model_outputs(encoder, first, liana_dense(encoder, .name = "last", .units = 2, .input = code));
    check(liana_model_create(context, "pairs", &m));
    liana_layer a = liana_input(m, .name = "a", .shape = LIANA_INTS(4));
    liana_layer b = liana_input(m, .name = "b", .shape = LIANA_INTS(4));
    liana_layer left = liana_dense(m, .units = 8, .input = a);
    liana_layer right = liana_layer_reuse(left, b);
    liana_layer x = liana_nested(m, .nested = encoder, .inputs = {a});
    liana_layer y = liana_nested(m, .nested = encoder, .inputs = {b}); /* the same weights */
    liana_layer second = liana_nested_output(x, 1);
    liana_concatenate(m, .inputs = {left, right, x, y, second});
    check(liana_model_status(m));
    assert_int_equal(liana_model_info(m).num_trainable_parameters, (4 + 1) * 8 + (4 + 1) * 3 + (4 + 1) * 2);
    liana_model_destroy(m);
    liana_model_destroy(encoder);
}

static void test_a_model_on_tensors(void **state)
{
    (void)state;
    liana_model *model;
    liana_graph *graph;
    check(liana_model_create(context, "called", &model));
    liana_input(model, .shape = LIANA_INTS(3));
    liana_batch_normalization(model);
    liana_dropout(model, .rate = 0.5);
    liana_dense(model, .units = 2);
    check(liana_model_status(model));
    check(liana_graph_create(context, &graph));
    liana_tensor x = liana_graph_input(graph, "x", LIANA_F32, liana_shape_of(8, 3));
    liana_tensor positions = liana_graph_input(graph, "positions", LIANA_U64, liana_shape_of(8));
    liana_tensor y;
    liana_call_effects effects;
    liana_call_mode mode = {.training = true, .positions = positions, .seed = 1};
    liana_model_call(model, &x, 1, &mode, &y, &effects);
    liana_effects_assign(&effects); /* moving averages of batch normalisation */
    check(liana_graph_status(graph));
    assert_int_equal(liana_tensor_shape(y).dims[1], 2);
    liana_graph_destroy(graph);
    liana_model_destroy(model);
}

/* ---- docs/guides/training.md ---- */

static liana_status epoch_end(void *user, liana_fit_context *fit)
{
    int *calls = user;
    double accuracy;
    ++*calls;
    if (liana_fit_metric(fit, "val_accuracy", &accuracy) && accuracy > 0.95) {
        liana_fit_stop(fit, "the accuracy is above 95 %");
    }
    return LIANA_OK;
}

static liana_status train_until_good(liana_model *model, const liana_dataset *training, const liana_dataset *test,
                                     int *calls)
{
    liana_callback own = {.size = sizeof own, .name = "good_enough", .user = calls, .epoch_end = epoch_end};
    const liana_callback *callbacks[] = {&own};
    return liana_fit(model, &(liana_fit_options){.training = training,
                                                 .validation = test,
                                                 .epochs = 2,
                                                 .named_callbacks = "[EarlyStopping: {patience: 3}]",
                                                 .callbacks = callbacks,
                                                 .num_callbacks = 1});
}

static void test_callbacks(void **state)
{
    (void)state;
    liana_dataset *data;
    liana_model *model;
    int calls = 0;
    liana__test_folder();
    liana__test_tiny_data("train", 40, 1);
    check(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data));
    check(liana_model_create(context, "tiny", &model));
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    check(train_until_good(model, data, data, &calls));
    assert_compare(calls, >=, 1);
    assert_compare(calls, <=, 2);
    liana_model_destroy(model);
    liana_dataset_close(data);
}

/* ---- docs/guides/losses-and-metrics.md and docs/guides/data.md ---- */

enum { ROWS = 24 };

static liana_dataset *make_rows(void)
{
    float x[ROWS][2], size[ROWS];
    int32_t kind[ROWS];
    for (int i = 0; i < ROWS; i++) {
        x[i][0] = (float)(i % 5) / 5;
        x[i][1] = (float)(i % 7) / 7;
        size[i] = x[i][0] + x[i][1];
        kind[i] = i % 3;
    }
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, 2), x},
                                  {"kind", LIANA_S32, liana_shape_of(ROWS), kind},
                                  {"size", LIANA_F32, liana_shape_of(ROWS), size}};
    return liana_dataset_from_tensor_slices(context, arrays, 3);
}

static liana_status fit_sizes(liana_model *model, const liana_dataset *data)
{
    return liana_fit(model, &(liana_fit_options){.training = data, .loss = "mse", .targets = {{NULL, "size"}}});
}

static liana_status fit_both(liana_model *model, const liana_dataset *data)
{
    return liana_fit(model,
                     &(liana_fit_options){
                         .training = data,
                         .losses = {{.output = "kind", .name = "sparse_categorical_crossentropy", .from_logits = true},
                                    {.output = "size", .name = "huber", .delta = 2, .weight = 0.5}},
                         .output_metrics = {{.output = "kind", .name = "f1_score", .average = "weighted"}},
                     });
}

static void test_losses_of_outputs(void **state)
{
    (void)state;
    liana_dataset *data = make_rows();
    liana_model *one, *both;
    liana_results results;
    check(liana_model_create(context, "one", &one));
    liana_input(one, .shape = LIANA_INTS(2));
    liana_dense(one, .units = 1);
    check(fit_sizes(one, data));
    check(liana_model_create(context, "both", &both));
    liana_layer x = liana_input(both, .name = "x", .shape = LIANA_INTS(2));
    liana_layer kind = liana_dense(both, .name = "kind", .units = 3, .input = x);
    liana_model_outputs(both, kind, liana_dense(both, .name = "size", .units = 1, .input = x));
    check(fit_both(both, data));
    /* An evaluation uses the losses of the fit, and predictions are probabilities. */
    check(liana_evaluate(both, data, NULL, &results));
    assert_int_equal(results.num_metrics, 3);
    assert_string_equal(results.metric_names[0], "kind_loss");
    assert_string_equal(results.metric_names[2], "kind_f1_score");
    float rows[ROWS][4];
    check(liana_predict(both, data, NULL, rows[0]));
    for (int i = 0; i < ROWS; i++) assert_near(rows[i][0] + rows[i][1] + rows[i][2], 1, 1e-5f, i);
    liana_model_destroy(one);
    liana_model_destroy(both);
    liana_dataset_close(data);
}

static const char HOUSES[] = "rooms,area,price,city\n3,80,200,Bonn\n2,50,150,Ulm\n";
static const char LATER[] = "rooms,area,price,city\n4,95,260,Ulm\n";

static void test_tables(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_write("houses.csv", HOUSES, strlen(HOUSES));
    liana__test_write("later.csv", LATER, strlen(LATER));
    static char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("houses.csv"));
    const char *houses_csv = folder, *later_csv = liana__test_path("later.csv");
    liana_dataset *houses =
        liana_dataset_csv(context, houses_csv,
                          &(liana_dataset_options){
                              .columns = "{features: [rooms, area], price: price, city: {category: true}}"});
    liana_dataset *later = liana_dataset_csv(context, later_csv, &(liana_dataset_options){.classes_of = houses});
    liana_iterator *iterator;
    const liana_element *element;
    check(liana_iterator_create(later, NULL, &iterator));
    check(liana_iterator_next(iterator, &element));
    assert_compare(((const float *)liana_element_array(element, "features").data)[1], ==, 95);
    liana_iterator_destroy(iterator);
    liana_dataset_close(later);
    liana_dataset_close(houses);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_functions_as_layers),   cmocka_unit_test(test_states_of_a_decoder),
        cmocka_unit_test(test_inputs_and_outputs),    cmocka_unit_test(test_reused_and_nested),
        cmocka_unit_test(test_a_model_on_tensors),    cmocka_unit_test(test_callbacks),
        cmocka_unit_test(test_losses_of_outputs),     cmocka_unit_test(test_tables),
        cmocka_unit_test(test_predictors_of_threads), cmocka_unit_test(test_an_onnx_file),
        cmocka_unit_test(test_names_of_imagenet),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
