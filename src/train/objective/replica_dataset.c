/* Distributed datasets: batches by replica, of which each process makes or is sent its own examples. */
#include "base/context.h"
#include "base/scoped.h"
#include "batch/cut.h"
#include "data/dataset/dataset.h"
#include "data/dataset/packed_element.h"
#include "step/replicas/per_replica.h"

#include <stdlib.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_per_replica_destroy, liana_per_replica)

/* ---- the elements that one process makes ---- */

/* A dataset of this kind belongs to an iterator over replicas; programs see none. */

/* Which rows of each batch. */
typedef struct batch_part {
    int64_t batch_size;
    int64_t begin, end;           /* of a full batch */
    int64_t num_full;             /* batches; below 0: without end */
    int64_t last_begin, last_end; /* of the smaller batch behind them */
} batch_part;

/* The place in the input of element `index` of the part. */
static uint64_t place_of(const batch_part *part, uint64_t index)
{
    const uint64_t rows = (uint64_t)(part->end - part->begin), size = (uint64_t)part->batch_size;
    const uint64_t full = part->num_full < 0 ? UINT64_MAX : (uint64_t)part->num_full;
    if (rows > 0 && index / rows < full) return index / rows * size + (uint64_t)part->begin + index % rows;
    return full * size + (uint64_t)part->last_begin + (index - full * rows);
}

static liana_status read_element(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    const liana__at inner = {at->seed, at->epoch, place_of(reader->dataset->own, at->index)};
    return liana__reader_read(reader->inputs[0], &inner, element, error);
}

static size_t trace_part(const liana_dataset *dataset, uint64_t *index)
{
    *index = place_of(dataset->own, *index);
    return 0;
}

static const liana_stage_type part_kind = {
    LIANA_PART(STAGE, liana_stage_type, "part of a batch", "A range of each batch."),
    .options_size = sizeof(batch_part),
    .read = read_element,
    .trace = trace_part,
};

/* A dataset of those elements only, in order. The input is random-access, and taken over. NULL: failure, with a message
 * in the context. */
static liana_dataset *part_dataset(liana_dataset *input, const batch_part *part)
{
    liana_dataset *dataset = liana__dataset_stage(&part_kind, input, sizeof *part);
    if (!dataset) return NULL;
    *(batch_part *)dataset->own = *part;
    dataset->length = part->num_full < 0
                          ? (part->end > part->begin ? LIANA_INFINITE : 0)
                          : part->num_full * (part->end - part->begin) + part->last_end - part->last_begin;
    dataset->num_blocks = 0;
    return liana__dataset_finish(dataset, LIANA_OK);
}

/* Of a batch. */
enum { MOST_EXAMPLES = 1 << 30 };

/* The reader of each part. */
typedef enum reading {
    READS_PART, /* each process the examples of its shards */
    READS_ALL,  /* the first process all, and sends the others theirs */
    READS_OWN,  /* each process a dataset of its own */
} reading;

/* Elements that wait for a shard. */
typedef struct packed_list {
    void **items; /* NULL: none yet */
    size_t *sizes;
    size_t count, capacity;
} packed_list;

struct liana_replica_iterator {
    liana_replicas *replicas;
    liana_context *context;
    liana_distribute_options options; /* complete */
    reading reading;
    liana_dataset *dataset; /* the data of the source */
    liana_iterator *source; /* NULL: this process reads nothing */
    liana__spec spec;
    int64_t length;    /* of the whole, as liana_dataset_facts.num_examples; of READS_PART */
    int64_t next;      /* batch */
    int64_t own_begin; /* rows of a full batch that are this process's */
    int64_t own_end;
    liana_status failed; /* the failure that ended it */
    liana__error error;
    packed_list packed;
};

static void drop_packed(packed_list *list)
{
    for (size_t i = 0; i < list->count; i++) free(list->items[i]);
    list->count = 0;
}

