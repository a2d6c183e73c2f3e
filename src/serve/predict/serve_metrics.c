/* What a server counts. */
#include "serve/predict/serve_metrics.h"

#include <string.h>

static const char *const method_names[LIANA__SERVE_METHODS] = {"predict", "classify", "regress", "status", "other"};
static const double second_bounds[LIANA__SERVE_BUCKETS] = {0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                                           0.25,  0.5,    1,     2.5,  5,     10,   30};
static const double batch_bounds[LIANA__SERVE_BUCKETS] = {1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256, 1024};

void liana__model_metrics_open(liana__model_metrics *metrics, const char *name)
{
    memset(metrics, 0, sizeof *metrics);
    metrics->name = name;
    pthread_mutex_init(&metrics->lock, NULL);
}

void liana__model_metrics_close(liana__model_metrics *metrics)
{
    pthread_mutex_destroy(&metrics->lock);
}

/* ---- counting ---- */

static void add_value(liana__histogram *histogram, const double *bounds, double value)
{
    int bucket = 0;
    while (bucket < LIANA__SERVE_BUCKETS && value > bounds[bucket]) bucket++;
    histogram->counts[bucket]++;
    histogram->sum += value;
}

void liana__count_answer(liana__model_metrics *metrics, liana__serve_method method, unsigned code, double seconds)
{
    int row = 0;
    pthread_mutex_lock(&metrics->lock);
    while (row + 1 < LIANA__SERVE_CODES && metrics->answers[method][row].code &&
           metrics->answers[method][row].code != code) {
        row++;
    }
    metrics->answers[method][row].code = code;
    metrics->answers[method][row].count++;
    if (method < LIANA__SERVE_STATUS) add_value(&metrics->seconds, second_bounds, seconds);
    pthread_mutex_unlock(&metrics->lock);
}

void liana__count_batch(liana__model_metrics *metrics, int64_t examples, double seconds)
{
    pthread_mutex_lock(&metrics->lock);
    add_value(&metrics->batches, batch_bounds, (double)examples);
    add_value(&metrics->run_seconds, second_bounds, seconds);
    metrics->examples += (uint64_t)examples;
    pthread_mutex_unlock(&metrics->lock);
}

void liana__count_load(liana__model_metrics *metrics, bool loaded)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->loads += loaded;
    metrics->failed_loads += !loaded;
    pthread_mutex_unlock(&metrics->lock);
}

void liana__count_unload(liana__model_metrics *metrics)
{
    pthread_mutex_lock(&metrics->lock);
    metrics->unloads++;
    pthread_mutex_unlock(&metrics->lock);
}

/* ---- writing ---- */

static void add_head(liana__text *text, const char *name, const char *type, const char *help)
{
    liana__text_add(text, "# HELP liana_serve_%s %s\n# TYPE liana_serve_%s %s\n", name, help, name, type);
}

/* A label's value: backslashes, quotes and ends of lines are escaped. */
static void add_label(liana__text *text, const char *value)
{
    for (; *value; value++) {
        if (*value == '\n') {
            liana__text_add_bytes(text, "\\n", 2);
            continue;
        }
        if (*value == '"' || *value == '\\') liana__text_add_bytes(text, "\\", 1);
        liana__text_add_bytes(text, value, 1);
    }
}

static void add_name(liana__text *text, const char *name, const char *suffix, const liana__model_metrics *model)
{
    liana__text_add(text, "liana_serve_%s%s{model=\"", name, suffix);
    add_label(text, model->name);
    liana__text_add_bytes(text, "\"", 1);
}

static void add_answers(liana__text *text, const liana__model_metrics *model)
{
    for (int method = 0; method < LIANA__SERVE_METHODS; method++) {
        for (int row = 0; row < LIANA__SERVE_CODES && model->answers[method][row].code; row++) {
            add_name(text, "requests_total", "", model);
            liana__text_add(text, ",method=\"%s\",code=\"%u\"} %llu\n", method_names[method],
                            model->answers[method][row].code, (unsigned long long)model->answers[method][row].count);
        }
    }
}

