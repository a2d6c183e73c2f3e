/* Estimators whose model_dir and exports are in buckets: a training begun on one machine goes on on another, with the
 * bits of an estimator that works in a local folder. */
#include "harness/remote_server.h"
#include "harness/tiny_fit.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

enum { COUNT = 64, BATCH = 16, CLASSES = LIANA__TINY_CLASSES, SIZE = LIANA__TINY_SIZE };

typedef struct fixture {
    liana_context *context;
    liana_dataset *data;
} fixture;

static fixture begin(void)
{
    fixture own;
    liana__test_tiny_data("train", COUNT, 1);
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &own.context), LIANA_OK);
    done(liana_dataset_open(own.context, liana__test_path("train-images"), NULL, &own.data));
    return own;
}

static void end(fixture *own)
{
    liana_dataset_close(own->data);
    liana_context_destroy(own->context);
}

static liana_estimator_spec linear_fn(const liana_features *features, const liana_features *labels,
                                      const liana_estimator_mode *mode, void *params)
{
    (void)params;
    liana_tensor image = liana_feature(features, "image");
    liana_tensor x = liana_op_reshape(image, liana_shape_of(features->size, SIZE * SIZE));
    liana_tensor w = liana_graph_variable(features->graph, "w", LIANA_F32, liana_shape_of(SIZE * SIZE, CLASSES));
    liana_graph_initializer(w, "glorot_uniform");
    liana_tensor output = liana_op_softmax(liana_op_matmul(x, w, false, false));
    liana_estimator_spec spec = {.predictions = {{"probabilities", output}}};
    if (mode->kind == LIANA_MODE_PREDICT) return spec;
    spec.loss = liana_loss_of(output, liana_feature(labels, "label"), NULL);
    spec.optimizer.optimizer = "{name: Adam, learning_rate: 0.01}";
    return spec;
}

static liana_estimator *make(const fixture *fixed, const char *model_dir)
{
    const fixture own = *fixed;
    liana_estimator *estimator;
    done(liana_estimator_create(own.context,
                                &(liana_estimator_options){
                                    .model_fn = linear_fn,
                                    .name = "linear",
                                    .config = {.model_dir = model_dir, .batch_size = BATCH, .seed = 3},
                                },
                                &estimator));
    return estimator;
}

static void train(const fixture *fixed, liana_estimator *estimator, int64_t epochs)
{
    const fixture own = *fixed;
    done(liana_estimator_train(estimator, &(liana_train_spec){.input.dataset = own.data, .epochs = epochs}, NULL));
}

static void predict(const fixture *fixed, liana_estimator *estimator, float *found)
{
    const fixture own = *fixed;
    const liana_predict_spec spec = {.input.dataset = own.data,
                                     .predictions = {{"probabilities", found, (size_t)COUNT * CLASSES}}};
    done(liana_estimator_predict(estimator, &spec));
}

static void export_to(const fixture *fixed, liana_estimator *estimator, const char *folder)
{
    const fixture own = *fixed;
    done(liana_estimator_export(estimator, folder, &(liana_export_spec){.input.dataset = own.data, .batch_size = 4}));
}

static void test_another_machine_goes_on(void **state)
{
    (void)state;
    static const char *const urls[] = {"s3://bucket/one", "gs://bucket/two"};
    fixture own = begin();
    static float expected[COUNT * CLASSES], found[COUNT * CLASSES];
    liana_estimator *local = make(&own, liana__test_path("local"));
    train(&own, local, 3);
    predict(&own, local, expected);
    export_to(&own, local, liana__test_path("exported"));
    for (int i = 0; i < 2; i++) {
        char name[200], cache[512], served[100];
        snprintf(cache, sizeof cache, "%s/%d", liana__test_path("cache-of"), i);
        liana_estimator *first = make(&own, urls[i]);
        train(&own, first, 1);
        liana_estimator_destroy(first);
        snprintf(served, sizeof served, "served/%s", strrchr(urls[i], '/') + 1);
        snprintf(name, sizeof name, "%s/checkpoints/step-0000000004/state.json", served);
        assert_true(liana__file_exists(liana__test_path(name)));
        setenv("LIANA_CACHE", cache, 1);
        liana_estimator *second = make(&own, urls[i]);
        assert_int_equal(liana_estimator_global_step(second), 0);
        train(&own, second, 3);
        assert_int_equal(liana_estimator_global_step(second), 12);
        predict(&own, second, found);
        assert_memory_equal(found, expected, sizeof expected);
        liana_estimator_destroy(second);
        /* A third one only reads. */
        liana_estimator *third = make(&own, urls[i]);
        memset(found, 0, sizeof found);
        predict(&own, third, found);
        assert_memory_equal(found, expected, sizeof expected);
        assert_non_null(liana_estimator_variables(third));
        snprintf(name, sizeof name, "%s-export", urls[i]);
        export_to(&own, third, name);
        snprintf(name, sizeof name, "%s-export/graph.liana", served);
        assert_same_file(liana__test_path(name), liana__test_path("exported/graph.liana"));
        snprintf(name, sizeof name, "%s-export/variables.safetensors", served);
        assert_same_file(liana__test_path(name), liana__test_path("exported/variables.safetensors"));
        liana_estimator_destroy(third);
    }
    liana_estimator_destroy(local);
    end(&own);
}

static void test_what_cannot_be_written(void **state)
{
    (void)state;
    fixture own = begin();
    liana_estimator *estimator;
    liana_estimator_options options = {.model_fn = linear_fn, .name = "linear"};
    options.config.model_dir = "https://example.com/run";
    refused(liana_estimator_create(own.context, &options, &estimator), LIANA_INVALID_ARGUMENT,
            "linear: config.model_dir: results for 'https://example.com/run'");
    /* Two at a time would send to the same place. */
    liana_estimator *first = make(&own, "s3://bucket/one");
    options.config.model_dir = "s3://bucket/one";
    refused(liana_estimator_create(own.context, &options, &estimator), LIANA_IO_ERROR, "s3://bucket/one");
    refused(liana_estimator_evaluate(first, &(liana_eval_spec){.input.dataset = own.data}, NULL), LIANA_NOT_FOUND,
            "linear: there is no checkpoint in 's3://bucket/one'; train first");
    liana_estimator_destroy(first);
    first = make(&own, "s3://readonly/one");
    refused(liana_estimator_train(first, &(liana_train_spec){.input.dataset = own.data}, NULL), LIANA_IO_ERROR,
            "AccessDenied");
    liana_estimator_destroy(first);
    estimator = make(&own, liana__test_path("local"));
    train(&own, estimator, 1);
    const liana_export_spec spec = {.input.dataset = own.data};
    refused(liana_estimator_export(estimator, "gs://readonly/export", &spec), LIANA_IO_ERROR,
            "gs://readonly/export/variables.safetensors");
    liana_estimator_destroy(estimator);
    end(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, liana__test_server_set_up, liana__test_server_tear_down)
        TEST(test_another_machine_goes_on),
        TEST(test_what_cannot_be_written),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