void liana_replica_iterator_destroy(liana_replica_iterator *iterator)
{
    if (!iterator) return;
    drop_packed(&iterator->packed);
    free(iterator->packed.items);
    free(iterator->packed.sizes);
    liana_iterator_destroy(iterator->source);
    liana_dataset_close(iterator->dataset);
    free(iterator);
}

/* ---- shards ---- */

static liana__cut cut_of(const liana_replica_iterator *iterator, int64_t count)
{
    return liana__cut_batch(count, iterator->options.microbatch);
}

/* Values without arrays for a batch of `count` examples. */
static liana_status make_shards(const liana_replica_iterator *iterator, int64_t count, liana_per_replica **values,
                                liana__error *error)
{
    const liana__cut cut = cut_of(iterator, count);
    LIANA__SCOPED_MEMORY int64_t *examples = calloc((size_t)cut.count, sizeof *examples);
    if (!examples) return liana__fail_memory(error, "a batch");
    for (int64_t i = 0; i < cut.count; i++) examples[i] = liana__cut_size(&cut, i);
    return liana__per_replica_create(iterator->replicas, examples, (size_t)cut.count, values, error);
}

/* The rows of a batch of `count` examples that belong to a process. */
static liana_status rows_of(const liana_replica_iterator *iterator, int64_t count, size_t process, int64_t *begin,
                            int64_t *end, liana__error *error)
{
    const size_t *first_of = iterator->replicas->first_of;
    liana_per_replica *leaves;
    *begin = *end = 0;
    if (count == 0) return LIANA_OK;
    LIANA_TRY(make_shards(iterator, count, &leaves, error));
    const liana__cut cut = cut_of(iterator, count);
    const liana__leaf_range range = liana__per_replica_range(leaves, first_of[process], first_of[process + 1]);
    *begin = liana__cut_begin(&cut, (int64_t)range.begin);
    *end = liana__cut_begin(&cut, (int64_t)range.end);
    liana_per_replica_destroy(leaves);
    return LIANA_OK;
}

/* Gives the shards of this process their arrays, to be filled. */
static liana_status add_arrays(const liana_replica_iterator *iterator, liana_per_replica *values, liana__error *error)
{
    for (size_t i = 0; i < iterator->spec.count; i++) {
        const liana_component *component = &iterator->spec.components[i];
        liana__leaf_component *added = liana__per_replica_add(values, component->name);
        if (!added) return liana__fail_memory(error, "a batch");
        LIANA_TRY(liana__per_replica_allocate_rows(values, added, component->dtype, &component->shape, error));
    }
    return LIANA_OK;
}

static liana_status put_row(liana_per_replica *values, size_t index, int64_t row, const liana_element *element,
                            liana__error *error)
{
    for (size_t i = 0; i < values->num_components; i++) {
        const liana_array *array = &values->components[i].arrays[index];
        const size_t count = (size_t)(liana_shape_size(&array->shape) / array->shape.dims[0]);
        char *to = (char *)array->data + (size_t)row * count * liana__value_size(array->dtype);
        LIANA_TRY(liana__per_replica_fill(values, array->dtype, to, element->data[i], count, error));
    }
    return LIANA_OK;
}

/* ---- each process its part ---- */

static int64_t size_of_next(const liana_replica_iterator *iterator)
{
    const int64_t size = iterator->options.batch_size;
    if (iterator->length < 0) return size;
    const int64_t rest = iterator->length - iterator->next * size;
    if (rest >= size) return size;
    return iterator->options.drop_remainder || rest < 0 ? 0 : rest;
}

