/* Warm starts: weights of another model by name, by a map, with exceptions; messages, and refusals. */
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "formats/hdf5.h"
#include "formats/yaml.h"
#include "train/checkpoint/warm_start.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FEATURES = 5, HIDDEN = 4 };

typedef struct own_state {
    liana_context *context;
    char folder[256]; /* of a saved model: trunk/one, trunk/two, head */
} own_state;
typedef liana_warm_start_options choice;

/* Two layers in a row below `trunk`, and a head. */
static liana_model *build(liana_context *context, const char *trunk, const char *head, int classes)
{
    liana_model *model;
    char one[64], two[64];
    snprintf(one, sizeof one, "%s/one", trunk);
    snprintf(two, sizeof two, "%s/two", trunk);
    assert_int_equal(liana_model_create(context, "m", &model), LIANA_OK);
    liana_input(model, .name = "x", .shape = LIANA_INTS(FEATURES));
    liana_dense(model, .name = one, .units = HIDDEN, .activation = "tanh");
    liana_dense(model, .name = two, .units = HIDDEN, .activation = "tanh");
    liana_dense(model, .name = head, .units = classes, .activation = "softmax");
    assert_int_equal(liana_model_status(model), LIANA_OK);
    return model;
}

/* Fills each weight with numbers that no other has: 1000 * its index + the index of the element + `base`. */
static void fill(liana_model *model, float base)
{
    for (size_t i = 0; liana_model_weight(model, i).name; i++) {
        float values[64];
        liana_array array;
        assert_int_equal(liana_model_get_weights(model, liana_model_weight(model, i).name, &array), LIANA_OK);
        int64_t count = liana_shape_size(&array.shape);
        assert_compare(count, <=, 64);
        for (int64_t k = 0; k < count; k++) values[k] = base + 1000 * (float)i + (float)k;
        array.data = values;
        assert_int_equal(liana_model_set_weights(model, &array, 1), LIANA_OK);
    }
}

/* Whether a weight has the numbers that fill gave to the weight `index` of a model. */
static bool has(liana_model *model, const char *name, size_t index, float base)
{
    liana_array array;
    assert_int_equal(liana_model_get_weights(model, name, &array), LIANA_OK);
    const float *values = array.data;
    for (int64_t k = 0; k < liana_shape_size(&array.shape); k++) {
        if (values[k] != base + 1000 * (float)index + (float)k) return false;
    }
    return true;
}

static own_state begin(void)
{
    own_state own = {0};
    liana__test_folder();
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    snprintf(own.folder, sizeof own.folder, "%s", liana__test_path("saved"));
    liana_model *model = build(own.context, "trunk", "head", 3);
    fill(model, 0.5f);
    done(liana_model_save(model, own.folder));
    liana_model_destroy(model);
    return own;
}

static void assert_text(const char *path, const char *expected)
{
    char *text;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 20, &text, &size, &error), &error);
    assert_int_equal(size, strlen(expected));
    assert_memory_equal(text, expected, size);
    free(text);
}

/* Starts from the folder. */
static liana_status start(const own_state *own, liana_model *model, choice options, liana_warm_report *report)
{
    options.from = own->folder;
    return liana_model_warm_start(model, &options, report);
}

static void test_patterns(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *name, *to, *expected; /* NULL: no match */
    } cases[] = {
        {"dense", "dense/kernel", "fc", "fc/kernel"},
        {"dense/kernel", "dense/kernel", "fc/w", "fc/w"},
        {"a", "a/b/kernel", "x/y", "x/y/b/kernel"},
        {"b", "a/b/kernel", "x", NULL},
        {"dens", "dense/kernel", "x", NULL},
        {"*", "a/b/kernel", "x/*", "x/a/b/kernel"},
        {"a/*/kernel", "a/b/c/kernel", "z/*/kernel", "z/b/c/kernel"},
        {"block_*_conv_*", "block_12_conv_3/kernel", "b*/c*", "b12/c3/kernel"},
        {"block_?", "block_7/bias", "last", "last/bias"},
        {"block_?", "block_17/bias", "last", NULL},
        {"*a*b", "aab", "*-*", "-a"},
        {"*aab", "aaaab", "*", "aa"},
        {"*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaac", "x", NULL},
        {"", "dense/kernel", "x", NULL},
        {"**", "ab", "*+*", "+ab"},
    };
    liana__arena arena = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__warm_stars stars;
        const char *rest;
        bool matched = liana__warm_matches(cases[i].pattern, cases[i].name, &stars, &rest);
        assert_int_equal(matched, cases[i].expected != NULL);
        if (!matched) continue;
        assert_string_equal(liana__warm_rename(cases[i].to, &stars, rest, &arena), cases[i].expected);
    }
    liana__arena_free(&arena);
}

