/* Faults of files, configurations and disks are told in one message that names the place, with the right exit code, and
 * no saved file is lost. */
#include "harness/command_run.h"
#include "harness/peers.h"
#include "harness/pjrt_plugin.h"

#include "base/file.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { PIXELS = LIANA__TINY_SIZE * LIANA__TINY_SIZE, NUM_RECORDS = 24 };

/* ---- TFRecords of the small problem, one of which may be odd ---- */

typedef struct odd_record {
    int index; /* -1: none is */
    const void *image;
    size_t image_size;
    int64_t label;
    bool unlabelled;
} odd_record;

static const odd_record NONE = {.index = -1};

static void write_records(const char *name, odd_record odd)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path(name), &error), &error);
    liana__example_builder builder = {0};
    for (int i = 0; i < NUM_RECORDS; i++) {
        uint8_t pixels[PIXELS];
        int64_t label = liana__test_tiny_image(1, (uint32_t)i, pixels);
        liana__text png = {0};
        assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
        bool is_odd = i == odd.index;
        if (is_odd && odd.image) {
            liana__example_add_bytes(&builder, "image", odd.image, odd.image_size);
            label = odd.label;
        } else {
            liana__example_add_bytes(&builder, "image", png.data, png.length);
            if (is_odd) label = odd.label;
        }
        if (!is_odd || !odd.unlabelled) liana__example_add_int64s(&builder, "class", &label, 1);
        char id[16];
        int length = snprintf(id, sizeof id, "img%02d", i);
        liana__example_add_bytes(&builder, "id", id, (size_t)length);
        const uint8_t *bytes;
        size_t size;
        assert_ok(liana__example_pack(&builder, &bytes, &size, &error), &error);
        assert_ok(liana__tfrecord_writer_add(&writer, bytes, size, &error), &error);
        liana__text_free(&png);
    }
    liana__example_builder_free(&builder);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
}

static const char RECORDS_CONFIG[] = "data:\n"
                                     "  train: train-*.tfrec\n"
                                     "  num_classes: 4\n"
                                     "model:\n"
                                     "  layers:\n"
                                     "    - Flatten\n"
                                     "    - Dense: {units: 4, activation: softmax}\n"
                                     "train: {epochs: 2, batch_size: 8}\n";

/* Writes a configuration; the path stays as it is until the next call. */
static const char *write_config(const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", text, strlen(text)));
    return path;
}

/* A good configuration over two files, the second of which has the odd record. */
static const char *records_config(odd_record odd)
{
    liana__test_folder();
    write_records("train-0.tfrec", NONE);
    write_records("train-1.tfrec", odd);
    return write_config(RECORDS_CONFIG);
}

/* The tests run on the cpu, and where the plugin is, on it: messages do not depend on the device. */
static const char *device = "train.device=cpu";

#define train(config, ...) liana__test_command("train", config, "--out", liana__test_path("run"), device, __VA_ARGS__)

static void damage(const char *name, bool cut, size_t from_end)
{
    char path[256];
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    if (cut) {
        assert_int_equal(truncate(path, info.st_size - (off_t)from_end), 0);
        return;
    }
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    fseek(file, (long)info.st_size - (long)from_end, SEEK_SET);
    int byte = fgetc(file);
    fseek(file, -1, SEEK_CUR);
    fputc(byte ^ 4, file);
    fclose(file);
}

static void test_good_records_train(void **state)
{
    (void)state;
    const char *config = records_config(NONE);
    assert_code(train(config, "train.epochs=1"), 0);
}

static void test_wrong_checksum(void **state)
{
    (void)state;
    const char *config = records_config(NONE);
    damage("train-1.tfrec", false, 60);
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 23", "checksum");
}

static void test_truncated_file(void **state)
{
    (void)state;
    const char *config = records_config(NONE);
    damage("train-1.tfrec", true, 60);
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 23", "truncated");
    /* IDX. */
    config = liana__test_tiny_run(40);
    damage("train-images", true, 100);
    assert_refused(train(config, "train.epochs=1"), 1, "train-images", "bytes");
}

static void test_missing_feature(void **state)
{
    (void)state;
    const char *config = records_config((odd_record){.index = 5, .unlabelled = true});
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 5", "'class'");
    config = records_config(NONE);
    assert_refused(train(config, "data.features.label=klass"), 1, "train-0.tfrec", "klass", "class");
    assert_refused(train(config, "data.features.image=picture"), 1, "train-0.tfrec", "picture", "image");
}

