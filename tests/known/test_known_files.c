/* The table of known files is whole, and names choose the files that keras.applications chooses. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/text.h"
#include "harness/peers.h"
#include "known/data_set.h"
#include "known/known_weights.h"
#include "models/models.h"
#include "remote/digest.h"

#include <string.h>

static void check_hash(const char *name, const char *hash, size_t length)
{
    if (!hash) return;
    if (strlen(hash) != length || strspn(hash, "0123456789abcdef") != length) fail_msg("%s: found '%s'", name, hash);
}

static void test_rows_are_whole(void **state)
{
    (void)state;
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    /* 32 of MobileNet, 44 of MobileNetV2, 12 of MobileNetV3, 12 of ResNets, 6 of DenseNets, 4 of VGG, 2 of Xception,
     * 4 of Inception, 3 times 16 of EfficientNets, 14 of EfficientNetV2, 10 of ConvNeXt, 11 of data. */
    assert_int_equal(count, 32 + 44 + 12 + 12 + 6 + 4 + 2 + 4 + 48 + 14 + 10 + 11);
    for (size_t i = 0; i < count; i++) {
        const liana__known_file *file = &files[i];
        assert_begins(file->url, "https://");
        assert_string_equal(liana__path_name(file->url), liana__path_name(file->file));
        check_hash(file->name, file->md5, 32);
        check_hash(file->name, file->sha256, 64);
        assert_ptr_equal(liana__known_file_find(file->name), file);
        assert_compare(strlen(file->source), >, 10, i);
        for (size_t k = 0; k < i; k++) {
            if (strcmp(files[k].file, file->file) == 0) fail_msg("'%s' is the file of two rows", file->file);
            const bool same_hash = (file->md5 && files[k].md5 && strcmp(file->md5, files[k].md5) == 0) ||
                                   (file->sha256 && files[k].sha256 && strcmp(file->sha256, files[k].sha256) == 0);
            if (same_hash) fail_msg("%s and %s have one hash", file->name, files[k].name);
        }
    }
    assert_null(liana__known_file_find("imagenet/ResNet49"));
}

static liana_status choose(const char *set, const char *architecture, double alpha, int64_t size, bool top,
                           const char **name, const char **note, liana__error *error)
{
    static liana__arena arena;
    const liana__known_file *file = NULL;
    const liana__weights_wanted wanted = {set, architecture, alpha, 1, false, size, size, 3, top, 1000};
    const liana_status status = liana__weights_choose(&wanted, &arena, &file, note, error);
    *name = file ? file->name : "";
    if (note && *note) *note = strdup(*note);
    liana__arena_free(&arena);
    return status;
}

/* Each architecture has weights with its classifier and without, for its own image size. */
static void test_every_architecture_has_weights(void **state)
{
    (void)state;
    const char *name, *note;
    liana__error error = {0};
    for (size_t i = 0; liana__architectures[i]; i++) {
        const liana__architecture *own = liana__architectures[i];
        for (int top = 0; top < 2; top++) {
            assert_ok(choose("imagenet", own->name, 1, own->default_size, top, &name, &note, &error), &error);
            assert_null(note);
            assert_says(name, own->name);
            assert_int_equal(strstr(name, "/no_top") == NULL, top);
            const bool is_efficient = strncmp(own->name, "EfficientNetB", 13) == 0;
            for (int k = 0; k < 2; k++) {
                static const char *const others[] = {"noisy-student", "autoaugment"};
                liana_status status = choose(others[k], own->name, 1, own->default_size, top, &name, &note, &error);
                if (is_efficient) {
                    assert_ok(status, &error);
                    assert_begins(name, others[k]);
                } else {
                    assert_fails(status, LIANA_INVALID_CONFIG, &error, others[k], own->name, "EfficientNetB0",
                                 "EfficientNetB7");
                }
            }
        }
    }
}

