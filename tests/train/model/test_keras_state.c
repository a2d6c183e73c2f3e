/* A training goes on from the state of the optimizer in a file of Keras, and back. The files of the tests without Keras
 * are written here, in the layout that Keras 3.15 and tf_keras 2.21 have. */
#include "harness/keras_state.h"

#include "formats/zip.h"
#include "program/optimizer_text.h"
#include "train/checkpoint/keras_weights.h"
#include "train/model/model_file.h"
#include "train/model/model_objective.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The first value of a slot of a weight. */
static double first_of(const liana__optimizer_state *state, const char *slot, const char *weight)
{
    const liana__update_rule rule = liana__optimizer_state_rule(state);
    for (size_t w = 0; w < state->num_weights; w++) {
        for (size_t s = 0; s < state->num_slots && strcmp(state->weights[w], weight) == 0; s++) {
            if (strcmp(liana__rule_slot_name(&rule, s), slot) == 0) {
                return (double)state->values[w * state->num_slots + s][0];
            }
        }
    }
    fail_msg("no slot %s of %s", slot, weight);
    return NAN;
}

/* The numbers are h5py's of the files. */
static void test_the_state_of_a_file_of_keras_is_read(void **state)
{
    (void)state;
    static const char *const files[] = {"keras3_compiled.keras", "keras3_compiled.h5"};
    for (size_t i = 0; i < 2; i++) {
        liana_model *model;
        liana__optimizer_state made;
        assert_ok(liana_model_load(context, sample(files[i]), &model), &context->error);
        const liana__optimizer_state *found = state_of(model, &made);
        assert_non_null(found);
        assert_null(found->fault);
        assert_int_equal(found->iteration, 10);
        assert_int_equal(found->num_weights, 6);
        assert_near(first_of(found, "m", "hidden/kernel"), -0.03329982, 1e-8);
        assert_near(first_of(found, "v", "hidden/kernel"), 1.2661248e-03, 1e-10);
        assert_near(first_of(found, "m", "hidden/bias"), 0.05006102, 1e-8);
        assert_near(first_of(found, "v", "out/kernel"), 4.9285631e-04, 1e-10);
        assert_near(first_of(found, "v", "out/bias"), 0.00042504, 1e-8);
        liana_model_destroy(model);
    }
}

/* ---- other trainings ---- */

static void test_another_optimizer_begins_anew(void **state)
{
    (void)state;
    static const struct {
        const char *optimizer; /* NULL: the file's */
        const char *note, *why;
        int64_t updates;
    } rows[] = {
        {NULL, "goes on where", "Adam after 10 updates", 11},
        {"{name: Adam, beta_1: 0.8, learning_rate: 0.01}", "goes on where", "Adam after 10 updates", 11},
        {"{name: Adam, beta_1: 0.9, learning_rate: 0.01}", "begins anew", "beta_1", 1},
        {"{name: Adam, beta_1: 0.8, amsgrad: true}", "begins anew", "amsgrad", 1},
        {"{name: Adam, beta_1: 0.8, clipnorm: 1.0}", "begins anew", "clipnorm", 1},
        {"SGD", "begins anew", "that of Adam, and this training has SGD", 1},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        liana_model *model;
        assert_ok(liana_model_load(context, sample("keras3_compiled.keras"), &model), &context->error);
        update(model, rows[i].optimizer);
        assert_says(notes, rows[i].note);
        assert_says(notes, rows[i].why);
        assert_says(notes, "keras3_compiled.keras");
        assert_int_equal(updates_of(model), rows[i].updates);
        /* The next one goes on with the training, and says nothing of the file. */
        update(model, rows[i].optimizer);
        assert_never_says(notes, "keras3_compiled.keras");
        assert_int_equal(updates_of(model), rows[i].updates + 1);
        liana_model_destroy(model);
    }
}

static void test_other_trained_weights_begin_anew(void **state)
{
    (void)state;
    liana_model *model;
    assert_ok(liana_model_load(context, sample("keras3_compiled.h5"), &model), &context->error);
    liana__model_set_trainable(model, 0, 2, false);
    update(model, NULL);
    assert_says(notes, "begins anew");
    assert_says(notes, "6 trained weights, and this training has 4");
    assert_int_equal(updates_of(model), 1);
    liana_model_destroy(model);
}

