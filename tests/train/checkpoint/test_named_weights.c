/* Weights by name: the file of just this architecture, in the cache, whatever door names it. It is placed there by
 * hand, and the address of every server leads nowhere. */
#include "harness/command_run.h"
#include "harness/remote_server.h"

#include "base/file.h"
#include "base/text.h"
#include "formats/image.h"
#include "layers/model.h"

#include <liana/liana.h>
#include <liana/models.h>
#include <liana/train.h>
#include <stdlib.h>
#include <string.h>

static const char no_top[] = "cache/weights/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_96_no_top.h5";
static const char with_top[] = "cache/weights/mobilenet_2_5_128_tf.h5";

static liana_context *context;

static liana_model *new_model(void)
{
    liana_model *model;
    assert_int_equal(liana_model_create(context, NULL, &model), LIANA_OK);
    return model;
}

static void place(liana_model *model, const char *name)
{
    const char *path = liana__test_path(name);
    assert_int_equal(liana_model_status(model), LIANA_OK);
    if (liana_model_save(model, path) != LIANA_OK) fail_msg("%s", liana_context_message(context));
}

/* Its weights are not those of a new model. */
static void change_weights(liana_model *model)
{
    static float kernel[3 * 3 * 3 * 32];
    for (size_t i = 0; i < sizeof kernel / sizeof *kernel; i++) kernel[i] = (float)i / 1000;
    const char *name = liana_model_weight(model, 0).name;
    liana_array first;
    assert_int_equal(liana_model_get_weights(model, name, &first), LIANA_OK);
    liana_array changed = first;
    changed.name = name;
    changed.data = kernel;
    assert_int_equal(liana_model_set_weights(model, &changed, 1), LIANA_OK);
}

static int set_up(void **state)
{
    (void)state;
    liana__test_folder();
    setenv("LIANA_CACHE", liana__test_path("cache"), 1);
    setenv("LIANA_FETCH_BASE", "https://127.0.0.1:9", 1);
    if (liana_context_create(&(liana_context_options){.num_threads = 2}, &context) != LIANA_OK) return -1;
    assert_ok(liana__folder_make(liana__test_path("cache/weights"), NULL), NULL);
    liana_model *model = new_model();
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(96, 96, 3), .include_top = false);
    assert_int_equal(liana_model_status(model), LIANA_OK);
    change_weights(model);
    place(model, no_top);
    liana_model_destroy(model);
    model = new_model();
    liana_mobilenet(model, .alpha = 0.25, .input_shape = LIANA_INTS(128, 128, 3));
    change_weights(model);
    place(model, with_top);
    liana_model_destroy(model);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    liana_context_destroy(context);
    return 0;
}

static void check_first_weight(liana_model *model)
{
    liana_array first;
    assert_int_equal(liana_model_get_weights(model, liana_model_weight(model, 0).name, &first), LIANA_OK);
    for (int i = 0; i < 20; i++) assert_near(((const float *)first.data)[i], i / 1000.0, 1e-7, i);
}

static void check_refused(liana_model *model, const char *name, const char *what)
{
    assert_compare(liana_model_load_weights(model, name, false), !=, LIANA_OK);
    assert_says(liana_context_message(context), what);
    liana_model_destroy(model);
}

