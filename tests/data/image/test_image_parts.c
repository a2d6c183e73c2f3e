/* Parts of images: the decoded rectangle of a JPEG must equal that of the whole image. */
#include "harness/harness.h"

#include "base/file.h"
#include "base/random.h"
#include "data/image/decode.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h needs FILE and size_t from the headers above. */
#include <jpeglib.h>

/* ---- files that libjpeg writes ---- */

typedef struct jpeg_kind {
    const char *name;
    int channels; /* 1, 3, or 4 for CMYK */
    int h_factor; /* of the first component; the others have 1 */
    int v_factor;
    bool progressive;
    int restart_rows;
    int orientation; /* 0: no EXIF */
} jpeg_kind;

static const jpeg_kind KINDS[] = {
    {"4:4:4", 3, 1, 1, false, 0, 0},
    {"4:2:2", 3, 2, 1, false, 0, 0},
    {"4:2:0", 3, 2, 2, false, 0, 0},
    {"4:4:0", 3, 1, 2, false, 0, 0},
    {"4:1:1", 3, 4, 1, false, 0, 0},
    {"4:1:0", 3, 4, 2, false, 0, 0},
    {"grey", 1, 1, 1, false, 0, 0},
    {"grey with factors", 1, 2, 2, false, 0, 0},
    {"CMYK", 4, 1, 1, false, 0, 0},
    {"CMYK, subsampled", 4, 2, 2, false, 0, 0},
    {"4:4:4, progressive", 3, 1, 1, true, 0, 0},
    {"4:2:2, progressive", 3, 2, 1, true, 0, 0},
    {"4:2:0, progressive", 3, 2, 2, true, 0, 0},
    {"4:1:1, progressive", 3, 4, 1, true, 0, 0},
    {"grey, progressive", 1, 1, 1, true, 0, 0},
    {"4:2:0, restarts", 3, 2, 2, false, 1, 0},
    {"4:2:2, restarts", 3, 2, 1, false, 2, 0},
    {"4:2:0, mirrored", 3, 2, 2, false, 0, 2},
    {"4:2:0, upside down", 3, 2, 2, false, 0, 3},
    {"4:2:2, flipped", 3, 2, 1, false, 0, 4},
    {"4:2:0, transposed", 3, 2, 2, false, 0, 5},
    {"4:2:2, a quarter right", 3, 2, 1, false, 0, 6},
    {"4:2:0, transverse", 3, 2, 2, true, 0, 7},
    {"4:4:0, a quarter left", 3, 1, 2, false, 0, 8},
};
enum { NUM_KINDS = sizeof KINDS / sizeof *KINDS };

/* Smooth and rough places, so that neighbours differ and long codes occur. */
static void draw_row(uint8_t *row, int y, int width, int channels, liana__philox_key key)
{
    for (int x = 0; x < width; x++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)x, (uint32_t)y, 0, 0}, words);
        int rough = (x / 24 + y / 16) % 3 == 0 ? 90 : 6;
        for (int c = 0; c < channels; c++) {
            row[x * channels + c] = (uint8_t)(x * (c + 1) + y * (3 - c) + (int)(words[c] % (unsigned)rough));
        }
    }
}

/* EXIF of one entry: the orientation (tag 0x0112, a SHORT). */
static void write_orientation(struct jpeg_compress_struct *jpeg, int orientation)
{
    uint8_t exif[] = {'E', 'x', 'i', 'f',  0,    0, 'M', 'M', 0, 42, 0, 0, 0,
                      8,   0,   1,   0x01, 0x12, 0, 3,   0,   0, 0,  1, 0, (uint8_t)orientation,
                      0,   0,   0,   0,    0,    0};
    jpeg_write_marker(jpeg, JPEG_APP0 + 1, exif, sizeof exif);
}

