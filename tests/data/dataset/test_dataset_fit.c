/* Models are fitted to datasets made of stages as to the files themselves, bit for bit where these are the same. */
#include "harness/command_run.h"

#include "data/dataset/dataset_source.h"
#include "data/loader/loader.h"

#include <liana/liana.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 200, NUM_VALIDATION = 100, CLASSES = LIANA__TINY_CLASSES, SIZE = LIANA__TINY_SIZE };

typedef struct fixture {
    liana_context *context;
    liana_dataset *training; /* files */
    liana_dataset *validation;
} fixture;

static fixture set_up(int num_threads)
{
    fixture own;
    liana__test_folder();
    liana__test_tiny_run(NUM_TRAINING);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &own.context),
                     LIANA_OK);
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.training), LIANA_OK);
    assert_int_equal(liana_dataset_open(own.context, liana__test_path("validation-images"), NULL, &own.validation),
                     LIANA_OK);
    return own;
}

static void tear_down(fixture *own)
{
    liana_dataset_close(own->training);
    liana_dataset_close(own->validation);
    liana_context_destroy(own->context);
}

static void check_status(const fixture *own, liana_status status, liana_status expected, const char *text, int line)
{
    const char *message = liana_context_message(own->context);
    if (status != expected || !strstr(message, text)) {
        print_error("line %d: %s: %s\n", line, liana_status_name(status), message);
    }
    assert_int_equal(status, expected);
    assert_says(message, text);
}
#define done(status) check_status(&own, (status), LIANA_OK, "", __LINE__)
#define refused(status, expected, text) check_status(&own, (status), (expected), (text), __LINE__)

static liana_model *make_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(SIZE, SIZE, 1));
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

/* The outputs of a model fitted so for the validation data. */
static float *fit_to(const fixture *own, const liana_fit_options *options)
{
    liana_model *model = make_model(own->context);
    float *outputs = malloc(NUM_VALIDATION * CLASSES * sizeof *outputs);
    check_status(own, liana_fit(model, options), LIANA_OK, "", __LINE__);
    check_status(own, liana_predict(model, own->validation, NULL, outputs), LIANA_OK, "", __LINE__);
    liana_model_destroy(model);
    return outputs;
}

static void check_same(float *a, float *b)
{
    assert_memory_equal(a, b, NUM_VALIDATION * CLASSES * sizeof *a);
    free(a);
    free(b);
}

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    (void)element;
    return true;
}

/* The training data as a program may have them. */
static liana_dataset *make_arrays(liana_context *context)
{
    static uint8_t images[NUM_TRAINING][SIZE][SIZE], labels[NUM_TRAINING];
    liana_dataset *files;
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &files), LIANA_OK);
    liana_iterator *iterator;
    assert_int_equal(liana_iterator_create(files, NULL, &iterator), LIANA_OK);
    for (int i = 0; i < NUM_TRAINING; i++) {
        const liana_element *element;
        assert_int_equal(liana_iterator_next(iterator, &element), LIANA_OK);
        memcpy(images[i], liana_element_array(element, "image").data, SIZE * SIZE);
        labels[i] = (uint8_t) * (const int64_t *)liana_element_array(element, "label").data;
        assert_int_equal(liana_element_string(element, "id", 0).size, 0);
    }
    liana_iterator_destroy(iterator);
    liana_dataset_close(files);
    const liana_array arrays[] = {{"label", LIANA_U8, liana_shape_of(NUM_TRAINING), labels},
                                  {"image", LIANA_U8, liana_shape_of(NUM_TRAINING, SIZE, SIZE), images}};
    return liana_dataset_from_tensor_slices(context, arrays, 2);
}

