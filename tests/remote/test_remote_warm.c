/* Warm starts from URLs: their findings are those of the same files on this machine, and damage is found there too. */
#include "harness/remote_server.h"
#include "harness/tiny_fit.h"

#include "base/file.h"
#include "samples/tf_checkpoints.h"

#include <stdlib.h>
#include <string.h>

/* A new model with the weights of `from`. */
static liana_model *start_from(liana_context *context, const char *from)
{
    const struct {
        liana_context *context;
    } own = {context};
    liana_warm_report report;
    liana_model *model = liana__tiny_model(context);
    done(liana_model_warm_start(model, &(liana_warm_start_options){.from = from}, &report));
    assert_compare(report.matched, >, 5);
    return model;
}

static void assert_same_start(liana_context *context, const char *url, const char *local)
{
    liana_model *there = start_from(context, url), *here = start_from(context, local);
    assert_true(liana__same_weights(there, here));
    liana_model_destroy(there);
    liana_model_destroy(here);
}

static void test_each_kind_of_place(void **state)
{
    (void)state;
    char config[256], run[256], local[700];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(64));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    /* The second epoch's steps are far too long, so the best checkpoint is not the newest. */
    static const char *const settings[] = {"checkpoint.best=val_loss", "train.epochs=2",
                                           ("train.optimizer={name: SGD, learning_rate: {name: PiecewiseConstantDecay, "
                                            "boundaries: [1], values: [0.01, 10]}}")};
    assert_code(liana__test_command("train", config, "--out", run, settings[0], settings[1], settings[2]), 0);
    assert_code(liana__test_command("train", config, "--out", "gs://bucket/run", settings[0], settings[1], settings[2]),
                0);
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    const struct {
        liana_context *context;
    } own = {context};
    /* A run, with its best checkpoint. */
    assert_same_start(context, "gs://bucket/run", run);
    snprintf(local, sizeof local, "%s/checkpoints/step-0000000002", run);
    assert_same_start(context, "gs://bucket/run", local);
    /* A checkpoint. */
    const char *newest = liana__path_name(liana__test_newest_checkpoint("run"));
    char url[300];
    snprintf(local, sizeof local, "%s/checkpoints/%s", run, newest);
    snprintf(url, sizeof url, "s3://bucket/run/checkpoints/%s", newest);
    assert_same_start(context, url, local);
    liana_model *best = start_from(context, run), *last = start_from(context, url);
    assert_false(liana__same_weights(best, last));
    liana_model_destroy(best);
    /* A saved model, and its file on a web server. */
    done(liana_model_save(last, liana__test_path("saved")));
    done(liana_model_save(last, "gs://bucket/saved"));
    liana_model_destroy(last);
    assert_same_start(context, "gs://bucket/saved", liana__test_path("saved"));
    liana__test_serve_file("weights.safetensors", liana__test_path("saved/weights.safetensors"));
    assert_same_start(context, liana__test_server_url("/web/weights.safetensors"), liana__test_path("saved"));
    liana_context_destroy(context);
}

/* Flips a bit in the middle of a file. */
static void damage(const char *path)
{
    char *data;
    size_t size;
    assert_ok(liana__file_read(path, 1 << 24, &data, &size, NULL), NULL);
    data[size / 2] ^= 4;
    assert_ok(liana__file_replace(path, data, size, NULL), NULL);
    free(data);
}

static void refuse(liana_context *context, const char *from, liana_status expected, const char *text)
{
    const struct {
        liana_context *context;
    } own = {context};
    liana_model *model = liana__tiny_model(context), *untouched = liana__tiny_model(context);
    refused(liana_model_warm_start(model, &(liana_warm_start_options){.from = from}, NULL), expected, text);
    assert_true(liana__same_weights(model, untouched));
    liana_model_destroy(model);
    liana_model_destroy(untouched);
}

