/* Keeps decoded images in memory or in a file. */
#include "data/cache/image_cache.h"

#include "base/memory.h"
#include "base/scoped.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* Only memory has FULL entries: in a file, other processes may have written an entry that is EMPTY here. Only a file
 * has DAMAGED entries; each was reported. */
typedef enum entry_state { ENTRY_EMPTY, ENTRY_FILLING, ENTRY_FULL, ENTRY_DAMAGED } entry_state;

/* An entry is written by the thread that moved its state to filling. */
struct liana__image_cache {
    uint64_t count; /* records below this one are kept */
    size_t image_size;
    atomic_uchar *states;
    /* In memory. */
    uint8_t *images;
    int32_t *labels;
    char **ids; /* malloc'ed */
    size_t *id_sizes;
    /* In a file. */
    const liana__source *source;
    liana__decoded_file *file;
    atomic_bool unusable; /* it became shorter */
    atomic_bool full;     /* writing failed */
    pthread_mutex_t mutex;
    /* Guarded by the mutex. */
    uint64_t num_damaged;
    uint64_t first_damaged;
    liana__text notes;
};

static liana__image_cache *allocate(uint64_t count, size_t image_size)
{
    liana__image_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return NULL;
    cache->count = count;
    cache->image_size = image_size;
    pthread_mutex_init(&cache->mutex, NULL);
    cache->states = calloc(count, sizeof *cache->states);
    if (cache->states) return cache;
    liana__image_cache_destroy(cache);
    return NULL;
}

/* ---- in memory ---- */

static bool allocate_images(liana__image_cache *cache)
{
    size_t count = cache->count, size;
    if (!__builtin_mul_overflow(count, cache->image_size, &size)) cache->images = liana__allocate_large(size);
    cache->labels = calloc(count, sizeof *cache->labels);
    cache->ids = calloc(count, sizeof *cache->ids);
    cache->id_sizes = calloc(count, sizeof *cache->id_sizes);
    return cache->images && cache->labels && cache->ids && cache->id_sizes;
}

liana_status liana__image_cache_create(uint64_t count, size_t image_size, liana__image_cache **out, liana__error *error)
{
    *out = allocate(count, image_size);
    if (*out && allocate_images(*out)) return LIANA_OK;
    liana__image_cache_destroy(*out);
    *out = NULL;
    return liana__fail(error, LIANA_OUT_OF_MEMORY, "out of memory for keeping %" PRIu64 " decoded images of %zu bytes",
                       count, image_size);
}

static bool find_in_memory(const liana__image_cache *cache, uint64_t record, liana__cached_image *image)
{
    if (atomic_load(&cache->states[record]) != ENTRY_FULL) return false;
    *image = (liana__cached_image){.pixels = cache->images + record * cache->image_size,
                                   .label = cache->labels[record],
                                   .id = cache->ids[record],
                                   .id_size = cache->id_sizes[record]};
    return true;
}

static entry_state keep_in_memory(liana__image_cache *cache, uint64_t record, const liana__cached_image *image)
{
    char *copy = image->id ? malloc(image->id_size + 1) : NULL;
    if (image->id && !copy) return ENTRY_EMPTY;
    if (copy) memcpy(copy, image->id, image->id_size);
    uint8_t *place = cache->images + record * cache->image_size;
    size_t size = cache->image_size - image->values_size;
    memcpy(place, image->pixels, size);
    if (image->values_size) memcpy(place + size, image->values, image->values_size);
    cache->labels[record] = image->label;
    cache->ids[record] = copy;
    cache->id_sizes[record] = image->id_size;
    return ENTRY_FULL;
}

/* ---- in a file ---- */

