/* Keeps elements in memory: those of the first epoch, at whatever epoch or position an iterator begins. So they do not
 * depend on which iterator comes first. */
#include "base/scoped.h"
#include "data/dataset/dataset.h"
#include "data/dataset/packed_element.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef struct cache {
    atomic_size_t bytes;
    /* Random access: each element in one piece (data/dataset/packed_element.h), or NULL. It never moves. */
    _Atomic(void *) *blocks;
    /* Replayed: those seen so far, filled by one cursor for all. */
    pthread_mutex_t mutex;
    void **list;
    size_t count;
    size_t capacity;
    bool complete;
    liana__cursor *filler;
    liana__budget budget; /* of the filler */
    liana__error failure; /* permanent: later elements would be at wrong places */
} cache;

static void *pack(cache *own, const liana_element *element)
{
    size_t size = liana__packed_size(element);
    void *made = malloc(size);
    if (!made) return NULL;
    liana__element_pack(element, made);
    if (liana__packed_settle(element->spec, made, size, NULL) != LIANA_OK) {
        free(made);
        return NULL;
    }
    atomic_fetch_add(&own->bytes, size);
    return made;
}

static void close_cache(liana_dataset *dataset)
{
    cache *own = dataset->own;
    for (int64_t i = 0; own->blocks && i < dataset->length; i++) free(atomic_load(&own->blocks[i]));
    for (size_t i = 0; i < own->count; i++) free(own->list[i]);
    liana__cursor_close(own->filler);
    pthread_mutex_destroy(&own->mutex);
    free(own->blocks);
    free(own->list);
}

static liana_status read_element(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    cache *own = reader->dataset->own;
    void *kept = atomic_load(&own->blocks[at->index]), *none = NULL;
    if (!kept) {
        liana__at first = {.index = at->index};
        liana_element input;
        LIANA_TRY(liana__reader_read(reader->inputs[0], &first, &input, error));
        kept = pack(own, &input);
        if (!kept) return liana__fail_memory(error, "cache");
        if (!atomic_compare_exchange_strong(&own->blocks[at->index], &none, kept)) {
            free(kept); /* another thread was faster */
            kept = none;
        }
    }
    liana__packed_element(&reader->dataset->spec, kept, element);
    return LIANA_OK;
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)error;
    cursor->index = start;
    return LIANA_OK;
}

static liana_status add_next(const liana__cursor *cursor, cache *own, liana__error *error)
{
    static const liana__at first;
    if (own->failure.status != LIANA_OK) return liana__fail_as(error, &own->failure);
    if (!own->filler) {
        own->budget.memory = cursor->pace.budget->memory;
        liana__pace pace = {cursor->pace.num_threads, &own->budget};
        LIANA_TRY(liana__cursor_open(cursor->dataset->inputs[0], pace, &first, &own->filler, error));
    }
    liana_element element;
    liana_status status = liana__cursor_next(own->filler, &element, &own->failure);
    if (status == LIANA_OK) {
        if (!liana__grow(&own->list, own->count, &own->capacity, sizeof *own->list)) {
            return liana__fail_memory(error, "cache");
        }
        own->list[own->count] = pack(own, &element);
        if (!own->list[own->count]) return liana__fail_memory(&own->failure, "cache");
        own->count++;
        return LIANA_OK;
    }
    own->complete = status == LIANA_END_OF_DATA;
    liana__cursor_close(own->filler);
    own->filler = NULL;
    if (!own->complete && error) *error = own->failure;
    return own->complete ? LIANA_OK : status;
}

static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    cache *own = cursor->dataset->own;
    liana_status status = LIANA_OK;
    pthread_mutex_lock(&own->mutex);
    while (status == LIANA_OK && !own->complete && own->count <= cursor->index) status = add_next(cursor, own, error);
    if (status == LIANA_OK && cursor->index >= own->count) status = LIANA_END_OF_DATA;
    const void *kept = status == LIANA_OK ? own->list[cursor->index] : NULL;
    pthread_mutex_unlock(&own->mutex);
    if (kept) liana__packed_element(&cursor->dataset->spec, kept, element);
    return status;
}

liana_dataset *liana_dataset_cache(liana_dataset *input, const liana_cache_options *options)
{
    if (options) return liana__dataset_cache_file(input, options);
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_cache, input, sizeof(cache));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    cache *own = dataset->own;
    pthread_mutex_init(&own->mutex, NULL);
    dataset->varies = dataset->length_varies = false;
    /* The first epoch is read from where the elements come from. */
    dataset->num_blocks = input->num_blocks;
    dataset->block_starts = input->block_starts;
    liana_status status = LIANA_OK;
    if (dataset->length == LIANA_INFINITE) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "the data are endless; put it before repeat");
    } else if (dataset->random_access) {
        own->blocks = calloc((size_t)dataset->length + 1, sizeof *own->blocks);
        if (!own->blocks) status = liana__fail_memory(error, "its index");
    }
    return liana__dataset_finish(dataset, status);
}

/* The folder's file for these stages, options and files. */
static liana_status name_snapshot(const liana_dataset *input, const liana_cache_options *options, char **path,
                                  liana__error *error)
{
    liana__fingerprint settings = {{0}}, sources = {{0}};
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__dataset_describe(input, &settings, &sources);
    liana__fingerprint_add(&settings, &input->length, sizeof input->length);
    liana__fingerprint_add_text(&settings, options->version);
    liana__fingerprint_add(&settings, &sources, sizeof sources);
    const bool deflates = options->compression > LIANA_COMPRESSION_NONE;
    if (deflates) liana__fingerprint_add(&settings, &deflates, sizeof deflates);
    const char *name = liana__arena_format(&arena, "%016llx%016llx.elements", (unsigned long long)settings.words[0],
                                           (unsigned long long)settings.words[1]);
    const char *joined = name ? liana__path_join(&arena, options->path, name) : NULL;
    *path = joined ? strdup(joined) : NULL;
    return *path ? LIANA_OK : liana__fail_memory(error, options->path);
}

liana_dataset *liana_dataset_snapshot(liana_dataset *input, const liana_cache_options *options)
{
    if (!LIANA__STAGE_REQUIRE(input, options)) return NULL;
    if (!LIANA__STAGE_REQUIRE(input, options->path)) return NULL;
    if (!input) return NULL;
    LIANA__SCOPED_MEMORY char *path = NULL;
    if (name_snapshot(input, options, &path, &input->context->error) != LIANA_OK) {
        liana_dataset_close(input);
        return NULL;
    }
    const liana_cache_options file = {path, options->version, options->compression};
    return liana__dataset_cache_file(input, &file);
}

static size_t cached(const liana_dataset *dataset)
{
    return atomic_load(&((cache *)dataset->own)->bytes);
}

const liana_stage_type liana__stage_cache = {
    LIANA_PART(STAGE, liana_stage_type, "cache", "Keeps the elements of the first epoch in memory."),
    .close = close_cache,
    .cached = cached,
    .read = read_element,
    .begin = begin,
    .next = next,
};
