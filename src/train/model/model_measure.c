/* evaluate and predict of the public interface: thin users of the training core. */
#include "base/scoped.h"
#include "distribute/strategies/strategies.h"
#include "train/checkpoint/weights.h"
#include "train/job/fit.h"
#include "train/model/model_fit.h"
#include "train/model/model_objective.h"

#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_dataset_close, liana_dataset)

/* Tells the caller the values of metrics with several numbers. */
static liana_status tell_values(const liana_evaluate_options *options, const liana__totals *totals, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const liana_metric_values *values;
    const size_t count = options->on_values ? liana__epoch_values(totals, &arena, &values) : 0;
    for (size_t i = 0; i < count; i++) options->on_values(options->user, &values[i]);
    const bool failed = arena.failed;
    return failed ? liana__fail_memory(error, "the metrics") : LIANA_OK;
}

/* One call. */
typedef struct measurement {
    liana__compile_request *request;
    liana__job_options *job; /* its job */
    const liana_dataset *data;
    const liana_evaluate_options *options;
    liana__on_outputs on_outputs; /* NULL: an evaluation */
    void *user;
} measurement;

static liana_status open_data(const measurement *own, liana__model_data *data, liana__error *error)
{
    liana__compile_request *request = own->request;
    LIANA_TRY(liana__model_data_find_preprocessing(data, own->data, false, error));
    request->scale = data->scale;
    own->job->precision = (int)request->model->precision;
    request->match = &data->match;
    LIANA_TRY(liana__model_data_open_measured(data, own->data, own->options, !own->on_outputs, error));
    request->fractions = data->fractions;
    return LIANA_OK;
}

static liana_status compile(const measurement *own, liana__model_data *data, liana__training **training,
                            liana__error *error)
{
    LIANA_TRY(liana__compiled_get(own->request, training, error));
    return liana__model_data_start_measured(data, own->data, (*training)->trainer, error);
}

/* All processes have the same options, data and model, and the chief's weights. */
static liana_status prepare(const measurement *own, liana__model_data *data, liana__cluster *cluster,
                            liana__training **training, liana__error *error)
{
    const liana__measured_call call = {own->request, own->options, own->on_outputs != NULL, data};
    LIANA_TRY(liana__cluster_agree_status(cluster, open_data(own, data, error), error));
    LIANA_TRY(liana__measured_agree(&call, cluster, error));
    LIANA_TRY(liana__cluster_agree_status(cluster, compile(own, data, training, error), error));
    LIANA_TRY(liana__agree_on_training(*training, error));
    return liana__training_share_variables(*training, error);
}

/* Runs over the data once; if outputs are wanted, to predict. */
static liana_status measure(const measurement *own, liana_results *results, liana__error *error)
{
    liana_model *model = own->request->model;
    if (!own->data) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no data were given");
    LIANA_TRY(liana__model_check(model, error));
    LIANA__SCOPED_BY(liana__model_data_close)
    liana__model_data data = {.model = model,
                              .batch_size = own->job->batch_size,
                              .evaluation_batch_size = own->job->batch_size,
                              .bytes = liana__model_data_bytes(0)};
    liana__training *training = NULL;
    liana__cluster *cluster = NULL;
    LIANA__SCOPED(liana__totals) totals = {0};
    LIANA_TRY(liana__strategy_cluster(model->context, &own->job->own_strategy, &cluster, error));
    LIANA_TRY(prepare(own, &data, cluster, &training, error));
    LIANA_TRY(liana__evaluate(training->trainer, data.measured.loader, own->job->validation_steps, &totals,
                              own->on_outputs, own->user, error));
    LIANA_TRY(liana__model_states_read(model, &training->variables, error));
    if (results) *results = liana__results_of(&totals);
    return !own->on_outputs ? tell_values(own->options, &totals, error) : LIANA_OK;
}

