/* JPEG through libjpeg-turbo. */
#include "formats/image_internal.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* jpeglib.h needs FILE and size_t from the headers above. */
#include <jerror.h>
#include <jpeglib.h>

/* Rows that libjpeg computes at once: up to two for each eighth of the scale. */
enum { MOST_ROWS = 16 };

/* A progressive file of a few kilobytes can ask for thousands of passes over a huge image; real ones need about ten. */
enum { MAX_SCANS = 500 };

typedef struct reader {
    struct jpeg_decompress_struct jpeg;
    struct jpeg_error_mgr manager;
    struct jpeg_progress_mgr progress;
    const liana__image_options *options;
    bool probe;
    liana__image *image;
    liana__error *error;
    liana_status status;
    jmp_buf jump;
} reader;

static void fail(reader *state, liana_status status)
{
    state->status = status;
    if (status != LIANA_OK) longjmp(state->jump, 1);
}

/* libjpeg's way out: never returns to the library. */
static void on_error(j_common_ptr jpeg)
{
    reader *state = jpeg->client_data;
    char message[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, message);
    if (jpeg->err->msg_code == JERR_OUT_OF_MEMORY) fail(state, liana__fail_memory(state->error, "a JPEG image"));
    fail(state, liana__fail(state->error, LIANA_DATA_LOSS,
                            "the JPEG image is damaged, or of a kind that cannot be read: %s", message));
}

/* Warnings after which some pixels are made up. The other ones (a few stray bytes between segments, an odd version
 * number) leave the picture whole, and many real files have them. */
static void on_message(j_common_ptr jpeg, int level)
{
    if (level >= 0) return;
    reader *state = jpeg->client_data;
    switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
        fail(state, liana__fail(state->error, LIANA_DATA_LOSS, "the JPEG image is truncated: its data end too early"));
        break;
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC: on_error(jpeg); break;
    default: break;
    }
}

static void print_nothing(j_common_ptr jpeg)
{
    (void)jpeg;
}

static void on_progress(j_common_ptr jpeg)
{
    reader *state = jpeg->client_data;
    if (state->jpeg.input_scan_number <= MAX_SCANS) return;
    fail(state, liana__fail(state->error, LIANA_INVALID_DATA, "the JPEG image has more than %d scans", MAX_SCANS));
}

/* 1 (as stored) where there is none or it is damaged. */
static int read_orientation(const struct jpeg_decompress_struct *jpeg)
{
    for (jpeg_saved_marker_ptr marker = jpeg->marker_list; marker; marker = marker->next) {
        if (marker->marker != JPEG_APP0 + 1 || marker->data_length < 6 || memcmp(marker->data, "Exif\0", 6) != 0) {
            continue;
        }
        return liana__exif_orientation(marker->data, marker->data_length);
    }
    return 1;
}

/* a * b / 255, rounded to nearest, for bytes. */
static inline unsigned scale_byte(unsigned a, unsigned b)
{
    unsigned product = a * b + 128;
    return (product + (product >> 8)) >> 8;
}

/* Converts a row of ink to light: R = (1 - C)(1 - K), without a colour profile, rounded as in Pillow's CMYK to RGB
 * conversion. Adobe's programs store the complement of the ink, and a marker says so (TensorFlow uses it too). */
static void cmyk_row(const uint8_t *cmyk, int64_t width, bool inverted, int channels, uint8_t *out)
{
    for (int64_t x = 0; x < width; x++, cmyk += 4, out += channels) {
        uint8_t rgb[3];
        unsigned light = inverted ? cmyk[3] : 255u - cmyk[3];
        for (int i = 0; i < 3; i++) {
            unsigned ink = inverted ? 255u - cmyk[i] : cmyk[i];
            rgb[i] = (uint8_t)(light - scale_byte(ink, light));
        }
        if (channels == 3) {
            memcpy(out, rgb, 3);
        } else {
            *out = liana__luma(rgb[0], rgb[1], rgb[2]);
        }
    }
}

static bool is_cmyk(const struct jpeg_decompress_struct *jpeg)
{
    return jpeg->jpeg_color_space == JCS_CMYK || jpeg->jpeg_color_space == JCS_YCCK;
}

static void read_cmyk_rows(struct jpeg_decompress_struct *jpeg, JDIMENSION count, int channels, uint8_t *pixels)
{
    size_t row_size = (size_t)jpeg->output_width * (size_t)channels;
    JSAMPROW ink = jpeg->mem->alloc_large((j_common_ptr)jpeg, JPOOL_IMAGE, (size_t)jpeg->output_width * 4);
    for (JDIMENSION y = 0; y < count; y++) {
        jpeg_read_scanlines(jpeg, &ink, 1);
        cmyk_row(ink, jpeg->output_width, jpeg->saw_Adobe_marker, channels, pixels + y * row_size);
    }
}