static void test_label_out_of_range(void **state)
{
    (void)state;
    const char *config = records_config((odd_record){.index = 7, .label = 4});
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 7", "img07", "label 4", "[0, 4)");
    config = records_config((odd_record){.index = 7, .label = -1});
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 7", "label -1");
    config = records_config((odd_record){.index = 7, .label = 1003});
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 7",
                   "label 1003 is out of range [0, 4)");
}

static void test_undecodable_image(void **state)
{
    (void)state;
    const char *config = records_config((odd_record){.index = 3, .image = "no image at all", .image_size = 15});
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 3", "img03", "expected a JPEG, PNG",
                   "no image at all");
    static const uint8_t cut[] = {0xff, 0xd8, 0xff, 0xe0, 0, 16, 'J', 'F', 'I', 'F', 0, 1, 1, 0, 0, 1, 0, 1, 0, 0};
    config = records_config((odd_record){.index = 3, .image = cut, .image_size = sizeof cut});
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 3", "JPEG");
}

/* A PNG of 60,000 x 60,000 that has not a single pixel. */
static size_t huge_png(uint8_t png[64])
{
    static const uint8_t start[] = {0x89, 'P', 'N', 'G',  '\r', '\n', 0x1a, '\n', 0,    0, 0, 13, 'I', 'H', 'D',
                                    'R',  0,   0,   0xea, 0x60, 0,    0,    0xea, 0x60, 8, 2, 0,  0,   0};
    memcpy(png, start, sizeof start);
    uLong crc = crc32(0, start + 12, sizeof start - 12);
    for (int i = 0; i < 4; i++) png[sizeof start + (size_t)i] = (uint8_t)(crc >> (24 - 8 * i));
    static const uint8_t data[] = {0, 0, 0, 9, 'I', 'D', 'A', 'T', 0x78, 0x9c};
    memcpy(png + sizeof start + 4, data, sizeof data);
    return sizeof start + 4 + sizeof data;
}

static void test_image_of_absurd_size(void **state)
{
    (void)state;
    uint8_t png[64];
    size_t size = huge_png(png);
    const char *config = records_config((odd_record){.index = 2, .image = png, .image_size = size});
    assert_refused(train(config, "train.epochs=1"), 1, "train-1.tfrec", "record 2", "60000", "pixels");
    /* As a file in a class folder. */
    liana__test_folder();
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("data/a"), &error), &error);
    liana__test_write("data/a/huge.png", png, size);
    static const char text[] = "data: {train: data}\nmodel: {layers: [Flatten, {Dense: {units: 1}}]}\n";
    config = write_config(text);
    assert_refused(train(config, "train.epochs=1"), 1, "data/a/huge.png", "60000");
    /* An IDX header that promises more than there can be. */
    static const uint8_t idx[] = {0, 0, 8, 3, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    config = liana__test_tiny_run(40);
    liana__test_write("train-images", idx, sizeof idx);
    assert_refused(train(config, "train.epochs=1"), 1, "train-images");
}

static void test_weights_of_another_model(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(40);
    assert_code(liana__test_command("train", config, "--out", liana__test_path("first")), 0);
    char weights[700];
    snprintf(weights, sizeof weights, "model.weights=%s/variables.safetensors", liana__test_newest_checkpoint("first"));
    assert_code(train(config, weights, "train.epochs=1"), 0);
    assert_ok(liana__folder_remove(liana__test_path("run"), NULL), NULL);
    assert_refused(train(config, weights, "model.layers[0].Conv2D.filters=9"), 1, "variables.safetensors", "conv2d",
                   "8", "9");
    assert_refused(train(config, weights, "model.layers[0]={Conv2D: {filters: 8, kernel_size: 3, name: other}}"), 1,
                   "variables.safetensors", "other");
    char text[256];
    snprintf(text, sizeof text, "model.weights=%s", config);
    assert_refused(train(config, text), 1, "config.yaml");
    assert_refused(train(config, "model.weights=nothing.h5"), 1, "nothing.h5");
    assert_false(liana__folder_exists(liana__test_path("run")));
}

