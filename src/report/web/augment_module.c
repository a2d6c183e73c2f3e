/* Augmentation for a page in a browser: lists of stages from texts, images from addresses. */
#include "report/web/augment_module.h"

#include "base/context.h"
#include "base/value.h"
#include "data/augment/augment.h"
#include "data/augment/perspective.h"

#include <stdlib.h>
#include <string.h>

/* Of a module there is one in each page; nothing of it is global, so that tests may have several. */
struct liana__web {
    liana_context context; /* of the part that augmentation looks at: the instruction set, and no parts of programs */
    liana__error error;
    liana__arena arena; /* of the list */
    liana__value *list;
    liana__value *options; /* of the stage that was added last */
    liana__text yaml;
    liana_image_shape shape; /* after the last stage */
    liana__augment *augment; /* NULL: not prepared */
    void *scratch;
};

liana__web *liana__web_create(void)
{
    liana__web *web = calloc(1, sizeof *web);
    if (!web) return NULL;
    web->context.isa = LIANA__ISA_BASELINE;
    liana__web_clear(web);
    return web;
}

static void forget_prepared(liana__web *web)
{
    liana__augment_destroy(web->augment);
    free(web->scratch);
    web->augment = NULL;
    web->scratch = NULL;
}

void liana__web_destroy(liana__web *web)
{
    if (!web) return;
    forget_prepared(web);
    liana__arena_free(&web->arena);
    liana__text_free(&web->yaml);
    free(web);
}

const char *liana__web_message(const liana__web *web)
{
    return web->error.message;
}

/* ---- the list ---- */

void liana__web_clear(liana__web *web)
{
    liana__arena_free(&web->arena);
    web->list = liana__value_list(&web->arena);
    web->options = NULL;
}

void liana__web_add_stage(liana__web *web, const char *name)
{
    liana__value *stage = liana__value_map(&web->arena);
    web->options = liana__value_map(&web->arena);
    if (!web->list || !stage || !web->options) return;
    liana__value_set(&web->arena, stage, name, web->options);
    liana__value_add(&web->arena, web->list, stage);
}

/* "word", or "[word, word]". */
static liana__value *read_text(liana__arena *arena, const char *text)
{
    if (*text != '[') return liana__value_from_word(arena, text);
    liana__value *list = liana__value_list(arena);
    for (text++; list && *text && *text != ']';) {
        text += strspn(text, ", ");
        size_t length = strcspn(text, ",]");
        char *word = liana__arena_format(arena, "%.*s", (int)length, text);
        if (length && word) liana__value_add(arena, list, liana__value_from_word(arena, word));
        text += length;
    }
    return list;
}

void liana__web_set_option(liana__web *web, const char *option, const char *text)
{
    if (web->options) liana__value_set(&web->arena, web->options, option, read_text(&web->arena, text));
}

const char *liana__web_yaml(liana__web *web)
{
    liana__text_free(&web->yaml);
    if (!web->list || web->arena.failed) return NULL;
    liana__value *map = liana__value_map(&web->arena), *list = liana__value_list(&web->arena);
    if (!map || !list) return NULL;
    /* A stage without options is written as its name alone. */
    for (size_t i = 0; i < web->list->count; i++) {
        liana__value *stage = web->list->items[i];
        bool plain = stage->items[0]->count == 0;
        liana__value_add(&web->arena, list, plain ? liana__value_string(&web->arena, stage->keys[0]) : stage);
    }
    liana__value_set(&web->arena, map, "augment", list);
    liana__value_write_yaml(map, &web->yaml);
    return web->yaml.failed || web->arena.failed ? NULL : web->yaml.data;
}

int liana__web_prepare(liana__web *web, int height, int width, int channels)
{
    forget_prepared(web);
    web->error = (liana__error){0};
    if (!web->list || web->arena.failed) return (int)liana__fail_memory(&web->error, "the list of stages");
    web->shape = (liana_image_shape){height, width, channels};
    liana_status status =
        liana__augment_create(&web->context, web->list, "augment", &web->shape, &web->augment, &web->error);
    if (status != LIANA_OK) return (int)status;
    web->scratch = liana__allocate_aligned(liana__augment_scratch_size(web->augment));
    if (web->scratch) return LIANA_OK;
    forget_prepared(web);
    return (int)liana__fail_memory(&web->error, "images between stages");
}

int liana__web_input_height(const liana__web *web)
{
    return web->augment ? (int)liana__augment_input(web->augment).height : 0;
}

int liana__web_input_width(const liana__web *web)
{
    return web->augment ? (int)liana__augment_input(web->augment).width : 0;
}

/* Mixes the images as one shard. The component of labels has the images' numbers, so that of the partners gets theirs.
 */
static liana_status mix(liana__web *web, uint64_t seed, liana__batch *batch, float *shares, int32_t *partners)
{
    int64_t count = batch->count;
    int32_t *numbers = malloc((size_t)count * sizeof *numbers);
    void *memory = liana__allocate_aligned(liana__augment_mix_scratch_size(web->augment, count));
    if (numbers && memory) {
        for (int32_t i = 0; i < (int32_t)count; i++) numbers[i] = i;
        liana__batch_add(batch, "number", LIANA_S32, &LIANA_SCALAR, numbers);
        liana__batch_add(batch, "partner", LIANA_S32, &LIANA_SCALAR, partners);
        batch->components[1].partner_of = &batch->components[0];
        liana__batch_add(batch, LIANA__SHARES, LIANA_F32, &LIANA_SCALAR, shares);
        liana__augment_mix(web->augment, count, batch, seed, memory);
    }
    bool done = numbers && memory;
    free(numbers);
    free(memory);
    return done ? LIANA_OK : liana__fail_memory(&web->error, "mixed images");
}

