/* A built-in part can do nothing that a registered part cannot: each built-in part, registered again under another
 * name, is accepted, and gives the same graphs and the same weights. */
#include "base/file.h"
#include "harness/tiny_fit.h"
#include "layers/layer.h"
#include "losses/loss.h"
#include "optimizers/optimizer.h"
#include "train/model/register.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 40, FEATURES = 3, CLASSES = 2 };

static const char PREFIX[] = "copy_of_";

/* ---- copies ---- */

/* Registers a built-in part as copy_of_NAME. */
static void register_copy(liana_context *context, const liana_part *part)
{
    char name[80], *copy = malloc(part->size);
    assert_non_null(copy);
    memcpy(copy, part, part->size);
    snprintf(name, sizeof name, "%s%s", PREFIX, part->name);
    ((liana_part *)copy)->name = name;
    memset(((liana_part *)copy)->aliases, 0, sizeof part->aliases);
    liana_status status = liana_register(context, (const liana_part *)copy);
    if (status != LIANA_OK) fail_msg("%s: %s", name, liana_context_message(context));
    /* A copy is registered. */
    memset(copy, 0xEE, part->size);
    free(copy);
}

/* Without InputLayer, which is where values come from, and optimizers around others, which are rules of rules. */
static bool can_be_registered(const liana_part *part)
{
    static const char *const others[] = {"LossScaleOptimizer", "MultiOptimizer"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        if (part->kind == LIANA_PART_OPTIMIZER && strcmp(part->name, others[i]) == 0) return false;
    }
    return part != &liana__layer_input_layer.part;
}

static int register_copies(liana_context *context)
{
    int count = 0;
    for (int kind = LIANA_PART_LAYER; kind <= LIANA_PART_AUGMENTATION; kind++) {
        for (const liana_part *const *part = liana__kinds[kind]->builtin; *part; part++) {
            assert_int_equal((*part)->kind, kind);
            assert_int_equal((*part)->size, liana__kinds[kind]->size);
            if (!can_be_registered(*part)) continue;
            register_copy(context, *part);
            count++;
        }
    }
    return count;
}

static void test_every_part_can_be_registered(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    assert_compare(register_copies(context), >, 160);
    assert_non_null(liana__part_find(context, &liana__layer_kind, "copy_of_Dense", NULL));
    assert_non_null(liana__part_find(context, &liana__loss_kind, "copy_of_huber", NULL));
    liana_context_destroy(context);
}

/* ---- their results ---- */

typedef struct fixture {
    liana_context *context;
    liana_dataset *data;
    const char *prefix; /* "" or that of copies */
} fixture;

/* Rows of numbers, and the class of each as a row of probabilities. */
static liana_dataset *make_data(liana_context *context)
{
    float x[ROWS * FEATURES], y[ROWS * CLASSES] = {0};
    for (int i = 0; i < ROWS * FEATURES; i++) x[i] = (float)((i * 37 + i / 7 * 5) % 129) / 64 - 1;
    for (int i = 0; i < ROWS; i++) y[CLASSES * i + (x[FEATURES * i] > x[FEATURES * i + 1])] = 1;
    const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), x},
                                  {"y", LIANA_F32, liana_shape_of(ROWS, CLASSES), y}};
    liana_dataset *rows = liana_dataset_from_tensor_slices(context, arrays, 2);
    assert_non_null(rows);
    return rows;
}

static fixture begin(const char *prefix)
{
    fixture own = {.prefix = prefix};
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    register_copies(own.context);
    own.data = make_data(own.context);
    return own;
}

