/* Augmentation: each stage against PyTorch, torchvision and Pillow, the draws, and refused lists. */
#include "harness/harness.h"

#include "base/context.h"
#include "data/augment/augment.h"
#include "formats/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEED = 11, EPOCH = 3, MAX_VALUES = 640 };

typedef struct liana__augment_sample {
    const char *list;
    int shape[3];
    int out[2];
    int position;
    int tolerance; /* of values, in steps */
    uint8_t expected[MAX_VALUES];
} liana__augment_sample;

#include "samples/torch_augment.h"

/* The image of torch_augment.py. */
static void draw_image(uint8_t *pixels, const liana_image_shape *shape)
{
    for (int y = 0; y < shape->height; y++) {
        for (int x = 0; x < shape->width; x++) {
            for (int c = 0; c < shape->channels; c++) {
                *pixels++ = (uint8_t)(17 * x + 29 * y + 53 * c + 5 * x * y + 3 * (x ^ y));
            }
        }
    }
}

static liana_context *make_context(void)
{
    liana_context *context;
    assert_int_equal(liana_context_create(&(liana_context_options){.num_threads = 1}, &context), LIANA_OK);
    return context;
}

static liana_status read_list(liana_context *context, const char *text, liana_image_shape shape,
                              liana__augment **augment, liana__error *error)
{
    liana__arena arena = {0};
    liana__value *list;
    assert_ok(liana__yaml_parse(text, strlen(text), "list", &arena, &list, error), error);
    liana_status status = liana__augment_create(context, list, "data.augment", &shape, augment, error);
    liana__arena_free(&arena);
    return status;
}

static liana__augment *make(liana_context *context, const char *text, int height, int width, int channels)
{
    liana__error error = {0};
    liana__augment *augment;
    assert_ok(read_list(context, text, (liana_image_shape){height, width, channels}, &augment, &error), &error);
    return augment;
}

/* Applies a list to src. Memory around the image shows writes there. */
static void apply(const liana__augment *augment, const liana_example_address *address, const uint8_t *src, uint8_t *dst,
                  size_t size)
{
    liana__error error = {0};
    uint8_t *scratch = liana__allocate_aligned(liana__augment_scratch_size(augment));
    uint8_t *guarded = malloc(size + 128);
    assert_non_null(guarded);
    memset(guarded, 0xA5, size + 128);
    assert_ok(liana__augment_apply(augment, address, src, guarded + 64, scratch, &error), &error);
    for (size_t i = 0; i < 64; i++) {
        assert_int_equal(guarded[i], 0xA5);
        assert_int_equal(guarded[64 + size + i], 0xA5);
    }
    memcpy(dst, guarded + 64, size);
    free(guarded);
    free(scratch);
}

static liana_example_address at(uint64_t position)
{
    return (liana_example_address){.seed = SEED, .epoch = EPOCH, .position = position};
}

/* ---- values ---- */

static void check_sample(const liana__augment_sample *sample, liana__isa isa)
{
    liana_context *context = make_context();
    if (context->isa > isa) context->isa = isa;
    liana__augment *augment = make(context, sample->list, sample->out[0], sample->out[1], sample->shape[2]);
    liana_image_shape first = liana__augment_input(augment);
    assert_int_equal(first.height, sample->shape[0]);
    assert_int_equal(first.width, sample->shape[1]);
    uint8_t src[MAX_VALUES], dst[MAX_VALUES];
    draw_image(src, &first);
    liana_example_address address = at((uint64_t)sample->position);
    int size = sample->out[0] * sample->out[1] * sample->shape[2];
    apply(augment, &address, src, dst, (size_t)size);
    for (int i = 0; i < size; i++) {
        if (abs(dst[i] - sample->expected[i]) <= sample->tolerance) continue;
        fail_msg("%s, position %d, value %d of %d: found %d, expected %d", sample->list, sample->position, i, size,
                 dst[i], sample->expected[i]);
    }
    liana__augment_destroy(augment);
    liana_context_destroy(context);
}

static void test_stages_do_what_torch_does(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof augment_samples / sizeof *augment_samples; i++) {
        for (int isa = LIANA__ISA_BASELINE; isa <= LIANA__ISA_AMX; isa++) {
            check_sample(&augment_samples[i], (liana__isa)isa);
        }
    }
}

/* ---- lists ---- */

