/* batcher.h - dynamic batching: requests of several connections become batches of one model.
 *
 * A request that finds the model idle runs on its own thread. While it runs, others come and wait. A worker thread
 * takes what waits, up to batch_size examples, and runs it, until nothing waits. So batches grow with the load, and a
 * request that is alone waits for nobody, not even for another thread. With a timeout, a batch that is not full waits
 * that long for more. A request of more examples than a batch has is cut. If a batch of several requests fails, each is
 * run alone, so that none fails for another's data. */
#ifndef LIANA_SERVE_PREDICT_BATCHER_H
#define LIANA_SERVE_PREDICT_BATCHER_H

#include "base/error.h"

#include <liana/predictor.h>

/* A model that runs. Calls of one thread at a time. Tests have models of their own. */
typedef struct liana__batch_model {
    const liana_predictor_port *inputs;
    size_t num_inputs;
    int64_t num_values, batch_size;
    /* `arrays` are [count, ...], in the order of inputs; `outputs` receives [count, num_values]. */
    liana_status (*run)(void *user, const void *const *arrays, int64_t count, float *outputs, liana__error *error);
    void *user;
} liana__batch_model;

typedef struct liana__batcher_options {
    double timeout;      /* seconds that a batch waits for more examples; 0: none */
    int64_t max_waiting; /* examples */
    double max_seconds;  /* that a request may wait for its turn; 0: no limit */
    /* A batch was run. On the thread that ran it; may be NULL. */
    void (*on_batch)(void *user, int64_t examples, double seconds);
    void *user;
} liana__batcher_options;

typedef struct liana__batcher liana__batcher;

/* The model is borrowed. Errors: OUT_OF_MEMORY, IO_ERROR (no thread). */
liana_status liana__batcher_open(const liana__batch_model *model, const liana__batcher_options *options,
                                 liana__batcher **batcher, liana__error *error) LIANA_MUST_USE;
/* Nobody waits any more. NULL is allowed. */
void liana__batcher_close(liana__batcher *batcher);

/* Predicts `count` examples, and waits for it. `arrays` and `outputs` as in the model. Any thread. Errors: UNAVAILABLE
 * (too many wait already), CANCELLED (it waited too long), those of the model. */
liana_status liana__batcher_run(liana__batcher *batcher, const void *const *arrays, int64_t count, float *outputs,
                                liana__error *error) LIANA_MUST_USE;
/* Examples that wait. */
int64_t liana__batcher_waiting(liana__batcher *batcher);

#endif
