/* hub_fit.h - trainings in several processes, which are threads here, and their results. */
#ifndef LIANA_TESTS_HUB_FIT_H
#define LIANA_TESTS_HUB_FIT_H

#include "harness/cluster/hub.h"
#include "harness/made_examples.h"

#include <liana/liana.h>

enum {
    LIANA__HUB_COUNT = 90,
    LIANA__HUB_BATCH = 32,
    LIANA__HUB_MICROBATCH = 4,
    LIANA__HUB_PROCESSES = 12,
    LIANA__HUB_EPOCHS = 4,
};

/* Of the data; the harness's own paths are for one thread. */
extern char liana__hub_training[512], liana__hub_validation[512];
/* Makes the test's folder with the data. */
void liana__hub_make_data(void);
/* Data of which 12 records cannot be used: two neighbouring shards, if the order is kept, and single ones. And a
 * mapping that samples from two files, one three times as often. */
extern char liana__hub_odd[512], liana__hub_sampled[1600];
void liana__hub_make_odd_data(void);

/* The options of the fit, but for the strategy. */
typedef struct liana__hub_recipe {
    const char *optimizer;
    const char *device; /* of each process; NULL: "cpu" */
    int64_t epochs, batch_size, microbatch;
    int64_t steps;
    const char *metrics[3];
    const char *augment;
    const char *checkpoints; /* a folder */
    bool resume;
    const char *callbacks;
    const char *stages;
    int64_t checkpoint_steps;
    const char *training; /* NULL: liana__hub_training */
    bool skips_bad_records, keeps_order;
    bool counts; /* the examples that are made of the training data */
    liana_on_bad_numbers on_bad_numbers;
    bool breaks_folder;  /* that of the checkpoints, once it is there */
    bool is_wide;        /* a larger network, without validation */
    bool is_step;        /* a loop of one's own instead of a fit */
    bool is_batches;     /* liana_train_on_batch, a few times */
    bool is_estimator;   /* an estimator that trains and evaluates, evaluates once more and predicts */
    bool lacks_folder;   /* the estimator has no model_dir */
    bool streams;        /* the training data, by a filter that keeps all */
    bool takes_over;     /* any worker may be the chief */
    bool doubts_mirrors; /* as if another processor computed other bits */
} liana__hub_recipe;

/* Of one process. */
typedef struct liana__hub_result {
    liana_status status;
    char message[512];
    char *weights; /* all weights, one behind the other */
    size_t size;
    liana_epoch epochs[LIANA__HUB_EPOCHS];
    size_t num_epochs;
    int64_t num_replicas;
    const char *broken_folder; /* NULL: none */
    bool doubts_mirrors;
    const liana__cluster *cluster;
    bool cluster_changed;             /* at the end */
    liana__cluster_counters counters; /* at the end of the last epoch */
    liana__made_examples made;
} liana__hub_result;

/* The processes and their devices. */
typedef struct liana__hub_layout {
    liana_strategy strategy;
    size_t num_workers, num_servers; /* 0: this process alone */
    int num_threads;                 /* of each process */
} liana__hub_layout;

/* Fits in this process alone, and asserts that it ends well. */
liana__hub_result liana__hub_fit_alone(const liana__hub_recipe *wanted);
/* Fits in a cluster; results by rank. */
void liana__hub_fit(const liana__hub_recipe *wanted, size_t num_workers, size_t num_servers,
                    liana__hub_result *results);
/* The same over a hub of the caller's. */
void liana__hub_fit_over(liana__hub *hub, const liana__hub_recipe *wanted, size_t num_workers, size_t num_servers,
                         liana__hub_result *results);
/* The same as the layout says; returns the number of results. */
size_t liana__hub_fit_as(const liana__hub_recipe *wanted, const liana__hub_layout *layout, liana__hub_result *results);
void liana__hub_free_results(liana__hub_result *results, size_t count);

void liana__hub_assert_same(const liana__hub_result *a, const liana__hub_result *b);
/* All processes end with the bits of one that is alone. */
void liana__hub_assert_same_on(const liana__hub_recipe *wanted, size_t num_workers, size_t num_servers);

#endif