static void test_wrong_lists_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        const char *words[3];
    } wrong[] = {
        {"5", {"data.augment", "the number 5", "a list of augmentations"}},
        {"[random_flop]", {"data.augment[0]", "'random_flop'", "did you mean 'random_flip'?"}},
        {"[xyz]", {"data.augment[0]", "'xyz'", "liana list augmentations"}},
        {"[{random_flip: {directions: vertical}}]", {"data.augment[0].random_flip", "'directions'", "'direction'"}},
        {"[{random_flip: {}, resize: {size: 8}}]", {"data.augment[0]", "a mapping of 2", "expected one stage"}},
        {"[{random_flip: 0.5}]", {"random_flip", "the number 0.5", "expected options"}},
        {"[random_flip, {random_crop: {size: [10, 4]}}]", {"data.augment[1].random_crop", "10 x 4", "8 x 8"}},
        {"[{random_crop: {size: 4}}]", {"after all stages", "4 x 4", "8 x 8"}},
        {"[{resize: {size: [8, 6]}}, random_rotate90]", {"data.augment[1].random_rotate90", "8 x 6", "square"}},
        {"[{random_resized_crop: {min_scale: 0.5, max_scale: 0.25}}]", {"0.5", "0.25", "larger"}},
        {"[{random_perspective: {factor: 0.3}}]", {"factor", "0.3", "0.25"}},
        {"[{random_flip: {probability: 1.5}}]", {"probability", "1.5", "1.0"}},
    };
    liana_context *context = make_context();
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        liana__error error = {0};
        liana__augment *augment;
        const char *const *words = wrong[i].words;
        liana_status status = read_list(context, wrong[i].list, (liana_image_shape){8, 8, 3}, &augment, &error);
        assert_fails(status, LIANA_INVALID_CONFIG, &error, "list:1:", words[0], words[1], words[2]);
        assert_null(augment);
    }
    liana_context_destroy(context);
}

/* ---- perspective ---- */

/* Without shifts a perspective is a turn with a reflection: of the corners' values, and with `turn: false` nothing. */
static void test_a_perspective_without_shifts_only_turns(void **state)
{
    (void)state;
    enum { SIDE = 12, SIZE = SIDE * SIDE * 3 };
    const liana_image_shape shape = {SIDE, SIDE, 3};
    uint8_t src[SIZE], dst[SIZE];
    draw_image(src, &shape);
    liana_context *context = make_context();
    const liana__isa best = context->isa;
    for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
        context->isa = (liana__isa)isa;
        liana__augment *still = make(context, "[{random_perspective: {factor: 0, turn: false}}]", SIDE, SIDE, 3);
        liana__augment *turning = make(context, "[{random_perspective: {factor: 0}}]", SIDE, SIDE, 3);
        int num_moved = 0;
        for (uint64_t position = 0; position < 32; position++) {
            liana_example_address address = at(position);
            apply(still, &address, src, dst, SIZE);
            assert_memory_equal(dst, src, SIZE);
            apply(turning, &address, src, dst, SIZE);
            num_moved += memcmp(dst, src, SIZE) != 0;
            /* The pixels are the same ones, in another order. */
            int64_t sums[2] = {0};
            for (int i = 0; i < SIZE; i++) {
                sums[0] += src[i] * src[i];
                sums[1] += dst[i] * dst[i];
            }
            assert_int_equal(sums[0], sums[1]);
        }
        assert_compare(num_moved, >, 20);
        liana__augment_destroy(still);
        liana__augment_destroy(turning);
    }
    liana_context_destroy(context);
}

/* ---- any size ---- */

/* Every stage, on images that are hardly there and on odd ones: nothing is written outside, all levels give the same.
 */