static void end(fixture *own)
{
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

/* The text with the prefix in the place of each '@'. */
static const char *named(const fixture *own, const char *text)
{
    static char texts[8][256];
    static int next;
    char *made = texts[next++ % 8], *to = made;
    for (; *text; text++) {
        if (*text == '@') to += sprintf(to, "%s", own->prefix);
        if (*text != '@') *to++ = *text;
    }
    *to = 0;
    return made;
}

static liana_model *make_model(const fixture *given)
{
    const fixture own = *given;
    liana_model *m;
    assert_int_equal(liana_model_create(own.context, "model", &m), LIANA_OK);
    liana_input(m, .shape = LIANA_INTS(FEATURES));
    LIANA_ADD_(named(given, "@Dense"), liana_dense_options, LIANA_DENSE_DEFAULTS, m, .name = "first", .units = 5,
               .activation = named(given, "@tanh"), .kernel_initializer = named(given, "@truncated_normal(stddev=0.5)"),
               .kernel_regularizer = named(given, "@l1_l2(l1=0.01, l2=0.02)"),
               .kernel_constraint = named(given, "@max_norm(0.9, axis=[1])"), );
    LIANA_ADD_(named(given, "@BatchNormalization"), liana_batch_normalization_options,
               LIANA_BATCH_NORMALIZATION_DEFAULTS, m, .name = "normal", );
    LIANA_ADD_(named(given, "@Dropout"), liana_dropout_options, LIANA_DROPOUT_DEFAULTS, m, .name = "drop",
               .rate = 0.25, );
    LIANA_ADD_(named(given, "@Dense"), liana_dense_options, LIANA_DENSE_DEFAULTS, m, .name = "last", .units = CLASSES,
               .activation = named(given, "@softmax"), .kernel_initializer = named(given, "@he_uniform"), );
    done(liana_model_status(m));
    return m;
}

static liana_model *train(const fixture *given, const char *optimizer)
{
    const fixture own = *given;
    liana_model *m = make_model(given);
    const liana_fit_options options = {
        .training = own.data,
        .epochs = 2,
        .batch_size = 16,
        .microbatch = 4,
        .seed = 5,
        .loss = named(given, "{name: @categorical_crossentropy, label_smoothing: 0.1}"),
        .metrics = {named(given, "{name: @auc, num_thresholds: 20}"), named(given, "@accuracy"), named(given, "@mean")},
        .optimizer = named(given, optimizer),
        .named_callbacks = named(given, "[@EarlyStopping: {monitor: loss, patience: 5}]"),
    };
    done(liana_fit(m, &options));
    return m;
}

/* The file of the other folder, with the names of the parts that were copied. */
static char *read_dump(const char *folder, const char *file)
{
    char path[1024], *text, *found;
    liana__error error = {0};
    size_t size;
    snprintf(path, sizeof path, "%s/%s", folder, file);
    assert_int_equal(liana__file_read(path, SIZE_MAX, &text, &size, &error), LIANA_OK);
    while ((found = strstr(text, PREFIX)) != NULL) {
        memmove(found, found + strlen(PREFIX), strlen(found + strlen(PREFIX)) + 1);
    }
    return text;
}

/* Returns how many graphs there are. */
static int compare_dumps(const char *first, const char *second)
{
    DIR *folder = opendir(first);
    int count = 0;
    assert_non_null(folder);
    for (struct dirent *item; (item = readdir(folder)) != NULL;) {
        if (!strstr(item->d_name, ".txt")) continue;
        char *a = read_dump(first, item->d_name), *b = read_dump(second, item->d_name);
        if (strcmp(a, b) != 0) fail_msg("%s: another graph:\n%.3000s\n---\n%.3000s", item->d_name, a, b);
        free(a);
        free(b);
        count++;
    }
    closedir(folder);
    return count;
}

/* Statistics of shards, logits of an activation, rounds of sums, slots, regularisers, constraints, random numbers. */
static void test_copies_give_the_same_graphs_and_weights(void **state)
{
    (void)state;
    static const char optimizer[] =
        "{name: @LAMB, clipnorm: 0.5, learning_rate: {name: @CosineDecay, initial_learning_rate: 0.05}}";
    char folders[2][512];
    liana_model *models[2];
    fixture fixtures[2];
    for (int i = 0; i < 2; i++) {
        snprintf(folders[i], sizeof folders[i], "%s", liana__test_path(i ? "copies" : "builtin"));
        setenv("LIANA_DUMP", folders[i], 1);
        fixtures[i] = begin(i ? PREFIX : "");
        models[i] = train(&fixtures[i], optimizer);
    }
    unsetenv("LIANA_DUMP");
    assert_true(liana__same_weights(models[0], models[1]));
    assert_compare(compare_dumps(folders[0], folders[1]), >=, 2);
    for (int i = 0; i < 2; i++) {
        liana_model_destroy(models[i]);
        end(&fixtures[i]);
    }
}

static void test_every_optimizer_is_the_same(void **state)
{
    (void)state;
    fixture builtin = begin(""), copies = begin(PREFIX);
    for (const liana_part *const *part = liana__optimizer_kind.builtin; *part; part++) {
        /* A program's own optimizer has no others within. */
        const liana_optimizer_type *optimizer = (const liana_optimizer_type *)*part;
        if (liana__as_loss_scale(optimizer, optimizer) || liana__as_multi(optimizer, optimizer)) continue;
        char text[128];
        snprintf(text, sizeof text, "{name: @%s, learning_rate: 0.01}", (*part)->name);
        liana_model *a = train(&builtin, text), *b = train(&copies, text);
        if (!liana__same_weights(a, b)) fail_msg("%s: other weights", (*part)->name);
        liana_model_destroy(a);
        liana_model_destroy(b);
    }
    end(&builtin);
    end(&copies);
}

/* ---- abilities that only built-in parts had ---- */

typedef struct step_options {
    double low, high;
} step_options;

static const liana_option step_rows[] = {
    LIANA_OPTION_ROW(step_options, low, FLOAT, .default_text = "0.0"),
    LIANA_OPTION_ROW(step_options, high, FLOAT, .default_text = "1.0"),
};

/* Names the option that is wrong. */
static liana_status step_check(liana_check *check)
{
    const step_options *options = check->options;
    if (options->low < options->high) return LIANA_OK;
    return liana_option_refuse(check, "low", "found %g, expected less than high, which is %g", options->low,
                               options->high);
}

static liana_tensor step_elements(const liana_loss_call *call)
{
    liana_tensor error = liana_op_subtract(call->output, call->target.tensor);
    return liana_op_reduce_mean(liana_op_square(error), LIANA_AXES(-1), false);
}

static const liana_loss_type step_loss = {
    LIANA_PART(LOSS, liana_loss_type, "step_loss", NULL, .aliases = {"StepLoss", "sl"}, .check = step_check,
               LIANA_PART_OPTIONS(step_options, step_rows)),
    .activation = LIANA_LOGITS_SIGMOID,
    .targets = LIANA_TARGET_VALUES,
    .range = LIANA_RANGE_UNIT,
    .elements = step_elements,
};

static liana_status fit_with(const fixture *own, const char *loss, liana_dataset *data)
{
    liana_model *m;
    assert_int_equal(liana_model_create(own->context, NULL, &m), LIANA_OK);
    liana_input(m, .shape = LIANA_INTS(FEATURES));
    liana_dense(m, .units = CLASSES, .activation = "sigmoid");
    const liana_fit_options options = {.training = data, .epochs = 1, .batch_size = 8, .loss = loss};
    liana_status status = liana_fit(m, &options);
    liana_model_destroy(m);
    return status;
}

static void test_options_are_refused_by_name(void **state)
{
    (void)state;
    fixture own = begin("");
    done(liana_register(own.context, &step_loss.part));
    refused(fit_with(&own, "{name: step_loss, low: 2}", own.data), LIANA_INVALID_CONFIG,
            "low: found 2, expected less than high, which is 1");
    refused(fit_with(&own, "{name: step_loss, high: -1.0}", own.data), LIANA_INVALID_CONFIG,
            "low: found 0, expected less than high, which is -1");
    refused(fit_with(&own, "{name: step_loss, low: 0.5, high: 0.5}", own.data), LIANA_INVALID_CONFIG,
            ".low: found 0.5");
    done(fit_with(&own, "{name: step_loss, low: -1}", own.data));
    end(&own);
}

static void test_aliases(void **state)
{
    (void)state;
    fixture own = begin("");
    done(liana_register(own.context, &step_loss.part));
    done(fit_with(&own, "StepLoss", own.data));
    done(fit_with(&own, "{name: sl, low: 0.5}", own.data));
    refused(fit_with(&own, "steplosss", own.data), LIANA_INVALID_CONFIG, "did you mean 'step_loss'");
    /* They are taken, by parts of liana and of the program. */
    liana_loss_type other = step_loss;
    other.part.name = "other";
    refused(liana_register(own.context, &other.part), LIANA_INVALID_ARGUMENT, "has registered 'step_loss' already");
    other.part.aliases[0] = "mse";
    other.part.aliases[1] = NULL;
    refused(liana_register(own.context, &other.part), LIANA_INVALID_ARGUMENT, "liana has one of this name");
    other.part.aliases[0] = "a b";
    refused(liana_register(own.context, &other.part), LIANA_INVALID_ARGUMENT, "its alias 'a b' is no name");
    other.part.aliases[0] = NULL;
    other.part.name = "sl";
    refused(liana_register(own.context, &other.part), LIANA_INVALID_ARGUMENT, "has registered 'step_loss' already");
    end(&own);
}

/* The host looks at targets before they are trained on. */
static void test_targets_out_of_range(void **state)
{
    (void)state;
    fixture own = begin("");
    done(liana_register(own.context, &step_loss.part));
    for (int bad = 0; bad < 3; bad++) {
        float x[ROWS * FEATURES] = {0}, y[ROWS * CLASSES] = {0};
        y[7 + bad] = bad ? 1.5f : -0.25f;
        const liana_array arrays[] = {{"x", LIANA_F32, liana_shape_of(ROWS, FEATURES), x},
                                      {"y", LIANA_F32, liana_shape_of(ROWS, CLASSES), y}};
        liana_dataset *data = liana_dataset_from_tensor_slices(own.context, arrays, 2);
        refused(fit_with(&own, "step_loss", data), LIANA_OUT_OF_RANGE, "with the loss 'step_loss' it is a probability");
        done(fit_with(&own, "mse", data));
        liana_dataset_close(data);
    }
    end(&own);
}

/* A look-up says how many values it knows, so ids beyond them are found in the data. */
static void test_ids_out_of_range(void **state)
{
    (void)state;
    fixture own = begin("");
    for (int bad = 0; bad < 3; bad++) {
        int32_t ids[4] = {0, 3, 1, bad == 0 ? 4 : bad == 1 ? -1 : 2};
        float y[4] = {0};
        liana_model *m;
        done(liana_model_create(own.context, NULL, &m));
        liana_input(m, .shape = LIANA_INTS(1), .dtype = LIANA_S32);
        LIANA_ADD_("copy_of_Embedding", liana_embedding_options, LIANA_EMBEDDING_DEFAULTS, m, .input_dim = 4,
                   .output_dim = 2, );
        liana_flatten(m);
        liana_dense(m, .units = 1);
        const liana_array arrays[] = {{"x", LIANA_S32, liana_shape_of(4, 1), ids},
                                      {"y", LIANA_F32, liana_shape_of(4, 1), y}};
        liana_dataset *data = liana_dataset_from_tensor_slices(own.context, arrays, 2);
        const liana_fit_options options = {.training = data, .epochs = 1, .batch_size = 4, .loss = "mse"};
        if (bad < 2) refused(liana_fit(m, &options), LIANA_OUT_OF_RANGE, bad ? "-1" : "4");
        if (bad == 2) done(liana_fit(m, &options));
        liana_dataset_close(data);
        liana_model_destroy(m);
    }
    end(&own);
}

/* ---- checks ---- */

typedef struct watcher_options {
    LIANA_LAYER_OPTIONS;
    int64_t weight; /* that is moved in training */
    bool whole;     /* by a statistic of another shape */
} watcher_options;

static const liana_option watcher_rows[] = {
    LIANA_OPTION_ROW(watcher_options, weight, INT),
    LIANA_OPTION_ROW(watcher_options, whole, BOOL),
};

static bool saw_training;

static liana_status watcher_weights(liana_layer_build *build)
{
    const liana_shape shape = liana_shape_of(build->inputs[0].dims[1]);
    liana_layer_add_weight(build, "scale", shape, "ones", true);
    liana_layer_add_weight(build, "mean", shape, "zeros", false);
    return LIANA_OK;
}

static liana_tensor watcher_call(liana_layer_call *call)
{
    const watcher_options *options = call->options;
    liana_tensor x = liana_op_multiply(call->inputs[0], call->weights[0]);
    saw_training = saw_training || call->training;
    if (!call->training) return x;
    const liana_axes axes = options->whole ? LIANA_AXES(1) : LIANA_AXES(0);
    call->updates[call->num_updates++] = (liana_layer_update){.weight = (size_t)options->weight,
                                                              .statistic = liana_op_reduce_mean(x, axes, false),
                                                              .momentum = 0.5};
    return x;
}

static const liana_layer_type watcher_layer = {
    LIANA_PART(LAYER, liana_layer_type, "Watcher", NULL, LIANA_PART_OPTIONS(watcher_options, watcher_rows)),
    .reads_training = true,
    .weights = watcher_weights,
    .call = watcher_call,
};

static liana_status fit_watcher(const fixture *own, const char *name, int64_t weight, bool whole, float *mean)
{
    liana_model *m;
    assert_int_equal(liana_model_create(own->context, NULL, &m), LIANA_OK);
    liana_input(m, .shape = LIANA_INTS(FEATURES));
    liana_own_layer(m, name, watcher_options, .name = "watcher", .weight = weight, .whole = whole);
    liana_dense(m, .units = CLASSES);
    const liana_fit_options options = {.training = own->data, .epochs = 1, .batch_size = 8, .loss = "mse"};
    liana_array values;
    liana_status status = liana_fit(m, &options);
    if (status == LIANA_OK) assert_int_equal(liana_model_get_weights(m, "watcher/mean", &values), LIANA_OK);
    if (status == LIANA_OK) *mean = ((const float *)values.data)[0];
    liana_model_destroy(m);
    return status;
}

/* A layer that does not say that it reads `training` is never told; averages are of untrainable weights, in their
 * shape. */
static void test_layers_are_held_to_what_they_say(void **state)
{
    (void)state;
    fixture own = begin("");
    float mean = 0;
    liana_layer_type calm = watcher_layer;
    calm.part.name = "Calm";
    calm.reads_training = false;
    done(liana_register(own.context, &watcher_layer.part));
    done(liana_register(own.context, &calm.part));
    saw_training = false;
    done(fit_watcher(&own, "Calm", 1, false, &mean));
    assert_false(saw_training);
    assert_compare(mean, ==, 0);
    done(fit_watcher(&own, "Watcher", 1, false, &mean));
    assert_true(saw_training);
    assert_compare(mean, !=, 0);
    refused(fit_watcher(&own, "Watcher", 0, false, &mean), LIANA_INVALID_ARGUMENT,
            "the layer 'Watcher': an average is of weight 0 with momentum 0.5, expected an untrainable weight");
    refused(fit_watcher(&own, "Watcher", 2, false, &mean), LIANA_INVALID_ARGUMENT, "an average is of weight 2");
    refused(fit_watcher(&own, "Watcher", 1, true, &mean), LIANA_INVALID_ARGUMENT,
            "the layer 'Watcher': its function 'call' gave f32");
    end(&own);
}

static const liana_option odd_rows[] = {
    LIANA_OPTION_ROW(liana_optimizer_common, weight_decay, FLOAT, .default_text = "null"),
};

static void test_tables_without_the_rows_of_all(void **state)
{
    (void)state;
    fixture own = begin("");
    liana_optimizer_type optimizer = liana__optimizer_SGD;
    optimizer.part.name = "Odd";
    optimizer.part.options = (liana_options){NULL, sizeof(liana_optimizer_common), 1, odd_rows};
    refused(liana_register(own.context, &optimizer.part), LIANA_INVALID_ARGUMENT,
            "no option 'exclude_from_weight_decay', expected the rows of LIANA_OPTIMIZER_ROWS");
    liana_schedule_type schedule = liana__schedule_CosineDecay;
    schedule.part.name = "Odd";
    schedule.part.options = (liana_options){0};
    refused(liana_register(own.context, &schedule.part), LIANA_INVALID_ARGUMENT,
            "no option 'initial_learning_rate', expected the rows of LIANA_SCHEDULE_ROWS");
    liana_part none = {.size = sizeof none, .version = LIANA_PARTS_VERSION, .name = "none"};
    refused(liana_register(own.context, &none), LIANA_INVALID_ARGUMENT, "a part is of the unknown kind 0");
    none.kind = LIANA_PART_LAYER;
    refused(liana_register(own.context, &none), LIANA_INVALID_ARGUMENT, "the layer 'none': its size is");
    none.version = 1;
    refused(liana_register(own.context, &none), LIANA_INVALID_ARGUMENT, "built for version 1");
    end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_part_can_be_registered),
        cmocka_unit_test(test_copies_give_the_same_graphs_and_weights),
        cmocka_unit_test(test_every_optimizer_is_the_same),
        cmocka_unit_test(test_options_are_refused_by_name),
        cmocka_unit_test(test_aliases),
        cmocka_unit_test(test_targets_out_of_range),
        cmocka_unit_test(test_ids_out_of_range),
        cmocka_unit_test(test_layers_are_held_to_what_they_say),
        cmocka_unit_test(test_tables_without_the_rows_of_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
