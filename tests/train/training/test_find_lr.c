/* The learning-rate finder: its arithmetic, liana_find_learning_rate, and liana find-lr (find_lr.c). */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/image.h"
#include "train/training/rate_finder.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- arithmetic ---- */

static const liana__rate_range usual = {1e-6, 1.0, 61, 0.9, 4};

static void assert_close(double got, double expected, double tolerance)
{
    if (fabs(got - expected) <= tolerance * fabs(expected)) return;
    fail_msg("%.17g, expected %.17g", got, expected);
}

static void test_rates_and_smoothing(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__rate_curve curve;
    assert_ok(liana__rate_curve_create(&usual, &curve, &error), &error);
    static const double losses[] = {3, 2.5, 2.7, 1.5, 1.6, 1.4, 2};
    for (size_t i = 0; i < 7; i++) assert_true(liana__rate_curve_add(&curve, losses[i]));
    assert_int_equal(curve.count, 7);
    for (size_t i = 0; i < 7; i++) {
        /* Six decades in 60 steps. The average as a weighted mean: a loss that is k updates old has 0.9^k. */
        double sum = 0, weights = 0;
        for (size_t k = 0; k <= i; k++) {
            sum += pow(0.9, (double)(i - k)) * losses[k];
            weights += pow(0.9, (double)(i - k));
        }
        assert_close(curve.rates[i], pow(10, -6 + (double)i / 10), 1e-12);
        assert_close(curve.smoothed[i], sum / weights, 1e-12);
        assert_compare(curve.losses[i], ==, losses[i], i);
    }
    assert_close(liana__rate_curve_rate(&usual, 60), 1, 1e-12);
    liana__rate_curve_free(&curve);
}

/* A sweep without smoothing over a function of the logarithm of the rate. Returns whether it ran to the end. */
static bool run_sweep(liana__rate_range range, double (*loss)(double decade), liana__rate_curve *curve)
{
    liana__error error = {0};
    range.smoothing = 0;
    assert_ok(liana__rate_curve_create(&range, curve, &error), &error);
    bool goes_on = true;
    while (goes_on) {
        double rate = liana__rate_curve_rate(&range, (int64_t)curve->count);
        goes_on = liana__rate_curve_add(curve, loss(log10(rate)));
    }
    return (int64_t)curve->count == range.updates;
}

/* Falls fastest at 10^-3.5, and ends in a wall that begins at 10^-2. */
static double step_and_wall(double decade)
{
    return 1 + 1 / (1 + exp(4 * (decade + 3.5))) + (decade > -2 ? 10 * (decade + 2) * (decade + 2) : 0);
}

static double falling(double decade)
{
    return 2 - decade / 10 + (decade < -1.45 ? 0.5 : 0);
}

static double flat(double decade)
{
    (void)decade;
    return 2.3;
}

static double growing(double decade)
{
    return pow(10, decade + 6);
}

/* One batch that is easier than all others, long before the fall. */
static double with_an_easy_batch(double decade)
{
    return step_and_wall(decade) - (fabs(decade + 4.9) < 0.03 ? 0.6 : 0);
}

static double broken(double decade)
{
    return decade > -5.35 ? NAN : 1;
}

static void test_suggestions(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__rate_suggestion found;
    liana__rate_curve curve;
    assert_false(run_sweep(usual, step_and_wall, &curve));
    assert_true(curve.diverged);
    assert_ok(liana__rate_curve_suggest(&curve, &found, &error), &error);
    assert_close(found.steepest, pow(10, -3.5), 1e-9);
    assert_close(found.lowest, 0.01, 0.3);
    /* A tenth of the lowest is above the steepest. */
    assert_compare(found.rate, ==, fmin(found.steepest, found.lowest / 10));
    assert_says(found.reason, "steepest");
    assert_says(found.reason, "diverges");
    liana__rate_curve_free(&curve);
    run_sweep(usual, with_an_easy_batch, &curve);
    assert_ok(liana__rate_curve_suggest(&curve, &found, &error), &error);
    assert_compare(found.steepest, >, pow(10, -4));
    assert_compare(found.steepest, <, pow(10, -3));
    liana__rate_curve_free(&curve);
    /* One fall from 10^-1.5 to 10^-1.4 and a slow decline to the end, which is lowest: a tenth of it would be above. */
    assert_true(run_sweep(usual, falling, &curve));
    assert_false(curve.diverged);
    assert_ok(liana__rate_curve_suggest(&curve, &found, &error), &error);
    assert_close(found.lowest, 1, 1e-9);
    assert_compare(found.steepest, >, 0.03);
    assert_compare(found.steepest, <, 0.05);
    assert_compare(found.rate, ==, found.steepest);
    assert_says(found.reason, "had not diverged");
    liana__rate_curve_free(&curve);
}