static void test_shapes_that_do_not_fit(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(40);
    assert_refused(train(config, "model.layers[5].Dense.units=5"), 2, "5 classes", "have 4");
    assert_refused(train(config, "data.num_classes=3"), 2, "4 classes", "have 3");
    assert_refused(train(config, "train.metrics=[accuracy, top_5_accuracy, accuracy]"), 2, "train.metrics",
                   "'accuracy' is named twice");
    /* A network that ends in no probabilities, before anything is written. */
    assert_refused(train(config, "model.layers[5]={Dense: {units: 4}}"), 2, "layer 'dense'", "activation: linear",
                   "end the model in a softmax");
    assert_refused(train(config, "model.layers[5].Dense.activation=relu"), 2, "config.yaml:12: layer 'dense'",
                   "activation: relu");
    assert_false(liana__folder_exists(liana__test_path("run/checkpoints")));
    assert_refused(train(config, "model.layers[0].Conv2D.kernel_size=20"), 1, "conv2d", "Conv2D", "12", "20");
    static const char text[] = "data: {train: {images: train-images, labels: train-labels}}\n"
                               "model:\n"
                               "  layers:\n"
                               "    - Dense: {units: 4, activation: softmax}\n";
    config = write_config(text);
    assert_refused(train(config, "train.epochs=1"), 2, "the model's output", "Flatten");
    static const char join[] = "data: {train: {images: train-images, labels: train-labels}}\n"
                               "model:\n"
                               "  layers:\n"
                               "    - Conv2D: {filters: 2, kernel_size: 3, name: a}\n"
                               "    - Conv2D: {filters: 2, kernel_size: 3, name: b}\n"
                               "    - Add: {inputs: [a, b]}\n";
    config = write_config(join);
    assert_refused(train(config, "train.epochs=1"), 1, "config.yaml:6", "Add", "8, 8", "size 10 or 1 along axis 2");
}

static void test_wrong_keys_and_values(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(40);
    assert_refused(train(config, "train.epoch=2"), 2, "command line", "'epoch'", "did you mean 'epochs'");
    assert_refused(train(config, "train.epochs=-1"), 2, "command line: train.epochs", "-1", "from 0");
    assert_refused(train(config, "train.batch_size=many"), 2, "train.batch_size", "'many'", "whole number");
    assert_refused(train(config, "train.optimizer=Adm"), 2, "'Adm'", "did you mean 'Adam'");
    assert_refused(train(config, "train.optimizer.beta_3=1"), 2, "'beta_3'", "beta_1");
    assert_refused(train(config, "train.loss=mse"), 2, "train.loss", "'mean_squared_error' compares the 4 values",
                   "'label' has one class");
    assert_refused(train(config, "train.loss=msee"), 2, "train.loss", "no loss 'msee'");
    assert_refused(train(config, "train.metrics=accurcy"), 2, "'accurcy'", "did you mean 'accuracy'");
    assert_refused(train(config, "train.device=gpx"), 2, "'gpx'", "liana devices");
    assert_refused(train(config, "train.device=tpu:99"), 1, "'tpu");
    assert_refused(train(config, "data.train.kind=idxx"), 2, "'idxx'", "idx");
    assert_refused(train(config, "model.layers[0].Conv2D.padding=some"), 2, "padding", "'some'", "valid");
    assert_refused(train(config, "model.layers[0]=Conv4D"), 2, "Conv4D", "did you mean 'Conv");
    assert_refused(train(config, "data.train=nothing-*.tfrec"), 1, "nothing-*.tfrec");
    static const char text[] = "data:\n  train: x\nmodel:\n  layers: [Flatten]\ntrain:\n  epohs: 3\n";
    config = liana__test_write("bad.yaml", text, sizeof text - 1);
    assert_refused(liana__test_command("train", config), 2, "bad.yaml:6:3: train: ", "'epohs'", "'epochs'");
    static const char broken[] = "data:\n  train: [x\nmodel: 1\n";
    config = liana__test_write("bad.yaml", broken, sizeof broken - 1);
    assert_refused(liana__test_command("train", config), 2, "bad.yaml:");
    assert_refused(liana__test_command("train", "no-such.yaml"), 2, "no-such.yaml");
    assert_false(liana__folder_exists(liana__test_path("run")));
}

/* ---- disks ---- */

static bool mounted;

static int unmount(void **state)
{
    (void)state;
    if (mounted) umount2(liana__test_path("disk"), MNT_DETACH);
    mounted = false;
    return 0;
}

/* A disk of its own in the test's folder; skips the test where this is not allowed. */
static void mount_disk(const char *options)
{
    liana__test_folder();
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("disk"), &error), &error);
    if (mount("liana-test", liana__test_path("disk"), "tmpfs", 0, options) != 0) {
        liana__test_skip("a disk cannot be mounted here (%s); root can", strerror(errno));
    }
    mounted = true;
}

static void remount(unsigned long flags, const char *options)
{
    if (mount("liana-test", liana__test_path("disk"), "tmpfs", MS_REMOUNT | flags, options) == 0) return;
    print_error("remount: %s\n", strerror(errno));
    fail();
}

