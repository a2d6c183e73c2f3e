/* Changes that look at neighbours, and noise. */
#include "data/augment/adjust.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static liana_status need_image(liana_augment_setup *setup)
{
    setup->scratch_size = liana__augment_size(&setup->in);
    return LIANA_OK;
}

/* ---- random_sharpness ---- */

void liana__adjust_sharpness(const liana_augment_call *call, double factor)
{
    const liana_image_shape *shape = &call->shape;
    const uint8_t *copy = memcpy(call->scratch, call->pixels, liana__augment_size(shape));
    call->kernels->sharpen(copy, call->pixels, shape->height, shape->width, shape->channels, (float)factor);
}

typedef struct sharpness_options {
    liana_augment_common common;
    double factor;
} sharpness_options;

static const liana__field sharpness_fields[] = {
    LIANA_OPTION_ROW(sharpness_options, factor, FLOAT, .default_text = "0.5", .maximum = 1,
                     .doc = "The largest change: 1 ranges from Pillow's SMOOTH to the same amount of sharpening."),
    LIANA_AUGMENT_ROWS("1.0"),
};

static liana_status change_sharpness(const liana_augment_call *call)
{
    const sharpness_options *options = call->options;
    liana__adjust_sharpness(call, liana__draw_between(call->draws, 1 - options->factor, 1 + options->factor));
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_random_sharpness = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "random_sharpness", "Makes the image smoother or sharper.",
               LIANA_PART_OPTIONS(sharpness_options, sharpness_fields)),
    .prepare = need_image,
    .apply = change_sharpness,
};

/* ---- gaussian_blur ---- */

enum { MAX_KERNEL = 63 };

typedef struct blur_options {
    liana_augment_common common;
    int64_t kernel_size;
    double min_sigma, max_sigma;
} blur_options;

static const liana__field blur_fields[] = {
    LIANA_OPTION_ROW(blur_options, kernel_size, INT, .default_text = "5", .minimum = 1, .maximum = MAX_KERNEL,
                     .doc = "The width of the kernel in pixels, an odd number."),
    LIANA_OPTION_ROW(blur_options, min_sigma, FLOAT, .default_text = "0.1", .minimum = 0.01, .maximum = 100,
                     .doc = "The smallest standard deviation in pixels."),
    LIANA_OPTION_ROW(blur_options, max_sigma, FLOAT, .default_text = "2.0", .minimum = 0.01, .maximum = 100,
                     .doc = "The largest standard deviation in pixels."),
    LIANA_AUGMENT_ROWS("0.5"),
};

static liana_status prepare_blur(liana_augment_setup *setup)
{
    const blur_options *options = setup->check->options;
    if (options->kernel_size % 2 == 0) {
        return liana_option_refuse(setup->check, NULL, "kernel_size is %lld, expected an odd number",
                                   (long long)options->kernel_size);
    }
    if (options->min_sigma > options->max_sigma) {
        return liana_option_refuse(setup->check, NULL, "min_sigma is %g, expected at most max_sigma, which is %g",
                                   options->min_sigma, options->max_sigma);
    }
    size_t row = (size_t)(setup->in.width + options->kernel_size) * (size_t)setup->in.channels;
    setup->scratch_size = liana__align_up(row * sizeof(float)) + liana__augment_size(&setup->in);
    return LIANA_OK;
}

static liana_status blur(const liana_augment_call *call)
{
    const blur_options *options = call->options;
    const liana_image_shape *shape = &call->shape;
    double sigma = liana__draw_between(call->draws, options->min_sigma, options->max_sigma), sum = 0;
    double plain[MAX_KERNEL];
    float weights[MAX_KERNEL];
    int radius = (int)options->kernel_size / 2;
    for (int i = -radius; i <= radius; i++) sum += plain[i + radius] = exp(-0.5 * (i / sigma) * (i / sigma));
    for (int i = 0; i <= 2 * radius; i++) weights[i] = (float)(plain[i] / sum);
    size_t row = (size_t)(shape->width + options->kernel_size) * (size_t)shape->channels;
    uint8_t *copy = (uint8_t *)call->scratch + liana__align_up(row * sizeof(float));
    memcpy(copy, call->pixels, liana__augment_size(shape));
    call->kernels->blur(copy, call->pixels, shape->height, shape->width, shape->channels, weights, radius,
                        call->scratch);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_gaussian_blur = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "gaussian_blur",
               "Blurs the image with a Gaussian kernel of random width.",
               LIANA_PART_OPTIONS(blur_options, blur_fields)),
    .prepare = prepare_blur,
    .apply = blur,
};

/* ---- gaussian_noise ---- */

/* Normal numbers are drawn from as many equally likely ones: to 3.8 standard deviations. */
enum { NUM_QUANTILES = 8192 };

typedef struct noise_options {
    liana_augment_common common;
    double stddev;
} noise_options;

static const liana__field noise_fields[] = {
    LIANA_OPTION_ROW(
        noise_options, stddev, FLOAT, .default_text = "0.05", .maximum = 1,
        .doc = "The largest standard deviation, as a share of the range from black to white; each image draws its own, "
               "from 0."),
    LIANA_AUGMENT_ROWS("0.5"),
};

/* The middle quantiles of the standard normal distribution: Newton's method on its distribution function, which is
 * concave above 0, from each to the next. */
static liana_status make_quantiles(liana_augment_setup *setup)
{
    float *quantiles = liana__arena_allocate(setup->arena, NUM_QUANTILES * sizeof *quantiles);
    if (!quantiles) return liana__fail_memory(setup->check->error, "normal numbers");
    double x = 0;
    for (int i = NUM_QUANTILES / 2; i < NUM_QUANTILES; i++) {
        double above = 1 - (i + 0.5) / NUM_QUANTILES;
        for (int k = 0; k < 8; k++) x += (0.5 * erfc(x / sqrt(2)) - above) / (0.3989422804014327 * exp(-0.5 * x * x));
        quantiles[i] = (float)x;
        quantiles[NUM_QUANTILES - 1 - i] = (float)-x;
    }
    setup->state = quantiles;
    return LIANA_OK;
}

static liana_status add_noise(const liana_augment_call *call)
{
    const noise_options *options = call->options;
    double stddev = 255 * options->stddev * liana__draw_uniform(call->draws);
    call->kernels->add_noise(call->pixels, liana__augment_size(&call->shape), call->draws->key, call->draws->counter,
                             call->state, (float)stddev);
    return LIANA_OK;
}

const liana_augmentation_type liana__augmentation_gaussian_noise = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "gaussian_noise", "Adds a normal random number to each value.",
               LIANA_PART_OPTIONS(noise_options, noise_fields)),
    .prepare = make_quantiles,
    .apply = add_noise,
};