static void test_no_suggestion(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__rate_suggestion found;
    liana__rate_curve curve;
    assert_true(run_sweep(usual, flat, &curve));
    assert_fails(liana__rate_curve_suggest(&curve, &found, &error), LIANA_OUT_OF_RANGE, &error, "did not fall",
                 "larger rate", NULL);
    assert_true(isnan(found.rate));
    liana__rate_curve_free(&curve);
    assert_false(run_sweep(usual, growing, &curve));
    /* 10^(i/10) is above 4 from update 7 on. */
    assert_int_equal(curve.count, 8);
    assert_fails(liana__rate_curve_suggest(&curve, &found, &error), LIANA_OUT_OF_RANGE, &error, "grew", "below 1e-06",
                 NULL);
    liana__rate_curve_free(&curve);
    assert_false(run_sweep(usual, broken, &curve));
    assert_int_equal(curve.count, 7);
    assert_true(curve.diverged);
    assert_fails(liana__rate_curve_suggest(&curve, &found, &error), LIANA_OUT_OF_RANGE, &error, "diverged after 7",
                 NULL);
    liana__rate_curve_free(&curve);
}

static void test_ranges(void **state)
{
    (void)state;
    static const struct {
        liana__rate_range range;
        const char *text;
    } bad[] = {
        {{0, 1, 100, 0.9, 4}, "0 to 1"},
        {{-1e-3, 1, 100, 0.9, 4}, "-0.001"},
        {{1e-3, 1e-3, 100, 0.9, 4}, "0.001 to 0.001"},
        {{1e-3, 1e9, 100, 0.9, 4}, "1e+09"},
        {{1e-3, NAN, 100, 0.9, 4}, "nan"},
        {{1e-3, 1, 9, 0.9, 4}, "updates is 9"},
        {{1e-3, 1, 2000000, 0.9, 4}, "2000000"},
        {{1e-3, 1, 100, 1, 4}, "smoothing is 1"},
        {{1e-3, 1, 100, NAN, 4}, "smoothing is nan"},
        {{1e-3, 1, 100, 0.9, 1}, "divergence is 1"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        liana__error error = {0};
        assert_fails(liana__rate_range_check(&bad[i].range, &error), LIANA_INVALID_ARGUMENT, &error, bad[i].text,
                     "expected", NULL);
    }
}

/* ---- in C ---- */

enum { COUNT = 96, BATCH = 32, UPDATES = 20 };

static liana_find_learning_rate_options options_for(const liana__tiny_fit *own)
{
    return (liana_find_learning_rate_options){.fit = {.training = own->training,
                                                      .batch_size = BATCH,
                                                      .microbatch = 8,
                                                      .optimizer = "{name: SGD, momentum: 0.9}",
                                                      .seed = 5,
                                                      .keep_order = true},
                                              .minimum_rate = 1e-4,
                                              .maximum_rate = 1,
                                              .updates = UPDATES};
}

/* The sweep's rates as factors of the rate 1, and the loss of each update from the running means of an epoch. */
typedef struct follower {
    double losses[UPDATES];
    double sum; /* of the running epoch */
} follower;

static liana_status set_rate(void *user, liana_fit_context *fit)
{
    (void)user;
    return liana_fit_set_rate_factor(fit, 1e-4 * pow(1e4, (double)liana_fit_info(fit).iteration / (UPDATES - 1)));
}

static liana_status note_loss(void *user, liana_fit_context *fit)
{
    follower *own = user;
    double mean;
    assert_true(liana_fit_metric(fit, "loss", &mean));
    int64_t step = liana_fit_info(fit).step;
    if (step == 1) own->sum = 0;
    own->losses[liana_fit_info(fit).iteration - 1] = mean * (double)step - own->sum;
    own->sum = mean * (double)step;
    return LIANA_OK;
}

/* A fit with the same rates has the same losses, also when the data come again. */
static void test_the_losses_are_those_of_a_fit(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(COUNT);
    liana_find_learning_rate_options options = options_for(&own);
    liana_learning_rate_sweep found;
    liana_model *model = liana__tiny_model(own.context), *fitted = liana__tiny_model(own.context);
    done(liana_find_learning_rate(model, &options, &found));
    assert_int_equal(found.num_updates, UPDATES);
    follower follows = {0};
    const liana_callback callback = {
        .size = sizeof callback, .name = "follower", .user = &follows, .step_begin = set_rate, .step_end = note_loss};
    liana_fit_options fit = options.fit;
    fit.optimizer = "{name: SGD, momentum: 0.9, learning_rate: 1.0}";
    fit.steps = UPDATES;
    fit.callbacks = (const liana_callback *const[]){&callback};
    fit.num_callbacks = 1;
    done(liana_fit(fitted, &fit));
    for (int i = 0; i < UPDATES; i++) assert_close(found.losses[i], follows.losses[i], 1e-5);
    liana_learning_rate_sweep_free(&found);
    liana_model_destroy(model);
    liana_model_destroy(fitted);
    liana__tiny_fit_close(&own);
}

/* A fit that goes on after a sweep is the fit that goes on without it, down to the optimizer's state. */
static void test_the_model_stays_as_it_is(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(COUNT);
    liana_find_learning_rate_options options = options_for(&own);
    liana_fit_options fit = options.fit;
    fit.optimizer = "Adam";
    options.fit.optimizer = "Adam"; /* the same program as the fit's */
    liana_model *swept = liana__tiny_model(own.context), *plain = liana__tiny_model(own.context);
    liana_learning_rate_sweep found;
    done(liana_find_learning_rate(swept, &options, &found));
    assert_true(liana__same_weights(swept, plain));
    assert_compare(found.suggested, >, 0);
    assert_compare(found.suggested, <=, found.lowest);
    liana_learning_rate_sweep_free(&found);
    done(liana_fit(swept, &fit));
    done(liana_find_learning_rate(swept, &options, &found));
    liana_learning_rate_sweep_free(&found);
    done(liana_fit(swept, &fit));
    done(liana_fit(plain, &fit));
    done(liana_fit(plain, &fit));
    assert_true(liana__same_weights(swept, plain));
    liana_model_destroy(swept);
    liana_model_destroy(plain);
    liana__tiny_fit_close(&own);
}

static liana_learning_rate_sweep sweep_with(int num_threads)
{
    liana_context *context;
    liana_dataset *data;
    liana_learning_rate_sweep found;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = num_threads}, &context), LIANA_OK);
    assert_int_equal(liana_dataset_open(context, liana__test_path("train-images"), NULL, &data), LIANA_OK);
    liana_model *model = liana__tiny_model(context);
    const liana_find_learning_rate_options options = {
        .fit = {.training = data, .batch_size = 20, .microbatch = 4, .seed = 3}, .updates = 40};
    assert_int_equal(liana_find_learning_rate(model, &options, &found), LIANA_OK);
    liana_model_destroy(model);
    liana_dataset_close(data);
    liana_context_destroy(context);
    return found;
}