/* Names of files and addresses, as keras.applications 3.15 and the package efficientnet 1.1.1 make them. */
static void test_files_are_keras_files(void **state)
{
    (void)state;
#define KERAS "https://storage.googleapis.com/tensorflow/keras-applications/"
    static const struct {
        const char *set, *architecture;
        double alpha;
        int64_t size;
        bool top;
        const char *url;
    } cases[] = {
        {"imagenet", "MobileNet", 0.25, 128, true, KERAS "mobilenet/mobilenet_2_5_128_tf.h5"},
        {"imagenet", "MobileNet", 0.5, 160, false, KERAS "mobilenet/mobilenet_5_0_160_tf_no_top.h5"},
        {"imagenet", "MobileNet", 1, 224, true, KERAS "mobilenet/mobilenet_1_0_224_tf.h5"},
        {"imagenet", "MobileNetV2", 0.35, 96, false,
         KERAS "mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_0.35_96_no_top.h5"},
        {"imagenet", "MobileNetV2", 1, 192, true,
         KERAS "mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.0_192.h5"},
        {"imagenet", "MobileNetV2", 1.4, 224, true,
         KERAS "mobilenet_v2/mobilenet_v2_weights_tf_dim_ordering_tf_kernels_1.4_224.h5"},
        {"imagenet", "MobileNetV3Small", 0.75, 224, true,
         KERAS "mobilenet_v3/weights_mobilenet_v3_small_224_0.75_float.h5"},
        {"imagenet", "MobileNetV3Large", 1, 224, false,
         KERAS "mobilenet_v3/weights_mobilenet_v3_large_224_1.0_float_no_top_v2.h5"},
        {"imagenet", "InceptionV3", 1, 299, false,
         KERAS "inception_v3/inception_v3_weights_tf_dim_ordering_tf_kernels_notop.h5"},
        {"imagenet", "InceptionResNetV2", 1, 150, true,
         KERAS "inception_resnet_v2/inception_resnet_v2_weights_tf_dim_ordering_tf_kernels.h5"},
        {"imagenet", "ResNet152", 1, 300, false, KERAS "resnet/resnet152_weights_tf_dim_ordering_tf_kernels_notop.h5"},
        {"imagenet", "ResNet101V2", 1, 224, true, KERAS "resnet/resnet101v2_weights_tf_dim_ordering_tf_kernels.h5"},
        {"imagenet", "DenseNet201", 1, 64, false,
         KERAS "densenet/densenet201_weights_tf_dim_ordering_tf_kernels_notop.h5"},
        {"imagenet", "VGG16", 1, 224, true, KERAS "vgg16/vgg16_weights_tf_dim_ordering_tf_kernels.h5"},
        {"imagenet", "VGG19", 1, 96, false, KERAS "vgg19/vgg19_weights_tf_dim_ordering_tf_kernels_notop.h5"},
        {"imagenet", "Xception", 1, 180, true, KERAS "xception/xception_weights_tf_dim_ordering_tf_kernels.h5"},
        {"imagenet", "Xception", 1, 299, false, KERAS "xception/xception_weights_tf_dim_ordering_tf_kernels_notop.h5"},
        {"ImageNet", "EfficientNetB3", 1, 300, true,
         "https://storage.googleapis.com/keras-applications/efficientnetb3.h5"},
        {"imagenet", "EfficientNetV2B2", 1, 260, true, KERAS "efficientnet_v2/efficientnetv2-b2.h5"},
        {"imagenet", "EfficientNetV2L", 1, 480, false, KERAS "efficientnet_v2/efficientnetv2-l_notop.h5"},
        {"imagenet", "ConvNeXtXLarge", 1, 224, false, KERAS "convnext/convnext_xlarge_notop.h5"},
        {"noisy_student", "EfficientNetB7", 1, 600, false,
         "https://github.com/qubvel/efficientnet/releases/download/v0.0.1/efficientnet-b7_noisy-student_notop.h5"},
        {"autoaugment", "EfficientNetB0", 1, 224, true,
         "https://github.com/Callidior/keras-applications/releases/download/efficientnet/"
         "efficientnet-b0_weights_tf_dim_ordering_tf_kernels_autoaugment.h5"},
    };
    const char *name, *note;
    liana__error error = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_ok(choose(cases[i].set, cases[i].architecture, cases[i].alpha, cases[i].size, cases[i].top, &name, &note,
                         &error),
                  &error);
        assert_string_equal(liana__known_file_find(name)->url, cases[i].url);
        assert_null(note);
    }
}

