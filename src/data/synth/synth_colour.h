/* synth_colour.h - colours of a drawn scene. */
#ifndef LIANA_DATA_SYNTH_COLOUR_H
#define LIANA_DATA_SYNTH_COLOUR_H

#include "data/synth/synth_dice.h"
#include "formats/cairo_calls.h"

typedef struct liana__colour {
    double red, green, blue;
} liana__colour;

/* The colours of an image, chosen for each image without regard to its class. */
typedef struct liana__palette {
    liana__colour petal_base;
    liana__colour petal_tip;
    liana__colour center;
    liana__colour ground[2]; /* ends of the background's gradient */
    liana__colour green;     /* stem, leaves and grass */
} liana__palette;

liana__palette liana__palette_roll(liana__dice *dice);
/* Hue, saturation and value, each in [0, 1]; the hue wraps around. */
liana__colour liana__colour_hsv(double hue, double saturation, double value);
/* `amount` of b, the rest of a. */
liana__colour liana__colour_mix(liana__colour a, liana__colour b, double amount);
/* Brighter (factor above 1) or darker. */
liana__colour liana__colour_scale(liana__colour colour, double factor);
/* A colour near to the given one. */
liana__colour liana__colour_vary(liana__dice *dice, liana__colour colour, double amount);
void liana__colour_set(cairo_t *cairo, liana__colour colour, double alpha);

#endif
