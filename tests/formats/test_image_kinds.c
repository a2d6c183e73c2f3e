/* Images other than JPEGs: BMP, GIF, WebP, TIFF and turned PNGs, with the pixels that Pillow reads, and damaged
 * ones. */
#include "harness/harness.h"

#include "formats/image.h"
#include "samples/image_kinds.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum { NUM_KINDS = sizeof IMAGE_KINDS / sizeof *IMAGE_KINDS };

static size_t from_hex(const char *hex, uint8_t **out)
{
    size_t size = strlen(hex) / 2;
    *out = malloc(size + 1);
    for (size_t i = 0; i < size; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], 0};
        (*out)[i] = (uint8_t)strtoul(digits, NULL, 16);
    }
    return size;
}

/* libwebp and Pillow's copy of it may differ by a level in lossy images. */
static int tolerance_of(size_t kind)
{
    return strstr(IMAGE_KINDS[kind].name, "with loss") ? 2 : 0;
}

static void test_pixels_are_pillows(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_KINDS; i++) {
        uint8_t *bytes, *pixels;
        liana__error error = {0};
        liana__image image = {0}, probed = {0};
        size_t size = from_hex(IMAGE_KINDS[i].file, &bytes), count = from_hex(IMAGE_KINDS[i].pixels, &pixels);
        assert_ok(liana__image_decode(bytes, size, &(liana__image_options){.channels = 3}, &image, &error), &error);
        assert_int_equal(image.height, IMAGE_KINDS[i].height);
        assert_int_equal(image.width, IMAGE_KINDS[i].width);
        for (size_t k = 0; k < count; k++) {
            if (abs(image.pixels[k] - pixels[k]) > tolerance_of(i)) {
                fail_msg("%s: value %zu is %d, expected %d", IMAGE_KINDS[i].name, k, image.pixels[k], pixels[k]);
            }
        }
        assert_ok(liana__image_probe(bytes, size, NULL, &probed, &error), &error);
        assert_int_equal(probed.height, IMAGE_KINDS[i].height);
        assert_int_equal(probed.width, IMAGE_KINDS[i].width);
        /* Grey is the luma of these pixels. */
        assert_ok(liana__image_decode(bytes, size, &(liana__image_options){.channels = 1}, &image, &error), &error);
        for (size_t k = 0; k < count / 3 && tolerance_of(i) == 0; k++) {
            const uint8_t *pixel = pixels + 3 * k;
            double luma = 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2];
            assert_compare(image.pixels[k], >, luma - 0.51, k);
            assert_compare(image.pixels[k], <, luma + 0.51, k);
        }
        liana__image_free(&image);
        free(bytes);
        free(pixels);
    }
}

/* Cut anywhere, or with any byte changed, an image is decoded or refused, and nothing is read behind its end (the
 * sanitizers look). */
static void test_damage(void **state)
{
    (void)state;
    liana__image image = {0};
    for (size_t i = 0; i < NUM_KINDS; i++) {
        uint8_t *bytes;
        size_t size = from_hex(IMAGE_KINDS[i].file, &bytes);
        liana__image_options options = {.max_pixels = 1 << 16};
        for (size_t length = 0; length < size; length++) {
            uint8_t *cut = malloc(length + 1);
            memcpy(cut, bytes, length);
            liana__error error = {0};
            liana_status status = liana__image_decode(cut, length, &options, &image, &error);
            if (status != LIANA_OK) assert_true(*error.message);
            free(cut);
        }
        for (size_t at = 0; at < size; at++) {
            uint8_t before = bytes[at];
            for (int change = 0; change < 3; change++) {
                bytes[at] = change == 0 ? 0xff : change == 1 ? 0 : (uint8_t)(before ^ 0x80);
                liana__error error = {0};
                liana_status status = liana__image_decode(bytes, size, &options, &image, &error);
                if (status != LIANA_OK) assert_true(*error.message);
            }
            bytes[at] = before;
        }
        free(bytes);
    }
    liana__image_free(&image);
}

