/* recurrent_cell.kernels.h - the cells of LSTM and GRU and their gradients, for one instruction set. */
#include "kernels/applicable.h"
#include "kernels/vector_math.h"
#include "ops/fused/recurrent_cell.h"

/* `in`: the gates of x, those of inner, the states and gradients; `out`: the columns of the result. */
LIANA__INLINE void lstm(const vector_float *in, vector_float *out)
{
    vector_float i = vector_logistic(in[0] + in[4]), f = vector_logistic(in[1] + in[5]);
    vector_float g = vector_tanh(in[2] + in[6]), o = vector_logistic(in[3] + in[7]);
    out[1] = vector_fma(f, in[8], i * g);
    out[0] = o * vector_tanh(out[1]);
}

LIANA__INLINE void lstm_gradient(const vector_float *in, vector_float *out)
{
    vector_float i = vector_logistic(in[0] + in[4]), f = vector_logistic(in[1] + in[5]);
    vector_float g = vector_tanh(in[2] + in[6]), o = vector_logistic(in[3] + in[7]), c = in[8], dh = in[9];
    vector_float t = vector_tanh(vector_fma(f, c, i * g));
    vector_float dc = vector_fma(dh * o, 1.0f - t * t, in[10]);
    out[0] = dc * g * (i * (1.0f - i));
    out[1] = dc * c * (f * (1.0f - f));
    out[2] = dc * i * (1.0f - g * g);
    out[3] = dh * t * (o * (1.0f - o));
    out[4] = dc * f;
}

LIANA__INLINE void gru(const vector_float *in, vector_float *out)
{
    vector_float z = vector_logistic(in[0] + in[3]), r = vector_logistic(in[1] + in[4]);
    vector_float n = vector_tanh(vector_fma(r, in[5], in[2]));
    out[0] = vector_fma(z, in[6] - n, n);
}

LIANA__INLINE void gru_gradient(const vector_float *in, vector_float *out)
{
    vector_float z = vector_logistic(in[0] + in[3]), r = vector_logistic(in[1] + in[4]);
    vector_float n = vector_tanh(vector_fma(r, in[5], in[2])), dh = in[7];
    vector_float dn = dh * (1.0f - z) * (1.0f - n * n);
    out[0] = out[3] = dh * (in[6] - n) * (z * (1.0f - z));
    out[1] = out[4] = dn * in[5] * (r * (1.0f - r));
    out[2] = dn;
    out[5] = dn * r;
    out[6] = dh * z;
}

/* Called with constants, which are then inlined. */
LIANA__INLINE liana_status run(const liana__call *call, int gates, int results,
                               void (*compute)(const vector_float *, vector_float *))
{
    const liana__node *node = call->node;
    const int num_states = (int)node->num_inputs - 2;
    const int64_t units = liana__input_shape(node, 2)->dims[1];
    vector_float in[LIANA__CELL_MOST_VALUES], out[LIANA__CELL_MOST_VALUES];
    for (int64_t row = 0; row < node->shape.dims[0]; row++) {
        const float *x = (const float *)call->src[0] + row * gates * units;
        const float *inner = (const float *)call->src[1] + row * gates * units;
        float *dst = (float *)call->dst + row * results * units;
        for (int64_t unit = 0; unit < units; unit += VECTOR_LENGTH) {
            const int64_t left = units - unit < VECTOR_LENGTH ? units - unit : VECTOR_LENGTH;
            const bool whole = left == VECTOR_LENGTH;
            for (int k = 0; k < gates; k++) {
                const float *a = x + k * units + unit, *b = inner + k * units + unit;
                in[k] = whole ? vector_load(a) : vector_load_part(a, left);
                in[gates + k] = whole ? vector_load(b) : vector_load_part(b, left);
            }
            for (int k = 0; k < num_states; k++) {
                const float *state = (const float *)call->src[2 + k] + row * units + unit;
                in[2 * gates + k] = whole ? vector_load(state) : vector_load_part(state, left);
            }
            compute(in, out);
            for (int k = 0; k < results; k++) {
                float *to = dst + k * units + unit;
                if (whole) {
                    vector_store(to, out[k]);
                } else {
                    vector_store_part(to, out[k], left);
                }
            }
        }
    }
    return LIANA_OK;
}

static liana_status run_lstm(const liana__call *call)
{
    return run(call, LIANA__LSTM_GATES, LIANA__LSTM_RESULTS, lstm);
}

static liana_status run_lstm_gradient(const liana__call *call)
{
    return run(call, LIANA__LSTM_GATES, LIANA__LSTM_GRADIENTS, lstm_gradient);
}

static liana_status run_gru(const liana__call *call)
{
    return run(call, LIANA__GRU_GATES, LIANA__GRU_RESULTS, gru);
}

static liana_status run_gru_gradient(const liana__call *call)
{
    return run(call, LIANA__GRU_GATES, LIANA__GRU_GRADIENTS, gru_gradient);
}

LIANA__VECTOR_KERNEL(lstm_cell, .applicable = liana__applicable_f32, .run = run_lstm);
LIANA__VECTOR_KERNEL(lstm_cell_gradient, .applicable = liana__applicable_f32, .run = run_lstm_gradient);
LIANA__VECTOR_KERNEL(gru_cell, .applicable = liana__applicable_f32, .run = run_gru);
LIANA__VECTOR_KERNEL(gru_cell_gradient, .applicable = liana__applicable_f32, .run = run_gru_gradient);