static void test_stages_that_change_nothing_change_no_weight(void **state)
{
    (void)state;
    fixture own = set_up(2);
    liana_fit_options options = {.training = own.training, .epochs = 3, .seed = 5};
    liana_dataset *arrays = make_arrays(own.context);
    liana_dataset *stages = liana_dataset_prefetch(liana_dataset_retain(own.training));
    for (int keep_order = 0; keep_order < 2; keep_order++) {
        options.keep_order = keep_order;
        options.training = own.training;
        float *files = fit_to(&own, &options), *copy = malloc(NUM_VALIDATION * CLASSES * sizeof *copy);
        memcpy(copy, files, NUM_VALIDATION * CLASSES * sizeof *copy);
        options.training = arrays;
        check_same(fit_to(&own, &options), files);
        options.training = stages;
        check_same(fit_to(&own, &options), copy);
    }
    /* A stream keeps its order. */
    options.training = own.training;
    float *files = fit_to(&own, &options);
    liana_dataset *stream =
        liana_dataset_filter(liana_dataset_retain(own.training), &(liana_filter_options){.function = keep_all});
    options.training = stream;
    options.keep_order = false;
    check_same(fit_to(&own, &options), files);
    liana_dataset_close(arrays);
    liana_dataset_close(stages);
    liana_dataset_close(stream);
    tear_down(&own);
}

/* Bright by chance, another way each time. */
static liana_status brighten(void *user, const liana_example_address *address, const liana_element *input,
                             liana_element *output)
{
    (void)user;
    (void)input;
    uint8_t *pixels = liana_element_output(output, "image");
    int more = (int)(40 * liana_example_uniform(address, 0));
    for (int i = 0; i < SIZE * SIZE; i++) pixels[i] = (uint8_t)(pixels[i] > 255 - more ? 255 : pixels[i] + more);
    return LIANA_OK;
}

static liana_dataset *make_stream(const fixture *own)
{
    liana_dataset *stream =
        liana_dataset_filter(liana_dataset_retain(own->training), &(liana_filter_options){.function = keep_all});
    stream = liana_dataset_shuffle(stream, &(liana_shuffle_options){.buffer_size = 50, .seed = 3});
    return liana_dataset_map(stream, &(liana_map_options){.name = "brighten", .function = brighten});
}

static liana_dataset *make_random_access(const fixture *own)
{
    return liana_dataset_map(liana_dataset_retain(own->training),
                             &(liana_map_options){.name = "brighten", .function = brighten});
}

static liana_dataset *make_mixture(const fixture *own)
{
    liana_dataset *both[2] = {liana_dataset_repeat(make_stream(own), -1),
                              liana_dataset_repeat(make_random_access(own), -1)};
    return liana_dataset_sample_from_datasets(both, 2, &(liana_sample_options){.weights = (const double[]){2, 1}});
}

/* Rare classes more often; and examples in groups of a class. */
static liana_dataset *make_resampled(const fixture *own)
{
    static const double target[CLASSES] = {3, 1, 2, 2};
    const liana_rejection_resample_options options = {.target_dist = target, .num_classes = CLASSES, .seed = 2};
    return liana_dataset_rejection_resample(make_random_access(own), &options);
}

static int64_t label_of(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user;
    (void)address;
    return *(const int64_t *)liana_element_array(element, "label").data;
}

static liana_dataset *shuffle_window(void *user, int64_t key, liana_dataset *elements)
{
    (void)user;
    return liana_dataset_shuffle(elements, &(liana_shuffle_options){.seed = (uint64_t)key});
}

static liana_dataset *make_grouped(const fixture *own)
{
    const liana_group_by_window_options options = {.key = label_of, .window_size = 7, .reduce = shuffle_window};
    return liana_dataset_group_by_window(make_random_access(own), &options);
}

static uint32_t sum_batch(const liana__batch *batch)
{
    uint32_t sum = 0;
    for (int64_t i = 0; i < batch->count * SIZE * SIZE; i++) sum = sum * 31 + batch->images[i];
    for (int64_t i = 0; i < batch->count; i++) sum = sum * 31 + (uint32_t)batch->labels[i];
    return sum;
}

