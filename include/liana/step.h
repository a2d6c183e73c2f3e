/* step.h - steps: training loops of your own that are cut, added up and updated as liana_fit does it.
 *
 * A step is two functions. The shard function builds the graph of a shard: a few examples of the batch, their loss, its
 * gradients. The update function builds the update, which happens once for each batch: variables move by the sums over
 * all shards.
 *
 *     static void build_shard(liana_shard *shard, void *model)
 *     {
 *         liana_tensor image = liana_shard_input(shard, "image"), label = liana_shard_input(shard, "label"), output;
 *         liana_model_call(model, &image, 1, &shard->mode, &output, NULL);
 *         liana_shard_gradients(shard, liana_shard_sum(shard, "loss", liana_loss_of(output, label, NULL)), NULL, 0);
 *     }
 *     static void build_update(liana_update *update, void *model)
 *     {
 *         liana_apply_gradients(update->variables, update->gradients, update->num_variables,
 *                               &(liana_optimizer_options){.rate = liana_update_scalar(update, "rate")});
 *     }
 *     ...
 *     liana_step_options options = {build_shard, build_update, model, .dataset = batches, .scalars = {"rate"}};
 *     liana_step_create(context, &options, &step);
 *     liana_model_to_variables(model, liana_step_variables(step));
 *     liana_step_run(step, &(liana_step_input){.dataset = batches, .scalars = {{"rate", 0.01}}}, &results);
 *
 * A batch is cut into shards of up to `microbatch` examples, a function of the two numbers alone. The shards are
 * computed on all threads, and their sums are added in one fixed tree. So the results are the same bits on any number
 * of threads, and those of liana_fit with the same microbatch, seed, batches and ops: liana_fit is such a step in a
 * loop.
 *
 * One thread at a time may use a step, its variables and its device. The messages of failures are in the context. */
#ifndef LIANA_STEP_H
#define LIANA_STEP_H

#include <liana/dataset.h>
#include <liana/model.h>
#include <liana/optimizer.h>
#include <liana/replicas.h>
#include <liana/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { LIANA_MAX_SUMS = 32 };

typedef struct liana_step liana_step;

/* ---- a shard ---- */

/* The arguments of a shard function. Errors stay with the graph, and end liana_step_create or liana_step_run. */
typedef struct liana_shard {
    liana_graph *graph;
    int64_t size; /* examples */
    /* For liana_model_call: in training, with the positions of the examples in the run (u64 [size]), the step's seed,
     * and, where a device computes shards of one size alone, `present` (f32 [size]: 0 for rows that are no examples).
     * Moving averages of a model that is called with it follow the whole batch, however it is cut: the update assigns
     * them, as liana_fit does. They follow one call. Another call of the model in training needs a copy of the mode
     * whose `record` is NULL. */
    liana_call_mode mode;
    void *state; /* liana's */
} liana_shard;

/* A component of the batch, [size, ...]. Not found: an error of the graph, with the nearest name. */
#define liana_shard_input(shard, name) liana_shard_input_at(LIANA_HERE, shard, name)
LIANA_API liana_tensor liana_shard_input_at(liana_location here, const liana_shard *shard, const char *name);

/* Adds up the values of the examples, [size, ...] of a float dtype, and returns the sum over the shard, a scalar of
 * that dtype, without rows that are no examples. The sum over all shards comes to the host under this name. A shard has
 * up to LIANA_MAX_SUMS, the same ones for any size. */
#define liana_shard_sum(shard, name, each) liana_shard_sum_at(LIANA_HERE, shard, name, each)
LIANA_API liana_tensor liana_shard_sum_at(liana_location here, liana_shard *shard, const char *name, liana_tensor each);

/* The gradients of a sum with respect to variables, for the update. It may be called several times, with other sums and
 * other variables: of each variable once. `variables` NULL (and `count` 0): all f32 variables that the loss depends on,
 * without weights of models that are not trained (frozen layers, moving averages). `loss` must leave out rows that are
 * no examples, as liana_shard_sum does. If no gradient reaches any of the variables, that is an error of the graph. */
