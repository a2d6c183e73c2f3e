/* Batches by replica for steps: each process has the examples of its own shards only. */
#include "batch/cut.h"
#include "ir/shape.h"
#include "step/replicas/per_replica.h"
#include "step/user_step.h"

#include <string.h>

static liana_status check_leaves(const liana_step *step, const liana_per_replica *values, int64_t count,
                                 liana__error *error)
{
    const liana_step_options *options = &step->options;
    int64_t largest = 0;
    if (values->replicas != options->replicas) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the batch is of other replicas than the step; give the step theirs (.replicas)",
                           options->name);
    }
    for (size_t i = 0; i < values->num_leaves; i++) {
        if (values->examples[i] > largest) largest = values->examples[i];
    }
    const size_t most = (size_t)liana__cut_batch(options->batch_size, options->microbatch).count;
    if (largest <= options->microbatch && values->num_leaves <= most && count <= options->batch_size) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "%s: the batch has %lld examples in %zu shards of up to %lld; the step takes up to %lld in %zu "
                       "shards of up to %lld (batch_size, microbatch)",
                       options->name, (long long)count, values->num_leaves, (long long)largest,
                       (long long)options->batch_size, most, (long long)options->microbatch);
}

static liana_status take_rows(const liana_step *step, const liana_per_replica *values, liana__batch *batch,
                              liana__error *error)
{
    const liana_step_options *options = &step->options;
    for (size_t i = 0; i < options->num_components; i++) {
        const liana_component *wanted = &options->components[i];
        const liana__leaf_component *found = liana__per_replica_find(values, wanted->name, NULL);
        if (found && found->rows && found->dtype == wanted->dtype && liana_shape_equal(&found->row, &wanted->shape)) {
            liana__batch_add(batch, wanted->name, (liana_dtype)wanted->dtype, &wanted->shape, found->rows);
            continue;
        }
        const char *wrong = !found         ? "not there"
                            : !found->rows ? "no component of a batch"
                            : found->dtype == LIANA_STRING
                                ? "string"
                                : liana__type_print((liana_dtype)found->dtype, &found->row).text;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "%s: the batch's '%.100s' is %s, expected %s for each example", options->name, wanted->name,
                           wrong, liana__type_print((liana_dtype)wanted->dtype, &wanted->shape).text);
    }
    return LIANA_OK;
}

liana_status liana__user_take_values(liana_step *step, const liana_per_replica *values, uint64_t position,
                                     liana__batch *taken, liana__error *error)
{
    const liana_replicas *replicas = values->replicas;
    liana__step_workers *workers = &step->workers;
    const int64_t count = liana_per_replica_info(values).num_examples;
    LIANA_TRY(check_leaves(step, values, count, error));
    LIANA_TRY(take_rows(step, values, taken, error));
    for (size_t shard = 0; shard < values->num_leaves; shard++) {
        const int64_t size = values->examples[shard];
        const bool is_own = shard >= values->first && shard < values->end;
        for (int64_t i = 0; is_own && i < size; i++) step->positions[taken->count++] = position + (uint64_t)i;
        position += (uint64_t)size;
    }
    workers->count = replicas->num_processes;
    workers->self = replicas->rank;
    workers->num_shards = (int64_t)values->num_leaves;
    workers->shard_counts = values->examples;
    workers->by_count = true;
    workers->num_examples = count;
    for (size_t i = 0; i < replicas->num_processes; i++) {
        const size_t first = replicas->first_of[i], end = replicas->first_of[i + 1];
        workers->bounds[i + 1] = (int64_t)liana__per_replica_range(values, first, end).end;
    }
    taken->num_positions = count;
    taken->workers = workers;
    return LIANA_OK;
}
