/* Embedding: looks up a row of weights for each id. */
#include "layers/option_rows.h"

#include <liana/layers/core.h>

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_embedding_options, input_dim, .required = true,
                     .doc = "number of ids: they are 0 to input_dim - 1"),
    LIANA__COUNT_ROW(liana_embedding_options, output_dim, .required = true, .doc = "length of the row of an id"),
    LIANA__INITIALIZER_ROW(liana_embedding_options, embeddings_initializer, "random_uniform"),
    LIANA_OPTION_ROW(liana_embedding_options, mask_zero, BOOL, .default_text = "false",
                     .doc = "whether the id 0 is padding, which later layers leave out"),
    LIANA__REGULARIZER_ROW(liana_embedding_options, embeddings_regularizer),
    LIANA__REGULARIZER_ROW(liana_embedding_options, activity_regularizer),
    LIANA__CONSTRAINT_ROW(liana_embedding_options, embeddings_constraint),
};

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_embedding_options *chosen = build->options;
    if (build->inputs[0].rank >= LIANA_MAX_RANK) return liana_layer_refuse(build, 0, "one dimension less");
    liana_layer_add_weight(build, "embeddings", liana_shape_of(chosen->input_dim, chosen->output_dim),
                           chosen->embeddings_initializer, true);
    return build->status;
}

/* As in Keras, ids may come as floats. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_embedding_options *chosen = call->options;
    liana_tensor ids = call->inputs[0];
    if (liana_tensor_dtype(ids) != LIANA_S32) ids = liana_op_cast_at(call->here, ids, LIANA_S32);
    if (chosen->mask_zero) {
        call->mask = liana_op_not_equal_at(call->here, ids, liana_graph_scalar_at(call->here, ids.graph, LIANA_S32, 0));
    }
    return liana_op_gather_at(call->here, call->weights[0], ids, 0);
}

static int64_t num_ids(const void *chosen)
{
    return ((const liana_embedding_options *)chosen)->input_dim;
}

const liana_layer_type liana__layer_embedding = {
    LIANA_PART(LAYER, liana_layer_type, "Embedding", "a row of weights for each id",
               LIANA_PART_OPTIONS(liana_embedding_options, rows)),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_weights,
    .num_ids = num_ids,
    .call = call_layer,
};
