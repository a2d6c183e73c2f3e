/* Goes through the steps of sequences with a cell: one scan, whose body is a step. */
#include "layers/recurrent/rnn.h"

#include "ir/graph.h"
#include "ops/ops.h"

#include <liana/loops.h>

enum { MOST_CONSTANTS = 16 };

liana_tensor liana__step_of(liana_location here, liana_tensor x, int64_t step)
{
    liana_shape shape = liana_tensor_shape(x), one = {.rank = shape.rank - 1, .dims = {shape.dims[0]}};
    int64_t start[LIANA_MAX_RANK] = {0};
    if (shape.rank < 2) return x;
    for (int i = 2; i < shape.rank; i++) one.dims[i - 1] = shape.dims[i];
    start[1] = step;
    shape.dims[1] = step + 1;
    return liana_op_reshape_at(here, liana_op_slice_at(here, x, start, shape.dims, NULL), one);
}

liana_tensor liana__flip_steps(liana_location here, liana_tensor x)
{
    const liana_shape shape = liana_tensor_shape(x);
    const int64_t last = shape.rank > 0 ? shape.dims[0] - 1 : 0;
    liana_tensor index = liana_op_iota_at(here, x.graph, LIANA_S32, liana_shape_of(last + 1), 0);
    index = liana_op_subtract_at(here, liana_graph_scalar_at(here, x.graph, LIANA_S32, (double)last), index);
    return liana_op_gather_at(here, x, index, 0);
}

liana_tensor liana__join_steps(liana_location here, liana_tensor *outputs, int64_t count, bool flips)
{
    for (int64_t i = 0; flips && i < count / 2; i++) {
        const liana_tensor first = outputs[i];
        outputs[i] = outputs[count - 1 - i];
        outputs[count - 1 - i] = first;
    }
    for (int64_t i = 0; i < count; i++) {
        const liana_shape shape = liana_tensor_shape(outputs[i]);
        liana_shape wide = {.rank = shape.rank + 1, .dims = {shape.dims[0], 1}};
        for (int k = 1; k < shape.rank; k++) wide.dims[k + 1] = shape.dims[k];
        outputs[i] = liana_op_reshape_at(here, outputs[i], wide);
    }
    return count == 1 ? outputs[0] : liana_op_concat_at(here, outputs, (size_t)count, 1);
}

/* `now` where the mask [batch] is true, else `before`. */
static liana_tensor choose(liana_location here, liana_tensor mask, liana_tensor now, liana_tensor before)
{
    liana_shape shape = liana_tensor_shape(now);
    for (int i = 1; i < shape.rank; i++) shape.dims[i] = 1;
    return liana_op_select_at(here, liana_op_reshape_at(here, mask, shape), now, before);
}

/* One step; masked examples keep their states, and their output. */
static liana_tensor take_step(liana__cell_run *run, const liana__sequence *sequence, liana_tensor x, liana_tensor mask,
                              liana_tensor last, liana_tensor *states)
{
    const liana_location here = run->call->here;
    const size_t count = run->type->num_states(run->options);
    liana_tensor before[LIANA__MOST_STATES];
    for (size_t i = 0; i < count; i++) before[i] = states[i];
    liana_tensor output = run->type->step(run, x, states);
    if (!mask.id) return output;
    for (size_t i = 0; i < count; i++) states[i] = choose(here, mask, states[i], before[i]);
    if (!last.id || sequence->zero_masked) {
        last = liana__full(here, output.graph, liana_tensor_dtype(output), liana_tensor_shape(output), 0);
    }
    return choose(here, mask, output, last);
}

/* [batch, steps, ...] as [steps, batch, ...], and back. */
static liana_tensor swap_axes(liana_location here, liana_tensor x)
{
    const int rank = liana_tensor_shape(x).rank;
    liana_axes axes = {.count = rank};
    for (int i = 0; i < rank; i++) axes.values[i] = i < 2 ? 1 - i : i;
    return rank < 2 ? x : liana_op_transpose_at(here, x, axes);
}

/* The only step of [1, ...]. */
static liana_tensor only_step(liana_location here, liana_tensor x)
{
    liana_shape shape = liana_tensor_shape(x);
    for (int i = 1; i < shape.rank; i++) shape.dims[i - 1] = shape.dims[i];
    shape.rank -= shape.rank > 0;
    return liana_op_reshape_at(here, x, shape);
}

/* ---- the body of the scan ---- */

