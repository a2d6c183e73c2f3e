/* Changes that look at neighbours, and noise. */
#include "data/augment/adjust.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof *(array))

static liana_status need_image(const void *options, liana__augment_setup *setup, liana__error *error)
{
    (void)options;
    (void)error;
    setup->scratch_size = liana__augment_size(&setup->in);
    return LIANA_OK;
}

/* ---- random_sharpness ---- */

void liana__adjust_sharpness(const liana__augment_call *call, double factor)
{
    const liana__augment_shape *shape = &call->shape;
    const uint8_t *copy = memcpy(call->scratch, call->pixels, liana__augment_size(shape));
    call->kernels->sharpen(copy, call->pixels, shape->height, shape->width, shape->channels, (float)factor);
}

typedef struct sharpness_options {
    liana__augment_common common;
    double factor;
} sharpness_options;

static const liana__field sharpness_fields[] = {
    {.name = "factor",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(sharpness_options, factor),
     .default_text = "0.5",
     .maximum = 1,
     .doc = "The largest change: 1 ranges from Pillow's SMOOTH to the same amount of sharpening."},
    LIANA__AUGMENT_FIELDS("1.0"),
};
static const liana__fields sharpness_table = {"random_sharpness", sizeof(sharpness_options), COUNT(sharpness_fields),
                                              sharpness_fields};

static liana_status change_sharpness(const liana__augment_call *call)
{
    const sharpness_options *options = call->options;
    liana__adjust_sharpness(call, liana__draw_between(call->draws, 1 - options->factor, 1 + options->factor));
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_random_sharpness = {
    .name = "random_sharpness",
    .doc = "Makes the image smoother or sharper.",
    .options = &sharpness_table,
    .prepare = need_image,
    .apply = change_sharpness,
};

/* ---- gaussian_blur ---- */

enum { MAX_KERNEL = 63 };

typedef struct blur_options {
    liana__augment_common common;
    int64_t kernel_size;
    double min_sigma, max_sigma;
} blur_options;

static const liana__field blur_fields[] = {
    {.name = "kernel_size",
     .kind = LIANA__FIELD_INT,
     .offset = offsetof(blur_options, kernel_size),
     .default_text = "5",
     .minimum = 1,
     .maximum = MAX_KERNEL,
     .doc = "The width of the kernel in pixels, an odd number."},
    {.name = "min_sigma",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(blur_options, min_sigma),
     .default_text = "0.1",
     .minimum = 0.01,
     .maximum = 100,
     .doc = "The smallest standard deviation in pixels."},
    {.name = "max_sigma",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(blur_options, max_sigma),
     .default_text = "2.0",
     .minimum = 0.01,
     .maximum = 100,
     .doc = "The largest standard deviation in pixels."},
    LIANA__AUGMENT_FIELDS("0.5"),
};
static const liana__fields blur_table = {"gaussian_blur", sizeof(blur_options), COUNT(blur_fields), blur_fields};

static liana_status prepare_blur(const void *own, liana__augment_setup *setup, liana__error *error)
{
    const blur_options *options = own;
    if (options->kernel_size % 2 == 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "kernel_size is %lld, expected an odd number",
                           (long long)options->kernel_size);
    }
    if (options->min_sigma > options->max_sigma) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "min_sigma is %g, expected at most max_sigma, which is %g",
                           options->min_sigma, options->max_sigma);
    }
    size_t row = (size_t)(setup->in.width + options->kernel_size) * (size_t)setup->in.channels;
    setup->scratch_size = liana__align_up(row * sizeof(float)) + liana__augment_size(&setup->in);
    return LIANA_OK;
}

static liana_status blur(const liana__augment_call *call)
{
    const blur_options *options = call->options;
    const liana__augment_shape *shape = &call->shape;
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

const liana__augmentation liana__augmentation_gaussian_blur = {
    .name = "gaussian_blur",
    .doc = "Blurs the image with a Gaussian kernel of random width.",
    .options = &blur_table,
    .prepare = prepare_blur,
    .apply = blur,
};

/* ---- gaussian_noise ---- */

/* Normal numbers are drawn from as many equally likely ones: to 3.8 standard deviations. */
enum { NUM_QUANTILES = 8192 };

typedef struct noise_options {
    liana__augment_common common;
    double stddev;
} noise_options;

static const liana__field noise_fields[] = {
    {.name = "stddev",
     .kind = LIANA__FIELD_FLOAT,
     .offset = offsetof(noise_options, stddev),
     .default_text = "0.05",
     .maximum = 1,
     .doc = "The largest standard deviation, as a share of the range from black to white; each image draws its own, "
            "from 0."},
    LIANA__AUGMENT_FIELDS("0.5"),
};
static const liana__fields noise_table = {"gaussian_noise", sizeof(noise_options), COUNT(noise_fields), noise_fields};

/* The middle quantiles of the standard normal distribution: Newton's method on its distribution function, which is
 * concave above 0, from each to the next. */
static liana_status make_quantiles(const void *options, liana__augment_setup *setup, liana__error *error)
{
    (void)options;
    float *quantiles = liana__arena_allocate(setup->arena, NUM_QUANTILES * sizeof *quantiles);
    if (!quantiles) return liana__fail_memory(error, "normal numbers");
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

static liana_status add_noise(const liana__augment_call *call)
{
    const noise_options *options = call->options;
    double stddev = 255 * options->stddev * liana__draw_uniform(call->draws);
    call->kernels->add_noise(call->pixels, liana__augment_size(&call->shape), call->draws->key, call->draws->counter,
                             call->state, (float)stddev);
    return LIANA_OK;
}

const liana__augmentation liana__augmentation_gaussian_noise = {
    .name = "gaussian_noise",
    .doc = "Adds a normal random number to each value.",
    .options = &noise_table,
    .prepare = make_quantiles,
    .apply = add_noise,
};
