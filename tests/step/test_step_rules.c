/* Regularisers and constraints in loops of one's own: a step gives the bits of liana_fit, a program the formulas; and
 * rules that do not fit are refused. */
#include "harness/tiny_loop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 32, COUNT = LIANA__LOOP_COUNT, MICROBATCH = 8, EPOCHS = 2, SIZE = LIANA__TINY_SIZE };

typedef liana__tiny_loop fixture;

/* A rule of each kind: by element and of whole weights, of results, and a constraint on a weight without a penalty. */
static liana_model *make_model(liana_context *context)
{
    liana_model *m;
    assert_int_equal(liana_model_create(context, "rules", &m), LIANA_OK);
    liana_input(m, .shape = LIANA_INTS(SIZE, SIZE, 1));
    liana_flatten(m);
    liana_dense(m, .units = 6, .activation = "tanh", .kernel_regularizer = "l2(0.02)", .bias_constraint = "non_neg",
                .activity_regularizer = "l1(0.01)");
    liana_batch_normalization(m);
    liana_dense(m, .units = 6, .activation = "relu", .kernel_regularizer = "orthogonal_regularizer(factor=0.5)",
                .kernel_constraint = "max_norm(max_value=0.5, axis=0)");
    liana_dense(m, .units = LIANA__TINY_CLASSES, .activation = "softmax", .bias_regularizer = "l1(0.1)");
    return m;
}

static bool forgets(const fixture *own, const char *what)
{
    return own->forgotten && strcmp(own->forgotten, what) == 0;
}

/* ---- a step ---- */

static void build_shard(liana_shard *shard, void *user)
{
    const fixture *own = user;
    liana_tensor image = liana__loop_image(shard), label = liana_shard_input(shard, "label"), output, variables[16];
    liana_call_effects effects;
    liana_model_call(own->model, &image, 1, &shard->mode, &output, &effects);
    liana_tensor loss = liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL));
    liana_tensor activity = liana_shard_sum(shard, "activity", effects.penalties);
    if (!forgets(own, "activity")) loss = liana_op_add(loss, activity);
    liana_shard_gradients(shard, loss, variables, liana_model_variables(own->model, shard->graph, variables));
}

static void build_update(liana_update *update, void *user)
{
    const fixture *own = user;
    if (!forgets(own, "penalty")) liana_update_add_loss(update, liana_model_penalty(own->model, update->graph));
    liana_apply_gradients(update->variables, update->gradients, update->num_variables,
                          &(liana_optimizer_options){.optimizer = "{name: Adam, global_clipnorm: 1.0}",
                                                     .rate = liana_update_scalar(update, "rate")});
}

static void train(fixture *own)
{
    const liana_step_options options = {.name = "rules",
                                        .shard = build_shard,
                                        .update = build_update,
                                        .user = own,
                                        .components = liana__loop_components,
                                        .num_components = 2,
                                        .scalars = {"rate"},
                                        .batch_size = BATCH,
                                        .microbatch = MICROBATCH,
                                        .seed = 5};
    liana_step *step = liana__loop_step(own, &options);
    for (int64_t at = 0; at < EPOCHS * COUNT;) {
        const int64_t first = at % COUNT, count = COUNT - first < BATCH ? COUNT - first : BATCH;
        const liana_step_input batch = liana__loop_batch(own, first, count, 0.02);
        liana__tiny_done(own->context, liana_step_run(step, &batch, NULL), __FILE__, __LINE__);
        at += count;
    }
    liana__tiny_done(own->context, liana_model_from_variables(own->model, own->variables), __FILE__, __LINE__);
    liana_step_destroy(step);
}

static liana_model *fitted(const fixture *fixed)
{
    const fixture own = *fixed;
    liana_model *model = make_model(own.context);
    done(liana_fit(model, &(liana_fit_options){.training = own.data,
                                               .epochs = EPOCHS,
                                               .batch_size = BATCH,
                                               .microbatch = MICROBATCH,
                                               .optimizer = "{name: Adam, global_clipnorm: 1.0, learning_rate: 0.02}",
                                               .seed = 5,
                                               .keep_order = true}));
    return model;
}

