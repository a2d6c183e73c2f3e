/* Steps that take their components and their batches from a dataset: the bits of a loop over arrays; an optimizer by
 * its name; the variables that a loss trains; variables of the step's own; refusals. */
#include "harness/tiny_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = LIANA__LOOP_COUNT, BATCH = 32, MICROBATCH = 8, BATCHES = (COUNT + BATCH - 1) / BATCH, EPOCHS = 2 };

typedef liana__tiny_loop fixture;

static void build_shard(liana_shard *shard, void *model)
{
    liana_tensor image = liana__loop_image(shard), label = liana_shard_input(shard, "label"), output;
    liana_model_call(model, &image, 1, &shard->mode, &output, NULL);
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL)), NULL, 0);
}

static void build_update(liana_update *update, void *model)
{
    (void)model;
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "{name: SGD, momentum: 0.5}",
                                                     .rate = liana_update_scalar(update, "rate")});
}

static liana_step_options usual(const fixture *own)
{
    return (liana_step_options){.name = "tiny",
                                .shard = build_shard,
                                .user = own->model,
                                .optimizer = "{name: SGD, momentum: 0.5}",
                                .scalars = {"learning_rate"},
                                .microbatch = MICROBATCH,
                                .seed = 3};
}

/* The fixture's examples, with one more component that the shard does not ask for, and one of texts. */
static liana_dataset *make_batches(const fixture *own)
{
    static float heights[COUNT];
    static liana_bytes names[COUNT];
    for (int i = 0; i < COUNT; i++) {
        heights[i] = (float)i;
        names[i] = (liana_bytes){"name", 4};
    }
    const liana_array arrays[] = {{"height", LIANA_F32, liana_shape_of(COUNT), heights},
                                  {"label", LIANA_S32, liana_shape_of(COUNT), own->labels},
                                  {"name", LIANA_STRING, liana_shape_of(COUNT), names},
                                  {"image", LIANA_U8, liana_shape_of(COUNT, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1),
                                   own->images}};
    return liana_dataset_batch(liana_dataset_from_tensor_slices(own->context, arrays, 4),
                               &(liana_batch_options){.batch_size = BATCH});
}

/* ---- the bits of a loop ---- */

/* A loop over arrays, with an update function of its own. */
static void train_by_hand(const fixture *given, double rate, double losses[EPOCHS])
{
    const fixture own = *given;
    liana_step_options options = usual(&own);
    options.optimizer = NULL;
    options.update = build_update;
    options.scalars[0] = "rate";
    options.components = liana__loop_components;
    options.num_components = 2;
    options.batch_size = BATCH;
    liana_step *step = liana__loop_step(&own, &options);
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        losses[epoch] = 0;
        for (int64_t first = 0; first < COUNT; first += BATCH) {
            const liana_step_input input =
                liana__loop_batch(&own, first, COUNT - first < BATCH ? COUNT - first : BATCH, rate);
            liana_step_results results;
            done(liana_step_run(step, &input, &results));
            losses[epoch] += results.sums[0];
        }
        losses[epoch] /= COUNT;
    }
    done(liana_model_from_variables(own.model, own.variables));
    liana_step_destroy(step);
}

static void test_a_dataset_gives_the_bits_of_a_loop(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(2, liana__tiny_model);
    liana_model *other = liana__tiny_model(own.context);
    double losses[EPOCHS];
    liana_dataset *batches = make_batches(&own);
    liana_step_options options = usual(&own);
    liana_step *step;
    options.dataset = batches;
    options.user = other;
    done(liana_step_create(own.context, &options, &step));
    done(liana_model_to_variables(other, liana_step_variables(step)));
    train_by_hand(&own, 0.1, losses);
    liana_step_outcome outcomes[BATCHES];
    liana_step_counts counts;
    liana_step_input input = {.dataset = batches,
                              .scalars = {{"learning_rate", 0.1}},
                              .outcomes = outcomes,
                              .counts = &counts};
    for (int epoch = 0; epoch < EPOCHS; epoch++) {
        liana_step_results results;
        input.order.epoch = (uint64_t)epoch;
        done(liana_step_run(step, &input, &results));
        assert_int_equal(results.num_examples, COUNT);
        assert_compare(liana_step_mean(&results, "loss"), ==, losses[epoch]);
        assert_int_equal(counts.num_done, BATCHES);
        assert_int_equal(outcomes[BATCHES - 1].results.num_examples, COUNT % BATCH);
    }
    assert_int_equal(liana_step_info(step).position, EPOCHS * COUNT);
    done(liana_model_from_variables(other, liana_step_variables(step)));
    assert_true(liana__same_weights(own.model, other));
    liana_step_destroy(step);
    liana_dataset_close(batches);
    liana_model_destroy(other);
    liana__tiny_loop_close(&own);
}

/* ---- lengths ---- */

static bool keep_all(void *user, const liana_example_address *address, const liana_element *element)
{
    (void)user, (void)address, (void)element;
    return true;
}

