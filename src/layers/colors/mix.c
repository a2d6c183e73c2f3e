/* MixUp and CutMix: each image of a batch is mixed with another one of it. */
#include "layers/colors/colors.h"
#include "layers/colors/shares.h"
#include "layers/model.h"

#include "ir/graph.h"

static const liana_option mix_up_rows[] = {
    LIANA_OPTION_ROW(liana_mix_up_options, alpha, FLOAT, .default_text = "0.2", .minimum = 1e-6, .maximum = 1e6,
                     .doc = "shares are of Beta(alpha, alpha): small ones are near 0 and 1"),
    LIANA__SEED_ROW(liana_mix_up_options),
};

static const liana_option cut_mix_rows[] = {
    LIANA__FACTOR_ROW(liana_cut_mix_options, factor,
                      .doc = "the alpha of Beta(alpha, alpha), or the two ends of its range; default: 1, which is from "
                             "0 to 1"),
    LIANA__SEED_ROW(liana_cut_mix_options),
};

static const liana__range unit = {0, 1};

static liana_status check_cut_mix(liana_check *check)
{
    const liana_cut_mix_options *chosen = check->options;
    return liana__check_color_factor(check, "factor", &chosen->factor, unit, false);
}

static liana_status check_inputs(liana_layer_build *build)
{
    LIANA_TRY(liana__build_images(build));
    if (build->num_inputs < 2 || build->inputs[1].rank == 0 || build->inputs[1].rank == 2) return LIANA_OK;
    return liana_layer_refuse(build, 1, "labels as rows: [batch, classes]");
}

/* s32 [batch]: another order of the examples that are there. The partner of one that is missing does not matter. */
static liana_tensor find_partners(const liana_layer_call *call, liana__layer_key key)
{
    const liana_location here = call->here;
    liana_tensor drawn = liana_op_random_uniform_at(here, call->positions, LIANA_F32, liana_shape_of(1), 0, 1,
                                                    liana__held_seed(key.seed, 2), key.salt);
    drawn = liana_op_reshape_at(here, drawn, liana_shape_of(-1));
    if (!call->present.id) return liana_op_argsort_at(here, drawn, 0, false, 0);
    const liana_tensor missing = liana__color_add(call, liana__color_multiply(call, call->present, -2), 2);
    const liana_tensor order = liana_op_argsort_at(here, liana_op_add_at(here, drawn, missing), 0, false, 0);
    const liana_tensor before = liana_op_cumsum_at(here, call->present, 0, false, true);
    return liana_op_gather_at(here, order, liana_op_cast_at(here, before, LIANA_S32), 0);
}

/* share * x + (1 - share) * partner. */
static liana_tensor blend(const liana_layer_call *call, liana_tensor x, liana_tensor partners, liana_tensor share)
{
    const liana_tensor other = liana_op_gather_at(call->here, x, partners, 0);
    const liana_tensor rest = liana_op_subtract_at(call->here, liana__image_number(call, share, 1), share);
    return liana_op_add_at(call->here, liana_op_multiply_at(call->here, share, x),
                           liana_op_multiply_at(call->here, rest, other));
}

static liana_tensor in_dtype(const liana_layer_call *call, liana_tensor share)
{
    const liana_dtype dtype = liana_tensor_dtype(call->inputs[0]);
    return dtype == LIANA_F32 ? share : liana_op_cast_at(call->here, share, dtype);
}

/* The second result, if there are labels: as they are, or mixed by the images' shares [batch, 1, 1, 1]. */
static void give_labels(liana_layer_call *call, liana_tensor partners, liana_tensor share)
{
    if (call->num_inputs < 2 || !call->inputs[1].id) return;
    liana_tensor labels = call->inputs[1];
    if (partners.id) {
        share = liana_op_reshape_at(call->here, share, liana_shape_of(-1, 1));
        labels = blend(call, labels, partners, share);
    }
    call->more[call->num_more++] = labels;
}

