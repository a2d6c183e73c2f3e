/* CategoryEncoding: writes ids as rows of zeros and ones, or of counts. */
#include "layers/option_rows.h"

#include <liana/layers/preprocessing.h>

static const char *const mode_names[] = {"multi_hot", "one_hot", "count", NULL};
_Static_assert(LIANA_MULTI_HOT == 0 && LIANA_ONE_HOT == 1 && LIANA_COUNT == 2, "mode_names follows liana_encoding");

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_category_encoding_options, num_tokens, .required = true,
                     .doc = "number of ids: they are 0 to num_tokens - 1"),
    LIANA_OPTION_ROW(liana_category_encoding_options, output_mode, ENUM, .default_text = "multi_hot",
                     .names = mode_names,
                     .doc = "one_hot: a row for each id; multi_hot: one row, with 1 for each id that is there; count: "
                            "one row, with how often each id is there"),
};

static liana_status check_input(liana_layer_build *build)
{
    return build->inputs[0].rank < LIANA_MAX_RANK ? LIANA_OK : liana_layer_refuse(build, 0, "one dimension less");
}

/* The last axis of ids has the ids of one row; an input [batch] has one id for each row. In one_hot each id has its own
 * row, and a last axis of 1 is left out, as in Keras. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_category_encoding_options *chosen = call->options;
    liana_tensor ids = call->inputs[0];
    if (liana_tensor_dtype(ids) != LIANA_S32) ids = liana_op_cast_at(call->here, ids, LIANA_S32);
    liana_shape shape = liana_tensor_shape(ids);
    bool one_for_each = shape.rank == 1 || (chosen->output_mode == LIANA_ONE_HOT && shape.dims[shape.rank - 1] == 1);
    if (one_for_each && shape.rank > 1) {
        shape.rank--;
        ids = liana_op_reshape_at(call->here, ids, shape);
    }
    liana_tensor hot = liana_op_one_hot_at(call->here, ids, chosen->num_tokens, call->dtype);
    if (one_for_each || chosen->output_mode == LIANA_ONE_HOT) return hot;
    if (chosen->output_mode == LIANA_COUNT) return liana_op_reduce_sum_at(call->here, hot, LIANA_AXES(-2), false);
    return liana_op_reduce_max_at(call->here, hot, LIANA_AXES(-2), false);
}

static int64_t num_ids(const void *chosen)
{
    return ((const liana_category_encoding_options *)chosen)->num_tokens;
}

const liana_layer_type liana__layer_category_encoding = {
    LIANA_PART(LAYER, liana_layer_type, "CategoryEncoding", "ids as rows of zeros and ones, or of counts",
               LIANA_PART_OPTIONS(liana_category_encoding_options, rows)),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .weights = check_input,
    .num_ids = num_ids,
    .call = call_layer,
};
