/* Discretization: the number of the bin that each value is in. */
#include "ir/graph.h"
#include "layers/option_rows.h"

#include <liana/layers/preprocessing.h>

static const char *const mode_names[] = {"int", "one_hot", "multi_hot", "count", NULL};

static const liana_option rows[] = {
    LIANA_OPTION_ROW(liana_discretization_options, bin_boundaries, FLOATS,
                     .doc = "where bins end and the next ones begin, in ascending order"),
    LIANA_OPTION_ROW(liana_discretization_options, num_bins, INT, .minimum = 0, .maximum = 1 << 20,
                     .doc = "instead of bin_boundaries: so many bins, found in the data to hold about as many values "
                            "each"),
    LIANA_OPTION_ROW(liana_discretization_options, epsilon, FLOAT, .default_text = "0.01", .minimum = 1e-6,
                     .maximum = 1, .doc = "with num_bins: how exactly the boundaries are found, as a share of values"),
    LIANA_OPTION_ROW(liana_discretization_options, output_mode, ENUM, .default_text = "int", .names = mode_names,
                     .doc = "int: numbers; one_hot: a row for each value; multi_hot, count: one row for the values of "
                            "axis 1"),
};

static size_t num_boundaries(const liana_discretization_options *own)
{
    return own->bin_boundaries.count ? own->bin_boundaries.count : (size_t)own->num_bins - 1;
}

static liana_status check_options(liana_check *check)
{
    const liana_discretization_options *own = check->options;
    const liana_floats *list = &own->bin_boundaries;
    if (!list->count && own->num_bins < 2) {
        return own->num_bins ? liana_option_refuse(check, "num_bins", "found 1, expected at least 2 bins")
                             : liana_option_refuse(check, NULL,
                                                   "it needs bin_boundaries, or num_bins to find them in "
                                                   "the data");
    }
    if (list->count && own->num_bins && (int64_t)list->count + 1 != own->num_bins) {
        return liana_option_refuse(check, "num_bins",
                                   "found %lld, but %zu bin_boundaries make %zu bins; give one of "
                                   "the two",
                                   (long long)own->num_bins, list->count, list->count + 1);
    }
    for (size_t i = 1; i < list->count; i++) {
        if (list->items[i] >= list->items[i - 1]) continue;
        return liana_option_refuse(check, "bin_boundaries", "found %g after %g, expected them in ascending order",
                                   list->items[i], list->items[i - 1]);
    }
    return LIANA_OK;
}

static bool shares_row(const liana_discretization_options *own)
{
    return own->output_mode == LIANA_OUTPUT_MULTI_HOT || own->output_mode == LIANA_OUTPUT_COUNT;
}

static liana_status check_input(liana_layer_build *build)
{
    const liana_discretization_options *own = build->options;
    const int rank = build->inputs[0].rank;
    if (shares_row(own) && rank < 2) return liana_layer_refuse(build, 0, "[batch, values]");
    return rank < LIANA_MAX_RANK ? LIANA_OK : liana_layer_refuse(build, 0, "one dimension less");
}

/* ---- the graph ---- */

/* The boundaries that are not above each value. NaN is above all, as in Keras. */
static liana_tensor find_bins(const liana_layer_call *call)
{
    const liana_discretization_options *own = call->options;
    liana_tensor x = call->inputs[0];
    const size_t count = num_boundaries(own);
    const liana_shape all = liana_tensor_shape(x);
    liana_shape column = all;
    float *values = liana__arena_allocate(&x.graph->arena, count * sizeof *values);
    if (!values) return liana__graph_fail(x.graph, call->here, LIANA_OUT_OF_MEMORY, "boundaries");
    for (size_t i = 0; i < count; i++) values[i] = own->bin_boundaries.count ? (float)own->bin_boundaries.items[i] : 0;
    column.dims[column.rank++] = 1;
    if (liana_tensor_dtype(x) != LIANA_F32) x = liana_op_cast_at(call->here, x, LIANA_F32);
    const liana_tensor boundaries =
        liana_graph_constant_at(call->here, x.graph, LIANA_F32, liana_shape_of((int64_t)count), values);
    const liana_tensor below =
        liana_op_cast_at(call->here,
                         liana_op_less_at(call->here, liana_op_reshape_at(call->here, x, column), boundaries),
                         LIANA_F32);
    const liana_tensor above = liana_op_reduce_sum_at(call->here, below, LIANA_AXES(-1), false);
    const liana_tensor total = liana_graph_scalar_at(call->here, x.graph, LIANA_F32, (double)count);
    return liana_op_cast_at(call->here, liana_op_subtract_at(call->here, total, above), LIANA_S32);
}

/* In one_hot a last axis of 1 is left out. */
static liana_tensor call_layer(liana_layer_call *call)
{
    const liana_discretization_options *own = call->options;
    if (!call->inputs[0].graph || call->inputs[0].graph->status != LIANA_OK) return (liana_tensor){0};
    liana_tensor bins = find_bins(call);
    if (own->output_mode == LIANA_OUTPUT_INT) return bins;
    liana_shape shape = liana_tensor_shape(bins);
    if (own->output_mode == LIANA_OUTPUT_ONE_HOT && shape.rank > 1 && shape.dims[shape.rank - 1] == 1) {
        shape.rank--;
        bins = liana_op_reshape_at(call->here, bins, shape);
    }
    const liana_tensor hot = liana_op_one_hot_at(call->here, bins, (int64_t)num_boundaries(own) + 1, call->dtype);
    if (own->output_mode == LIANA_OUTPUT_ONE_HOT) return hot;
    if (own->output_mode == LIANA_OUTPUT_COUNT) return liana_op_reduce_sum_at(call->here, hot, LIANA_AXES(1), false);
    return liana_op_reduce_max_at(call->here, hot, LIANA_AXES(1), false);
}

static const char *to_adapt(const void *chosen)
{
    return ((const liana_discretization_options *)chosen)->bin_boundaries.count ? NULL : "bin_boundaries";
}

/* Keras's layer knows no "trainable". */
static void to_keras(liana__arena *arena, const void *chosen, liana__value *config)
{
    const liana_discretization_options *own = chosen;
    liana__value_remove(config, "trainable");
    if (!own->num_bins) liana__value_set(arena, config, "num_bins", liana__value_null(arena));
    if (!own->bin_boundaries.count) liana__value_set(arena, config, "bin_boundaries", liana__value_null(arena));
    liana__value_set(arena, config, "sparse", liana__value_bool(arena, false));
}

const liana_layer_type liana__layer_discretization = {
    LIANA_PART(LAYER, liana_layer_type, "Discretization", "the number of the bin that each value is in",
               LIANA_PART_OPTIONS(liana_discretization_options, rows), .check = check_options),
    LIANA__INPUTS(1, 1),
    .weights = check_input,
    .call = call_layer,
    .to_adapt = to_adapt,
    .to_keras = to_keras,
};