/* Runs a dataset, and gives the number of examples. */
static int64_t run(const fixture *given, liana_step *step, const liana_dataset *dataset, uint64_t start,
                   int64_t num_steps)
{
    const fixture own = *given;
    liana_step_results results;
    const liana_step_input input = {.dataset = dataset,
                                    .order = {.start = start},
                                    .num_steps = num_steps,
                                    .scalars = {{"learning_rate", 0.01}}};
    done(liana_step_run(step, &input, &results));
    return results.num_examples;
}

static void test_how_many_batches(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(2, liana__tiny_model);
    liana_dataset *batches = make_batches(&own), *endless = liana_dataset_repeat(make_batches(&own), -1);
    liana_dataset *stream = liana_dataset_filter(make_batches(&own), &(liana_filter_options){.function = keep_all});
    liana_step_options options = usual(&own);
    options.dataset = stream;
    liana_step *step = liana__loop_step(&own, &options);
    assert_int_equal(run(&own, step, batches, 0, 0), COUNT);
    assert_int_equal(run(&own, step, batches, 0, 2), 2 * BATCH);
    assert_int_equal(run(&own, step, batches, 1, 0), COUNT - BATCH);
    assert_int_equal(run(&own, step, batches, 9, 0), 0);
    assert_int_equal(run(&own, step, stream, 0, 0), COUNT); /* its length is not known */
    assert_int_equal(run(&own, step, stream, 0, 1), BATCH);
    assert_int_equal(run(&own, step, endless, 0, 4), COUNT + BATCH);
    liana_step_input input = {.dataset = endless, .scalars = {{"learning_rate", 0.01}}};
    refused(liana_step_run(step, &input, NULL), LIANA_INVALID_ARGUMENT, "give num_steps");
    input.dataset = stream;
    input.num_steps = BATCHES + 1;
    refused(liana_step_run(step, &input, NULL), LIANA_INVALID_ARGUMENT, "the dataset has no batch for step 3");
    liana_step_destroy(step);
    liana_dataset_close(stream);
    liana_dataset_close(endless);
    liana_dataset_close(batches);
    liana__tiny_loop_close(&own);
}

/* ---- which variables are trained ---- */

static bool changed(const fixture *given, const char *name, const float *before)
{
    const fixture own = *given;
    liana_array weights;
    done(liana_model_get_weights(own.model, name, &weights));
    return memcmp(weights.data, before, (size_t)liana_shape_size(&weights.shape) * sizeof(float)) != 0;
}

/* Frozen weights stay as they are, to the bit; so do their moving averages. */
static void test_frozen_layers_are_not_trained(void **state)
{
    (void)state;
    static const char *const names[] = {"conv2d/kernel", "batch_normalization/gamma", "batch_normalization/moving_mean",
                                        "dense/kernel"};
    enum { NAMES = sizeof names / sizeof *names };
    for (int frozen = 0; frozen < 2; frozen++) {
        fixture own = liana__tiny_loop_open(1, liana__tiny_model);
        float *before[NAMES];
        if (frozen) done(liana_model_train_from(own.model, "dense"));
        for (size_t i = 0; i < NAMES; i++) {
            liana_array weights;
            done(liana_model_get_weights(own.model, names[i], &weights));
            const size_t size = (size_t)liana_shape_size(&weights.shape) * sizeof(float);
            before[i] = malloc(size);
            assert_non_null(before[i]);
            memcpy(before[i], weights.data, size);
        }
        liana_dataset *batches = make_batches(&own);
        liana_step_options options = usual(&own);
        options.dataset = batches;
        liana_step *step = liana__loop_step(&own, &options);
        run(&own, step, batches, 0, 0);
        done(liana_model_from_variables(own.model, own.variables));
        for (size_t i = 0; i < NAMES; i++) {
            assert_int_equal(changed(&own, names[i], before[i]), !frozen || i == NAMES - 1);
            free(before[i]);
        }
        liana_step_destroy(step);
        liana_dataset_close(batches);
        liana__tiny_loop_close(&own);
    }
}

/* ---- variables of the step's own ---- */

static void build_line(liana_shard *shard, void *user)
{
    (void)user;
    liana_tensor height = liana_shard_input(shard, "height");
    liana_tensor w = liana_graph_variable(shard->graph, "w", LIANA_F32, LIANA_SCALAR);
    w = liana_graph_initializer(w, "constant(0.25)");
    liana_tensor error = liana_op_subtract(liana_op_multiply(w, height), height);
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", liana_op_square(error)), NULL, 0);
}

/* They have their initialisers' values in the first run, and keep a program's writes. The gradient of the mean is 2 (w
 * - 1) mean(height^2). */