static liana_status read_part(const liana_replica_iterator *iterator, liana_per_replica *values, liana__error *error)
{
    LIANA_TRY(add_arrays(iterator, values, error));
    for (size_t leaf = values->first; leaf < values->end; leaf++) {
        for (int64_t row = 0; row < values->examples[leaf]; row++) {
            const liana_element *element;
            liana_status status = liana_iterator_next(iterator->source, &element);
            if (status == LIANA_END_OF_DATA) {
                return liana__fail(error, LIANA_DATA_LOSS, "the dataset ends before its %lld elements",
                                   (long long)iterator->length);
            }
            LIANA_TRY(status);
            LIANA_TRY(put_row(values, leaf - values->first, row, element, error));
        }
    }
    return LIANA_OK;
}

static liana_status next_part(const liana_replica_iterator *iterator, liana_per_replica **batch, liana__error *error)
{
    const int64_t count = size_of_next(iterator);
    if (count == 0) return LIANA_END_OF_DATA;
    liana_status status = make_shards(iterator, count, batch, error);
    if (status == LIANA_OK) status = read_part(iterator, *batch, error);
    return liana__cluster_agree_status(iterator->replicas->cluster, status, error);
}

/* ---- elements that are kept until the batch is known ---- */

static liana_status keep(packed_list *list, const liana_element *element, void *bytes, size_t size, liana__error *error)
{
    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : 64;
        void **items = realloc(list->items, capacity * sizeof(void *));
        if (items) list->items = items;
        size_t *sizes = items ? realloc(list->sizes, capacity * sizeof *sizes) : NULL;
        if (!sizes) return liana__fail_memory(error, "a batch");
        list->sizes = sizes;
        list->capacity = capacity;
    }
    void *kept = liana__allocate_aligned(size);
    if (!kept) return liana__fail_memory(error, "a batch");
    if (element) liana__element_pack(element, kept);
    if (!element) memcpy(kept, bytes, size);
    list->items[list->count] = kept;
    list->sizes[list->count++] = size;
    return LIANA_OK;
}

