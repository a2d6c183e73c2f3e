/* recurrent_cell.h - the element-wise parts of LSTM and GRU cells, each as one op: for the kernels, and for layers. */
#ifndef LIANA_OPS_RECURRENT_CELL_H
#define LIANA_OPS_RECURRENT_CELL_H

#include "kernels/vector_kernels.h"
#include "ops/ops.h"

LIANA__DECLARE_VECTOR_KERNELS(lstm_cell);
LIANA__DECLARE_VECTOR_KERNELS(lstm_cell_gradient);
LIANA__DECLARE_VECTOR_KERNELS(gru_cell);
LIANA__DECLARE_VECTOR_KERNELS(gru_cell_gradient);

/* x and inner [batch, gates * units] are the products of a step's input and of h with their weights, biases added; all
 * else is [batch, units]. The gates lie one behind the other, in Keras's order. */

/* LSTM (Hochreiter and Schmidhuber 1997, with forget gates): i, f, g, o = x + inner;
 * c' = sigmoid(f) c + sigmoid(i) tanh(g); h' = sigmoid(o) tanh(c'). Sets both. */
void liana__lstm_cell(liana_location here, liana_tensor x, liana_tensor inner, liana_tensor c, liana_tensor *next_h,
                      liana_tensor *next_c);

/* GRU (Cho et al. 2014, the form that resets behind the product): z = sigmoid(x0 + inner0), r = sigmoid(x1 + inner1),
 * n = tanh(x2 + r inner2), h' = z h + (1 - z) n. */
liana_tensor liana__gru_cell(liana_location here, liana_tensor x, liana_tensor inner, liana_tensor h);

enum {
    LIANA__LSTM_GATES = 4,
    LIANA__GRU_GATES = 3,
    /* The columns of the results, each of `units`: h and c; gradients of x (and inner) and c; h; gradients of x, of
     * inner and of h. */
    LIANA__LSTM_RESULTS = 2,
    LIANA__LSTM_GRADIENTS = 5,
    LIANA__GRU_RESULTS = 1,
    LIANA__GRU_GRADIENTS = 7,
    LIANA__CELL_MOST_VALUES = 12, /* that a unit reads, or gives */
};

#endif