static void test_stages_take_any_size(void **state)
{
    (void)state;
    static const int sizes[][2] = {{1, 1}, {1, 2}, {2, 1}, {1, 9}, {7, 1}, {2, 2}, {3, 3}, {17, 31}, {40, 40}};
    enum { LARGEST = 40 * 40 * 3 };
    uint8_t src[LARGEST], dst[LARGEST], expected[LARGEST];
    liana_context *context = make_context();
    liana__isa best = context->isa;
    int num_refused = 0;
    const liana_augmentation_type *kind;
    for (size_t i = 0; (kind = liana__part_at(NULL, &liana__augmentation_kind, i)); i++) {
        for (size_t k = 0; k < 2 * (sizeof sizes / sizeof *sizes); k++) {
            liana_image_shape shape = {sizes[k / 2][0], sizes[k / 2][1], k % 2 ? 3 : 1};
            char list[200], size[40] = "";
            if (kind->is_decoding) {
                snprintf(size, sizeof size, "size: [%d, %d]", (int)shape.height, (int)shape.width);
            }
            bool has_chance = liana__fields_find(&kind->part.options, "probability");
            snprintf(list, sizeof list, "[{%s: {%s%s}}]", kind->part.name, has_chance ? "probability: 1" : "", size);
            draw_image(src, &shape);
            for (int isa = LIANA__ISA_BASELINE; isa <= (int)best; isa++) {
                liana__error error = {0};
                liana__augment *augment;
                context->isa = (liana__isa)isa;
                if (read_list(context, list, shape, &augment, &error) != LIANA_OK) {
                    assert_says(error.message, "square");
                    num_refused++;
                    continue;
                }
                for (uint64_t position = 0; position < 8; position++) {
                    liana_example_address address = at(position);
                    apply(augment, &address, src, isa ? dst : expected, liana__augment_size(&shape));
                    if (isa == 0) memcpy(dst, expected, sizeof dst);
                    apply(augment, &address, src, isa ? dst : expected, liana__augment_size(&shape));
                    if (isa == 0) assert_memory_equal(dst, expected, liana__augment_size(&shape));
                }
                if (isa) assert_memory_equal(dst, expected, liana__augment_size(&shape));
                liana__augment_destroy(augment);
            }
        }
    }
    assert_compare(num_refused, >, 0);
    assert_compare(num_refused, <=, 10 * ((int)best + 1));
    liana_context_destroy(context);
}

/* ---- pixels that are read ---- */

/* Whatever lies around the part that a list looks at changes nothing; returns the share of the image that it is. */
static double check_part(const char *text, int height, int width, int channels)
{
    enum { LARGEST = 96 * 96 * 3 };
    static uint8_t src[LARGEST], other[LARGEST], dst[LARGEST], expected[LARGEST];
    liana_context *context = make_context();
    liana__augment *augment = make(context, text, height, width, channels);
    liana_image_shape first = liana__augment_input(augment);
    size_t size = (size_t)(height * width * channels);
    double share = 0;
    assert_compare(liana__augment_size(&first), <=, LARGEST);
    assert_compare(size, <=, LARGEST);
    draw_image(src, &first);
    for (uint64_t position = 0; position < 64; position++) {
        liana_example_address address = at(position);
        liana__image_region part;
        liana__augment_find_region(augment, &address, &part);
        assert_compare(part.top, >=, 0);
        assert_compare(part.left, >=, 0);
        assert_compare(part.height, >, 0);
        assert_compare(part.width, >, 0);
        assert_compare(part.top + part.height, <=, first.height);
        assert_compare(part.left + part.width, <=, first.width);
        share += (double)(part.height * part.width) / (double)(first.height * first.width) / 64;
        memset(other, 0xA5 ^ (int)position, sizeof other);
        for (int64_t y = part.top; y < part.top + part.height; y++) {
            size_t offset = (size_t)((y * first.width + part.left) * channels);
            memcpy(other + offset, src + offset, (size_t)(part.width * channels));
        }
        apply(augment, &address, src, expected, size);
        apply(augment, &address, other, dst, size);
        if (memcmp(dst, expected, size) != 0) fail_msg("%s, position %d: other pixels", text, (int)position);
    }
    liana__augment_destroy(augment);
    liana_context_destroy(context);
    return share;
}

