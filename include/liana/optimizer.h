/* optimizer.h - optimizers in a graph: assignments that move variables against their gradients.
 *
 *     liana_minimize(loss, NULL, 0, &(liana_optimizer_options){.optimizer = "SGD", .learning_rate = 0.1});
 *     ...
 *     liana_run(program, .feeds = ..., .assign = LIANA_NAMES("train"));
 *
 * The optimizers and their formulas are those of liana_fit; `liana list optimizers` shows them with their settings. */
#ifndef LIANA_OPTIMIZER_H
#define LIANA_OPTIMIZER_H

#include <liana/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIANA_MAX_SETTINGS = 16 };

/* A setting of an optimizer: {"momentum", 0.9}. 0 and 1 are false and true. */
typedef struct liana_setting {
    const char *name;
    double value;
} liana_setting;

/* Zeros are the defaults. */
typedef struct liana_optimizer_options {
    /* A name, or a name with settings as in YAML and liana_fit_options: "Adam" (also for NULL), "SGD",
     * "{name: SGD, momentum: 0.9}". */
    const char *optimizer;
    /* Settings without a text; they replace those of the text. The first without a name ends them. */
    liana_setting settings[LIANA_MAX_SETTINGS];
    double learning_rate; /* 0: that of the text, else the optimizer's default */
    /* The learning rate as a f32 scalar of the graph, such as an input that is fed in each run: for schedules. It takes
     * the place of learning_rate. */
    liana_tensor rate;
    const char *target; /* the name by which a run asks for the update (liana_graph_target); NULL: "train" */
} liana_optimizer_options;

/* liana_apply_gradients(variables, gradients, count, options) adds an update of `count` f32 variables: variable i moves
 * against gradients[i], which has its shape. Adds the optimizer's slots to the graph as variables that begin at zero
 * ("optimizer/Adam/m/VARIABLE"), and the number of updates, s64 ("optimizer/TARGET/iteration"). All assignments belong
 * to the target. `options` may be NULL. Errors stay with the graph: INVALID_CONFIG (an unknown optimizer or setting,
 * with the nearest one; a schedule, which needs `rate`), INVALID_ARGUMENT (a tensor that is no variable, that has
 * another type than its gradient, or that is assigned to already). */
#define liana_apply_gradients(variables, gradients, ...) \
    liana_apply_gradients_at(LIANA_HERE, variables, gradients, __VA_ARGS__)
LIANA_API void liana_apply_gradients_at(liana_location here, const liana_tensor *variables,
                                        const liana_tensor *gradients, size_t count,
                                        const liana_optimizer_options *options);

/* liana_graph_constraint(variable, "max_norm(2, axis=0)"): changes the new value of an f32 variable, as
 * liana_apply_gradients does, in the words of layers' options (`liana list constraints`). liana_model_call does this
 * for the weights whose layers have constraints. A later one replaces it. Returns the variable. Errors stay with the
 * graph: INVALID_ARGUMENT (not a variable), INVALID_CONFIG (no such constraint, or one that does not fit the shape). */
#define liana_graph_constraint(variable, constraint) liana_graph_constraint_at(LIANA_HERE, variable, constraint)
LIANA_API liana_tensor liana_graph_constraint_at(liana_location here, liana_tensor variable, const char *constraint);

/* liana_minimize(loss, variables, count, options): liana_gradients of the sum of `loss`, and their update. `variables`
 * NULL (and `count` 0): all f32 variables that `loss` depends on. Errors: as above; INVALID_ARGUMENT if there are none,
 * or if no gradient reaches any of them, with the op at which gradients end. */
#define liana_minimize(loss, variables, ...) liana_minimize_at(LIANA_HERE, loss, variables, __VA_ARGS__)
LIANA_API void liana_minimize_at(liana_location here, liana_tensor loss, const liana_tensor *variables, size_t count,
                                 const liana_optimizer_options *options);

#ifdef __cplusplus
}
#endif
#endif