static void encode(const jpeg_kind *kind, int height, int width, uint8_t **bytes, unsigned long *size)
{
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    uint8_t *row = malloc((size_t)width * 4);
    assert_non_null(row);
    jpeg.err = jpeg_std_error(&manager);
    jpeg_create_compress(&jpeg);
    *bytes = NULL;
    *size = 0;
    jpeg_mem_dest(&jpeg, bytes, size);
    jpeg.image_height = (JDIMENSION)height;
    jpeg.image_width = (JDIMENSION)width;
    jpeg.input_components = kind->channels;
    jpeg.in_color_space = kind->channels == 1 ? JCS_GRAYSCALE : kind->channels == 3 ? JCS_RGB : JCS_CMYK;
    jpeg_set_defaults(&jpeg);
    jpeg_set_quality(&jpeg, 85, TRUE);
    for (int c = 0; c < jpeg.num_components; c++) {
        jpeg.comp_info[c].h_samp_factor = c == 0 ? kind->h_factor : 1;
        jpeg.comp_info[c].v_samp_factor = c == 0 ? kind->v_factor : 1;
    }
    jpeg.restart_in_rows = kind->restart_rows;
    if (kind->progressive) jpeg_simple_progression(&jpeg);
    jpeg_start_compress(&jpeg, TRUE);
    if (kind->orientation) write_orientation(&jpeg, kind->orientation);
    liana__philox_key key = liana__philox_make_key(9, 0, (uint32_t)(height * 1000 + width));
    for (int y = 0; y < height; y++) {
        draw_row(row, y, width, kind->channels, key);
        jpeg_write_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_compress(&jpeg);
    jpeg_destroy_compress(&jpeg);
    free(row);
}

/* ---- decoding of regions ---- */

typedef struct wish {
    liana__image_region region; /* as shares of 65536, made pixels when the size is known */
    liana__image_region chosen;
    int64_t height, width; /* that were named */
    int num_calls;
} wish;

static int64_t within(int64_t share, int64_t least, int64_t size)
{
    int64_t value = least + (share * (size - least + 1) >> 16);
    return value > size ? size : value;
}

static void choose(void *user, int64_t height, int64_t width, liana__image_region *region)
{
    wish *own = user;
    assert_compare(region->top, ==, 0);
    assert_compare(region->left, ==, 0);
    assert_compare(region->height, ==, height);
    assert_compare(region->width, ==, width);
    region->height = within(own->region.height, 1, height);
    region->width = within(own->region.width, 1, width);
    region->top = within(own->region.top, 0, height - region->height);
    region->left = within(own->region.left, 0, width - region->width);
    own->chosen = *region;
    own->height = height;
    own->width = width;
    own->num_calls++;
}

static bool covers(const liana__image *image, const liana__image_region *region)
{
    return image->top >= 0 && image->left >= 0 && image->top <= region->top && image->left <= region->left &&
           image->top + image->height >= region->top + region->height &&
           image->left + image->width >= region->left + region->width;
}

/* Decodes random regions and compares them with the whole; returns how many pixels were decoded for all pixels. */
static double check_parts(const char *name, const uint8_t *bytes, size_t size, const liana__image_options *options,
                          uint32_t seed, int num_parts)
{
    liana__error error = {0};
    liana__image whole = {0}, image = {0};
    liana__philox_key key = liana__philox_make_key(seed, 0, 0);
    double pixels = 0;
    assert_ok(liana__image_decode(bytes, size, options, &whole, &error), &error);
    assert_compare(whole.top, ==, 0);
    assert_compare(whole.left, ==, 0);
    for (int i = 0; i < num_parts; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){(uint32_t)i, 0, 0, 0}, words);
        /* Every fourth region reaches from border to border in one direction. */
        wish own = {.region = {words[0] >> 16, words[1] >> 16, words[2] >> 16, words[3] >> 16}};
        if (i % 8 == 3) own.region.height = 65536;
        if (i % 8 == 7) own.region.width = 65536;
        liana__image_options partial = *options;
        partial.choose_region = choose;
        partial.user = &own;
        assert_ok(liana__image_decode(bytes, size, &partial, &image, &error), &error);
        assert_int_equal(own.num_calls, 1);
        assert_int_equal(own.height, whole.height);
        assert_int_equal(own.width, whole.width);
        assert_int_equal(image.channels, whole.channels);
        assert_true(covers(&image, &own.chosen));
        pixels += (double)(image.height * image.width) / (double)(whole.height * whole.width) / num_parts;
        const liana__image_region *region = &own.chosen;
        for (int64_t y = region->top; y < region->top + region->height; y++) {
            const uint8_t *found =
                image.pixels + ((y - image.top) * image.width + region->left - image.left) * image.channels;
            const uint8_t *expected = whole.pixels + (y * whole.width + region->left) * whole.channels;
            if (memcmp(found, expected, (size_t)(region->width * whole.channels)) == 0) continue;
            fail_msg("%s, %d x %d: row %d of the region at %d, %d of %d x %d has other pixels", name, (int)whole.height,
                     (int)whole.width, (int)y, (int)region->top, (int)region->left, (int)region->height,
                     (int)region->width);
        }
    }
    liana__image_free(&whole);
    liana__image_free(&image);
    return pixels;
}

