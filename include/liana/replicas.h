/* replicas.h - a strategy that a program holds: it runs functions on each replica, and adds up their results.
 *
 * A replica is one device of a strategy: of this process (mirrored), or of another process (multi_worker,
 * parameter_server). Values by replica consist of shards: a shard is the part of a batch that is computed as one, a few
 * examples. Each replica has a range of shards, which may be empty. Sums are added in one fixed tree of the shards. So
 * results are the same bits for any number of replicas and processes, as long as the shards are the same.
 *
 *     liana_replicas_open(context, &(liana_replicas_options){.strategy = {.name = "mirrored"}}, &replicas);
 *     liana_replica_program_create(replicas, &(liana_replica_program_options){.build = build}, &program);
 *     liana_replicas_distribute(replicas, dataset, &(liana_distribute_options){.batch_size = 128}, &iterator);
 *     while ((status = liana_replica_iterator_next(iterator, &batch)) == LIANA_OK) {
 *         liana_replica_program_run(program, &batch, 1, &values);
 *         liana_per_replica_reduce(values, "loss", LIANA_REDUCE_MEAN, &loss);
 *         ...
 *     }
 *
 * In a cluster all processes make the same calls in the same order, and each call fails in all of them if it fails in
 * one. A loop that trains is best written as a step (step.h), with `.replicas`: it computes shards side by side, and
 * cuts the update into slices.
 *
 * One thread at a time may use replicas and all that is made with them. Another call meanwhile is an error. The
 * messages of failures are in the context. */
#ifndef LIANA_REPLICAS_H
#define LIANA_REPLICAS_H

#include <liana/dataset.h>
#include <liana/strategy.h>
#include <liana/variables.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_replicas liana_replicas;

/* ---- the strategy ---- */

/* Zeros are the defaults. */
typedef struct liana_replicas_options {
    const char *device; /* as for liana_device_open; NULL: "cpu" */
    liana_strategy strategy;
} liana_replicas_options;

/* Opens the devices of a strategy; `options` may be NULL: one CPU. With multi_worker and parameter_server it joins the
 * cluster that the environment tells of, and waits for the others. The context must outlive it. Errors: INVALID_CONFIG
 * (no such strategy or device, with the nearest name; a layout that this machine does not have; no cluster; processes
 * with other strategies), UNAVAILABLE and NOT_FOUND of devices, UNAVAILABLE of processes that do not come. From now on
 * the death of a process ends the work of all, with UNAVAILABLE, also where `liana train` would go on without it: no
 * other process has its shards. */
LIANA_API LIANA_MUST_USE liana_status liana_replicas_open(liana_context *context, const liana_replicas_options *options,
                                                          liana_replicas **replicas);
/* Closes them, after all that was made with them. NULL is allowed. */
LIANA_API void liana_replicas_close(liana_replicas *replicas);

/* The current strategy: the replicas of the context that were opened last and are still open. If there are none: the
 * default strategy, one CPU with the context's threads, which is opened by the first call and closed with the context.
 * Borrowed. NULL: it could not be opened; the message is in the context. */
LIANA_API liana_replicas *liana_replicas_current(liana_context *context);

/* Facts of replicas. They are numbered from 0 through all processes. A parameter server has none. */
typedef struct liana_replicas_facts {
    int64_t num_in_sync;     /* of all processes */
    int64_t num_local;       /* of this one, ... */
    int64_t first_local;     /* ... and the number of its first one */
    liana_strategy strategy; /* with its options, for liana_fit. Its texts are valid as long as the replicas */
} liana_replicas_facts;
LIANA_API liana_replicas_facts liana_replicas_info(const liana_replicas *replicas);

/* The first device of this process, and the variables on it. Borrowed. The other devices have copies, which follow
 * every write to these. In a cluster each process has the variables; they stay equal as long as they are changed by
 * steps, by liana_replica_program_update, or by all processes in the same way. */
LIANA_API liana_device *liana_replicas_device(liana_replicas *replicas);
LIANA_API liana_variables *liana_replicas_variables(liana_replicas *replicas);

/* ---- stopping together ----
 *
 * For loops of one's own, as TensorFlow's Coordinator: any process asks all to stop, and all stop at the same step. */

/* Asks all processes of these replicas to stop. It waits for nobody. Any thread; a signal handler may call it. */
LIANA_API void liana_replicas_request_stop(liana_replicas *replicas);
/* Whether any process has asked so far: *stop is the same in all processes, and stays true. All processes make this
 * call after the same step, such as after each, or each tenth; it costs a small message to every process. Errors:
 * UNAVAILABLE (a process is gone). */