/* Of 96 examples the last batch of a pass has 16. */
static void test_threads_change_nothing(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_run(COUNT);
    liana_learning_rate_sweep one = sweep_with(1), three = sweep_with(3);
    assert_int_equal(one.num_updates, three.num_updates);
    assert_compare(one.suggested, ==, three.suggested);
    assert_memory_equal(one.losses, three.losses, one.num_updates * sizeof *one.losses);
    assert_memory_equal(one.smoothed, three.smoothed, one.num_updates * sizeof *one.smoothed);
    liana_learning_rate_sweep_free(&one);
    liana_learning_rate_sweep_free(&three);
}

static bool stop_at_five(void *user, int64_t update, double rate, double loss)
{
    (void)user;
    assert_compare(rate, >, 0);
    assert_compare(loss, >, 0);
    return update < 5;
}

static void test_failures_in_c(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(COUNT);
    liana_model *model = liana__tiny_model(own.context), *plain = liana__tiny_model(own.context);
    liana_find_learning_rate_options options = options_for(&own);
    liana_learning_rate_sweep found;
    options.maximum_rate = 1e-5;
    refused(liana_find_learning_rate(model, &options, &found), LIANA_INVALID_ARGUMENT, "0.0001 to 1e-05");
    assert_int_equal(found.num_updates, 0);
    options = options_for(&own);
    options.fit.training = NULL;
    refused(liana_find_learning_rate(model, &options, &found), LIANA_INVALID_ARGUMENT, "no data");
    options = options_for(&own);
    options.fit.optimizer = "Adm";
    refused(liana_find_learning_rate(model, &options, &found), LIANA_INVALID_CONFIG, "Adam");
    options = options_for(&own);
    options.on_update = stop_at_five;
    refused(liana_find_learning_rate(model, &options, &found), LIANA_CANCELLED, "after 5 updates");
    /* A model that diverges at once: the curve is there. */
    options = options_for(&own);
    options.minimum_rate = 1e4;
    options.maximum_rate = 1e6;
    refused(liana_find_learning_rate(model, &options, &found), LIANA_OUT_OF_RANGE, "diverged");
    assert_compare(found.num_updates, >, 0);
    assert_compare(found.num_updates, <, UPDATES);
    assert_true(found.diverged && isnan(found.suggested));
    liana_learning_rate_sweep_free(&found);
    assert_true(liana__same_weights(model, plain));
    liana_model_destroy(model);
    liana_model_destroy(plain);
    liana__tiny_fit_close(&own);
}