/* A size that the header only claims is refused before memory is taken. */
static void test_limits(void **state)
{
    (void)state;
    liana__image image = {0};
    for (size_t i = 0; i < NUM_KINDS; i++) {
        uint8_t *bytes;
        liana__error error = {0};
        size_t size = from_hex(IMAGE_KINDS[i].file, &bytes);
        liana__image_options options = {.max_pixels = 34};
        assert_fails(liana__image_decode(bytes, size, &options, &image, &error), LIANA_OUT_OF_RANGE, &error,
                     "expected at most 34 pixels");
        free(bytes);
    }
    liana__image_free(&image);
}

/* ---- PNGs with an orientation, put together here ---- */

static void put_u32(uint8_t *to, uint32_t value)
{
    for (int i = 0; i < 4; i++) to[i] = (uint8_t)(value >> (24 - 8 * i));
}

/* Appends a chunk eXIf with this orientation to a PNG, at `at`. */
static void insert_exif(liana__text *png, size_t at, int orientation, bool damaged)
{
    uint8_t chunk[12 + 26] = {0, 0, 0, 26, 'e', 'X',  'I', 'f', 'M', 'M', 0, 42, 0, 0,
                              0, 8, 0, 1,  1,   0x12, 0,   3,   0,   0,   0, 1,  0, (uint8_t)orientation};
    put_u32(chunk + 34, (uint32_t)crc32(0, chunk + 4, 30) ^ damaged);
    liana__text whole = {0};
    liana__text_add_bytes(&whole, png->data, at);
    liana__text_add_bytes(&whole, (const char *)chunk, sizeof chunk);
    liana__text_add_bytes(&whole, png->data + at, png->length - at);
    liana__text_free(png);
    *png = whole;
}

/* Where Exif 2.3 (tag 274) puts the stored pixel (row, column) of a 2 x 3 image. */
static void place_of(int orientation, int row, int column, int *y, int *x)
{
    int rows = 2, columns = 3;
    int r = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 6 ? rows - 1 - row : row;
    int c =
        orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8 ? columns - 1 - column : column;
    *y = orientation >= 5 ? c : r;
    *x = orientation >= 5 ? r : c;
}

static void test_png_orientations(void **state)
{
    (void)state;
    enum { BEHIND_HEADER = 33, IEND = 12 };
    for (int orientation = 1; orientation <= 8; orientation++) {
        for (int place = 0; place < 3; place++) {
            for (int channels = 1; channels <= 3; channels += 2) {
                uint8_t pixels[18];
                liana__error error = {0};
                liana__text png = {0};
                liana__image image = {0}, probed = {0};
                for (int i = 0; i < 18; i++) pixels[i] = (uint8_t)(10 + 13 * i);
                assert_ok(liana__png_encode(pixels, 2, 3, channels, &png, &error), &error);
                bool damaged = place == 2; /* then it is as stored */
                insert_exif(&png, place == 1 ? png.length - IEND : BEHIND_HEADER, orientation, damaged);
                int meant = damaged ? 1 : orientation;
                assert_ok(liana__image_decode(png.data, png.length, NULL, &image, &error), &error);
                assert_ok(liana__image_probe(png.data, png.length, NULL, &probed, &error), &error);
                assert_int_equal(image.height, meant >= 5 ? 3 : 2);
                assert_int_equal(image.width, meant >= 5 ? 2 : 3);
                assert_int_equal(probed.height, image.height);
                assert_int_equal(probed.width, image.width);
                for (int i = 0; i < 6; i++) {
                    int y, x;
                    place_of(meant, i / 3, i % 3, &y, &x);
                    for (int c = 0; c < channels; c++) {
                        assert_compare(image.pixels[(y * image.width + x) * channels + c], ==, pixels[i * channels + c],
                                       channels, i, c);
                    }
                }
                liana__image_options stored = {.ignore_orientation = true, .channels = 3};
                assert_ok(liana__image_decode(png.data, png.length, &stored, &image, &error), &error);
                assert_int_equal(image.height, 2);
                assert_int_equal(image.pixels[3], pixels[channels]);
                liana__image_free(&image);
                liana__text_free(&png);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pixels_are_pillows),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_png_orientations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