/* Reads as many rows with each call as libjpeg has computed. One by one, it would copy them from a buffer of its
 * own. */
static void read_rows(struct jpeg_decompress_struct *jpeg, JDIMENSION count, int channels, uint8_t *pixels)
{
    size_t row_size = (size_t)jpeg->output_width * (size_t)channels;
    for (JDIMENSION y = 0; y < count;) {
        JSAMPROW rows[MOST_ROWS];
        JDIMENSION left = count - y < MOST_ROWS ? count - y : MOST_ROWS;
        for (JDIMENSION i = 0; i < left; i++) rows[i] = pixels + (y + i) * row_size;
        y += jpeg_read_scanlines(jpeg, rows, left);
    }
}

/* The smallest of an eighth, a quarter and half of the size that is not below the least one. The other eighths that
 * libjpeg knows have no vector code and take longer than decoding all. */
static void choose_scale(struct jpeg_decompress_struct *jpeg, int64_t least_height, int64_t least_width)
{
    jpeg->scale_num = 8;
    jpeg->scale_denom = 8;
    if (least_height < 1 || least_width < 1) return;
    for (unsigned eighths = 1; eighths < 8; eighths *= 2) {
        if ((jpeg->image_height * (uint64_t)eighths + 7) / 8 < (uint64_t)least_height ||
            (jpeg->image_width * (uint64_t)eighths + 7) / 8 < (uint64_t)least_width) {
            continue;
        }
        jpeg->scale_num = eighths;
        return;
    }
}

/* ---- regions ---- */

/* Whether regions of this image have the pixels that the whole has. Not so where libjpeg smooths blocks whose last bits
 * a progressive file never sends, by the blocks around them; arithmetic codes are too rare to be relied on here. */
static bool has_exact_regions(const struct jpeg_decompress_struct *jpeg)
{
    enum { SMOOTHED = 10 }; /* coefficients that smoothing looks at, the first one not counted */
    if (jpeg->arith_code) return false;
    for (int component = 0; jpeg->progressive_mode && component < jpeg->num_components; component++) {
        for (int i = 0; i < SMOOTHED; i++) {
            if (jpeg->coef_bits[component][i] != 0) return false;
        }
    }
    return true;
}

/* Asks for the needed part, in the coordinates of the stored image. */
static liana__image_region choose_region(const struct jpeg_decompress_struct *jpeg, const liana__image_options *options,
                                         int orientation)
{
    int64_t height = jpeg->output_height, width = jpeg->output_width;
    liana__image_region whole = {0, 0, height, width}, region = whole;
    if (!options->choose_region || !has_exact_regions(jpeg)) return whole;
    if (orientation >= 5) region = (liana__image_region){0, 0, width, height};
    options->choose_region(options->user, region.height, region.width, &region);
    return liana__image_turn_region(&region, height, width, orientation);
}

/* Restricts decoding to the columns of the region. `region` becomes the decoded columns.
 *
 * Chroma is interpolated over two of its columns, and at a border of the decoded columns as at the border of the image.
 * So one more block is decoded on each side. jpeg_crop_scanline assumes that all components are reduced alike, and is
 * wrong for reduced images whose chroma has still fewer columns. With factors up to 2 x 2 there are none. */
static void crop_columns(struct jpeg_decompress_struct *jpeg, liana__image_region *region)
{
    bool exact = jpeg->scale_num == jpeg->scale_denom || jpeg->max_h_samp_factor * jpeg->max_v_samp_factor <= 4;
    int64_t block = (int64_t)jpeg->max_h_samp_factor * jpeg->scale_num, width = jpeg->output_width;
    int64_t begin = region->left - block < 0 ? 0 : region->left - block, end = region->left + region->width + block;
    if (end > width) end = width;
    region->left = 0;
    region->width = width;
    if (!exact || end - begin + block >= width) return;
    JDIMENSION offset = (JDIMENSION)begin, count = (JDIMENSION)(end - begin);
    jpeg_crop_scanline(jpeg, &offset, &count);
    region->left = offset;
    region->width = count;
}

/* Whether the file ends with an end marker, so that it was not cut. */
static bool has_end_marker(const uint8_t *bytes, size_t size)
{
    return size >= 2 && bytes[size - 2] == 0xff && bytes[size - 1] == JPEG_EOI;
}

