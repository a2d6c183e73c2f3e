/* GaussianNoise and GaussianDropout: normal numbers that are added or multiplied while a model is trained. */
#include "layers/regularization/draws.h"

#include <liana/layers/regularization.h>

static const liana_option noise_rows[] = {
    LIANA_OPTION_ROW(liana_gaussian_noise_options, stddev, FLOAT, .required = true, .minimum = 0, .maximum = 1,
                     .doc = "standard deviation of the numbers that training adds"),
    LIANA__SEED_ROW(liana_gaussian_noise_options),
};

static const liana_option dropout_rows[] = {
    LIANA_OPTION_ROW(liana_gaussian_dropout_options, rate, FLOAT, .required = true, .minimum = 0, .maximum = 0.999999,
                     .doc = "r of the standard deviation sqrt(r / (1 - r)) of the factors, below 1"),
    LIANA__SEED_ROW(liana_gaussian_dropout_options),
};

static liana_tensor draw(const liana_layer_call *call, double mean, double deviation, int64_t seed)
{
    liana_tensor x = call->inputs[0];
    const liana__layer_key draws = liana__layer_draws(call, seed);
    liana_shape example = liana_tensor_shape(x);
    example.rank--;
    for (int i = 0; i < example.rank; i++) example.dims[i] = example.dims[i + 1];
    return liana_op_random_normal_at(call->here, call->positions, liana_tensor_dtype(x), example, mean, deviation,
                                     draws.seed, draws.salt);
}

static liana_tensor call_noise(liana_layer_call *call)
{
    const liana_gaussian_noise_options *chosen = call->options;
    if (!call->training || chosen->stddev == 0) return call->inputs[0];
    return liana_op_add_at(call->here, call->inputs[0], draw(call, 0, chosen->stddev, chosen->seed));
}

static liana_tensor call_dropout(liana_layer_call *call)
{
    const liana_gaussian_dropout_options *chosen = call->options;
    if (!call->training || chosen->rate == 0) return call->inputs[0];
    const double deviation = sqrt(chosen->rate / (1 - chosen->rate));
    return liana_op_multiply_at(call->here, call->inputs[0], draw(call, 1, deviation, chosen->seed));
}

static void noise_to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    liana__seed_to_keras(arena, ((const liana_gaussian_noise_options *)chosen)->seed, config);
}

static void dropout_to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    liana__seed_to_keras(arena, ((const liana_gaussian_dropout_options *)chosen)->seed, config);
}

const liana_layer_type liana__layer_gaussian_noise = {
    LIANA_PART(LAYER, liana_layer_type, "GaussianNoise", "in training, adds normal numbers of mean 0",
               LIANA_PART_OPTIONS(liana_gaussian_noise_options, noise_rows)),
    LIANA__INPUTS(1, 1),
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .call = call_noise,
    .to_keras = noise_to_keras,
};

const liana_layer_type liana__layer_gaussian_dropout = {
    LIANA_PART(LAYER, liana_layer_type, "GaussianDropout", "in training, multiplies by normal numbers of mean 1",
               LIANA_PART_OPTIONS(liana_gaussian_dropout_options, dropout_rows)),
    LIANA__INPUTS(1, 1),
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .call = call_dropout,
    .to_keras = dropout_to_keras,
};
