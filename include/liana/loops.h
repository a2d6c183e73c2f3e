/* loops.h - ops with bodies: scan, while and cond.
 *
 * A body is a function that builds one step in a graph of its own, from the tensors that it is given:
 *
 *     static void add_up(const liana_loop_step *step, void *user)
 *     {
 *         step->next[0] = step->ys[0] = liana_op_add(step->carries[0], step->xs[0]);
 *     }
 *
 *     const liana_tensor zero = liana_graph_scalar(graph, LIANA_F32, 0);
 *     const liana_scan scan = {.body = add_up, .carries = &zero, .num_carries = 1, .xs = &x, .num_xs = 1, .num_ys = 1};
 *     liana_tensor sum, sums;
 *     liana_op_scan(&scan, &sum, &sums);
 *
 * A body may read nothing but these tensors, and constants that it makes. Tensors of the graph around it, such as
 * weights, are given to it as `constants`. It is called while the op is built, and not when the graph runs. Bodies may
 * have loops of their own, up to 8 in each other. */
#ifndef LIANA_LOOPS_H
#define LIANA_LOOPS_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The tensors of one step: the arguments of a body. */
typedef struct liana_loop_step {
    liana_graph *graph;            /* the body's */
    const liana_tensor *carries;   /* their values before this step */
    const liana_tensor *xs;        /* this step's of each x */
    const liana_tensor *constants; /* the same in all steps */
    liana_tensor *next;            /* to set: the carries after this step, of the same shapes and dtypes */
    liana_tensor *ys;              /* to set: the results of this step */
} liana_loop_step;

typedef void (*liana_body)(const liana_loop_step *step, void *user);

/* A loop over the rows of tensors. Zeros are the defaults. */
typedef struct liana_scan {
    liana_body body;
    void *user;
    const liana_tensor *carries; /* their first values */
    size_t num_carries;
    const liana_tensor *xs; /* [steps, ...] */
    size_t num_xs;
    const liana_tensor *constants;
    size_t num_constants;
    size_t num_ys;
    int64_t steps; /* without xs; 0: as many as xs have rows */
    bool reverse;  /* from the last row to the first; ys are in the order of xs */
} liana_scan;

/* The body for each step, one after the other (JAX's lax.scan). Sets `last` [num_carries] to the carries after the last
 * step, and `ys` [num_ys] to the results of all steps, [steps, ...]. Either may be NULL. It has a gradient, which runs
 * the steps backwards. Products of matrices are kept for it; all else is computed again from the carries.
 *
 * Where carries and ys are of several dtypes, all pass through f64, and 64-bit integers are refused. On the CPU,
 * threads share the rows of a batch if axis 0 is a batch in all carries and ys of a step, and the ops of the body keep
 * its rows apart. */
#define liana_op_scan(scan, last, ys) liana_op_scan_at(LIANA_HERE, scan, last, ys)
LIANA_API void liana_op_scan_at(liana_location here, const liana_scan *scan, liana_tensor *last, liana_tensor *ys);

/* A loop whose number of steps depends on values. */
typedef struct liana_while {
    /* Whether there is a further step: a bool scalar of the carries and constants. */
    liana_tensor (*condition)(const liana_loop_step *step, void *user);
    liana_body body; /* sets `next` */
    void *user;
    const liana_tensor *carries; /* their first values; at least one */
    size_t num_carries;
    const liana_tensor *constants;
    size_t num_constants;
    int64_t most_steps; /* the loop ends after as many in any case; 0: no limit */
} liana_while;

/* Runs the body as long as the condition holds. Sets `last` [num_carries]. It has no gradient: use liana_op_scan, with
 * a fixed number of steps. */
#define liana_op_while(loop, last) liana_op_while_at(LIANA_HERE, loop, last)
LIANA_API void liana_op_while_at(liana_location here, const liana_while *loop, liana_tensor *last);

/* A choice between two bodies, which get `constants` and set `ys` of equal shapes and dtypes. */
typedef struct liana_cond {
    liana_tensor predicate; /* a bool scalar */
    liana_body then_body;
    liana_body else_body;
    void *user;
    const liana_tensor *constants;
    size_t num_constants;
    size_t num_ys; /* at least one */
} liana_cond;

/* Runs one of the bodies, and only that. Sets `ys` [num_ys]. It has a gradient. */
#define liana_op_cond(cond, ys) liana_op_cond_at(LIANA_HERE, cond, ys)
LIANA_API void liana_op_cond_at(liana_location here, const liana_cond *cond, liana_tensor *ys);

/* The graphs of the bodies of an op: of a scan one; of a while the body and the condition; of a cond the two bodies.
 * NULL: there is none of that index. Valid as long as the tensor's graph. */
LIANA_API const liana_graph *liana_tensor_body(liana_tensor tensor, size_t index);

#ifdef __cplusplus
}
#endif
#endif
