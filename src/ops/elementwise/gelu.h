/* gelu.h - the error function and the two forms of gelu, for the tables of element-wise ops. */
#ifndef LIANA_OPS_GELU_H
#define LIANA_OPS_GELU_H

#include "ops/ops.h"
#include "stablehlo/lowering.h"

/* ---- values ---- */

double liana__gelu(double x);
double liana__gelu_tanh(double x);
double liana__gelu_gradient(double x, double dy);
double liana__gelu_tanh_gradient(double x, double dy);

/* ---- graphs ---- */

/* dy times the derivative of erf at x. */
liana_tensor liana__erf_gradient(liana_tensor x, liana_tensor dy);
/* The second derivatives. */
liana_tensor liana__gelu_bend(liana_tensor x);
liana_tensor liana__gelu_tanh_bend(liana_tensor x);

/* ---- StableHLO ---- */

liana__hlo liana__lower_erf(liana__lowering *lowering, liana__hlo x);
liana__hlo liana__lower_gelu(liana__lowering *lowering, liana__hlo x);
liana__hlo liana__lower_gelu_tanh(liana__lowering *lowering, liana__hlo x);
liana__hlo liana__lower_gelu_gradient(liana__lowering *lowering, liana__hlo x, liana__hlo dy);
liana__hlo liana__lower_gelu_tanh_gradient(liana__lowering *lowering, liana__hlo x, liana__hlo dy);

#endif