/* Reads up to the end marker, so that a cut is always found. */
static void finish(struct jpeg_decompress_struct *jpeg, const uint8_t *bytes, size_t size)
{
    JDIMENSION left = jpeg->output_height - jpeg->output_scanline;
    if (left > 0 && has_end_marker(bytes, size)) return;
    if (left > 0) {
        /* Skips all rows but one; skipped rows at the end would not be read at all. */
        jpeg_skip_scanlines(jpeg, left - 1);
        JSAMPROW row = jpeg->mem->alloc_large((j_common_ptr)jpeg, JPOOL_IMAGE, (size_t)jpeg->output_width * 4);
        jpeg_read_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_decompress(jpeg);
}

/* ---- reading ---- */

/* Bytes that libjpeg works with: some rows, and the coefficients of files whose last scan has to be read first. */
static size_t working_bytes(j_decompress_ptr jpeg)
{
    enum { ROW_BYTES = 3 * 2 * MOST_ROWS }; /* of each column: components, as they are stored and made larger */
    size_t bytes = (size_t)jpeg->image_width * ROW_BYTES;
    for (int i = 0; jpeg_has_multiple_scans(jpeg) && i < jpeg->num_components; i++) {
        const jpeg_component_info *component = &jpeg->comp_info[i];
        bytes += (size_t)component->width_in_blocks * component->height_in_blocks * sizeof(JBLOCK);
    }
    return bytes;
}

static void start_output(reader *state, int channels, int orientation)
{
    struct jpeg_decompress_struct *jpeg = &state->jpeg;
    const liana__image_options *options = state->options;
    choose_scale(jpeg, orientation >= 5 ? options->least_width : options->least_height,
                 orientation >= 5 ? options->least_height : options->least_width);
    jpeg->out_color_space = is_cmyk(jpeg) ? JCS_CMYK : channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
    fail(state, liana__memory_share_ask(state->image->share, working_bytes(jpeg), "a JPEG image", state->error));
    jpeg_start_decompress(jpeg);
}

static void read_pixels(reader *state, int channels, int orientation, const uint8_t *bytes, size_t size)
{
    struct jpeg_decompress_struct *jpeg = &state->jpeg;
    liana__image *image = state->image;
    start_output(state, channels, orientation);
    int64_t full_height = jpeg->output_height, full_width = jpeg->output_width;
    liana__image_region region = choose_region(jpeg, state->options, orientation);
    crop_columns(jpeg, &region);
    bool transposed = orientation >= 5;
    fail(state, liana__image_place(image, state->options, transposed ? region.width : region.height,
                                   transposed ? region.height : region.width, channels, state->error));
    uint8_t *pixels = image->pixels;
    if (orientation != 1) {
        size_t needed = (size_t)region.height * (size_t)region.width * (size_t)channels;
        fail(state, liana__image_reserve_spare(image, needed, state->error));
        pixels = image->spare;
    }
    if (region.top > 0) jpeg_skip_scanlines(jpeg, (JDIMENSION)region.top);
    if (is_cmyk(jpeg)) {
        read_cmyk_rows(jpeg, (JDIMENSION)region.height, channels, pixels);
    } else {
        read_rows(jpeg, (JDIMENSION)region.height, channels, pixels);
    }
    finish(jpeg, bytes, size);
    if (orientation != 1) {
        liana__image_turn(image->spare, region.height, region.width, channels, orientation, image->pixels);
    }
    /* The place of the region in the upright image, by the inverse turn. */
    int back = orientation == 6 ? 8 : orientation == 8 ? 6 : orientation;
    liana__image_region upright = liana__image_turn_region(&region, transposed ? full_width : full_height,
                                                           transposed ? full_height : full_width, back);
    image->top = upright.top;
    image->left = upright.left;
}

static void read_image(reader *state, const uint8_t *bytes, size_t size)
{
    struct jpeg_decompress_struct *jpeg = &state->jpeg;
    const liana__image_options *options = state->options;
    jpeg_create_decompress(jpeg);
    jpeg->progress = &state->progress;
    jpeg_mem_src(jpeg, bytes, size);
    if (!options->ignore_orientation) jpeg_save_markers(jpeg, JPEG_APP0 + 1, 0xffff);
    jpeg_read_header(jpeg, TRUE);
    int64_t height = jpeg->image_height, width = jpeg->image_width;
    fail(state, liana__image_check_size("JPEG", height, width, options, state->error));
    int own = jpeg->jpeg_color_space == JCS_GRAYSCALE ? 1 : 3;
    int channels = options->channels && !state->probe ? options->channels : own;
    int orientation = options->ignore_orientation ? 1 : read_orientation(jpeg);
    if (liana__image_probed(state->probe, state->image, height, width, channels, orientation)) return;
    read_pixels(state, channels, orientation, bytes, size);
}

static struct jpeg_error_mgr *set_up_errors(struct jpeg_error_mgr *manager)
{
    jpeg_std_error(manager);
    manager->error_exit = on_error;
    manager->emit_message = on_message;
    manager->output_message = print_nothing;
    return manager;
}

static void read_guarded(reader *state, const uint8_t *bytes, size_t size)
{
    if (setjmp(state->jump) == 0) read_image(state, bytes, size);
}

liana_status liana__jpeg_decode(const uint8_t *bytes, size_t size, const liana__image_options *options, bool probe,
                                liana__image *image, liana__error *error)
{
    reader state = {.options = options, .probe = probe, .image = image, .error = error};
    state.jpeg.err = set_up_errors(&state.manager);
    state.jpeg.client_data = &state;
    state.progress.progress_monitor = on_progress;
    read_guarded(&state, bytes, size);
    jpeg_destroy_decompress(&state.jpeg);
    return state.status;
}

/* Bytes go to the text through this buffer. */
typedef struct writer {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr manager;
    struct jpeg_destination_mgr destination;
    liana__text *out;
    liana__error *error;
    liana_status status;
    jmp_buf jump;
    JOCTET buffer[16384];
} writer;

static void on_write_error(j_common_ptr jpeg)
{
    writer *state = jpeg->client_data;
    char message[JMSG_LENGTH_MAX];
    jpeg->err->format_message(jpeg, message);
    state->status = liana__fail(state->error, LIANA_OUT_OF_MEMORY, "cannot write a JPEG: %s", message);
    longjmp(state->jump, 1);
}

static void ignore_message(j_common_ptr jpeg, int level)
{
    (void)jpeg;
    (void)level;
}

static void begin_output(j_compress_ptr jpeg)
{
    writer *state = jpeg->client_data;
    state->destination.next_output_byte = state->buffer;
    state->destination.free_in_buffer = sizeof state->buffer;
}

static void flush_output(writer *state, size_t size)
{
    liana__text_add_bytes(state->out, (const char *)state->buffer, size);
    if (state->out->failed) {
        state->status = liana__fail_memory(state->error, "a JPEG image");
        longjmp(state->jump, 1);
    }
}

static boolean empty_output(j_compress_ptr jpeg)
{
    writer *state = jpeg->client_data;
    flush_output(state, sizeof state->buffer);
    begin_output(jpeg);
    return TRUE;
}

static void end_output(j_compress_ptr jpeg)
{
    writer *state = jpeg->client_data;
    flush_output(state, sizeof state->buffer - state->destination.free_in_buffer);
}

static void write_image(writer *state, const uint8_t *pixels, int64_t height, int64_t width, int channels, int quality)
{
    struct jpeg_compress_struct *jpeg = &state->jpeg;
    jpeg_create_compress(jpeg);
    jpeg->dest = &state->destination;
    jpeg->image_height = (JDIMENSION)height;
    jpeg->image_width = (JDIMENSION)width;
    jpeg->input_components = channels;
    jpeg->in_color_space = channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
    jpeg_set_defaults(jpeg);
    jpeg_set_quality(jpeg, quality, TRUE);
    if (channels == 3 && quality >= 90) jpeg->comp_info[0].h_samp_factor = jpeg->comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(jpeg, TRUE);
    for (int64_t y = 0; y < height; y++) {
        JSAMPROW row = (JSAMPROW)(uintptr_t)(pixels + y * width * channels); /* libjpeg only reads it */
        jpeg_write_scanlines(jpeg, &row, 1);
    }
    jpeg_finish_compress(jpeg);
}

static void write_guarded(writer *state, const uint8_t *pixels, int64_t height, int64_t width, int channels,
                          int quality)
{
    if (setjmp(state->jump) == 0) write_image(state, pixels, height, width, channels, quality);
}

liana_status liana__jpeg_encode(const uint8_t *pixels, int64_t height, int64_t width, int channels, int quality,
                                liana__text *out, liana__error *error)
{
    LIANA_TRY(liana__image_check_encode("JPEG", height, width, channels, JPEG_MAX_DIMENSION, error));
    if (quality < 1 || quality > 100) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "JPEG quality is %d; expected 1 to 100", quality);
    }
    writer *state = calloc(1, sizeof *state);
    if (!state) return liana__fail_memory(error, "a JPEG writer");
    state->out = out;
    state->error = error;
    state->jpeg.err = jpeg_std_error(&state->manager);
    state->jpeg.client_data = state;
    state->manager.error_exit = on_write_error;
    state->manager.emit_message = ignore_message;
    state->manager.output_message = print_nothing;
    state->destination.init_destination = begin_output;
    state->destination.empty_output_buffer = empty_output;
    state->destination.term_destination = end_output;
    write_guarded(state, pixels, height, width, channels, quality);
    jpeg_destroy_compress(&state->jpeg);
    liana_status status = state->status;
    free(state);
    return status;
}
