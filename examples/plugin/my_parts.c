/* A plugin: one own part of each kind. docs/guides/own-parts.md explains it. After `make install`:
 *
 *     cc -shared -fPIC my_parts.c -o my_parts.so $(pkg-config --cflags --libs liana) -lm
 *     liana list losses power_error --plugin my_parts.so
 *     liana train my_parts.yaml --allow-plugins
 */
#include "my_parts.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- layer: x * sigmoid(beta x), with a beta for each channel, that may be learnt ---- */

static const liana_option swish2_rows[] = {
    LIANA_OPTION_ROW(swish2_options, beta, FLOAT, .default_text = "1.0", .minimum = -100, .maximum = 100,
                     .doc = "steepness; the first one if it is learnt"),
    LIANA_OPTION_ROW(swish2_options, learn, BOOL, .default_text = "true", .doc = "whether each channel learns its own"),
};

static liana_status swish2_weights(liana_layer_build *build)
{
    const swish2_options *options = build->options;
    const liana_shape *x = &build->inputs[0];
    char initializer[64];
    if (x->rank < 2) return liana_layer_refuse(build, 0, "[batch, ..., channels]");
    snprintf(initializer, sizeof initializer, "constant(%.17g)", options->beta);
    if (options->learn) liana_layer_add_weight(build, "beta", liana_shape_of(x->dims[x->rank - 1]), initializer, true);
    return LIANA_OK;
}

static liana_tensor swish2(liana_layer_call *call)
{
    const swish2_options *options = call->options;
    liana_tensor x = call->inputs[0];
    liana_tensor beta =
        options->learn ? call->weights[0] : liana_graph_scalar_at(call->here, x.graph, call->dtype, options->beta);
    return liana_op_multiply_at(call->here, x,
                                liana_op_logistic_at(call->here, liana_op_multiply_at(call->here, x, beta)));
}

static const liana_layer_type swish2_layer = {
    LIANA_PART(LAYER, liana_layer_type, "Swish2", "x * sigmoid(beta x), with a beta for each channel",
               LIANA_PART_OPTIONS(swish2_options, swish2_rows)),
    .masking = LIANA_MASKING_KEPT,
    .weights = swish2_weights,
    .call = swish2,
};

/* ---- loss: the mean over the last axis of |output - target|^exponent ---- */

typedef struct power_options {
    double exponent;
} power_options;

static const liana_option power_rows[] = {
    LIANA_OPTION_ROW(power_options, exponent, FLOAT, .default_text = "2.0", .minimum = 1, .maximum = 8,
                     .doc = "1: the mean absolute error; 2: the mean squared error"),
};

static liana_tensor power_error(const liana_loss_call *call)
{
    const power_options *options = call->options;
    liana_tensor distance = liana_op_abs(liana_op_subtract(call->output, call->target.tensor));
    /* A power of 0 has no slope that one could use. */
    liana_tensor least = liana_graph_scalar(distance.graph, liana_tensor_dtype(distance), 1e-12);
    liana_tensor exponent = liana_graph_scalar(distance.graph, liana_tensor_dtype(distance), options->exponent);
    liana_tensor power = liana_op_power(liana_op_maximum(distance, least), exponent);
    return liana_op_reduce_mean(power, LIANA_AXES(-1), false);
}

static const liana_loss_type power_loss = {
    LIANA_PART(LOSS, liana_loss_type, "power_error", "The distance between output and target to a power.",
               LIANA_PART_OPTIONS(power_options, power_rows)),
    .targets = LIANA_TARGET_VALUES,
    .elements = power_error,
};

/* ---- metric: the largest distance is no mean; this one is made of sums: the root of the mean square ---- */

static size_t root_sums(const void *options, const liana_shape *output)
{
    (void)options;
    (void)output;
    return 2;
}

static liana_tensor root_add(const liana_metric_call *call)
{
    liana_tensor error = liana_op_subtract(call->output, call->target.tensor);
    liana_tensor each = liana_op_reduce_mean(liana_op_square(error), LIANA_AXES(-1), false);
    liana_tensor one = liana_op_broadcast_to(liana_graph_scalar(each.graph, LIANA_F32, 1), liana_tensor_shape(each));
    liana_tensor weights = call->weights.id ? call->weights : one;
    liana_tensor sums[] = {
        liana_op_reshape(liana_op_reduce_sum(liana_op_multiply(each, weights), LIANA_ALL_AXES, false),
                         liana_shape_of(1)),
        liana_op_reshape(liana_op_reduce_sum(weights, LIANA_ALL_AXES, false), liana_shape_of(1)),
    };
    return liana_op_concat(sums, 2, 0);
}