#ifdef LIANA_HAVE_HDF5
/* ---- files with variables of one's own ---- */

enum { MOST_VARIABLES = 32 };

/* A variable whose elements are all `value`. */
typedef struct variable {
    const char *name; /* in .h5 files */
    const char *dtype;
    int rank;
    int64_t shape[2];
    double value;
} variable;

typedef struct variables {
    variable items[MOST_VARIABLES];
    size_t count;
} variables;

static void add(variables *list, const char *dtype, double value, int rank, int64_t rows, int64_t columns)
{
    list->items[list->count++] = (variable){NULL, dtype, rank, {rows, columns}, value};
}

/* The shapes of what the sample trains: hidden/kernel, hidden/bias, norm/gamma, norm/beta, out/kernel, out/bias. */
static const int64_t shapes[6][2] = {{4, 5}, {5}, {5}, {5}, {5, 3}, {3}};

static void add_slot(variables *list, size_t weight)
{
    const bool is_kernel = weight == 0 || weight == 4;
    add(list, "float32", 100 + (double)list->count, is_kernel ? 2 : 1, shapes[weight][0], shapes[weight][1]);
}

/* iteration, learning_rate, and variables that say their place: 100 + it. */
static variables begin_variables(int64_t iteration, bool has_rate)
{
    variables list = {.count = 0};
    add(&list, "int64", (double)iteration, 0, 0, 0);
    if (has_rate) add(&list, "float32", 0.25, 0, 0, 0);
    return list;
}

static void add_group(variables *list, size_t num_slots)
{
    for (size_t weight = 0; weight < 6; weight++) {
        for (size_t i = 0; i < num_slots; i++) add_slot(list, weight);
    }
}

static void *make_values(const variable *own)
{
    size_t count = 1;
    for (int i = 0; i < own->rank; i++) count *= (size_t)own->shape[i];
    int64_t *integers = calloc(count, sizeof *integers);
    float *floats = (float *)integers;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(own->dtype, "int64") == 0) integers[i] = (int64_t)own->value;
        if (strcmp(own->dtype, "float32") == 0) floats[i] = (float)own->value;
    }
    return integers;
}

static liana__hdf5_data data_of(const variable *own)
{
    return (liana__hdf5_data){.dtype = own->dtype, .rank = own->rank, .shape = {own->shape[0], own->shape[1]}};
}

/* A text in an archive. */
static char *read_entry(const char *archive, const char *name)
{
    liana__zip *zip;
    char *bytes, *text;
    assert_ok(liana__zip_open(archive, &zip, &context->error), &context->error);
    const liana__zip_entry *entry = liana__zip_find(zip, name);
    assert_non_null(entry);
    assert_ok(liana__zip_read(zip, entry, &bytes, &context->error), &context->error);
    text = calloc(1, (size_t)entry->size + 1);
    memcpy(text, bytes, (size_t)entry->size);
    free(bytes);
    liana__zip_close(zip);
    return text;
}

/* The sample's model, compiled with this optimizer. */
static liana_model *compiled_with(const char *optimizer)
{
    liana_model *model;
    liana__value *value;
    liana__arena arena = {0};
    assert_ok(liana_model_load(context, sample("keras3_compiled.keras"), &model), &context->error);
    assert_ok(liana__optimizer_text_read(optimizer, &arena, &value, &context->error), &context->error);
    assert_ok(liana__model_keep_optimizer(model, value, &context->error), &context->error);
    liana__optimizer_state none = {0};
    assert_ok(liana__compiled_take_state(model, &none, &context->error), &context->error);
    liana__arena_free(&arena);
    return model;
}