static liana_status run_all(liana__web *web, uint64_t seed, const liana__batch *batch, const uint8_t *src)
{
    liana_image_shape first = liana__augment_input(web->augment);
    size_t src_size = liana__augment_size(&first), dst_size = liana__augment_size(&web->shape);
    for (int64_t i = 0; i < batch->count; i++) {
        liana_example_address address = {.seed = seed, .epoch = batch->epoch, .position = batch->positions[i]};
        LIANA_TRY(liana__augment_apply(web->augment, &address, src + (size_t)i * src_size,
                                       batch->images + (size_t)i * dst_size, web->scratch, &web->error));
    }
    return LIANA_OK;
}

int liana__web_run(liana__web *web, uint64_t seed, uint64_t epoch, uint64_t position, int count, const uint8_t *src,
                   uint8_t *dst, float *shares, int32_t *partners)
{
    if (!web->augment) return (int)liana__fail(&web->error, LIANA_INVALID_ARGUMENT, "no list was prepared");
    uint64_t *addresses = calloc((size_t)count * 2, sizeof *addresses);
    if (!addresses) return (int)liana__fail_memory(&web->error, "the images' addresses");
    liana__batch batch = {.count = count,
                          .num_positions = count,
                          .first_position = position,
                          .images = dst,
                          .positions = addresses,
                          .records = addresses + count,
                          .epoch = epoch};
    for (int i = 0; i < count; i++) {
        addresses[i] = position + (uint64_t)i;
        shares[i] = 1;
        partners[i] = i;
    }
    liana_status status = run_all(web, seed, &batch, src);
    if (status == LIANA_OK && liana__augment_mixes(web->augment)) status = mix(web, seed, &batch, shares, partners);
    free(addresses);
    return (int)status;
}

/* ---- perspective ---- */

bool liana__web_mapping(const liana__web *web, uint64_t seed, uint64_t epoch, uint64_t position, double *matrix)
{
    liana_matrix found = liana__matrix_identity();
    liana_example_address address = {.seed = seed, .epoch = epoch, .position = position};
    bool chosen = web->augment && liana__augment_find_mapping(web->augment, &address, &found);
    memcpy(matrix, found.m, sizeof found.m);
    return chosen;
}

static void read_points(const double *numbers, liana__point points[4])
{
    for (int i = 0; i < 4; i++) points[i] = (liana__point){numbers[2 * i], numbers[2 * i + 1]};
}

/* All turns to the same side, by more than rounding. */
static bool is_convex(const liana__point points[4])
{
    int left = 0, right = 0;
    for (int i = 0; i < 4; i++) {
        const liana__point *a = &points[i], *b = &points[(i + 1) % 4], *c = &points[(i + 2) % 4];
        double cross = (b->x - a->x) * (c->y - b->y) - (b->y - a->y) * (c->x - b->x);
        left += cross > 1e-3;
        right += cross < -1e-3;
    }
    return left == 4 || right == 4;
}

bool liana__web_matrix_of(const double *numbers, double width, double height, double *matrix)
{
    liana__point points[4];
    read_points(numbers, points);
    if (!is_convex(points)) return false;
    liana_matrix made = liana__matrix_from_corners(points, width, height);
    memcpy(matrix, made.m, sizeof made.m);
    return true;
}

void liana__web_points_of(const double *matrix, double width, double height, double *points)
{
    static const double corners[4][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    liana_matrix from_output;
    memcpy(from_output.m, matrix, sizeof from_output.m);
    liana_matrix back = liana__matrix_adjugate(&from_output);
    for (int i = 0; i < 4; i++) {
        double x = corners[i][0] * width, y = corners[i][1] * height;
        double w = back.m[6] * x + back.m[7] * y + back.m[8];
        points[2 * i] = (back.m[0] * x + back.m[1] * y + back.m[2]) / w;
        points[2 * i + 1] = (back.m[3] * x + back.m[4] * y + back.m[5]) / w;
    }
}

double liana__web_factor_of(const double *numbers, double width, double height, bool *turn)
{
    liana__point points[4];
    read_points(numbers, points);
    return liana__perspective_factor(points, width, height, turn);
}

void liana__web_warp(const uint8_t *src, uint8_t *dst, int height, int width, int channels, const double *matrix,
                     int interpolation, int fill_mode, int fill)
{
    liana__warp warp = {.src = src,
                        .src_height = height,
                        .src_width = width,
                        .dst = dst,
                        .dst_height = height,
                        .dst_width = width,
                        .channels = channels,
                        .interpolation = (liana__interpolation)interpolation,
                        .fill_mode = (liana__fill_mode)fill_mode,
                        .fill = (uint8_t)fill};
    memcpy(warp.from_output.m, matrix, sizeof warp.from_output.m);
    liana__pixel_kernels_for(LIANA__ISA_BASELINE)->warp(&warp);
}

void liana__web_paint(const uint8_t *pixels, size_t num_pixels, int channels, uint8_t *rgba)
{
    int green = channels == 3 ? 1 : 0, blue = channels == 3 ? 2 : 0;
    for (size_t i = 0; i < num_pixels; i++, pixels += channels) {
        rgba[4 * i] = pixels[0];
        rgba[4 * i + 1] = pixels[green];
        rgba[4 * i + 2] = pixels[blue];
        rgba[4 * i + 3] = 255;
    }
}