static double root_finish(const void *options, const double *sums, size_t count)
{
    (void)options;
    (void)count;
    return sums[1] > 0 ? sqrt(sums[0] / sums[1]) : 0;
}

static const liana_metric_type root_metric = {
    LIANA_PART(METRIC, liana_metric_type, "root_error", "The root of the mean squared error."),
    .targets = LIANA_TARGET_VALUES,
    .sums = root_sums,
    .add = root_add,
    .finish = root_finish,
};

/* ---- optimizer: steps of one length against the sign of the mean gradient (Bernstein et al. 2018) ---- */

typedef struct sign_options {
    liana_optimizer_common common; /* weight decay, clipping, averages: liana does them */
    double momentum;
} sign_options;

static const liana_option sign_rows[] = {
    LIANA_OPTION_ROW(sign_options, momentum, FLOAT, .default_text = "0.9", .maximum = 0.9999,
                     .doc = "decay of the mean of gradients"),
    LIANA_OPTIMIZER_ROWS("null"),
};

static void sign_update(liana_optimizer_step *step)
{
    const sign_options *options = step->options;
    liana_tensor decay = liana_graph_scalar(step->variable.graph, LIANA_F32, options->momentum);
    liana_tensor share = liana_graph_scalar(step->variable.graph, LIANA_F32, 1 - options->momentum);
    liana_tensor mean =
        liana_op_add(liana_op_multiply(decay, step->slots[0]), liana_op_multiply(share, step->gradient));
    step->new_slots[0] = mean;
    step->new_variable = liana_op_subtract(step->variable, liana_op_multiply(step->learning_rate, liana_op_sign(mean)));
}

static const liana_optimizer_type sign_optimizer = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "SignDescent",
               "Steps of one length against the sign of the mean gradient.",
               LIANA_PART_OPTIONS(sign_options, sign_rows)),
    .default_learning_rate = 1e-3,
    .slots = {"mean"},
    .update = sign_update,
};

/* ---- schedule: up and down between two rates (Smith 2015) ---- */

typedef struct triangle_options {
    liana_schedule_common common;
    double lowest;
    int64_t turns;
} triangle_options;

static const liana_option triangle_rows[] = {
    LIANA_OPTION_ROW(triangle_options, lowest, FLOAT, .default_text = "0.0", .maximum = 1,
                     .doc = "the lowest rate, as a share of the initial one"),
    LIANA_OPTION_ROW(triangle_options, turns, INT, .default_text = "1", .minimum = 1, .maximum = 1000,
                     .doc = "how often the rate comes back"),
    LIANA_SCHEDULE_ROWS,
};

static double triangle_rate(const void *options, double step, double decay_steps, double initial)
{
    const triangle_options *own = options;
    double place = fmod(step / decay_steps * (double)own->turns, 1);
    return initial * (own->lowest + (1 - own->lowest) * fabs(1 - 2 * place));
}

static const liana_schedule_type triangle_schedule = {
    LIANA_PART(SCHEDULE, liana_schedule_type, "Triangle", "Down and up again between two rates.",
               LIANA_PART_OPTIONS(triangle_options, triangle_rows)),
    .rate = triangle_rate,
};

/* ---- initialiser: random numbers in [-width, width) ---- */

typedef struct spread_options {
    double width;
} spread_options;

static const liana_option spread_rows[] = {
    LIANA_OPTION_ROW(spread_options, width, FLOAT, .default_text = "0.1", .maximum = 10, .doc = "the largest value"),
};

static void spread_fill(const liana_initializer_call *call)
{
    const spread_options *options = call->options;
    for (int64_t i = 0; i < call->count; i++) {
        call->values[i] = (float)(options->width * (2 * liana_initializer_uniform(call, (uint64_t)i) - 1));
    }
}

static const liana_initializer_type spread_initializer = {
    LIANA_PART(INITIALIZER, liana_initializer_type, "spread", "Random numbers up to a width.",
               LIANA_PART_OPTIONS(spread_options, spread_rows)),
    .fill = spread_fill,
};

