/* Files that are exchanged or written to while a source has them open: it reads the bytes of the beginning, or fails
 * with an error with the file's name. */
#include "harness/tiny_records.h"
#include "harness/wait_until.h"

#include "base/file.h"
#include "data/source/source_open.h"
#include "formats/image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SIDE = LIANA__TINY_SIZE, COUNT = 6 };

static void write_photo(const char *name, uint32_t seed, uint32_t number)
{
    uint8_t pixels[SIDE * SIDE];
    liana__error error = {0};
    liana__text png = {0};
    liana__test_tiny_image(seed, number, pixels);
    assert_ok(liana__png_encode(pixels, SIDE, SIDE, 1, &png, &error), &error);
    liana__test_write(name, png.data, png.length);
    liana__text_free(&png);
}

/* Class folders, and a list of their files. */
static void write_photos(void)
{
    liana__error error = {0};
    liana__text list = {0};
    char name[64];
    liana__test_folder();
    liana__text_add(&list, "image,label\n");
    for (int class = 0; class < 2; class ++) {
        snprintf(name, sizeof name, "photos/%c", 'a' + class);
        assert_ok(liana__folder_make(liana__test_path(name), &error), &error);
        for (uint32_t i = 0; i < COUNT / 2; i++) {
            snprintf(name, sizeof name, "photos/%c/%u.png", 'a' + class, i);
            write_photo(name, 1, (uint32_t) class * COUNT + i);
            liana__text_add(&list, "%s,%d\n", name, class);
        }
    }
    liana__test_write("list.csv", list.data, list.length);
    liana__text_free(&list);
}

/* Reads record `index`, and copies its bytes, which are `size`. */
static liana_status read_record(const liana__source *source, uint64_t index, uint8_t *bytes, size_t *size,
                                liana__error *error)
{
    void *scratch = liana__source_scratch_create(source);
    liana_source_record record = {0};
    liana_status status = liana__source_read(source, index, scratch, &record, error);
    if (status == LIANA_OK) {
        *size = record.bytes ? record.size : SIDE * SIDE;
        memcpy(bytes, record.bytes ? record.bytes : record.pixels, *size);
    }
    liana__source_scratch_destroy(source, scratch);
    return status;
}

static liana__source *open_source(const char *name)
{
    liana__source *source;
    liana__error error = {0};
    const char *pattern = liana__test_path(name);
    assert_ok(liana__source_open(&pattern, 1, &(liana__source_options){.kind = NULL}, &source, &error), &error);
    return source;
}

/* The ways in which photos/b/1.png becomes another image. */
typedef enum change { RENAMED, RENAMED_WITH_THE_OLD_TIME, WRITTEN, NUM_CHANGES } change;

static void make_change(change how)
{
    struct stat before;
    char path[300];
    snprintf(path, sizeof path, "%s", liana__test_path("photos/b/1.png"));
    assert_int_equal(stat(path, &before), 0);
    if (how == WRITTEN) {
        write_photo("photos/b/1.png", 9, 77);
        return;
    }
    write_photo("new.png", 9, 77);
    /* Only the number of the file in its file system differs then, if the sizes are equal. */
    const struct timespec times[2] = {before.st_atim, before.st_mtim};
    if (how == RENAMED_WITH_THE_OLD_TIME) {
        assert_int_equal(truncate(liana__test_path("new.png"), before.st_size), 0);
        assert_int_equal(utimensat(AT_FDCWD, liana__test_path("new.png"), times, 0), 0);
    }
    assert_int_equal(rename(liana__test_path("new.png"), path), 0);
}

static void test_images(void **state)
{
    (void)state;
    static const char *const names[] = {"photos", "list.csv"};
    for (int i = 0; i < 2; i++) {
        for (int how = 0; how < NUM_CHANGES; how++) {
            write_photos();
            liana__error error = {0};
            uint8_t bytes[4096];
            size_t size;
            liana__source *source = open_source(names[i]);
            assert_int_equal(source->num_records, COUNT);
            make_change((change)how);
            for (uint64_t k = 0; k < COUNT; k++) {
                liana_status status = read_record(source, k, bytes, &size, &error);
                if (k != 4) assert_ok(status, &error);
                if (k == 4) {
                    assert_fails(status, LIANA_DATA_LOSS, &error, "photos/b/1.png",
                                 how == WRITTEN ? "was written to" : "was replaced by another file");
                }
            }
            liana__source_close(source);
            /* A source that begins with the new file may use it. */
            source = open_source(names[i]);
            assert_ok(read_record(source, 4, bytes, &size, &error), how == RENAMED_WITH_THE_OLD_TIME ? NULL : &error);
            liana__source_close(source);
        }
    }
}