#define liana_shard_gradients(shard, loss, variables, count) \
    liana_shard_gradients_at(LIANA_HERE, shard, loss, variables, count)
LIANA_API void liana_shard_gradients_at(liana_location here, liana_shard *shard, liana_tensor loss,
                                        const liana_tensor *variables, size_t count);

/* ---- the update ---- */

/* The argument of an update function. The function assigns to variables (liana_graph_assign, liana_apply_gradients);
 * moving averages are assigned already. */
typedef struct liana_update {
    liana_graph *graph;
    liana_tensor count; /* f32 scalar: examples of the batch */
    /* The variables of liana_shard_gradients, in its order; their gradients summed over all examples, and divided by
     * the count: the gradients of the mean. */
    size_t num_variables;
    const liana_tensor *variables;
    const liana_tensor *gradient_sums;
    const liana_tensor *gradients;
    void *state; /* liana's */
} liana_update;

/* One of the options' scalars, f32. Not found: an error of the graph. */
#define liana_update_scalar(update, name) liana_update_scalar_at(LIANA_HERE, update, name)
LIANA_API liana_tensor liana_update_scalar_at(liana_location here, const liana_update *update, const char *name);
/* A sum of the shards over the whole batch, f32 scalar. */
#define liana_update_sum(update, name) liana_update_sum_at(LIANA_HERE, update, name)
LIANA_API liana_tensor liana_update_sum_at(liana_location here, const liana_update *update, const char *name);

/* Adds to `gradients` those of a scalar that depends on variables alone, such as liana_model_penalty(model,
 * update->graph). Call it before the gradients are used. Its value is not among the results of a run. Variables that it
 * does not depend on keep their gradients, bit for bit. */
#define liana_update_add_loss(update, loss) liana_update_add_loss_at(LIANA_HERE, update, loss)
LIANA_API void liana_update_add_loss_at(liana_location here, liana_update *update, liana_tensor loss);

/* ---- a step ---- */

/* Zeros are the defaults. Names and components are copied. */
typedef struct liana_step_options {
    /* Called for shards of each size that comes, also during liana_step_run; it must build the same each time. */
    void (*shard)(liana_shard *shard, void *user);
    /* Called while the step is made. NULL: `optimizer` updates. Without both the step only measures. */
    void (*update)(liana_update *update, void *user);
    void *user;
    /* The components of a batch, with the shapes of one example: numbers of fixed shape. The names `positions` and
     * `present` are the step's own. */
    const liana_component *components;
    size_t num_components;
    /* Instead of components: a dataset of batches (liana_dataset_batch), whose components of numbers are those of the
     * step. It is only asked for them, and need not stay open. */
    const liana_dataset *dataset;
    /* Instead of an update function: an optimizer for all gradients, as for liana_fit ("{name: SGD, momentum: 0.9}"). A
     * scalar "learning_rate" is its rate. */
    const char *optimizer;
    /* Numbers that each run gives to the update, such as "rate". The first NULL ends them. */
    const char *scalars[LIANA_MAX_SETTINGS];
    /* Largest number of examples of a batch; 0: that of the dataset's batches, else 32. */
    int64_t batch_size;
    int64_t microbatch;        /* largest number of examples of a shard; 0: 32 */
    uint64_t seed;             /* of shard->mode: of dropout */
    const char *name;          /* in messages; NULL: "step" */
    bool evaluates;            /* shard->mode is not for training: no dropout, moving averages are used */
    liana_precision precision; /* of shards; the update is in float32 */
    /* Updates of a run of several that a GPU or TPU does in one execution of its program, at most 10000; 0: 1. */
    int64_t steps_per_execution;
    /* On a GPU or TPU too, the same bits on any number of devices: updates are computed shard by shard. false: an
     * update with `update` is one program, whose sums agree up to rounding. On the CPU they always are the same. */
    bool deterministic;
    bool allows_non_finite; /* NaN and infinity in sums, gradients and new values are no errors */
    /* Called with a sentence that says why results are not reproducible, or which process is gone. May be NULL. */
    void (*on_note)(void *user, const char *note);
    /* The variables, which must outlive the step. It is made on their device. NULL: a set of the step's own, on
     * `device` (as in liana_device_open; NULL: "cpu"). The first run initialises variables of the step's own set that
     * have no value, as liana_variables_initialize does with the step's seed. */
    liana_variables *variables;
    const char *device;
    /* The strategy's first device is the step's. It keeps its threads: a context with fewer threads leaves some for the
     * other devices. The step opens those. */
    liana_strategy strategy;
    /* Instead of variables, device and strategy: replicas that are open, which must outlive the step. */
    liana_replicas *replicas;
} liana_step_options;

