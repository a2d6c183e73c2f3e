/* JPEG and PNG against what Pillow makes of them. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "formats/image.h"
#include "samples/image_samples.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

static uint32_t image_checksum(const liana__image *image)
{
    size_t size = (size_t)image->height * (size_t)image->width * (size_t)image->channels;
    return (uint32_t)crc32(0, image->pixels, (uInt)size);
}

static size_t from_hex(const char *hex, uint8_t *out)
{
    size_t size = strlen(hex) / 2;
    for (size_t i = 0; i < size; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        out[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return size;
}

/* Pillow 9.4's pixels of real files: convert("RGB") after ImageOps.exif_transpose, and for grey its draft("L") mode
 * (the JPEG's own luma) or, for CMYK, convert("L") of the RGB. */
static const struct {
    const char *name;
    int height, width, channels;
    uint32_t rgb, grey;
} PHOTOS[] = {
    {"jpeg_odd/broken_exif_dpi.jpg", 100, 100, 3, 0x78d0ff9e, 0x1e017efc},
    {"jpeg_odd/hopper.jpg", 128, 128, 3, 0x9a292e3e, 0x13788091},
    {"jpeg_odd/hopper_16bit_qtables.jpg", 128, 128, 3, 0x2dd7843c, 0x7617b8aa},
    {"jpeg_odd/hopper_gray.jpg", 128, 128, 1, 0x7af19e35, 0x9a5cda41},
    {"jpeg_odd/hopper_orientation_6.jpg", 128, 128, 3, 0x2e705e79, 0x37eec3c0},
    {"jpeg_odd/hopper_orientation_8.jpg", 128, 128, 3, 0xca5eb7a9, 0x9bbb583c},
    {"jpeg_odd/icc-after-SOF.jpg", 10, 10, 1, 0xb5348fd2, 0x9988c6ca},
    {"jpeg_odd/invalid-exif.jpg", 200, 200, 3, 0x12603fb3, 0xfe27f354},
    {"jpeg_odd/jpeg_ff00_header.jpg", 225, 300, 3, 0x38fa8804, 0xe06fbfd9},
    {"jpeg_odd/junk_jpeg_header.jpg", 768, 1024, 3, 0xaefa9366, 0x9d0ec208},
    {"jpeg_odd/pil_sample_cmyk.jpg", 100, 100, 3, 0xb166528d, 0x6d3a8e0b},
    {"jpeg_odd/tower.jpg", 512, 512, 3, 0x64fdc880, 0x70600f51},
    {"jpeg_odd/tower_grayscale.jpg", 512, 512, 1, 0xbf006790, 0x733c8431},
    {"jpeg_odd/tower_progressive.jpg", 512, 512, 3, 0x64fdc880, 0x70600f51},
    {"photos/cat_rcmalli.jpeg", 217, 240, 3, 0x80ff3303, 0x700f02e5},
    {"photos/coffee.jpg", 800, 800, 3, 0x71f2b039, 0x9089f589},
    {"photos/coral_hot_dog.jpg", 384, 512, 3, 0x56f6a512, 0x37744270},
    {"photos/coral_parrot.jpg", 929, 512, 3, 0xe24986a9, 0x44217e3a},
    {"photos/panda.jpg", 613, 696, 3, 0xf757c563, 0x948f6e85},
    {"photos/webnn_test.jpg", 635, 960, 3, 0xb15afbdc, 0x7635b99e},
};

static void test_photos_have_pillows_pixels(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    for (size_t i = 0; i < sizeof PHOTOS / sizeof *PHOTOS; i++) {
        liana__mapping file;
        assert_ok(liana__file_map(liana__test_data(PHOTOS[i].name), &file, &error), &error);
        for (int channels = 0; channels <= 3; channels++) {
            if (channels == 2) continue;
            liana__image_options options = {.channels = channels};
            assert_ok(liana__image_decode(file.data, file.size, &options, &image, &error), &error);
            assert_int_equal(image.height, PHOTOS[i].height);
            assert_int_equal(image.width, PHOTOS[i].width);
            assert_int_equal(image.channels, channels ? channels : PHOTOS[i].channels);
            uint32_t expected = image.channels == 3 ? PHOTOS[i].rgb : PHOTOS[i].grey;
            if (image_checksum(&image) != expected) fail_msg("%s: other pixels", PHOTOS[i].name);
        }
        assert_ok(liana__image_probe(file.data, file.size, NULL, &image, &error), &error);
        assert_int_equal(image.height, PHOTOS[i].height);
        assert_int_equal(image.width, PHOTOS[i].width);
        assert_int_equal(image.channels, PHOTOS[i].channels);
        liana__file_unmap(&file);
    }
    liana__image_free(&image);
}

