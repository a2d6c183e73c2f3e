/* Evaluating and predicting with an estimator, from its newest checkpoint. */
#include "base/named.h"
#include "base/scoped.h"
#include "train/checkpoint/data_state.h"
#include "train/estimator/estimator.h"
#include "train/model/compiled.h"

#include <string.h>

static liana_status check_steps(const liana_estimator *estimator, int64_t steps, liana__error *error)
{
    if (steps >= 0) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: steps is %lld, expected 0 or more", estimator->options.name,
                       (long long)steps);
}

/* Compiles the programs that measure the data in a mode, with the weights of the newest checkpoint. */
static liana_status prepare(liana__fn_session *own, liana_mode_kind kind, const liana_estimator_input *input,
                            const char *key, liana__error *error)
{
    liana_estimator *estimator = own->estimator;
    const liana__fn_modes modes = {.evaluate = &own->built[kind]};
    const char *newest;
    LIANA_TRY(liana__fn_input_describe(input, estimator->options.labels, key, &own->measured, error));
    LIANA_TRY(liana__fn_session_trace(own, kind, &own->measured, error));
    LIANA_TRY(liana__estimator_newest(estimator, &own->arena, &newest, error));
    LIANA_TRY(liana__fn_input_open(&own->measured, error));
    LIANA_TRY(liana__fn_session_compile(own, &modes, &own->measured, error));
    return liana__estimator_restore(own, error);
}

/* With the other processes, if there are any: the call, the data, the graph and its weights. */
static liana_status agree(liana__fn_session *own, const char *key, int64_t steps, liana__error *error)
{
    liana__cluster *cluster = own->training.cluster;
    const liana__data_parts parts = {{own->measured.source}, {"the data"}, 1};
    if (!cluster) return LIANA_OK;
    liana__facts facts = {0};
    liana__facts_add(&facts, "the mode", key);
    liana__facts_add_number(&facts, "steps", (double)steps);
    liana_status status = liana__facts_agree(&facts, cluster, error);
    liana__facts_free(&facts);
    if (status == LIANA_OK) status = liana__agree_on_training(&own->training, error);
    return status == LIANA_OK ? liana__agree_on_data(&parts, cluster, error) : status;
}

static liana_status open_session(liana__fn_session *own, liana_mode_kind kind, const liana_estimator_input *input,
                                 int64_t steps, liana__error *error)
{
    const char *key = kind == LIANA_MODE_EVALUATE ? "eval" : "predict";
    LIANA_TRY(check_steps(own->estimator, steps, error));
    LIANA_TRY(prepare(own, kind, input, key, error));
    return agree(own, key, steps, error);
}

/* ---- evaluating ---- */

/* The names of results outlive the call. */
static liana_status keep_results(liana_estimator *estimator, const liana__totals *totals, liana_results *results,
                                 liana__error *error)
{
    liana__arena_free(&estimator->results);
    estimator->results = (liana__arena){0};
    *results = liana__results_of(totals);
    for (size_t i = 0; i < results->num_metrics; i++) {
        results->metric_names[i] = liana__arena_string(&estimator->results, results->metric_names[i]);
    }
    return estimator->results.failed ? liana__fail_memory(error, "the results") : LIANA_OK;
}

static liana_status evaluate(liana_estimator *estimator, const liana_eval_spec *eval, liana_results *results)
{
    liana__error *error = &estimator->context->error;
    LIANA__SCOPED_BY(liana__fn_session_close) liana__fn_session own = {.estimator = estimator};
    LIANA__SCOPED(liana__totals) totals = {0};
    LIANA_TRY(open_session(&own, LIANA_MODE_EVALUATE, &eval->input, eval->steps, error));
    LIANA_TRY(liana__fn_session_load(&own, &own.measured, false, error));
    LIANA_TRY(liana__evaluate(own.training.trainer, own.measured.loader, eval->steps, &totals, NULL, NULL, error));
    return results ? keep_results(estimator, &totals, results, error) : LIANA_OK;
}

liana_status liana_estimator_evaluate(liana_estimator *estimator, const liana_eval_spec *eval, liana_results *results)
{
    LIANA__REQUIRE(NULL, estimator);
    LIANA__REQUIRE(&estimator->context->error, eval);
    LIANA__CONTEXT_CALL(estimator->context, evaluate(estimator, eval, results));
}

