/* Changes of the levels of an image: each value becomes another one by a table. */
#include "data/augment/adjust.h"

#include <math.h>
#include <stddef.h>

static const liana__field plain_fields[] = {LIANA_AUGMENT_ROWS("0.5")};

/* ---- random_invert ---- */

static liana_status invert(const liana_augment_call *call)
{
    size_t size = liana__augment_size(&call->shape);
    for (size_t i = 0; i < size; i++) call->pixels[i] = (uint8_t)(255 - call->pixels[i]);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_invert = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_invert", "Inverts the image.",
               LIANA_PART_OPTIONS(liana_augment_common, plain_fields)),
    .apply = invert,
};

/* ---- random_posterize ---- */

void liana__posterize(const liana_augment_call *call, int bits)
{
    size_t size = liana__augment_size(&call->shape);
    uint8_t kept = (uint8_t)(0xFF << (8 - bits));
    for (size_t i = 0; i < size; i++) call->pixels[i] &= kept;
}

typedef struct posterize_options {
    liana_augment_common common;
    int64_t bits;
} posterize_options;

static const liana__field posterize_fields[] = {
    LIANA_OPTION_ROW(posterize_options, bits, INT, .default_text = "4", .minimum = 1, .maximum = 8,
                     .doc = "The number of bits of each value to keep."),
    LIANA_AUGMENT_ROWS("0.5"),
};

static liana_status posterize(const liana_augment_call *call)
{
    const posterize_options *options = call->options;
    liana__posterize(call, (int)options->bits);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_posterize = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_posterize",
               "Posterises: keeps only the highest bits of each value.",
               LIANA_PART_OPTIONS(posterize_options, posterize_fields)),
    .apply = posterize,
};

/* ---- random_solarize ---- */

void liana__solarize(const liana_augment_call *call, double threshold)
{
    size_t size = liana__augment_size(&call->shape);
    for (size_t i = 0; i < size; i++) {
        uint8_t value = call->pixels[i];
        call->pixels[i] = value >= threshold ? (uint8_t)(255 - value) : value;
    }
}

typedef struct solarize_options {
    liana_augment_common common;
    double threshold;
} solarize_options;

static const liana__field solarize_fields[] = {
    LIANA_OPTION_ROW(solarize_options, threshold, FLOAT, .default_text = "128.0", .maximum = 256,
                     .doc = "Values from this one on are inverted."),
    LIANA_AUGMENT_ROWS("0.5"),
};

static liana_status solarize(const liana_augment_call *call)
{
    const solarize_options *options = call->options;
    liana__solarize(call, options->threshold);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_solarize = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_solarize",
               "Solarises: inverts the bright parts of the image.",
               LIANA_PART_OPTIONS(solarize_options, solarize_fields)),
    .apply = solarize,
};

/* ---- random_autocontrast ---- */

static void count_values(const liana_augment_call *call, int channel, int64_t counts[256])
{
    size_t size = liana__augment_size(&call->shape);
    for (int i = 0; i < 256; i++) counts[i] = 0;
    for (size_t i = (size_t)channel; i < size; i += (size_t)call->shape.channels) counts[call->pixels[i]]++;
}

liana_status liana__autocontrast(const liana_augment_call *call)
{
    double scale[3], offset[3];
    for (int c = 0; c < call->shape.channels; c++) {
        int64_t counts[256];
        int low = 0, high = 255;
        count_values(call, c, counts);
        while (low < 255 && !counts[low]) low++;
        while (high > 0 && !counts[high]) high--;
        scale[c] = high > low ? 255.0 / (high - low) : 1;
        offset[c] = high > low ? -low * scale[c] : 0;
    }
    liana__adjust_linear(call, scale, offset);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_autocontrast = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_autocontrast",
               "Stretches each channel to the range from 0 to 255.",
               LIANA_PART_OPTIONS(liana_augment_common, plain_fields)),
    .apply = liana__autocontrast,
};

/* ---- random_equalize ---- */

/* Like Pillow's ImageOps.equalize: maps each value by the number of smaller values, in steps of 1/255 of all but the
 * brightest. */
static void equalize_channel(const liana_augment_call *call, int channel)
{
    int64_t counts[256], step = 0, sum;
    int last = 255;
    count_values(call, channel, counts);
    while (last > 0 && !counts[last]) last--;
    for (int i = 0; i < last; i++) step += counts[i];
    step /= 255;
    if (step == 0) return;
    uint8_t table[256];
    sum = step / 2;
    for (int i = 0; i < 256; i++) {
        table[i] = (uint8_t)(sum / step < 255 ? sum / step : 255);
        sum += counts[i];
    }
    size_t size = liana__augment_size(&call->shape);
    for (size_t i = (size_t)channel; i < size; i += (size_t)call->shape.channels) {
        call->pixels[i] = table[call->pixels[i]];
    }
}

liana_status liana__equalize(const liana_augment_call *call)
{
    for (int c = 0; c < call->shape.channels; c++) equalize_channel(call, c);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_equalize = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_equalize", "Equalises the histogram of each channel.",
               LIANA_PART_OPTIONS(liana_augment_common, plain_fields)),
    .apply = liana__equalize,
};