/* Reads up to `count` elements. */
static liana_status read_packed(liana_replica_iterator *iterator, int64_t count, liana__error *error)
{
    liana_status status = LIANA_OK;
    drop_packed(&iterator->packed);
    for (int64_t i = 0; iterator->source && status == LIANA_OK && i < count; i++) {
        const liana_element *element;
        status = liana_iterator_next(iterator->source, &element);
        if (status == LIANA_OK) {
            status = keep(&iterator->packed, element, NULL, liana__packed_size(element), error);
        }
    }
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

/* Fills the shards of this process with kept elements, from `first` on. */
static liana_status unpack(const liana_replica_iterator *iterator, size_t first, liana_per_replica *values,
                           liana__error *error)
{
    LIANA_TRY(add_arrays(iterator, values, error));
    for (size_t leaf = values->first; leaf < values->end; leaf++) {
        for (int64_t row = 0; row < values->examples[leaf]; row++, first++) {
            liana_element element;
            LIANA_TRY(liana__packed_settle(&iterator->spec, iterator->packed.items[first],
                                           iterator->packed.sizes[first], error));
            liana__packed_element(&iterator->spec, iterator->packed.items[first], &element);
            LIANA_TRY(put_row(values, leaf - values->first, row, &element, error));
        }
    }
    return LIANA_OK;
}

/* ---- one process all ---- */

/* Messages of the elements of a process: their sizes, then themselves. */
enum { PART_SIZES, PART_BYTES };

static liana_status send_rows(const liana_replica_iterator *iterator, size_t process, int64_t begin, int64_t end,
                              liana__error *error)
{
    const packed_list *list = &iterator->packed;
    const size_t count = (size_t)(end - begin);
    size_t size = 0, at = 0;
    LIANA__SCOPED_MEMORY uint64_t *sizes = calloc(count + 1, sizeof *sizes);
    for (size_t i = 0; sizes && i < count; i++) size += (size_t)(sizes[i] = list->sizes[(size_t)begin + i]);
    LIANA__SCOPED_MEMORY char *bytes = malloc(size + 1);
    if (!sizes || !bytes) return liana__fail_memory(error, "a batch");
    for (size_t i = 0; i < count; at += (size_t)sizes[i++]) {
        memcpy(bytes + at, list->items[(size_t)begin + i], (size_t)sizes[i]);
    }
    const liana__cluster *cluster = iterator->replicas->cluster;
    LIANA_TRY(
        liana__cluster_send(cluster, process, LIANA__MESSAGE_ROWS, PART_SIZES, sizes, count * sizeof *sizes, error));
    return liana__cluster_send(cluster, process, LIANA__MESSAGE_ROWS, PART_BYTES, bytes, size, error);
}

static liana_status receive_rows(liana_replica_iterator *iterator, size_t count, liana__error *error)
{
    const liana__cluster *cluster = iterator->replicas->cluster;
    size_t size = 0, at = 0;
    LIANA__SCOPED_MEMORY uint64_t *sizes = calloc(count + 1, sizeof *sizes);
    if (!sizes) return liana__fail_memory(error, "a batch");
    LIANA_TRY(liana__cluster_receive(cluster, 0, LIANA__MESSAGE_ROWS, PART_SIZES, sizes, count * sizeof *sizes, error));
    for (size_t i = 0; i < count; i++) {
        if (sizes[i] > SIZE_MAX / 2 - size) {
            return liana__fail(error, LIANA_INVALID_DATA, "process 0 tells of a batch with too many bytes");
        }
        size += (size_t)sizes[i];
    }
    LIANA__SCOPED_MEMORY char *bytes = malloc(size + 1);
    if (!bytes) return liana__fail_memory(error, "a batch");
    LIANA_TRY(liana__cluster_receive(cluster, 0, LIANA__MESSAGE_ROWS, PART_BYTES, bytes, size, error));
    for (size_t i = 0; i < count; at += (size_t)sizes[i++]) {
        LIANA_TRY(keep(&iterator->packed, NULL, bytes + at, (size_t)sizes[i], error));
    }
    return LIANA_OK;
}

/* The first process has read `count` elements; each gets those of its shards. */
static liana_status share_rows(liana_replica_iterator *iterator, int64_t count, liana__error *error)
{
    liana__cluster *cluster = iterator->replicas->cluster;
    const size_t rank = iterator->replicas->rank;
    int64_t begin, end;
    if (!cluster) return LIANA_OK;
    liana__cluster_begin(cluster);
    for (size_t process = 1; process < liana__cluster_size(cluster); process++) {
        LIANA_TRY(rows_of(iterator, count, process, &begin, &end, error));
        if (begin == end || (rank != 0 && rank != process)) continue;
        LIANA_TRY(rank == 0 ? send_rows(iterator, process, begin, end, error)
                            : receive_rows(iterator, (size_t)(end - begin), error));
    }
    return LIANA_OK;
}

static liana_status next_of_all(liana_replica_iterator *iterator, liana_per_replica **batch, liana__error *error)
{
    liana__cluster *cluster = iterator->replicas->cluster;
    liana_status status = read_packed(iterator, iterator->options.batch_size, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    int64_t count = (int64_t)iterator->packed.count;
    if (cluster) LIANA_TRY(liana__cluster_tell(cluster, cluster->chief, &count, sizeof count, error));
    if (count == 0 || (iterator->options.drop_remainder && count < iterator->options.batch_size)) {
        return LIANA_END_OF_DATA;
    }
    status = share_rows(iterator, count, error);
    if (status == LIANA_OK) status = make_shards(iterator, count, batch, error);
    if (status == LIANA_OK) status = unpack(iterator, 0, *batch, error);
    return liana__cluster_agree_status(cluster, status, error);
}

/* ---- each process its own ---- */

/* The shards of a full batch, each with as many examples as its process still has. */
static liana_status make_own_shards(const liana_replica_iterator *iterator, const int64_t *counts,
                                    liana_per_replica **batch, liana__error *error)
{
    const liana_replicas *replicas = iterator->replicas;
    const liana__cut cut = cut_of(iterator, iterator->options.batch_size);
    LIANA__SCOPED_BY(liana_per_replica_destroy_scoped) liana_per_replica *full = NULL;
    LIANA_TRY(make_shards(iterator, iterator->options.batch_size, &full, error));
    LIANA__SCOPED_MEMORY int64_t *examples = calloc((size_t)cut.count, sizeof *examples);
    LIANA__SCOPED_MEMORY liana__leaf_range *ranges = calloc(liana__replicas_total(replicas), sizeof *ranges);
    if (!examples || !ranges) return liana__fail_memory(error, "a batch");
    size_t num_leaves = 0;
    for (size_t process = 0; process < replicas->num_processes; process++) {
        int64_t rest = counts[process];
        for (size_t r = replicas->first_of[process]; r < replicas->first_of[process + 1]; r++) {
            ranges[r].begin = num_leaves;
            for (size_t leaf = full->ranges[r].begin; rest > 0 && leaf < full->ranges[r].end; leaf++) {
                const int64_t size = liana__cut_size(&cut, (int64_t)leaf);
                examples[num_leaves++] = rest < size ? rest : size;
                rest -= rest < size ? rest : size;
            }
            ranges[r].end = num_leaves;
        }
    }
    return liana__per_replica_create_as(iterator->replicas, examples, num_leaves, ranges, batch, error);
}

static liana_status next_own(liana_replica_iterator *iterator, liana_per_replica **batch, liana__error *error)
{
    liana_replicas *replicas = iterator->replicas;
    liana__cluster *cluster = replicas->cluster;
    liana_status status = read_packed(iterator, iterator->own_end - iterator->own_begin, error);
    LIANA_TRY(liana__cluster_agree_status(cluster, status, error));
    int64_t total = 0;
    LIANA__SCOPED_MEMORY int64_t *counts = calloc(replicas->num_processes, sizeof *counts);
    if (!counts) return liana__fail_memory(error, "a batch");
    counts[replicas->rank] = (int64_t)iterator->packed.count;
    const int64_t own = counts[replicas->rank];
    if (cluster) LIANA_TRY(liana__cluster_gather(cluster, &own, sizeof own, counts, error));
    for (size_t i = 0; i < replicas->num_processes; i++) total += counts[i];
    const bool ends = total == 0 || (iterator->options.drop_remainder && total < iterator->options.batch_size);
    if (ends) return LIANA_END_OF_DATA;
    status = make_own_shards(iterator, counts, batch, error);
    if (status == LIANA_OK) status = unpack(iterator, 0, *batch, error);
    return liana__cluster_agree_status(cluster, status, error);
}

/* ---- the next batch ---- */

static liana_status make_next(liana_replica_iterator *iterator, liana_per_replica **batch)
{
    liana__error *error = &iterator->context->error;
    if (iterator->failed != LIANA_OK) {
        if (iterator->failed != LIANA_END_OF_DATA) *error = iterator->error;
        return iterator->failed;
    }
    LIANA_TRY(liana__replicas_enter(iterator->replicas, "liana_replica_iterator_next", error));
    liana_per_replica *made = NULL;
    liana_status status = iterator->reading == READS_PART  ? next_part(iterator, &made, error)
                          : iterator->reading == READS_ALL ? next_of_all(iterator, &made, error)
                                                           : next_own(iterator, &made, error);
    liana__replicas_leave(iterator->replicas);
    if (status != LIANA_OK) {
        liana_per_replica_destroy(made);
        iterator->failed = status;
        iterator->error = *error;
        return status;
    }
    iterator->next++;
    *batch = made;
    return LIANA_OK;
}

liana_status liana_replica_iterator_next(liana_replica_iterator *iterator, liana_per_replica **batch)
{
    liana__error *error = iterator ? &iterator->context->error : NULL;
    LIANA__REQUIRE(error, batch);
    *batch = NULL;
    LIANA__REQUIRE(error, iterator);
    if (liana__context_stopped(iterator->context)) return iterator->context->first.status;
    return make_next(iterator, batch);
}

/* ---- setting up ---- */

static liana_status keep_options(liana_replica_iterator *iterator, const liana_distribute_options *given,
                                 liana__error *error)
{
    liana_distribute_options *options = &iterator->options;
    if (given) *options = *given;
    if (options->batch_size < 0 || options->microbatch < 0) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "batch_size is %lld and microbatch %lld, expected 0 or more",
                           (long long)options->batch_size, (long long)options->microbatch);
    }
    if (options->batch_size == 0) options->batch_size = 32;
    const int64_t num_replicas = (int64_t)liana__replicas_total(iterator->replicas);
    if (options->batch_size > MOST_EXAMPLES || options->microbatch > MOST_EXAMPLES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "batch_size is %lld and microbatch %lld, expected at most %d",
                           (long long)options->batch_size, (long long)options->microbatch, MOST_EXAMPLES);
    }
    if (options->microbatch == 0) options->microbatch = (options->batch_size + num_replicas - 1) / num_replicas;
    const uint64_t first = options->iterator.start;
    if (first <= INT64_MAX - (uint64_t)options->batch_size && first % (uint64_t)options->batch_size == 0) {
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the iterator starts at %llu, expected a multiple of %lld, the batch_size",
                       (unsigned long long)first, (long long)options->batch_size);
}

