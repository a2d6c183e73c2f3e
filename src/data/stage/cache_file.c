/* Keeps elements in a file: those of the first epoch, for all programs that compute the same from the same data. */
#include "base/descriptor.h"
#include "base/scoped.h"
#include "data/dataset/dataset_source.h"
#include "data/dataset/element_file.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct cache {
    const char *path;
    const char *version;
    bool deflates;
    /* When an element is first asked for, the file is opened, or made by going through the input once. */
    pthread_mutex_t mutex;
    liana__element_file *file;
    liana__error failure;
    atomic_bool ready;
    atomic_bool damaged; /* the program has been told, and the file is removed */
} cache;

static void close_cache(liana_dataset *dataset)
{
    cache *own = dataset->own;
    liana__element_file_close(own->file);
    pthread_mutex_destroy(&own->mutex);
}

/* ---- making the file ---- */

static liana__element_file_contents describe(const liana_dataset *dataset)
{
    const cache *own = dataset->own;
    liana__element_file_contents contents = {.num_elements = dataset->length, .deflated = own->deflates};
    liana__fingerprint_add_text(&contents.settings, own->version);
    liana__dataset_describe(dataset->inputs[0], &contents.settings, &contents.sources);
    if (own->deflates) liana__fingerprint_add(&contents.settings, &own->deflates, sizeof own->deflates);
    return contents;
}

static liana_status fill(const liana_dataset *dataset, liana__element_file_writer *writer, liana__error *error)
{
    static const liana__at first;
    liana__budget budget = {.memory = LIANA__DATASET_MEMORY};
    liana__pace pace = {liana_context_num_threads(dataset->context), &budget};
    liana__cursor *cursor;
    LIANA_TRY(liana__cursor_open(dataset->inputs[0], pace, &first, &cursor, error));
    liana_element element;
    liana_status status = LIANA_OK;
    while (status == LIANA_OK) {
        status = liana__cursor_next(cursor, &element, error);
        if (status == LIANA_OK) status = liana__element_file_add(writer, &element, error);
    }
    liana__cursor_close(cursor);
    return status == LIANA_END_OF_DATA ? LIANA_OK : status;
}

static liana_status write_file(const liana_dataset *dataset, const liana__element_file_contents *contents,
                               liana__error *error)
{
    const cache *own = dataset->own;
    liana__element_file_writer writer;
    LIANA_TRY(liana__element_file_begin(&writer, own->path, contents, error));
    liana_status status = fill(dataset, &writer, error);
    if (status == LIANA_OK) status = liana__element_file_commit(&writer, error);
    if (status != LIANA_OK) liana__element_file_abandon(&writer);
    return status;
}

static liana_status open_file(const liana_dataset *dataset, const liana__element_file_contents *contents, char *why,
                              size_t why_size, liana__error *error)
{
    cache *own = dataset->own;
    return liana__element_file_open(own->path, contents, &own->file, why, why_size, error);
}

/* The lock of the file's makers, -1 where the file system has none. Its last holder may have removed the file
 * that it was on. */
static int take_lock(const char *path)
{
    for (;;) {
        struct stat info;
        int lock = liana__open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
        if (lock < 0) return -1;
        if (flock(lock, LOCK_EX) != 0 || fstat(lock, &info) != 0 || info.st_nlink > 0) return lock;
        close(lock);
    }
}

static liana_status open_or_write(const liana_dataset *dataset, const liana__element_file_contents *contents,
                                  liana__error *error)
{
    cache *own = dataset->own;
    char why[80];
    LIANA_TRY(open_file(dataset, contents, why, sizeof why, error));
    if (own->file) return LIANA_OK;
    if (*why) liana__log(dataset->context, LIANA__LOG_DATA, "the cache '%s' is made again: %s", own->path, why);
    LIANA_TRY(write_file(dataset, contents, error));
    LIANA_TRY(open_file(dataset, contents, why, sizeof why, error));
    if (own->file) return LIANA_OK;
    return liana__fail(error, LIANA_DATA_LOSS, "'%s' was written, but %s", own->path,
                       *why ? why : "it does not exist any more");
}

/* One of several processes makes the file. The lock is a file next to it, and ends with the process. A lock on the
 * folder could block caches in it that are made from each other. */
static liana_status make_file(const liana_dataset *dataset, const liana__element_file_contents *contents,
                              liana__error *error)
{
    const cache *own = dataset->own;
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *folder = liana__path_folder(&arena, own->path);
    const char *lock_path = liana__arena_format(&arena, "%s.lock", own->path);
    if (arena.failed) return liana__fail_memory(error, own->path);
    LIANA_TRY(liana__folder_make(folder, error));
    int lock = take_lock(lock_path);
    liana_status status = open_or_write(dataset, contents, error);
    if (lock >= 0) unlink(lock_path);
    if (lock >= 0) close(lock);
    return status;
}

static liana_status get_ready(const liana_dataset *dataset, liana__error *error)
{
    cache *own = dataset->own;
    if (atomic_load(&own->ready)) return LIANA_OK;
    pthread_mutex_lock(&own->mutex);
    liana_status status = own->failure.status;
    if (!atomic_load(&own->ready) && status == LIANA_OK) {
        char why[80];
        liana__element_file_contents contents = describe(dataset);
        status = open_file(dataset, &contents, why, sizeof why, &own->failure);
        if (status == LIANA_OK && !own->file) status = make_file(dataset, &contents, &own->failure);
        if (status != LIANA_OK) liana__fail_within(&own->failure, "%s", dataset->name);
        if (status == LIANA_OK) atomic_store(&own->ready, true);
    }
    if (status != LIANA_OK && error) *error = own->failure;
    pthread_mutex_unlock(&own->mutex);
    return status;
}