/* Of single examples of a dataset that is perhaps batched; its batch size counts, if none is asked for. */
static liana_status measure_examples(measurement *own, liana_results *results, liana__error *error)
{
    const liana_dataset *given = own->data;
    const liana_evaluate_options *options = own->options;
    liana__job_options job;
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED_BY(liana_dataset_close_scoped) liana_dataset *examples = NULL;
    int64_t found = 0;
    LIANA_TRY(liana__job_take(&liana__job_evaluate_door, options, NULL, &arena, &job, error));
    liana__dataset_examples(given, &examples, &found);
    if (!examples) return given->context->error.status;
    own->data = examples;
    own->job = &job;
    own->request->job = &job;
    if (!options->batch_size) liana__default_to_states(own->request->model, &job.batch_size);
    if (found) {
        if (!options->batch_size) job.batch_size = found;
        liana__log(given->context, LIANA__LOG_DATA,
                   "the data come in batches of %lld: they are taken apart, and batches of %lld are made",
                   (long long)found, (long long)job.batch_size);
    }
    if (!own->on_outputs) LIANA_TRY(liana__classes_check_model(own->request->model, examples, error));
    return measure(own, results, error);
}

static liana_status evaluate_model(liana_model *model, const liana_dataset *dataset,
                                   const liana_evaluate_options *options, liana_results *results)
{
    static const liana_evaluate_options defaults;
    liana__compile_request request = {.model = model};
    measurement own = {.request = &request, .data = dataset, .options = options ? options : &defaults};
    return measure_examples(&own, results, &model->context->error);
}

liana_status liana_evaluate(liana_model *model, const liana_dataset *dataset, const liana_evaluate_options *options,
                            liana_results *results)
{
    LIANA__REQUIRE(dataset ? &dataset->context->error : NULL, model);
    LIANA__REQUIRE(&model->context->error, dataset);
    LIANA__CONTEXT_CALL(model->context, evaluate_model(model, dataset, options, results));
}

typedef struct destination {
    float *next;
    size_t row_size;
} destination;

static liana_status copy_outputs(void *user, const liana__batch *batch, const float *outputs, liana__error *error)
{
    (void)error;
    destination *own = user;
    size_t count = (size_t)batch->count * own->row_size;
    memcpy(own->next, outputs, count * sizeof *outputs);
    own->next += count;
    return LIANA_OK;
}

static liana_status predict_model(liana_model *model, const liana_dataset *dataset,
                                  const liana_predict_options *options, float *outputs)
{
    static const liana_predict_options defaults;
    if (!options) options = &defaults;
    liana__compile_request request = {.model = model, .predicts = liana__model_has_no_loss(model)};
    liana_evaluate_options wanted = {.device = options->device,
                                     .strategy = options->strategy,
                                     .batch_size = options->batch_size,
                                     .steps = options->steps};
    memcpy(wanted.inputs, options->inputs, sizeof wanted.inputs);
    destination to = {outputs, 0};
    for (size_t i = 0; i < liana__model_num_outputs(model); i++) {
        liana__model_port port = liana__model_output(model, i);
        to.row_size += (size_t)liana_shape_size(&port.shape);
    }
    measurement own = {
        .request = &request, .data = dataset, .options = &wanted, .on_outputs = copy_outputs, .user = &to};
    return measure_examples(&own, NULL, &model->context->error);
}

/* The model's own programs are kept aside. */
static liana_status predict_layer(liana_model *model, const liana_dataset *dataset,
                                  const liana_predict_options *options, float *outputs)
{
    liana__kept_outputs kept;
    liana__model_outputs_keep(model, &kept);
    LIANA_TRY(liana__model_give_results(model, options->layer, &model->context->error));
    void *aside = liana__compiled_set_aside(model);
    const liana_status status = predict_model(model, dataset, options, outputs);
    liana__compiled_put_back(model, aside);
    liana__model_outputs_restore(model, &kept);
    return status;
}

liana_status liana_predict(liana_model *model, const liana_dataset *dataset, const liana_predict_options *options,
                           float *outputs)
{
    LIANA__REQUIRE(dataset ? &dataset->context->error : NULL, model);
    LIANA__REQUIRE(&model->context->error, dataset);
    LIANA__REQUIRE(&model->context->error, outputs);
    const bool of_layer = options && options->layer;
    LIANA__CONTEXT_CALL(model->context, (of_layer ? predict_layer : predict_model)(model, dataset, options, outputs));
}