static void test_by_name_and_map(void **state)
{
    (void)state;
    own_state own = begin();
    liana_warm_report report;
    liana_model *same = build(own.context, "trunk", "head", 3);
    fill(same, -7);
    done(start(&own, same, (choice){0}, &report));
    assert_compare(report.matched, ==, 6);
    assert_compare(report.skipped, ==, 0);
    assert_compare(report.unused, ==, 0);
    for (size_t i = 0; i < 6; i++) assert_true(has(same, liana_model_weight(same, i).name, i, 0.5f));
    liana_model_destroy(same);
    /* Other names, the two layers changed with each other, and a head of another size. */
    liana_model *other = build(own.context, "body", "top", 7);
    fill(other, -7);
    const char *listing = liana__test_path("listing.csv");
    const choice renamed = {.map = {{"body", "trunk"}, {"body/t*", "trunk/t*"}}, .skip = {"top"}, .listing = listing};
    done(start(&own, other, renamed, &report));
    assert_compare(report.matched, ==, 4);
    assert_compare(report.skipped, ==, 2);
    assert_compare(report.unused, ==, 2);
    assert_true(has(other, "body/one/kernel", 0, 0.5f) && has(other, "body/one/bias", 1, 0.5f));
    assert_true(has(other, "body/two/kernel", 2, 0.5f) && has(other, "body/two/bias", 3, 0.5f));
    assert_true(has(other, "top/kernel", 4, -7) && has(other, "top/bias", 5, -7));
    assert_text(listing, "what,weight,in_file,shape\n"
                         "matched,\"body/one/kernel\",\"trunk/one/kernel\",\"[5, 4]\"\n"
                         "matched,\"body/one/bias\",\"trunk/one/bias\",\"[4]\"\n"
                         "matched,\"body/two/kernel\",\"trunk/two/kernel\",\"[4, 4]\"\n"
                         "matched,\"body/two/bias\",\"trunk/two/bias\",\"[4]\"\n"
                         "skipped,\"top/kernel\",\"\",\"[4, 7]\"\n"
                         "skipped,\"top/bias\",\"\",\"[7]\"\n"
                         "unused,\"\",\"head/kernel\",\"[4, 3]\"\n"
                         "unused,\"\",\"head/bias\",\"[3]\"\n");
    /* One weight; skip counts more than map, and the last pattern more than the first. */
    fill(other, -7);
    const choice one = {.map = {{"body", "nowhere"}, {"body/one/bias", "trunk/two/bias"}},
                        .skip = {"top", "*/kernel", "body/two"}};
    done(start(&own, other, one, &report));
    assert_compare(report.matched, ==, 1);
    assert_true(has(other, "body/one/bias", 3, 0.5f));
    assert_true(has(other, "body/two/bias", 3, -7));
    liana_model_destroy(other);
    liana_context_destroy(own.context);
}