static void test_nothing_around_the_part_is_looked_at(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        double most; /* of the image, in the mean */
    } cases[] = {
        {"[{resize: {size: [96, 80]}}, {random_crop: {size: [40, 32]}}]", 0.22},
        {"[{resize: {size: [96, 80]}}, {random_resized_crop: {size: [40, 32]}}]", 0.75},
        {"[{resize: {size: [96, 80]}}, {random_resized_crop: {size: [40, 32], max_scale: 0.3}}, random_flip]", 0.35},
        {"[{resize: {size: [96, 80]}}, {random_crop: {size: [40, 32]}}, {random_rotation: {fill_mode: nearest}}]", 0.6},
        {"[{resize: {size: [96, 80]}}, {random_crop: {size: [40, 32]}}, {random_perspective: {probability: 1}}]", 0.6},
        {"[{resize: {size: [96, 80]}}, {random_crop: {size: [40, 32], padding: 8, fill_mode: reflect}}]", 1},
        {"[{resize: {size: [96, 80]}}, {random_crop: {size: [40, 32]}}, {random_rotation: {interpolation: nearest}}]",
         1},
        {"[{random_crop: {size: [40, 32], padding: 9}}]", 1},
        {"[{random_crop: {size: [40, 32], padding: 9, fill_mode: wrap}}, random_zoom]", 1},
        {"[{resize: {size: [96, 80]}}, {random_brightness: {probability: 0.5}}, {random_crop: {size: [40, 32]}}]", 1},
        {"[random_contrast, {random_zoom: {fill_mode: nearest}}, random_perspective]", 1},
        {"[random_perspective, {random_translation: {fill_mode: reflect}}, random_hue]", 1},
        {"[{mixup: {}}, {random_translation: {interpolation: nearest}}, random_shear]", 1},
        {"[]", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (int channels = 1; channels <= 3; channels += 2) {
            double share = check_part(cases[i].list, 40, 32, channels);
            if (share > cases[i].most) fail_msg("%s: %.2f of the image", cases[i].list, share);
        }
    }
}

static liana_status change_nothing(const liana_augment_call *call)
{
    ++*(int *)call->user;
    return LIANA_OK;
}

/* Neighbouring changes of colour are one. A function that changes nothing, where it is applied, keeps them apart; then
 * each rounds for itself. */
static void test_changes_of_colour_are_joined(void **state)
{
    (void)state;
    enum { SIDE = 40 };
    liana_context *context = make_context();
    int calls = 0;
    const liana_augmentation_type nothing = {LIANA_PART(AUGMENTATION, liana_augmentation_type, "nothing", NULL),
                                             .user = &calls, .apply = change_nothing};
    assert_int_equal(liana_register(context, &nothing.part), LIANA_OK);
    static const char format[] =
        "[random_brightness: {factor: 0.1}, nothing: {probability: %d}, random_contrast: "
        "{factor: 0.3}, nothing: {probability: %d}, random_saturation: {factor: 0.5}, nothing: "
        "{probability: %d}, random_contrast: {factor: 0.3}, random_grayscale]";
    for (int channels = 1; channels <= 3; channels += 2) {
        char lists[2][400];
        for (int i = 0; i < 2; i++) snprintf(lists[i], sizeof lists[i], format, i, i, i);
        liana__augment *joined = make(context, lists[0], SIDE, SIDE, channels);
        liana__augment *apart = make(context, lists[1], SIDE, SIDE, channels);
        uint8_t src[SIDE * SIDE * 3], first[SIDE * SIDE * 3], second[SIDE * SIDE * 3];
        size_t size = (size_t)(SIDE * SIDE * channels);
        draw_image(src, &(liana_image_shape){SIDE, SIDE, channels});
        for (size_t i = 0; i < size; i++) src[i] = (uint8_t)(80 + src[i] % 96); /* nothing is cut off */
        int differences = 0;
        for (uint64_t position = 0; position < 50; position++) {
            liana_example_address address = at(position);
            calls = 0;
            apply(joined, &address, src, first, size);
            assert_int_equal(calls, 0);
            apply(apart, &address, src, second, size);
            assert_int_equal(calls, 3);
            for (size_t i = 0; i < size; i++) {
                assert_compare(abs(first[i] - second[i]), <=, 2, i);
                differences += first[i] != second[i];
            }
        }
        assert_compare(differences, >, 0);
        liana__augment_destroy(joined);
        liana__augment_destroy(apart);
    }
    liana_context_destroy(context);
}

/* ---- draws ---- */

/* In how many of `count` images anything changed. */
static double share_changed(const char *list, int count)
{
    liana_context *context = make_context();
    liana__augment *augment = make(context, list, 6, 6, 3);
    uint8_t src[108], dst[108];
    draw_image(src, &(liana_image_shape){6, 6, 3});
    int changed = 0;
    for (int i = 0; i < count; i++) {
        liana_example_address address = at((uint64_t)i);
        apply(augment, &address, src, dst, sizeof dst);
        changed += memcmp(src, dst, sizeof dst) != 0;
    }
    liana__augment_destroy(augment);
    liana_context_destroy(context);
    return (double)changed / count;
}

/* Five standard deviations of a share of 4000. */
static void assert_share(double share, double expected)
{
    double limit = 5 * sqrt(expected * (1 - expected) / 4000) + 1e-12;
    if (fabs(share - expected) > limit) fail_msg("a share of %g, expected %g +- %g", share, expected, limit);
}

