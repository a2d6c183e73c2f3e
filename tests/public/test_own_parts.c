/* Own parts of a program: they have the results of liana's own of the same formula, bit for bit where the graph is the
 * same; they are saved, loaded and resumed; and parts that cannot be registered are refused with names. Plugins:
 * checks/test_plugins.sh. */
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = LIANA__TINY_ROWS, FEATURES = LIANA__TINY_FEATURES };

/* ---- parts with the formulas of liana's own ---- */

typedef struct factor_options {
    double factor;
} factor_options;

static const liana_option factor_rows[] = {
    LIANA_OPTION_ROW(factor_options, factor, FLOAT, .default_text = "1.0", .minimum = 0.5, .maximum = 4,
                     .doc = "a factor"),
};

static liana_tensor squared(liana_tensor output, liana_tensor target)
{
    return liana_op_reduce_mean(liana_op_square(liana_op_subtract(output, target)), LIANA_AXES(-1), false);
}

static liana_tensor loss_elements(const liana_loss_call *call)
{
    const factor_options *options = call->options;
    liana_tensor each = squared(call->output, call->target.tensor);
    if (options->factor == 1) return each;
    return liana_op_multiply(each, liana_graph_scalar(each.graph, liana_tensor_dtype(each), options->factor));
}

static const liana_loss_type own_loss = {
    LIANA_PART(LOSS, liana_loss_type, "own_squares", "Squares.", LIANA_PART_OPTIONS(factor_options, factor_rows)),
    .targets = LIANA_TARGET_VALUES,
    .elements = loss_elements,
};

static liana_tensor metric_elements(const liana_metric_call *call)
{
    assert_null(call->options);
    return squared(call->output, call->target.tensor);
}

static const liana_metric_type own_metric = {LIANA_PART(METRIC, liana_metric_type, "own_error", "Squares."),
                                             .targets = LIANA_TARGET_VALUES, .elements = metric_elements};

typedef struct sgd_options {
    liana_optimizer_common common;
    double momentum;
} sgd_options;

static const liana_option sgd_rows[] = {
    LIANA_OPTION_ROW(sgd_options, momentum, FLOAT, .default_text = "0.5", .maximum = 1, .doc = "of the last step"),
    LIANA_OPTIMIZER_ROWS("null"),
};

static void sgd_update(liana_optimizer_step *step)
{
    const sgd_options *options = step->options;
    liana_tensor descent = liana_op_multiply(step->learning_rate, step->gradient);
    liana_tensor momentum =
        liana_graph_scalar(step->variable.graph, liana_tensor_dtype(step->variable), options->momentum);
    step->new_slots[0] = liana_op_subtract(liana_op_multiply(momentum, step->slots[0]), descent);
    step->new_variable = liana_op_add(step->variable, step->new_slots[0]);
}

static const liana_optimizer_type own_optimizer = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "OwnSGD", "Momentum.", LIANA_PART_OPTIONS(sgd_options, sgd_rows)),
    .default_learning_rate = 1e-2,
    .slots = {"velocity"},
    .update = sgd_update,
};

typedef struct decay_options {
    liana_schedule_common common;
    double decay_rate;
} decay_options;

static const liana_option decay_rows[] = {
    LIANA_OPTION_ROW(decay_options, decay_rate, FLOAT, .default_text = "0.96", .minimum = 1e-12, .maximum = 1,
                     .doc = "after each decay_steps"),
    LIANA_SCHEDULE_ROWS,
};

static double decay_rate(const void *options, double step, double decay_steps, double initial)
{
    return initial * pow(((const decay_options *)options)->decay_rate, step / decay_steps);
}

static const liana_schedule_type own_schedule = {LIANA_PART(SCHEDULE, liana_schedule_type, "OwnDecay", "Exponential.",
                                                            LIANA_PART_OPTIONS(decay_options, decay_rows)),
                                                 .rate = decay_rate};

typedef struct uniform_options {
    double minval;
    double maxval;
    int64_t steps;
    bool negative;
    int kind;
} uniform_options;

static const char *const uniform_words[] = {"all", "none", NULL};

