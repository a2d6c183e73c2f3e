/* model_fn_internal.h - the parts of a call of a model function. Each fails the graph and returns its status. */
#ifndef LIANA_TRAIN_ESTIMATOR_MODEL_FN_INTERNAL_H
#define LIANA_TRAIN_ESTIMATOR_MODEL_FN_INTERNAL_H

#include "ir/shape.h"
#include "train/estimator/model_fn.h"

/* Fails the call's graph with INVALID_ARGUMENT, the place of a tensor (invalid: none) and the function's name. */
liana_status liana__fn_fail(liana__fn_call *call, liana_tensor about, const char *format, ...) LIANA__PRINTF(3, 4);
/* "f32 [2, 10]", or that it is no tensor of the graph. */
liana__shape_text liana__fn_type(const liana__fn_call *call, liana_tensor tensor);

/* Loss and metrics of the spec as sums over the shard; sets loss, sums, and their facts in `built`. */
liana_status liana__fn_build_sums(liana__fn_call *call) LIANA_MUST_USE;
/* Predictions of the spec, in rows; only for predictions. */
liana_status liana__fn_build_rows(liana__fn_call *call) LIANA_MUST_USE;
/* The variables, whose they are and which are trained; the numbers of ids; in training the optimizer. */
liana_status liana__fn_find_variables(liana__fn_call *call, const liana_model *const *models, size_t num_models)
    LIANA_MUST_USE;

#endif