#define train_on_disk(config, ...) \
    liana__test_command("train", config, "--out", liana__test_path("disk/run"), __VA_ARGS__)
#define MANY_CHECKPOINTS "checkpoint.every_steps=1", "checkpoint.keep=0"

static void test_no_disk_space(void **state)
{
    (void)state;
    mount_disk("size=192k");
    const char *config = liana__test_tiny_run(200);
    assert_refused(train_on_disk(config, MANY_CHECKPOINTS), 1, "the checkpoint could not be saved",
                   "disk/run/checkpoints", "No space left on device");
    /* The files saved before are whole, and nothing half done lies about. */
    char newest[512];
    snprintf(newest, sizeof newest, "%s", liana__test_newest_checkpoint("disk/run"));
    assert_true(liana__folder_exists(newest));
    assert_false(liana__folder_exists(liana__test_path("disk/run/checkpoints/unfinished")));
    char run[256];
    snprintf(run, sizeof run, "%s", liana__test_path("disk/run"));
    assert_code(liana__test_command("evaluate", run), 0);
    /* With more space the run goes on, and ends as one that never stopped. */
    remount(0, "size=8m");
    liana__test_result got = train_on_disk(config, MANY_CHECKPOINTS, "--resume");
    assert_says(got.out, "resumed from '");
    assert_code(got, 0);
    assert_code(train(config, MANY_CHECKPOINTS), 0);
    assert_same_file(liana__test_path("disk/run/history.json"), liana__test_path("run/history.json"));
    assert_same_file(liana__test_path("disk/run/test_predictions.csv"), liana__test_path("run/test_predictions.csv"));
    unmount(NULL);
}

static void fill_disk(void)
{
    FILE *ballast = fopen(liana__test_path("disk/ballast"), "wb");
    setvbuf(ballast, NULL, _IONBF, 0);
    while (fputc(0, ballast) != EOF) continue;
    fclose(ballast);
}

/* A full disk when the last files are written: the checkpoint is there, and --resume only writes them. */
static void test_no_space_for_predictions(void **state)
{
    (void)state;
    mount_disk("size=1m");
    const char *config = liana__test_tiny_run(200);
    assert_code(train(config, "train.epochs=1"), 0);
    char run[256], images[256];
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(images, sizeof images, "%s", liana__test_path("test-images"));
    fill_disk();
    assert_refused(liana__test_command("predict", run, "--data", images, "--out",
                                       liana__test_path("disk/predictions.csv")),
                   1, "disk/predictions.csv", "No space left on device");
    assert_false(liana__file_exists(liana__test_path("disk/predictions.csv")));
    assert_false(liana__file_exists(liana__test_path("disk/predictions.csv.tmp")));
    assert_refused(train_on_disk(config, "train.epochs=1"), 1, "disk/run", "No space left on device");
    unmount(NULL);
}

static void test_unwritable_output(void **state)
{
    (void)state;
    mount_disk("size=1m");
    const char *config = liana__test_tiny_run(40);
    assert_code(train_on_disk(config, "train.epochs=1"), 0);
    remount(MS_RDONLY, "size=1m");
    char run[256], images[256];
    snprintf(run, sizeof run, "%s", liana__test_path("disk/run"));
    snprintf(images, sizeof images, "%s", liana__test_path("test-images"));
    assert_refused(liana__test_command("train", config, "--out", liana__test_path("disk/other")), 1, "disk/other",
                   "Read-only file system");
    assert_refused(liana__test_command("train", config, "train.epochs=1", "--out", run, "--resume"), 1, "disk/run",
                   "Read-only file system");
    assert_refused(liana__test_command("predict", run, "--data", images, "--out",
                                       liana__test_path("disk/predictions.csv")),
                   1, "disk/predictions.csv", "Read-only file system");
    /* Reading needs no writing. */
    assert_code(liana__test_command("evaluate", run), 0);
    assert_code(liana__test_command("predict", run, "--data", images, "--out", liana__test_path("p.csv")), 0);
    unmount(NULL);
}

/* Runs a command that writes shards: onto a disk that fills up, over its own earlier shards on one that fills up, and
 * onto one that cannot be written. Existing files stay. */
