/* Writes small TFRecord files, and damages files. */
#include "harness/tiny_records.h"

#include "base/text.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"
#include "harness/gzip_file.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void write_record(liana__tfrecord_writer *writer, liana__example_builder *builder, uint32_t seed, int number,
                         const liana__test_odd *odd)
{
    liana__error error = {0};
    uint8_t pixels[LIANA__TINY_SIZE * LIANA__TINY_SIZE];
    int shown = odd->other_image ? odd->other_image : number;
    int64_t label = liana__test_tiny_image(seed, (uint32_t)shown, pixels) + odd->label_plus;
    liana__text png = {0};
    assert_ok(liana__png_encode(pixels, LIANA__TINY_SIZE, LIANA__TINY_SIZE, 1, &png, &error), &error);
    liana__example_add_bytes(builder, "image", odd->image ? odd->image : png.data,
                             odd->image ? odd->image_size : png.length);
    if (!odd->unlabelled) liana__example_add_int64s(builder, "class", &label, 1);
    char id[24];
    int length = snprintf(id, sizeof id, "img%03d", number);
    liana__example_add_bytes(builder, "id", id, (size_t)length);
    const uint8_t *bytes;
    size_t size;
    assert_ok(liana__example_pack(builder, &bytes, &size, &error), &error);
    assert_ok(liana__tfrecord_writer_add(writer, bytes, size, &error), &error);
    liana__text_free(&png);
}

void liana__test_tiny_records(const char *name, uint32_t seed, int first, int count, const liana__test_odd *odd,
                              size_t num_odd)
{
    liana__error error = {0};
    liana__tfrecord_writer writer;
    assert_ok(liana__tfrecord_writer_begin(&writer, liana__test_path(name), &error), &error);
    liana__example_builder builder = {0};
    for (int i = 0; i < count; i++) {
        liana__test_odd which = {.record = i};
        for (size_t k = 0; k < num_odd; k++) {
            if (odd[k].record == i) which = odd[k];
        }
        write_record(&writer, &builder, seed, first + i, &which);
    }
    liana__example_builder_free(&builder);
    assert_ok(liana__tfrecord_writer_commit(&writer, false, &error), &error);
    if (liana__ends_with(name, ".gz")) liana__test_gzip(liana__test_path(name));
}

long liana__test_file_size(const char *path)
{
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    return (long)info.st_size;
}

long liana__test_record_offset(const char *path, int record)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    long offset = 0;
    for (int i = 0; i < record; i++) {
        uint64_t length;
        assert_int_equal(fseek(file, offset, SEEK_SET), 0);
        assert_int_equal(fread(&length, sizeof length, 1, file), 1);
        offset += 16 + (long)length;
    }
    fclose(file);
    return offset;
}

void liana__test_flip_bit(const char *path, long offset)
{
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    int byte = fgetc(file);
    assert_compare(byte, !=, EOF);
    assert_int_equal(fseek(file, offset, SEEK_SET), 0);
    fputc(byte ^ 4, file);
    assert_int_equal(fclose(file), 0);
}

void liana__test_damage_record(const char *path, int record)
{
    liana__test_flip_bit(path, liana__test_record_offset(path, record) + 20);
}

void liana__test_cut(const char *path, long size)
{
    assert_int_equal(truncate(path, size), 0);
}
