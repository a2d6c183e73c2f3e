/* Data that change, vanish or lie while they are read, and places that cannot be read or written: a message, never a
 * signal, and nothing is lost. */
#include "harness/gzip_file.h"
#include "harness/peers.h"
#include "harness/tiny_records.h"
#include "harness/wait_until.h"

#include "base/crc32c.h"
#include "base/file_view.h"
#include "data/check/bad_records.h"
#include "data/loader/loader.h"
#include "data/source/source_open.h"
#include "formats/hdf5.h"
#include "formats/image.h"
#include "formats/safetensors.h"
#include "formats/tfrecord.h"
#include "train/checkpoint/weights.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char *write_config(const char *text)
{
    static char path[256];
    snprintf(path, sizeof path, "%s", liana__test_write("config.yaml", text, strlen(text)));
    return path;
}

/* ---- files that change under a run ---- */

/* Bytes of a mapping that are gone when they are read, which no check beforehand can see, are an error and no SIGBUS.
 */
static void test_pages_that_are_gone(void **state)
{
    (void)state;
    liana__test_folder();
    enum { SIZE = 3 * 65536 };
    static char bytes[SIZE], copy[SIZE];
    memset(bytes, 7, SIZE);
    liana__error error = {0};
    liana__mapping mapping;
    const char *path = liana__test_write("mapped", bytes, SIZE);
    assert_ok(liana__file_map(path, &mapping, &error), &error);
    assert_ok(liana__mapping_copy(&mapping, path, 5, copy, SIZE - 5, &error), &error);
    assert_memory_equal(copy, bytes, SIZE - 5);
    liana__test_cut(path, 65536);
    assert_fails(liana__mapping_copy(&mapping, path, 0, copy, SIZE, &error), LIANA_DATA_LOSS, &error, "mapped",
                 "became shorter", "65536 of 196608");
    assert_fails(liana__mapping_copy(&mapping, "elsewhere", 0, copy, SIZE, &error), LIANA_IO_ERROR, &error, "elsewhere",
                 "offset 65536");
    assert_ok(liana__mapping_copy(&mapping, "elsewhere", 0, copy, 65536, &error), &error);
    liana__file_unmap(&mapping);
}

/* Cuts a file and writes it again, over and over. */
typedef struct spoiler {
    char path[256];
    char *bytes;
    size_t size;
    atomic_bool stop;
} spoiler;

static void *spoil(void *user)
{
    spoiler *own = user;
    while (!atomic_load(&own->stop)) {
        FILE *file = fopen(own->path, "wb"); /* cuts it to nothing */
        if (!file) break;
        fwrite(own->bytes, 1, own->size, file);
        fclose(file);
    }
    return NULL;
}

static void test_file_cut_while_it_is_read(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_records("cut.tfrec", 1, 0, 200, NULL, 0);
    spoiler own = {.size = 0};
    snprintf(own.path, sizeof own.path, "%s", liana__test_path("cut.tfrec"));
    liana__error error = {0};
    assert_ok(liana__file_read(own.path, 1 << 22, &own.bytes, &own.size, &error), &error);
    liana__tfrecord *file;
    assert_ok(liana__tfrecord_open(own.path, NULL, &file, &error), &error);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, spoil, &own), 0);
    liana__tfrecord_reader reader = {0};
    for (int i = 0; i < 20000; i++) {
        const uint8_t *bytes;
        size_t size;
        liana_status status = liana__tfrecord_read(file, (size_t)(i % 200), &reader, &bytes, &size, &error);
        if (status == LIANA_OK) continue;
        if (status != LIANA_DATA_LOSS) assert_int_equal(status, LIANA_IO_ERROR);
        assert_says(error.message, "cut.tfrec");
    }
    atomic_store(&own.stop, true);
    pthread_join(thread, NULL);
    liana__tfrecord_reader_free(&reader);
    liana__tfrecord_close(file);
    free(own.bytes);
}