static void test_stages_are_applied_as_often_as_asked(void **state)
{
    (void)state;
    assert_share(share_changed("[random_flip]", 4000), 0.5);
    assert_share(share_changed("[{random_flip: {direction: horizontal_and_vertical, probability: 0.3}}]", 4000),
                 1 - 0.7 * 0.7);
    assert_share(share_changed("[random_rotate90]", 4000), 0.75);
    assert_share(share_changed("[{random_perspective: {probability: 0.8}}]", 4000), 0.8);
    assert_share(share_changed("[{random_rotation: {probability: 0.1}}]", 4000), 0.1);
    assert_share(share_changed("[{random_brightness: {probability: 0.0}}]", 4000), 0);
    assert_share(share_changed("[]", 4000), 0);
}

/* Stages of one list draw for themselves: both, one or none flip, each a quarter of the time. */
static void test_stages_draw_independently(void **state)
{
    (void)state;
    assert_share(share_changed("[random_flip, random_flip]", 4000), 0.5);
    assert_share(share_changed("[random_flip, {random_flip: {direction: vertical}}]", 4000), 0.75);
}

/* ---- mixing ---- */

enum { MIXED = 10, MICROBATCH = 4, MIX_SIDE = 12, MIX_SIZE = MIX_SIDE * MIX_SIDE };

/* A batch whose example i is a plain image of value 20 i with label i, mixed. */
typedef struct mixed_batch {
    uint8_t images[MIXED * MIX_SIZE];
    int32_t labels[MIXED], partners[MIXED];
    float sizes[2 * MIXED], partner_sizes[2 * MIXED]; /* another target, of two numbers */
    float shares[MIXED];
    uint64_t positions[MIXED], records[MIXED];
    liana__batch batch;
} mixed_batch;

static void mix(const liana__augment *augment, mixed_batch *own, uint64_t first)
{
    for (int i = 0; i < MIXED; i++) {
        memset(own->images + i * MIX_SIZE, 20 * i, MIX_SIZE);
        own->labels[i] = i;
        own->positions[i] = first + (uint64_t)i;
        own->records[i] = 0;
        own->sizes[2 * i] = (float)i + 0.5f;
        own->sizes[2 * i + 1] = (float)-i;
    }
    own->batch = (liana__batch){.count = MIXED,
                                .num_positions = MIXED,
                                .images = own->images,
                                .labels = own->labels,
                                .positions = own->positions,
                                .records = own->records};
    const liana_shape pair = liana_shape_of(2);
    liana__batch *batch = &own->batch;
    liana__batch_add(batch, "size", LIANA_F32, &pair, own->sizes);
    liana__batch_add(batch, "label", LIANA_S32, &LIANA_SCALAR, own->labels);
    liana__batch_add(batch, LIANA__SHARES, LIANA_F32, &LIANA_SCALAR, own->shares);
    liana__batch_add(batch, "partner sizes", LIANA_F32, &pair, own->partner_sizes);
    liana__batch_add(batch, "partners", LIANA_S32, &LIANA_SCALAR, own->partners);
    for (int i = 0; i < 2; i++) batch->components[3 + i].partner_of = &batch->components[i];
    void *scratch = liana__allocate_aligned(liana__augment_mix_scratch_size(augment, MICROBATCH));
    liana__augment_mix(augment, MICROBATCH, &own->batch, SEED, scratch);
    free(scratch);
}

/* Partners are a permutation of each shard: 10 examples are cut into 4, 3 and 3. */
static void check_partners(const mixed_batch *own)
{
    static const int shards[] = {0, 4, 7, 10};
    for (int shard = 0; shard < 3; shard++) {
        int seen[MIXED] = {0};
        for (int i = shards[shard]; i < shards[shard + 1]; i++) {
            assert_in_range(own->partners[i], shards[shard], shards[shard + 1] - 1);
            assert_int_equal(seen[own->partners[i]]++, 0);
            assert_compare(own->partner_sizes[2 * i], ==, (float)own->partners[i] + 0.5f, i);
            assert_compare(own->partner_sizes[2 * i + 1], ==, (float)-own->partners[i], i);
        }
    }
}