static void add_histogram(liana__text *text, const char *name, const liana__model_metrics *model,
                          const liana__histogram *histogram, const double *bounds)
{
    uint64_t total = 0;
    for (int i = 0; i <= LIANA__SERVE_BUCKETS; i++) {
        total += histogram->counts[i];
        add_name(text, name, "_bucket", model);
        if (i < LIANA__SERVE_BUCKETS) liana__text_add(text, ",le=\"%g\"} %llu\n", bounds[i], (unsigned long long)total);
    }
    liana__text_add(text, ",le=\"+Inf\"} %llu\n", (unsigned long long)total);
    add_name(text, name, "_sum", model);
    liana__text_add(text, "} %.9g\n", histogram->sum);
    add_name(text, name, "_count", model);
    liana__text_add(text, "} %llu\n", (unsigned long long)total);
}

static void add_count(liana__text *text, const char *name, const liana__model_metrics *model, uint64_t count)
{
    add_name(text, name, "", model);
    liana__text_add(text, "} %llu\n", (unsigned long long)count);
}

typedef struct counted {
    const char *name, *help;
    uint64_t (*of)(const liana__model_metrics *model);
} counted;

static uint64_t examples_of(const liana__model_metrics *model)
{
    return model->examples;
}

static uint64_t loads_of(const liana__model_metrics *model)
{
    return model->loads;
}

static uint64_t failed_loads_of(const liana__model_metrics *model)
{
    return model->failed_loads;
}

static uint64_t unloads_of(const liana__model_metrics *model)
{
    return model->unloads;
}

static void add_gauges(liana__text *text, const liana__serve_gauges *gauges)
{
    add_head(text, "connections", "gauge", "Open connections.");
    liana__text_add(text, "liana_serve_connections %zu\n", gauges->connections);
    add_head(text, "cut_connections_total", "counter", "Connections cut since their clients were too slow.");
    liana__text_add(text, "liana_serve_cut_connections_total %zu\n", gauges->cut_connections);
    add_head(text, "request_bytes", "gauge", "Memory of request bodies and their arrays.");
    liana__text_add(text, "liana_serve_request_bytes %zu\n", gauges->bytes);
    add_head(text, "lost_log_lines_total", "counter", "Lines of the access log that could not be written.");
    liana__text_add(text, "liana_serve_lost_log_lines_total %zu\n", gauges->lost_log_lines);
    add_head(text, "start_time_seconds", "gauge", "Start of the server since 1970.");
    liana__text_add(text, "liana_serve_start_time_seconds %.3f\n", gauges->start);
}

void liana__serve_metrics_add(liana__text *text, liana__model_metrics *const *models, size_t count,
                              const liana__serve_gauges *gauges)
{
    static const counted counts[] = {
        {"examples_total", "Predicted examples.", examples_of},
        {"loads_total", "Versions that were loaded.", loads_of},
        {"failed_loads_total", "Versions that could not be loaded.", failed_loads_of},
        {"unloads_total", "Versions that were unloaded.", unloads_of},
    };
    for (size_t i = 0; i < count; i++) pthread_mutex_lock(&models[i]->lock);
    add_head(text, "requests_total", "counter", "Answered requests by model, method and HTTP status.");
    for (size_t i = 0; i < count; i++) add_answers(text, models[i]);
    add_head(text, "request_seconds", "histogram", "Time from a request's headers to its answer.");
    for (size_t i = 0; i < count; i++)
        add_histogram(text, "request_seconds", models[i], &models[i]->seconds, second_bounds);
    add_head(text, "run_seconds", "histogram", "Time of a batch in the model.");
    for (size_t i = 1; i < count; i++)
        add_histogram(text, "run_seconds", models[i], &models[i]->run_seconds, second_bounds);
    add_head(text, "batch_examples", "histogram", "Examples in a batch.");
    for (size_t i = 1; i < count; i++)
        add_histogram(text, "batch_examples", models[i], &models[i]->batches, batch_bounds);
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++) {
        add_head(text, counts[c].name, "counter", counts[c].help);
        for (size_t i = 1; i < count; i++) add_count(text, counts[c].name, models[i], counts[c].of(models[i]));
    }
    for (size_t i = 0; i < count; i++) pthread_mutex_unlock(&models[i]->lock);
    add_head(text, "waiting_examples", "gauge", "Examples that wait for a batch.");
    for (size_t i = 1; i < count; i++) add_count(text, "waiting_examples", models[i], (uint64_t)gauges->waiting[i]);
    add_head(text, "available_versions", "gauge", "Versions that answer.");
    for (size_t i = 1; i < count; i++) add_count(text, "available_versions", models[i], (uint64_t)gauges->versions[i]);
    add_gauges(text, gauges);
}
