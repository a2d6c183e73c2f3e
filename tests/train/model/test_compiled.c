/* The compiled programs that a model keeps: a second fit goes on, and nothing is compiled twice. */
#include "harness/command_run.h"

#include "base/file.h"
#include "train/model/compiled.h"

#include <dirent.h>
#include <liana/liana.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUM_TRAINING = 90, NUM_VALIDATION = 45, CLASSES = LIANA__TINY_CLASSES };

typedef struct fixture {
    liana_context *context;
    liana_dataset *training, *validation;
} fixture;

static char dump[600];

static fixture set_up(void)
{
    fixture own;
    liana__test_folder();
    liana__test_tiny_run(NUM_TRAINING);
    snprintf(dump, sizeof dump, "%s", liana__test_path("dump"));
    setenv("LIANA_DUMP", dump, 1);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    unsetenv("LIANA_DUMP");
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

/* Removes the dumped graphs and says how many there were: one or two files for each that was compiled. */
static int take_dumps(void)
{
    int count = 0;
    DIR *folder = opendir(dump);
    for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
        char path[1200];
        snprintf(path, sizeof path, "%s/%s", dump, entry->d_name);
        if (entry->d_name[0] != '.' && remove(path) == 0) count++;
    }
    if (folder) closedir(folder);
    return count;
}