/* How many pixels of an image are its partner's, and whether all others are its own. */
static int count_partner(const mixed_batch *own, int i)
{
    int count = 0;
    for (int k = 0; k < MIX_SIZE; k++) {
        int value = own->images[i * MIX_SIZE + k];
        if (value != 20 * i) assert_int_equal(value, 20 * own->partners[i]);
        count += value != 20 * i;
    }
    return count;
}

static void test_mixed_images_have_the_shares_that_they_say(void **state)
{
    (void)state;
    liana_context *context = make_context();
    liana__augment *mixup = make(context, "[{mixup: {alpha: 1}}]", MIX_SIDE, MIX_SIDE, 1);
    liana__augment *cutmix = make(context, "[cutmix]", MIX_SIDE, MIX_SIDE, 1);
    liana__augment *either =
        make(context, "[{mixup: {probability: 0.25}}, {cutmix: {probability: 0}}]", MIX_SIDE, MIX_SIDE, 1);
    static mixed_batch own;
    double sum = 0, squares = 0;
    int mixed = 0;
    for (uint64_t trial = 0; trial < 400; trial++) {
        mix(mixup, &own, MIXED * trial);
        check_partners(&own);
        for (int i = 0; i < MIXED; i++) {
            double share = (double)own.shares[i];
            int expected = (int)floor(share * 20 * i + (1 - share) * 20 * own.partners[i] + 0.5);
            for (int k = 0; k < MIX_SIZE; k++)
                assert_compare(abs(own.images[i * MIX_SIZE + k] - expected), <=, 1, i, k);
            sum += share / 4000;
            squares += share * share / 4000;
        }
        mix(cutmix, &own, MIXED * trial);
        check_partners(&own);
        for (int i = 0; i < MIXED; i++) {
            double expected = 1 - (double)count_partner(&own, i) / MIX_SIZE;
            if (own.partners[i] != i) assert_near(own.shares[i], expected, 1e-6, i);
        }
        mix(either, &own, MIXED * trial);
        for (int i = 0; i < MIXED; i++) mixed += own.shares[i] < 1;
    }
    /* Beta(1, 1) is uniform: mean 1/2, second moment 1/3; five standard deviations of 4000. */
    assert_near(sum, 0.5, 5 * sqrt(1.0 / 12 / 4000));
    assert_near(squares, 1.0 / 3, 5 * sqrt(4.0 / 45 / 4000));
    assert_share(mixed / 4000.0, 0.25);
    liana__augment_destroy(mixup);
    liana__augment_destroy(cutmix);
    liana__augment_destroy(either);
    liana_context_destroy(context);
}

/* Small shapes: Beta(a, a) has the variance 1 / (4 (2 a + 1)). */
static void test_shares_have_the_variance_of_their_alpha(void **state)
{
    (void)state;
    static const struct {
        const char *list;
        double alpha;
    } cases[] = {{"[mixup]", 0.2}, {"[{mixup: {alpha: 0.01}}]", 0.01}, {"[{mixup: {alpha: 8}}]", 8}};
    liana_context *context = make_context();
    static mixed_batch own;
    for (int k = 0; k < 3; k++) {
        liana__augment *augment = make(context, cases[k].list, MIX_SIDE, MIX_SIDE, 1);
        double squares = 0;
        for (uint64_t trial = 0; trial < 400; trial++) {
            mix(augment, &own, MIXED * trial);
            for (int i = 0; i < MIXED; i++) {
                assert_compare(own.shares[i], >=, 0, i);
                assert_compare(own.shares[i], <=, 1, i);
                squares += ((double)own.shares[i] - 0.5) * ((double)own.shares[i] - 0.5) / 4000;
            }
        }
        double expected = 1 / (4 * (2 * cases[k].alpha + 1));
        assert_near(squares, expected, 0.08 * expected);
        liana__augment_destroy(augment);
    }
    liana_context_destroy(context);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stages_do_what_torch_does),
        cmocka_unit_test(test_wrong_lists_are_refused),
        cmocka_unit_test(test_a_perspective_without_shifts_only_turns),
        cmocka_unit_test(test_stages_take_any_size),
        cmocka_unit_test(test_nothing_around_the_part_is_looked_at),
        cmocka_unit_test(test_changes_of_colour_are_joined),
        cmocka_unit_test(test_stages_are_applied_as_often_as_asked),
        cmocka_unit_test(test_stages_draw_independently),
        cmocka_unit_test(test_mixed_images_have_the_shares_that_they_say),
        cmocka_unit_test(test_shares_have_the_variance_of_their_alpha),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