static void test_other_sizes_and_widths(void **state)
{
    (void)state;
    const char *name, *note;
    liana__error error = {0};
    assert_ok(choose("imagenet", "MobileNetV2", 0.5, 300, false, &name, &note, &error), &error);
    assert_string_equal(name, "imagenet/MobileNetV2/0.5/224/no_top");
    assert_says(note, "300 x 300");
    /* There are wide ones for 224 pixels only. */
    assert_ok(choose("imagenet", "MobileNetV2", 1.3, 96, false, &name, &note, &error), &error);
    assert_string_equal(name, "imagenet/MobileNetV2/1.3/224/no_top");
    assert_says(note, "96 x 96");
    assert_fails(choose("imagenet", "MobileNetV2", 0.6, 224, true, &name, &note, &error), LIANA_INVALID_CONFIG, &error,
                 "alpha 0.6", "0.35, 0.5, 0.75, 1, 1.3, 1.4", "nearest is 0.5");
    assert_fails(choose("imagenet", "MobileNet", 0.3, 192, false, &name, &note, &error), LIANA_INVALID_CONFIG, &error,
                 "alpha 0.3", "0.25, 0.5, 0.75, 1", "nearest is 0.25");
    assert_fails(choose("imagenet", "ResNet50", 1, 28, false, &name, &note, &error), LIANA_INVALID_CONFIG, &error,
                 "28 x 28", "32 x 32", "data.image_size");
    liana__arena arena = {0};
    const liana__known_file *file;
    liana__weights_wanted wanted = {"imagenet", "ResNet50", 1, 1, false, 224, 224, 1, false, 1000};
    assert_fails(liana__weights_choose(&wanted, &arena, &file, &note, &error), LIANA_INVALID_CONFIG, &error,
                 "3 channels, not 1", "data.channels: 3");
    wanted = (liana__weights_wanted){"imagenet", "ResNet50", 1, 1, false, 224, 224, 3, true, 5};
    assert_fails(liana__weights_choose(&wanted, &arena, &file, &note, &error), LIANA_INVALID_CONFIG, &error,
                 "1000 classes, not 5", "include_top: false");
    /* Its classifier reads all pixels. */
    assert_fails(choose("imagenet", "VGG16", 1, 96, true, &name, &note, &error), LIANA_INVALID_CONFIG, &error, "VGG16",
                 "224 x 224, not 96 x 96", "data.image_size", "include_top: false");
    wanted = (liana__weights_wanted){"imagenet", "MobileNet", 1, 2, false, 224, 224, 3, false, 1000};
    assert_fails(liana__weights_choose(&wanted, &arena, &file, &note, &error), LIANA_INVALID_CONFIG, &error,
                 "depth_multiplier 1, not 2");
    wanted = (liana__weights_wanted){"imagenet", "MobileNet", 1, 1, false, 128, 160, 3, false, 1000};
    assert_ok(liana__weights_choose(&wanted, &arena, &file, &note, &error), &error);
    assert_string_equal(file->name, "imagenet/MobileNet/1.0/224/no_top");
    assert_says(note, "128 x 160");
    wanted = (liana__weights_wanted){"imagenet", "MobileNetV3Large", 1, 1, true, 224, 224, 3, true, 1000};
    assert_ok(liana__weights_choose(&wanted, &arena, &file, &note, &error), &error);
    assert_string_equal(file->name, "imagenet/MobileNetV3Large/minimalistic/1.0/224");
    assert_null(note);
    wanted.alpha = 0.75;
    assert_fails(liana__weights_choose(&wanted, &arena, &file, &note, &error), LIANA_INVALID_CONFIG, &error,
                 "alpha 0.75 and minimalistic: true", "some for alpha 1;", "nearest is 1");
    liana__arena_free(&arena);
}