static const liana_option uniform_rows[] = {
    LIANA_OPTION_ROW(uniform_options, minval, FLOAT, .default_text = "-0.05"),
    LIANA_OPTION_ROW(uniform_options, maxval, FLOAT, .default_text = "0.05"),
    LIANA_OPTION_ROW(uniform_options, steps, INT, .default_text = "1"),
    LIANA_OPTION_ROW(uniform_options, negative, BOOL),
    LIANA_OPTION_ROW(uniform_options, kind, ENUM, .names = uniform_words),
};

static liana_status uniform_check(liana_check *check)
{
    const uniform_options *own = check->options;
    return own->minval < own->maxval ? LIANA_OK : liana_option_refuse(check, NULL, "minval is not below maxval");
}

static void uniform_fill(const liana_initializer_call *call)
{
    const uniform_options *own = call->options;
    assert_int_equal(call->count, liana_shape_size(call->shape));
    for (int64_t i = 0; i < call->count && own->kind == 0; i++) {
        double value = own->minval + (own->maxval - own->minval) * liana_initializer_uniform(call, (uint64_t)i);
        call->values[i] = (float)(own->negative ? -value : value) * (float)own->steps;
    }
}

static const liana_initializer_type own_initializer = {LIANA_PART(INITIALIZER, liana_initializer_type, "own_uniform",
                                                                  "Uniform.",
                                                                  LIANA_PART_OPTIONS(uniform_options, uniform_rows),
                                                                  .check = uniform_check),
                                                       .fill = uniform_fill};

/* A layer with a weight that is learnt, one that is an average, and random zeros. */
typedef struct scaled_options {
    LIANA_LAYER_OPTIONS;
    double rate;
    double first;
} scaled_options;

static const liana_option scaled_rows[] = {
    LIANA_OPTION_ROW(scaled_options, rate, FLOAT, .maximum = 0.9),
    LIANA_OPTION_ROW(scaled_options, first, FLOAT, .default_text = "1.0", .doc = "of the scale"),
};

static liana_status scaled_weights(liana_layer_build *build)
{
    const scaled_options *options = build->options;
    const int64_t channels = build->inputs[0].dims[build->inputs[0].rank - 1];
    char first[64];
    if (channels == 13) return liana_layer_refuse(build, 0, "any number of channels but 13");
    snprintf(first, sizeof first, "constant(%.9g)", options->first);
    liana_layer_add_weight(build, "scale", liana_shape_of(channels), first, true);
    liana_layer_add_weight(build, "mean", liana_shape_of(channels), "zeros", false);
    return LIANA_OK;
}

static liana_tensor scaled_call(liana_layer_call *call)
{
    const scaled_options *options = call->options;
    liana_tensor x = liana_op_multiply(call->inputs[0], call->weights[0]);
    if (!call->training) return liana_op_subtract(x, call->weights[1]);
    call->updates[call->num_updates++] =
        (liana_layer_update){.weight = 1, .statistic = liana_op_reduce_mean(x, LIANA_AXES(0), false), .momentum = 0.9};
    return liana_op_dropout_at(call->here, x, call->positions, options->rate, call->seed, call->salt);
}

static const liana_layer_type own_layer = {LIANA_PART(LAYER, liana_layer_type, "Scaled", "scale x - mean",
                                                      LIANA_PART_OPTIONS(scaled_options, scaled_rows)),
                                           .reads_training = true, .weights = scaled_weights, .call = scaled_call};

/* Ends after `limit` epochs in all; counts them in its state. */
typedef struct limit_options {
    int64_t epochs;
} limit_options;

static const liana_option limit_rows[] = {
    LIANA_OPTION_ROW(limit_options, epochs, INT, .required = true),
};

typedef struct limit {
    int64_t count;
    double *memory;
} limit;

static int closed; /* how often memory was freed */

static liana_status limit_epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const limit_options *options = item->options;
    limit *own = item->self;
    if (!own->memory) own->memory = malloc(sizeof *own->memory);
    if (++own->count == options->epochs) liana_fit_stop(context, "that was enough");
    return own->memory ? LIANA_OK : LIANA_OUT_OF_MEMORY;
}

