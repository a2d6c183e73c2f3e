/* What layers of images share: ranges of factors, and numbers that are drawn for each example. */
#include "layers/images/images.h"

#include "ir/graph.h"

#include <math.h>

liana_status liana__check_factor(liana_check *check, const char *option, const liana_floats *factor, double least,
                                 double most)
{
    if (factor->count > 2) {
        return liana_option_refuse(check, option, "found %zu numbers, expected one, or the two ends of a range",
                                   factor->count);
    }
    for (size_t i = 0; i < factor->count; i++) {
        const double found = factor->items[i];
        if (found >= least && found <= most) continue;
        return liana_option_refuse(check, option, "found %g, expected a number, or a list of two, from %g to %g", found,
                                   least, most);
    }
    return LIANA_OK;
}

liana__range liana__factor_range(const liana_floats *factor, double preset, double least)
{
    if (factor->count == 2) {
        return (liana__range){fmin(factor->items[0], factor->items[1]), fmax(factor->items[0], factor->items[1])};
    }
    const double most = fabs(factor->count ? factor->items[0] : preset);
    return (liana__range){fmax(-most, least), most};
}

void liana__factor_to_keras(liana__arena *arena, liana__value *config, const char *option, const liana_floats *factor,
                            double preset)
{
    if (factor->count < 2) {
        liana__value_set(arena, config, option, liana__value_float(arena, factor->count ? factor->items[0] : preset));
        return;
    }
    const liana__range range = liana__factor_range(factor, preset, 0);
    liana__value *list = liana__value_list(arena);
    if (list) liana__value_add(arena, list, liana__value_float(arena, range.low));
    if (list) liana__value_add(arena, list, liana__value_float(arena, range.high));
    if (list) liana__value_set(arena, config, option, list);
}

liana_tensor liana__image_draws(const liana_layer_call *call, int64_t seed, int64_t count)
{
    const liana__layer_key key = liana__layer_draws(call, seed);
    return liana_op_random_uniform_at(call->here, call->positions, LIANA_F32, liana_shape_of(count), 0, 1, key.seed,
                                      key.salt);
}

liana_tensor liana__image_draw(const liana_layer_call *call, liana_tensor draws, int64_t index, liana__range range)
{
    const int64_t batch = liana_tensor_shape(draws).dims[0];
    const int64_t start[] = {0, index}, limit[] = {batch, index + 1};
    liana_tensor x = liana_op_slice_at(call->here, draws, start, limit, NULL);
    x = liana_op_reshape_at(call->here, x, liana_shape_of(batch, 1, 1, 1));
    x = liana_op_multiply_at(call->here, x, liana__image_number(call, x, range.high - range.low));
    return liana_op_add_at(call->here, x, liana__image_number(call, x, range.low));
}

liana_tensor liana__image_number(const liana_layer_call *call, liana_tensor like, double number)
{
    return liana_graph_scalar_at(call->here, like.graph, liana_tensor_dtype(like), number);
}
