/* augment.h - augmentation: training images are changed randomly, differently in each epoch. Stages are
 * liana_augmentation_type of <liana/parts.h>.
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

#include "base/memory.h"
#include "base/part.h"
#include "batch/batch.h"
#include "data/augment/draws.h"
#include "data/augment/pixels.h"
#include "data/image/decode.h"

static inline size_t liana__augment_size(const liana_image_shape *shape)
{
    return (size_t)(shape->height * shape->width) * (size_t)shape->channels;
}

#define LIANA__AUGMENTATION(stem, name) extern const liana_augmentation_type liana__augmentation_##name;
#include "data/augment/augment.def"
#undef LIANA__AUGMENTATION

/* The kind: its list has all stages in the order of augment.def. */
extern const liana__kind liana__augmentation_kind;

/* A list of stages, checked and ready. */
typedef struct liana__augment liana__augment;

/* Reads a list such as [random_flip, {random_rotation: {degrees: 10}}]. `where` is its key, for messages. Images arrive
 * in the size that the list asks for (liana__augment_input) and leave as `shape`. `context` gives functions and
 * instruction set. `list` is not kept. Errors: INVALID_CONFIG with file, line and key: no list, an unknown stage or
 * option, a final size that differs from `shape`. */
liana_status liana__augment_create(liana_context *context, const liana__value *list, const char *where,
                                   const liana_image_shape *shape, liana__augment **augment, liana__error *error)
    LIANA_MUST_USE;
void liana__augment_destroy(liana__augment *augment);

/* The shape of images before the first stage. */
liana_image_shape liana__augment_input(const liana__augment *augment);
size_t liana__augment_scratch_size(const liana__augment *augment);
size_t liana__augment_num_stages(const liana__augment *augment);
/* The name of stage i in the list. */
const char *liana__augment_stage_name(const liana__augment *augment, size_t i);

/* Whether there are mixing stages. Of several, the first whose probability says so is applied to an example. */
bool liana__augment_mixes(const liana__augment *augment);
/* Applies them to a batch whose examples are all there: sets partners and shares, for shards of `microbatch` examples.
 * It is a function of the seed and the batch's positions. Needs the scratch memory that liana__augment_mix_scratch_size
 * says. */
void liana__augment_mix(const liana__augment *augment, int64_t microbatch, liana__batch *batch, uint64_t seed,
                        void *scratch);
size_t liana__augment_mix_scratch_size(const liana__augment *augment, int64_t microbatch);

/* Applies the list: src in the first shape to dst in the last. src is not changed, and must not overlap dst. Allocates
 * nothing, except in stages that say so. */
liana_status liana__augment_apply(const liana__augment *augment, const liana_example_address *address,
                                  const uint8_t *src, uint8_t *dst, void *scratch, liana__error *error) LIANA_MUST_USE;

/* The region of src that liana__augment_apply reads for this address, never empty. Other pixels may be anything. */
void liana__augment_find_region(const liana__augment *augment, const liana_example_address *address,
                                liana__image_region *region);

/* The product of the mappings at the head of the list that are chosen for this address: from points of the output to
 * points of the input. The identity, and false: there is none. */
bool liana__augment_find_mapping(const liana__augment *augment, const liana_example_address *address,
                                 liana_matrix *from_output);

/* Applies only the first num_stages stages, to measure them. The result stays in the scratch memory. */
liana_status liana__augment_try(const liana__augment *augment, size_t num_stages, const liana_example_address *address,
                                const uint8_t *src, void *scratch, liana__error *error) LIANA_MUST_USE;

#endif