static void test_parts_have_the_pixels_of_the_whole(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1}, {2, 3}, {9, 17}, {16, 16}, {33, 31}, {64, 100}, {131, 97}, {250, 333}};
    for (size_t i = 0; i < NUM_KINDS; i++) {
        for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
            uint8_t *bytes;
            unsigned long size;
            encode(&KINDS[i], sizes[k][0], sizes[k][1], &bytes, &size);
            for (int channels = 0; channels <= 3; channels++) {
                if (channels == 2) continue;
                liana__image_options options = {.channels = channels};
                double pixels = check_parts(KINDS[i].name, bytes, size, &options, (uint32_t)(i * 16 + k), 24);
                /* The regions are a quarter of the image in the mean, and wanted from border to border at times. */
                if (k == 7) assert_compare(pixels, <, 0.65);
            }
            free(bytes);
        }
    }
}

static void test_parts_of_reduced_images(void **state)
{
    (void)state;
    for (size_t i = 0; i < NUM_KINDS; i++) {
        uint8_t *bytes;
        unsigned long size;
        encode(&KINDS[i], 203, 310, &bytes, &size);
        for (int64_t least = 20; least < 200; least *= 2) {
            liana__image_options options = {.channels = 3, .least_height = least, .least_width = least};
            check_parts(KINDS[i].name, bytes, size, &options, (uint32_t)(i + 100), 24);
        }
        free(bytes);
    }
}

/* Pillow's and image-rs's. */
static void test_parts_of_other_programs_files(void **state)
{
    (void)state;
    static const char *const names[] = {"jpeg_odd/hopper.jpg",
                                        "jpeg_odd/hopper_16bit_qtables.jpg",
                                        "jpeg_odd/hopper_gray.jpg",
                                        "jpeg_odd/hopper_orientation_6.jpg",
                                        "jpeg_odd/hopper_orientation_8.jpg",
                                        "jpeg_odd/junk_jpeg_header.jpg",
                                        "jpeg_odd/pil_sample_cmyk.jpg",
                                        "jpeg_odd/tower.jpg",
                                        "jpeg_odd/tower_grayscale.jpg",
                                        "jpeg_odd/tower_progressive.jpg",
                                        "photos/coffee.jpg",
                                        "photos/coral_parrot.jpg",
                                        "photos/panda.jpg"};
    liana__error error = {0};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        liana__mapping file;
        assert_ok(liana__file_map(liana__test_data(names[i]), &file, &error), &error);
        for (int channels = 1; channels <= 3; channels += 2) {
            liana__image_options options = {.channels = channels};
            check_parts(names[i], file.data, file.size, &options, (uint32_t)i, 12);
        }
        liana__file_unmap(&file);
    }
}

/* ---- damage ---- */

static wish upper_left(void)
{
    return (wish){.region = {0, 0, 20000, 20000}};
}

static void test_cut_files_are_found_out(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    for (size_t kind = 2; kind < NUM_KINDS; kind += 8) {
        uint8_t *bytes;
        unsigned long size;
        encode(&KINDS[kind], 97, 130, &bytes, &size);
        for (size_t cut = 2; cut<size; cut += cut> size - 40 ? 1 : 97) {
            wish own = upper_left();
            liana__image_options options = {.choose_region = choose, .user = &own};
            uint8_t *exact = malloc(cut); /* for the address sanitizer */
            assert_non_null(exact);
            memcpy(exact, bytes, cut);
            liana_status status = liana__image_decode(exact, cut, &options, &image, &error);
            if (status != LIANA_DATA_LOSS && status != LIANA_INVALID_DATA) fail_msg("cut at %d", (int)cut);
            assert_int_equal(image.height, 0);
            free(exact);
        }
        free(bytes);
    }
    liana__image_free(&image);
}