/* ---- predicting ---- */

/* Where a prediction goes. */
typedef struct column {
    float *next;
    int64_t first, size; /* in a row */
} column;

typedef struct table {
    column columns[LIANA_MAX_PREDICTIONS];
    size_t count;
    int64_t row_size;
} table;

static liana_status copy_rows(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    (void)error;
    table *own = user;
    for (size_t i = 0; i < own->count; i++) {
        column *to = &own->columns[i];
        for (int64_t row = 0; row < batch->count; row++, to->next += to->size) {
            memcpy(to->next, outputs + row * own->row_size + to->first, (size_t)to->size * sizeof *outputs);
        }
    }
    return LIANA_OK;
}

static liana_status find_column(const liana__fn_session *own, const char *name, column *found, liana__error *error)
{
    const liana__fn_built *built = &own->built[LIANA_MODE_PREDICT];
    const liana__named list = LIANA__NAMED(liana__fn_prediction, built->predictions, built->num_predictions);
    for (size_t i = 0; i < built->num_predictions; i++) {
        found->size = built->predictions[i].size;
        if (strcmp(built->predictions[i].name, name) == 0) return LIANA_OK;
        found->first += found->size;
    }
    LIANA__SCOPED(liana__text) known = {0};
    for (size_t i = 0; i < built->num_predictions; i++) {
        liana__text_add(&known, "%s'%s'", i ? ", " : "", built->predictions[i].name);
    }
    return liana__fail(error, LIANA_NOT_FOUND, "%s: the model function gives no prediction '%.100s'; it gives %s%s",
                       own->estimator->options.name, name, known.data ? known.data : "?",
                       liana__hint(liana__named_nearest(list, name)).text);
}

/* The examples that will come. */
static int64_t count_examples(const liana__fn_session *own, int64_t steps)
{
    int64_t count = (int64_t)liana__loader_epoch_length(own->measured.loader, 0);
    const int64_t batch_size = own->job.validation_batch_size;
    return steps && steps < count / batch_size + (count % batch_size != 0) ? steps * batch_size : count;
}

static liana_status find_columns(const liana__fn_session *own, const liana_predict_spec *predict, table *made,
                                 liana__error *error)
{
    const char *name = own->estimator->options.name;
    int64_t examples = count_examples(own, predict->steps);
    made->row_size = own->built[LIANA_MODE_PREDICT].row_size;
    for (size_t i = 0; i < LIANA_MAX_PREDICTIONS && predict->predictions[i].name; i++) {
        const liana_wanted_prediction *wanted = &predict->predictions[i];
        column *found = &made->columns[made->count++];
        LIANA_TRY(find_column(own, wanted->name, found, error));
        found->next = wanted->values;
        int64_t expected = examples * found->size;
        if (wanted->values && wanted->count == (size_t)expected) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the prediction '%.100s' has %lld values for each of %lld examples, expected room for "
                           "%lld values; found %zu%s",
                           name, wanted->name, (long long)found->size, (long long)examples, (long long)expected,
                           wanted->count, wanted->values ? "" : " at NULL");
    }
    if (made->count) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s: no prediction is asked for; name some in .predictions",
                       name);
}

static liana_status predict_data(liana_estimator *estimator, const liana_predict_spec *predict)
{
    liana__error *error = &estimator->context->error;
    LIANA__SCOPED_BY(liana__fn_session_close) liana__fn_session own = {.estimator = estimator};
    table columns = {.count = 0};
    LIANA__SCOPED(liana__totals) totals = {0};
    LIANA_TRY(open_session(&own, LIANA_MODE_PREDICT, &predict->input, predict->steps, error));
    LIANA_TRY(liana__fn_session_load(&own, &own.measured, false, error));
    LIANA_TRY(find_columns(&own, predict, &columns, error));
    return liana__evaluate(own.training.trainer, own.measured.loader, predict->steps, &totals, copy_rows, &columns,
                           error);
}

liana_status liana_estimator_predict(liana_estimator *estimator, const liana_predict_spec *predict)
{
    LIANA__REQUIRE(NULL, estimator);
    LIANA__REQUIRE(&estimator->context->error, predict);
    LIANA__CONTEXT_CALL(estimator->context, predict_data(estimator, predict));
}
