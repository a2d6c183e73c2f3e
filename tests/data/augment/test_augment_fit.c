/* Augmentation through the public interface: functions of a program's own, and their guarantees. */
#include "harness/command_run.h"

#include <liana/liana.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 60, EPOCHS = 2, SIDE = LIANA__TINY_SIZE };

/* The calls of a function of the test's own. */
typedef struct watched {
    atomic_int positions[EPOCHS * COUNT];
    atomic_int wrong;
} watched;

static liana_status add_haze(const liana_augment_call *call)
{
    watched *own = call->user;
    const liana_example_address *address = call->address;
    const liana_image_shape *shape = &call->shape;
    bool good = address->seed == 4 && address->epoch == address->position / COUNT && address->record < COUNT &&
                shape->height == SIDE && shape->width == SIDE && shape->channels == 1 &&
                liana_example_uniform(address, 5) == liana_example_uniform(address, 5) &&
                liana_example_uniform(address, 5) != liana_example_uniform(address, 6);
    if (!good) atomic_fetch_add(&own->wrong, 1);
    /* Later epochs are read ahead, though nobody will train on them. */
    if (address->position < EPOCHS * COUNT) atomic_fetch_add(&own->positions[address->position], 1);
    uint8_t haze = (uint8_t)(255 * liana_example_uniform(address, 0));
    for (int64_t i = 0; i < shape->height * shape->width; i++) {
        call->pixels[i] = (uint8_t)((call->pixels[i] + haze) / 2);
    }
    return LIANA_OK;
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
        const liana_augmentation_type haze = {LIANA_PART(AUGMENTATION, liana_augmentation_type, "haze", NULL),
                                              .user = &own, .apply = add_haze};
        assert_int_equal(liana_register(context, &haze.part), LIANA_OK);
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

static liana_status nothing(const liana_augment_call *call)
{
    (void)call;
    return LIANA_OK;
}

static liana_status register_nothing(liana_context *context, const char *name)
{
    const liana_augmentation_type type = {LIANA_PART(AUGMENTATION, liana_augmentation_type, name, NULL),
                                          .apply = nothing};
    return liana_register(context, &type.part);
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
    expect_message(context, register_nothing(context, NULL), "a augmentation is called ''", "expected a letter");
    expect_message(context, register_nothing(context, "2nd"), "a augmentation is called '2nd'", "expected a letter");
    for (int i = 0; i < 3; i++) {
        static const char *const taken[] = {"random_flip", "RandomFlip", "Random_flip"};
        expect_message(context, register_nothing(context, taken[i]), taken[i], "choose another name");
    }
    assert_int_equal(register_nothing(context, "mine"), LIANA_OK);
    expect_message(context, register_nothing(context, "mine"), "mine", "already");

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

/* ---- abilities that only liana's own had ---- */

/* Half a turn, as a mapping of points. */
static void turn_over(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const double half_turn[9] = {-1, 0, (double)call->out.width, 0, -1, (double)call->out.height, 0, 0, 1};
    memcpy(mapping->from_output.m, half_turn, sizeof half_turn);
    mapping->exact = mapping->inside = true;
}

typedef struct lift_options {
    liana_augment_common common;
    double by;
} lift_options;

static const liana_option lift_rows[] = {
    LIANA_OPTION_ROW(lift_options, by, FLOAT, .default_text = "10.0", .maximum = 100, .doc = "levels to add"),
    LIANA_AUGMENT_ROWS("1.0"),
};

static liana_status lift_check(liana_check *check)
{
    const lift_options *options = check->options;
    return options->by == 13 ? liana_option_refuse(check, "by", "13 brings bad luck") : LIANA_OK;
}

/* Images of an odd number of rows are refused. */
static liana_status lift_prepare(liana_augment_setup *setup)
{
    if (setup->in.height % 2 == 0) return LIANA_OK;
    return liana_option_refuse(setup->check, NULL, "found %lld rows, expected an even number",
                               (long long)setup->in.height);
}

static void lift(const liana_augment_call *call, liana_colour_change *change)
{
    const double by = ((const lift_options *)call->options)->by;
    *change = (liana_colour_change){1, 0, {by, by, by}};
}

static const liana_augmentation_type turn_type = {LIANA_PART(AUGMENTATION, liana_augmentation_type, "turn_over",
                                                             "Turns the image upside down."),
                                                  .mapping = turn_over};
static const liana_augmentation_type lift_type = {LIANA_PART(AUGMENTATION, liana_augmentation_type, "lift",
                                                             "Adds a number to all values.", .check = lift_check,
                                                             LIANA_PART_OPTIONS(lift_options, lift_rows)),
                                                  .prepare = lift_prepare, .colour = lift};

/* Two half turns are no turn, and 20 more is 40 less and 60 more where no value is cut off. */
static void test_own_mappings_and_colours(void **state)
{
    (void)state;
    enum { OUTPUTS = COUNT * LIANA__TINY_CLASSES };
    static float outputs[4][OUTPUTS];
    liana__test_folder();
    liana__test_tiny_data("train", COUNT, 8);
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    assert_int_equal(liana_register(context, &turn_type.part), LIANA_OK);
    assert_int_equal(liana_register(context, &lift_type.part), LIANA_OK);
    fit(context, NULL, outputs[0]);
    fit(context, "[turn_over, TurnOver, {lift: {by: 0.0}}]", outputs[1]);
    assert_memory_equal(outputs[1], outputs[0], sizeof outputs[0]);
    fit(context, "[turn_over]", outputs[2]);
    fit(context,
        "[{random_flip: {direction: horizontal, probability: 1}}, {random_flip: {direction: vertical, "
        "probability: 1}}]",
        outputs[3]);
    assert_memory_equal(outputs[3], outputs[2], sizeof outputs[0]);
    assert_memory_not_equal(outputs[2], outputs[0], sizeof outputs[0]);
    fit(context, "[lift]", outputs[1]);
    fit(context, "[{lift: {probability: 1, by: 10}}]", outputs[3]);
    assert_memory_equal(outputs[3], outputs[1], sizeof outputs[0]);
    assert_memory_not_equal(outputs[3], outputs[0], sizeof outputs[0]);
    liana_context_destroy(context);
}

static void expect_refused(liana_context *context, const char *augment, const char *message)
{
    liana_dataset *data;
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data), LIANA_OK);
    liana_model *model = build(context);
    liana_fit_options options = {.training = data, .augment = augment};
    assert_int_equal(liana_fit(model, &options), LIANA_INVALID_CONFIG);
    assert_says(liana_context_message(context), message);
    liana_model_destroy(model);
    liana_dataset_close(data);
}

