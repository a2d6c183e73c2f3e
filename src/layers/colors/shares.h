/* shares.h - numbers of Gamma, Beta and Dirichlet distributions, drawn for each example. */
#ifndef LIANA_LAYERS_COLORS_SHARES_H
#define LIANA_LAYERS_COLORS_SHARES_H

#include "layers/colors/colors.h"

/* f32 [batch, count]: logarithms of Gamma(alpha, 1) numbers; alpha is f32 [batch, 1] or one number, above 0. */
liana_tensor liana__draw_log_gamma(const liana_layer_call *call, liana__layer_key key, liana_tensor alpha,
                                   int64_t count);
/* f32 [batch, 1, 1, 1] of Beta(alpha, alpha), and f32 [batch, count] of a Dirichlet distribution. */
liana_tensor liana__draw_beta(const liana_layer_call *call, liana__layer_key key, liana_tensor alpha);
liana_tensor liana__draw_dirichlet(const liana_layer_call *call, liana__layer_key key, liana_tensor alpha,
                                   int64_t count);

#endif