LIANA_API LIANA_MUST_USE liana_status liana_replicas_should_stop(liana_replicas *replicas, bool *stop);

/* ---- values by replica ---- */

/* Named arrays of each shard. */
typedef struct liana_per_replica liana_per_replica;

/* Cuts a batch that every process has into shards of up to `microbatch` examples (0: one for each replica, of nearly
 * equal size), and shares them out. The first dimension of each array is that of the examples; it is the same for all.
 * Values are copied; strings may be among them. Errors: INVALID_ARGUMENT (no array, no examples, a name twice, arrays
 * of different lengths), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_per_replica_split(liana_replicas *replicas, const liana_array *arrays,
                                                              size_t num_arrays, int64_t microbatch,
                                                              liana_per_replica **values);

/* Makes the values of one replica: data[i] is the memory of component i, zeros at first. To fail, return another
 * status. */
typedef liana_status (*liana_replica_value_function)(void *user, int64_t replica, int64_t num_replicas, void **data);

/* Values that a function makes of the replica's number: one shard for each replica. It is called for the replicas of
 * this process. The components are numbers of static shape. Errors: INVALID_ARGUMENT (an array that is no component),
 * that of the function. */
LIANA_API LIANA_MUST_USE liana_status liana_per_replica_from_function(liana_replicas *replicas,
                                                                      const liana_component *components,
                                                                      size_t num_components,
                                                                      liana_replica_value_function function, void *user,
                                                                      liana_per_replica **values);
/* NULL is allowed. */
LIANA_API void liana_per_replica_destroy(liana_per_replica *values);

typedef struct liana_per_replica_facts {
    int64_t num_shards;   /* of all replicas */
    int64_t num_examples; /* in them; a shard that was not cut from a batch counts as one */
    int64_t num_local;    /* shards of this process */
} liana_per_replica_facts;
/* How many shards and examples the values are of. */
LIANA_API liana_per_replica_facts liana_per_replica_info(const liana_per_replica *values);

/* ---- local results ---- */

/* A shard of this process. */
typedef struct liana_local_shard {
    int64_t replica;
    int64_t shard; /* its number among those of all replicas */
    int64_t num_examples;
} liana_local_shard;

/* By index, in the order of shards. False: there is none, and *shard is zeros. */
LIANA_API bool liana_per_replica_local(const liana_per_replica *values, int64_t index, liana_local_shard *shard);
/* A named array of that shard; valid as long as the values. False: there is none, and *array is zeros. */
LIANA_API bool liana_per_replica_array(const liana_per_replica *values, int64_t index, const char *name,
                                       liana_array *array);

/* ---- reducing ---- */

typedef enum liana_reduction {
    LIANA_REDUCE_SUM,         /* of the shards */
    LIANA_REDUCE_MEAN,        /* of the shards, each counting as often as it has examples: f32 and f64 */
    LIANA_REDUCE_CONCATENATE, /* of the shards, one behind the other along the first axis */
    LIANA_REDUCE_ROW_SUM,     /* over the shards and their first axis: [rows, ...] gives [...] */
    LIANA_REDUCE_ROW_MEAN,    /* the same, divided by the number of all rows: f32 and f64 */
    LIANA_NUM_REDUCTIONS,
} liana_reduction;

/* Reduces a named array over all replicas, of other processes too. All processes get the result, which is valid as long
 * as the values. Sums are over f32, f64, s32, s64, u32 and u64, added in the tree of the shards; means are added in
 * double, and rounded once. Replicas without examples have no part in it. Errors: NOT_FOUND (no array of this name,
 * with the nearest one), INVALID_ARGUMENT (no replica has a value; arrays of different shapes; a dtype that the
 * reduction does not take), UNAVAILABLE (a process is gone). */
LIANA_API LIANA_MUST_USE liana_status liana_per_replica_reduce(liana_per_replica *values, const char *name,
                                                               liana_reduction reduction, liana_array *result);

/* ---- functions that run on each replica ---- */

typedef struct liana_replica_program liana_replica_program;

