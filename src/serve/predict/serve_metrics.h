/* serve_metrics.h - what a server counts, as Prometheus reads it (text format 0.0.4). Safe on any thread. */
#ifndef LIANA_SERVE_PREDICT_SERVE_METRICS_H
#define LIANA_SERVE_PREDICT_SERVE_METRICS_H

#include "base/text.h"

#include <pthread.h>

enum { LIANA__SERVE_CODES = 24, LIANA__SERVE_BUCKETS = 14 };

typedef enum liana__serve_method {
    LIANA__SERVE_PREDICT,
    LIANA__SERVE_CLASSIFY,
    LIANA__SERVE_REGRESS,
    LIANA__SERVE_STATUS, /* and metadata */
    LIANA__SERVE_OTHER,  /* no request of the API */
    LIANA__SERVE_METHODS,
} liana__serve_method;

/* Counts of what is below each bound, and above all of them. */
typedef struct liana__histogram {
    uint64_t counts[LIANA__SERVE_BUCKETS + 1];
    double sum;
} liana__histogram;

/* Of a model; of requests of no model the name is "". */
typedef struct liana__model_metrics {
    const char *name; /* borrowed */
    pthread_mutex_t lock;
    struct {
        unsigned code;
        uint64_t count;
    } answers[LIANA__SERVE_METHODS][LIANA__SERVE_CODES];
    liana__histogram seconds, run_seconds, batches;
    uint64_t examples, loads, failed_loads, unloads;
} liana__model_metrics;

void liana__model_metrics_open(liana__model_metrics *metrics, const char *name);
void liana__model_metrics_close(liana__model_metrics *metrics);

void liana__count_answer(liana__model_metrics *metrics, liana__serve_method method, unsigned code, double seconds);
void liana__count_batch(liana__model_metrics *metrics, int64_t examples, double seconds);
void liana__count_load(liana__model_metrics *metrics, bool loaded);
void liana__count_unload(liana__model_metrics *metrics);

/* What is now, beside what was counted. */
typedef struct liana__serve_gauges {
    size_t connections, cut_connections, lost_log_lines, bytes;
    double start; /* seconds since 1970 */
    /* Of each model. */
    const int64_t *waiting, *versions;
} liana__serve_gauges;

/* Writes all of it. models[0] is that of requests of no model (the page, the list, unknown names), which have no
 * batches and versions. */
void liana__serve_metrics_add(liana__text *text, liana__model_metrics *const *models, size_t count,
                              const liana__serve_gauges *gauges);

#endif
