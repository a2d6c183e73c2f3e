/* Samples of the cells of LSTM and GRU for the generated tests of ops. */
#include "ops/fused/recurrent_cell.h"
#include "ops/samples.h"

typedef struct problem {
    const char *name;
    int64_t rows, units;
    size_t num_states;
    int gates;
} problem;

static const problem lstm[] = {{"short", 3, 5, 1, 4}, {"long", 2, 37, 1, 4}};
static const problem lstm_back[] = {{"short", 3, 5, 3, 4}, {"long", 2, 37, 3, 4}};
static const problem gru[] = {{"short", 3, 5, 1, 3}, {"long", 2, 37, 1, 3}};
static const problem gru_back[] = {{"short", 3, 5, 2, 3}, {"long", 2, 37, 2, 3}};

static liana_tensor build(liana_graph *graph, liana_dtype dtype, const liana__op *op, const void *row)
{
    static const char *const names[] = {"x", "inner", "state", "gradient", "other gradient"};
    const problem *p = row;
    liana_tensor inputs[5];
    const size_t count = 2 + p->num_states;
    for (size_t i = 0; i < count; i++) {
        const liana_shape shape = liana_shape_of(p->rows, i < 2 ? p->gates * p->units : p->units);
        inputs[i] = liana__sample_input(graph, names[i], dtype, shape, -2, 2);
    }
    return liana__build(LIANA_HERE, graph, op, inputs, count, NULL);
}

LIANA__SAMPLE_ROWS(lstm_cell, lstm, build);
LIANA__SAMPLE_ROWS(lstm_cell_gradient, lstm_back, build);
LIANA__SAMPLE_ROWS(gru_cell, gru, build);
LIANA__SAMPLE_ROWS(gru_cell_gradient, gru_back, build);