/* The same through Pillow's Image.draft, for half, a quarter and an eighth of the size. */
static const struct {
    const char *name;
    int height, width;
    uint32_t rgb;
} REDUCED[][3] = {
    {
        {"photos/coffee.jpg", 400, 400, 0x7cd557f4},
        {"photos/coffee.jpg", 200, 200, 0xccb6e1f3},
        {"photos/coffee.jpg", 100, 100, 0x4705c52c},
    },
    {
        {"photos/panda.jpg", 307, 348, 0x8a27554e},
        {"photos/panda.jpg", 154, 174, 0xcef21cb5},
        {"photos/panda.jpg", 77, 87, 0xca400896},
    },
    {
        {"photos/webnn_test.jpg", 318, 480, 0x84010a6c},
        {"photos/webnn_test.jpg", 159, 240, 0xad7856c5},
        {"photos/webnn_test.jpg", 80, 120, 0x2626b5df},
    },
    {
        {"jpeg_odd/tower_progressive.jpg", 256, 256, 0xaf78613a},
        {"jpeg_odd/tower_progressive.jpg", 128, 128, 0xb5df4007},
        {"jpeg_odd/tower_progressive.jpg", 64, 64, 0xcfbc4d2b},
    },
};

static void test_reduced_photos_have_pillows_pixels(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    for (size_t i = 0; i < sizeof REDUCED / sizeof *REDUCED; i++) {
        liana__mapping file;
        assert_ok(liana__file_map(liana__test_data(REDUCED[i][0].name), &file, &error), &error);
        for (int k = 0; k < 3; k++) {
            liana__image_options options = {.channels = 3,
                                            .least_height = REDUCED[i][k].height,
                                            .least_width = REDUCED[i][k].width};
            assert_ok(liana__image_decode(file.data, file.size, &options, &image, &error), &error);
            assert_int_equal(image.height, REDUCED[i][k].height);
            assert_int_equal(image.width, REDUCED[i][k].width);
            assert_int_equal(image_checksum(&image), REDUCED[i][k].rgb);
            /* One pixel more is too many for this size, along either side. */
            int larger = k ? REDUCED[i][k - 1].height : 0;
            options.least_height++;
            assert_ok(liana__image_decode(file.data, file.size, &options, &image, &error), &error);
            if (larger) assert_int_equal(image.height, larger);
            options.least_height--;
            options.least_width++;
            assert_ok(liana__image_decode(file.data, file.size, &options, &image, &error), &error);
            if (larger) assert_int_equal(image.height, larger);
            options.least_height = 0;
            assert_ok(liana__image_decode(file.data, file.size, &options, &image, &error), &error);
            assert_compare(image.height, >, REDUCED[i][0].height, i);
        }
        liana__file_unmap(&file);
    }
    /* The size asked for is that after turning. */
    uint8_t bytes[1024];
    size_t size = from_hex(ORIENTED_JPEG, bytes);
    for (int orientation = 1; orientation <= 8; orientation++) {
        bytes[ORIENTATION_OFFSET] = (uint8_t)orientation;
        int height = (ORIENTED_JPEG_TURNED[orientation - 1].height + 1) / 2;
        int width = (ORIENTED_JPEG_TURNED[orientation - 1].width + 1) / 2;
        liana__image_options options = {.channels = 3, .least_height = height, .least_width = width};
        assert_ok(liana__image_decode(bytes, size, &options, &image, &error), &error);
        assert_int_equal(image.height, height);
        assert_int_equal(image.width, width);
    }
    liana__image_free(&image);
}