/* ---- reading it ---- */

/* Reported once. The next process that opens the file makes it again. */
static void note_damage(const liana_dataset *dataset, const liana__error *damage)
{
    cache *own = dataset->own;
    if (atomic_exchange(&own->damaged, true)) return;
    unlink(own->path);
    liana__log(dataset->context, LIANA__LOG_DATA, "the cache is damaged and was removed, elements are made again: %s",
               damage->message);
}

static size_t buffer_bytes(const liana__reader *reader)
{
    return liana__element_buffer_bytes(reader->own);
}

/* The index that the file will have when it is opened. */
static size_t memory_of(const liana_dataset *dataset)
{
    return dataset->length > 0 ? liana__element_file_memory((uint64_t)dataset->length) : 0;
}

static void free_buffer(void *own)
{
    liana__element_buffer_free(own);
}

static liana_status read_element(liana__reader *reader, const liana__at *at, liana_element *element,
                                 liana__error *error)
{
    const liana_dataset *dataset = reader->dataset;
    const cache *own = dataset->own;
    LIANA_TRY(get_ready(dataset, error));
    liana__error damage = {0};
    liana__element_buffer *buffer = reader->own;
    liana__element_buffer_share(buffer, reader->share);
    liana_status status = liana__element_file_read(own->file, &dataset->spec, at->index, buffer, element, &damage);
    if (status == LIANA_OK) return LIANA_OK;
    if (status == LIANA_OUT_OF_MEMORY) return liana__fail_as(error, &damage);
    note_damage(dataset, &damage);
    liana__at first = {.index = at->index};
    return liana__reader_read(reader->inputs[0], &first, element, error);
}

static liana_status begin(liana__cursor *cursor, uint64_t start, liana__error *error)
{
    (void)error;
    cursor->index = start;
    return LIANA_OK;
}

static void free_cursor(liana__cursor *cursor)
{
    free_buffer(cursor->own);
}

/* From a damaged element on, those of the input. */
static liana_status next(liana__cursor *cursor, liana_element *element, liana__error *error)
{
    const liana_dataset *dataset = cursor->dataset;
    const cache *own = dataset->own;
    LIANA_TRY(get_ready(dataset, error));
    if (cursor->index >= liana__element_file_count(own->file)) return LIANA_END_OF_DATA;
    if (!cursor->inputs[0]) {
        liana__error damage = {0};
        liana_status status =
            liana__element_file_read(own->file, &dataset->spec, cursor->index, cursor->own, element, &damage);
        if (status == LIANA_OK) return LIANA_OK;
        if (status == LIANA_OUT_OF_MEMORY) return liana__fail_as(error, &damage);
        note_damage(dataset, &damage);
        liana__at at = {.index = cursor->index};
        LIANA_TRY(liana__cursor_open(dataset->inputs[0], cursor->pace, &at, &cursor->inputs[0], error));
        cursor->num_inputs = 1;
    }
    return liana__cursor_next(cursor->inputs[0], element, error);
}

/* A cache that is made of itself would wait for itself. */
static bool keeps_at(const liana_dataset *dataset, const char *path)
{
    if (dataset->kind == &liana__stage_cache_file && strcmp(((const cache *)dataset->own)->path, path) == 0)
        return true;
    bool found = false;
    for (size_t i = 0; i < dataset->num_inputs && !found; i++) found = keeps_at(dataset->inputs[i], path);
    return found;
}

liana_dataset *liana__dataset_cache_file(liana_dataset *input, const liana_cache_options *options)
{
    liana_dataset *dataset = liana__dataset_stage(&liana__stage_cache_file, input, sizeof(cache));
    if (!dataset) return NULL;
    liana__error *error = &dataset->context->error;
    cache *own = dataset->own;
    own->path = own->version = "";
    pthread_mutex_init(&own->mutex, NULL);
    dataset->varies = dataset->length_varies = false;
    liana_status status = LIANA_OK;
    if (dataset->length == LIANA_INFINITE) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "the data are endless; put it before repeat");
    } else if (!options->path || !*options->path) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "the path of the file is missing");
    } else if (keeps_at(input, options->path)) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT,
                             "'%s' is also the file of an input: a cache cannot be made from itself", options->path);
    } else if ((unsigned)options->compression > LIANA_COMPRESSION_ZLIB) {
        status = liana__fail(error, LIANA_INVALID_ARGUMENT, "compression is %d, expected a liana_compression",
                             (int)options->compression);
    } else {
        own->deflates =
            options->compression == LIANA_COMPRESSION_GZIP || options->compression == LIANA_COMPRESSION_ZLIB;
        own->path = liana__arena_string(&dataset->arena, options->path);
        if (options->version) own->version = liana__arena_string(&dataset->arena, options->version);
    }
    return liana__dataset_finish(dataset, status);
}

const liana_stage_type liana__stage_cache_file = {
    LIANA_PART(STAGE, liana_stage_type, "cache_file", "Keeps the elements of the first epoch in a file."),
    .close = close_cache,
    .memory = memory_of,
    .read = read_element,
    .reader_size = sizeof(liana__element_buffer),
    .reader_free = free_buffer,
    .reader_bytes = buffer_bytes,
    .begin = begin,
    .next = next,
    .cursor_size = sizeof(liana__element_buffer),
    .cursor_free = free_cursor,
};
