/* GroupQueryAttention: several heads of queries share one of keys and values. */
#include "layers/attention/heads.h"
#include "layers/option_rows.h"

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_group_query_attention_options, head_dim, .required = true, .doc = "size of each head"),
    LIANA__COUNT_ROW(liana_group_query_attention_options, num_query_heads, .required = true,
                     .doc = "number of heads of queries"),
    LIANA__COUNT_ROW(liana_group_query_attention_options, num_key_value_heads, .required = true,
                     .doc = "number of heads of keys and values, which divides num_query_heads"),
    LIANA_OPTION_ROW(liana_group_query_attention_options, dropout, FLOAT, .default_text = "0.0", .minimum = 0,
                     .maximum = 0.999999, .doc = "share of the scores that training sets to zero"),
    LIANA__BIAS_ROW(liana_group_query_attention_options),
    LIANA__HEADS_ROWS(liana_group_query_attention_options),
};

static liana_status check_options(liana_check *check)
{
    const liana_group_query_attention_options *chosen = check->options;
    if (chosen->num_query_heads % chosen->num_key_value_heads != 0) {
        return liana_option_refuse(check, "num_key_value_heads",
                                   "found %lld, which does not divide num_query_heads: %lld",
                                   (long long)chosen->num_key_value_heads, (long long)chosen->num_query_heads);
    }
    if (!chosen->flash_attention || chosen->dropout == 0) return LIANA_OK;
    return liana_option_refuse(check, "flash_attention",
                               "found true together with dropout, which Keras refuses; leave "
                               "one of them out");
}

static liana__heads heads_of(const void *options)
{
    static const char *const places[] = {"_query_dense", "_key_dense", "_gate_dense", "_value_dense", "_output_dense"};
    const liana_group_query_attention_options *chosen = options;
    return (liana__heads){.query_heads = chosen->num_query_heads,
                          .value_heads = chosen->num_key_value_heads,
                          .key_dim = chosen->head_dim,
                          .value_dim = chosen->head_dim,
                          .reads_query_mask = true,
                          .sliding_window = chosen->sliding_window,
                          .dropout = chosen->dropout,
                          .use_bias = chosen->use_bias,
                          .use_gate = chosen->use_gate,
                          .use_causal_mask = chosen->use_causal_mask,
                          .return_attention_scores = chosen->return_attention_scores,
                          .has_activity_regularizer = chosen->activity_regularizer != NULL,
                          .kernel_initializer = chosen->kernel_initializer,
                          .bias_initializer = chosen->bias_initializer,
                          .places = places};
}

static liana_status declare_weights(liana_layer_build *build)
{
    for (size_t slot = LIANA_QUERY; slot <= LIANA_VALUE; slot++) {
        if (build->inputs[slot].rank != 3) return liana__refuse_slot(build, slot, "[batch, steps, features]");
    }
    const liana__heads heads = heads_of(build->options);
    return liana__heads_weights(build, &heads);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana__heads heads = heads_of(call->options);
    return liana__heads_call(call, &heads);
}

/* Keras writes null for what is not given. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_group_query_attention_options *chosen = options;
    liana__value_remove(config, "flash_attention");
    if (!chosen->sliding_window) liana__value_set(arena, config, "sliding_window", liana__value_null(arena));
}

const liana_layer_type liana__layer_group_query_attention = {
    LIANA_PART(LAYER, liana_layer_type, "GroupQueryAttention",
               "as MultiHeadAttention, with fewer heads of keys and values",
               LIANA_PART_OPTIONS(liana_group_query_attention_options, rows), .check = check_options),
    LIANA__INPUTS(2, LIANA__ATTENTION_SLOTS),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_weights,
    .call = call_layer,
    .to_keras = to_keras,
    .arguments = liana__heads_arguments,
};
