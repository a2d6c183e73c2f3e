/* Images of a page, as data: URLs. */
#include "report/page/page.h"

#include "data/image/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The longest side of an image in a page, in pixels; where an image is small enough for PNG; the quality of JPEG. */
enum { MOST_SIDE = 176, SMALL_SIDE = 32, QUALITY = 82 };

/* RFC 4648. */
static char *base64(const char *bytes, size_t size, const char *head, liana__arena *arena)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const size_t start = strlen(head);
    char *text = liana__arena_allocate(arena, start + (size + 2) / 3 * 4 + 1), *to = text + start;
    if (!text) return NULL;
    memcpy(text, head, start);
    for (size_t i = 0; i < size; i += 3) {
        uint32_t three = 0;
        for (size_t k = 0; k < 3; k++) three = three << 8 | (i + k < size ? (uint8_t)bytes[i + k] : 0);
        for (int k = 0; k < 4; k++) *to++ = digits[three >> (18 - 6 * k) & 63];
        if (i + 1 >= size) to[-2] = '=';
        if (i + 2 >= size) to[-1] = '=';
    }
    return text;
}

static liana_status encode(const uint8_t *pixels, int height, int width, int channels, liana__arena *arena,
                           const char **url, liana__error *error)
{
    const bool is_small = height <= SMALL_SIDE && width <= SMALL_SIDE;
    liana__text bytes = {0};
    liana_status status = is_small ? liana__png_encode(pixels, height, width, channels, &bytes, error)
                                   : liana__jpeg_encode(pixels, height, width, channels, QUALITY, &bytes, error);
    if (status == LIANA_OK) {
        *url = base64(bytes.data, bytes.length, is_small ? "data:image/png;base64," : "data:image/jpeg;base64,", arena);
        if (!*url) status = liana__fail_memory(error, "an image");
    }
    liana__text_free(&bytes);
    return status;
}

/* The URL of an image, scaled down where it is larger than it is shown. */
static liana_status image_url(const liana__grid_item *item, liana__resizer *resizer, liana__arena *arena,
                              const char **url, liana__error *error)
{
    const int longest = item->height > item->width ? item->height : item->width;
    if (longest <= MOST_SIDE) return encode(item->pixels, item->height, item->width, item->channels, arena, url, error);
    liana__resize_shape shape = {.height = item->height,
                                 .width = item->width,
                                 .to_height = (int64_t)item->height * MOST_SIDE / longest,
                                 .to_width = (int64_t)item->width * MOST_SIDE / longest,
                                 .channels = item->channels,
                                 .antialias = true};
    if (shape.to_height < 1) shape.to_height = 1;
    if (shape.to_width < 1) shape.to_width = 1;
    uint8_t *smaller = malloc((size_t)(shape.to_height * shape.to_width * shape.channels));
    if (!smaller) return liana__fail_memory(error, "an image");
    liana_status status = liana__resize_u8(resizer, &shape, item->pixels, smaller, error);
    if (status == LIANA_OK) {
        status = encode(smaller, (int)shape.to_height, (int)shape.to_width, shape.channels, arena, url, error);
    }
    free(smaller);
    return status;
}

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    if (text) liana__value_set(arena, map, key, liana__value_string(arena, text));
}

static liana__value *item_value(const liana__grid_item *item, const char *url, liana__arena *arena)
{
    liana__value *map = liana__value_map(arena);
    set_text(arena, map, "src", url);
    liana__value_set(arena, map, "width", liana__value_int(arena, item->width));
    liana__value_set(arena, map, "height", liana__value_int(arena, item->height));
    set_text(arena, map, "predicted", item->predicted);
    set_text(arena, map, "truth", item->truth);
    set_text(arena, map, "note", item->note);
    set_text(arena, map, "id", item->id);
    if (!isnan(item->confidence)) {
        liana__value_set(arena, map, "confidence", liana__page_number(arena, item->confidence));
    }
    if (item->truth && item->truth_probability > 0) {
        liana__value_set(arena, map, "truth_probability", liana__page_number(arena, item->truth_probability));
    }
    return map;
}

liana_status liana__page_images(const liana__drawing *drawing, liana__arena *arena, liana__value **value,
                                liana__error *error)
{
    const liana__grid_options *options = drawing->grid.options;
    liana__value *map = liana__value_map(arena), *items = liana__value_list(arena);
    liana__resizer resizer = {0};
    liana_status status = map && items ? LIANA_OK : liana__fail_memory(error, "the images");
    set_text(arena, map, "kind", "images");
    set_text(arena, map, "name", drawing->name);
    set_text(arena, map, "title", options ? options->title : NULL);
    if (options && options->columns) liana__value_set(arena, map, "columns", liana__value_int(arena, options->columns));
    for (size_t i = 0; status == LIANA_OK && i < drawing->grid.count; i++) {
        const char *url = NULL;
        status = image_url(&drawing->grid.items[i], &resizer, arena, &url, error);
        if (status == LIANA_OK) liana__value_add(arena, items, item_value(&drawing->grid.items[i], url, arena));
    }
    liana__resizer_free(&resizer);
    liana__value_set(arena, map, "items", items);
    *value = map;
    return status;
}

liana_status liana__page_take(void *user, const liana__drawing *drawing, liana__error *error)
{
    const liana__page_part *part = user;
    liana__value *value = NULL;
    if (drawing->kind == LIANA__DRAWING_GRID) {
        LIANA_TRY(liana__page_images(drawing, part->arena, &value, error));
    } else {
        value = liana__page_drawing(drawing, part->arena);
    }
    liana__value_set(part->arena, part->map, drawing->name, value);
    return part->arena->failed ? liana__fail_memory(error, drawing->name) : LIANA_OK;
}