/* Files that stay open: another file under the name is not read, and one that is written to is an error. */
static void check_open_file(const char *name)
{
    liana__error error = {0};
    uint8_t before[4096], after[4096];
    size_t size, size_after, length;
    char path[300], *bytes;
    liana__source *source = open_source(name);
    snprintf(path, sizeof path, "%s", liana__test_path(name));
    assert_ok(read_record(source, 3, before, &size, &error), &error);
    assert_ok(liana__file_read(path, 1 << 24, &bytes, &length, &error), &error);
    char *other = calloc(1, length);
    assert_non_null(other);
    liana__test_write("new", other, length);
    assert_int_equal(rename(liana__test_path("new"), path), 0);
    assert_ok(read_record(source, 3, after, &size_after, &error), &error);
    assert_int_equal(size_after, size);
    assert_memory_equal(after, before, size);
    liana__source_close(source);

    liana__test_write(name, bytes, length);
    source = open_source(name);
    assert_ok(read_record(source, 3, after, &size_after, &error), &error);
    assert_memory_equal(after, before, size);
    /* The same bytes are a change too: nobody can see which of them were there before. */
    liana__test_write(name, bytes, length);
    assert_fails(read_record(source, 3, after, &size_after, &error), LIANA_DATA_LOSS, &error, name, "was written to");
    liana__source_close(source);
    free(bytes);
    free(other);
}

static void put_octal(char *to, int digits, unsigned value)
{
    snprintf(to, (size_t)digits + 1, "%0*o", digits, value);
}

static void write_tar(const char *name)
{
    FILE *file = fopen(liana__test_path(name), "wb");
    assert_non_null(file);
    for (int i = 0; i < COUNT; i++) {
        char header[512] = {0}, body[512] = {0};
        snprintf(header, 100, "%03d.jpg", i);
        put_octal(header + 100, 7, 0644);
        put_octal(header + 124, 11, 300);
        memset(header + 148, ' ', 8);
        header[156] = '0';
        memcpy(header + 257, "ustar\00000", 8);
        unsigned sum = 0;
        for (size_t k = 0; k < sizeof header; k++) sum += (uint8_t)header[k];
        put_octal(header + 148, 6, sum);
        for (int k = 0; k < 300; k++) body[k] = (char)(i * 31 + k);
        fwrite(header, 1, sizeof header, file);
        fwrite(body, 1, sizeof body, file);
    }
    fwrite((char[1024]){0}, 1, 1024, file);
    fclose(file);
}

static void test_files_of_many_records(void **state)
{
    (void)state;
    liana__test_folder();
    liana__test_tiny_records("some.tfrec", 1, 0, COUNT, NULL, 0);
    check_open_file("some.tfrec");
    write_tar("some.tar");
    check_open_file("some.tar");
    uint8_t idx[16 + COUNT * SIDE * SIDE] = {0, 0, 8, 3, 0, 0, 0, COUNT, 0, 0, 0, SIDE, 0, 0, 0, SIDE};
    for (size_t i = 16; i < sizeof idx; i++) idx[i] = (uint8_t)(i * 7);
    liana__test_write("images.idx", idx, sizeof idx);
    check_open_file("images.idx");
}

static bool has_checkpoint(const char *run)
{
    char checkpoints[64];
    snprintf(checkpoints, sizeof checkpoints, "%s/checkpoints", run);
    return liana__folder_exists(liana__test_path(checkpoints)) && *liana__test_newest_checkpoint(run);
}

/* An image of a list is exchanged while a run goes on: it ends with an error that names the file. With the old file
 * back it goes on to the end of a run that nothing happened to. */
static void test_image_exchanged_under_a_run(void **state)
{
    (void)state;
    static const char text[] = "data: {train: list.csv, cache: none}\n"
                               "model: {layers: [Flatten, {Dense: {units: 2, activation: softmax}}]}\n"
                               "train: {epochs: 4000, batch_size: 4}\n"
                               "checkpoint: {every_steps: 20}\n";
    write_photos();
    char config[300], whole[300], run[300], image[300];
    snprintf(config, sizeof config, "%s", liana__test_write("config.yaml", text, sizeof text - 1));
    snprintf(whole, sizeof whole, "%s", liana__test_path("whole"));
    snprintf(run, sizeof run, "%s", liana__test_path("run"));
    snprintf(image, sizeof image, "%s", liana__test_path("photos/b/1.png"));
    const char *const words[] = {"train", config, "--out", run, NULL};
    pid_t process = liana__test_spawn(words, NULL);
    wait_until(has_checkpoint("run"));
    assert_int_equal(link(image, liana__test_path("old.png")), 0);
    write_photo("new.png", 9, 77);
    assert_int_equal(rename(liana__test_path("new.png"), image), 0);
    assert_refused(liana__test_wait(process), 1, "photos/b/1.png", "was replaced by another file");
    assert_int_equal(rename(liana__test_path("old.png"), image), 0);
    /* An epoch has two updates. */
    char epochs[64], first[400];
    const long updates = strtol(strrchr(liana__test_newest_checkpoint("run"), '-') + 1, NULL, 10);
    snprintf(epochs, sizeof epochs, "train.epochs=%ld", updates / 2 + 5);
    assert_code(liana__test_command("train", config, epochs, "--out", run, "--resume"), 0);
    assert_code(liana__test_command("train", config, epochs, "--out", whole), 0);
    snprintf(first, sizeof first, "%s/history.json", run);
    assert_same_file(first, liana__test_path("whole/history.json"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_images),
        cmocka_unit_test(test_files_of_many_records),
        cmocka_unit_test(test_image_exchanged_under_a_run),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