/* The batches of three epochs, from each of some steps on, with 1, 2 and 5 reading threads. */
static void check_batches(liana_dataset *dataset, int64_t steps)
{
    enum { BATCH = 24, EPOCHS = 3, MAX_STEPS = 16 };
    static const int threads[] = {1, 2, 5};
    liana__error error = {0};
    uint32_t expected[EPOCHS][MAX_STEPS];
    for (int t = 0; t < 3; t++) {
        liana__source *source;
        liana__loader *loader;
        assert_ok(liana__dataset_view(dataset, steps * BATCH, &source, &error), &error);
        liana__loader_options options = {.image = {.height = SIZE, .width = SIZE, .channels = 1},
                                         .batch_size = BATCH,
                                         .steps_per_epoch = steps,
                                         .num_epochs = EPOCHS,
                                         .shuffle = !source->streams,
                                         .seed = 8,
                                         .num_classes = CLASSES,
                                         .cache_memory = 1 << 20,
                                         .num_threads = threads[t]};
        assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
        uint64_t per_epoch = liana__loader_steps_per_epoch(loader, 0);
        for (uint64_t first = 0; first < EPOCHS * per_epoch; first += 1 + first / 2) {
            assert_ok(liana__loader_begin(loader, first / per_epoch, first % per_epoch, &error), &error);
            for (uint64_t k = first; k < EPOCHS * per_epoch; k++) {
                liana__batch *batch;
                assert_ok(liana__loader_next(loader, &batch, &error), &error);
                uint32_t *sum = &expected[k / per_epoch][k % per_epoch];
                if (t == 0 && first == 0) *sum = sum_batch(batch);
                assert_int_equal(sum_batch(batch), *sum);
                liana__loader_release(loader, batch);
            }
        }
        /* Each epoch looks different. */
        assert_int_not_equal(expected[0][0], expected[1][0]);
        liana__loader_destroy(loader);
        liana__dataset_close_view(source);
    }
    liana_dataset_close(dataset);
}

static void test_batches_are_the_same_from_any_step_on(void **state)
{
    (void)state;
    fixture own = set_up(2);
    for (int64_t steps = 0; steps <= 11; steps += 11) {
        check_batches(make_random_access(&own), steps);
        check_batches(make_stream(&own), steps);
    }
    check_batches(make_mixture(&own), 5);
    check_batches(make_resampled(&own), 4);
    check_batches(make_resampled(&own), 0);
    check_batches(make_grouped(&own), 0);
    tear_down(&own);
}

/* ---- sequences of any length ---- */

enum { SEQUENCES = 60, LONGEST = 8, NUM_WORDS = 12 };

/* Sequence i has 1 to 7 words; its label tells whether the first one is even. */
static int64_t word_of(int64_t sequence, int64_t place)
{
    return 1 + (sequence * 7 + place * place * 3 + sequence * place) % (NUM_WORDS - 1);
}

static int64_t length_of(int64_t sequence)
{
    return 1 + sequence * sequence % (LONGEST - 1);
}

static liana_status next_sequence(void *user, void *state, const liana_example_address *address, liana_element *element)
{
    (void)user;
    (void)state;
    const int64_t sequence = (int64_t)address->position, length = length_of(sequence);
    if (sequence == SEQUENCES) return LIANA_END_OF_DATA;
    const liana_status status = liana_element_set_rows(element, "words", length);
    if (status != LIANA_OK) return status;
    int32_t *words = liana_element_output(element, "words");
    for (int64_t i = 0; i < length; i++) words[i] = (int32_t)word_of(sequence, i);
    *(int64_t *)liana_element_output(element, "label") = word_of(sequence, 0) % 2;
    return LIANA_OK;
}

static liana_dataset *make_sequences(liana_context *context)
{
    static const liana_component components[] = {{.name = "words",
                                                  .dtype = LIANA_S32,
                                                  .shape = {1, {LIANA_UNKNOWN_DIM}}},
                                                 {.name = "label", .dtype = LIANA_S64}};
    return liana_dataset_from_generator(context, &(liana_generator_options){.next = next_sequence,
                                                                            .components = components,
                                                                            .num_components = 2});
}