/* Writes NAME, a .keras file of that model with these variables in optimizer/vars; NULL: without that group. */
static const char *write_keras(const char *name, const char *optimizer, const variables *list)
{
    static char path[700];
    liana_model *model = compiled_with(optimizer);
    liana__hdf5_data data[MOST_VARIABLES];
    void *values[MOST_VARIABLES] = {0};
    const void *lent[MOST_VARIABLES];
    for (size_t i = 0; list && i < list->count; i++) {
        data[i] = data_of(&list->items[i]);
        lent[i] = values[i] = make_values(&list->items[i]);
    }
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    assert_ok(liana_model_save(model, path), &context->error);
    char *config = read_entry(path, "config.json"), *metadata = read_entry(path, "metadata.json");
    const liana__keras3_layer layer = {
        .path = "optimizer", .name = "own", .weights = data, .values = lent, .num_weights = list ? list->count : 0};
    liana__hdf5_new *tree;
    const char *bytes;
    size_t size;
    assert_ok(liana__keras_weights_make(model, model->values, &layer, list ? 1 : 0, path, &tree, &context->error),
              &context->error);
    assert_ok(liana__hdf5_new_bytes(tree, &bytes, &size, &context->error), &context->error);
    const liana__zip_new_entry entries[] = {{"metadata.json", metadata, strlen(metadata)},
                                            {"config.json", config, strlen(config)},
                                            {"model.weights.h5", bytes, size}};
    assert_ok(liana__zip_write(path, entries, 3, &context->error), &context->error);
    liana__hdf5_new_free(tree);
    for (size_t i = 0; i < MOST_VARIABLES; i++) free(values[i]);
    free(config);
    free(metadata);
    liana_model_destroy(model);
    return path;
}

/* The variables in a file, in its order, must be these. Nadam's product is not compared. */
static void check_file(const char *path, const variables *expected)
{
    liana__hdf5 *file;
    float first[20];
    assert_ok(liana__hdf5_open(path, &file, &context->error), &context->error);
    const liana__hdf5_layer *found = liana__hdf5_get_contents(file)->optimizer;
    assert_non_null(found);
    assert_compare(found->num_weights, ==, expected->count);
    for (size_t i = 0; i < expected->count; i++) {
        const variable *one = &expected->items[i];
        const liana__hdf5_weight *other = &found->weights[i];
        if (one->name) assert_string_equal(other->name, one->name);
        assert_string_equal(other->data.dtype, one->dtype);
        assert_compare(other->data.rank, ==, one->rank, i);
        assert_memory_equal(other->data.shape, one->shape, (size_t)one->rank * sizeof *one->shape);
        assert_ok(liana__hdf5_read(file, other, first, &context->error), &context->error);
        if (one->rank || i < 2) assert_near(first[0], one->value, 1e-6, i);
    }
    liana__hdf5_close(file);
}

/* ---- order ---- */

/* Where slot `slot` of weight w is: first + w * step. */
typedef struct place {
    const char *slot;
    size_t first, step;
} place;

typedef struct order_row {
    const char *optimizer;
    size_t groups[3];  /* slots that follow each other for each weight */
    size_t scalar;     /* before this variable another scalar stands; 0: none */
    bool has_schedule; /* there is no learning_rate */
    place places[3];
} order_row;