static void test_own_augmentations_are_checked(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_data("train", COUNT, 8);
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    assert_int_equal(liana_register(context, &lift_type.part), LIANA_OK);
    expect_refused(context, "[{lift: {by: 13}}]", "augment[0].lift.by: 13 brings bad luck");
    expect_refused(context, "[{lift: {by: 101}}]", "lift.by: found the number 101");
    expect_refused(context, "[{lift: {buy: 1}}]", "unknown key 'buy'; did you mean 'by'");
    expect_refused(context, "[{random_crop: {size: [7, 7]}}, lift, {resize: {size: [8, 8]}}]",
                   "augment[1].lift: found 7 rows, expected an even number");
    liana_augmentation_type type = lift_type;
    type.part.name = "both";
    type.mapping = turn_over;
    expect_message(context, liana_register(context, &type.part), "both", "expected one");
    type.colour = NULL;
    expect_message(context, liana_register(context, &type.part), "both", "liana_augment_sampling");
    type.mapping = NULL;
    expect_message(context, liana_register(context, &type.part), "both", "expected one");
    type.colour = lift;
    type.part.options.count = 1;
    expect_message(context, liana_register(context, &type.part), "both", "LIANA_AUGMENT_ROWS");
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_own_functions_see_each_example_once),
        cmocka_unit_test(test_names_are_checked),
        cmocka_unit_test(test_own_mappings_and_colours),
        cmocka_unit_test(test_own_augmentations_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
