/* cluster_fit.h - the same program in each of several processes, which are threads of the test. */
#ifndef LIANA_TESTS_CLUSTER_FIT_H
#define LIANA_TESTS_CLUSTER_FIT_H

#include "harness/cluster/hub.h"
#include "harness/tiny_fit.h"

enum { LIANA__MOST_PROCESSES = 12 };

/* The results of one process. */
typedef struct liana__cluster_result {
    liana_status status;
    char message[512];
    char *weights; /* all, one behind the other */
    size_t size;
    char *averages; /* of batch normalisation */
    size_t averages_size;
    double loss, validation_loss; /* of the last epoch */
    int64_t num_epochs;
    char notes[8192];
    const liana__cluster *cluster;
    liana__cluster_counters counters; /* at the end of the last epoch */
} liana__cluster_result;

typedef struct liana__cluster_program liana__cluster_program;
struct liana__cluster_program {
    /* Errors are the context's. */
    liana_status (*run)(liana_context *context, const liana__cluster_program *program, liana__cluster_result *result);
    liana_strategy strategy;
    bool may_fail; /* the test looks at the status */
    bool dies;     /* a process is cut off: messages may be left */
    /* Of liana__cluster_fit_rows. 0: 2 epochs, batches of 16 in shards of 2, SGD. */
    int64_t epochs, steps, batch_size, microbatch, checkpoint_steps;
    const char *optimizer, *callbacks, *checkpoints;
    bool resume, is_wide;
    bool has_no_mirrors;        /* of slices */
    liana__hub_control control; /* zeros: none */
    liana__hub **hub;           /* receives the hub, for the control; NULL: nobody asks */
};

/* Fits a network with batch normalisation to rows of numbers, as the program of the running process says. */
liana_status liana__cluster_fit_rows(liana_context *context, const liana__cluster_program *program,
                                     liana__cluster_result *result);

/* An on_epoch, for which `user` is the result. */
bool liana__cluster_keep_epoch(void *user, const liana_epoch *epoch);

/* Runs it in all processes; results by rank. */
void liana__run_cluster(const liana__cluster_program *program, size_t num_workers, size_t num_servers,
                        liana__cluster_result *results);
void liana__free_results(liana__cluster_result *results, size_t count);

/* A number of the state of the newest checkpoint in a folder: the last one of that key, which must be there. */
uint64_t liana__cluster_fit_number(const char *folder, const char *key);

#endif