/* The orders are those of files that Keras 3.15 wrote, listed with h5py; of Nadam also of Keras 3.5. */
static const order_row orders[] = {
    {"{name: Adam, learning_rate: 0.25}", {2}, 0, false, {{"m", 2, 2}, {"v", 3, 2}}},
    {"{name: AdamW, learning_rate: 0.25, amsgrad: true}",
     {2, 1},
     0,
     false,
     {{"m", 2, 2}, {"v", 3, 2}, {"v_hat", 14, 1}}},
    {"{name: Adam, learning_rate: {name: CosineDecay, initial_learning_rate: 0.1, decay_steps: 50}}",
     {2},
     0,
     true,
     {{"m", 1, 2}, {"v", 2, 2}}},
    {"{name: SGD, learning_rate: 0.25, momentum: 0.5, use_ema: true}",
     {1, 1},
     0,
     false,
     {{"average", 2, 1}, {"momentum", 8, 1}}},
    {"{name: SGD, learning_rate: 0.25, momentum: 0.5, nesterov: true}", {1}, 0, false, {{"momentum", 2, 1}}},
    {"{name: SGD, learning_rate: 0.25}", {0}, 0, false, {{NULL, 0, 0}}},
    {"{name: RMSprop, learning_rate: 0.25}", {1}, 0, false, {{"velocity", 2, 1}}},
    {"{name: RMSprop, learning_rate: 0.25, momentum: 0.5, centered: true}",
     {1, 1, 1},
     0,
     false,
     {{"velocity", 2, 1}, {"momentum", 8, 1}, {"average_gradient", 14, 1}}},
    {"{name: Adagrad, learning_rate: 0.25}", {1}, 0, false, {{"accumulator", 2, 1}}},
    {"{name: Adadelta, learning_rate: 0.25}",
     {2},
     0,
     false,
     {{"accumulated_grad", 2, 2}, {"accumulated_delta_var", 3, 2}}},
    {"{name: Adamax, learning_rate: 0.25}", {2}, 0, false, {{"m", 2, 2}, {"u", 3, 2}}},
    {"{name: Ftrl, learning_rate: 0.25}", {2}, 0, false, {{"accumulator", 2, 2}, {"linear", 3, 2}}},
    {"{name: Lion, learning_rate: 0.25}", {1}, 0, false, {{"m", 2, 1}}},
    {"{name: Lamb, learning_rate: 0.25}", {2}, 0, false, {{"m", 2, 2}, {"v", 3, 2}}},
    {"{name: Nadam, learning_rate: 0.25}", {2}, 14, false, {{"m", 2, 2}, {"v", 3, 2}}},
    {"{name: Nadam, learning_rate: 0.25}", {2}, 2, false, {{"m", 3, 2}, {"v", 4, 2}}},
};

static variables variables_of(const order_row *row)
{
    variables list = begin_variables(7, !row->has_schedule);
    if (row->scalar == 2) add(&list, "float32", 0.5, 0, 0, 0);
    for (size_t i = 0; i < 3 && row->groups[i]; i++) add_group(&list, row->groups[i]);
    if (row->scalar > 2) add(&list, "float32", 0.5, 0, 0, 0);
    return list;
}

static void check_places(const liana__optimizer_state *state, const order_row *row)
{
    static const char *const names[] = {"hidden/kernel", "hidden/bias", "norm/gamma",
                                        "norm/beta",     "out/kernel",  "out/bias"};
    assert_int_equal(state->iteration, 7);
    for (size_t i = 0; i < 3 && row->places[i].slot; i++) {
        for (size_t w = 0; w < 6; w++) {
            const size_t index = row->places[i].first + w * row->places[i].step;
            assert_near(first_of(state, row->places[i].slot, names[w]), 100 + (double)index, 0, i, w);
        }
    }
}

static void test_slots_are_in_the_order_of_keras(void **state)
{
    (void)state;
    char path[700];
    liana__test_folder();
    for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
        liana__optimizer_state made;
        const variables list = variables_of(&orders[i]);
        snprintf(path, sizeof path, "%s", write_keras("own.keras", orders[i].optimizer, &list));
        liana_model *model = load("own.keras");
        const liana__optimizer_state *found = state_of(model, &made);
        assert_non_null(found);
        if (found->fault) fail_msg("%s: %s", orders[i].optimizer, found->fault);
        check_places(found, &orders[i]);
        if (orders[i].scalar != 2) { /* which Keras 3.15 does not write */
            assert_ok(liana_model_save(model, liana__test_path("back.keras")), &context->error);
            check_file(liana__test_path("back.keras"), &list);
            const bool has_lamb = strstr(orders[i].optimizer, "Lamb");
            assert_ok(liana_model_save(model, liana__test_path("back.h5")), &context->error);
            if (!has_lamb) check_file(liana__test_path("back.h5"), &list);
        }
        liana_model_destroy(model);
    }
}

/* ---- the learning rate ---- */

/* The one that is kept is the current one. */
static void test_the_rate_of_the_file_is_kept(void **state)
{
    (void)state;
    liana__text text = {0};
    liana__test_folder();
    variables list = begin_variables(7, true);
    list.items[1].value = 0.001;
    add_group(&list, 2);
    write_keras("own.keras", "{name: Adam, learning_rate: 0.25}", &list);
    liana_model *model = load("own.keras");
    liana__value_write_json(model->optimizer, 0, &text);
    assert_says(text.data, "\"learning_rate\": 0.001");
    liana_model_destroy(model);
    liana__text_free(&text);
}

