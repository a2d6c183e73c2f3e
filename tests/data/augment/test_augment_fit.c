/* Augmentation through the public interface: functions of a program's own, and what they may rely on. */
#include "harness/command_run.h"

#include <liana/liana.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 60, EPOCHS = 2, SIDE = LIANA__TINY_SIZE };

/* What a function of the test's own has seen. */
typedef struct watched {
    atomic_int positions[EPOCHS * COUNT];
    atomic_int wrong;
} watched;

static void add_haze(void *user, const liana_example_address *address, liana_image *image)
{
    watched *own = user;
    bool good = address->seed == 4 && address->epoch == address->position / COUNT && address->record < COUNT &&
                image->height == SIDE && image->width == SIDE && image->channels == 1 &&
                liana_example_uniform(address, 5) == liana_example_uniform(address, 5) &&
                liana_example_uniform(address, 5) != liana_example_uniform(address, 6);
    if (!good) atomic_fetch_add(&own->wrong, 1);
    /* Later epochs are read ahead, though nobody will train on them. */
    if (address->position < EPOCHS * COUNT) atomic_fetch_add(&own->positions[address->position], 1);
    uint8_t haze = (uint8_t)(255 * liana_example_uniform(address, 0));
    for (int64_t i = 0; i < image->height * image->width; i++) {
        image->pixels[i] = (uint8_t)((image->pixels[i] + haze) / 2);
    }
}

static liana_model *build(liana_context *context)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, "small", &model), LIANA_OK);
    liana_input(model, .shape = LIANA_INTS(SIDE, SIDE, 1));
    liana_flatten(model);
    liana_dense(model, .units = LIANA__TINY_CLASSES, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

/* Fits a model and gives its predictions. */
static void fit(liana_context *context, const char *augment, float outputs[COUNT * LIANA__TINY_CLASSES])
{
    liana_dataset *data;
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data), LIANA_OK);
    liana_model *model = build(context);
    liana_fit_options options = {.training = data, .epochs = EPOCHS, .batch_size = 16, .seed = 4, .augment = augment};
    if (liana_fit(model, &options) != LIANA_OK) fail_msg("%s", liana_context_message(context));
    assert_int_equal(liana_predict(model, data, NULL, outputs), LIANA_OK);
    liana_model_destroy(model);
    liana_dataset_close(data);
}

static void test_own_functions_see_each_example_once(void **state)
{
    (void)state;
    enum { OUTPUTS = COUNT * LIANA__TINY_CLASSES };
    static float plain[OUTPUTS], expected[OUTPUTS], outputs[OUTPUTS];
    liana__test_folder();
    liana__test_tiny_data("train", COUNT, 8);
    for (int threads = 1; threads <= 3; threads++) {
        liana_context *context;
        static watched own;
        memset(&own, 0, sizeof own);
        assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = threads}, &context), LIANA_OK);
        assert_int_equal(liana_augmentation_register(context, "haze", add_haze, &own), LIANA_OK);
        if (threads == 1) fit(context, NULL, plain);
        fit(context, "[random_flip, haze, {haze: {probability: 0}}, {mixup: {alpha: 1}}]",
            threads == 1 ? expected : outputs);
        assert_int_equal(own.wrong, 0);
        for (int i = 0; i < EPOCHS * COUNT; i++) assert_int_equal(own.positions[i], 1);
        if (threads > 1) assert_memory_equal(outputs, expected, sizeof outputs);
        liana_context_destroy(context);
    }
    assert_memory_not_equal(plain, expected, sizeof plain);
}

static void nothing(void *user, const liana_example_address *address, liana_image *image)
{
    (void)user;
    (void)address;
    (void)image;
}

static void expect_message(liana_context *context, liana_status status, const char *first, const char *second)
{
    assert_int_equal(status, LIANA_INVALID_ARGUMENT);
    const char *message = liana_context_message(context);
    if (!strstr(message, first) || !strstr(message, second)) {
        fail_msg("'%s' does not say '%s' and '%s'", message, first, second);
    }
}

static void test_names_are_checked(void **state)
{
    (void)state;
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    expect_message(context, liana_augmentation_register(context, NULL, nothing, NULL), "'name' is NULL", "_register");
    expect_message(context, liana_augmentation_register(context, "", nothing, NULL), "needs a name", "100");
    expect_message(context, liana_augmentation_register(context, "random_flip", nothing, NULL), "random_flip",
                   "choose another name");
    expect_message(context, liana_augmentation_register(context, "RandomFlip", nothing, NULL), "RandomFlip",
                   "choose another name");
    expect_message(context, liana_augmentation_register(context, "mine", NULL, NULL), "function", "NULL");
    assert_int_equal(liana_augmentation_register(context, "mine", nothing, NULL), LIANA_OK);
    expect_message(context, liana_augmentation_register(context, "mine", nothing, NULL), "mine", "already");

    liana__test_folder();
    liana__test_tiny_data("train", COUNT, 8);
    liana_dataset *data;
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data), LIANA_OK);
    liana_model *model = build(context);
    liana_fit_options options = {.training = data, .augment = "[mime]"};
    assert_int_equal(liana_fit(model, &options), LIANA_INVALID_CONFIG);
    assert_says(liana_context_message(context), "augment[0]");
    assert_says(liana_context_message(context), "did you mean 'mine'?");
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_functions_see_each_example_once),
        cmocka_unit_test(test_names_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
