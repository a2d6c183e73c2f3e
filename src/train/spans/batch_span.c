/* A span of one update. */
#include "train/spans/batch_span.h"

#include "train/spans/span_job.h"

#include <stdlib.h>
#include <string.h>

typedef struct span_run {
    liana__training *training;
    const liana__batch *batch;
    double rate;
    liana__span_job job;
    liana__batch_span *result;
    char *record; /* memory for one */
} span_run;

static liana_status next_batch(void *user, size_t step, const liana__batch **batch, liana__error *error)
{
    (void)step;
    (void)error;
    *batch = ((const span_run *)user)->batch;
    return LIANA_OK;
}

/* The examples of the share, then its sums. */
static liana_status keep_sums(void *user, size_t step, const float *sums, int64_t count, liana__error *error)
{
    span_run *own = user;
    memcpy(own->record, &count, sizeof count);
    memcpy(own->record + sizeof count, sums, own->job.record_size - sizeof count);
    return liana__span_job_keep(&own->job, step, own->record, error);
}

static double find_rate(void *user, size_t update, int64_t *iteration)
{
    const span_run *own = user;
    (void)update;
    *iteration = own->training->state.iteration + 1;
    return own->rate;
}

static void add_record(void *user, size_t step, const void *said)
{
    span_run *own = user;
    int64_t count;
    (void)step;
    memcpy(&count, said, sizeof count);
    own->result->count += count;
    for (size_t i = 0; i < own->training->objective->num_sums; i++) {
        float sum;
        memcpy(&sum, (const char *)said + sizeof count + i * sizeof sum, sizeof sum);
        own->result->sums[i] += sum;
    }
}

static liana_status run_once(void *user, liana__span_outcome *outcome, liana__error *error)
{
    span_run *own = user;
    const liana__trainer_span wanted = {.num_steps = 1,
                                        .generation = liana__cluster_generation(own->job.cluster),
                                        .next = next_batch,
                                        .computed = keep_sums,
                                        .turn = (uint64_t)own->training->state.iteration,
                                        .rate = find_rate,
                                        .user = own};
    return liana__trainer_run_span(own->training->trainer, &wanted, outcome, error);
}

static liana_status make_room(span_run *own, liana__error *error)
{
    const size_t num_sums = own->training->objective->num_sums;
    own->result->sums = calloc(num_sums, sizeof *own->result->sums);
    own->record = malloc(own->job.record_size);
    return own->result->sums && own->record ? LIANA_OK : liana__fail_memory(error, "the sums of an update");
}

static liana_status run_and_share(span_run *own, liana__error *error)
{
    liana__cluster *cluster = own->job.cluster;
    const int64_t microbatch = liana__trainer_microbatch(own->training->trainer);
    LIANA_TRY(liana__cluster_agree_status(cluster, make_room(own, error), error));
    LIANA_TRY(liana__span_job_run(&own->job, error));
    LIANA_TRY(liana__span_job_share(&own->job, error));
    const liana_status status = liana__span_job_count_lost_of(&own->job, &own->batch->count, microbatch, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    liana__span_counts_add(&own->training->state.gradients, &own->job.outcome.counts);
    return LIANA_OK;
}

liana_status liana__batch_span_run(liana__training *training, const liana__batch *batch, double rate,
                                   const liana__notes *notes, liana__batch_span *own, liana__error *error)
{
    const liana__trainer_options *options = liana__trainer_options_of(training->trainer);
    span_run run = {.training = training, .batch = batch, .rate = rate, .result = own};
    run.job = (liana__span_job){.cluster = training->cluster,
                                .strategy_options = options->strategy_options,
                                .notes = notes,
                                .num_steps = 1,
                                .record_size = sizeof(int64_t) + training->objective->num_sums * sizeof(float),
                                .run = run_once,
                                .add = add_record,
                                .user = &run};
    const liana_status status = run_and_share(&run, error);
    liana__span_job_free(&run.job);
    free(run.record);
    return status;
}

void liana__batch_span_free(liana__batch_span *own)
{
    free(own->sums);
    *own = (liana__batch_span){0};
}
