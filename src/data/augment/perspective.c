/* Another point of view: each corner of the image goes to a point drawn around it, then the whole is turned by quarters
 * and reflected. The points stay so near their corners that they always span a convex quadrilateral. */
#include "data/augment/perspective.h"

#include "data/augment/augment.h"

#include <math.h>
#include <stddef.h>

typedef struct perspective_options {
    liana_augment_sampling sampling;
    double factor;
    bool turn;
} perspective_options;

static const liana__field fields[] = {
    LIANA_OPTION_ROW(perspective_options, factor, FLOAT, .default_text = "0.25", .maximum = 0.25,
                     .doc = "The largest shift of a corner along each side, as a share of the side."),
    LIANA_OPTION_ROW(perspective_options, turn, BOOL, .default_text = "true",
                     .doc =
                         "Also turn by a random number of quarters and reflect or not, all eight ways equally likely."),
    LIANA_SAMPLING_ROWS("1.0"),
};

enum { WAYS = 8 }; /* four turns, each with a reflection and without */

static const liana__point corners[4] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};

/* Corner i of the source belongs to the point that the turn and the reflection put in its place. */
static int place_of(int i, int64_t way)
{
    int turned = (i + (int)(way & 3)) % 4;
    return way & 4 ? (5 - turned) % 4 : turned;
}

static void map(const liana_augment_call *call, liana_point_mapping *mapping)
{
    const perspective_options *options = call->options;
    liana__point moved[4], assigned[4];
    for (int i = 0; i < 4; i++) {
        moved[i].x = (corners[i].x + liana__draw_between(call->draws, -options->factor, options->factor)) *
                     (double)call->out.width;
        moved[i].y = (corners[i].y + liana__draw_between(call->draws, -options->factor, options->factor)) *
                     (double)call->out.height;
    }
    int64_t way = liana__draw_below(call->draws, WAYS);
    if (!options->turn) way = 0;
    for (int i = 0; i < 4; i++) assigned[i] = moved[place_of(i, way)];
    mapping->from_output = liana__matrix_from_corners(assigned, (double)call->shape.width, (double)call->shape.height);
}

const liana_augmentation_type liana__augmentation_random_perspective = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_perspective",
               "Moves the corners of the image to random points near them; also turns by quarters and reflects.",
               LIANA_PART_OPTIONS(perspective_options, fields)),
    .mapping = map,
};

/* The largest shift of a corner along a side that makes these points, as a share of the side. */
static double shift_of(const liana__point assigned[4], double width, double height, int64_t way)
{
    double largest = 0;
    for (int i = 0; i < 4; i++) {
        const liana__point *from = &corners[place_of(i, way)];
        largest = fmax(largest, fabs(assigned[i].x / width - from->x));
        largest = fmax(largest, fabs(assigned[i].y / height - from->y));
    }
    return largest;
}

double liana__perspective_factor(const liana__point assigned[4], double width, double height, bool *turn)
{
    double smallest = shift_of(assigned, width, height, 0);
    *turn = false;
    for (int64_t way = 1; way < WAYS; way++) {
        double factor = shift_of(assigned, width, height, way);
        if (factor >= smallest) continue;
        smallest = factor;
        *turn = true;
    }
    return smallest;
}