/* ---- callback: ends a training whose loss is good enough for some epochs; its counter is state ---- */

typedef struct good_enough_options {
    double below;
    int64_t epochs;
} good_enough_options;

static const liana_option good_enough_rows[] = {
    LIANA_OPTION_ROW(good_enough_options, below, FLOAT, .required = true, .doc = "the loss that is good enough"),
    LIANA_OPTION_ROW(good_enough_options, epochs, INT, .default_text = "1", .minimum = 1, .maximum = 1000,
                     .doc = "for so many epochs in a row"),
};

typedef struct good_enough {
    int64_t count;
} good_enough;

static liana_status good_enough_epoch_end(liana_callback_item *item, liana_fit_context *context)
{
    const good_enough_options *options = item->options;
    good_enough *own = item->self;
    double loss;
    if (!liana_fit_metric(context, "loss", &loss)) return LIANA_OK;
    own->count = loss < options->below ? own->count + 1 : 0;
    if (own->count >= options->epochs) liana_fit_stop(context, "the loss is good enough");
    return LIANA_OK;
}

static void good_enough_save(const liana_callback_item *item, liana_callback_state *state)
{
    const good_enough *own = item->self;
    liana_callback_state_put(state, "count", (liana_kept){LIANA_KEPT_INTEGER, .integer = own->count});
}

static liana_status good_enough_load(liana_callback_item *item, const liana_fit_context *context,
                                     const liana_callback_state *state)
{
    liana_kept count;
    (void)context;
    liana_callback_state_get(state, "count", LIANA_KEPT_INTEGER, &count); /* 0 where it is new */
    ((good_enough *)item->self)->count = count.integer;
    return LIANA_OK;
}

static const liana_callback_type good_enough_callback = {
    LIANA_PART(CALLBACK, liana_callback_type, "GoodEnough", "Ends the training when the loss is good enough.",
               LIANA_PART_OPTIONS(good_enough_options, good_enough_rows)),
    .self_size = sizeof(good_enough),
    .save = good_enough_save,
    .load = good_enough_load,
    .on = {[LIANA_ON_EPOCH_END] = good_enough_epoch_end},
};

/* ---- kind of data: text files *.numbers, a row of numbers for each example; the last one is the target ---- */

typedef struct numbers {
    float *values;
    size_t rows, columns;
    liana_component components[2];
} numbers;

static bool numbers_recognises(const char *path, const uint8_t *head, size_t head_size)
{
    (void)head;
    (void)head_size;
    size_t length = strlen(path);
    return length > 8 && strcmp(path + length - 8, ".numbers") == 0;
}

static void numbers_close(void *handle)
{
    free(((numbers *)handle)->values);
    free(handle);
}

/* Appends a line's numbers. The first line says how many there are in each. */
static bool numbers_add(numbers *own, char *line)
{
    size_t count = 0;
    char *end = line;
    for (float value = strtof(line, &end); end != line; value = strtof(line, &end)) {
        float *wider = realloc(own->values, (own->rows * own->columns + count + 1) * sizeof *wider);
        if (!wider) return false;
        own->values = wider;
        own->values[own->rows * own->columns + count++] = value;
        line = end;
    }
    if (own->rows == 0) own->columns = count;
    own->rows++;
    return line[strspn(line, " \t\r\n")] == 0 && count == own->columns && count >= 2;
}

static liana_status numbers_open(liana_source_opening *opening)
{
    numbers *own = calloc(1, sizeof *own);
    opening->handle = own;
    if (!own) return LIANA_OUT_OF_MEMORY;
    for (size_t i = 0; i < opening->num_paths; i++) {
        char line[1024];
        FILE *file = fopen(opening->paths[i], "r");
        if (!file) return LIANA_IO_ERROR;
        bool good = true;
        while (good && fgets(line, sizeof line, file)) good = numbers_add(own, line);
        fclose(file);
        if (good) continue;
        snprintf(opening->message, LIANA_SOURCE_MESSAGE, "row %zu is not as many numbers as the first, at least 2",
                 own->rows);
        return LIANA_INVALID_DATA;
    }
    own->components[0] = (liana_component){"x", LIANA_F32, liana_shape_of((int64_t)own->columns - 1)};
    own->components[1] = (liana_component){"y", LIANA_F32, liana_shape_of(1)};
    opening->num_records = own->rows;
    opening->components = own->components;
    opening->num_components = 2;
    return LIANA_OK;
}