/* The same while its records are looked for: in a view of it, and in each kind of file that has an index made. */
static void test_views_of_pages_that_are_gone(void **state)
{
    (void)state;
    liana__test_folder();
    enum { SIZE = 3 * 65536 };
    static char bytes[SIZE];
    for (int i = 0; i < SIZE; i++) bytes[i] = (char)(i * 7 + i / 256);
    liana__error error = {0};
    liana__mapping mapping;
    const char *path = liana__test_write("viewed", bytes, SIZE);
    assert_ok(liana__file_map(path, &mapping, &error), &error);
    liana__file_view view = liana__file_view_of(path, &mapping, 1000);
    const uint8_t *found;
    size_t size;
    for (size_t at = 0; at < SIZE; at += size) {
        assert_ok(liana__file_view_next(&view, at, &found, &size, &error), &error);
        assert_compare(size, >, 0);
        assert_compare(size, <=, 1000);
        assert_memory_equal(found, bytes + at, size);
    }
    for (size_t at = 0; at < SIZE; at += 997) {
        size_t wanted = at % 3000 < SIZE - at ? at % 3000 : SIZE - at;
        assert_ok(liana__file_view_get(&view, at, wanted, &found, &error), &error);
        assert_memory_equal(found, bytes + at, wanted);
    }
    assert_ok(liana__file_view_check(&view, &error), &error);
    liana__test_cut(path, 65536);
    assert_fails(liana__file_view_get(&view, 65000, 2000, &found, &error), LIANA_DATA_LOSS, &error, "viewed",
                 "became shorter", "65536 of 196608");
    assert_ok(liana__file_view_get(&view, 60000, 2000, &found, &error), &error);
    assert_fails(liana__file_view_check(&view, &error), LIANA_DATA_LOSS, &error, "viewed", "became shorter");
    liana__file_view_free(&view);
    liana__file_unmap(&mapping);
}

/* Opens a file of many records while it is cut and written again: `times` times, and until it once was not whole. */
static void open_while_spoiled(const char *name, int times)
{
    spoiler own = {.size = 0};
    liana__error error = {0};
    int num_whole = 0;
    snprintf(own.path, sizeof own.path, "%s", liana__test_path(name));
    assert_ok(liana__file_read(own.path, 1 << 26, &own.bytes, &own.size, &error), &error);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, spoil, &own), 0);
    for (int i = 0; i < times || num_whole == i; i++) {
        const char *pattern = own.path;
        liana__source *source;
        liana_status status = liana__source_open(&pattern, 1, &(liana__source_options){.kind = NULL}, &source, &error);
        if (status == LIANA_OK) {
            num_whole++;
            liana__source_close(source);
            continue;
        }
        bool expected = status == LIANA_DATA_LOSS || status == LIANA_IO_ERROR || status == LIANA_INVALID_DATA;
        if (!expected) fail_msg("%s: %s", name, error.message);
        assert_says(error.message, name);
    }
    atomic_store(&own.stop, true);
    pthread_join(thread, NULL);
    free(own.bytes);
}

static void put_tar_member(FILE *file, const char *name, const uint8_t *bytes, size_t size)
{
    char header[512] = {0}, padding[512] = {0};
    snprintf(header, 100, "%s", name);
    memcpy(header + 100, "0000644", 8);
    snprintf(header + 124, 12, "%011o", (unsigned)size);
    memset(header + 148, ' ', 8);
    header[156] = '0';
    memcpy(header + 257, "ustar\00000", 8);
    unsigned sum = 0;
    for (size_t i = 0; i < sizeof header; i++) sum += (uint8_t)header[i];
    snprintf(header + 148, 8, "%06o", sum);
    assert_int_equal(fwrite(header, 1, sizeof header, file), sizeof header);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fwrite(padding, 1, (512 - size % 512) % 512, file);
}

static void test_files_cut_while_they_are_indexed(void **state)
{
    (void)state;
    liana__test_folder();
    enum { RECORDS = 3000 };
    liana__test_tiny_records("plain.tfrec", 1, 0, RECORDS, NULL, 0);
    char *bytes;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(liana__test_path("plain.tfrec"), 1 << 26, &bytes, &size, &error), &error);
    liana__test_write_gzip(liana__test_path("packed.tfrec"), bytes, size);
    FILE *tar = fopen(liana__test_path("many.tar"), "wb");
    assert_non_null(tar);
    for (int i = 0; i < RECORDS; i++) {
        char name[32];
        snprintf(name, sizeof name, "%06d.jpg", i);
        put_tar_member(tar, name, (const uint8_t *)bytes, 300);
    }
    fwrite((char[1024]){0}, 1, 1024, tar);
    fclose(tar);
    uint8_t head[16] = {0, 0, 8, 3, 0, 0, 4, 0, 0, 0, 0, 10, 0, 0, 0, 10};
    memcpy(bytes, head, sizeof head);
    liana__test_write("images.idx", bytes, sizeof head + 1024 * 100);
    free(bytes);
    open_while_spoiled("plain.tfrec", 1500);
    open_while_spoiled("packed.tfrec", 300);
    open_while_spoiled("many.tar", 1500);
    open_while_spoiled("images.idx", 1500);
}