static void test_names(void **state)
{
    (void)state;
    static const char *const weights[] = {"imagenet", "ImageNet", "noisy-student", "noisy_student", "autoaugment"},
                             *const no_weights[] = {"./imagenet", "imagenet.h5", "image", "", "imagenet/x"},
                             *const data[] = {"mnist",         "MNIST",         "mnist/train",
                                              "mnist/test",    "cifar10",       "cifar-10/test",
                                              "cifar_100",     "fashion-mnist", "fashion_mnist/test",
                                              "flower_photos", "flower-photos"},
                             *const no_data[] = {"./mnist", "mnist/", "mnist/validation", "mnist/test/x", "", "cifar",
                                                 "minst",   "/mnist"};
    for (size_t i = 0; i < 5; i++) assert_true(liana__weights_are_named(weights[i], ""));
    for (size_t i = 0; i < 5; i++) assert_false(liana__weights_are_named(no_weights[i], ""));
    for (size_t i = 0; i < sizeof data / sizeof *data; i++) assert_true(liana__data_set_is_named(data[i]));
    for (size_t i = 0; i < sizeof no_data / sizeof *no_data; i++) assert_false(liana__data_set_is_named(no_data[i]));
    assert_string_equal(liana__data_set_nearest("minst"), "mnist");
    assert_string_equal(liana__data_set_nearest("fashion-mnst"), "fashion-mnist");
    assert_null(liana__data_set_nearest("flowers/train"));
    /* A file or folder of the name is meant first. */
    liana__test_folder();
    assert_true(liana__data_set_is_meant("mnist", liana__test_path("mnist")));
    assert_ok(liana__folder_make(liana__test_path("mnist"), NULL), NULL);
    assert_false(liana__data_set_is_meant("mnist", liana__test_path("mnist")));
}

/* The originals, byte by byte. */
static void test_published_hashes(void **state)
{
    (void)state;
    size_t count, checked = 0;
    const liana__known_file *files = liana__known_files(&count);
    liana__error error = {0};
    for (size_t i = 0; i < count; i++) {
        const char *set = files[i].data_set;
        if (!set || (strcmp(set, "mnist") != 0 && strcmp(set, "fashion-mnist") != 0)) continue;
        char name[200];
        snprintf(name, sizeof name, "%s/%s", set, liana__path_name(files[i].file));
        const char *path = liana__test_data(name);
        liana__digest_text digest;
        liana__file_version version;
        assert_true(liana__file_version_find(path, &version));
        assert_int_equal(version.size, files[i].size);
        assert_ok(liana__digest_file(path, LIANA__DIGEST_MD5, &digest, &error), &error);
        assert_string_equal(digest.text, files[i].md5);
        assert_ok(liana__digest_file(path, LIANA__DIGEST_SHA256, &digest, &error), &error);
        assert_string_equal(digest.text, files[i].sha256);
        checked++;
    }
    assert_int_equal(checked, 8);
}

static const char *hash_of(const liana__known_file *file)
{
    if (file->md5) return file->md5;
    return file->sha256 ? file->sha256 : "-";
}

static void test_keras_asks_for_the_same_files(void **state)
{
    (void)state;
    if (!liana__test_peer("tensorflow")) skip();
    liana__text text = {0};
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    for (size_t i = 0; i < count; i++) {
        if (files[i].kind != LIANA__KNOWN_WEIGHTS) continue;
        liana__text_add(&text, "%s\t%s\t%s\n", files[i].name, files[i].url, hash_of(&files[i]));
    }
    liana__test_folder();
    const char *rows = liana__test_write("rows.tsv", text.data, text.length);
    liana__text_free(&text);
    liana__test_run_keras("tests/known/keras_known_files.py", (const char *const[]){rows, NULL});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows_are_whole),
        cmocka_unit_test(test_every_architecture_has_weights),
        cmocka_unit_test(test_files_are_keras_files),
        cmocka_unit_test(test_other_sizes_and_widths),
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_published_hashes),
        cmocka_unit_test(test_keras_asks_for_the_same_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