/* An image of the target's size goes there; every other one does not touch it. */
static void test_targets(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0}, usual = {0};
    uint8_t jpeg[1024], png[2048];
    size_t jpeg_size = from_hex(ORIENTED_JPEG, jpeg), png_size = from_hex(PNG_SAMPLES[0].hex, png);
    for (int i = 0; i <= 8; i++) {
        const uint8_t *bytes = i ? jpeg : png;
        size_t size = i ? jpeg_size : png_size;
        if (i) jpeg[ORIENTATION_OFFSET] = (uint8_t)i;
        for (int channels = 1; channels <= 3; channels += 2) {
            liana__image_options options = {.channels = channels};
            assert_ok(liana__image_decode(bytes, size, &options, &usual, &error), &error);
            size_t count = (size_t)(usual.height * usual.width * channels);
            uint8_t *target = malloc(count + 1);
            target[count] = 77;
            options.target = (liana__image_target){target, usual.height, usual.width};
            assert_ok(liana__image_decode(bytes, size, &options, &image, &error), &error);
            assert_ptr_equal(image.pixels, target);
            assert_memory_equal(image.pixels, usual.pixels, count);
            memset(target, 77, count);
            options.target.width++;
            assert_ok(liana__image_decode(bytes, size, &options, &image, &error), &error);
            assert_ptr_not_equal(image.pixels, target);
            assert_memory_equal(image.pixels, usual.pixels, count);
            for (size_t k = 0; k <= count; k++) assert_int_equal(target[k], 77);
            free(target);
        }
    }
    liana__image_free(&image);
    liana__image_free(&usual);
}

static void test_truncated_photo_is_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    liana__mapping file;
    assert_ok(liana__file_map(liana__test_data("jpeg_odd/truncated_jpeg.jpg"), &file, &error), &error);
    assert_fails(liana__image_decode(file.data, file.size, NULL, &image, &error), LIANA_DATA_LOSS, &error, "JPEG");
    assert_int_equal(image.height, 0);
    liana__file_unmap(&file);
    liana__image_free(&image);
}

static void test_png_of_every_kind(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    for (size_t i = 0; i < sizeof PNG_SAMPLES / sizeof *PNG_SAMPLES; i++) {
        const png_sample *sample = &PNG_SAMPLES[i];
        uint8_t bytes[2048];
        size_t size = from_hex(sample->hex, bytes);
        for (int channels = 0; channels <= 3; channels++) {
            if (channels == 2) continue;
            liana__image_options options = {.channels = channels};
            assert_ok(liana__image_decode(bytes, size, &options, &image, &error), &error);
            assert_int_equal(image.height, 5);
            assert_int_equal(image.width, 7);
            assert_int_equal(image.channels, channels ? channels : sample->channels);
            uint32_t expected = image.channels == 3 ? sample->rgb : sample->grey;
            if (image_checksum(&image) != expected) fail_msg("%s, %d channels: other pixels", sample->name, channels);
        }
        assert_ok(liana__image_probe(bytes, size, NULL, &image, &error), &error);
        assert_int_equal(image.channels, sample->channels);
    }
    liana__image_free(&image);
}

static void test_all_exif_orientations(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    uint8_t bytes[1024];
    size_t size = from_hex(ORIENTED_JPEG, bytes);
    for (int orientation = 0; orientation <= 9; orientation++) {
        bytes[ORIENTATION_OFFSET] = (uint8_t)orientation;
        int known = orientation >= 1 && orientation <= 8 ? orientation : 1; /* 0 and 9 mean nothing */
        assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
        assert_int_equal(image.height, ORIENTED_JPEG_TURNED[known - 1].height);
        assert_int_equal(image.width, ORIENTED_JPEG_TURNED[known - 1].width);
        assert_int_equal(image_checksum(&image), ORIENTED_JPEG_TURNED[known - 1].rgb);
        liana__image_options stored = {.ignore_orientation = true};
        assert_ok(liana__image_decode(bytes, size, &stored, &image, &error), &error);
        assert_int_equal(image_checksum(&image), ORIENTED_JPEG_TURNED[0].rgb);
    }
    liana__image_free(&image);
}