/* The same, padded by the program. */
static liana_dataset *make_padded(liana_context *context)
{
    static int32_t words[SEQUENCES][LONGEST];
    static int64_t labels[SEQUENCES];
    for (int64_t i = 0; i < SEQUENCES; i++) {
        for (int64_t k = 0; k < length_of(i); k++) words[i][k] = (int32_t)word_of(i, k);
        labels[i] = word_of(i, 0) % 2;
    }
    const liana_array arrays[] = {{"words", LIANA_S32, liana_shape_of(SEQUENCES, LONGEST), words},
                                  {"label", LIANA_S64, liana_shape_of(SEQUENCES), labels}};
    return liana_dataset_from_tensor_slices(context, arrays, 2);
}

static void test_padded_sequences_reach_a_model(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    float outputs[3][SEQUENCES][2];
    const liana_component_padding padding = {.component = "words", .shape = liana_shape_of(LONGEST)};
    for (int i = 0; i < 3; i++) {
        liana_dataset *training = i == 0 ? make_padded(context) : make_sequences(context);
        if (i == 1) {
            const liana_padded_batch_options options = {10, false, &padding, 1};
            training = liana_dataset_padded_batch(training, &options);
        }
        if (i == 2) training = liana_dataset_pad(training, &(liana_pad_options){&padding, 1, false});
        assert_non_null(training);
        liana_model *model;
        assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
        liana_input(model, .name = "words", .shape = LIANA_INTS(LONGEST), .dtype = LIANA_S32);
        liana_embedding(model, .input_dim = NUM_WORDS, .output_dim = 5, .mask_zero = true);
        liana_global_average_pooling1d(model);
        liana_dense(model, .units = 2, .activation = "softmax");
        const liana_fit_options options = {
            .training = training, .epochs = 3, .batch_size = 10, .seed = 5, .keep_order = true};
        liana_status status = liana_fit(model, &options);
        if (status != LIANA_OK) print_error("%s\n", liana_context_message(context));
        assert_int_equal(status, LIANA_OK);
        liana_dataset *all = make_padded(context);
        assert_int_equal(liana_predict(model, all, NULL, &outputs[i][0][0]), LIANA_OK);
        liana_dataset_close(all);
        liana_dataset_close(training);
        liana_model_destroy(model);
    }
    assert_memory_equal(outputs[1], outputs[0], sizeof outputs[0]);
    assert_memory_equal(outputs[2], outputs[0], sizeof outputs[0]);
    /* Values of any length are refused before the first step. */
    liana_dataset *ragged = make_sequences(context);
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .name = "words", .shape = LIANA_INTS(LONGEST), .dtype = LIANA_S32);
    liana_embedding(model, .input_dim = NUM_WORDS, .output_dim = 5);
    assert_int_equal(liana_fit(model, &(liana_fit_options){.training = ragged}), LIANA_INVALID_ARGUMENT);
    assert_says(liana_context_message(context), "liana_dataset_pad gives its values one length");
    liana_model_destroy(model);
    liana_dataset_close(ragged);
    liana_context_destroy(context);
}

static void test_fits_go_on_from_a_checkpoint(void **state)
{
    (void)state;
    fixture own = set_up(2);
    liana_dataset *mixture = make_mixture(&own);
    liana_fit_options options = {.training = mixture, .epochs = 3, .steps_per_epoch = 4, .batch_size = 20};
    float *whole = fit_to(&own, &options);
    options.checkpoints = liana__test_path("checkpoints");
    options.epochs = 1;
    free(fit_to(&own, &options));
    options.epochs = 3;
    options.resume = true;
    check_same(fit_to(&own, &options), whole);
    liana_dataset_close(mixture);
    tear_down(&own);
}