/* ---- docs/guides/experiments.md ---- */

static void check(liana_status status)
{
    assert_int_equal(status, LIANA_OK);
}

static void find_and_print(liana_model *model, const liana_dataset *data)
{
    liana_learning_rate_sweep sweep;
    liana_find_learning_rate_options options = {.fit = {.training = data, .batch_size = 16, .optimizer = "Adam"}};
    check(liana_find_learning_rate(model, &options, &sweep));
    printf("%g: %s\n", sweep.suggested, sweep.reason);
    liana_learning_rate_sweep_free(&sweep);
}

static void test_the_document(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(COUNT);
    liana_model *model = liana__tiny_model(own.context);
    find_and_print(model, own.training);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

/* ---- the command ---- */

static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
}

/* The names and sizes of all files of a run, and the bytes of its history. */
static void describe_run(char *text, size_t size)
{
    liana__error error = {0};
    liana__arena arena = {0};
    liana__paths files;
    size_t length = 0;
    static const char *const patterns[] = {"run/*", "run/*/*", "run/*/*/*"};
    for (size_t i = 0; i < 3; i++) {
        assert_ok(liana__file_match(liana__test_path(patterns[i]), &arena, &files, &error), &error);
        for (size_t k = 0; k < files.count; k++) {
            liana__mapping mapping = {0};
            if (!liana__folder_exists(files.items[k]))
                assert_ok(liana__file_map(files.items[k], &mapping, &error), &error);
            unsigned sum = 0;
            for (size_t b = 0; b < mapping.size; b++) sum = sum * 31 + mapping.data[b];
            length += (size_t)snprintf(text + length, size - length, "%s %zu %u\n", files.items[k], mapping.size, sum);
            liana__file_unmap(&mapping);
        }
    }
    assert_compare(length, <, size);
    liana__arena_free(&arena);
}

static void test_the_command(void **state)
{
    (void)state;
    static char before[8192], after[8192];
    char config[256];
    liana__test_folder();
    copy_text(config, sizeof config, liana__test_tiny_run(COUNT));
    assert_code(liana__test_command("train", config, "train.epochs=1"), 0);
    describe_run(before, sizeof before);
    liana__test_result got = liana__test_command("find-lr", config, "--updates", "40", "--min-rate", "1e-5");
    assert_int_equal(got.code, 0);
    assert_says(got.out, "suggested learning rate: ");
    assert_says(got.out, "config.find-lr.png\n");
    assert_says(got.out, "config.find-lr.csv\n");
    liana__test_free_result(&got);
    describe_run(after, sizeof after);
    assert_string_equal(before, after);
    liana__error error = {0};
    char *text;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("config.find-lr.png"), 1 << 24, &text, &size, &error), &error);
    liana__image image = {0};
    assert_ok(liana__image_decode(text, size, NULL, &image, &error), &error);
    assert_compare(image.width, >, 800);
    assert_compare(image.height, >, 500);
    liana__image_free(&image);
    free(text);
    assert_ok(liana__file_read(liana__test_path("config.find-lr.csv"), 1 << 24, &text, &size, &error), &error);
    assert_begins(text, "update,rate,loss,smoothed\r\n1,1.0e-05,");
    free(text);
}

