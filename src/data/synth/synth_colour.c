/* Chooses the colours of a drawn scene. */
#include "data/synth/synth_colour.h"

static double clamp(double value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

liana__colour liana__colour_hsv(double hue, double saturation, double value)
{
    double sector = (hue - floor(hue)) * 6, fraction = sector - floor(sector);
    double low = value * (1 - saturation);
    double falling = value * (1 - saturation * fraction), rising = value * (1 - saturation * (1 - fraction));
    switch ((int)sector) {
    case 0: return (liana__colour){value, rising, low};
    case 1: return (liana__colour){falling, value, low};
    case 2: return (liana__colour){low, value, rising};
    case 3: return (liana__colour){low, falling, value};
    case 4: return (liana__colour){rising, low, value};
    default: return (liana__colour){value, low, falling};
    }
}

liana__colour liana__colour_mix(liana__colour a, liana__colour b, double amount)
{
    return (liana__colour){a.red + (b.red - a.red) * amount, a.green + (b.green - a.green) * amount,
                           a.blue + (b.blue - a.blue) * amount};
}

liana__colour liana__colour_scale(liana__colour colour, double factor)
{
    return (liana__colour){clamp(colour.red * factor), clamp(colour.green * factor), clamp(colour.blue * factor)};
}

liana__colour liana__colour_vary(liana__dice *dice, liana__colour colour, double amount)
{
    double light = liana__dice_between(dice, -amount, amount);
    return (liana__colour){clamp(colour.red + light + liana__dice_between(dice, -amount, amount) / 2),
                           clamp(colour.green + light + liana__dice_between(dice, -amount, amount) / 2),
                           clamp(colour.blue + light + liana__dice_between(dice, -amount, amount) / 2)};
}

void liana__colour_set(cairo_t *cairo, liana__colour colour, double alpha)
{
    cairo_set_source_rgba(cairo, colour.red, colour.green, colour.blue, alpha);
}

static double contrast(liana__colour a, liana__colour b)
{
    double red = a.red - b.red, green = a.green - b.green, blue = a.blue - b.blue;
    return sqrt(red * red + green * green + blue * blue);
}

static liana__colour roll_ground(liana__dice *dice)
{
    if (liana__dice_chance(dice, 0.5)) { /* meadow, soil */
        return liana__colour_hsv(liana__dice_between(dice, 0.06, 0.42), liana__dice_between(dice, 0.2, 0.7),
                                 liana__dice_between(dice, 0.15, 0.6));
    }
    return liana__colour_hsv(liana__dice_roll(dice), liana__dice_between(dice, 0.05, 0.6),
                             liana__dice_between(dice, 0.15, 0.9));
}

static liana__colour roll_petal(liana__dice *dice)
{
    bool pale = liana__dice_chance(dice, 0.2);
    return liana__colour_hsv(liana__dice_roll(dice),
                             pale ? liana__dice_between(dice, 0, 0.15) : liana__dice_between(dice, 0.35, 0.95),
                             liana__dice_between(dice, 0.6, 1));
}

liana__palette liana__palette_roll(liana__dice *dice)
{
    liana__palette palette;
    palette.ground[0] = roll_ground(dice);
    palette.ground[1] = liana__colour_mix(palette.ground[0], roll_ground(dice), liana__dice_between(dice, 0.2, 0.8));
    palette.green = liana__colour_hsv(liana__dice_between(dice, 0.2, 0.42), liana__dice_between(dice, 0.35, 0.8),
                                      liana__dice_between(dice, 0.25, 0.7));
    liana__colour ground = liana__colour_mix(palette.ground[0], palette.ground[1], 0.5);
    /* A flower of its background's colour could not be told by anyone. */
    for (int tries = 0; tries < 16; tries++) {
        palette.petal_base = roll_petal(dice);
        if (contrast(palette.petal_base, ground) > 0.4 && contrast(palette.petal_base, palette.green) > 0.4) break;
    }
    palette.petal_tip = liana__colour_vary(dice, palette.petal_base, 0.2);
    for (int tries = 0; tries < 16; tries++) {
        palette.center =
            liana__dice_chance(dice, 0.5)
                ? liana__colour_hsv(liana__dice_between(dice, 0.08, 0.17), 0.85, liana__dice_between(dice, 0.5, 1))
                : liana__colour_hsv(liana__dice_roll(dice), liana__dice_between(dice, 0.2, 0.9),
                                    liana__dice_between(dice, 0.15, 0.9));
        if (contrast(palette.center, palette.petal_base) > 0.4) break;
    }
    return palette;
}