static liana_status numbers_read(void *handle, liana_source_record *record)
{
    const numbers *own = handle;
    record->values[0] = own->values + record->index * own->columns;
    record->values[1] = own->values + (record->index + 1) * own->columns - 1;
    return LIANA_OK;
}

static const liana_source_type numbers_source = {
    LIANA_PART(SOURCE, liana_source_type, "numbers", "Text files *.numbers with a row of numbers for each example."),
    .recognises = numbers_recognises,
    .open = numbers_open,
    .close = numbers_close,
    .read = numbers_read,
};

/* ---- an activation, a regularizer and a constraint ---- */

typedef struct leak_options {
    double slope;
} leak_options;

static const liana_option leak_rows[] = {
    LIANA_OPTION_ROW(leak_options, slope, FLOAT, .default_text = "0.2", .minimum = 0, .maximum = 1, .doc = "below 0"),
};

static liana_tensor leak(const liana_activation_call *call)
{
    const leak_options *options = call->options;
    liana_tensor slope = liana_graph_scalar(call->x.graph, liana_tensor_dtype(call->x), options->slope);
    return liana_op_maximum(call->x, liana_op_multiply(call->x, slope));
}

static const liana_activation_type leak_activation = {
    LIANA_PART(ACTIVATION, liana_activation_type, "leak", "max(x, slope x)",
               LIANA_PART_OPTIONS(leak_options, leak_rows)),
    .apply = leak,
};

typedef struct mild_options {
    double strength;
} mild_options;

static const liana_option mild_rows[] = {
    LIANA_OPTION_ROW(mild_options, strength, FLOAT, .default_text = "0.001", .minimum = 0, .maximum = 1,
                     .doc = "a factor"),
};

/* Like l2 near 0, like l1 far from it. */
static liana_tensor mild_penalty(const liana_regularizer_call *call)
{
    const mild_options *options = call->options;
    liana_tensor one = liana_graph_scalar(call->x.graph, liana_tensor_dtype(call->x), 1);
    liana_tensor strength = liana_graph_scalar(call->x.graph, liana_tensor_dtype(call->x), options->strength);
    liana_tensor root = liana_op_sqrt(liana_op_add(liana_op_square(call->x), one));
    liana_tensor each = liana_op_multiply(strength, liana_op_subtract(root, one));
    return call->axes.count ? liana_op_reduce_sum(each, call->axes, false) : each;
}

static const liana_regularizer_type mild_regularizer = {
    LIANA_PART(REGULARIZER, liana_regularizer_type, "mild", "strength * sum(sqrt(x^2 + 1) - 1)",
               LIANA_PART_OPTIONS(mild_options, mild_rows)),
    .is_by_element = true,
    .penalty = mild_penalty,
};

/* The rows of a matrix keep the sum 0. */
static liana_tensor centered(const liana_constraint_call *call)
{
    return liana_op_subtract(call->variable, liana_op_reduce_mean(call->variable, LIANA_AXES(-1), true));
}

static liana_status centered_fits(liana_check *check, const liana_shape *shape)
{
    return shape->rank >= 2 ? LIANA_OK : liana_option_refuse(check, NULL, "expected a matrix");
}

static const liana_constraint_type centered_constraint = {
    LIANA_PART(CONSTRAINT, liana_constraint_type, "centered", "The last axis of the weight has the mean 0."),
    .apply = centered,
    .fits = centered_fits,
};

/* ---- all of them ---- */

liana_status register_my_parts(liana_context *context)
{
    LIANA_TRY(liana_register(context, &swish2_layer.part));
    LIANA_TRY(liana_register(context, &power_loss.part));
    LIANA_TRY(liana_register(context, &root_metric.part));
    LIANA_TRY(liana_register(context, &sign_optimizer.part));
    LIANA_TRY(liana_register(context, &triangle_schedule.part));
    LIANA_TRY(liana_register(context, &spread_initializer.part));
    LIANA_TRY(liana_register(context, &good_enough_callback.part));
    LIANA_TRY(liana_register(context, &leak_activation.part));
    LIANA_TRY(liana_register(context, &mild_regularizer.part));
    LIANA_TRY(liana_register(context, &centered_constraint.part));
    return liana_register(context, &numbers_source.part);
}

LIANA_PLUGIN("my parts", register_my_parts);