static void test_adobes_marker_inverts_the_inks(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    uint8_t bytes[1024];
    size_t size = from_hex(CMYK_JPEG, bytes);
    assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
    assert_int_equal(image.height, 8);
    assert_int_equal(image.width, 16);
    assert_int_equal(image.channels, 3);
    assert_int_equal(image_checksum(&image), CMYK_JPEG_RGB);
    size -= ADOBE_MARKER_SIZE;
    memmove(bytes + ADOBE_MARKER_OFFSET, bytes + ADOBE_MARKER_OFFSET + ADOBE_MARKER_SIZE, size - ADOBE_MARKER_OFFSET);
    assert_ok(liana__image_decode(bytes, size, NULL, &image, &error), &error);
    assert_int_equal(image_checksum(&image), CMYK_JPEG_RGB_WITHOUT_MARKER);
    liana__image_free(&image);
}

/* Every cut of a file is found out: no pixels are made up. */
static void test_every_truncation_is_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    uint8_t bytes[2048];
    size_t size = from_hex(ORIENTED_JPEG, bytes);
    for (size_t cut = 3; cut < size; cut++) {
        uint8_t *exact = malloc(cut); /* so that AddressSanitizer sees a read past the end */
        memcpy(exact, bytes, cut);
        assert_fails(liana__image_decode(exact, cut, NULL, &image, &error), LIANA_DATA_LOSS, &error, "JPEG");
        free(exact);
    }
    size = from_hex(PNG_SAMPLES[9].hex, bytes);
    for (size_t cut = 8; cut < size; cut++) {
        uint8_t *exact = malloc(cut);
        memcpy(exact, bytes, cut);
        assert_fails(liana__image_decode(exact, cut, NULL, &image, &error), LIANA_DATA_LOSS, &error, "PNG",
                     "truncated");
        free(exact);
    }
    liana__image_free(&image);
}

static void test_other_bytes_are_named(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    static const struct {
        const char *bytes;
        size_t size;
        const char *says;
    } cases[] = {
        {"", 0, "empty"},
        {"\0\0\0\x18"
         "ftypheic....",
         16, "an HEIC image"},
        {"BM is no image", 14, "text ('BM is no image')"},
        {"<html><body>404 not found", 25, "a web page (HTML) ('<html><body>404 ...')"},
        {"\0\0\0\0\0", 5, "5 zero bytes"},
        {"\x01\x02\x03\xff", 4, "4 bytes that start with 01 02 03 ff"},
        {"\x1f\x8b\x08\0\0", 5, "gzip"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_fails(liana__image_decode(cases[i].bytes, cases[i].size, NULL, &image, &error), LIANA_INVALID_DATA,
                     &error, "expected a JPEG, PNG", cases[i].says);
    }
}

static void put_big_endian(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* A few kilobytes can ask for any number of passes over the image. */
static void test_endless_scans_are_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    liana__text many = {0};
    liana__mapping file;
    assert_ok(liana__file_map(liana__test_data("jpeg_odd/tower_progressive.jpg"), &file, &error), &error);
    const uint8_t *stop = file.data + file.size;
    const uint8_t *frame = memmem(file.data, file.size, "\xff\xc2", 2); /* progressive: not the thumbnail's */
    assert_non_null(frame);
    const uint8_t *scan = memmem(frame, (size_t)(stop - frame), "\xff\xda", 2), *end = scan + 2;
    assert_non_null(scan);
    while (end[0] != 0xff || end[1] == 0) end++; /* the scan ends at the next marker */
    liana__text_add_bytes(&many, (const char *)file.data, (size_t)(end - file.data));
    for (int i = 0; i < 600; i++) liana__text_add_bytes(&many, (const char *)scan, (size_t)(end - scan));
    liana__text_add_bytes(&many, (const char *)end, (size_t)(stop - end));
    assert_fails(liana__image_decode(many.data, many.length, NULL, &image, &error), LIANA_INVALID_DATA, &error,
                 "more than 500 scans");
    liana__text_free(&many);
    liana__file_unmap(&file);
    liana__image_free(&image);
}

static void test_absurd_sizes_are_refused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    uint8_t bytes[2048];
    size_t size = from_hex(ORIENTED_JPEG, bytes);
    uint8_t *frame = memmem(bytes, size, "\xff\xc0\x00\x11\x08", 5); /* start of frame: height, width */
    assert_non_null(frame);
    memcpy(frame + 5, "\xea\x60\xea\x60", 4);
    assert_fails(liana__image_decode(bytes, size, NULL, &image, &error), LIANA_OUT_OF_RANGE, &error, "JPEG",
                 "60000 x 60000", "178956970");
    assert_null(image.pixels);

    size = from_hex(PNG_SAMPLES[0].hex, bytes);
    put_big_endian(bytes + 16, 60000); /* IHDR: width, height, then its checksum */
    put_big_endian(bytes + 20, 60001);
    put_big_endian(bytes + 29, (uint32_t)crc32(0, bytes + 12, 17));
    assert_fails(liana__image_decode(bytes, size, NULL, &image, &error), LIANA_OUT_OF_RANGE, &error, "PNG",
                 "60001 x 60000", "178956970");
    assert_null(image.pixels);

    liana__image_options small = {.max_pixels = 34};
    size = from_hex(PNG_SAMPLES[0].hex, bytes);
    assert_fails(liana__image_decode(bytes, size, &small, &image, &error), LIANA_OUT_OF_RANGE, &error, "5 x 7", "34");
    small.max_pixels = 35;
    assert_ok(liana__image_decode(bytes, size, &small, &image, &error), &error);
    liana__image_free(&image);
}

