/* Attention and AdditiveAttention: a softmax over scores of query and key, without projections. */
#include "layers/attention/heads.h"
#include "layers/option_rows.h"

/* The rows that both have. */
#define COMMON_ROWS(type, scale)                                                                                       \
    LIANA_OPTION_ROW(type, use_scale, BOOL, .default_text = (scale), .doc = "whether a weight multiplies the scores"), \
        LIANA_OPTION_ROW(type, dropout, FLOAT, .default_text = "0.0", .minimum = 0, .maximum = 0.999999,               \
                         .doc = "share of the scores that training sets to zero"),                                     \
        LIANA_OPTION_ROW(type, return_attention_scores, BOOL, .default_text = "false",                                 \
                         .doc = "of the call: whether the scores are a second result"),                                \
        LIANA_OPTION_ROW(type, use_causal_mask, BOOL, .default_text = "false",                                         \
                         .doc = "of the call: whether a step reads no steps after it")

static const char *const score_modes[] = {"dot", "concat", NULL};
_Static_assert(LIANA_SCORES_DOT == 0 && LIANA_SCORES_CONCAT == 1, "score_modes follows liana_score_mode");
_Static_assert(sizeof(liana_score_mode) == sizeof(int), "tables of fields keep an enum as an int");

static const liana_option attention_rows[] = {
    LIANA_OPTION_ROW(liana_attention_options, score_mode, ENUM, .default_text = "dot", .names = score_modes,
                     .doc = "dot: products; concat: sums of tanh(query + key)"),
    COMMON_ROWS(liana_attention_options, "false"),
};
static const liana_option additive_rows[] = {COMMON_ROWS(liana_additive_attention_options, "true")};

/* Of the list `inputs` and of the list `mask`. */
static const char *const arguments[] = {
    "inputs",          "inputs", "inputs", "mask", "mask", "mask", "training", "return_attention_scores",
    "use_causal_mask", NULL};
enum { NUM_SLOTS = LIANA_KEY_MASK + 1 };

/* ---- shapes ---- */

static liana_status check_mask(liana_layer_build *build, size_t slot, size_t of)
{
    const liana_shape *mask = &build->inputs[slot], *x = &build->inputs[of];
    bool fits = mask->rank == x->rank - 1;
    for (int i = 1; i < mask->rank && fits; i++) fits = mask->dims[i] == x->dims[i] || mask->dims[i] == 1;
    const long long steps = (long long)x->dims[x->rank - 2];
    return !mask->rank || fits ? LIANA_OK : liana__refuse_slot(build, slot, "[batch, %lld]", steps);
}

static liana_status check_shapes(liana_layer_build *build, bool broadcasts)
{
    const liana_shape *query = &build->inputs[LIANA_QUERY], *value = &build->inputs[LIANA_VALUE];
    const size_t at_key = build->inputs[LIANA_KEY].rank ? LIANA_KEY : LIANA_VALUE;
    const liana_shape *key = &build->inputs[at_key];
    const int last = query->rank - 1;
    if (query->rank < 3) return liana__refuse_slot(build, LIANA_QUERY, "[batch, steps, features]");
    for (size_t slot = LIANA_VALUE; slot <= at_key; slot++) {
        const liana_shape *x = &build->inputs[slot];
        if (x->rank != query->rank) return liana__refuse_slot(build, slot, "%d dimensions, as the query", query->rank);
        for (int i = 1; i < last - 1; i++) {
            if (x->dims[i] == query->dims[i]) continue;
            return liana__refuse_slot(build, slot, "the size %lld along axis %d, as the query",
                                      (long long)query->dims[i], i);
        }
    }
    if (broadcasts && query->rank == LIANA_MAX_RANK)
        return liana__refuse_slot(build, LIANA_QUERY, "one dimension less");
    if (key->dims[last] != query->dims[last] && !(broadcasts && (key->dims[last] == 1 || query->dims[last] == 1))) {
        return liana__refuse_slot(build, at_key, "the query's %lld features", (long long)query->dims[last]);
    }
    if (key->dims[last - 1] != value->dims[last - 1]) {
        return liana__refuse_slot(build, at_key, "the value's %lld steps", (long long)value->dims[last - 1]);
    }
    LIANA_TRY(check_mask(build, LIANA_QUERY_MASK, LIANA_QUERY));
    return check_mask(build, LIANA_VALUE_MASK, LIANA_VALUE);
}

static liana_status declare_attention(liana_layer_build *build)
{
    const liana_attention_options *chosen = build->options;
    LIANA_TRY(check_shapes(build, chosen->score_mode == LIANA_SCORES_CONCAT));
    if (chosen->use_scale) liana_layer_add_weight(build, "scale", LIANA_SCALAR, "ones", true);
    if (chosen->score_mode == LIANA_SCORES_CONCAT) {
        liana_layer_add_weight(build, "concat_score_weight", LIANA_SCALAR, "ones", true);
    }
    return build->status;
}

static liana_status declare_additive(liana_layer_build *build)
{
    const liana_additive_attention_options *chosen = build->options;
    const liana_shape *query = &build->inputs[LIANA_QUERY];
    LIANA_TRY(check_shapes(build, true));
    if (chosen->use_scale) {
        liana_layer_add_weight(build, "scale", liana_shape_of(query->dims[query->rank - 1]), "glorot_uniform", true);
    }
    return build->status;
}

/* ---- scores ---- */

