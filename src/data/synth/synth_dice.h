/* synth_dice.h - random draws for one purpose in one drawn image. */
#ifndef LIANA_DATA_SYNTH_DICE_H
#define LIANA_DATA_SYNTH_DICE_H

#include "base/random.h"

#include <math.h>
#include <stdbool.h>

/* The parts of a drawn image. Each has draws of its own, so a change to one part leaves the others as they were. */
typedef enum liana__synth_purpose {
    LIANA__SYNTH_COLOURS,
    LIANA__SYNTH_BACKGROUND,
    LIANA__SYNTH_POSE,
    LIANA__SYNTH_PETALS,
    LIANA__SYNTH_FOREGROUND,
    LIANA__SYNTH_CAMERA,
} liana__synth_purpose;

/* Draws at the address (seed, split, index, purpose, n), with n counting from 0. */
typedef struct liana__dice {
    liana__philox_key key;
    uint32_t counter[4];
    uint32_t words[4];
    int left;
} liana__dice;

static inline liana__dice liana__dice_at(uint64_t seed, uint32_t split, uint32_t index, liana__synth_purpose purpose)
{
    return (liana__dice){.key = liana__philox_make_key(seed, LIANA__STREAM_SYNTH, split),
                         .counter = {0, index, (uint32_t)purpose}};
}

/* [0, 1). */
static inline double liana__dice_roll(liana__dice *dice)
{
    if (dice->left == 0) {
        liana__philox(dice->key, dice->counter, dice->words);
        dice->counter[0]++;
        dice->left = 4;
    }
    return liana__uniform_float(dice->words[--dice->left]);
}

static inline double liana__dice_between(liana__dice *dice, double low, double high)
{
    return low + (high - low) * liana__dice_roll(dice);
}

static inline double liana__dice_angle(liana__dice *dice)
{
    return liana__dice_between(dice, 0, 2 * M_PI);
}

/* [0, count). */
static inline int liana__dice_pick(liana__dice *dice, int count)
{
    return (int)(liana__dice_roll(dice) * count);
}

static inline bool liana__dice_chance(liana__dice *dice, double probability)
{
    return liana__dice_roll(dice) < probability;
}

#endif