static void test_evaluate_and_predict_take_stages(void **state)
{
    (void)state;
    fixture own = set_up(2);
    liana_model *model = make_model(own.context);
    done(liana_fit(model, &(liana_fit_options){.training = own.training, .validation = own.validation}));
    liana_dataset *half = liana_dataset_shard(liana_dataset_retain(own.validation), 2, 1);
    float all[NUM_VALIDATION * CLASSES], some[NUM_VALIDATION / 2 * CLASSES];
    done(liana_predict(model, own.validation, NULL, all));
    done(liana_predict(model, half, NULL, some));
    for (int i = 0; i < NUM_VALIDATION / 2; i++) {
        for (int k = 0; k < CLASSES; k++) {
            assert_near(some[i * CLASSES + k], all[(2 * i + 1) * CLASSES + k], 1e-5f, i, k);
        }
    }
    liana_results results;
    done(liana_evaluate(model, half, NULL, &results));
    assert_int_equal(results.num_examples, NUM_VALIDATION / 2);
    int64_t shape[3], classes;
    done(liana_dataset_image_shape(half, shape));
    assert_compare(shape[0], ==, SIZE);
    assert_compare(shape[1], ==, SIZE);
    assert_compare(shape[2], ==, 1);
    done(liana_dataset_count_classes(half, &classes));
    assert_int_equal(classes, CLASSES);
    liana_dataset_close(half);
    liana_model_destroy(model);
    tear_down(&own);
}

static liana_status forget_label(void *user, const liana_example_address *address, const liana_element *input,
                                 liana_element *output)
{
    (void)address;
    (void)input;
    *(int64_t *)liana_element_output(output, "label") = *(const int *)user;
    return LIANA_OK;
}

static void test_what_a_model_cannot_take_is_said(void **state)
{
    (void)state;
    fixture own = set_up(2);
    liana_model *model = make_model(own.context);
    liana_dataset *files = own.training, *batches, *endless, *renamed, *none, *wrong;
    static const int seven = 7;
    batches = liana_dataset_batch(liana_dataset_retain(files), &(liana_batch_options){8, LIANA_REMAINDER_DROP});
    batches = liana_dataset_batch(batches, &(liana_batch_options){2, LIANA_REMAINDER_DROP});
    endless = liana_dataset_repeat(liana_dataset_retain(files), -1);
    renamed = liana_dataset_rename(liana_dataset_retain(files), "image", "picture");
    none = liana_dataset_take(liana_dataset_retain(files), 0);
    wrong = liana_dataset_map(liana_dataset_retain(files),
                              &(liana_map_options){.name = "seven", .function = forget_label, .user = (void *)&seven});
    refused(liana_fit(model, &(liana_fit_options){.training = batches}), LIANA_INVALID_ARGUMENT,
            "'image' is u8 [8, 12, 12, 1], expected");
    refused(liana_fit(model, &(liana_fit_options){.training = endless}), LIANA_INVALID_ARGUMENT, "set steps_per_epoch");
    refused(liana_fit(model, &(liana_fit_options){.training = renamed}), LIANA_INVALID_ARGUMENT,
            "no component for the input 'input_1'; they have 'picture'");
    refused(liana_fit(model, &(liana_fit_options){.training = none}), LIANA_INVALID_DATA,
            "'take' leaves none of the 200 that come to it; change its options");
    refused(liana_fit(model, &(liana_fit_options){.training = wrong, .keep_order = true}), LIANA_OUT_OF_RANGE,
            "train-images', record 0: label 7 is out of range [0, 4)");
    liana_dataset *all[] = {batches, endless, renamed, none, wrong};
    for (int i = 0; i < 5; i++) liana_dataset_close(all[i]);
    liana_model_destroy(model);
    tear_down(&own);
}