static liana__decoded_file_contents describe(const liana__source *source,
                                             const liana__image_cache_file_options *options)
{
    const liana__decode_options *image = options->image;
    liana__decoded_file_contents contents = {.num_records = source->num_records};
    contents.image_size = liana__decoded_bytes(image) + options->values_size;
    const int64_t numbers[] = {image->height,    image->width, image->channels,
                               image->antialias, image->fast,  source->has_labels};
    liana__fingerprint_add(&contents.settings, numbers, sizeof numbers);
    /* Files of rounded images keep the names that they had before there were others. */
    if (image->fractions) liana__fingerprint_add_text(&contents.settings, "fractions");
    liana__fingerprint_add_text(&contents.settings, source->kind->part.name);
    liana__fingerprint_add_text(&contents.settings, options->settings);
    if (options->values_size) liana__fingerprint_add_text(&contents.settings, options->values_settings);
    liana__source_fingerprint(source, &contents.settings, &contents.sources);
    for (size_t i = 0; i < options->files.count; i++) {
        liana__fingerprint_add_file(&contents.settings, &contents.sources, options->files.items[i], 0);
    }
    return contents;
}

static liana_status open_file(liana__image_cache *cache, const liana__image_cache_file_options *options,
                              const liana__decoded_file_contents *contents, liana__error *error)
{
    char why[80];
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *name =
        liana__arena_format(&arena, "%s-%016" PRIx64 ".images", options->name, contents->settings.words[0]);
    const char *path = name ? liana__path_join(&arena, options->folder, name) : NULL;
    if (!path) return liana__fail_memory(error, "decoded images");
    LIANA_TRY(liana__folder_make(options->folder, error));
    LIANA_TRY(liana__decoded_file_open(path, contents, &cache->file, why, sizeof why, error));
    if (*why) liana__text_add(&cache->notes, "the cache '%s' is made again: %s", path, why);
    return LIANA_OK;
}

liana_status liana__image_cache_open(const liana__source *source, const liana__image_cache_file_options *options,
                                     liana__image_cache **out, liana__error *error)
{
    liana__decoded_file_contents contents = describe(source, options);
    *out = allocate(source->num_records, contents.image_size);
    if (!*out) return liana__fail_memory(error, "decoded images");
    (*out)->source = source;
    liana_status status = open_file(*out, options, &contents, error);
    if (status == LIANA_OK) return LIANA_OK;
    liana__image_cache_destroy(*out);
    *out = NULL;
    return status;
}

/* The first time that a record is found to be damaged. */
static void count_damage(liana__image_cache *cache, uint64_t record)
{
    unsigned char expected = ENTRY_EMPTY;
    if (!atomic_compare_exchange_strong(&cache->states[record], &expected, ENTRY_DAMAGED)) return;
    pthread_mutex_lock(&cache->mutex);
    if (cache->num_damaged++ == 0) cache->first_damaged = record;
    pthread_mutex_unlock(&cache->mutex);
}

static void add_note(liana__image_cache *cache, const char *what, const char *why)
{
    pthread_mutex_lock(&cache->mutex);
    liana__text_add(&cache->notes, "%s%s%s", cache->notes.length ? "; " : "", what, why);
    pthread_mutex_unlock(&cache->mutex);
}

static bool find_in_file(liana__image_cache *cache, uint64_t record, liana__decoded_file_room *room,
                         liana__cached_image *image)
{
    if (atomic_load(&cache->unusable) || atomic_load(&cache->states[record]) == ENTRY_FILLING) return false;
    switch (liana__decoded_file_find(cache->file, record, room, image)) {
    case LIANA__DECODED_FILE_WHOLE: return true;
    case LIANA__DECODED_FILE_EMPTY: return false;
    case LIANA__DECODED_FILE_DAMAGED: count_damage(cache, record); return false;
    case LIANA__DECODED_FILE_SHORTER:
        if (!atomic_exchange(&cache->unusable, true)) {
            add_note(cache, "images are decoded from now on, since somebody shortened their cache: ",
                     liana__decoded_file_path(cache->file));
        }
        return false;
    }
    return false;
}

