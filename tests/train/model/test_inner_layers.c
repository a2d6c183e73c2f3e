/* Inner layers of a model predict without a loss: of a loaded run, of a saved model, of an architecture, and of one
 * that has just predicted its own outputs. The layers behind the inner one are computed here in double. */
#include "harness/tiny_fit.h"

#include <math.h>
#include <stdlib.h>

enum { COUNT = 24, CLASSES = LIANA__TINY_CLASSES, FLAT = 200 };

/* Probabilities of the last Dense of values [COUNT, FLAT]. */
static void apply_dense(const liana__tiny_fit *given, liana_model *model, const float *flat, float *probabilities)
{
    const liana__tiny_fit own = *given;
    liana_array kernel, bias;
    done(liana_model_get_weights(model, "dense/kernel", &kernel));
    done(liana_model_get_weights(model, "dense/bias", &bias));
    assert_int_equal(kernel.shape.dims[0], FLAT);
    for (int i = 0; i < COUNT; i++) {
        double scores[CLASSES], sum = 0;
        for (int c = 0; c < CLASSES; c++) {
            scores[c] = (double)((const float *)bias.data)[c];
            for (int k = 0; k < FLAT; k++) {
                const float weight = ((const float *)kernel.data)[k * CLASSES + c];
                scores[c] += (double)flat[i * FLAT + k] * (double)weight;
            }
        }
        for (int c = 0; c < CLASSES; c++) sum += exp(scores[c]);
        for (int c = 0; c < CLASSES; c++) probabilities[i * CLASSES + c] = (float)(exp(scores[c]) / sum);
    }
}

/* The model's predictions, and then its inner layer `name`'s outputs. */
static void check_inner(const liana__tiny_fit *given, liana_model *model, const char *name)
{
    const liana__tiny_fit own = *given;
    static float last[COUNT * CLASSES], expected[COUNT * CLASSES], flat[COUNT * FLAT], both[COUNT * (FLAT + CLASSES)];
    const liana_layer inner = liana_model_layer(model, name), end = liana_model_layer(model, "dense");
    assert_int_not_equal(inner.id, 0);
    done(liana_predict(model, own.validation, NULL, last));
    liana_model_outputs(model, inner);
    done(liana_model_status(model));
    const liana_port port = liana_model_output(model, 0);
    assert_int_equal(liana_shape_size(&port.shape), -FLAT);
    done(liana_predict(model, own.validation, NULL, flat));
    apply_dense(&own, model, flat, expected);
    for (int i = 0; i < COUNT * CLASSES; i++) assert_near(last[i], expected[i], 1e-5);
    /* Both at once. */
    liana_model_outputs(model, inner, end);
    done(liana_predict(model, own.validation, NULL, both));
    for (int i = 0; i < COUNT; i++) {
        const float *row = both + (ptrdiff_t)i * (FLAT + CLASSES);
        assert_memory_equal(row, flat + (ptrdiff_t)i * FLAT, FLAT * sizeof *row);
        assert_memory_equal(row + FLAT, last + (ptrdiff_t)i * CLASSES, CLASSES * sizeof *row);
    }
    /* The model's own again. */
    liana_model_outputs(model, end);
    done(liana_predict(model, own.validation, NULL, both));
    assert_memory_equal(both, last, sizeof last);
}

static void test_of_a_run(void **state)
{
    (void)state;
    const liana__tiny_fit own = liana__tiny_fit_open(2 * COUNT);
    liana__test_result got = liana__test_command("train", liana__test_path("config.yaml"), "train.epochs=1", "--out",
                                                 liana__test_path("run"));
    assert_int_equal(got.code, 0);
    liana__test_free_result(&got);
    liana_model *model;
    done(liana_model_load(own.context, liana__test_path("run"), &model));
    check_inner(&own, model, "flatten");
    liana_model_destroy(model);
    liana__tiny_fit_close((liana__tiny_fit *)(uintptr_t)&own);
}

static void test_of_a_saved_model(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(2 * COUNT);
    liana_model *fitted = liana__tiny_model(own.context), *loaded;
    const liana_fit_options options = {.training = own.training,
                                       .loss = "sparse_categorical_crossentropy",
                                       .metrics = {"accuracy", "top_k_accuracy"},
                                       .batch_size = 8};
    done(liana_fit(fitted, &options));
    done(liana_model_save(fitted, liana__test_path("saved")));
    done(liana_model_load(own.context, liana__test_path("saved"), &loaded));
    check_inner(&own, loaded, "flatten");
    check_inner(&own, fitted, "flatten");
    /* Such a model predicts; it is neither trained nor saved. */
    static const char refusal[] = "layer 'dense' (Dense) does not lead to the model's output, 'flatten'";
    liana_model_outputs(fitted, liana_model_layer(fitted, "flatten"));
    refused(liana_fit(fitted, &options), LIANA_INVALID_CONFIG, refusal);
    refused(liana_model_save(fitted, liana__test_path("inner")), LIANA_INVALID_CONFIG, refusal);
    liana_model_outputs(fitted, liana_model_layer(fitted, "dense"));
    done(liana_fit(fitted, &options));
    liana_model_destroy(loaded);
    liana_model_destroy(fitted);
    liana__tiny_fit_close(&own);
}

/* Never fitted: neither the model as it is nor a layer that has no probabilities needs a loss. */
static void test_of_a_new_model(void **state)
{
    (void)state;
    liana__tiny_fit own = liana__tiny_fit_open(2 * COUNT);
    liana_model *model = liana__tiny_model(own.context);
    check_inner(&own, model, "flatten");
    static float map[COUNT * 10 * 10 * 8];
    liana_model_outputs(model, liana_model_layer(model, "conv2d"));
    done(liana_predict(model, own.validation, NULL, map));
    double sum = 0;
    for (size_t i = 0; i < sizeof map / sizeof *map; i++) {
        assert_compare(map[i], >=, 0); /* a relu */
        sum += (double)map[i];
    }
    assert_compare(sum, >, 0);
    liana_model_destroy(model);
    liana__tiny_fit_close(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_of_a_run),
        cmocka_unit_test(test_of_a_saved_model),
        cmocka_unit_test(test_of_a_new_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