static void write_shards(const char *const *words, size_t num_words, const char *overwrite, const char *shard)
{
    const char *all[16] = {0};
    memcpy(all, words, num_words * sizeof *words);
    remount(0, "size=8k");
    assert_refused(liana__test_command_words(all), 1, "No space left on device", "disk/set");
    assert_false(liana__folder_exists(liana__test_path("disk/set")));
    remount(0, "size=200k");
    assert_code(liana__test_command_words(all), 0);
    char kept[256];
    snprintf(kept, sizeof kept, "%s", liana__test_path("kept"));
    char *data;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path(shard), 1 << 20, &data, &size, &error), &error);
    assert_ok(liana__file_replace(kept, data, size, &error), &error);
    free(data);
    fill_disk();
    all[num_words] = overwrite;
    assert_refused(liana__test_command_words(all), 1, "No space left on device", "disk/set");
    assert_same_file(liana__test_path(shard), kept);
    assert_true(liana__file_exists(liana__test_path("disk/set/classes.txt")));
    assert_false(liana__folder_exists(liana__test_path("disk/set/.unfinished")));
    remount(MS_RDONLY, "size=200k");
    assert_refused(liana__test_command_words(all), 1, "Read-only file system", "disk/set");
    assert_same_file(liana__test_path(shard), kept);
    remount(0, "size=200k");
    assert_ok(liana__folder_remove(liana__test_path("disk/set"), &error), &error);
    assert_int_equal(remove(liana__test_path("disk/ballast")), 0);
}

static void test_no_space_for_shards(void **state)
{
    (void)state;
    mount_disk("size=8k");
    liana__test_tiny_data("train", 400, 1);
    char images[256], out[256];
    snprintf(images, sizeof images, "%s", liana__test_path("train-images"));
    snprintf(out, sizeof out, "%s", liana__test_path("disk/set"));
    const char *const convert[] = {"convert", images, "--out", out};
    write_shards(convert, 4, "--overwrite", "disk/set/part00-400.tfrec");
    const char *const synth[] = {"synth", "flowers", "--out", out, "images=30", "image_size=48", "classes=3"};
    write_shards(synth, 7, "overwrite=true", "disk/set/train/flowers00-5.tfrec");
    unmount(NULL);
}

static void test_output_that_is_a_file(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(40);
    liana__test_write("run", "mine", 4);
    assert_refused(train(config, "train.epochs=1"), 1, "cannot make the folder", "run", "File exists");
    char *data;
    size_t size;
    assert_ok(liana__file_read(liana__test_path("run"), 100, &data, &size, NULL), NULL);
    assert_string_equal(data, "mine");
    free(data);
}

/* ---- numbers ---- */

static void test_divergence(void **state)
{
    (void)state;
    liana__test_folder();
    const char *config = liana__test_tiny_run(100);
    assert_refused(train(config, "train.optimizer={name: SGD, learning_rate: 1.0e30}", "checkpoint.every_steps=1"), 1,
                   "the loss is", "at epoch 1, step", "learning rate 1e+30", "diverged");
    /* Checkpoints from before are there. */
    assert_true(liana__folder_exists(liana__test_newest_checkpoint("run")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_records_train),
        cmocka_unit_test(test_wrong_checksum),
        cmocka_unit_test(test_truncated_file),
        cmocka_unit_test(test_missing_feature),
        cmocka_unit_test(test_label_out_of_range),
        cmocka_unit_test(test_undecodable_image),
        cmocka_unit_test(test_image_of_absurd_size),
        cmocka_unit_test(test_weights_of_another_model),
        cmocka_unit_test(test_shapes_that_do_not_fit),
        cmocka_unit_test(test_wrong_keys_and_values),
        cmocka_unit_test_teardown(test_no_disk_space, unmount),
        cmocka_unit_test_teardown(test_no_space_for_predictions, unmount),
        cmocka_unit_test_teardown(test_unwritable_output, unmount),
        cmocka_unit_test_teardown(test_no_space_for_shards, unmount),
        cmocka_unit_test(test_output_that_is_a_file),
        cmocka_unit_test(test_divergence),
    };
    const struct CMUnitTest of_devices[] = {
        cmocka_unit_test(test_good_records_train),
        cmocka_unit_test(test_wrong_checksum),
        cmocka_unit_test(test_truncated_file),
        cmocka_unit_test(test_missing_feature),
        cmocka_unit_test(test_label_out_of_range),
        cmocka_unit_test(test_undecodable_image),
        cmocka_unit_test(test_weights_of_another_model),
        cmocka_unit_test(test_shapes_that_do_not_fit),
        cmocka_unit_test(test_divergence),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (!liana__test_plugin_is_there()) return failed;
    device = "train.device=pjrt:cpu?cpu_device_count=1";
    failed += cmocka_run_group_tests_name("on the plugin", of_devices, NULL, NULL);
    return failed;
}