/* Makes a step. It calls both functions, adds their variables to the set, and compiles the programs for full batches.
 * The variables get values afterwards, as those of a program do: liana_variables_initialize (the optimizer's begin at
 * zero) and liana_model_to_variables. Errors: those of the graphs, and of opening the device; INVALID_ARGUMENT (no
 * shard function, a component of another kind, an update that assigns nothing), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_step_create(liana_context *context, const liana_step_options *options,
                                                        liana_step **step);
/* NULL is allowed. */
LIANA_API void liana_step_destroy(liana_step *step);
/* The variables of a step: the options', those of its replicas, or its own. Borrowed. */
LIANA_API liana_variables *liana_step_variables(liana_step *step);

/* Facts of a step. */
typedef struct liana_step_facts {
    uint64_t position;            /* of the next batch's first example in the run */
    int64_t num_replicas_in_sync; /* devices that compute the shards of a batch */
} liana_step_facts;
LIANA_API liana_step_facts liana_step_info(const liana_step *step);
/* Lets a later process go on at the position of an earlier one. */
LIANA_API void liana_step_set_position(liana_step *step, uint64_t position);

/* ---- runs ---- */

/* Sums over examples, in the order of liana_shard_sum. Those of a batch are computed with the variables before its
 * update. */
typedef struct liana_step_results {
    int64_t num_examples;
    size_t num_sums;
    double sums[LIANA_MAX_SUMS];
    const char *names[LIANA_MAX_SUMS]; /* valid as long as the step */
} liana_step_results;

/* The outcome of one of several steps. The same in all processes. */
typedef struct liana_step_outcome {
    /* Of the examples whose gradients were used, with the variables that their worker had. Results of a worker that has
     * died since are not among them. */
    liana_step_results results;
    int64_t used;      /* gradients that the update took: each is of one worker. 0: the step was not done */
    int64_t dropped;   /* gradients that came when the update was over */
    int64_t staleness; /* of an asynchronous update: the updates between fetching the variables and this one */
} liana_step_outcome;

/* The fate of the gradients of several steps, as in history.json. The same in all processes. */
typedef struct liana_step_counts {
    int64_t num_done; /* steps. After a failure: those before the failed one, or up to the last pause */
    int64_t computed; /* gradients, each of one worker's share. Those that were sent are used or dropped */
    int64_t used, dropped;
    int64_t skipped;       /* shares that a worker did not begin, since their update was over */
    int64_t partly_used;   /* of workers that died: some servers used them, others had not received them */
    int64_t undone;        /* used by updates that were undone, since a process died that all needed */
    int64_t examples_lost; /* of workers that died: nobody trained on them */
    int64_t largest_staleness;
    double mean_staleness;
    const char *not_reproducible; /* why; NULL: results are reproducible. Valid as long as the step */
} liana_step_counts;

