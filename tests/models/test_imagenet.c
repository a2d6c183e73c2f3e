/* ImageNet's classes against the hashes of Keras's file, decoded predictions, and the sizes of architectures against a
 * count from their weights' shapes and against papers. */
#include "harness/peers.h"

#include "models/imagenet.h"
#include "models/models.h"
#include "remote/digest.h"

#include <liana/liana.h>

#include <math.h>
#include <string.h>

static liana_context *context;

static int set_up(void **state)
{
    (void)state;
    return liana_context_create(&(liana_context_options){.num_threads = 1}, &context) == LIANA_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

/* ---- the classes ---- */

/* Keras's file of them, which its decode_predictions fetches. */
static const char *write_index(void)
{
    liana__text text = {0};
    for (size_t i = 0; i < LIANA_IMAGENET_CLASSES; i++) {
        const liana_imagenet_class own = liana_imagenet_class_at(i);
        assert_int_equal(own.index, i);
        liana__text_add(&text, "%s\"%zu\": [\"%s\", \"%s\"]", i ? ", " : "{", i, own.wordnet_id, own.name);
    }
    liana__text_add(&text, "}");
    const char *path = liana__test_write("imagenet_class_index.json", text.data, text.length);
    liana__text_free(&text);
    return path;
}

static void test_the_classes_are_those_of_keras(void **state)
{
    (void)state;
    liana__test_folder();
    const char *path = write_index();
    liana__digest_text digest;
    const liana_status status = liana__digest_file(path, LIANA__DIGEST_SHA256, &digest, NULL);
    if (status == LIANA_UNIMPLEMENTED) liana__test_skip("without libcrypto the hash of the classes is not known");
    assert_int_equal(status, LIANA_OK);
    assert_string_equal(digest.text, "a1e7a966a1f601d39e4b43e119b3e7dd4a2ad3ea08cf69847cbaf021013767bc");
    /* A machine may forbid MD5. */
    if (liana__digest_file(path, LIANA__DIGEST_MD5, &digest, NULL) == LIANA_OK) {
        assert_string_equal(digest.text, "c2c37ea517e94d9795004a39431a14cb");
    }
}

static void test_single_classes(void **state)
{
    (void)state;
    assert_string_equal(liana_imagenet_class_at(281).name, "tabby");
    assert_string_equal(liana_imagenet_class_at(281).wordnet_id, "n02123045");
    assert_string_equal(liana_imagenet_class_at(999).name, "toilet_tissue");
    assert_null(liana_imagenet_class_at(1000).name);
    assert_null(liana_imagenet_class_at(SIZE_MAX).wordnet_id);
}

/* ---- decoding ---- */

static void test_the_likeliest_come_first(void **state)
{
    (void)state;
    static float given[2 * LIANA_IMAGENET_CLASSES];
    liana_imagenet_class found[2][3];
    given[281] = 0.5f;
    given[0] = given[985] = 0.25f;
    float *second = given + LIANA_IMAGENET_CLASSES;
    for (int i = 0; i < LIANA_IMAGENET_CLASSES; i++) second[i] = NAN;
    second[517] = -3;
    second[999] = -2;
    assert_ok(liana_decode_predictions(context, given, 2, LIANA_IMAGENET_CLASSES, 3, found[0]), &context->error);
    assert_string_equal(found[0][0].name, "tabby");
    assert_near(found[0][0].probability, 0.5, 0);
    assert_string_equal(found[0][1].name, "tench");
    assert_string_equal(found[0][2].name, "daisy");
    assert_int_equal(found[0][2].index, 985);
    assert_string_equal(found[1][0].name, "toilet_tissue");
    assert_string_equal(found[1][1].wordnet_id, "n03126707");
    assert_int_equal(found[1][2].index, 0);
    assert_true(isnan(found[1][2].probability));
}

static void test_all_classes_can_be_asked_for(void **state)
{
    (void)state;
    static float given[LIANA_IMAGENET_CLASSES];
    static liana_imagenet_class found[LIANA_IMAGENET_CLASSES];
    for (int i = 0; i < LIANA_IMAGENET_CLASSES; i++) given[i] = (float)(i * 7 % LIANA_IMAGENET_CLASSES);
    assert_ok(liana_decode_predictions(context, given, 1, 1000, LIANA_IMAGENET_CLASSES, found), &context->error);
    for (int i = 0; i < LIANA_IMAGENET_CLASSES; i++) {
        assert_near(found[i].probability, LIANA_IMAGENET_CLASSES - 1 - i, 0);
        assert_int_equal(found[i].index * 7 % LIANA_IMAGENET_CLASSES, LIANA_IMAGENET_CLASSES - 1 - i);
    }
    assert_ok(liana_decode_predictions(context, given, 0, 1000, 5, found), &context->error);
}

static void test_other_predictions_are_refused(void **state)
{
    (void)state;
    static const float given[LIANA_IMAGENET_CLASSES];
    liana_imagenet_class found[5];
    liana__error *error = &context->error;
    assert_fails(liana_decode_predictions(context, given, 1, 5, 5, found), LIANA_INVALID_ARGUMENT, error,
                 "predictions of 5 classes", "expected ImageNet's 1000", "include_top");
    assert_fails(liana_decode_predictions(context, given, -1, 1000, 5, found), LIANA_INVALID_ARGUMENT, error,
                 "a batch of -1");
    assert_fails(liana_decode_predictions(context, given, 1, 1000, 0, found), LIANA_OUT_OF_RANGE, error,
                 "found 0 classes", "1 to 1000");
    assert_fails(liana_decode_predictions(context, given, 1, 1000, 1001, found), LIANA_OUT_OF_RANGE, error,
                 "found 1001 classes");
}

/* ---- which models have its classifier ---- */

static bool has_classifier(bool include_top, int64_t classes)
{
    liana_model *model;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_mobilenet(model, .alpha = 0.25, .include_top = include_top, .classes = classes);
    if (!include_top) {
        liana_global_average_pooling2d(model);
        liana_dense(model, .units = classes, .activation = "softmax");
    }
    assert_ok(liana_model_status(model), &context->error);
    const bool found = liana__has_imagenet_classifier(model);
    liana_model_destroy(model);
    return found;
}

static void test_an_own_head_is_no_classifier_of_imagenet(void **state)
{
    (void)state;
    assert_true(has_classifier(true, 1000));
    assert_false(has_classifier(true, 999));
    assert_false(has_classifier(false, 1000));
}

/* ---- sizes ---- */

/* Each number of a kernel is used once for each position of the result. */
static double count_from_weights(const liana_model *model)
{
    double flops = 0;
    for (size_t i = 0; i < model->num_weights; i++) {
        const liana__weight *weight = &model->weights[i];
        if (!strstr(weight->short_name, "kernel")) continue;
        size_t node = 0;
        while (model->nodes[node].layer != weight->layer) node++;
        const liana_shape *result = &model->nodes[node].shape;
        const double positions = (double)(liana_shape_size(result) / result->dims[result->rank - 1]);
        flops += 2 * positions * (double)liana_shape_size(&weight->shape);
    }
    return flops;
}

static void test_operations_of_every_architecture(void **state)
{
    (void)state;
    liana_architecture each;
    size_t count = 0;
    for (; (each = liana_architecture_at(count)).name; count++) {
        liana_architecture_size size;
        liana_model *model;
        assert_ok(liana_architecture_measure(context, each.name, &size), &context->error);
        assert_ok(liana_model_create(context, NULL, &model), &context->error);
        const liana__architecture *own = liana__architecture_find(each.name, NULL);
        assert_ok(liana__architecture_add(model, LIANA_HERE, own, NULL, own->name), &model->error);
        if (size.flops != count_from_weights(model)) print_error("%s:\n", each.name);
        assert_near(size.flops, count_from_weights(model), 0);
        assert_int_equal(size.num_parameters, liana_model_info(model).num_parameters);
        assert_int_equal(size.num_trainable_parameters, liana_model_info(model).num_trainable_parameters);
        liana_shape input = liana_model_input(model, 0).shape;
        for (int i = 0; i < 3; i++) assert_int_equal(each.input_shape.dims[i], input.dims[i + 1]);
        liana_model_destroy(model);
    }
    assert_null(liana__architectures[count]);
    assert_compare(count, >=, 19);
    assert_null(liana_architecture_at(SIZE_MAX).name);
}

/* Multiply-adds in millions as the papers give them; ResNet50 as Keras builds it, with the stride in the first
 * convolution of a block (He et al. give 3.8e9). */
static void test_operations_as_in_papers(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        double million, tolerance;
    } rows[] = {{"MobileNet", 569, 1},         {"MobileNetV2", 300, 2},    {"ResNet50", 3800, 70},
                {"ResNet152", 11300, 70},      {"EfficientNetB0", 390, 8}, {"EfficientNetB4", 4200, 250},
                {"EfficientNetB7", 37000, 800}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        liana_architecture_size size;
        assert_ok(liana_architecture_measure(context, rows[i].name, &size), &context->error);
        assert_near(size.flops / 2e6, rows[i].million, rows[i].tolerance);
    }
}