typedef struct steps {
    const liana__cell_run *run;
    const liana__sequence *sequence;
    liana_tensor projected, mask; /* [steps, batch, ...] */
    size_t num_states, num_weights;
    bool carries_output; /* for masked steps, that of the step before; else it is the first state */
    liana_tensor constants[MOST_CONSTANTS];
    size_t num_constants;
} steps;

static void list_constants(steps *s)
{
    const liana__cell_run *run = s->run;
    s->num_weights = liana__cell_num_weights(run);
    for (size_t i = 0; i < s->num_weights; i++) s->constants[s->num_constants++] = run->weights[i];
    for (size_t i = 0; i < run->num_masks && run->recurrent_dropout[0].id; i++) {
        s->constants[s->num_constants++] = run->recurrent_dropout[i];
    }
}

static void build_step(const liana_loop_step *step, void *user)
{
    steps *s = user;
    liana__cell_run run = *s->run;
    liana_tensor states[LIANA__MOST_STATES];
    const liana_tensor none = {0};
    run.weights = step->constants;
    for (size_t i = s->num_weights; i < s->num_constants; i++) {
        run.recurrent_dropout[i - s->num_weights] = step->constants[i];
    }
    for (size_t i = 0; i < s->num_states; i++) states[i] = step->carries[i];
    const liana_tensor last = s->carries_output ? step->carries[s->num_states] : none;
    liana_tensor output = take_step(&run, s->sequence, step->xs[0], s->mask.id ? step->xs[1] : none, last, states);
    for (size_t i = 0; i < s->num_states; i++) step->next[i] = states[i];
    if (s->carries_output) step->next[s->num_states] = output;
    if (s->sequence->wants_all) step->ys[0] = output;
}

/* The outputs of all steps in the order that is wanted. */
static void order_outputs(const steps *s, liana__sequence *sequence, liana_tensor ys)
{
    const liana_location here = s->run->call->here;
    if (!sequence->wants_all) return;
    if (sequence->backwards != sequence->flips_all) ys = liana__flip_steps(here, ys);
    sequence->all = swap_axes(here, ys);
}

static void run_scan(steps *s, liana__sequence *sequence)
{
    const liana_location here = s->run->call->here;
    liana_tensor carries[LIANA__MOST_STATES + 1], last[LIANA__MOST_STATES + 1], ys = {0};
    const liana_tensor xs[] = {s->projected, s->mask};
    for (size_t i = 0; i < s->num_states; i++) carries[i] = sequence->states[i];
    s->carries_output = s->mask.id != 0;
    if (s->carries_output) {
        /* Its shape is that of the first state. */
        const liana_tensor first = carries[0];
        carries[s->num_states] =
            liana__full(here, first.graph, liana_tensor_dtype(first), liana_tensor_shape(first), 0);
    }
    const liana_scan scan = {.body = build_step,
                             .user = s,
                             .carries = carries,
                             .num_carries = s->num_states + (s->carries_output ? 1 : 0),
                             .xs = xs,
                             .num_xs = s->mask.id ? 2 : 1,
                             .constants = s->constants,
                             .num_constants = s->num_constants,
                             .num_ys = sequence->wants_all ? 1 : 0,
                             .reverse = sequence->backwards};
    liana_op_scan_at(here, &scan, last, &ys);
    for (size_t i = 0; i < s->num_states; i++) sequence->states[i] = last[i];
    sequence->last = last[s->carries_output ? s->num_states : 0];
    order_outputs(s, sequence, ys);
}

void liana__cell_go(liana__cell_run *run, liana__sequence *sequence)
{
    const liana_location here = run->call->here;
    const int64_t count = liana_tensor_shape(sequence->x).dims[1];
    if (run->type->go) {
        run->type->go(run, sequence);
        return;
    }
    steps s = {.run = run, .sequence = sequence, .num_states = run->type->num_states(run->options)};
    s.projected = run->type->project(run, swap_axes(here, sequence->x));
    if (sequence->mask.id) s.mask = swap_axes(here, sequence->mask);
    if (sequence->x.graph->status != LIANA_OK) return;
    if (count > 1) {
        list_constants(&s);
        run_scan(&s, sequence);
        return;
    }
    const liana_tensor none = {0}, mask = s.mask.id ? only_step(here, s.mask) : none;
    sequence->last = take_step(run, sequence, only_step(here, s.projected), mask, sequence->last, sequence->states);
    if (sequence->wants_all) sequence->all = liana__join_steps(here, (liana_tensor[]){sequence->last}, 1, false);
}