/* Random damage never crashes (AddressSanitizer watches), and images that decode have a shape. */
static void test_damaged_bytes_never_crash(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    liana__philox_key key = liana__philox_make_key(1, LIANA__STREAM_TEST, 1);
    size_t num_samples = sizeof PNG_SAMPLES / sizeof *PNG_SAMPLES + 1;
    int decoded = 0, refused = 0;
    for (uint32_t round = 0; round < 6000; round++) {
        uint8_t original[2048];
        size_t which = round % (2 * num_samples);
        size_t size = from_hex(which < num_samples - 1 ? PNG_SAMPLES[which].hex : ORIENTED_JPEG, original);
        uint32_t words[4];
        liana__philox(key, (const uint32_t[4]){round, 0, 0, 0}, words);
        if (words[3] % 4 == 0) size = 1 + words[3] / 4 % size;
        uint8_t *bytes = malloc(size);
        memcpy(bytes, original, size);
        for (int i = 0; i < 2; i++) bytes[words[i] % size] ^= (uint8_t)(1u << (words[2] >> 8 * i) % 8);
        liana__image_options options = {.channels = round % 2 ? 3 : 1, .max_pixels = 1 << 20};
        if (liana__image_decode(bytes, size, &options, &image, &error) == LIANA_OK) {
            assert_compare(image.height, >=, 1);
            assert_compare(image.width, >=, 1);
            assert_compare(image.height * image.width, <=, 1 << 20);
            decoded++;
        } else {
            assert_compare(strlen(error.message), >, 10);
            refused++;
        }
        free(bytes);
    }
    assert_compare(decoded, >, 100);
    assert_compare(refused, >, 100);
    liana__image_free(&image);
}

static void fill_picture(uint8_t *pixels, int height, int width, int channels)
{
    for (int y = 0; y < height; y++) {
        for (int x = 0; x < width; x++) {
            for (int c = 0; c < channels; c++) {
                pixels[(y * width + x) * channels + c] = (uint8_t)(x * (3 + c) + y * (5 - c));
            }
        }
    }
}

