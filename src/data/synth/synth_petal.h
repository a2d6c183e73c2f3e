/* synth_petal.h - the flower itself. */
#ifndef LIANA_DATA_SYNTH_PETAL_H
#define LIANA_DATA_SYNTH_PETAL_H

#include "data/synth/synth_colour.h"
#include "data/synth/synth_shape.h"

/* Draws a flower of radius 1 around the origin of cairo's user space. */
void liana__synth_draw_flower(cairo_t *cairo, const liana__flower_shape *shape, const liana__palette *palette,
                              liana__dice *dice);

#endif