static void test_a_step_gives_the_bits_of_fit(void **state)
{
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        fixture own = liana__tiny_loop_open(threads, make_model);
        liana_model *model = fitted(&own);
        train(&own);
        assert_true(liana__same_weights(own.model, model));
        liana_model_destroy(model);
        liana__tiny_loop_close(&own);
    }
}

/* Each part counts: without it the weights are others. */
static void test_what_is_left_out_is_missed(void **state)
{
    (void)state;
    static const char *const parts[] = {"penalty", "activity"};
    for (int i = 0; i < 2; i++) {
        fixture own = liana__tiny_loop_open(2, make_model);
        own.forgotten = parts[i];
        liana_model *model = fitted(&own);
        train(&own);
        assert_false(liana__same_weights(own.model, model));
        liana_model_destroy(model);
        liana__tiny_loop_close(&own);
    }
}

/* ---- programs ---- */

/* One update by plain SGD: w - rate * (2 l2 w), then norms of columns at most 2. */
static void test_a_program_follows_the_formulas(void **state)
{
    (void)state;
    fixture own = {0};
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    liana_model *m;
    liana_graph *graph;
    liana_program *program;
    done(liana_model_create(own.context, "one", &m));
    liana_input(m, .shape = LIANA_INTS(2));
    liana_dense(m, .name = "d", .units = 2, .use_bias = false, .kernel_regularizer = "l2(0.5)",
                .kernel_constraint = "max_norm(2)", .activity_regularizer = "l2(0.25)");
    done(liana_graph_create(own.context, &graph));
    const float zeros[2] = {1, 2}, first[4] = {3, 0.5f, 4, 0.25f};
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(1, 2), zeros), y, weights[4];
    liana_call_effects effects;
    liana_model_call(m, &x, 1, NULL, &y, &effects);
    liana_tensor penalty = liana_model_penalty(m, graph);
    liana_graph_output(graph, "penalty", penalty);
    liana_graph_output(graph, "activity", effects.penalties);
    liana_minimize(penalty, weights, liana_model_variables(m, graph, weights),
                   &(liana_optimizer_options){.optimizer = "SGD", .learning_rate = 0.1});
    done(liana_graph_status(graph));
    liana_device *device;
    done(liana_device_open(own.context, "cpu", &device));
    done(liana_program_create(device, graph, NULL, &program));
    liana_variables *variables = liana_program_variables(program);
    done(liana_variables_write(variables, "d/kernel", first, sizeof first));
    done(liana_variables_initialize(variables, NULL));
    float sum, results[1], after[4];
    done(liana_run(program,
                   .fetches = LIANA_FETCHES({.name = "penalty", .data = &sum, .size = sizeof sum},
                                            {.name = "activity", .data = results, .size = sizeof results}),
                   .assign = LIANA_NAMES("train")));
    assert_near(sum, 0.5 * (9 + 0.25 + 16 + 0.0625), 1e-5);
    assert_near(results[0], 0.25 * (11 * 11 + 1), 1e-4); /* y = [3 + 8, 0.5 + 0.5] */
    done(liana_variables_read(variables, "d/kernel", after, sizeof after));
    const double moved[4] = {3 * 0.9, 0.5 * 0.9, 4 * 0.9, 0.25 * 0.9};
    const double norm = sqrt(moved[0] * moved[0] + moved[2] * moved[2]);
    assert_near(after[0], moved[0] * 2 / norm, 1e-5);
    assert_near(after[2], moved[2] * 2 / norm, 1e-5);
    assert_near(after[1], moved[1], 1e-6);
    assert_near(after[3], moved[3], 1e-6);
    liana_program_destroy(program);
    liana_graph_destroy(graph);
    liana_device_close(device);
    liana_model_destroy(m);
    liana_context_destroy(own.context);
}