/* ---- faults ---- */

typedef struct fault_row {
    const char *what;
    void (*spoil)(variables *list);
    const char *why, *expected;
} fault_row;

static void leave_out(variables *list)
{
    list->count--;
}

static void add_one(variables *list)
{
    add_slot(list, 5);
}

static void keep_scalars(variables *list)
{
    list->count = 2;
}

static void keep_none(variables *list)
{
    list->count = 0;
}

static void turn_shape(variables *list)
{
    list->items[3].shape[0] = 5;
    list->items[3].shape[1] = 4;
}

static void lose_rank(variables *list)
{
    list->items[10].rank = 1;
}

static void widen_bias(variables *list)
{
    list->items[13].shape[0] = 4;
}

static void make_float(variables *list)
{
    list->items[0].dtype = "float32";
}

static void make_list(variables *list)
{
    list->items[0].rank = 1;
    list->items[0].shape[0] = 2;
}

static void make_negative(variables *list)
{
    list->items[0].value = -3;
}

static void make_nan(variables *list)
{
    list->items[5].value = NAN;
}

static void make_infinite(variables *list)
{
    list->items[2].value = -INFINITY;
}

static void stop_rate(variables *list)
{
    list->items[1].value = -0.5;
}

static void test_a_bad_state_is_left_and_told(void **state)
{
    (void)state;
    static const fault_row rows[] = {
        {"one too few", leave_out, "it has 13 variables, expected 14 for Adam",
         "iteration, learning_rate, and momentum, velocity of 6 trained weights"},
        {"one too many", add_one, "it has 15 variables, expected 14", "of 6 trained weights"},
        {"no slots", keep_scalars, "it has 2 variables, expected 14", "momentum, velocity"},
        {"nothing", keep_none, "no variables", "own.keras"},
        {"another shape", turn_shape, "variable 3 (velocity of hidden/kernel) is [5, 4], expected [4, 5]", "own.keras"},
        {"another rank", lose_rank, "variable 10 (momentum of out/kernel) is [5], expected [5, 3]", "own.keras"},
        {"a longer vector", widen_bias, "variable 13 (velocity of out/bias) is [4], expected [3]", "own.keras"},
        {"an iteration of floats", make_float, "float32, expected int64", "own.keras"},
        {"two iterations", make_list, "variable 0 (iteration) is [2], expected []", "own.keras"},
        {"a negative iteration", make_negative, "its iteration is -3, expected a number of updates", "own.keras"},
        {"NaN", make_nan, "velocity of hidden/bias has NaN at element 0", "own.keras"},
        {"an infinity", make_infinite, "momentum of hidden/kernel has an infinity at element 0", "own.keras"},
        {"a negative rate", stop_rate, "its learning_rate is -0.5, expected a number above 0", "own.keras"},
    };
    liana__test_folder();
    for (size_t i = 0; i <= sizeof rows / sizeof *rows; i++) {
        const bool is_missing = i == sizeof rows / sizeof *rows;
        variables list = begin_variables(7, true);
        add_group(&list, 2);
        if (!is_missing) rows[i].spoil(&list);
        write_keras("own.keras", "{name: Adam, learning_rate: 0.25}", is_missing ? NULL : &list);
        liana_model *model = load("own.keras");
        update(model, NULL);
        assert_says(notes, "begins anew");
        assert_says(notes, is_missing ? "no variables of the optimizer" : rows[i].why);
        if (!is_missing) assert_says(notes, rows[i].expected);
        assert_int_equal(updates_of(model), 1);
        liana_model_destroy(model);
    }
}

/* Keras has not begun to train: there is nothing to say. */
static void test_a_training_that_has_not_begun_says_nothing(void **state)
{
    (void)state;
    variables list = begin_variables(0, true);
    liana__test_folder();
    for (size_t i = 0; i < 2; i++) {
        if (i == 1) add_group(&list, 2);
        write_keras("own.keras", "{name: Adam, learning_rate: 0.25}", &list);
        liana_model *model = load("own.keras");
        update(model, NULL);
        assert_never_says(notes, "anew");
        assert_never_says(notes, "goes on");
        assert_int_equal(updates_of(model), 1);
        liana_model_destroy(model);
    }
}

