/* Training examples that stay on the devices: data.cache: device. */
#include "train/run/run_internal.h"

static bool is_wanted(const liana__run *run)
{
    return run->config->data.cache == LIANA__CACHE_DEVICE && run->training.source;
}

int64_t liana__run_device_rows(const liana__run *run)
{
    return is_wanted(run) ? (int64_t)run->training.source->num_records : 0;
}

static liana_status refuse(const liana__run *run, const char *why, liana__error *error)
{
    const liana__place place = liana__config_place(run->config, "data.cache");
    return liana__fail_at(error, &place, "data.cache", "found 'device', but %s", why);
}

liana_status liana__run_check_device_cache(const liana__run *run, liana__error *error)
{
    const liana__source *source = run->training.source;
    if (!is_wanted(run)) return LIANA_OK;
    if (run->training.augment) {
        return refuse(
            run,
            "data.augment changes the images on the host in each epoch: remove data.augment, or set data.cache "
            "to memory",
            error);
    }
    if (source->streams) {
        return refuse(run, "the training data are a stream, of which nothing is kept: set data.cache to none", error);
    }
    if (source->varies) {
        return refuse(run, "the training examples differ from epoch to epoch: set data.cache to none", error);
    }
    if (source->num_records > INT32_MAX) {
        return refuse(run, "there are more than 2147483647 training examples: set data.cache to memory", error);
    }
    if (run->config->job.deterministic) {
        return refuse(run,
                      "train.deterministic sends the examples of each shard: set data.cache to memory, or leave "
                      "train.deterministic out",
                      error);
    }
    if (run->config->job.stages) {
        return refuse(run, "each of the stages has a program of its own: set data.cache to memory", error);
    }
    if (!liana__cluster_of(run->context)) return LIANA_OK;
    return refuse(run, "several processes train together: set data.cache to memory", error);
}

static liana_status check_device(const liana__run *run, liana__error *error)
{
    const liana__trainer *trainer = run->core.trainer;
    if (!run->core.device->backend->whole) {
        return refuse(
            run,
            "this device computes where the data are: set data.cache to memory, or train.device to gpu, tpu or "
            "pjrt:PLUGIN (liana devices lists them)",
            error);
    }
    if (!liana__step_has_tables(trainer->step)) {
        return refuse(run,
                      "updates of this training are not one program of the device (a learning rate that follows the "
                      "training, or a strategy that sums on the host): set data.cache to memory",
                      error);
    }
    if (!liana__trainer_objective(trainer)->num_counted) return LIANA_OK;
    return refuse(run, "a masked output is counted from the examples of each batch: set data.cache to memory", error);
}

static liana_status keep_all(liana__run *run, liana__loader *loader, int64_t *count, liana__error *error)
{
    liana__trainer *trainer = run->core.trainer;
    const uint64_t steps = liana__loader_steps_per_epoch(loader, 0);
    for (uint64_t i = 0; i < steps; i++) {
        liana__batch *batch;
        LIANA_TRY(liana__loader_next(loader, &batch, error));
        const liana_status status = batch->count ? liana__step_keep(trainer->step, batch, error) : LIANA_OK;
        *count += batch->count;
        liana__loader_release(loader, batch);
        LIANA_TRY(status);
    }
    return liana__step_send_kept(trainer->step, error);
}

/* Records that cannot be used are told when their turn comes, as without tables. */
liana_status liana__run_fill_device(liana__run *run, const liana__run_options *options, liana__error *error)
{
    liana__loader *loader = NULL;
    liana__batch_plan plan;
    liana__bad_records ignored = {0};
    int64_t count = 0;
    if (!is_wanted(run) || !run->core.trainer) return LIANA_OK;
    LIANA_TRY(check_device(run, error));
    liana_status status = liana__run_visit_records(run, &ignored, &plan, &loader, error);
    if (status == LIANA_OK) status = keep_all(run, loader, &count, error);
    liana__loader_destroy(loader);
    liana__bad_records_free(&ignored);
    if (status == LIANA_OUT_OF_MEMORY && error) {
        const liana__error was = *error;
        return liana__fail(error, status, "%.1800s; with data.cache=memory the examples stay on the host", was.message);
    }
    if (status != LIANA_OK) return status;
    liana__run_note(options, "%lld training examples are kept on the device: updates send none", (long long)count);
    return LIANA_OK;
}