static void test_what_is_refused(void **state)
{
    (void)state;
    own_state own = begin();
    static const struct {
        choice options;
        liana_status status;
        const char *text;
    } cases[] = {
        {{0}, LIANA_INVALID_DATA, "4 of the 6 weights"},
        {{0}, LIANA_INVALID_DATA, "body/one/kernel (did you mean 'trunk/one/kernel'?), body/one/bias, "},
        {{.map = {{"body", "trunk"}}}, LIANA_INVALID_DATA, "head/kernel is [4, 3] in the file, [4, 7] in the model"},
        {{.map = {{"body", "trunk"}}}, LIANA_INVALID_DATA, "head/bias is [3] in the file, [7] in the model"},
        {{.map = {{"body", "trunk"}}}, LIANA_INVALID_DATA, "keep their initial values with skip"},
        {{.map = {{"body", "trnk"}}, .skip = {"head"}},
         LIANA_INVALID_DATA,
         "(as 'trnk/one/kernel'; did you mean 'trunk/one/kernel'?"},
        {{.map = {{"bodi/one", "trunk"}}}, LIANA_INVALID_CONFIG, "warm_start.map: 'bodi/one' matches no weight"},
        {{.map = {{"bodi/one", "trunk"}}}, LIANA_INVALID_CONFIG, "did you mean 'body/one'?"},
        {{.skip = {"heed"}}, LIANA_INVALID_CONFIG, "warm_start.skip: 'heed' matches no weight"},
        {{.skip = {"heed"}}, LIANA_INVALID_CONFIG, "did you mean 'head'?"},
        {{.skip = {"*"}}, LIANA_INVALID_CONFIG, "skip leaves no weight to read"},
        {{.map = {{"body", "trunk*"}}}, LIANA_INVALID_CONFIG, "'trunk*' has more '*' than its pattern 'body'"},
        {{.map = {{"*********", "x"}}}, LIANA_INVALID_CONFIG, "has more than 8 '*'"},
        {{.skip = {"*********"}}, LIANA_INVALID_CONFIG, "has more than 8 '*'"},
        {{.map = {{"body", NULL}}}, LIANA_INVALID_CONFIG, "expected the name in the file"},
        {{.map = {{"body", ""}}}, LIANA_INVALID_CONFIG, "expected the name in the file"},
        {{.map = {{"body", "nothing"}}, .skip = {"head"}}, LIANA_INVALID_DATA, "body/two/bias (as 'nothing/two/bias'"},
    };
    liana_model *model = build(own.context, "body", "head", 7);
    fill(model, -7);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        refused(start(&own, model, cases[i].options, NULL), cases[i].status, cases[i].text);
    }
    refused(liana_model_warm_start(model, &(choice){.skip = {"head"}}, NULL), LIANA_INVALID_CONFIG,
            "'from' is missing");
    refused(liana_model_warm_start(model, NULL, NULL), LIANA_INVALID_ARGUMENT, "'options' is NULL");
    snprintf(own.folder, sizeof own.folder, "%s", liana__test_path("nothing"));
    refused(start(&own, model, (choice){0}, NULL), LIANA_NOT_FOUND, "nothing");
    assert_int_equal(liana__folder_make(own.folder, NULL), LIANA_OK);
    refused(start(&own, model, (choice){0}, NULL), LIANA_NOT_FOUND, "there is no checkpoint in");
    snprintf(own.folder, sizeof own.folder, "%s", liana__test_path("text"));
    assert_int_equal(liana__file_replace(own.folder, "no weights", 10, NULL), LIANA_OK);
    refused(start(&own, model, (choice){0}, NULL), LIANA_INVALID_DATA, "text: expected weights");
    /* Nothing of it changed the model. */
    for (size_t i = 0; i < 6; i++) assert_true(has(model, liana_model_weight(model, i).name, i, -7));
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

/* Texts that a configuration may write, and C cannot. */
static void test_texts_that_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        {"{from: x, map: {body: 3}}", "'body': found the number 3, expected the name in the file"},
        {"{from: x, map: [body]}", "found a list of 1, expected {pattern of names"},
        {"{from: x, mapp: {body: trunk}}", "mapp"},
        {"{from: x, skip: {a: b}}", "skip"},
        {"", "found null, expected a mapping"},
        {"{from: [", "not valid YAML"},
        {"trunk", "trunk"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        liana__arena arena = {0};
        liana__error error = {0};
        liana__value *value = NULL;
        liana__warm_start warm;
        const liana__place place = {.file = NULL};
        const char *text = cases[i].text;
        liana_status status = liana__yaml_parse(text, strlen(text), "warm_start", &arena, &value, &error);
        if (status == LIANA_OK) {
            status = liana__fields_read(&liana__warm_start_fields, value, "", NULL, &arena, &warm, &error);
        }
        if (status == LIANA_OK) status = liana__warm_start_check(&warm, "warm_start", &place, &error);
        assert_fails(status, LIANA_INVALID_CONFIG, &error, cases[i].expected);
        liana__arena_free(&arena);
    }
}

static void test_values_that_are_not_finite(void **state)
{
    (void)state;
    own_state own = begin();
    liana_model *model = build(own.context, "trunk", "head", 3);
    fill(model, NAN);
    done(liana_model_save(model, own.folder));
    fill(model, -7);
    refused(start(&own, model, (choice){0}, NULL), LIANA_INVALID_DATA, "'trunk/one/kernel' has NaN at element 0");
    assert_true(has(model, "trunk/one/kernel", 0, -7));
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}

