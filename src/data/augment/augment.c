/* The list of augmentations. */
#include "data/augment/augment.h"

static const liana_part *const list[] = {
#define LIANA__AUGMENTATION(stem, name) &liana__augmentation_##name.part,
#include "data/augment/augment.def"
#undef LIANA__AUGMENTATION
    NULL,
};

static const liana_option plain_rows[] = {LIANA_AUGMENT_ROWS("1.0")};

static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_augmentation_type *type = (const liana_augmentation_type *)part;
    if (!!type->mapping + !!type->colour + !!type->apply + !!type->mix != 1) {
        return liana__part_refuse(context, part,
                                  "it has none or several of the functions 'mapping', 'colour', 'apply' "
                                  "and 'mix', expected one");
    }
    if (!part->options.count)
        part->options = (liana_options){part->name, sizeof(liana_augment_sampling), 1, plain_rows};
    if (type->mapping && part->options.size < sizeof(liana_augment_sampling)) {
        return liana__part_refuse(context, part,
                                  "its options are too small to begin with liana_augment_sampling, as a mapping's do");
    }
    return liana__part_needs_rows(context, part, plain_rows, type->draws_chance ? 0 : 1, "LIANA_AUGMENT_ROWS");
}

const liana__kind liana__augmentation_kind = {.kind = LIANA_PART_AUGMENTATION,
                                              .size = sizeof(liana_augmentation_type),
                                              .builtin = list,
                                              .accept = accept};

double liana_example_uniform(const liana_example_address *address, uint32_t index)
{
    if (!address) return 0;
    liana__draws draws = liana__draws_begin(address, LIANA__DRAWS_USER);
    draws.counter[3] = index / 4;
    for (uint32_t i = 0; i < index % 4; i++) liana__draw_word(&draws);
    return liana__draw_uniform(&draws);
}