/* Zeros are the defaults. */
typedef struct liana_replica_program_options {
    /* Builds the graph of a shard. The graph has the inputs already: liana_graph_tensor(graph, "x") is the array "x" of
     * the shard, with its shape. Outputs (liana_graph_output) are the results. It is called again for shards of another
     * shape, and must then give the same outputs. */
    void (*build)(liana_graph *graph, void *user);
    void *user;
    const char *name; /* in messages; NULL: "replica program" */
} liana_replica_program_options;

/* Makes a program. It compiles nothing yet. Errors: INVALID_ARGUMENT (no function), OUT_OF_MEMORY. */
LIANA_API LIANA_MUST_USE liana_status liana_replica_program_create(liana_replicas *replicas,
                                                                   const liana_replica_program_options *options,
                                                                   liana_replica_program **program);
/* NULL is allowed. */
LIANA_API void liana_replica_program_destroy(liana_replica_program *program);

/* Runs the program on each replica, for each of its shards; its variables are added to those of the replicas. `inputs`
 * are values of the same shards (a batch, and results of earlier runs on it); without any, there is one shard for each
 * replica. Arrays of strings are left out, and so are names that the graph does not read. `results` are new values with
 * the graph's outputs; NULL: only the nodes that the run needs are compiled, and its variables can be given values.
 * Errors: that of the graph; INVALID_ARGUMENT (values of other replicas or of other shards, a name twice, a graph
 * without outputs, or with assignments, since replicas that change variables on their own would differ; a variable
 * without a value), those of the devices. */
LIANA_API LIANA_MUST_USE liana_status liana_replica_program_run(liana_replica_program *program,
                                                                liana_per_replica *const *inputs, size_t num_inputs,
                                                                liana_per_replica **results);

/* Updates the variables of all replicas in step: runs the program once, on inputs that are the same in all processes
 * (reduced values), with the assignments of its graph. Errors: as above; INVALID_ARGUMENT (a graph without assignments;
 * inputs that differ from process to process, by name). After a failure no variable has changed. */
LIANA_API LIANA_MUST_USE liana_status liana_replica_program_update(liana_replica_program *program,
                                                                   const liana_array *inputs, size_t num_inputs);

/* ---- distributed datasets ---- */

typedef struct liana_replica_iterator liana_replica_iterator;

/* One process's part of the input. */
typedef struct liana_input_pipeline {
    int64_t id;    /* of this process, from 0 */
    int64_t count; /* of processes with replicas */
    int64_t num_replicas_in_sync;
    int64_t batch_size;   /* of all replicas together */
    int64_t num_examples; /* of a full batch that come from this process */
} liana_input_pipeline;

/* Makes this process's dataset. On failure it returns NULL and leaves a message in the context. */
typedef liana_dataset *(*liana_input_function)(void *user, liana_context *context,
                                               const liana_input_pipeline *pipeline);

/* Zeros are the defaults. */
typedef struct liana_distribute_options {
    int64_t batch_size;              /* examples of all replicas together; 0: 32 */
    int64_t microbatch;              /* of a shard, at most; 0: one shard for each replica */
    bool drop_remainder;             /* leaves out the last batch if it is smaller */
    liana_iterator_options iterator; /* .start is in examples, and a multiple of batch_size */
    /* Instead of a dataset that all processes have: makes one of each process's own. A process whose dataset ends gives
     * fewer examples, or none; the iteration ends when no process has any left. */
    liana_input_function function;
    void *user;
} liana_distribute_options;

/* Goes through a dataset of examples in batches. Of a random-access dataset each process makes the examples of its own
 * replicas only; others are read by the first process, which sends the others theirs. The last batch may be smaller: it
 * has fewer or smaller shards, and some replicas none. `options` may be NULL; with a function `dataset` is NULL.
 * Errors: INVALID_ARGUMENT (a dataset without fixed shapes, a start between batches), those of the dataset. */
LIANA_API LIANA_MUST_USE liana_status liana_replicas_distribute(liana_replicas *replicas, const liana_dataset *dataset,
                                                                const liana_distribute_options *options,
                                                                liana_replica_iterator **iterator);
/* NULL is allowed. */
LIANA_API void liana_replica_iterator_destroy(liana_replica_iterator *iterator);

/* The next batch, which the caller destroys. After the last one: LIANA_END_OF_DATA and NULL, without a message. Errors:
 * those of the dataset, which are the same in all processes. */
LIANA_API LIANA_MUST_USE liana_status liana_replica_iterator_next(liana_replica_iterator *iterator,
                                                                  liana_per_replica **batch);

#ifdef __cplusplus
}
#endif
#endif