static liana_tensor call_mix_up(liana_layer_call *call)
{
    const liana_mix_up_options *chosen = call->options;
    const liana_tensor x = call->inputs[0], none = {0};
    if (!call->training) {
        give_labels(call, none, none);
        return x;
    }
    const liana__layer_key key = liana__layer_draws(call, chosen->seed);
    const liana_tensor alpha = liana_graph_scalar_at(call->here, x.graph, LIANA_F32, chosen->alpha);
    const liana_tensor share = in_dtype(call, liana__draw_beta(call, key, alpha));
    const liana_tensor partners = find_partners(call, key);
    give_labels(call, partners, share);
    return blend(call, x, partners, share);
}

static liana_tensor call_cut_mix(liana_layer_call *call)
{
    const liana_cut_mix_options *chosen = call->options;
    const liana_tensor x = call->inputs[0], none = {0};
    if (!call->training) {
        give_labels(call, none, none);
        return x;
    }
    const liana__layer_key key = liana__color_second_key(call, chosen->seed);
    const liana_tensor draws = liana__image_draws(call, chosen->seed, 3);
    liana_tensor alpha = liana__image_draw(call, draws, 0, liana__range_or(&chosen->factor, 0, unit));
    alpha = liana_op_reshape_at(call->here, liana__color_add(call, alpha, 1e-6), liana_shape_of(-1, 1));
    const liana_tensor own = liana__draw_beta(call, key, alpha);
    const liana_tensor pasted = liana_op_subtract_at(call->here, liana__image_number(call, own, 1), own);
    const liana_tensor side = liana_op_sqrt_at(call->here, pasted);
    const liana__rectangle at = liana__color_rectangle(call, draws, 1, side, side);
    const liana_tensor partners = find_partners(call, key);
    const liana_tensor share = liana_op_subtract_at(call->here, liana__image_number(call, at.area, 1), at.area);
    give_labels(call, partners, in_dtype(call, share));
    return liana_op_select_at(call->here, at.is_within, liana_op_gather_at(call->here, x, partners, 0), x);
}

static void mix_up_to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    liana__seed_to_keras(arena, ((const liana_mix_up_options *)options)->seed, config);
}

static void cut_mix_to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_cut_mix_options *chosen = options;
    liana__range_to_keras(arena, config, "factor", liana__range_or(&chosen->factor, 0, unit));
    liana__seed_to_keras(arena, chosen->seed, config);
}

/* In Keras one argument, which is the images or a dict of both. */
static const char *const arguments[] = {"images", "labels", NULL};

static const char *find_whole_batch(const void *options, bool trainable)
{
    (void)options;
    (void)trainable;
    return "mixtures";
}

#define MIX(symbol, class_name, type, rows, checks, calls, writes, doc)                                          \
    const liana_layer_type liana__layer_##symbol = {                                                             \
        LIANA_PART(LAYER, liana_layer_type, class_name, doc, LIANA_PART_OPTIONS(type, rows), .check = (checks)), \
        LIANA__INPUTS(1, 2),                                                                                     \
        .has_data_format = true,                                                                                 \
        .reads_training = true,                                                                                  \
        .whole_batch = find_whole_batch,                                                                         \
        .masking = LIANA_MASKING_KEPT,                                                                           \
        .weights = check_inputs,                                                                                 \
        .call = (calls),                                                                                         \
        .to_keras = (writes),                                                                                    \
        .arguments = arguments,                                                                                  \
    };
MIX(mix_up, "MixUp", liana_mix_up_options, mix_up_rows, NULL, call_mix_up, mix_up_to_keras,
    "in training, blends each image of a batch with another one")
MIX(cut_mix, "CutMix", liana_cut_mix_options, cut_mix_rows, check_cut_mix, call_cut_mix, cut_mix_to_keras,
    "in training, pastes a part of another image of the batch into each")
