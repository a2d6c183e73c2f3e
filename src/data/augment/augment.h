/* augment.h - augmentation: training images are changed by chance, each time otherwise.
 *
 * A stage is one of four kinds. A geometric one gives a mapping from points of its output to points of its input;
 * where several follow each other, their mappings are multiplied and the image is sampled once. One of colour gives a
 * change that is linear in a pixel's channels; those of neighbours are multiplied too. One of pixels changes an image
 * in place. One that mixes joins the images of a shard two by two, after all others. To add a stage: the
 * struct in src/data/augment/<family>.c and a row in augment.def. */
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

/* What the options of every stage begin with. */
typedef struct liana__augment_common {
    double probability;
} liana__augment_common;

/* What the options of every geometric stage begin with. */
typedef struct liana__augment_sampling {
    liana__augment_common common;
    int interpolation; /* liana__interpolation */
    int fill_mode;     /* liana__fill_mode */
    int64_t fill;
} liana__augment_sampling;

extern const char *const liana__interpolation_names[];
extern const char *const liana__fill_mode_names[];

/* The rows that tables of options begin with. */
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
typedef struct liana__geometry {
    liana__matrix from_output; /* an output point to an input point */
    bool exact;                /* centres of pixels fall on centres of pixels: nothing is interpolated */
    bool inside;               /* no output point falls outside the input: nothing is filled in */
} liana__geometry;

/* A change of colours: each becomes scale * itself + grey * its own grey + offset. */
typedef struct liana__colour_change {
    double scale;
    double grey;
    double offset[3]; /* of each channel, in levels */
} liana__colour_change;

/* What a stage finds out before the first image. */
typedef struct liana__augment_setup {
    liana__augment_shape in;
    liana__augment_shape out; /* the same unless the stage says otherwise */
    size_t scratch_size;      /* bytes that `apply` needs */
    const void *state;        /* what apply finds in the call, made in the arena */
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

/* Two examples that become one. */
typedef struct liana__mix_call {
    const void *options;
    liana__augment_shape shape;
    const uint8_t *own;
    const uint8_t *partner;
    uint8_t *dst;
    liana__draws *draws;
    const liana__pixel_kernels *kernels;
} liana__mix_call;

typedef struct liana__augmentation {
    const char *name; /* in YAML; "RandomFlip" finds random_flip too */
    const char *doc;
    const liana__fields *options; /* of a struct that begins with liana__augment_common, or _sampling if geometric */
    bool draws_chance;            /* the stage looks at the probability itself */
    /* Checks what the table of options cannot (NULL: nothing). Errors are those of people: INVALID_CONFIG. */
    liana_status (*prepare)(const void *options, liana__augment_setup *setup, liana__error *error);
    bool uses_means; /* `colour` looks at the image's means */
    /* One of the four. */
    void (*geometry)(const void *options, const liana__augment_shape *in, const liana__augment_shape *out,
                     liana__draws *draws, liana__geometry *geometry);
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

/* By name; NULL if there is none. */
const liana__augmentation *liana__augmentation_find(const char *name);

/* A list of stages, checked and ready. */
typedef struct liana__augment liana__augment;

/* Reads a list such as [random_flip, {random_rotation: {degrees: 10}}]. `where` is its key, for messages. Images arrive
 * in any size that the list asks for (liana__augment_input) and leave as `shape`. `context`: whose functions and
 * instruction set are used. `list` is not kept. Errors: INVALID_CONFIG with file, line and key: no list, an unknown
 * stage or option, a size that does not come out. */
liana_status liana__augment_create(liana_context *context, const liana__value *list, const char *where,
                                   const liana__augment_shape *shape, liana__augment **augment, liana__error *error)
    LIANA_MUST_USE;
void liana__augment_destroy(liana__augment *augment);

/* The shape that images must have at first. */
liana__augment_shape liana__augment_input(const liana__augment *augment);
size_t liana__augment_scratch_size(const liana__augment *augment);
size_t liana__augment_num_stages(const liana__augment *augment);
/* Of stage i, as it is called in the list. */
const char *liana__augment_stage_name(const liana__augment *augment, size_t i);

/* The list as the stage of a loader; the list must outlive it. */
liana__stage liana__augment_stage(const liana__augment *augment);

/* Whether there are stages that mix. Of several, the first whose chance says so is applied to an example. */
bool liana__augment_mixes(const liana__augment *augment);
/* They as the mixer of a loader, for shards of `microbatch` examples. */
liana__mixer liana__augment_mixer(const liana__augment *augment, int64_t microbatch);

/* src in the first shape to dst in the last; src is not changed and must not overlap. Allocates nothing, but for the
 * stages that say so. */
liana_status liana__augment_apply(const liana__augment *augment, const liana_example_address *address,
                                  const uint8_t *src, uint8_t *dst, void *scratch, liana__error *error) LIANA_MUST_USE;

/* The part of src that liana__augment_apply will look at for this address; what lies around it changes nothing. */
void liana__augment_find_part(const liana__augment *augment, const liana_example_address *address,
                              liana__image_part *part);

/* The first num_stages stages only, to measure them: the result stays in the scratch. */
liana_status liana__augment_try(const liana__augment *augment, size_t num_stages, const liana_example_address *address,
                                const uint8_t *src, void *scratch, liana__error *error) LIANA_MUST_USE;

#endif