static liana_status keep_spec(liana_replica_iterator *iterator, const liana_dataset *dataset, liana__error *error)
{
    iterator->spec = dataset->spec;
    for (size_t i = 0; i < dataset->spec.count; i++) {
        const liana_component *component = &dataset->spec.components[i];
        bool fixed = component->shape.rank < LIANA_MAX_RANK;
        for (int k = 0; k < component->shape.rank; k++) fixed = fixed && component->shape.dims[k] > 0;
        if (fixed) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the component '%.100s' is %s; a dataset that is distributed has examples of a fixed shape "
                           "(leave batching to liana_replicas_distribute)",
                           component->name, liana__component_describe(component).text);
    }
    return LIANA_OK;
}

static liana_status start(liana_replica_iterator *iterator, liana_dataset *dataset, uint64_t first, liana__error *error)
{
    liana_iterator_options options = iterator->options.iterator;
    if (!dataset) return error->status;
    iterator->dataset = dataset;
    options.start = first;
    return liana_iterator_create(dataset, &options, &iterator->source);
}

static liana_status start_part(liana_replica_iterator *iterator, const liana_dataset *dataset, liana__error *error)
{
    const size_t rank = iterator->replicas->rank;
    const int64_t size = iterator->options.batch_size, length = dataset->length;
    batch_part part = {.batch_size = size, .num_full = -1};
    LIANA_TRY(rows_of(iterator, size, rank, &part.begin, &part.end, error));
    if (length >= 0) {
        part.num_full = length / size;
        LIANA_TRY(rows_of(iterator, length % size, rank, &part.last_begin, &part.last_end, error));
    }
    liana_dataset *own = part_dataset(liana_dataset_retain((liana_dataset *)(uintptr_t)dataset), &part);
    return start(iterator, own, (uint64_t)(iterator->next * (part.end - part.begin)), error);
}

