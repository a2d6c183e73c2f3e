/* synth_draw.h - one drawn photograph of a flower. */
#ifndef LIANA_DATA_SYNTH_DRAW_H
#define LIANA_DATA_SYNTH_DRAW_H

#include "base/error.h"
#include "data/synth/synth_shape.h"

#include <stdint.h>

/* The address of an image. With the shape, it decides every pixel. */
typedef struct liana__synth_address {
    uint64_t seed;
    uint32_t split; /* train, validation or test */
    uint32_t index; /* of the image in its split */
} liana__synth_address;

/* Draws a flower of that shape into pixels [image_size, image_size, 3]. Colours, size, place, rotation, tilt, light,
 * leaves, grass, background and blur come only from the address, never from the shape. Safe on several threads. Errors:
 * OUT_OF_MEMORY, UNIMPLEMENTED (no libcairo). */
liana_status liana__synth_draw(const liana__flower_shape *shape, const liana__synth_address *address, int image_size,
                               uint8_t *pixels, liana__error *error) LIANA_MUST_USE;

#endif