static void test_programs(void **state)
{
    (void)state;
    liana_model *model = new_model();
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(96, 96, 3), .include_top = false);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 4, .activation = "softmax");
    if (liana_model_load_weights(model, "imagenet", false) != LIANA_OK) fail_msg("%s", liana_context_message(context));
    check_first_weight(model);
    assert_int_equal(liana_model_preprocessing(model).scale, LIANA_SCALE_MINUS_ONE_ONE);
    liana_model_destroy(model);
    model = new_model();
    liana_mobilenet(model, .alpha = 0.25, .input_shape = LIANA_INTS(128, 128, 3));
    if (liana_model_load_weights(model, "ImageNet", false) != LIANA_OK) fail_msg("%s", liana_context_message(context));
    check_first_weight(model);
    liana_model_destroy(model);

    model = new_model();
    liana_input(model, .shape = LIANA_INTS(32, 32, 3));
    liana_flatten(model);
    liana_dense(model, .units = 4);
    check_refused(model, "imagenet", "begins with none of them");
    model = new_model();
    liana_mobilenet_v2(model, .alpha = 0.6, .input_shape = LIANA_INTS(96, 96, 3), .include_top = false);
    check_refused(model, "imagenet", "the nearest is 0.5");
    model = new_model();
    liana_mobilenet(model, .alpha = 0.25, .input_shape = LIANA_INTS(128, 128, 3), .classes = 7);
    check_refused(model, "imagenet", "1000 classes, not 7");
    model = new_model();
    liana_mobilenet(model, .alpha = 0.25, .input_shape = LIANA_INTS(128, 128, 3));
    check_refused(model, "noisy-student", "EfficientNetB0");
    /* Not there, and no server answers: how to place it by hand. */
    model = new_model();
    liana_mobilenet(model, .alpha = 0.5, .input_shape = LIANA_INTS(128, 128, 3));
    check_refused(model, "imagenet", "cache/weights/mobilenet_5_0_128_tf.h5");
    /* A file here has another name. */
    model = new_model();
    liana_mobilenet(model, .alpha = 0.25, .input_shape = LIANA_INTS(128, 128, 3));
    check_refused(model, "./imagenet", "./imagenet");
}

static void test_warm_start(void **state)
{
    (void)state;
    liana_model *model = new_model();
    liana_warm_report report;
    liana_mobilenet_v2(model, .alpha = 0.35, .input_shape = LIANA_INTS(96, 96, 3), .include_top = false);
    liana_global_average_pooling2d(model);
    liana_dense(model, .units = 4, .name = "head");
    const liana_warm_start_options options = {.from = "imagenet", .skip = {"head"}};
    if (liana_model_warm_start(model, &options, &report) != LIANA_OK) fail_msg("%s", liana_context_message(context));
    check_first_weight(model);
    liana_model_destroy(model);
}

/* ---- the command ---- */

static void write_images(void)
{
    static uint8_t pixels[96 * 96 * 3];
    for (int class = 0; class < 2; class ++) {
        for (int i = 0; i < 4; i++) {
            char name[60];
            liana__text png = {0};
            liana__error error = {0};
            snprintf(name, sizeof name, "images/%c", 'a' + class);
            assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
            memset(pixels, 40 + 100 * class + i, sizeof pixels);
            assert_ok(liana__png_encode(pixels, 96, 96, 3, &png, &error), &error);
            snprintf(name, sizeof name, "images/%c/%d.png", 'a' + class, i);
            liana__test_write(name, png.data, png.length);
            liana__text_free(&png);
        }
    }
}