static liana_status set_up(liana_replica_iterator *iterator, const liana_dataset *dataset,
                           const liana_distribute_options *options, liana__error *error)
{
    LIANA_TRY(keep_options(iterator, options, error));
    LIANA_TRY(keep_spec(iterator, dataset, error));
    iterator->length = dataset->length;
    iterator->next = (int64_t)(iterator->options.iterator.start / (uint64_t)iterator->options.batch_size);
    iterator->reading = dataset->random_access ? READS_PART : READS_ALL;
    if (iterator->reading == READS_PART) return start_part(iterator, dataset, error);
    if (iterator->replicas->rank > 0) return LIANA_OK;
    return start(iterator, liana_dataset_retain((liana_dataset *)(uintptr_t)dataset), iterator->options.iterator.start,
                 error);
}

static liana_replica_iterator *begin(liana_replicas *replicas)
{
    liana_replica_iterator *iterator = calloc(1, sizeof *iterator);
    if (!iterator) return NULL;
    iterator->replicas = replicas;
    iterator->context = replicas->context;
    return iterator;
}

/* All processes have it, or none. */
static liana_status finish(liana_replica_iterator *iterator, liana_status status, liana_replica_iterator **out)
{
    liana_replicas *replicas = iterator->replicas;
    status = liana__cluster_agree_status(replicas->cluster, status, &replicas->context->error);
    liana__replicas_leave(replicas);
    if (status == LIANA_OK) {
        *out = iterator;
    } else {
        liana_replica_iterator_destroy(iterator);
    }
    return status;
}