static void test_variables_of_its_own(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(2, liana__tiny_model);
    double mean_square = 0;
    for (int i = 0; i < BATCH; i++) mean_square += (double)i * i / BATCH;
    for (int written = 0; written < 2; written++) {
        const liana_step_options options = {.shard = build_line,
                                            .optimizer = "{name: SGD, learning_rate: 0.0001}",
                                            .device = written ? "cpu" : NULL,
                                            .dataset = make_batches(&own)};
        liana_step *step;
        float w = 3;
        done(liana_step_create(own.context, &options, &step));
        if (written) done(liana_variables_write(liana_step_variables(step), "w", &w, sizeof w));
        const double begin = written ? 3 : 0.25;
        const liana_step_input input = {.dataset = options.dataset, .num_steps = 1};
        liana_step_results results;
        done(liana_step_run(step, &input, &results));
        assert_near(liana_step_mean(&results, "loss"), (begin - 1) * (begin - 1) * mean_square, 1e-3);
        done(liana_variables_read(liana_step_variables(step), "w", &w, sizeof w));
        assert_near((double)w, begin - 0.0001 * 2 * (begin - 1) * mean_square, 1e-5);
        liana_step_destroy(step);
        liana_dataset_close((liana_dataset *)(uintptr_t)options.dataset);
    }
    liana__tiny_loop_close(&own);
}

/* ---- refusals ---- */

static void call_twice(liana_shard *shard, void *model)
{
    liana_tensor image = liana__loop_image(shard), output;
    liana_call_mode again = shard->mode;
    liana_model_call(model, &image, 1, &shard->mode, &output, NULL);
    again.seed++;
    if (shard->size == MICROBATCH / 2) again.record = NULL;
    liana_model_call(model, &image, 1, &again, &output, NULL);
    liana_tensor label = liana_shard_input(shard, "label");
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL)), NULL, 0);
}

static void train_nothing(liana_shard *shard, void *model)
{
    (void)model;
    liana_tensor height = liana_shard_input(shard, "height");
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", height), NULL, 0);
}

static void refuse(const fixture *given, liana_step_options options, const char *text)
{
    const fixture own = *given;
    liana_step *step;
    refused(liana_step_create(own.context, &options, &step), LIANA_INVALID_ARGUMENT, text);
    assert_null(step);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    liana_dataset *batches = make_batches(&own);
    liana_step_options options = usual(&own), right = options;
    liana_step *step;
    options.dataset = own.data;
    refuse(&own, options, "the dataset's elements are no batches; use liana_dataset_batch");
    right.dataset = options.dataset = batches;
    options.components = liana__loop_components;
    options.num_components = 2;
    refuse(&own, options, "components and a dataset");
    options = right;
    options.shard = train_nothing;
    refuse(&own, options, "there is nothing to train");
    options.shard = call_twice;
    refuse(&own, options, "'batch_normalization/moving_mean' two gradients or averages");
    options.microbatch = MICROBATCH / 2; /* there the second call has no record */
    done(liana_step_create(own.context, &options, &step));
    liana_step_destroy(step);
    options = right;
    options.optimizer = "{name: SGD, learning_rate: {name: CosineDecay}}";
    options.scalars[0] = NULL;
    assert_int_equal(liana_step_create(own.context, &options, &step), LIANA_INVALID_CONFIG);
    done(liana_step_create(own.context, &right, &step));
    liana_step_input input = {.dataset = batches, .scalars = {{"learning_rate", 0.1}}};
    refused(liana_step_run(step, &input, NULL), LIANA_INVALID_ARGUMENT, "no initialiser is known for");
    done(liana_model_to_variables(own.model, liana_step_variables(step)));
    input.scalars[0].name = NULL;
    refused(liana_step_run(step, &input, NULL), LIANA_INVALID_ARGUMENT, "no scalar 'learning_rate'");
    input.dataset = NULL;
    refused(liana_step_run(step, &input, NULL), LIANA_INVALID_ARGUMENT, "the batch has no array");
    liana_step_destroy(step);
    liana_dataset_close(batches);
    liana__tiny_loop_close(&own);
}

/* After an error that stays, steps are neither made nor run. */
static void test_errors_that_stay(void **state)
{
    (void)state;
    fixture own = liana__tiny_loop_open(1, liana__tiny_model);
    liana_context *context;
    liana_step *step = (liana_step *)&own;
    liana_step_options options = usual(&own);
    options.components = liana__loop_components;
    options.num_components = 2;
    assert_int_equal(liana_context_create(&(liana_context_options){.sticky_errors = true}, &context), LIANA_OK);
    assert_int_equal(liana_connect_to_cluster(context, "{nothing: 1}"), LIANA_INVALID_CONFIG);
    assert_int_equal(liana_step_create(context, &options, &step), LIANA_INVALID_CONFIG);
    assert_null(step);
    assert_int_equal(liana_step_run(step, &(liana_step_input){0}, NULL), LIANA_INVALID_ARGUMENT);
    liana_context_destroy(context);
    liana__tiny_loop_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_dataset_gives_the_bits_of_a_loop),
        cmocka_unit_test(test_how_many_batches),
        cmocka_unit_test(test_frozen_layers_are_not_trained),
        cmocka_unit_test(test_variables_of_its_own),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_errors_that_stay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