/* Weights: each tensor is read, or an error says what became of the file. */
static liana_status read_weights(const char *path, liana__error *error)
{
    static float values[1 << 16];
    liana__weight_source source;
    LIANA_TRY(liana__weight_source_open(path, NULL, 0, &source, error));
    liana_status status = LIANA_OK;
    for (size_t i = 0; i < source.num_layers && status == LIANA_OK; i++) {
        const liana__source_layer *layer = &source.layers[i];
        for (size_t k = 0; k < layer->num_weights && status == LIANA_OK; k++) {
            status = liana__weight_source_read(&source, &layer->weights[k], values, error);
        }
    }
    liana__weight_source_close(&source);
    return status;
}

static liana_status read_with_checksum(const char *path, liana__error *error)
{
    uint32_t checksum;
    liana__safetensors file;
    LIANA_TRY(liana__safetensors_open(path, &file, error));
    liana_status status = liana__safetensors_checksum(&file, &checksum, error);
    liana__safetensors_close(&file);
    return status;
}

static liana_status inspect_file(const char *path, liana__error *error)
{
    liana__test_result got = liana__test_command("inspect", path);
    const int code = got.code;
    if (code) snprintf(error->message, sizeof error->message, "%s", got.err);
    if (code != 0) assert_int_equal(code, 1);
    liana__test_free_result(&got);
    return code ? LIANA_DATA_LOSS : LIANA_OK;
}

/* Reads a file while it is cut and written again: `times` times, and until it once was not whole. */
static void read_while_spoiled(const char *name, liana_status (*reads)(const char *path, liana__error *error),
                               int times)
{
    spoiler own = {.size = 0};
    liana__error error = {0};
    int num_whole = 0;
    snprintf(own.path, sizeof own.path, "%s", liana__test_path(name));
    assert_ok(liana__file_read(own.path, 1 << 26, &own.bytes, &own.size, &error), &error);
    assert_ok(reads(own.path, &error), &error);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, spoil, &own), 0);
    for (int i = 0; i < times || num_whole == i; i++) {
        const liana_status status = reads(own.path, &error);
        num_whole += status == LIANA_OK;
        if (status != LIANA_OK) assert_says(error.message, name);
    }
    atomic_store(&own.stop, true);
    pthread_join(thread, NULL);
    free(own.bytes);
}

static void test_weights_cut_while_they_are_read(void **state)
{
    (void)state;
    enum { SIZE = 1 << 16, LAYERS = 20 };
    static float values[SIZE];
    static char names[LAYERS][2][32];
    liana__safetensors_tensor tensors[LAYERS];
    liana__hdf5_new_weight weights[LAYERS];
    liana__hdf5_new_layer layers[LAYERS];
    liana__error error = {0};
    liana__test_folder();
    for (int i = 0; i < SIZE; i++) values[i] = (float)i / 3;
    for (int i = 0; i < LAYERS; i++) {
        snprintf(names[i][0], sizeof names[i][0], "dense_%d", i);
        snprintf(names[i][1], sizeof names[i][1], "dense_%d/kernel", i);
        tensors[i] = (liana__safetensors_tensor){names[i][1], LIANA__SAFETENSORS_F32, 1, {SIZE}, .data = values};
        weights[i] = (liana__hdf5_new_weight){names[i][1], 1, {SIZE}, values};
        layers[i] = (liana__hdf5_new_layer){names[i][0], &weights[i], 1};
    }
    const liana__safetensors_contents contents = {tensors, LAYERS, NULL, 0};
    assert_ok(liana__safetensors_write(liana__test_path("w.safetensors"), &contents, false, NULL, &error), &error);
    read_while_spoiled("w.safetensors", read_weights, 200);
    read_while_spoiled("w.safetensors", read_with_checksum, 200);
    read_while_spoiled("w.safetensors", inspect_file, 30);
    assert_ok(liana__hdf5_write(liana__test_path("w.h5"), layers, LAYERS, NULL, &error), &error);
    read_while_spoiled("w.h5", read_weights, 200);
    read_while_spoiled("w.h5", inspect_file, 30);
    uint8_t head[8] = {0, 0, 8, 1, 0, 4, 0, 0}; /* labels */
    char *labels = calloc(1, sizeof head + (4 << 16));
    memcpy(labels, head, sizeof head);
    liana__test_write("labels.idx", labels, sizeof head + (4 << 16));
    free(labels);
    read_while_spoiled("labels.idx", inspect_file, 100);
}