static void limit_save(const liana_callback_item *item, liana_callback_state *state)
{
    const limit *own = item->self;
    liana_callback_state_put(state, "count", (liana_kept){LIANA_KEPT_INTEGER, .integer = own->count});
}

static liana_status limit_load(liana_callback_item *item, const liana_fit_context *context,
                               const liana_callback_state *state)
{
    liana_kept count;
    (void)context;
    if (liana_callback_state_get(state, "count", LIANA_KEPT_INTEGER, &count)) {
        ((limit *)item->self)->count = count.integer;
    }
    return LIANA_OK;
}

static void limit_close(liana_callback_item *item)
{
    closed += ((limit *)item->self)->memory != NULL;
    free(((limit *)item->self)->memory);
}

static const liana_callback_type own_callback = {
    LIANA_PART(CALLBACK, liana_callback_type, "Limit", "Ends.", LIANA_PART_OPTIONS(limit_options, limit_rows)),
    .self_size = sizeof(limit),
    .save = limit_save,
    .load = limit_load,
    .on = {[LIANA_ON_EPOCH_END] = limit_epoch_end},
    .close = limit_close,
};

/* ---- helpers ---- */

typedef struct fixture {
    liana_context *context;
    liana_dataset *data;
} fixture;

static void register_all(liana_context *context)
{
    fixture own = {context, NULL};
    done(liana_register(context, &own_layer.part));
    done(liana_register(context, &own_loss.part));
    done(liana_register(context, &own_metric.part));
    done(liana_register(context, &own_optimizer.part));
    done(liana_register(context, &own_schedule.part));
    done(liana_register(context, &own_initializer.part));
    done(liana_register(context, &own_callback.part));
}

static fixture begin(int num_threads)
{
    fixture own;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &own.context),
                     LIANA_OK);
    own.data = liana__tiny_rows(own.context);
    register_all(own.context);
    return own;
}

