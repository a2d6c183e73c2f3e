/* augment.h - augmentation: training images are changed randomly, differently in each epoch.
 *
 * A stage is one of four kinds:
 * - geometric: a mapping from points of its output to points of its input. The mappings of stages in a row are
 *   multiplied, and the image is sampled once;
 * - colour: a change that is linear in a pixel's channels. The changes of stages in a row are multiplied too;
 * - pixels: changes an image in place;
 * - mixing: combines pairs of images of a shard, after all other stages.
 *
 * To add a stage: the struct in src/data/augment/<family>.c, and a row in augment.def. */
#ifndef LIANA_DATA_AUGMENT_AUGMENT_H
#define LIANA_DATA_AUGMENT_AUGMENT_H

#include "base/context.h"
#include "base/field.h"
#include "base/memory.h"
#include "data/augment/draws.h"
#include "data/augment/pixels.h"
#include "data/loader/loader.h"

typedef struct liana__augment_shape {
    int64_t height;
    int64_t width;
    int channels; /* 1 or 3 */
} liana__augment_shape;

/* The first options of every stage. */
typedef struct liana__augment_common {
    double probability;
} liana__augment_common;

/* The first options of every geometric stage. */
typedef struct liana__augment_sampling {
    liana__augment_common common;
    int interpolation; /* liana__interpolation */
    int fill_mode;     /* liana__fill_mode */
    int64_t fill;
} liana__augment_sampling;

extern const char *const liana__interpolation_names[];
extern const char *const liana__fill_mode_names[];

/* The first rows of tables of options. */
#define LIANA__AUGMENT_FIELDS(default_probability)                                                                    \
    {                                                                                                                 \
        .name = "probability", .kind = LIANA__FIELD_FLOAT, .offset = offsetof(liana__augment_common, probability),    \
        .default_text = default_probability, .maximum = 1, .doc = "The share of images that the stage is applied to." \
    }
#define LIANA__SAMPLING_FIELDS(default_probability)                                                                  \
    LIANA__AUGMENT_FIELDS(default_probability),                                                                      \
        {.name = "interpolation",                                                                                    \
         .kind = LIANA__FIELD_ENUM,                                                                                  \
         .offset = offsetof(liana__augment_sampling, interpolation),                                                 \
         .default_text = "bilinear",                                                                                 \
         .names = liana__interpolation_names,                                                                        \
         .doc = "The interpolation between pixels."},                                                                \
        {.name = "fill_mode",                                                                                        \
         .kind = LIANA__FIELD_ENUM,                                                                                  \
         .offset = offsetof(liana__augment_sampling, fill_mode),                                                     \
         .default_text = "constant",                                                                                 \
         .names = liana__fill_mode_names,                                                                            \
         .doc = "The pixels outside the image: the value of fill, the edge, or the image again."},                   \
    {                                                                                                                \
        .name = "fill", .kind = LIANA__FIELD_INT, .offset = offsetof(liana__augment_sampling, fill), .maximum = 255, \
        .doc = "The value of the pixels outside the image, 0 (black) to 255."                                        \
    }

/* A mapping of points; pixel (row, column) covers [column, column + 1) x [row, row + 1). */
typedef struct liana__point_mapping {
    liana__matrix from_output; /* an output point to an input point */
    bool exact;                /* centres of pixels map to centres of pixels: nothing is interpolated */
    bool inside;               /* no output point maps to a point outside of the input: nothing is filled */
} liana__point_mapping;

/* A colour change: new = scale * old + grey * old's grey + offset. */
typedef struct liana__colour_change {
    double scale;
    double grey;
    double offset[3]; /* of each channel, in levels */
} liana__colour_change;

/* What a stage prepares before the first image. */
typedef struct liana__augment_setup {
    liana__augment_shape in;
    liana__augment_shape out; /* the same as `in`, unless the stage sets it */
    size_t scratch_size;      /* bytes that `apply` needs */
    const void *state;        /* passed on to `apply`, made in the arena */
    liana__arena *arena;
} liana__augment_setup;

/* One application to one image. */
typedef struct liana__augment_call {
    const void *options;
    const void *state;
    liana__augment_shape shape;
    uint8_t *pixels; /* [height, width, channels] */
    void *scratch;   /* aligned */
    liana__draws *draws;
    const liana__pixel_kernels *kernels;
    liana__error *error;
} liana__augment_call;