/* The folder of checkpoints is there before the first of them is. */
static bool has_checkpoint(const char *run)
{
    char checkpoints[64];
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", run);
    return liana__folder_exists(liana__test_path(checkpoints)) && *liana__test_newest_checkpoint(run);
}

static void wait_for_checkpoint(const char *run)
{
    wait_until(has_checkpoint(run));
}

/* A training file is cut under a run: the run ends with an error, and once the file is whole again goes on to the same
 * end as one that nothing happened to. */
static void test_file_cut_under_a_run(void **state)
{
    (void)state;
    liana__test_folder();
    static const char text[] = "data: {train: train.tfrec, num_classes: 4, cache: none}\n"
                               "model: {layers: [Flatten, {Dense: {units: 4, activation: softmax}}]}\n"
                               "train: {epochs: 120, batch_size: 16}\n";
    liana__test_tiny_records("train.tfrec", 1, 0, 80, NULL, 0);
    char config[256], path[256], whole[256], cut[256];
    snprintf(config, sizeof config, "%s", write_config(text));
    snprintf(path, sizeof path, "%s", liana__test_path("train.tfrec"));
    snprintf(whole, sizeof whole, "%s", liana__test_path("whole"));
    snprintf(cut, sizeof cut, "%s", liana__test_path("cut"));
    assert_code(liana__test_command("train", config, "--out", whole), 0);
    char *bytes;
    size_t size;
    liana__error error = {0};
    assert_ok(liana__file_read(path, 1 << 22, &bytes, &size, &error), &error);
    const char *const words[] = {"train", config, "--out", cut, NULL};
    pid_t process = liana__test_spawn(words, NULL);
    wait_for_checkpoint("cut");
    liana__test_cut(path, (long)size / 2);
    liana__test_result got = liana__test_wait(process);
    if (got.code != 0) assert_refused(got, 1, "train.tfrec", "became shorter");
    if (got.code == 0) liana__test_free_result(&got); /* it was faster */
    FILE *file = fopen(path, "wb");
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    fclose(file);
    free(bytes);
    assert_code(liana__test_command("train", config, "--out", cut, "--resume"), 0);
    char first[256];
    snprintf(first, sizeof first, "%s", liana__test_path("whole/history.json"));
    assert_same_file(first, liana__test_path("cut/history.json"));
}

/* Image files that vanish after the folders were listed. */
static void test_file_vanishes(void **state)
{
    (void)state;
    liana__test_folder();
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("photos/a"), &error), &error);
    for (int i = 0; i < 4; i++) {
        uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
        liana__test_tiny_image(1, (uint32_t)i, pixels);
        liana__text png = {0};
        assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
        char name[32];
        snprintf(name, sizeof name, "photos/a/%d.png", i);
        liana__test_write(name, png.data, png.length);
        liana__text_free(&png);
    }
    const char *pattern = liana__test_path("photos");
    liana__source *source;
    assert_ok(liana__source_open(&pattern, 1, NULL, &source, &error), &error);
    assert_int_equal(remove(liana__test_path("photos/a/2.png")), 0);
    liana__bad_records list = {0};
    liana__loader_options options = {.image = {.height = 12, .width = 12, .channels = 1}, .batch_size = 4};
    for (int skips = 0; skips < 2; skips++) {
        if (skips) options.bad_records = &list;
        liana__loader *loader;
        liana__batch *batch;
        assert_ok(liana__loader_create(source, &options, &loader, &error), &error);
        assert_ok(liana__loader_begin(loader, 0, 0, &error), &error);
        if (skips) {
            assert_ok(liana__loader_next(loader, &batch, &error), &error);
            assert_int_equal(batch->count, 3);
            assert_int_equal(batch->positions[2], 3);
        } else {
            assert_fails(liana__loader_next(loader, &batch, &error), LIANA_NOT_FOUND, &error, "photos/a/2.png",
                         "No such file");
        }
        liana__loader_destroy(loader);
    }
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].record, -1);
    assert_says(list.items[0].file, "photos/a/2.png");
    liana__bad_records_free(&list);
    liana__source_close(source);
}

/* ---- places that cannot be read or written ---- */

