/* What a trainer does in a span of updates of workers that are not in step. */
#include "distribute/cluster/span.h"
#include "train/core/penalty.h"
#include "train/core/trainer_internal.h"
#include "train/spans/span_job.h"

#include <stdlib.h>
#include <string.h>

typedef struct span_run {
    liana__trainer *trainer;
    const liana__trainer_span *span;
    int64_t count; /* of the running share */
} span_run;

/* The worker's own leaves become all leaves of its share. */
static void take_leaves(span_run *own, size_t first, size_t end, liana__span_share *share)
{
    share->leaves.leaves += first;
    share->leaves.num_leaves = end - first;
    share->leaves.worker_ends = NULL;
    share->count = own->count;
}

/* Every process has the whole batch. Asynchronously it is one worker's; else each computes its share. */
static liana_status begin_whole(span_run *own, const liana__batch *batch, size_t step, liana__span_share *share,
                                liana__error *error)
{
    const liana__trainer_options *options = &own->trainer->options;
    const liana__cluster *cluster = options->cluster;
    const size_t num_workers = cluster->place.num_workers, self = cluster->place.rank;
    LIANA_TRY(liana__trainer_check_batch(own->trainer, batch, true, error));
    share->leaves = liana__trainer_leaves(own->trainer, batch);
    const size_t *ends = share->leaves.worker_ends;
    size_t first = self ? ends[self - 1] : 0, end = ends[self], num_sharing = 0;
    for (size_t i = 0; i < num_workers; i++) num_sharing += (i ? ends[i - 1] : 0) < ends[i];
    if (options->strategy->is_asynchronous(options->strategy_options)) {
        const bool is_ours = liana__span_owner(cluster, own->span->turn + step) == self;
        first = 0;
        end = is_ours ? share->leaves.num_leaves : 0;
        num_sharing = 1;
    }
    own->count = 0;
    if (first == end) return LIANA_OK;
    share->num_sharing = num_sharing;
    for (size_t i = first; i < end; i++) own->count += share->leaves.leaves[i].size;
    take_leaves(own, first, end, share);
    return LIANA_OK;
}

static liana_status begin_share(void *user, size_t step, liana__span_share *share, liana__error *error)
{
    span_run *own = user;
    const liana__batch *batch;
    *share = (liana__span_share){0};
    LIANA_TRY(own->span->next(own->span->user, step, &batch, error));
    if (!batch->workers) return begin_whole(own, batch, step, share, error);
    const liana__step_workers *workers = batch->workers;
    const size_t self = workers->self;
    own->count = batch->count;
    if (workers->bounds[self] == workers->bounds[self + 1]) return LIANA_OK;
    for (size_t i = 0; i < workers->count; i++) share->num_sharing += workers->bounds[i] < workers->bounds[i + 1];
    LIANA_TRY(liana__trainer_check_batch(own->trainer, batch, true, error));
    share->leaves = liana__trainer_leaves(own->trainer, batch);
    const size_t first = self ? share->leaves.worker_ends[self - 1] : 0, end = share->leaves.worker_ends[self];
    take_leaves(own, first, end, share);
    return LIANA_OK;
}

static liana_status end_share(void *user, size_t step, const float *first, liana__error *error)
{
    span_run *own = user;
    liana__trainer *trainer = own->trainer;
    const liana__objective *objective = trainer->options.objective;
    memset(trainer->first_sum, 0, objective->num_sums * sizeof *trainer->first_sum);
    if (own->count) memcpy(trainer->first_sum, first, objective->num_sums * sizeof *trainer->first_sum);
    if (own->count && trainer->penalty) {
        float *penalty = &trainer->first_sum[objective->penalty_sum];
        LIANA_TRY(liana__penalty_add(trainer->penalty, own->count, penalty, error));
    }
    const liana__fault_check check = {.objective = objective, .first_sum = trainer->first_sum};
    LIANA_TRY(liana__fault_of_losses(&check, &trainer->fault, error));
    return own->span->computed(own->span->user, step, trainer->first_sum, own->count, error);
}

static liana_status set_scalars(void *user, size_t update, double count, float *scalars, liana__error *error)
{
    (void)error;
    const span_run *own = user;
    int64_t iteration;
    const double rate = own->span->rate(own->span->user, update, &iteration);
    scalars[LIANA__UPDATE_COUNT] = (float)count;
    scalars[LIANA__UPDATE_RATE] = (float)rate;
    scalars[LIANA__UPDATE_ITERATION] = (float)iteration;
    return LIANA_OK;
}

liana_status liana__trainer_run_span(liana__trainer *trainer, const liana__trainer_span *span,
                                     liana__span_outcome *outcome, liana__error *error)
{
    span_run run = {.trainer = trainer, .span = span};
    const liana__span_work work = {.num_steps = span->num_steps,
                                   .done = outcome->done,
                                   .generation = span->generation,
                                   .begin = begin_share,
                                   .end = end_share,
                                   .scalars = set_scalars,
                                   .user = &run};
    trainer->fault = (liana__fault){0};
    if (trainer->counts) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "a loss divides by the elements of whole batches that a mask leaves, which workers that are "
                           "not in step do not know: use synchronous updates of all workers");
    }
    return trainer->strategy->functions->run_span(trainer->instance, &work, outcome, error);
}