/* A run begins with the optimizer's own first values, which for Adagrad are not 0. */
static void test_a_run_from_a_file_that_was_never_trained_begins_anew(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"{name: Adam, learning_rate: 0.25}",
                                             "{name: Adagrad, learning_rate: 0.25}",
                                             "{name: SGD, learning_rate: 0.25, momentum: 0.9}",
                                             "{name: RMSprop, learning_rate: 0.25}"};
    variables list = begin_variables(0, true);
    static const char rows[] = "a,b,c,d,label\n1,2,-1,0.5,0\n0,1,2,-1,1\n-1,0,1,3,2\n2,2,0,1,0\n";
    char config[900], from[700], out[700];
    liana__test_folder();
    int size = snprintf(config, sizeof config,
                        "data: {train: %s, columns: {x: [a, b, c, d], label: label}}\n"
                        "train: {epochs: 2, batch_size: 2}\n",
                        liana__test_write("rows.csv", rows, strlen(rows)));
    snprintf(config, sizeof config, "%s", liana__test_write("config.yaml", config, (size_t)size));
    for (size_t i = 0; i < sizeof optimizers / sizeof *optimizers; i++) {
        snprintf(from, sizeof from, "model.file=%s", write_keras("own.keras", optimizers[i], &list));
        snprintf(out, sizeof out, "%s-%zu", liana__test_path("run"), i);
        liana__test_result result = liana__test_command("train", config, from, "--out", out);
        assert_never_says(result.out, "goes on where");
        assert_never_says(result.err, "goes on where");
        assert_code(result, 0);
    }
}

/* ---- Keras 2 ---- */

/* A .h5 file of the sample's model in the form of Keras 2, with these variables. */
static const char *write_older(const char *optimizer, const variables *list)
{
    static char path[700];
    liana_model *model = compiled_with(optimizer);
    liana__hdf5 *file;
    liana__hdf5_new_weight weights[16] = {0};
    liana__hdf5_new_layer layers[8] = {0};
    liana__hdf5_variable made[MOST_VARIABLES];
    const liana__notes silent = {0};
    snprintf(path, sizeof path, "%s", liana__test_path("older.h5"));
    assert_ok(liana__model_write_any(model, path, LIANA__KERAS2, &silent, &context->error), &context->error);
    assert_ok(liana__hdf5_open_description(path, &file, &context->error), &context->error);
    const liana__hdf5_contents *contents = liana__hdf5_get_contents(file);
    for (size_t i = 0; i < model->num_layers; i++) {
        const liana__layer *layer = &model->layers[i];
        layers[i] = (liana__hdf5_new_layer){layer->name, &weights[layer->first_weight], layer->num_weights};
    }
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana_shape *shape = &model->weights[i].shape;
        weights[i] = (liana__hdf5_new_weight){model->weights[i].name,
                                              shape->rank,
                                              {shape->dims[0], shape->dims[1]},
                                              model->values[i]};
    }
    for (size_t i = 0; i < list->count; i++) {
        made[i] = (liana__hdf5_variable){list->items[i].name, data_of(&list->items[i]), make_values(&list->items[i])};
    }
    const liana__hdf5_description whole = {.model_config = contents->model_config,
                                           .training_config = contents->training_config,
                                           .keras_version = contents->keras_version,
                                           .optimizer = made,
                                           .num_optimizer = list->count};
    assert_ok(liana__hdf5_write(liana__test_path("own.h5"), layers, model->num_layers, &whole, &context->error),
              &context->error);
    for (size_t i = 0; i < list->count; i++) free((void *)(uintptr_t)made[i].values);
    liana__hdf5_close(file);
    liana_model_destroy(model);
    return path;
}

