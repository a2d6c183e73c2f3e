/* Numbers of Gamma, Beta and Dirichlet distributions. */
#include "layers/colors/shares.h"

#include "ir/graph.h"

/* Of each number so many are drawn, and the first that is accepted counts. Each is refused with a probability below
 * 0.05, and the last one is taken as it is. */
enum { TRIES = 8 };

static liana_tensor number(const liana_layer_call *call, liana_tensor like, double value)
{
    return liana__image_number(call, like, value);
}

/* Entry `index` of the last axis of [batch, count, tries]. */
static liana_tensor entry(const liana_layer_call *call, liana_tensor x, int64_t index)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t start[] = {0, 0, index}, limit[] = {shape.dims[0], shape.dims[1], index + 1};
    x = liana_op_slice_at(call->here, x, start, limit, NULL);
    return liana_op_reshape_at(call->here, x, liana_shape_of(shape.dims[0], shape.dims[1]));
}

/* Above 0: halfway between the numbers that are drawn. */
static liana_tensor log_of(const liana_layer_call *call, liana_tensor drawn)
{
    return liana_op_log_at(call->here, liana__color_add(call, drawn, 0x1p-25));
}

/* Marsaglia and Tsang, "A simple method for generating gamma variables" (2000): d v with v = (1 + c x)^3, d = shape -
 * 1/3 and c = 1 / sqrt(9 d). The shape is alpha + 1; a number of alpha is one of alpha + 1 times a root of a uniform
 * one. In logarithms, because small alphas give numbers below the smallest float. */
liana_tensor liana__draw_log_gamma(const liana_layer_call *call, liana__layer_key key, liana_tensor alpha,
                                   int64_t count)
{
    const liana_location here = call->here;
    const uint64_t other = liana__held_seed(key.seed, 1);
    const liana_tensor normal = liana_op_random_normal_at(here, call->positions, LIANA_F32,
                                                          liana_shape_of(count, TRIES), 0, 1, key.seed, key.salt);
    const liana_tensor uniform = liana_op_random_uniform_at(here, call->positions, LIANA_F32,
                                                            liana_shape_of(count, TRIES + 1), 0, 1, other, key.salt);
    const liana_tensor d = liana__color_add(call, alpha, 2.0 / 3);
    const liana_tensor c = liana_op_rsqrt_at(here, liana__color_multiply(call, d, 9));
    liana_tensor result = {0};
    for (int64_t i = TRIES - 1; i >= 0; i--) {
        const liana_tensor x = entry(call, normal, i);
        const liana_tensor root = liana__color_add(call, liana_op_multiply_at(here, c, x), 1);
        const liana_tensor positive = liana_op_greater_at(here, root, number(call, root, 0));
        const liana_tensor log_v =
            liana__color_multiply(call,
                                  liana_op_log_at(here, liana_op_maximum_at(here, root, number(call, root, 1e-6))), 3);
        liana_tensor limit = liana__color_add(call, liana_op_subtract_at(here, log_v, liana_op_exp_at(here, log_v)), 1);
        limit = liana_op_multiply_at(here, d, limit);
        limit = liana_op_add_at(here, limit, liana__color_multiply(call, liana_op_square_at(here, x), 0.5));
        const liana_tensor fits = liana_op_less_at(here, log_of(call, entry(call, uniform, i)), limit);
        const liana_tensor accepted = liana_op_logical_and_at(here, positive, fits);
        result = result.id ? liana_op_select_at(here, accepted, log_v, result) : log_v;
    }
    const liana_tensor boost = liana_op_divide_at(here, log_of(call, entry(call, uniform, TRIES)), alpha);
    return liana_op_add_at(here, liana_op_add_at(here, result, liana_op_log_at(here, d)), boost);
}

liana_tensor liana__draw_dirichlet(const liana_layer_call *call, liana__layer_key key, liana_tensor alpha,
                                   int64_t count)
{
    return liana_op_softmax_at(call->here, liana__draw_log_gamma(call, key, alpha, count));
}

liana_tensor liana__draw_beta(const liana_layer_call *call, liana__layer_key key, liana_tensor alpha)
{
    const liana_tensor both = liana__draw_dirichlet(call, key, alpha, 2);
    return liana__image_draw(call, both, 0, (liana__range){0, 1});
}