static bool same_weights(liana_model *a, liana_model *b)
{
    bool same = true;
    for (size_t i = 0; liana_model_weight(a, i).name; i++) {
        liana_array left, right;
        const char *name = liana_model_weight(a, i).name;
        assert_int_equal(liana_model_get_weights(a, name, &left), LIANA_OK);
        assert_int_equal(liana_model_get_weights(b, name, &right), LIANA_OK);
        same = same && memcmp(left.data, right.data, (size_t)liana_shape_size(&left.shape) * sizeof(float)) == 0;
    }
    return same;
}

enum { NOTES = 4096 };

static void keep_note(void *user, const char *note)
{
    const size_t used = strlen(user);
    snprintf((char *)user + used, NOTES - used, "%s\n", note);
}

static liana_status fit_with(fixture *own, liana_model *model, liana_dataset *data, int64_t batch_size, char *note)
{
    (void)own;
    const liana_fit_options options = {.training = data,
                                       .batch_size = batch_size,
                                       .epochs = 2,
                                       .seed = 5,
                                       .optimizer = "{name: SGD, learning_rate: 0.01}",
                                       .on_note = keep_note,
                                       .user = note};
    return liana_fit(model, &options);
}

/* Users of tf.data make batches: a fit takes them apart, says so, and gives the bits of single examples. Their size
 * counts where none is given. */
static void test_batched_datasets_are_taken_apart(void **state)
{
    (void)state;
    fixture own = set_up(2);
    static const struct {
        int64_t size, asked, expected; /* of the batches; batch_size of the fit, and the resulting one */
        liana_remainder remainder;
        bool prefetched;
    } cases[] = {{8, 0, 8, LIANA_REMAINDER_KEEP, false},
                 {8, 16, 16, LIANA_REMAINDER_KEEP, true},
                 {7, 0, 7, LIANA_REMAINDER_PAD, false},
                 {64, 0, 64, LIANA_REMAINDER_PAD, true},
                 {13, 10, 10, LIANA_REMAINDER_DROP, true}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char note[NOTES] = "";
        liana_model *expected = make_model(own.context), *model = make_model(own.context);
        const liana_batch_options batches = {cases[i].size, cases[i].remainder};
        liana_dataset *single = liana_dataset_retain(own.training);
        liana_dataset *batched = liana_dataset_batch(liana_dataset_retain(own.training), &batches);
        if (cases[i].prefetched) batched = liana_dataset_prefetch(batched);
        if (cases[i].remainder == LIANA_REMAINDER_DROP) {
            single = liana_dataset_take(single, NUM_TRAINING / cases[i].size * cases[i].size);
        }
        done(fit_with(&own, expected, single, cases[i].expected, note));
        assert_never_says(note, "come in batches");
        done(fit_with(&own, model, batched, cases[i].asked, note));
        assert_says(note, "the training data come in batches of");
        assert_true(same_weights(model, expected));
        liana_results left, right;
        done(liana_evaluate(expected, single, NULL, &left));
        done(liana_evaluate(model, batched, NULL, &right));
        assert_int_equal(left.num_examples, right.num_examples);
        assert_near(left.loss, right.loss, 1e-5);
        float *outputs = calloc(2 * NUM_TRAINING * CLASSES, sizeof *outputs);
        assert_non_null(outputs);
        done(liana_predict(expected, single, NULL, outputs));
        done(liana_predict(model, batched, NULL, outputs + NUM_TRAINING * CLASSES));
        for (int k = 0; k < left.num_examples * CLASSES; k++) {
            assert_near(outputs[k], outputs[NUM_TRAINING * CLASSES + k], 1e-5f, k);
        }
        free(outputs);
        liana_dataset_close(single);
        liana_dataset_close(batched);
        liana_model_destroy(expected);
        liana_model_destroy(model);
    }
    tear_down(&own);
}