static liana__test_result train(const char *one, const char *two)
{
    static char config[600], run[600];
    snprintf(config, sizeof config, "%s", liana__test_path("c.yaml"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    return liana__test_command("train", config, "--out", run, one, two);
}

static const char *read_config(void)
{
    static char *text;
    size_t size;
    free(text);
    assert_ok(liana__file_read(liana__test_path("run/config.yaml"), 1 << 20, &text, &size, NULL), NULL);
    return text;
}

static void test_a_run(void **state)
{
    (void)state;
    static const char yaml[] = "data: {train: images, image_size: 96}\n"
                               "model: {base: MobileNetV2, alpha: 0.35, weights: imagenet}\n"
                               "train: {steps: 1, batch_size: 4, seed: 3}\n";
    char wanted[200], run[600];
    write_images();
    liana__test_write("c.yaml", yaml, sizeof yaml - 1);
    /* A folder of the name is none of weights. */
    assert_ok(liana__folder_make(liana__test_path("imagenet"), NULL), NULL);
    liana__test_result got = train(NULL, NULL);
    assert_says(got.out, "layers from 'imagenet'");
    assert_code(got, 0);
    const char *config = read_config(), *hash = strstr(config, "weights_sha256: ");
    assert_says(config, "weights: imagenet\n");
    assert_says(config, "-1..1");
    assert_non_null(hash);
    snprintf(wanted, sizeof wanted, "model.weights_sha256=%.64s",
             strstr(hash, ": ") + 2 + (strstr(hash, ": ")[2] == '"'));
    assert_int_equal(strlen(wanted), 21 + 64);
    /* The same file, and another. */
    assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
    assert_code(train(wanted, NULL), 0);
    char *last = wanted + strlen(wanted) - 1;
    *last = *last == '0' ? '1' : '0';
    assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
    assert_refused(train(wanted, NULL), 2, "model.weights_sha256", "are others than they were");
    assert_code(train(NULL, NULL), 0);
    /* A run has its own weights: the file is not asked for again. */
    assert_ok(liana__folder_remove(liana__test_path("cache"), NULL), NULL);
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    char data[600];
    snprintf(data, sizeof data, "data.validation=%s", liana__test_path("images"));
    assert_code(liana__test_command("evaluate", run, data), 0);
    assert_code(liana__test_command("train", run, "--resume", "train.steps=2"), 0);
}

static void test_refused_runs(void **state)
{
    (void)state;
    static const char yaml[] = "data: {train: images, image_size: 96}\n"
                               "model: {base: MobileNetV2, alpha: 0.35, weights: imagenet}\n"
                               "train: {steps: 1, batch_size: 4, seed: 3}\n";
    write_images();
    liana__test_write("c.yaml", yaml, sizeof yaml - 1);
    assert_refused(train("model.alpha=0.6", NULL), 2, "c.yaml:2:", "model.weights", "nearest is 0.5");
    assert_refused(train("model.include_top=true", NULL), 2, "c.yaml:2:", "model.weights", "1000 classes, not 2",
                   "include_top: false");
    assert_refused(train("data.channels=1", NULL), 2, "model.weights", "3 channels, not 1");
    assert_refused(train("data.image_size=20", NULL), 2, "model.weights", "20 x 20");
    assert_refused(train("model.weights=imagenett", NULL), 2, "model.weights", "did you mean 'imagenet'");
    assert_refused(train("model.weights=autoaugment", NULL), 2, "command line", "EfficientNetB7");
    assert_refused(train("model={layers: [Flatten, {Dense: {units: 2, activation: softmax}}], weights: imagenet}",
                         NULL),
                   2, "model.weights", "model.base");
    assert_refused(train("model.weights=x.h5", "model.weights_sha256=ab"), 2, "model.weights_sha256",
                   "imagenet, noisy-student or autoaugment");
    /* 224 x 224 is not there. */
    assert_refused(train("data.image_size=100", NULL), 1, "0.35_224_no_top.h5");
}

/* Keras puts a second Rescaling into an EfficientNet with its own weights. The file need not be here to know. */
static void test_rescaling(void **state)
{
    (void)state;
    static const struct {
        const char *weights;
        bool is_there;
    } cases[] = {{"imagenet", true}, {"noisy-student", false}, {"autoaugment", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char yaml[300];
        snprintf(yaml, sizeof yaml,
                 "data: {image_size: 64, channels: 3, num_classes: 3}\nmodel: {base: EfficientNetB0, weights: %s}\n",
                 cases[i].weights);
        liana__test_result got = liana__test_command("summary", liana__test_write("b.yaml", yaml, strlen(yaml)));
        assert_says(got.out, "normalization");
        assert_int_equal(strstr(got.out, "rescaling_1") != NULL, cases[i].is_there);
        assert_code(got, 0);
    }
}

static void test_rescaling_in_programs(void **state)
{
    (void)state;
    liana_model *model = new_model();
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(64, 64, 3), .include_top = false);
    check_refused(model, "imagenet", ".imagenet_rescaling = true");
    model = new_model();
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(64, 64, 3), .include_top = false,
                          .imagenet_rescaling = true);
    check_refused(model, "imagenet", "cache/weights/efficientnetb0_notop.h5"); /* which is not here */
    model = new_model();
    liana_efficientnet_b0(model, .input_shape = LIANA_INTS(64, 64, 3), .include_top = false);
    check_refused(model, "autoaugment", "autoaugment_notop.h5");
}

/* An architecture of Keras that names itself. */
static void test_model_of_keras(void **state)
{
    (void)state;
    char model[600], image[600];
    write_images();
    liana_model *keras = new_model();
    liana_mobilenet(keras, .alpha = 0.25, .input_shape = LIANA_INTS(128, 128, 3));
    snprintf(model, sizeof model, "%s", liana__test_path("x.json"));
    place(keras, "x.json");
    liana_model_destroy(keras);
    snprintf(image, sizeof image, "%s", liana__test_path("images/a/0.png"));
    liana__test_result got = liana__test_command("predict", "--model", model, "--weights", "imagenet", image, "--json");
    assert_never_says(got.err, "divided by 255");
    assert_code(got, 0);
    snprintf(image, sizeof image, "%s", liana__test_path("y.keras"));
    assert_code(liana__test_command("convert-model", model, image, "--weights", "imagenet"), 0);
}

/* ---- from a server ---- */

static void test_a_name_is_fetched_once(void **state)
{
    (void)state;
    static const char file[] = "mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.5_224_no_top.h5";
    char served[200];
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 2}, &context), LIANA_OK);
    setenv("LIANA_FETCH_BASE", liana__test_server_url("/web"), 1);
    liana_model *model = new_model();
    liana_mobilenet_v2(model, .alpha = 0.5, .input_shape = LIANA_INTS(64, 64, 3), .include_top = false);
    assert_int_equal(liana_model_status(model), LIANA_OK);
    change_weights(model);
    place(model, "x.h5");
    liana_model_destroy(model);
    snprintf(served, sizeof served, "tensorflow/keras-applications/mobilenet_v2/%s", file);
    liana__test_serve_file(served, liana__test_path("x.h5"));
    for (int i = 0; i < 2; i++) {
        /* As in Keras: there are none for 64 x 64. */
        model = new_model();
        liana_mobilenet_v2(model, .alpha = 0.5, .input_shape = LIANA_INTS(64, 64, 3), .include_top = false);
        liana__test_server_forget();
        if (liana_model_load_weights(model, "imagenet", false) != LIANA_OK) {
            fail_msg("%s", liana_context_message(context));
        }
        check_first_weight(model);
        assert_int_equal(liana__test_server_requests(file, "GET") > 0, i == 0);
        liana_model_destroy(model);
    }
    /* A page in place of the file. */
    snprintf(served, sizeof served, "tensorflow/keras-applications/mobilenet/mobilenet_7_5_128_tf_no_top.h5");
    liana__test_serve(served, "<html>sorry</html>", 18);
    model = new_model();
    liana_mobilenet(model, .alpha = 0.75, .input_shape = LIANA_INTS(128, 128, 3), .include_top = false);
    check_refused(model, "imagenet", "mobilenet_7_5_128_tf_no_top.h5");
    assert_false(liana__file_exists(liana__test_path("cache/weights/mobilenet_7_5_128_tf_no_top.h5")));
    liana_context_destroy(context);
    unsetenv("LIANA_FETCH_BASE");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_warm_start, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_run, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_refused_runs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rescaling, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_rescaling_in_programs, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_model_of_keras, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_name_is_fetched_once, liana__test_server_set_up_https,
                                        liana__test_server_tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