/* The input of a step: one batch, or several of a dataset or of a function. Zeros are the defaults. */
typedef struct liana_step_input {
    /* One batch: each component, [count, ...], by name. The first without a name ends them. */
    liana_array arrays[LIANA_MAX_COMPONENTS];
    /* Instead: an element of a dataset of batches. It may have further components. */
    const liana_element *element;
    /* Instead: a batch of the step's replicas (liana_replicas_distribute, liana_per_replica_split), of which each
     * process has its own examples. Its shards are those of the step, so none may be larger than `microbatch`. */
    const liana_per_replica *values;
    /* Each of the options' scalars: {"rate", 0.1}. Of several batches it is the same for all, unless a function gives
     * them. */
    liana_setting scalars[LIANA_MAX_SETTINGS];

    /* Several batches: those of a dataset, such as one pass over the data. `order` tells its epoch and start. */
    const liana_dataset *dataset;
    liana_iterator_options order;
    /* Instead: a function that gives the batch of step 0, 1, ... of this run. It sets arrays, element or values, which
     * must stay until its next call. The thread of liana_step_run calls it. In step all processes call it for each
     * step, and give the same batch. Else only workers call it:
     *
     * - asynchronous updates: worker `step` modulo the number of workers, and no other;
     * - the first gradients: all workers, for the same batch. Each computes its share.
     *
     * Steps come in ascending order. After a death some come once more, perhaps for another worker. So does one of
     * several in an execution (steps_per_execution) whose numbers went bad. If workers are not in step the function
     * must not make calls in which processes meet, such as those of replicas. To fail, it returns another status than
     * OK: then all processes fail with it. */
    liana_status (*give_batch)(void *user, int64_t step, struct liana_step_input *batch);
    int64_t num_steps; /* of the function; of a dataset the most, 0: all its batches */
    /* Instead of scalars: a function that gives those of update 0, 1, ... of this run, by its number alone. It is
     * called where the update is computed. If workers are in step, update and step are the same. */
    liana_status (*give_scalars)(void *user, int64_t update, liana_setting scalars[LIANA_MAX_SETTINGS]);
    void *user;
    liana_step_outcome *outcomes; /* [num_steps]: set to the outcome of each step; NULL: not wanted */
    liana_step_counts *counts;    /* set to the outcome of all; NULL: not wanted */
} liana_step_input;

/* Runs a step on a batch, or on several, one after the other. `results` (may be NULL) are the sums over all of it.
 * Examples have positions in the run: the first of the first batch has 0, and later batches go on. Errors:
 * INVALID_ARGUMENT (an array or scalar that is missing, unknown or of another type; too many examples; a variable
 * without a value; several batches without an end), those of the device, of the dataset and of the functions;
 * OUT_OF_RANGE, of a step with an update and without `allows_non_finite`: a scalar, a sum, a gradient or a moving
 * average's statistic that is NaN or infinite, by name, or a variable that became so in the update. After a failure no
 * variable has changed, but after the last one: then all have, and should be loaded again. A caller may leave out a
 * batch that fails, and go on with the next one: `results` has its sums, and the position stays
 * (liana_step_set_position). Indices such as labels are not checked.
 *
 * Under parameter servers whose workers are not in step (strategy.h) a program runs several steps in one call. Each
 * worker runs its own steps, and the servers apply the gradients that arrive. After at most `pause_steps` of the
 * strategy all meet: everybody hears the outcome of each step, and has the new values of all variables. After a run of
 * one batch all meet, and asynchronous updates are computed by one worker after the other. Of several asynchronous
 * workers none knows the sizes of the others' batches, so positions of examples count each batch since all met last as
 * a full one. A batch by replica is an error there. The variables should be loaded again after a failure. Under any
 * other strategy the results of several batches are those of one run for each, bit for bit. */
LIANA_API LIANA_MUST_USE liana_status liana_step_run(liana_step *step, const liana_step_input *input,
                                                     liana_step_results *results);

/* sums[i] / num_examples by name. NaN: there is no such sum, or no example. */
LIANA_API double liana_step_mean(const liana_step_results *results, const char *name);

/* ---- models ---- */

/* Copies a model's weights to the variables of their names, which are added where they are missing, and back. A new
 * model has its initial values. Errors: INVALID_ARGUMENT (a variable of another dtype or shape, or without a value),
 * NOT_FOUND (the model has a weight that the set lacks; then the model is unchanged), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_model_to_variables(liana_model *model, liana_variables *variables);
LIANA_API LIANA_MUST_USE liana_status liana_model_from_variables(liana_model *model, const liana_variables *variables);

#ifdef __cplusplus
}
#endif
#endif