/* Elements that a stage made of whole batches are taken out of them; padding cannot be told from examples then. */
static void test_batches_below_other_stages(void **state)
{
    (void)state;
    fixture own = set_up(2);
    char note[NOTES] = "";
    liana_model *expected = make_model(own.context), *model = make_model(own.context);
    liana_dataset *single = liana_dataset_take(liana_dataset_retain(own.training), 24);
    liana_dataset *batched =
        liana_dataset_batch(liana_dataset_retain(own.training),
                            &(liana_batch_options){.batch_size = 8, .remainder = LIANA_REMAINDER_DROP});
    batched = liana_dataset_take(batched, 3);
    done(fit_with(&own, expected, single, 8, note));
    done(fit_with(&own, model, batched, 0, note));
    assert_true(same_weights(model, expected));
    liana_dataset_close(batched);
    batched = liana_dataset_take(liana_dataset_batch(liana_dataset_retain(own.training),
                                                     &(liana_batch_options){.batch_size = 8,
                                                                            .remainder = LIANA_REMAINDER_PAD}),
                                 3);
    refused(fit_with(&own, model, batched, 0, note), LIANA_INVALID_ARGUMENT, "leave out liana_dataset_batch");
    liana_dataset_close(batched);
    liana_dataset_close(single);
    liana_model_destroy(expected);
    liana_model_destroy(model);
    tear_down(&own);
}

/* Fails once at an element, and never again. */
typedef struct trouble {
    bool ahead;
} trouble;

static liana_status fail_once(void *user, const liana_example_address *address, const liana_element *input,
                              liana_element *output)
{
    trouble *own = user;
    (void)input;
    if (!own->ahead || address->position != 45) return LIANA_OK;
    own->ahead = false;
    return liana_element_fail(output, LIANA_IO_ERROR, "the server is away");
}

/* A stream of unknown length is counted before a position in its middle is read. A failure while it is counted leaves
 * no length behind: read again, all elements are those of a stream that never failed. */
static void test_a_failure_while_counting_leaves_no_length(void **state)
{
    (void)state;
    fixture own = set_up(1);
    trouble once = {.ahead = true};
    liana_map_options map = {.function = fail_once, .user = &once};
    liana_dataset *mapped = liana_dataset_map(liana_dataset_retain(own.training), &map);
    /* Filtered, it is a stream. */
    liana_dataset *stream = liana_dataset_filter(mapped, &(liana_filter_options){.function = keep_all});
    liana__error error = {0};
    liana__source *source;
    assert_ok(liana__dataset_view(stream, 50, &source, &error), &error);
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record;
    liana_example_address address = {.position = 3 * NUM_TRAINING + 7, .record = 7};
    source->kind->begin(source, address.position);
    assert_fails(liana__source_read_at(source, &address, scratch, &record, &error), LIANA_IO_ERROR, &error,
                 "the server is away");
    assert_ok(liana__source_read_at(source, &address, scratch, &record, &error), &error);
    void *expected_scratch = liana__source_scratch_create(own.training->source);
    liana_source_record expected;
    assert_ok(liana__source_read(own.training->source, 7, expected_scratch, &expected, &error), &error);
    assert_memory_equal(record.pixels, expected.pixels, SIZE * SIZE);
    assert_int_equal(record.label, expected.label);
    liana__source_scratch_destroy(own.training->source, expected_scratch);
    liana__source_scratch_destroy(source, scratch);
    liana__dataset_close_view(source);
    liana_dataset_close(stream);
    tear_down(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_batched_datasets_are_taken_apart),
        cmocka_unit_test(test_batches_below_other_stages),
        cmocka_unit_test(test_a_failure_while_counting_leaves_no_length),
        cmocka_unit_test(test_stages_that_change_nothing_change_no_weight),
        cmocka_unit_test(test_batches_are_the_same_from_any_step_on),
        cmocka_unit_test(test_padded_sequences_reach_a_model),
        cmocka_unit_test(test_fits_go_on_from_a_checkpoint),
        cmocka_unit_test(test_evaluate_and_predict_take_stages),
        cmocka_unit_test(test_what_a_model_cannot_take_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