static void test_unreadable_folder(void **state)
{
    (void)state;
    if (geteuid() != 0) liana__test_skip("only root becomes another user");
    const char *folder = liana__test_folder();
    liana__error error = {0};
    assert_ok(liana__folder_make(liana__test_path("photos/a"), &error), &error);
    liana__test_write("photos/a/1.png", "x", 1);
    char photos[256];
    snprintf(photos, sizeof photos, "%s", liana__test_path("photos"));
    assert_int_equal(chmod(folder, 0755), 0);
    assert_int_equal(chmod(photos, 0), 0);
    assert_int_equal(seteuid(65534), 0);
    liana__test_result got = liana__test_command("check", photos);
    assert_int_equal(seteuid(0), 0);
    assert_refused(got, 1, "photos", "Permission denied");
    assert_int_equal(chmod(photos, 0755), 0);
    assert_int_equal(chmod(liana__test_path("photos/a"), 0), 0);
    assert_int_equal(seteuid(65534), 0);
    got = liana__test_command("check", photos);
    assert_int_equal(seteuid(0), 0);
    assert_refused(got, 1, "photos/a", "Permission denied");
}

/* A disk that takes no more: nothing half-written stays. */
static void test_list_that_cannot_be_written(void **state)
{
    (void)state;
    char config[256], list[256];
    liana__test_folder();
    static const char text[] = "data: {train: train.tfrec, num_classes: 4}\n"
                               "model: {layers: [Flatten, {Dense: {units: 4}}]}\n";
    liana__test_tiny_records("train.tfrec", 1, 0, 20, NULL, 0);
    liana__test_damage_record(liana__test_path("train.tfrec"), 3);
    snprintf(config, sizeof config, "%s", write_config(text));
    snprintf(list, sizeof list, "%s", liana__test_path("list.csv"));
    struct rlimit before, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    small = (struct rlimit){.rlim_cur = 100, .rlim_max = before.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    liana__test_result got = liana__test_command("check", config, "--quarantine", list);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_refused(got, 1, "list.csv", "File too large");
    assert_false(liana__file_exists(list));
    assert_false(liana__file_exists(liana__test_path("list.csv.tmp")));
}

/* ---- bombs ---- */

/* A JPEG's header that promises 60,000 x 60,000 pixels, and a record that promises 2^60 bytes. */
static void test_bombs(void **state)
{
    (void)state;
    liana__test_folder();
    static const uint8_t jpeg[] = {0xff, 0xd8, 0xff, 0xc0, 0, 17, 8,    0xea, 0x60, 0xea, 0x60, 3,  1,
                                   0x11, 0,    2,    0x11, 0, 3,  0x11, 0,    0xff, 0xda, 0,    12, 3,
                                   1,    0,    2,    0,    3, 0,  0,    63,   0,    0xff, 0xd9};
    static const liana__test_odd odd[] = {{.record = 2, .image = jpeg, .image_size = sizeof jpeg}};
    liana__test_tiny_records("train-0.tfrec", 1, 0, 12, odd, 1);
    static const char text[] = "data: {train: train-*.tfrec, num_classes: 4, on_bad_record: skip}\n"
                               "model: {layers: [Flatten, {Dense: {units: 4, activation: softmax}}]}\n"
                               "train: {batch_size: 4}\n";
    char config[256];
    snprintf(config, sizeof config, "%s", write_config(text));
    assert_refused(liana__test_command("train", config, "data.on_bad_record=fail", "--out", liana__test_path("run")), 1,
                   "record 2", "60000 x 60000", "at most 178956970 pixels");
    uint8_t header[12] = {0, 0, 0, 0, 0, 0, 0, 0x10};
    uint32_t checksum = liana__crc32c_mask(liana__crc32c(header, 8));
    for (int i = 0; i < 4; i++) header[8 + i] = (uint8_t)(checksum >> (8 * i));
    liana__test_write("train-1.tfrec", header, sizeof header);
    assert_refused(liana__test_command("train", config, "data.on_bad_record=fail", "--out", liana__test_path("run")), 1,
                   "train-1.tfrec", "record 0 at offset 0", "1152921504606846976 bytes", "no record can be so long");
    /* Both can be left out. */
    liana__test_result got = liana__test_command("train", config, "--out", liana__test_path("run"));
    assert_says(got.out, "60000 x 60000");
    assert_says(got.out, "no record can be so long");
    assert_code(got, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pages_that_are_gone),
        cmocka_unit_test(test_file_cut_while_it_is_read),
        cmocka_unit_test(test_views_of_pages_that_are_gone),
        cmocka_unit_test(test_files_cut_while_they_are_indexed),
        cmocka_unit_test(test_weights_cut_while_they_are_read),
        cmocka_unit_test(test_file_cut_under_a_run),
        cmocka_unit_test(test_file_vanishes),
        cmocka_unit_test(test_unreadable_folder),
        cmocka_unit_test(test_list_that_cannot_be_written),
        cmocka_unit_test(test_bombs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