/* Where the file does not end with its end marker, it is read to the end all the same. */
static void test_what_follows_the_end_does_no_harm(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__image image = {0};
    uint8_t *bytes;
    unsigned long size;
    encode(&KINDS[2], 200, 160, &bytes, &size);
    uint8_t *longer = calloc(1, size + 5);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    check_parts("with bytes behind it", longer, size + 5, &(liana__image_options){.channels = 3}, 1, 12);
    /* The codes before the end are damaged: seen only where it must be read up to there. */
    wish own = upper_left();
    liana__image_options options = {.choose_region = choose, .user = &own};
    memset(longer + size - 300, 0xff, 200);
    assert_fails(liana__image_decode(longer, size + 5, &options, &image, &error), LIANA_DATA_LOSS, &error, "JPEG");
    assert_ok(liana__image_decode(longer, size, &options, &image, &error), &error);
    options.choose_region = NULL;
    assert_fails(liana__image_decode(longer, size, &options, &image, &error), LIANA_DATA_LOSS, &error, "JPEG");
    free(longer);
    free(bytes);
    liana__image_free(&image);
}

/* ---- resized ---- */

/* The region of a record that is written, and nothing around it. */
static void test_parts_of_records(void **state)
{
    (void)state;
    enum { HEIGHT = 90, WIDTH = 120 };
    static const int sizes[][2] = {{HEIGHT, WIDTH}, {240, 333}, {61, 200}, {40, 50}};
    static uint8_t whole[HEIGHT * WIDTH * 3], found[HEIGHT * WIDTH * 3];
    liana__error error = {0};
    liana__decoder decoder = {0};
    liana__philox_key key = liana__philox_make_key(77, 0, 0);
    for (uint32_t i = 0; i < 240; i++) {
        uint32_t words[4];
        liana__philox(key, (uint32_t[4]){i, 0, 0, 0}, words);
        const int *from = sizes[i % 4];
        uint8_t *bytes;
        unsigned long size;
        encode(&KINDS[i % NUM_KINDS], from[0], from[1], &bytes, &size);
        liana_source_record record = {.bytes = bytes, .size = size};
        liana__decode_options options = {
            .height = HEIGHT, .width = WIDTH, .channels = i % 3 ? 3 : 1, .antialias = i % 2, .fast = i % 5 == 0};
        liana__image_region region = {0, 0, 1 + words[0] % HEIGHT, 1 + words[1] % WIDTH};
        region.top = words[2] % (HEIGHT - region.height + 1);
        region.left = words[3] % (WIDTH - region.width + 1);
        assert_ok(liana__decode_record(&decoder, &options, &record, NULL, whole, &error), &error);
        memset(found, 0x5A, sizeof found);
        assert_ok(liana__decode_record(&decoder, &options, &record, &region, found, &error), &error);
        bool is_whole = region.height == HEIGHT && region.width == WIDTH;
        for (int64_t y = 0; y < HEIGHT; y++) {
            for (int64_t x = 0; x < WIDTH * options.channels; x++) {
                int64_t column = x / options.channels, at = y * WIDTH * options.channels + x;
                bool inside = y >= region.top && y < region.top + region.height && column >= region.left &&
                              column < region.left + region.width;
                assert_int_equal(found[at], inside || is_whole ? whole[at] : 0x5A);
            }
        }
        free(bytes);
    }
    liana__decoder_free(&decoder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_parts_have_the_pixels_of_the_whole), cmocka_unit_test(test_parts_of_reduced_images),
        cmocka_unit_test(test_parts_of_other_programs_files),      cmocka_unit_test(test_cut_files_are_found_out),
        cmocka_unit_test(test_what_follows_the_end_does_no_harm),  cmocka_unit_test(test_parts_of_records),
    };
    return cmocka_run_group_tests_name("image regions", tests, NULL, NULL);
}