static liana_tensor key_of(const liana_layer_call *call)
{
    return call->inputs[call->inputs[LIANA_KEY].id ? LIANA_KEY : LIANA_VALUE];
}

/* The sums of query and key for each pair of steps: [batch, steps, other steps, features]. */
static liana_tensor sums(const liana_layer_call *call)
{
    liana_tensor query = call->inputs[LIANA_QUERY], key = key_of(call);
    const int rank = liana_tensor_shape(query).rank;
    return liana_op_add_at(call->here, liana__expand(call, query, rank - 1), liana__expand(call, key, rank - 2));
}

static liana_tensor sum_features(const liana_layer_call *call, liana_tensor x)
{
    const liana_axes last = {.count = 1, .values = {-1}};
    return liana_op_reduce_sum_at(call->here, x, last, false);
}

static liana_tensor attention_scores(const liana_layer_call *call)
{
    const liana_attention_options *chosen = call->options;
    if (chosen->score_mode == LIANA_SCORES_DOT) {
        liana_tensor scores = liana_op_matmul_at(call->here, call->inputs[LIANA_QUERY], key_of(call), false, true);
        return chosen->use_scale ? liana_op_multiply_at(call->here, scores, call->weights[0]) : scores;
    }
    liana_tensor x = sums(call);
    if (chosen->use_scale) x = liana_op_multiply_at(call->here, x, call->weights[0]);
    x = sum_features(call, liana_op_tanh_at(call->here, x));
    return liana_op_multiply_at(call->here, x, call->weights[chosen->use_scale ? 1 : 0]);
}

static liana_tensor additive_scores(const liana_layer_call *call)
{
    const liana_additive_attention_options *chosen = call->options;
    liana_tensor x = liana_op_tanh_at(call->here, sums(call));
    if (chosen->use_scale) x = liana_op_multiply_at(call->here, x, call->weights[0]);
    return sum_features(call, x);
}

/* ---- the result ---- */

/* Of a call. */
typedef struct switches {
    double dropout;
    bool return_attention_scores, use_causal_mask;
} switches;

/* A mask of the inputs counts if none is given. */
static liana_tensor mask_of(const liana_layer_call *call, size_t slot)
{
    bool is_given = false;
    for (size_t i = LIANA_QUERY_MASK; i <= LIANA_KEY_MASK; i++) is_given = is_given || call->inputs[i].id;
    return is_given ? call->inputs[slot] : call->masks[slot - LIANA_QUERY_MASK];
}

static liana_tensor attend(liana_layer_call *call, liana_tensor scores, const switches *own)
{
    const liana_shape shape = liana_tensor_shape(scores);
    const liana_dtype dtype = liana_tensor_dtype(scores);
    liana_tensor mask = mask_of(call, LIANA_VALUE_MASK);
    if (mask.id) mask = liana__expand(call, mask, liana_tensor_shape(mask).rank - 1);
    if (own->use_causal_mask) {
        const int64_t rows = shape.dims[shape.rank - 2], columns = shape.dims[shape.rank - 1];
        mask = liana__join_masks(call, mask, liana__causal_mask(call, rows, columns));
    }
    if (mask.id) {
        const liana_tensor amount = liana_graph_scalar_at(call->here, scores.graph, dtype, 1e9);
        const liana_tensor lower = liana_op_subtract_at(call->here, scores, amount);
        scores = liana_op_select_at(call->here, mask, scores, lower);
    }
    scores = liana_op_softmax_at(call->here, scores);
    if (own->dropout > 0 && call->training) {
        scores = liana_op_dropout_at(call->here, scores, call->positions, own->dropout, call->seed, call->salt);
    }
    if (own->return_attention_scores) call->more[call->num_more++] = scores;
    liana_tensor result = liana_op_matmul_at(call->here, scores, call->inputs[LIANA_VALUE], false, false);
    call->mask = mask_of(call, LIANA_QUERY_MASK);
    if (!call->mask.id) return result;
    const liana_tensor rows = liana__expand(call, call->mask, liana_tensor_shape(call->mask).rank);
    return liana_op_select_at(call->here, rows, result, liana_graph_scalar_at(call->here, result.graph, dtype, 0));
}

static liana_tensor call_attention(liana_layer_call *call)
{
    const liana_attention_options *chosen = call->options;
    const switches own = {chosen->dropout, chosen->return_attention_scores, chosen->use_causal_mask};
    return attend(call, attention_scores(call), &own);
}

static liana_tensor call_additive(liana_layer_call *call)
{
    const liana_additive_attention_options *chosen = call->options;
    const switches own = {chosen->dropout, chosen->return_attention_scores, chosen->use_causal_mask};
    return attend(call, additive_scores(call), &own);
}

const liana_layer_type liana__layer_attention = {
    LIANA_PART(LAYER, liana_layer_type, "Attention", "softmax(scores of query and key) value",
               LIANA_PART_OPTIONS(liana_attention_options, attention_rows)),
    LIANA__INPUTS(2, NUM_SLOTS),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_attention,
    .call = call_attention,
    .arguments = arguments,
};

const liana_layer_type liana__layer_additive_attention = {
    LIANA_PART(LAYER, liana_layer_type, "AdditiveAttention", "Attention with scores of sums",
               LIANA_PART_OPTIONS(liana_additive_attention_options, additive_rows)),
    LIANA__INPUTS(2, NUM_SLOTS),
    .reads_training = true,
    .masking = LIANA_MASKING_OWN,
    .weights = declare_additive,
    .call = call_additive,
    .arguments = arguments,
};