#ifdef LIANA_HAVE_HDF5
/* Keras's names end in ":0", and differ between its versions: the weights of a layer count by their order, unless the
 * map names them. */
static void test_hdf5(void **state)
{
    (void)state;
    own_state own = begin();
    liana__error error = {0};
    float values[FEATURES * HIDDEN], bias[HIDDEN];
    for (int i = 0; i < FEATURES * HIDDEN; i++) values[i] = 0.5f + (float)i;
    for (int i = 0; i < HIDDEN; i++) bias[i] = 1000.5f + (float)i;
    const liana__hdf5_new_weight first[] = {{"fc1/fc1_W:0", 2, {FEATURES, HIDDEN}, values},
                                            {"fc1/fc1_b:0", 1, {HIDDEN}, bias}};
    const liana__hdf5_new_weight second[] = {{"fc2/kernel:0", 2, {HIDDEN, HIDDEN}, values},
                                             {"fc2/bias:0", 1, {HIDDEN}, bias}};
    const liana__hdf5_new_layer layers[] = {{"fc1", first, 2}, {"fc2", second, 2}};
    snprintf(own.folder, sizeof own.folder, "%s", liana__test_path("weights.h5"));
    assert_ok(liana__hdf5_write(own.folder, layers, 2, NULL, &error), &error);
    liana_warm_report report;
    liana_model *model = build(own.context, "trunk", "head", 3);
    fill(model, -7);
    const choice layers_and_one = {.map = {{"trunk/one", "fc1"}, {"trunk/two/bias", "fc2/bias"}},
                                   .skip = {"head", "trunk/two/kernel"}};
    done(start(&own, model, layers_and_one, &report));
    assert_compare(report.matched, ==, 3);
    assert_compare(report.skipped, ==, 3);
    assert_compare(report.unused, ==, 1);
    assert_true(has(model, "trunk/one/kernel", 0, 0.5f) && has(model, "trunk/one/bias", 1, 0.5f));
    assert_true(has(model, "trunk/two/bias", 1, 0.5f) && has(model, "trunk/two/kernel", 2, -7));
    const choice one = {.map = {{"trunk/two/bias", "fc1/fc1_b"}}, .skip = {"head", "trunk/one", "trunk/two/kernel"}};
    done(start(&own, model, one, &report));
    assert_compare(report.matched, ==, 1);
    assert_compare(report.unused, ==, 3);
    const choice twice = {.map = {{"trunk/one", "fc1"}, {"trunk/two", "fc1"}}, .skip = {"head"}};
    refused(start(&own, model, twice, NULL), LIANA_INVALID_DATA,
            "trunk/two/kernel is [5, 4] in the file, [4, 4] in the model");
    liana_model_destroy(model);
    liana_context_destroy(own.context);
}
#endif

/* ---- runs ---- */

static liana_model *with_checkpoint(liana_context *context, const choice *options)
{
    liana_model *model = liana__tiny_model(context);
    liana__tiny_done(context, liana_model_warm_start(model, options, NULL), __FILE__, __LINE__);
    return model;
}