static void test_operations_of_other_models(void **state)
{
    (void)state;
    liana_model *model;
    double flops;
    assert_ok(liana_model_create(context, NULL, &model), &context->error);
    liana_input(model, .shape = LIANA_INTS(5, 3));
    liana_layer sequence = liana_lstm(model, .units = 4);
    liana_dense(model, .units = 2);
    assert_ok(liana_model_count_flops(model, &flops), &context->error);
    /* Four gates, of 3 inputs and 4 states, in 5 steps. */
    assert_near(flops, 2 * (5 * 4 * 4 * (3 + 4) + 4 * 2), 0);
    /* Layers behind the output do not count. */
    liana_model_outputs(model, sequence);
    assert_fails(liana_model_count_flops(model, &flops), LIANA_INVALID_CONFIG, &context->error,
                 "does not lead to the model's output");
    assert_near(flops, 0, 0);
    liana_model_destroy(model);
    assert_fails(liana_architecture_measure(context, "ResNet5", &(liana_architecture_size){0}), LIANA_NOT_FOUND,
                 &context->error, "no architecture 'ResNet5'", "ResNet50");
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_the_classes_are_those_of_keras),   TEST(test_single_classes),
        TEST(test_the_likeliest_come_first),         TEST(test_all_classes_can_be_asked_for),
        TEST(test_other_predictions_are_refused),    TEST(test_an_own_head_is_no_classifier_of_imagenet),
        TEST(test_operations_of_every_architecture), TEST(test_operations_as_in_papers),
        TEST(test_operations_of_other_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