static void end(fixture *own)
{
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

static liana_model *make_model(const fixture *own, const char *initializer, bool scaled)
{
    liana_model *m;
    assert_int_equal(liana_model_create(own->context, "own", &m), LIANA_OK);
    liana_input(m, .shape = LIANA_INTS(FEATURES));
    liana_dense(m, .units = 5, .kernel_initializer = initializer, .activation = "tanh");
    if (scaled) liana_own_layer(m, "Scaled", scaled_options, .rate = 0.25, .first = 1.5);
    liana_dense(m, .units = 1, .kernel_initializer = initializer);
    return m;
}

static liana_fit_options options_with(const fixture *own, const char *loss, const char *optimizer)
{
    return (liana_fit_options){.training = own->data,
                               .epochs = 3,
                               .batch_size = 16,
                               .microbatch = 4,
                               .seed = 5,
                               .loss = loss,
                               .metrics = {"own_error", "mean_squared_error"},
                               .optimizer = optimizer};
}

/* ---- their results ---- */

#define OWN_OPTIMIZER                                                                                              \
    "{name: OwnSGD, momentum: 0.8, learning_rate: {name: OwnDecay, initial_learning_rate: 0.05, decay_rate: 0.5, " \
    "decay_steps: 4}}"

static void test_the_same_formulas_give_the_same_bits(void **state)
{
    (void)state;
    fixture own = begin(2);
    liana_model *mine = make_model(&own, "own_uniform(minval=-0.5, maxval=0.5)", false);
    liana_model *usual = make_model(&own, "random_uniform(minval=-0.5, maxval=0.5)", false);
    liana_fit_options options = options_with(&own, "own_squares", OWN_OPTIMIZER);
    done(liana_fit(mine, &options));
    options = options_with(&own, "mean_squared_error",
                           "{name: SGD, momentum: 0.8, learning_rate: {name: ExponentialDecay, "
                           "initial_learning_rate: 0.05, decay_rate: 0.5, decay_steps: 4}}");
    done(liana_fit(usual, &options));
    assert_true(liana__same_weights(mine, usual));
    liana_results results;
    done(liana_evaluate(mine, own.data, NULL, &results));
    assert_int_equal(results.num_metrics, 2);
    assert_string_equal(results.metric_names[0], "own_error");
    assert_compare(results.metrics[0], ==, results.metrics[1]);
    assert_compare(results.metrics[0], >, 0);
    assert_compare(results.loss, ==, results.metrics[0]);
    liana_model_destroy(mine);
    liana_model_destroy(usual);
    end(&own);
}

static void test_functions_of_tensors(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_graph *graph;
    done(liana_graph_create(own.context, &graph));
    static const float outputs[] = {1, 2, 3, 5}, targets[] = {0, 2, 3, 2};
    const liana_shape shape = liana_shape_of(2, 2);
    liana_tensor output = liana_graph_constant(graph, LIANA_F32, shape, outputs);
    liana_tensor target = liana_graph_constant(graph, LIANA_F32, shape, targets);
    liana_loss loss = {.name = "own_squares"};
    liana_metric metric = {.name = "own_error"};
    float each[2];
    done(liana_value(liana_loss_of(output, target, &loss), each, sizeof each));
    assert_compare(each[0], ==, 0.5f);
    assert_compare(each[1], ==, 4.5f);
    done(liana_value(liana_metric_of(output, target, &metric), each, sizeof each));
    assert_compare(each[0], ==, 0.5f);
    assert_compare(each[1], ==, 4.5f);
    liana_graph_destroy(graph);
    end(&own);
}

/* The state of everything is saved: trained in two parts, on another number of threads, the bits are the same. */
static void test_layers_are_trained_saved_and_resumed(void **state)
{
    (void)state;
    fixture own = begin(1), other = begin(3);
    char folder[512], saved[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("checkpoints"));
    snprintf(saved, sizeof saved, "%s", liana__test_path("saved"));
    liana_model *whole = make_model(&own, "own_uniform", true), *parts = make_model(&other, "own_uniform", true);
    liana_fit_options options = options_with(&own, "{name: own_squares, factor: 2.0}", OWN_OPTIMIZER);
    options.named_callbacks = "[Limit: {epochs: 5}]";
    options.epochs = 9;
    closed = 0;
    done(liana_fit(whole, &options));
    assert_int_equal(closed, 1);
    options.training = other.data;
    options.checkpoints = folder;
    options.epochs = 2;
    assert_int_equal(liana_fit(parts, &options), LIANA_OK);
    liana_model_destroy(parts);
    parts = make_model(&other, "own_uniform", true);
    options.resume = true;
    options.epochs = 9;
    assert_int_equal(liana_fit(parts, &options), LIANA_OK);
    assert_true(liana__same_weights(whole, parts));
    /* The average of the own layer has moved, and counts. */
    liana_array mean;
    done(liana_model_get_weights(whole, "scaled/mean", &mean));
    assert_compare(((const float *)mean.data)[0], !=, 0);
    liana_model *loaded;
    done(liana_model_save(whole, saved));
    assert_int_equal(liana_model_load(other.context, saved, &loaded), LIANA_OK);
    assert_true(liana__same_weights(whole, loaded));
    liana_model_destroy(loaded);
    /* A context without the parts names the missing ones. */
    liana_context *plain;
    assert_int_equal(liana_context_create(NULL, &plain), LIANA_OK);
    liana__tiny_refused(plain, liana_model_load(plain, saved, &loaded), LIANA_UNIMPLEMENTED, "'own_uniform'", __FILE__,
                        __LINE__);
    assert_int_equal(liana_register(plain, &own_initializer.part), LIANA_OK);
    liana__tiny_refused(plain, liana_model_load(plain, saved, &loaded), LIANA_UNIMPLEMENTED, "'Scaled'; if it is",
                        __FILE__, __LINE__);
    liana_context_destroy(plain);
    liana_model_destroy(whole);
    liana_model_destroy(parts);
    end(&own);
    end(&other);
}

static liana_model *model_of(const fixture *own, int64_t features)
{
    liana_model *m;
    assert_int_equal(liana_model_create(own->context, NULL, &m), LIANA_OK);
    liana_input(m, .shape = LIANA_INTS(features));
    return m;
}

/* Takes the model. */
static void refuse_model(const fixture *given, liana_model *m, liana_status status, const char *text)
{
    const fixture own = *given;
    refused(liana_model_status(m), status, text);
    liana_model_destroy(m);
}

static void refuse_initializer(const fixture *own, const char *initializer, const char *text)
{
    liana_model *m = model_of(own, 4);
    liana_dense(m, .units = 2, .kernel_initializer = initializer);
    refuse_model(own, m, LIANA_INVALID_CONFIG, text);
}

static void test_what_layers_refuse(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_model *m = model_of(&own, 13);
    liana_own_layer(m, "Scaled", scaled_options, .rate = 0.25);
    refuse_model(&own, m, LIANA_INVALID_ARGUMENT, "found an input of shape [batch, 13], expected any number");
    m = model_of(&own, 4);
    liana_own_layer(m, "Scaled", scaled_options, .rate = 0.95);
    refuse_model(&own, m, LIANA_INVALID_CONFIG, "rate: found the number 0.95");
    refuse_initializer(&own, "own_uniform(minval=3, maxval=2)", "minval is not below maxval");
    refuse_initializer(&own, "own_uniform(kind=some)", "own_uniform.kind: found the text 'some', expected all or none");
    end(&own);
}

static void test_initializers_are_written_as_keras_does(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_model *m = make_model(&own, "own_uniform(negative=true, kind=none, steps=3)", false), *loaded;
    const char *folder = liana__test_path("words");
    liana_fit_options options = options_with(&own, "mse", "SGD");
    done(liana_fit(m, &options));
    done(liana_model_save(m, folder));
    char path[600], text[65536];
    snprintf(path, sizeof path, "%s/model.json", folder);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[length] = 0;
    assert_says(text, "\"class_name\": \"own_uniform\"");
    assert_says(text, "\"negative\": true");
    assert_says(text, "\"kind\": \"none\"");
    done(liana_model_load(own.context, folder, &loaded));
    liana_model_destroy(loaded);
    liana_model_destroy(m);
    end(&own);
}

/* ---- what cannot be registered ---- */

#define REFUSED_LOSS(text, ...)                                                                    \
    do {                                                                                           \
        const liana_loss_type bad = {LIANA_PART(LOSS, liana_loss_type, "bad", NULL), __VA_ARGS__}; \
        refused(liana_register(own.context, &bad.part), LIANA_INVALID_ARGUMENT, text);             \
    } while (0)

/* Rows that cannot be, in a loss. */
static void refuse_row(const fixture *fixed, liana_option row, const char *text)
{
    const fixture own = *fixed;
    const liana_loss_type bad = {LIANA_PART(LOSS, liana_loss_type, "bad", NULL,
                                            .options = {.size = sizeof(factor_options), .count = 1, .items = &row}),
                                 .targets = LIANA_TARGET_VALUES, .elements = loss_elements};
    refused(liana_register(own.context, &bad.part), LIANA_INVALID_ARGUMENT, text);
}

static void test_heads_and_options(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_loss_type loss = own_loss;
    refused(liana_register(own.context, &loss.part), LIANA_INVALID_ARGUMENT,
            "the loss 'own_squares': the program has registered 'own_squares' already");
    loss.part.name = "OWN_squares";
    refused(liana_register(own.context, &loss.part), LIANA_INVALID_ARGUMENT, "has registered 'own_squares' already");
    loss.part.name = "mse";
    refused(liana_register(own.context, &loss.part), LIANA_INVALID_ARGUMENT, "liana has one of this name");
    const char *const names[] = {
        NULL, "", "a b", "1a", "a/b", "a:b", "a_name_that_is_longer_than_any_name_of_a_part_could_reasonably_be"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        loss.part.name = names[i];
        refused(liana_register(own.context, &loss.part), LIANA_INVALID_ARGUMENT, "a loss is called '");
    }
    loss.part.name = "new";
    loss.part.size = 8;
    refused(liana_register(own.context, &loss.part), LIANA_INVALID_ARGUMENT, "its size is 8");
    loss.part.size = sizeof loss + 16;
    refused(liana_register(own.context, &loss.part), LIANA_INVALID_ARGUMENT, "the loss 'new': its size is");
    loss.part.size = sizeof loss;
    loss.part.version = LIANA_PARTS_VERSION + 1;
    char newer[64];
    snprintf(newer, sizeof newer, "was built for version %d", LIANA_PARTS_VERSION + 1);
    refused(liana_register(own.context, &loss.part), LIANA_INVALID_ARGUMENT, newer);
    refuse_row(&own, (liana_option){.name = "name", .kind = LIANA_OPTION_INT}, "there is an option 'name' already");
    refuse_row(&own, (liana_option){.name = "from_logits"}, "there is an option 'from_logits' already");
    refuse_row(&own, (liana_option){.name = "a", .kind = (liana_option_kind)99}, "unknown kind 99");
    refuse_row(&own, (liana_option){.name = "a", .kind = LIANA_OPTION_FLOAT, .offset = 4}, "outside of its struct");
    refuse_row(&own, (liana_option){.name = "a", .kind = LIANA_OPTION_INTS}, "outside of its struct");
    refuse_row(&own, (liana_option){.name = "a", .kind = LIANA_OPTION_ENUM}, "has no words");
    refuse_row(&own, (liana_option){.kind = LIANA_OPTION_INT}, "option 0 is called ''");
    refuse_row(&own, (liana_option){.name = "a", .kind = LIANA_OPTION_INT, .default_text = "much"},
               "a: found the text 'much', expected a whole number");
    REFUSED_LOSS("its function 'elements' is NULL", .targets = LIANA_TARGET_VALUES);
    REFUSED_LOSS("takes neither classes nor values", .elements = loss_elements);
    REFUSED_LOSS("unknown kind 9", .elements = loss_elements, .targets = LIANA_TARGET_VALUES,
                 .activation = (liana_logits_kind)9);
    REFUSED_LOSS("it has 3 options at NULL", .elements = loss_elements, .targets = LIANA_TARGET_VALUES,
                 .part.options.count = 3);
    end(&own);
}

static void test_what_else_is_missing(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_metric_type metric = own_metric;
    metric.part.name = "m";
    metric.elements = NULL;
    refused(liana_register(own.context, &metric.part), LIANA_INVALID_ARGUMENT, "expected either the function");
    liana_optimizer_type optimizer = own_optimizer;
    optimizer.part.name = "o";
    optimizer.update = NULL;
    refused(liana_register(own.context, &optimizer.part), LIANA_INVALID_ARGUMENT, "its function 'update' is NULL");
    optimizer = own_optimizer;
    optimizer.part.name = "adam";
    refused(liana_register(own.context, &optimizer.part), LIANA_INVALID_ARGUMENT, "liana has one of this name");
    optimizer.part.name = "o";
    optimizer.slots[1] = "velocity";
    refused(liana_register(own.context, &optimizer.part), LIANA_INVALID_ARGUMENT, "another name for each slot");
    optimizer.slots[1] = "a/b";
    refused(liana_register(own.context, &optimizer.part), LIANA_INVALID_ARGUMENT, "a name without '/'");
    optimizer.slots[1] = NULL;
    optimizer.default_learning_rate = NAN;
    refused(liana_register(own.context, &optimizer.part), LIANA_INVALID_ARGUMENT, "default_learning_rate");
    liana_schedule_type schedule = own_schedule;
    schedule.part.name = "s";
    schedule.rate = NULL;
    refused(liana_register(own.context, &schedule.part), LIANA_INVALID_ARGUMENT, "its function 'rate' is NULL");
    liana_layer_type layer = own_layer;
    layer.part.name = "L";
    layer.call = NULL;
    refused(liana_register(own.context, &layer.part), LIANA_INVALID_ARGUMENT, "its function 'call' is NULL");
    layer = own_layer;
    layer.part.name = "L";
    layer.part.options = (liana_options){.size = 8};
    refused(liana_register(own.context, &layer.part), LIANA_INVALID_ARGUMENT, "begins with LIANA_LAYER_OPTIONS");
    layer.part.name = "Dense";
    layer.part.options.size = sizeof(scaled_options);
    refused(liana_register(own.context, &layer.part), LIANA_INVALID_ARGUMENT, "liana has one of this name");
    layer.part.name = "L";
    layer.max_inputs = 99;
    refused(liana_register(own.context, &layer.part), LIANA_INVALID_ARGUMENT, "it takes 0 to 99 inputs");
    liana_initializer_type initializer = own_initializer;
    initializer.part.name = "i";
    initializer.fill = NULL;
    refused(liana_register(own.context, &initializer.part), LIANA_INVALID_ARGUMENT, "'fill' is NULL");
    liana_callback_type callback = own_callback;
    callback.part.name = "c";
    callback.self_size = SIZE_MAX;
    refused(liana_register(own.context, &callback.part), LIANA_INVALID_ARGUMENT, "its self_size is 18");
    const liana_source_type source = {LIANA_PART(SOURCE, liana_source_type, "s", NULL)};
    refused(liana_register(own.context, &source.part), LIANA_INVALID_ARGUMENT, "its function 'open' is NULL");
    end(&own);
}

static liana_tensor no_elements(const liana_loss_call *call)
{
    return (liana_tensor){call->output.graph, 0};
}

static void no_update(liana_optimizer_step *step)
{
    step->new_variable = step->learning_rate;
}

static liana_tensor no_call(liana_layer_call *call)
{
    (void)call;
    return (liana_tensor){0};
}

/* Functions that build nothing, or something else. */
static void test_what_parts_build_is_looked_at(void **state)
{
    (void)state;
    fixture own = begin(1);
    liana_loss_type loss = own_loss;
    loss.part.name = "nothing";
    loss.elements = no_elements;
    done(liana_register(own.context, &loss.part));
    liana_optimizer_type optimizer = own_optimizer;
    optimizer.part.name = "Nothing";
    optimizer.update = no_update;
    done(liana_register(own.context, &optimizer.part));
    liana_layer_type layer = own_layer;
    layer.part.name = "Nothing";
    layer.call = no_call;
    done(liana_register(own.context, &layer.part));
    liana_model *m = make_model(&own, "zeros", false);
    liana_fit_options options = options_with(&own, "nothing", "SGD");
    refused(liana_fit(m, &options), LIANA_INVALID_ARGUMENT,
            "the loss 'nothing': its function 'elements' gave no tensor");
    options = options_with(&own, "mse", "Nothing");
    refused(liana_fit(m, &options), LIANA_INVALID_ARGUMENT, "the optimizer 'Nothing': its function 'update' gave f32");
    liana_own_layer(m, "Nothing", scaled_options, .first = 1);
    refused(liana_model_status(m), LIANA_INVALID_ARGUMENT, "the layer 'Nothing': its function 'call' gave no tensor");
    liana_model_destroy(m);
    end(&own);
}

static void test_plugins_that_are_none(void **state)
{
    (void)state;
    fixture own = begin(1);
    refused(liana_load_plugin(own.context, liana__test_path("absent.so")), LIANA_NOT_FOUND, "there is no plugin '");
    refused(liana_load_plugin(own.context, liana__test_write("text.so", "text", 4)), LIANA_INVALID_ARGUMENT,
            "cannot be loaded as a plugin");
    refused(liana_load_plugin(own.context, NULL), LIANA_INVALID_ARGUMENT, "'path' is NULL");
    end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_formulas_give_the_same_bits),
        cmocka_unit_test(test_functions_of_tensors),
        cmocka_unit_test(test_layers_are_trained_saved_and_resumed),
        cmocka_unit_test(test_what_layers_refuse),
        cmocka_unit_test(test_initializers_are_written_as_keras_does),
        cmocka_unit_test(test_heads_and_options),
        cmocka_unit_test(test_what_else_is_missing),
        cmocka_unit_test(test_what_parts_build_is_looked_at),
        cmocka_unit_test(test_plugins_that_are_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
