/* Sequences of consecutive rows of arrays, made of the stages slices, window, zip, shuffle and batch. */
#include "data/dataset/dataset.h"

enum { DEFAULT_BATCH = 128 };

static liana_status check(const liana_timeseries_options *options, int64_t rows, int64_t end, liana__error *error)
{
    const int64_t length = options->sequence_length, stride = options->sequence_stride, rate = options->sampling_rate;
    if (length < 1 || length > INT32_MAX || stride < 0 || rate < 0 || stride > INT32_MAX || rate > INT32_MAX) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "timeseries_from_array: sequence_length is %lld, sequence_stride %lld and sampling_rate %lld, "
            "expected at least 1 (0: the default)",
            (long long)length, (long long)stride, (long long)rate);
    }
    if (options->start_index < 0 || end > rows || options->start_index >= end) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "timeseries_from_array: start_index is %lld and end_index %lld, expected a start before the "
                           "end, within the %lld rows of the data",
                           (long long)options->start_index, (long long)end, (long long)rows);
    }
    const int64_t span = (length - 1) * (rate ? rate : 1) + 1;
    if (span <= end - options->start_index) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "timeseries_from_array: a sequence spans %lld rows (sequence_length %lld, sampling_rate %lld), "
                       "but there are %lld",
                       (long long)span, (long long)length, (long long)(rate ? rate : 1),
                       (long long)(end - options->start_index));
}

/* Rows [start, end) of a dataset. */
static liana_dataset *cut(liana_dataset *dataset, int64_t start, int64_t end)
{
    return liana_dataset_skip(liana_dataset_take(dataset, end), start);
}

/* The sequences, and beside each the target of its first row. */
static liana_dataset *join(liana_dataset *rows, liana_dataset *targets, const liana_timeseries_options *options,
                           int64_t end)
{
    const int64_t stride = options->sequence_stride ? options->sequence_stride : 1;
    liana_dataset *sequences =
        liana_dataset_window(cut(rows, options->start_index, end),
                             &(liana_window_options){.size = options->sequence_length,
                                                     .shift = stride,
                                                     .stride = options->sampling_rate ? options->sampling_rate : 1,
                                                     .drop_remainder = true});
    if (!targets) return sequences;
    liana_dataset *both[2] = {sequences, liana_dataset_shard(cut(targets, options->start_index, end), stride, 0)};
    return liana_dataset_zip(both, 2);
}

liana_dataset *liana_dataset_timeseries_from_array(liana_context *context, const liana_array *data, size_t num_data,
                                                   const liana_array *targets, size_t num_targets,
                                                   const liana_timeseries_options *options)
{
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), data);
    LIANA__REQUIRE_OR(NULL, liana__context_error(context), options);
    liana_dataset *rows = liana_dataset_from_tensor_slices(context, data, num_data);
    if (!rows) return NULL;
    const int64_t end = options->end_index ? options->end_index : rows->length;
    liana_dataset *beside = NULL;
    if (check(options, rows->length, end, &context->error) != LIANA_OK) {
        liana_dataset_close(rows);
        return NULL;
    }
    if (num_targets) {
        beside = liana_dataset_from_tensor_slices(context, targets, num_targets);
        if (!beside) liana_dataset_close(rows);
        if (!beside) return NULL;
    }
    liana_dataset *made = join(rows, beside, options, end);
    if (options->shuffle) made = liana_dataset_shuffle(made, &(liana_shuffle_options){.seed = options->seed});
    if (options->batch_size < 0) return made;
    const int64_t size = options->batch_size ? options->batch_size : DEFAULT_BATCH;
    return liana_dataset_batch(made, &(liana_batch_options){.batch_size = size});
}