static void test_encoders_round_trip(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    uint8_t pixels[13 * 17 * 3];
    for (int channels = 1; channels <= 3; channels += 2) {
        fill_picture(pixels, 13, 17, channels);
        liana__text out = {0};
        assert_ok(liana__png_encode(pixels, 13, 17, channels, &out, &error), &error);
        assert_int_equal(liana__image_sniff(out.data, out.length), LIANA__IMAGE_PNG);
        assert_ok(liana__image_decode(out.data, out.length, NULL, &image, &error), &error);
        assert_int_equal(image.height, 13);
        assert_int_equal(image.width, 17);
        assert_int_equal(image.channels, channels);
        assert_memory_equal(image.pixels, pixels, (size_t)(13 * 17 * channels));

        out.length = 0;
        assert_ok(liana__jpeg_encode(pixels, 13, 17, channels, 95, &out, &error), &error);
        assert_int_equal(liana__image_sniff(out.data, out.length), LIANA__IMAGE_JPEG);
        assert_ok(liana__image_decode(out.data, out.length, NULL, &image, &error), &error);
        assert_int_equal(image.height, 13);
        assert_int_equal(image.width, 17);
        assert_int_equal(image.channels, channels);
        double difference = 0;
        for (int i = 0; i < 13 * 17 * channels; i++) difference += abs(image.pixels[i] - pixels[i]);
        assert_compare(difference / (13 * 17 * channels), <, 3, channels);
        liana__text_free(&out);
    }
    liana__text out = {0};
    assert_fails(liana__png_encode(pixels, 0, 17, 3, &out, &error), LIANA_INVALID_ARGUMENT, &error, "0 x 17");
    assert_fails(liana__jpeg_encode(pixels, 1, 70000, 3, 90, &out, &error), LIANA_INVALID_ARGUMENT, &error, "70000");
    assert_fails(liana__jpeg_encode(pixels, 1, 7, 4, 90, &out, &error), LIANA_INVALID_ARGUMENT, &error, "4 channels");
    assert_fails(liana__jpeg_encode(pixels, 1, 7, 3, 0, &out, &error), LIANA_INVALID_ARGUMENT, &error, "quality is 0");
    liana__text_free(&out);
    liana__image_free(&image);
}

/* Larger than the encoder's own buffer, and the image's memory is reused from decode to decode. */
static void test_memory_is_reused(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    enum { SIDE = 400 };
    uint8_t *pixels = malloc(SIDE * SIDE * 3);
    for (int i = 0; i < SIDE * SIDE * 3; i++) pixels[i] = (uint8_t)(i * 2654435761u >> 24);
    liana__text large = {0}, small = {0};
    assert_ok(liana__jpeg_encode(pixels, SIDE, SIDE, 3, 100, &large, &error), &error);
    assert_compare(large.length, >, 40000);
    assert_ok(liana__jpeg_encode(pixels, 10, 10, 3, 50, &small, &error), &error);
    assert_ok(liana__image_decode(large.data, large.length, NULL, &image, &error), &error);
    const uint8_t *memory = image.pixels;
    assert_int_equal((uintptr_t)memory % LIANA__ALIGNMENT, LIANA__IMAGE_OFFSET);
    assert_ok(liana__image_decode(small.data, small.length, NULL, &image, &error), &error);
    assert_int_equal(image.width, 10);
    assert_ptr_equal(image.pixels, memory);
    free(pixels);
    liana__text_free(&large);
    liana__text_free(&small);
    liana__image_free(&image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_photos_have_pillows_pixels),
        cmocka_unit_test(test_reduced_photos_have_pillows_pixels),
        cmocka_unit_test(test_targets),
        cmocka_unit_test(test_truncated_photo_is_refused),
        cmocka_unit_test(test_png_of_every_kind),
        cmocka_unit_test(test_all_exif_orientations),
        cmocka_unit_test(test_adobes_marker_inverts_the_inks),
        cmocka_unit_test(test_every_truncation_is_refused),
        cmocka_unit_test(test_other_bytes_are_named),
        cmocka_unit_test(test_endless_scans_are_refused),
        cmocka_unit_test(test_absurd_sizes_are_refused),
        cmocka_unit_test(test_damaged_bytes_never_crash),
        cmocka_unit_test(test_encoders_round_trip),
        cmocka_unit_test(test_memory_is_reused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