static liana_status set_up_own(liana_replica_iterator *iterator, const liana_distribute_options *options,
                               liana__error *error)
{
    liana_replicas *replicas = iterator->replicas;
    const size_t rank = replicas->rank;
    size_t count = 0;
    LIANA_TRY(keep_options(iterator, options, error));
    iterator->reading = READS_OWN;
    LIANA_TRY(rows_of(iterator, iterator->options.batch_size, rank, &iterator->own_begin, &iterator->own_end, error));
    if (liana__replicas_local(replicas) == 0) return LIANA_OK;
    for (size_t i = 0; i < replicas->num_processes; i++) count += replicas->first_of[i + 1] > replicas->first_of[i];
    const liana_input_pipeline pipeline = {(int64_t)rank, (int64_t)count, (int64_t)liana__replicas_total(replicas),
                                           iterator->options.batch_size, iterator->own_end - iterator->own_begin};
    *error = (liana__error){0};
    liana_dataset *dataset = options->function(options->user, replicas->context, &pipeline);
    if (!dataset && error->status != LIANA_OK) return error->status;
    if (!dataset) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the function that makes a process's dataset gave none, and left no message");
    }
    const int64_t batch = (int64_t)(iterator->options.iterator.start / (uint64_t)iterator->options.batch_size);
    liana_status status = keep_spec(iterator, dataset, error);
    if (status != LIANA_OK) {
        liana_dataset_close(dataset);
        return status;
    }
    return start(iterator, dataset, (uint64_t)(batch * pipeline.num_examples), error);
}

/* `dataset` NULL: the options' function makes one. */
static liana_status distribute(liana_replicas *replicas, const liana_dataset *dataset,
                               const liana_distribute_options *options, liana_replica_iterator **out)
{
    liana__error *error = &replicas->context->error;
    LIANA_TRY(liana__replicas_enter(replicas, "liana_replicas_distribute", error));
    liana_replica_iterator *iterator = begin(replicas);
    if (!iterator) {
        liana__replicas_leave(replicas);
        return liana__fail_memory(error, "an iterator");
    }
    const liana_status status =
        dataset ? set_up(iterator, dataset, options, error) : set_up_own(iterator, options, error);
    return finish(iterator, status, out);
}

liana_status liana_replicas_distribute(liana_replicas *replicas, const liana_dataset *dataset,
                                       const liana_distribute_options *options, liana_replica_iterator **out)
{
    liana__error *error = replicas ? &replicas->context->error : dataset ? &dataset->context->error : NULL;
    const bool makes = options && options->function;
    LIANA__REQUIRE_AS(error, out, "iterator");
    *out = NULL;
    LIANA__REQUIRE(error, replicas);
    if (!makes) LIANA__REQUIRE(error, dataset);
    if (makes && dataset) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "liana_replicas_distribute: there are a dataset and a function that makes one; give one of "
                           "them");
    }
    LIANA__CONTEXT_CALL(replicas->context, distribute(replicas, dataset, options, out));
}