static liana_model *make_model(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1));
    liana_conv2d(model, .filters = 6, .kernel_size = 3, .activation = "relu");
    liana_batch_normalization(model, .momentum = 0.9);
    liana_dropout(model, .rate = 0.25);
    liana_flatten(model);
    liana_dense(model, .units = CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

static void check_done(const fixture *own, liana_status status, int line)
{
    if (status != LIANA_OK) print_error("%s:%d: %s\n", __FILE__, line, liana_context_message(own->context));
    assert_int_equal(status, LIANA_OK);
}
#define done(status) check_done(&own, (status), __LINE__)

static bool same_weights(const liana_model *a, const liana_model *b)
{
    for (size_t i = 0; i < a->num_weights; i++) {
        if (memcmp(a->values[i], b->values[i], liana__byte_size(LIANA_F32, &a->weights[i].shape)) != 0) return false;
    }
    return true;
}

/* The rates of the epochs of a fit. */
typedef struct rates {
    double values[16];
    int64_t epochs[16];
    size_t count;
} rates;

static bool note_rate(void *user, const liana_epoch *epoch)
{
    rates *seen = user;
    seen->epochs[seen->count] = epoch->epoch;
    seen->values[seen->count++] = epoch->learning_rate;
    return true;
}

static liana_fit_options options_of(const fixture *own, const char *optimizer, int64_t epochs, rates *seen)
{
    return (liana_fit_options){.training = own->training,
                               .batch_size = 32,
                               .microbatch = 8,
                               .optimizer = optimizer,
                               .epochs = epochs,
                               .seed = 4,
                               .on_epoch = seen ? note_rate : NULL,
                               .user = seen};
}

static void fit(const fixture *own, liana_model *model, const char *optimizer, int64_t epochs, rates *seen)
{
    liana_fit_options options = options_of(own, optimizer, epochs, seen);
    check_done(own, liana_fit(model, &options), __LINE__);
}

/* Slots, the count of updates, the order of the data and dropout go on: two fits are one longer fit, to the bit. */
static void test_a_second_fit_goes_on(void **state)
{
    (void)state;
    static const char *const optimizers[] = {"Adam", "{name: SGD, learning_rate: 0.05, momentum: 0.9}"};
    fixture own = set_up();
    for (int i = 0; i < 2; i++) {
        liana_model *once = make_model(own.context), *twice = make_model(own.context);
        rates seen = {.count = 0};
        fit(&own, once, optimizers[i], 5, NULL);
        take_dumps();
        fit(&own, twice, optimizers[i], 2, &seen);
        assert_false(same_weights(once, twice));
        assert_compare(take_dumps(), >, 0);
        fit(&own, twice, optimizers[i], 3, &seen);
        assert_int_equal(take_dumps(), 0);
        assert_true(same_weights(once, twice));
        assert_int_equal(seen.count, 5);
        assert_int_equal(seen.epochs[2], 1); /* each fit counts its epochs from 1 */
        liana_model_destroy(once);
        liana_model_destroy(twice);
    }
    tear_down(&own);
}

/* A warm-up is not repeated, and a decay goes on over the rest. */
static void test_the_schedule_goes_on(void **state)
{
    (void)state;
    static const char optimizer[] =
        "{name: Adam, learning_rate: {name: CosineDecay, initial_learning_rate: 0.01, warmup_epochs: 1}}";
    fixture own = set_up();
    liana_model *model = make_model(own.context);
    rates seen = {.count = 0};
    fit(&own, model, optimizer, 3, &seen);
    fit(&own, model, optimizer, 3, &seen);
    assert_compare(seen.values[2], <, 0.2 * seen.values[1]); /* the first fit's decay ended */
    assert_compare(seen.values[3], >, seen.values[4]);
    assert_compare(seen.values[4], >, seen.values[5]);
    assert_compare(seen.values[3], <, 0.0075);
    assert_compare(seen.values[5], <, 1e-3);
    liana_model_destroy(model);
    tear_down(&own);
}

/* Another optimizer, or another model, begins anew: as a model that has only the weights. */
static void test_other_options_begin_anew(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *kept = make_model(own.context), *loaded;
    fit(&own, kept, "Adam", 2, NULL);
    done(liana_model_save(kept, liana__test_path("model")));
    done(liana_model_load(own.context, liana__test_path("model"), &loaded));
    fit(&own, kept, "{name: Adam, beta_1: 0.8}", 2, NULL);
    fit(&own, loaded, "{name: Adam, beta_1: 0.8}", 2, NULL);
    assert_true(same_weights(kept, loaded));
    done(liana_model_train_from(kept, kept->layers[kept->num_layers - 1].name));
    done(liana_model_train_from(loaded, loaded->layers[loaded->num_layers - 1].name));
    take_dumps();
    fit(&own, kept, "{name: Adam, beta_1: 0.8}", 1, NULL);
    assert_compare(take_dumps(), >, 0);
    fit(&own, loaded, "{name: Adam, beta_1: 0.8}", 1, NULL);
    assert_true(same_weights(kept, loaded));
    liana_model_destroy(kept);
    liana_model_destroy(loaded);
    tear_down(&own);
}

static void test_evaluation_compiles_once(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = make_model(own.context);
    liana_results first, second, third;
    float outputs[2][NUM_VALIDATION * CLASSES];
    done(liana_evaluate(model, own.validation, NULL, &first));
    assert_compare(take_dumps(), >, 0);
    done(liana_evaluate(model, own.validation, NULL, &second));
    done(liana_predict(model, own.validation, NULL, outputs[0]));
    done(liana_predict(model, own.validation, NULL, outputs[1]));
    assert_int_equal(take_dumps(), 0);
    assert_memory_equal(outputs[0], outputs[1], sizeof outputs[0]);
    assert_compare(first.loss, ==, second.loss);
    /* The weights that a fit leaves are those that are measured. */
    fit(&own, model, "Adam", 2, NULL);
    take_dumps();
    done(liana_evaluate(model, own.validation, NULL, &third));
    assert_int_equal(take_dumps(), 0);
    assert_compare(third.loss, <, first.loss);
    /* And those that are loaded. */
    liana_model *fresh = make_model(own.context);
    done(liana_model_save(fresh, liana__test_path("fresh")));
    done(liana_model_load_weights(model, liana__test_path("fresh/weights.safetensors"), false));
    done(liana_evaluate(model, own.validation, NULL, &second));
    assert_int_equal(take_dumps(), 0);
    liana_model_destroy(fresh);
    fresh = make_model(own.context);
    done(liana_evaluate(fresh, own.validation, NULL, &third));
    assert_compare(second.loss, ==, third.loss);
    liana_model_destroy(fresh);
    liana_model_destroy(model);
    tear_down(&own);
}

/* A fit that fails leaves the weights alone, and nothing to go on from. */
static void test_a_failed_fit_leaves_nothing(void **state)
{
    (void)state;
    fixture own = set_up();
    liana_model *model = make_model(own.context), *same = make_model(own.context);
    fit(&own, model, "{name: SGD, learning_rate: 0.01}", 1, NULL);
    fit(&own, same, "{name: SGD, learning_rate: 0.01}", 1, NULL);
    liana_fit_options diverging = options_of(&own, "{name: SGD, learning_rate: 1e30}", 2, NULL);
    assert_int_equal(liana_fit(model, &diverging), LIANA_OUT_OF_RANGE);
    assert_true(same_weights(model, same));
    liana_fit_options unknown = options_of(&own, "Adam", 1, NULL);
    unknown.strategy.name = "one_devise";
    assert_int_equal(liana_fit(model, &unknown), LIANA_INVALID_CONFIG);
    assert_says(liana_context_message(own.context), "'one_device'");
    unknown.strategy.name = "one_device";
    done(liana_fit(model, &unknown));
    liana_model_destroy(model);
    liana_model_destroy(same);
    tear_down(&own);
}

/* ---- the state ---- */

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_second_fit_goes_on),        cmocka_unit_test(test_the_schedule_goes_on),
        cmocka_unit_test(test_other_options_begin_anew),    cmocka_unit_test(test_evaluation_compiles_once),
        cmocka_unit_test(test_a_failed_fit_leaves_nothing),
    };
    return cmocka_run_group_tests_name("compiled models", tests, NULL, NULL);
}
