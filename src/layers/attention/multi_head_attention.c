/* MultiHeadAttention. */
#include "layers/attention/heads.h"
#include "layers/option_rows.h"

static const liana_option rows[] = {
    LIANA__COUNT_ROW(liana_multi_head_attention_options, num_heads, .required = true, .doc = "number of heads"),
    LIANA__COUNT_ROW(liana_multi_head_attention_options, key_dim, .required = true,
                     .doc = "size of each head of queries and keys"),
    LIANA_OPTION_ROW(liana_multi_head_attention_options, value_dim, INT, .default_text = "0", .minimum = 0,
                     .maximum = INT32_MAX, .doc = "size of each head of values; 0: key_dim"),
    LIANA_OPTION_ROW(liana_multi_head_attention_options, dropout, FLOAT, .default_text = "0.0", .minimum = 0,
                     .maximum = 0.999999, .doc = "share of the scores that training sets to zero"),
    LIANA__BIAS_ROW(liana_multi_head_attention_options),
    LIANA_OPTION_ROW(liana_multi_head_attention_options, output_shape, INTS, .minimum = 1, .maximum = INT32_MAX,
                     .doc = "shape of the result of a step; default: the features of the query"),
    LIANA_OPTION_ROW(liana_multi_head_attention_options, attention_axes, INTS, .minimum = -LIANA_MAX_RANK,
                     .maximum = LIANA_MAX_RANK, .doc = "axes that are read; default: all between batch and features"),
    LIANA__HEADS_ROWS(liana_multi_head_attention_options),
};

static liana_status check_options(liana_check *check)
{
    const liana_multi_head_attention_options *chosen = check->options;
    if (chosen->output_shape.count > LIANA_MAX_RANK - 3) {
        return liana_option_refuse(check, "output_shape", "found %lld dimensions, expected at most %d",
                                   (long long)chosen->output_shape.count, LIANA_MAX_RANK - 3);
    }
    for (int64_t i = 0; i < chosen->attention_axes.count; i++) {
        const int64_t axis = chosen->attention_axes.values[i];
        if (axis != 0 && axis != -1) continue;
        return liana_option_refuse(check, "attention_axes", "found %lld, the %s, expected axes between it and the %s",
                                   (long long)axis, axis ? "features" : "batch", axis ? "batch" : "features");
    }
    if (!chosen->flash_attention || chosen->dropout == 0) return LIANA_OK;
    return liana_option_refuse(check, "flash_attention",
                               "found true together with dropout, which Keras refuses; leave "
                               "one of them out");
}

static liana__heads heads_of(const void *options)
{
    static const char *const places[] = {"query_dense", "key_dense", "_gate_dense", "value_dense", "output_dense"};
    const liana_multi_head_attention_options *chosen = options;
    return (liana__heads){.query_heads = chosen->num_heads,
                          .value_heads = chosen->num_heads,
                          .key_dim = chosen->key_dim,
                          .value_dim = chosen->value_dim ? chosen->value_dim : chosen->key_dim,
                          .output_shape = chosen->output_shape,
                          .attention_axes = chosen->attention_axes,
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
    const liana__heads heads = heads_of(build->options);
    return liana__heads_weights(build, &heads);
}

static liana_tensor call_layer(liana_layer_call *call)
{
    const liana__heads heads = heads_of(call->options);
    return liana__heads_call(call, &heads);
}

/* What tf_keras also writes: shapes of inputs, and how it masks. */
static void from_keras(liana__arena *arena, const liana__value *config, liana__value *options_map)
{
    (void)arena, (void)config;
    liana__value_remove(options_map, "query_shape");
    liana__value_remove(options_map, "key_shape");
    liana__value_remove(options_map, "value_shape");
    liana__value_remove(options_map, "softmax_robust_masking");
}

/* Keras writes null for what is not given. */
static void to_keras(liana__arena *arena, const void *options, liana__value *config)
{
    const liana_multi_head_attention_options *chosen = options;
    liana__value_remove(config, "flash_attention");
    const bool has_window = liana__value_get(config, "sliding_window") != NULL;
    if (has_window && !chosen->sliding_window)
        liana__value_set(arena, config, "sliding_window", liana__value_null(arena));
    if (!chosen->value_dim) liana__value_set(arena, config, "value_dim", liana__value_int(arena, chosen->key_dim));
    if (!chosen->output_shape.count) liana__value_set(arena, config, "output_shape", liana__value_null(arena));
    if (!chosen->attention_axes.count) liana__value_set(arena, config, "attention_axes", liana__value_null(arena));
}

const liana_layer_type liana__layer_multi_head_attention = {
    LIANA_PART(LAYER, liana_layer_type, "MultiHeadAttention",
               "each step reads the steps of a sequence, by several heads",
               LIANA_PART_OPTIONS(liana_multi_head_attention_options, rows), .check = check_options),
    LIANA__INPUTS(2, LIANA__ATTENTION_SLOTS),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_weights,
    .call = call_layer,
    .from_keras = from_keras,
    .to_keras = to_keras,
    .arguments = liana__heads_arguments,
};
