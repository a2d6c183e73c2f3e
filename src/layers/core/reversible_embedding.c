/* ReversibleEmbedding: a row of weights for each id; in reverse, a product with all rows. */
#include "layers/option_rows.h"

#include <liana/layers/core.h>

#include <stdio.h>
#include <string.h>

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_reversible_embedding_options, input_dim, .required = true,
                     .doc = "number of ids: they are 0 to input_dim - 1"),
    LIANA__COUNT_ROW(liana_reversible_embedding_options, output_dim, .required = true,
                     .doc = "length of the row of an id"),
    LIANA_OPTION_ROW(liana_reversible_embedding_options, tie_weights, BOOL, .default_text = "true",
                     .doc = "whether the reverse multiplies by the same weights"),
    LIANA__INITIALIZER_ROW(liana_reversible_embedding_options, embeddings_initializer, "random_uniform"),
    LIANA__REGULARIZER_ROW(liana_reversible_embedding_options, embeddings_regularizer),
    LIANA__REGULARIZER_ROW(liana_reversible_embedding_options, activity_regularizer),
    LIANA__CONSTRAINT_ROW(liana_reversible_embedding_options, embeddings_constraint),
    LIANA_OPTION_ROW(liana_reversible_embedding_options, mask_zero, BOOL, .default_text = "false",
                     .doc = "whether the id 0 is padding, which later layers leave out"),
    LIANA_OPTION_ROW(liana_reversible_embedding_options, reverse_dtype, STRING,
                     .doc = "dtype of the product in reverse: float32, bfloat16 or float64; default: as the layer"),
    LIANA_OPTION_ROW(liana_reversible_embedding_options, logit_soft_cap, FLOAT, .default_text = "null", .minimum = 1e-6,
                     .maximum = 1e12, .doc = "the reverse gives cap * tanh(logits / cap)"),
    LIANA_OPTION_ROW(liana_reversible_embedding_options, reverse, BOOL, .default_text = "false",
                     .doc = "of the call: from rows of output_dim to logits of input_dim"),
};

static const struct {
    const char *name;
    liana_dtype dtype;
} dtypes[] = {{"float32", LIANA_F32}, {"bfloat16", LIANA_BF16}, {"float64", LIANA_F64}};

static const liana_dtype *find_dtype(const char *name)
{
    for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
        if (strcmp(dtypes[i].name, name) == 0) return &dtypes[i].dtype;
    }
    return NULL;
}

static liana_status check_options(liana_check *check)
{
    const liana_reversible_embedding_options *chosen = check->options;
    if (!chosen->reverse_dtype || find_dtype(chosen->reverse_dtype)) return LIANA_OK;
    return liana_option_refuse(check, "reverse_dtype", "found '%.30s', expected float32, bfloat16 or float64",
                               chosen->reverse_dtype);
}

static liana_status declare_weights(liana_layer_build *build)
{
    const liana_reversible_embedding_options *chosen = build->options;
    const liana_shape *x = &build->inputs[0];
    char expected[80];
    if (!chosen->reverse && x->rank >= LIANA_MAX_RANK) return liana_layer_refuse(build, 0, "one dimension less");
    if (chosen->reverse && (x->rank < 2 || x->dims[x->rank - 1] != chosen->output_dim)) {
        snprintf(expected, sizeof expected, "[batch, ..., %lld], as reverse reads output_dim",
                 (long long)chosen->output_dim);
        return liana_layer_refuse(build, 0, expected);
    }
    liana_layer_add_weight(build, "embeddings", liana_shape_of(chosen->input_dim, chosen->output_dim),
                           chosen->embeddings_initializer, true);
    if (!chosen->tie_weights) {
        liana_layer_add_weight(build, "reverse_embeddings", liana_shape_of(chosen->output_dim, chosen->input_dim),
                               chosen->embeddings_initializer, true);
    }
    return build->status;
}

static liana_tensor look_up(liana_layer_call *call)
{
    const liana_reversible_embedding_options *chosen = call->options;
    liana_tensor ids = call->inputs[0];
    if (liana_tensor_dtype(ids) != LIANA_S32) ids = liana_op_cast_at(call->here, ids, LIANA_S32);
    if (chosen->mask_zero) {
        call->mask = liana_op_not_equal_at(call->here, ids, liana_graph_scalar_at(call->here, ids.graph, LIANA_S32, 0));
    }
    return liana_op_gather_at(call->here, call->weights[0], ids, 0);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_reversible_embedding_options *chosen = call->options;
    if (!chosen->reverse) return look_up(call);
    const liana_dtype dtype = chosen->reverse_dtype ? *find_dtype(chosen->reverse_dtype) : call->dtype;
    liana_tensor both[] = {call->inputs[0], call->weights[chosen->tie_weights ? 0 : 1]};
    for (int i = 0; i < 2; i++) {
        if (liana_tensor_dtype(both[i]) != dtype) both[i] = liana_op_cast_at(call->here, both[i], dtype);
    }
    const char *equation = chosen->tie_weights ? "...d,nd->...n" : "...d,dn->...n";
    liana_tensor logits = liana_einsum_at(call->here, equation, both, 2);
    if (!isnan(chosen->logit_soft_cap)) {
        const liana_tensor cap = liana_graph_scalar_at(call->here, logits.graph, dtype, chosen->logit_soft_cap);
        logits = liana_op_tanh_at(call->here, liana_op_divide_at(call->here, logits, cap));
        logits = liana_op_multiply_at(call->here, logits, cap);
    }
    return dtype == call->dtype ? logits : liana_op_cast_at(call->here, logits, call->dtype);
}

static int64_t num_ids(const void *options)
{
    const liana_reversible_embedding_options *chosen = options;
    return chosen->reverse ? 0 : chosen->input_dim;
}

static const char *const arguments[] = {"inputs", "reverse", NULL};

const liana_layer_type liana__layer_reversible_embedding = {
    LIANA_PART(LAYER, liana_layer_type, "ReversibleEmbedding", "a row of weights for each id, and its reverse",
               LIANA_PART_OPTIONS(liana_reversible_embedding_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .takes_integers = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_weights,
    .num_ids = num_ids,
    .call = call_layer,
    .arguments = arguments,
};