/* A model without regularisers, and frozen weights. */
static void test_no_penalty_is_zero(void **state)
{
    (void)state;
    fixture own = {0};
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    liana_model *m;
    liana_graph *graph;
    done(liana_model_create(own.context, "plain", &m));
    liana_input(m, .shape = LIANA_INTS(2));
    liana_dense(m, .units = 2, .kernel_regularizer = "l2(0.5)", .trainable = false);
    liana_dense(m, .units = 2);
    done(liana_graph_create(own.context, &graph));
    assert_compare(liana_number(liana_model_penalty(m, graph)), ==, 0);
    const float ones[2] = {1, 1};
    liana_tensor x = liana_graph_constant(graph, LIANA_F32, liana_shape_of(1, 2), ones), y;
    liana_call_effects effects;
    liana_model_call(m, &x, 1, NULL, &y, &effects);
    assert_int_equal(effects.penalties.id, 0);
    liana_graph_destroy(graph);
    liana_model_destroy(m);
    liana_context_destroy(own.context);
}

/* ---- refusals ---- */

static void refuse_constraint(const fixture *fixed, bool variable, const char *text, liana_status status,
                              const char *message)
{
    const fixture own = *fixed;
    liana_graph *graph;
    done(liana_graph_create(own.context, &graph));
    liana_tensor w = variable ? liana_graph_variable(graph, "w", LIANA_F32, liana_shape_of(3))
                              : liana_graph_scalar(graph, LIANA_F32, 1);
    liana_graph_constraint(w, text);
    refused(liana_graph_status(graph), status, message);
    liana_graph_destroy(graph);
}

static void add_a_vector(liana_update *update, void *user)
{
    (void)user;
    liana_update_add_loss(update, update->gradients[0]);
}

static void add_of_another_graph(liana_update *update, void *user)
{
    liana_update_add_loss(update, *(liana_tensor *)user);
}

static void build_small(liana_shard *shard, void *user)
{
    (void)user;
    liana_tensor w = liana_graph_variable(shard->graph, "w", LIANA_F32, liana_shape_of(2));
    liana_tensor x = liana_op_cast(liana_shard_input(shard, "x"), LIANA_F32);
    liana_tensor each = liana_op_multiply(liana_op_broadcast_to(w, liana_shape_of(shard->size, 2)), x);
    liana_shard_gradients(shard, liana_shard_sum(shard, "loss", each), &w, 1);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    fixture own = {0};
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    refuse_constraint(&own, false, "non_neg", LIANA_INVALID_ARGUMENT, "a constraint needs a f32 variable");
    refuse_constraint(&own, true, NULL, LIANA_INVALID_ARGUMENT, "found no text");
    refuse_constraint(&own, true, "non_negg", LIANA_INVALID_CONFIG, "the variable 'w' ");
    refuse_constraint(&own, true, "max_norm(2, axis=1)", LIANA_INVALID_CONFIG,
                      "axis: found 1, but the weight has axes");
    liana_graph *other;
    done(liana_graph_create(own.context, &other));
    liana_tensor strange = liana_graph_scalar(other, LIANA_F32, 1);
    const liana_component x[] = {{.name = "x", .dtype = LIANA_F32, .shape = {1, {2}}}};
    liana_step *step;
    liana_step_options options = {.name = "s",
                                  .shard = build_small,
                                  .update = add_a_vector,
                                  .components = x,
                                  .num_components = 1,
                                  .user = &strange};
    refused(liana_step_create(own.context, &options, &step), LIANA_INVALID_ARGUMENT,
            "the loss that is added is f32[2], expected a float scalar");
    options.update = add_of_another_graph;
    refused(liana_step_create(own.context, &options, &step), LIANA_INVALID_ARGUMENT,
            "the loss that is added is no tensor of it");
    liana_graph_destroy(other);
    liana_context_destroy(own.context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_step_gives_the_bits_of_fit),
        cmocka_unit_test(test_what_is_left_out_is_missed),
        cmocka_unit_test(test_a_program_follows_the_formulas),
        cmocka_unit_test(test_no_penalty_is_zero),
        cmocka_unit_test(test_what_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
