/* Another point of view: each corner of the image goes to a point drawn around it, then the whole is turned by quarters
 * and reflected. The points stay so near their corners that they always span a convex quadrilateral. */
#include "data/augment/augment.h"

#include <stddef.h>

typedef struct perspective_options {
    liana__augment_sampling sampling;
    double factor;
    bool turn;
} perspective_options;

static const liana__field fields[] = {
    {.name = "factor",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(perspective_options, factor),
     .default_text = "0.25",
     .maximum = 0.25,
     .doc = "The largest shift of a corner along each side, as a share of the side."},
    {.name = "turn",
     .kind = LIANA__FIELD_BOOL,
     .offset = offsetof(perspective_options, turn),
     .default_text = "true",
     .doc = "Also turn by a random number of quarters and reflect or not, all eight ways equally likely."},
    LIANA__SAMPLING_FIELDS("1.0"),
};
static const liana__fields table = {"random_perspective", sizeof(perspective_options), sizeof fields / sizeof *fields,
                                    fields};

static void map(const void *own, const liana__augment_shape *in, const liana__augment_shape *out, liana__draws *draws,
                liana__point_mapping *mapping)
{
    const perspective_options *options = own;
    static const liana__point corners[4] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
    liana__point moved[4], assigned[4];
    for (int i = 0; i < 4; i++) {
        moved[i].x =
            (corners[i].x + liana__draw_between(draws, -options->factor, options->factor)) * (double)out->width;
        moved[i].y =
            (corners[i].y + liana__draw_between(draws, -options->factor, options->factor)) * (double)out->height;
    }
    int64_t way = liana__draw_below(draws, 8);
    if (!options->turn) way = 0;
    /* Corner i of the source belongs to the point that the turn and the reflection put in its place. */
    for (int i = 0; i < 4; i++) {
        int turned = (i + (int)(way & 3)) % 4;
        assigned[i] = moved[way & 4 ? (5 - turned) % 4 : turned];
    }
    mapping->from_output = liana__matrix_from_corners(assigned, (double)in->width, (double)in->height);
}

const liana__augmentation liana__augmentation_random_perspective = {
    .name = "random_perspective",
    .doc = "Moves the corners of the image to random points near them; also turns by quarters and reflects.",
    .options = &table,
    .mapping = map,
};
