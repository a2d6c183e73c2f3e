/* AugMix: the mixture of an image with chains of drawn changes of it. */
#include "layers/colors/changes.h"
#include "layers/colors/shares.h"

#include "ir/graph.h"

static const liana_option rows[] = {
    LIANA__VALUE_RANGE_ROW(liana_aug_mix_options),
    LIANA_OPTION_ROW(liana_aug_mix_options, num_chains, INT, .default_text = "3", .minimum = 1, .maximum = 64,
                     .doc = "chains that are mixed"),
    LIANA_OPTION_ROW(liana_aug_mix_options, chain_depth, INT, .default_text = "3", .minimum = 0, .maximum = 64,
                     .doc = "changes of a chain; one of them may be none"),
    LIANA__FACTOR_ROW(liana_aug_mix_options, factor,
                      .doc = "their strength, or the two ends of its range; default: 0.3, which is from 0 to 0.3"),
    LIANA_OPTION_ROW(liana_aug_mix_options, alpha, FLOAT, .default_text = "1.0", .minimum = 1e-6, .maximum = 1e6,
                     .doc = "of the Dirichlet and Beta distributions of the shares"),
    LIANA_OPTION_ROW(liana_aug_mix_options, all_ops, BOOL, .default_text = "true",
                     .doc = "whether changes of brightness, colours, contrast and sharpness are among them"),
    LIANA_OPTION_ROW(liana_aug_mix_options, interpolation, ENUM, .default_text = "bilinear",
                     .names = liana__change_interpolations, .doc = "how values between pixels are found"),
    LIANA__SEED_ROW(liana_aug_mix_options),
};

static const liana__range unit = {0, 1}, usual = {0, 0.3};

static liana_status check_options(liana_check *check)
{
    const liana_aug_mix_options *chosen = check->options;
    LIANA_TRY(liana__check_factor(check, "factor", &chosen->factor, unit.low, unit.high));
    return liana__check_value_range(check, &chosen->value_range);
}

static liana_status check_input(liana_layer_build *build)
{
    const liana_aug_mix_options *chosen = build->options;
    return chosen->all_ops ? liana__build_color_images(build) : liana__build_images(build);
}

static liana_tensor add_chain(const liana_layer_call *call, const liana__strength *strength, liana_tensor draws,
                              int64_t chain, liana_tensor share, liana_tensor sum)
{
    const liana_aug_mix_options *chosen = call->options;
    const size_t count = chosen->all_ops ? LIANA__MOST_CHANGES : LIANA__FEW_CHANGES;
    liana_tensor x = call->inputs[0];
    for (int64_t i = 0; i < chosen->chain_depth; i++) {
        x = liana__change_images(call, strength, x, draws, chain * chosen->chain_depth + i, count, true);
    }
    x = liana_op_multiply_at(call->here, x, share);
    return sum.id ? liana_op_add_at(call->here, sum, x) : x;
}

static liana_tensor in_dtype(const liana_layer_call *call, liana_tensor share)
{
    const liana_dtype dtype = liana_tensor_dtype(call->inputs[0]);
    return dtype == LIANA_F32 ? share : liana_op_cast_at(call->here, share, dtype);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_aug_mix_options *chosen = call->options;
    const liana_tensor x = call->inputs[0];
    if (!call->training) return x;
    const liana__strength strength = {liana__range_or(&chosen->factor, 0, usual),
                                      liana__value_range(&chosen->value_range), chosen->interpolation, chosen->seed};
    const liana__layer_key key = liana__color_second_key(call, chosen->seed);
    const liana__layer_key other = {liana__held_seed(key.seed, 1), key.salt};
    const liana_tensor alpha = liana_graph_scalar_at(call->here, x.graph, LIANA_F32, chosen->alpha);
    const liana_tensor shares = liana__draw_dirichlet(call, key, alpha, chosen->num_chains);
    const int64_t places = chosen->num_chains * chosen->chain_depth;
    const liana_tensor draws = liana__image_draws(call, chosen->seed, places ? places : 1);
    liana_tensor sum = {0};
    for (int64_t i = 0; i < chosen->num_chains; i++) {
        const liana_tensor share = in_dtype(call, liana__image_draw(call, shares, i, unit));
        sum = add_chain(call, &strength, draws, i, share, sum);
    }
    const liana_tensor own = in_dtype(call, liana__draw_beta(call, other, alpha));
    const liana_tensor rest = liana_op_subtract_at(call->here, liana__image_number(call, own, 1), own);
    const liana_tensor mixed = liana_op_add_at(call->here, liana_op_multiply_at(call->here, own, x),
                                               liana_op_multiply_at(call->here, rest, sum));
    return liana_op_clip_at(call->here, mixed, strength.values.low, strength.values.high);
}

static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_aug_mix_options *chosen = options;
    liana__range_to_keras(arena, config, "factor", liana__range_or(&chosen->factor, 0, usual));
    liana__range_to_keras(arena, config, "value_range", liana__value_range(&chosen->value_range));
    liana__seed_to_keras(arena, chosen->seed, config);
}

const liana_layer_type liana__layer_aug_mix = {
    LIANA_PART(LAYER, liana_layer_type, "AugMix", "in training, mixes each image with chains of changes of it",
               LIANA_PART_OPTIONS(liana_aug_mix_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .has_data_format = true,
    .reads_training = true,
    .masking = LIANA_MASKING_KEPT,
    .weights = check_input,
    .call = call_layer,
    .to_keras = to_keras,
};