/* "Adam/m/0:0", ...: the order counts, not the names, but for the first. */
static void name_all(variables *list, const char *first, char names[MOST_VARIABLES][32])
{
    for (size_t i = 0; i < list->count; i++) {
        snprintf(names[i], sizeof names[i], "own/slot/%zu:0", i);
        list->items[i].name = i == 0 ? first : names[i];
    }
}

static void check_older(const char *optimizer, const variables *list, const order_row *row)
{
    liana__optimizer_state made;
    write_older(optimizer, list);
    liana_model *model = load("own.h5");
    const liana__optimizer_state *found = state_of(model, &made);
    assert_non_null(found);
    if (found->fault) fail_msg("%s: %s", optimizer, found->fault);
    check_places(found, row);
    liana_model_destroy(model);
}

/* In files that tf_keras 2.21 wrote; they have no learning_rate. */
static void test_slots_of_keras_2_are_in_its_order(void **state)
{
    (void)state;
    static const char adam[] = "{name: Adam, learning_rate: 0.25}", sgd[] = "{name: SGD, learning_rate: 0.25}";
    static const char rmsprop[] = "{name: RMSprop, learning_rate: 0.25, momentum: 0.5, centered: true}";
    char names[MOST_VARIABLES][32];
    liana__test_folder();
    variables list = begin_variables(7, false);
    add_group(&list, 2);
    name_all(&list, "iteration:0", names);
    check_older(adam, &list, &(order_row){.places = {{"m", 1, 2}, {"v", 2, 2}}});
    list = begin_variables(7, false);
    add_group(&list, 1);
    add_group(&list, 1);
    name_all(&list, "Adam/iter:0", names); /* tf_keras.optimizers.legacy */
    check_older(adam, &list, &(order_row){.places = {{"m", 1, 1}, {"v", 7, 1}}});
    add_group(&list, 1);
    name_all(&list, "training/RMSprop/iter:0", names);
    check_older(rmsprop, &list,
                &(order_row){.places = {{"velocity", 1, 1}, {"momentum", 7, 1}, {"average_gradient", 13, 1}}});
    list = begin_variables(7, false);
    add_group(&list, 1);
    name_all(&list, "iteration:0", names); /* a momentum that is not used */
    check_older(sgd, &list, &(order_row){.places = {{NULL, 0, 0}}});
}

static void test_files_for_keras_2_are_written_in_its_order(void **state)
{
    (void)state;
    static const char *const weights[] = {"hidden/kernel", "hidden/bias", "norm/gamma",
                                          "norm/beta",     "out/kernel",  "out/bias"};
    char names[MOST_VARIABLES][64], from[700], to[700];
    liana__test_folder();
    variables list = variables_of(&orders[0]), expected = begin_variables(7, false);
    snprintf(from, sizeof from, "%s", write_keras("own.keras", orders[0].optimizer, &list));
    snprintf(to, sizeof to, "%s", liana__test_path("older.h5"));
    assert_code(liana__test_command("convert-model", from, to, "--keras", "2"), 0);
    add_group(&expected, 2);
    expected.items[0].name = "iteration:0";
    for (size_t i = 1; i < expected.count; i++) {
        snprintf(names[i], sizeof names[i], "Adam/%s/%s:0", i % 2 ? "m" : "v", weights[(i - 1) / 2]);
        expected.items[i].name = names[i];
        expected.items[i].value++; /* `list` has the learning_rate before it */
    }
    check_file(to, &expected);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_state_of_a_file_of_keras_is_read),
        cmocka_unit_test(test_another_optimizer_begins_anew),
        cmocka_unit_test(test_other_trained_weights_begin_anew),
#ifdef LIANA_HAVE_HDF5
        cmocka_unit_test(test_slots_are_in_the_order_of_keras),
        cmocka_unit_test(test_the_rate_of_the_file_is_kept),
        cmocka_unit_test(test_a_bad_state_is_left_and_told),
        cmocka_unit_test(test_a_training_that_has_not_begun_says_nothing),
        cmocka_unit_test(test_a_run_from_a_file_that_was_never_trained_begins_anew),
        cmocka_unit_test(test_slots_of_keras_2_are_in_its_order),
        cmocka_unit_test(test_files_for_keras_2_are_written_in_its_order),
#endif
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