static void test_json_and_svg(void **state)
{
    (void)state;
    char config[256], plot[256], numbers[256];
    liana__test_folder();
    copy_text(config, sizeof config, liana__test_tiny_run(COUNT));
    copy_text(plot, sizeof plot, liana__test_path("rates.svg"));
    copy_text(numbers, sizeof numbers, liana__test_path("rates.json"));
    liana__test_result got =
        liana__test_command("find-lr", config, "--updates=40", "--json", "--plot", plot, "--numbers", numbers);
    assert_int_equal(got.code, 0);
    const char *last = strstr(got.out, "{\"event\": \"learning_rate\"");
    assert_non_null(last);
    json_t *event = json_loads(last, 0, NULL), *file = json_load_file(numbers, 0, NULL);
    assert_non_null(event);
    assert_non_null(file);
    double suggested = json_number_value(json_object_get(event, "suggested"));
    assert_compare(suggested, >, 0);
    assert_compare(suggested, ==, json_number_value(json_object_get(file, "suggested")));
    size_t count = json_array_size(json_object_get(file, "updates"));
    assert_int_equal(count, json_integer_value(json_object_get(event, "updates")));
    json_decref(event);
    json_decref(file);
    liana__test_free_result(&got);
    liana__error error = {0};
    char *text;
    size_t size;
    assert_ok(liana__file_read(plot, 1 << 24, &text, &size, &error), &error);
    assert_says(text, "<svg");
    free(text);
    assert_false(liana__folder_exists(liana__test_path("run")));
    assert_false(liana__file_exists(liana__test_path("config.find-lr.png")));
}

static void test_refused(void **state)
{
    (void)state;
    char config[256];
    liana__test_folder();
    copy_text(config, sizeof config, liana__test_tiny_run(COUNT));
    assert_refused(liana__test_command("find-lr", config, "--min-rate", "1", "--max-rate", "0.1"), 2, "--min-rate is 1",
                   "--max-rate is 0.1");
    assert_refused(liana__test_command("find-lr", config, "--updates", "9"), 2, "updates", "10");
    assert_refused(liana__test_command("find-lr", config, "--min-rate", "0"), 2, "min-rate");
    assert_refused(liana__test_command("find-lr", config, "--smoothing", "1"), 2, "smoothing");
    assert_refused(liana__test_command("find-lr", config, "--plot", "rates.jpg"), 2, "rates.jpg", ".png or .svg");
    assert_refused(liana__test_command("find-lr", config, "--numbers", "rates.txt"), 2, "rates.txt", ".csv or .json");
    assert_refused(liana__test_command("find-lr", config, "train.optimiser=Adam"), 2, "optimizer");
    assert_refused(liana__test_command("find-lr", config, "data.train=null"), 2, "data.train");
    assert_refused(liana__test_command("find-lr", config, "--max-rat", "1"), 2, "max-rate");
    assert_false(liana__file_exists(liana__test_path("config.find-lr.csv")));
}

/* The picture shows why no rate is suggested. */
static void test_a_model_that_diverges_at_once(void **state)
{
    (void)state;
    char config[256];
    liana__test_folder();
    copy_text(config, sizeof config, liana__test_tiny_run(COUNT));
    liana__test_result got = liana__test_command("find-lr", config, "--min-rate=1e4", "--max-rate=1e6", "--updates=20",
                                                 "train.optimizer=SGD");
    assert_int_equal(got.code, 1);
    assert_says(got.err, "liana: the loss grew from the smallest rates on and diverged after");
    liana__test_free_result(&got);
    assert_true(liana__file_exists(liana__test_path("config.find-lr.png")));
    assert_true(liana__file_exists(liana__test_path("config.find-lr.csv")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_and_smoothing),
        cmocka_unit_test(test_suggestions),
        cmocka_unit_test(test_no_suggestion),
        cmocka_unit_test(test_ranges),
        cmocka_unit_test(test_the_losses_are_those_of_a_fit),
        cmocka_unit_test(test_the_model_stays_as_it_is),
        cmocka_unit_test(test_threads_change_nothing),
        cmocka_unit_test(test_failures_in_c),
        cmocka_unit_test(test_the_document),
        cmocka_unit_test(test_the_command),
        cmocka_unit_test(test_json_and_svg),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_a_model_that_diverges_at_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
