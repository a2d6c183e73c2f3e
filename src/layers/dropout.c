#include "layers/option_rows.h"

static const liana__field rows[] = {
    LIANA__ROW(liana_dropout_options, rate, FLOAT, .required = true, .minimum = 0, .maximum = 0.999999,
               .doc = "share of the elements that are zeroed in training, below 1"),
};
static const liana__fields options = LIANA__OPTION_TABLE("Dropout", liana_dropout_options, rows);

static liana_tensor call_layer(liana__layer_call *call)
{
    const liana_dropout_options *chosen = call->options;
    if (!call->training || chosen->rate == 0) return call->inputs[0];
    return liana_op_dropout_at(call->here, call->inputs[0], call->positions, chosen->rate, call->seed, call->salt);
}

const liana__layer_type liana__layer_dropout = {
    .name = "Dropout",
    .doc = "in training, zeroes elements at random and scales up the others",
    .options = &options,
    .min_inputs = 1,
    .max_inputs = 1,
    .call = call_layer,
};