static inline size_t liana__augment_size(const liana__augment_shape *shape)
{
    return (size_t)(shape->height * shape->width) * (size_t)shape->channels;
}

/* Two examples to mix. */
typedef struct liana__mix_call {
    const void *options;
    liana__augment_shape shape;
    bool fractions; /* pixels are floats, else u8 */
    const void *own;
    const void *partner;
    void *dst;
    liana__draws *draws;
    const liana__pixel_kernels *kernels;
} liana__mix_call;

typedef struct liana__augmentation {
    const char *name; /* in YAML; "RandomFlip" finds random_flip too */
    const char *doc;
    const liana__fields *options; /* of a struct that begins with liana__augment_common, or _sampling for geometric
                                   * stages */
    bool draws_chance;            /* the stage draws with the probability itself */
    /* Checks what the table of options cannot (NULL: nothing). Errors: INVALID_CONFIG, for users. */
    liana_status (*prepare)(const void *options, liana__augment_setup *setup, liana__error *error);
    bool uses_means; /* `colour` needs the image's means */
    /* One of the four. */
    void (*mapping)(const void *options, const liana__augment_shape *in, const liana__augment_shape *out,
                    liana__draws *draws, liana__point_mapping *mapping);
    /* `means` of each channel. */
    void (*colour)(const void *options, const double means[3], liana__draws *draws, liana__colour_change *change);
    liana_status (*apply)(const liana__augment_call *call);
    /* Writes the mixed image and returns the share of `own` in it, from 0 to 1. */
    double (*mix)(const liana__mix_call *call);
} liana__augmentation;

#define LIANA__AUGMENTATION(stem, name) extern const liana__augmentation liana__augmentation_##name;
#include "data/augment/augment.def"
#undef LIANA__AUGMENTATION

/* All stages in the order of augment.def, NULL-terminated. */
extern const liana__augmentation *const liana__augmentations[];

/* Finds a stage by name; NULL: there is none. */
const liana__augmentation *liana__augmentation_find(const char *name);

/* A list of stages, checked and ready. */
typedef struct liana__augment liana__augment;

/* Reads a list such as [random_flip, {random_rotation: {degrees: 10}}]. `where` is its key, for messages. Images arrive
 * in the size that the list asks for (liana__augment_input) and leave as `shape`. `context` gives functions and
 * instruction set. `list` is not kept. Errors: INVALID_CONFIG with file, line and key: no list, an unknown stage or
 * option, a final size that differs from `shape`. */
liana_status liana__augment_create(liana_context *context, const liana__value *list, const char *where,
                                   const liana__augment_shape *shape, liana__augment **augment, liana__error *error)
    LIANA_MUST_USE;
void liana__augment_destroy(liana__augment *augment);

/* The shape of images before the first stage. */
liana__augment_shape liana__augment_input(const liana__augment *augment);
size_t liana__augment_scratch_size(const liana__augment *augment);
size_t liana__augment_num_stages(const liana__augment *augment);
/* The name of stage i in the list. */
const char *liana__augment_stage_name(const liana__augment *augment, size_t i);

/* The list as the augmenter of a loader; the list must outlive it. */
liana__augmenter liana__augmenter_of(const liana__augment *augment);

/* Whether there are mixing stages. Of several, the first whose probability says so is applied to an example. */
bool liana__augment_mixes(const liana__augment *augment);
/* The mixing stages as the mixer of a loader, for shards of `microbatch` examples. */
liana__mixer liana__augment_mixer(const liana__augment *augment, int64_t microbatch);

/* Applies the list: src in the first shape to dst in the last. src is not changed, and must not overlap dst. Allocates
 * nothing, except in stages that say so. */
liana_status liana__augment_apply(const liana__augment *augment, const liana_example_address *address,
                                  const uint8_t *src, uint8_t *dst, void *scratch, liana__error *error) LIANA_MUST_USE;

/* The region of src that liana__augment_apply reads for this address. */
void liana__augment_find_region(const liana__augment *augment, const liana_example_address *address,
                                liana__image_region *region);

/* Applies only the first num_stages stages, to measure them. The result stays in the scratch memory. */
liana_status liana__augment_try(const liana__augment *augment, size_t num_stages, const liana_example_address *address,
                                const uint8_t *src, void *scratch, liana__error *error) LIANA_MUST_USE;

#endif