static void test_from_runs(void **state)
{
    (void)state;
    own_state own = {0};
    liana__test_folder();
    char config[256], first[256], best[300], text[400];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(64));
    snprintf(first, sizeof first, "%s", liana__test_path("first"));
    /* The steps of the second epoch are far too long: the best checkpoint is that of the first. */
    assert_code(liana__test_command("train", config, "--out", first, "checkpoint.best=val_loss", "train.epochs=2",
                                    "train.optimizer={name: SGD, learning_rate: {name: PiecewiseConstantDecay, "
                                    "boundaries: [1], values: [0.01, 10]}}"),
                0);
    assert_int_equal(liana_context_create(NULL, &own.context), LIANA_OK);
    const char *newest = liana__test_newest_checkpoint("first");
    liana_model *of_newest = with_checkpoint(own.context, &(choice){.from = newest}), *loaded, *of_run;
    done(liana_model_load(own.context, first, &loaded));
    assert_true(liana__same_weights(of_newest, loaded));
    of_run = with_checkpoint(own.context, &(choice){.from = first});
    assert_false(liana__same_weights(of_run, of_newest));
    snprintf(best, sizeof best, "%s/checkpoints/step-0000000002", first);
    liana_model *of_best = with_checkpoint(own.context, &(choice){.from = best});
    assert_true(liana__same_weights(of_run, of_best));
    /* A run that begins there: updates so small that they change nothing. */
    snprintf(text, sizeof text, "model.warm_start={from: \"%s\", skip: dense}", first);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("second"), text, "train.epochs=1",
                                    "train.optimizer={name: SGD, learning_rate: 1.0e-30}"),
                0);
    const choice all_but = {.from = liana__test_path("second"), .skip = {"dense", "*/moving_*"}};
    liana_model *second = with_checkpoint(own.context, &all_but);
    liana_array mine, theirs;
    done(liana_model_get_weights(second, "conv2d/kernel", &mine));
    done(liana_model_get_weights(of_best, "conv2d/kernel", &theirs));
    assert_memory_equal(mine.data, theirs.data, 9 * 8 * sizeof(float));
    assert_true(liana__file_exists(liana__test_path("second/warm_start.csv")));
    liana_model_destroy(second);
    liana_model_destroy(of_best);
    liana_model_destroy(of_run);
    liana_model_destroy(of_newest);
    liana_model_destroy(loaded);
    liana_context_destroy(own.context);
}

/* A resumed run goes on from its checkpoint: the file of its first weights may be gone, and its end is the same. */
static void test_resumed_run(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256], text[400], moved[256];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(64));
    snprintf(moved, sizeof moved, "%s", liana__test_path("moved"));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("first"), "train.epochs=1"), 0);
    snprintf(text, sizeof text, "model.warm_start={from: \"%s\", skip: dense}", liana__test_path("first"));
    assert_code(liana__test_command("train", config, "--out", liana__test_path("whole"), text, "train.epochs=2"), 0);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("parts"), text, "train.epochs=1"), 0);
    assert_int_equal(rename(liana__test_path("first"), moved), 0);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("parts"), text, "train.epochs=2",
                                    "--resume"),
                0);
    char whole[300], parts[300];
    snprintf(whole, sizeof whole, "%s/variables.safetensors", liana__test_newest_checkpoint("whole"));
    snprintf(parts, sizeof parts, "%s/variables.safetensors", liana__test_newest_checkpoint("parts"));
    assert_same_file(whole, parts);
    assert_same_file(liana__test_path("whole/warm_start.csv"), liana__test_path("parts/warm_start.csv"));
}

static void test_bad_configurations(void **state)
{
    (void)state;
    liana__test_folder();
    char config[256], out[256], first[256], text[400];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(32));
    snprintf(out, sizeof out, "%s", liana__test_path("out"));
    snprintf(first, sizeof first, "%s", liana__test_path("first"));
    assert_code(liana__test_command("train", config, "--out", first, "train.epochs=1"), 0);
    assert_refused(liana__test_command("train", config, "--out", out, "model.warm_start={skip: dense}"), 2,
                   "model.warm_start", "'skip' needs 'from'");
    assert_refused(liana__test_command("train", config, "--out", out, "model.warm_start={form: x}"), 2, "form",
                   "did you mean 'from'?");
    assert_refused(liana__test_command("train", config, "--out", out, "warm_start={from: x}"), 2, "warm_start");
    snprintf(text, sizeof text, "model.warm_start={from: \"%s\", skip: dens}", first);
    assert_refused(liana__test_command("train", config, "--out", out, text), 2, "model.warm_start.skip",
                   "'dens' matches no weight", "did you mean 'dense'?");
    snprintf(text, sizeof text, "model.warm_start={from: \"%s\", map: {conv2d: cnv}}", first);
    assert_refused(liana__test_command("train", config, "--out", out, text), 1,
                   "conv2d/kernel (as 'cnv/kernel'; did you mean", "skip");
    assert_false(liana__folder_exists(out));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),
        cmocka_unit_test(test_by_name_and_map),
        cmocka_unit_test(test_what_is_refused),
        cmocka_unit_test(test_texts_that_are_refused),
        cmocka_unit_test(test_values_that_are_not_finite),
#ifdef LIANA_HAVE_HDF5
        cmocka_unit_test(test_hdf5),
#endif
        cmocka_unit_test(test_from_runs),
        cmocka_unit_test(test_resumed_run),
        cmocka_unit_test(test_bad_configurations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
