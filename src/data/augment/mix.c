/* Two examples of a shard become one, with the labels of both. The loss takes each label by its share. */
#include "data/augment/augment.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct mix_options {
    liana_augment_common common;
    double alpha;
} mix_options;

#define MIX_FIELDS(default_alpha)                                                                                    \
    {.name = "alpha",                                                                                                \
     .kind = LIANA__FIELD_FLOAT,                                                                                     \
     .offset = offsetof(mix_options, alpha),                                                                         \
     .default_text = default_alpha,                                                                                  \
     .minimum = 0.01,                                                                                                \
     .maximum = 100,                                                                                                 \
     .doc = "Shares are drawn from Beta(alpha, alpha). 1: all shares equally likely; below 1: mostly near 0 and 1; " \
            "above 1: near a half."},                                                                                \
        LIANA_AUGMENT_ROWS("1.0")

static const liana__field mixup_fields[] = {MIX_FIELDS("0.2")};
static const liana__field cutmix_fields[] = {MIX_FIELDS("1.0")};

/* (0, 1) */
static double draw_open(liana__draws *draws)
{
    return (liana__draw_word(draws) + 0.5) * 0x1p-32;
}

/* Box and Muller, 1958. */
static double draw_normal(liana__draws *draws)
{
    double radius = sqrt(-2 * log(draw_open(draws)));
    return radius * cos(6.283185307179586 * draw_open(draws));
}

/* The logarithm of a Gamma(shape, 1) number: Marsaglia and Tsang, "A simple method for generating gamma variables"
 * (2000); below 1 by a number of shape + 1 and a uniform one. In logarithms, because small shapes give numbers below
 * the smallest double. */
static double draw_log_gamma(liana__draws *draws, double shape)
{
    double boost = shape < 1 ? log(draw_open(draws)) / shape : 0;
    double d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3, c = 1 / sqrt(9 * d);
    for (;;) {
        double x = draw_normal(draws), root = 1 + c * x, v = root * root * root;
        double u = draw_open(draws);
        if (root > 0 && log(u) < 0.5 * x * x + d * (1 - v + log(v))) return boost + log(d * v);
    }
}

static double draw_share(const liana_mix_call *call)
{
    const mix_options *options = call->options;
    double own = draw_log_gamma(call->draws, options->alpha), other = draw_log_gamma(call->draws, options->alpha);
    return 1 / (1 + exp(other - own));
}

static double mix_up(const liana_mix_call *call)
{
    float share = (float)draw_share(call);
    size_t size = liana__augment_size(&call->shape);
    if (!call->fractions) {
        call->kernels->mix(call->own, call->partner, call->dst, size, share);
        return share;
    }
    const float *own = call->own, *partner = call->partner;
    float *dst = call->dst;
    for (size_t i = 0; i < size; i++) dst[i] = partner[i] + (own[i] - partner[i]) * share;
    return share;
}

const liana_augmentation_type liana__augmentation_mixup = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "mixup",
               "Blends each image with another image of its shard (Zhang and others, 2017).",
               LIANA_PART_OPTIONS(mix_options, mixup_fields)),
    .mix = mix_up,
};

static int64_t at_most(int64_t value, int64_t limit)
{
    return value < 0 ? 0 : value > limit ? limit : value;
}

/* A rectangle with the partner's share of the area, centred anywhere, and cut at the border. The remaining area
 * counts. */
static double cut_mix(const liana_mix_call *call)
{
    const liana_image_shape *shape = &call->shape;
    double side = sqrt(1 - draw_share(call));
    int64_t height = (int64_t)(side * (double)shape->height), width = (int64_t)(side * (double)shape->width);
    int64_t y = liana__draw_below(call->draws, shape->height), x = liana__draw_below(call->draws, shape->width);
    int64_t top = at_most(y - height / 2, shape->height), bottom = at_most(y - height / 2 + height, shape->height);
    int64_t left = at_most(x - width / 2, shape->width), right = at_most(x - width / 2 + width, shape->width);
    size_t pixel = (size_t)shape->channels * (call->fractions ? sizeof(float) : 1);
    const uint8_t *partner = call->partner;
    uint8_t *dst = call->dst;
    memcpy(dst, call->own, (size_t)(shape->height * shape->width) * pixel);
    for (int64_t row = top; row < bottom; row++) {
        size_t offset = (size_t)(row * shape->width + left) * pixel;
        memcpy(dst + offset, partner + offset, (size_t)(right - left) * pixel);
    }
    return 1 - (double)((bottom - top) * (right - left)) / (double)(shape->height * shape->width);
}

const liana_augmentation_type liana__augmentation_cutmix = {
    LIANA_PART(AUGMENTATION, liana_augmentation_type, "cutmix",
               "Pastes into each image a rectangle of another image of its shard (Yun and others, 2019).",
               LIANA_PART_OPTIONS(mix_options, cutmix_fields)),
    .mix = cut_mix,
};