static void test_damage_is_found(void **state)
{
    (void)state;
    char config[256], run[256], path[700], url[300], served[700];
    snprintf(config, sizeof config, "%s", liana__test_tiny_run(64));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    assert_code(liana__test_command("train", config, "--out", run, "train.epochs=1"), 0);
    const char *newest = liana__path_name(liana__test_newest_checkpoint("run"));
    snprintf(path, sizeof path, "%s/checkpoints/%s/variables.safetensors", run, newest);
    damage(path);
    static const char *const names[] = {"variables.safetensors", "state.json"};
    for (size_t i = 0; i < 2; i++) {
        snprintf(url, sizeof url, "point/%s", names[i]);
        snprintf(served, sizeof served, "%s/checkpoints/%s/%s", run, newest, names[i]);
        liana__test_serve_file(url, served);
    }
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    static const char found[] = "the checkpoint is damaged: its checksum is";
    refuse(context, "gs://bucket/point", LIANA_DATA_LOSS, found);
    refuse(context, run, LIANA_DATA_LOSS, found);
    refuse(context, path, LIANA_DATA_LOSS, found);
    *strrchr(path, '/') = 0;
    refuse(context, path, LIANA_DATA_LOSS, found);
    refuse(context, "gs://bucket/nothing", LIANA_NOT_FOUND, "gs://bucket/nothing");
    refuse(context, liana__test_server_url("/web/nothing.safetensors"), LIANA_NOT_FOUND, "nothing.safetensors");
    liana_context_destroy(context);
}

/* A checkpoint of TensorFlow: its index, its name, and a SavedModel; with the files of data. */
static void test_checkpoints_of_tensorflow(void **state)
{
    (void)state;
    char index[256], data[256];
    snprintf(index, sizeof index, "%s", liana__test_write("here.index", flat_index, sizeof flat_index));
    snprintf(data, sizeof data, "%s", liana__test_write("here.data", flat_data, sizeof flat_data));
    static const char *const places[] = {"ckpt", "saved/variables/variables"};
    char name[128];
    for (size_t i = 0; i < 2; i++) {
        snprintf(name, sizeof name, "%s.index", places[i]);
        liana__test_serve_file(name, index);
        snprintf(name, sizeof name, "%s.data-00000-of-00001", places[i]);
        liana__test_serve_file(name, data);
    }
    liana__test_serve_file("alone.index", index);
    liana_context *context;
    assert_int_equal(liana_context_create(NULL, &context), LIANA_OK);
    const struct {
        liana_context *context;
    } own = {context};
    char web[256];
    snprintf(web, sizeof web, "%s", liana__test_server_url("/web/ckpt.index"));
    const char *const names[] = {"gs://bucket/ckpt.index", "gs://bucket/ckpt", "s3://bucket/saved", web};
    liana_warm_start_options options = {.map = {{"*/kernel", "Net/*/weights"}, {"*/bias", "Net/*/biases"}}};
    liana_model *model;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        liana_array array;
        done(liana_model_create(context, NULL, &model));
        liana_input(model, .shape = LIANA_INTS(4));
        liana_dense(model, .units = 3, .name = "fc");
        options.from = names[i];
        done(liana_model_warm_start(model, &options, NULL));
        done(liana_model_get_weights(model, "fc/kernel", &array));
        for (int k = 0; k < 12; k++) assert_compare(((const float *)array.data)[k], ==, 1 + (float)k / 8, k);
        if (i == 0) {
            options.from = "gs://bucket/alone";
            refused(liana_model_warm_start(model, &options, NULL), LIANA_NOT_FOUND, "alone.data-00000-of-00001");
        }
        liana_model_destroy(model);
    }
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_each_kind_of_place, liana__test_server_set_up,
                                        liana__test_server_tear_down),
        cmocka_unit_test_setup_teardown(test_damage_is_found, liana__test_server_set_up, liana__test_server_tear_down),
        cmocka_unit_test_setup_teardown(test_checkpoints_of_tensorflow, liana__test_server_set_up,
                                        liana__test_server_tear_down),
    };
    return cmocka_run_group_tests_name("remote_warm", tests, NULL, NULL);
}