static entry_state keep_in_file(liana__image_cache *cache, uint64_t record, const liana__cached_image *image)
{
    if (atomic_load(&cache->unusable) || atomic_load(&cache->full)) return ENTRY_EMPTY;
    liana__error error = {0};
    liana_status status = liana__decoded_file_write(cache->file, record, image, &error);
    if (status != LIANA_OK && !atomic_exchange(&cache->full, true)) {
        add_note(cache, "images are decoded in each epoch from now on: ", error.message);
    }
    return ENTRY_EMPTY;
}

/* ---- both ---- */

void liana__image_cache_destroy(liana__image_cache *cache)
{
    if (!cache) return;
    for (uint64_t i = 0; cache->ids && i < cache->count; i++) free(cache->ids[i]);
    free(cache->ids);
    free(cache->id_sizes);
    free(cache->images);
    free(cache->labels);
    free(cache->states);
    liana__decoded_file_close(cache->file);
    liana__text_free(&cache->notes);
    pthread_mutex_destroy(&cache->mutex);
    free(cache);
}

uint64_t liana__image_cache_count(const liana__image_cache *cache)
{
    return cache ? cache->count : 0;
}

uint64_t liana__image_cache_size(const liana__image_cache *cache)
{
    if (!cache) return 0;
    return cache->file ? liana__decoded_file_size(cache->file) : cache->count * cache->image_size;
}

const char *liana__image_cache_path(const liana__image_cache *cache)
{
    return cache && cache->file ? liana__decoded_file_path(cache->file) : NULL;
}

bool liana__image_cache_find(liana__image_cache *cache, uint64_t record, liana__decoded_file_room *room,
                             liana__cached_image *image)
{
    if (!cache || record >= cache->count) return false;
    return cache->file ? find_in_file(cache, record, room, image) : find_in_memory(cache, record, image);
}

bool liana__image_cache_expect(liana__image_cache *cache, uint64_t record)
{
    if (!cache || record >= cache->count) return false;
    if (!cache->file) return atomic_load(&cache->states[record]) == ENTRY_FULL;
    return !atomic_load(&cache->unusable) && liana__decoded_file_expect(cache->file, record);
}

void liana__image_cache_keep(liana__image_cache *cache, uint64_t record, const liana__cached_image *image)
{
    if (!cache || record >= cache->count) return;
    atomic_uchar *state = &cache->states[record];
    unsigned char expected = atomic_load(state);
    if (expected != ENTRY_EMPTY && expected != ENTRY_DAMAGED) return;
    if (!atomic_compare_exchange_strong(state, &expected, ENTRY_FILLING)) return;
    entry_state now = cache->file ? keep_in_file(cache, record, image) : keep_in_memory(cache, record, image);
    atomic_store(state, (unsigned char)now);
}

static void describe_damage(liana__image_cache *cache, liana__text *text)
{
    liana_record_address address = liana__source_address(cache->source, cache->first_damaged);
    liana__text_add(text, "in the cache '%s' %" PRIu64 " image%s damaged and decoded again, first that of '%s'",
                    liana__decoded_file_path(cache->file), cache->num_damaged,
                    cache->num_damaged == 1 ? " was" : "s were", address.file);
    if (address.record >= 0) liana__text_add(text, ", record %" PRId64, address.record);
}

bool liana__image_cache_take_note(liana__image_cache *cache, liana__text *text)
{
    if (!cache || !cache->file) return false;
    pthread_mutex_lock(&cache->mutex);
    bool any = cache->notes.length > 0 || cache->num_damaged > 0;
    if (cache->notes.length) liana__text_add(text, "%s", cache->notes.data);
    if (cache->notes.length && cache->num_damaged) liana__text_add(text, "; ");
    if (cache->num_damaged) describe_damage(cache, text);
    cache->notes.length = 0;
    cache->num_damaged = 0;
    pthread_mutex_unlock(&cache->mutex);
    return any;
}
