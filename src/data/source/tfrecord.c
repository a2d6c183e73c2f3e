/* TFRecord files of tf.Example: an encoded image, and perhaps a label and an id, under names that are found by looking
 * at the first record unless they are given. */
#include "formats/tfrecord.h"
#include "data/source.h"
#include "formats/crc32c.h"
#include "formats/example.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

typedef struct tfrecord_source {
    liana__source base;
    liana__arena arena;
    size_t num_files;
    liana__tfrecord **files;
    uint64_t *starts; /* [num_files + 1] index of each file's first record */
    const char *image;
    const char *label; /* NULL: no labels */
    const char *id;    /* NULL: no ids */
} tfrecord_source;

/* The usual names, best first: those of Kaggle's flowers, then TF-slim's. */
static const char *const IMAGE_NAMES[] = {"image", "image/encoded", "image_bytes", "jpeg", "png"};
static const char *const LABEL_NAMES[] = {"class", "label", "image/class/label"};
static const char *const ID_NAMES[] = {"id", "image_id", "image/filename", "filename", "image/source_id"};
#define COUNT(names) (sizeof(names) / sizeof *(names))

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    const char *name = liana__path_name(path);
    if (strstr(name, "tfrec") || strstr(name, ".record")) return true;
    if (head_size < 12) return false;
    uint32_t said = (uint32_t)head[8] | (uint32_t)head[9] << 8 | (uint32_t)head[10] << 16 | (uint32_t)head[11] << 24;
    return liana__crc32c_mask(liana__crc32c(head, 8)) == said;
}

static void close_source(liana__source *base)
{
    tfrecord_source *source = (tfrecord_source *)base;
    for (size_t i = 0; i < source->num_files; i++) liana__tfrecord_close(source->files[i]);
    liana__arena_free(&source->arena);
    free(source);
}

/* The last file that starts at or before the index (files without records start where the next one does). */
static size_t file_of(const tfrecord_source *source, uint64_t index)
{
    size_t low = 0, high = source->num_files;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (source->starts[middle] <= index) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

static liana__record_address address(const liana__source *base, uint64_t index)
{
    const tfrecord_source *source = (const tfrecord_source *)base;
    size_t file = file_of(source, index);
    return (liana__record_address){liana__tfrecord_name(source->files[file]), (int64_t)(index - source->starts[file])};
}

static liana_status parse(const tfrecord_source *source, uint64_t index, liana__example *example, liana__error *error)
{
    size_t file = file_of(source, index);
    size_t record = (size_t)(index - source->starts[file]), size;
    const uint8_t *bytes;
    LIANA_TRY(liana__tfrecord_get(source->files[file], record, &bytes, &size, error));
    return liana__example_parse(example, liana__tfrecord_name(source->files[file]), record, bytes, size, error);
}

static liana_status read_record(const liana__source *base, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    const tfrecord_source *source = (const tfrecord_source *)base;
    liana__example *example = scratch;
    LIANA_TRY(parse(source, index, example, error));
    liana__feature id;
    if (source->id && liana__example_find(example, source->id, &id) && id.kind == LIANA__FEATURE_BYTES &&
        id.count == 1) {
        record->id = (const char *)id.bytes[0].data;
        record->id_size = id.bytes[0].len;
    }
    LIANA_TRY(liana__example_bytes(example, source->image, &record->bytes, &record->size, error));
    if (source->label) {
        LIANA_TRY(liana__example_int64(example, source->label, &record->label, error));
        record->has_label = true;
    }
    return LIANA_OK;
}

/* The first of the names that the record has as a feature of one value of that kind, or NULL. */
static const char *look(const liana__example *example, const char *const *names, size_t count, liana__feature_kind kind)
{
    for (size_t i = 0; i < count; i++) {
        liana__feature feature;
        if (liana__example_find(example, names[i], &feature) && feature.kind == kind && feature.count == 1) {
            return names[i];
        }
    }
    return NULL;
}

static int64_t offset(const liana__source *base, uint64_t index)
{
    const tfrecord_source *source = (const tfrecord_source *)base;
    size_t file = file_of(source, index);
    return (int64_t)liana__tfrecord_offset(source->files[file], (size_t)(index - source->starts[file]));
}

/* The record at which features are looked for: the first one, or the first that can be read. */
static liana_status find_pattern(const tfrecord_source *source, bool skip_damage, liana__example *example,
                                 uint64_t *index, liana__error *error)
{
    liana_status status = LIANA_OK;
    for (*index = 0; *index < source->base.num_records; ++*index) {
        liana__error own = {0};
        status = parse(source, *index, example, &own);
        if (status == LIANA_OK) return LIANA_OK;
        if (error && *index == 0) *error = own;
        if (!skip_damage || !liana__source_is_bad_record(status)) return status;
    }
    *index = 0;
    return status;
}

static liana_status choose_features(tfrecord_source *source, const liana__source_options *options,
                                    liana__example *example, liana__error *error)
{
    source->image = liana__arena_string(&source->arena, options->image_feature);
    source->label = liana__arena_string(&source->arena, options->label_feature);
    source->id = liana__arena_string(&source->arena, options->id_feature);
    if (source->arena.failed) return liana__fail_memory(error, "feature names");
    uint64_t pattern;
    LIANA_TRY(find_pattern(source, options->skip_damage, example, &pattern, error));
    if (!source->image) source->image = look(example, IMAGE_NAMES, COUNT(IMAGE_NAMES), LIANA__FEATURE_BYTES);
    if (!source->label) source->label = look(example, LABEL_NAMES, COUNT(LABEL_NAMES), LIANA__FEATURE_INT64);
    if (!source->id) source->id = look(example, ID_NAMES, COUNT(ID_NAMES), LIANA__FEATURE_BYTES);
    /* None of the usual names: reading the first record will fail and list the features that there are. */
    if (!source->image) source->image = IMAGE_NAMES[0];
    source->base.has_labels = source->label != NULL;
    liana__record record = {0};
    return read_record(&source->base, pattern, example, &record, error);
}

static liana_status add_lost(tfrecord_source *source, const liana__lost *lost, liana__error *error)
{
    liana__lost *entry = &source->base.lost[source->base.num_lost++];
    *entry = *lost;
    entry->file = liana__arena_string(&source->arena, lost->file);
    entry->reason = liana__arena_string(&source->arena, lost->reason);
    return source->arena.failed ? liana__fail_memory(error, "a list of files") : LIANA_OK;
}

/* Opens the next file as far as it can be read; one that cannot be at all is lost as a whole. */
static liana_status open_file(tfrecord_source *source, const char *path, bool skip_damage, liana__error *error)
{
    liana__tfrecord_options options = {.keep_start = skip_damage};
    liana__tfrecord **file = &source->files[source->num_files];
    liana__error own = {0};
    liana_status status = liana__tfrecord_open(path, &options, file, &own);
    if (status != LIANA_OK && skip_damage && liana__source_is_bad_record(status)) {
        struct stat info;
        int64_t bytes = stat(path, &info) == 0 ? (int64_t)info.st_size : 0;
        return add_lost(source, &(liana__lost){path, 0, 0, bytes, own.message}, error);
    }
    if (status != LIANA_OK) {
        if (error) *error = own;
        return status;
    }
    size_t count = liana__tfrecord_count(*file);
    source->starts[source->num_files + 1] = source->starts[source->num_files] + count;
    source->num_files++;
    uint64_t begin, bytes;
    const char *damage = liana__tfrecord_damage(*file, &begin, &bytes);
    if (!damage) return LIANA_OK;
    return add_lost(source, &(liana__lost){path, (int64_t)count, (int64_t)begin, (int64_t)bytes, damage}, error);
}

static liana_status open_files(tfrecord_source *source, const liana__paths *paths, bool skip_damage,
                               liana__error *error)
{
    source->files = liana__arena_allocate(&source->arena, paths->count * sizeof(liana__tfrecord *));
    source->starts = liana__arena_allocate(&source->arena, (paths->count + 1) * sizeof *source->starts);
    source->base.lost = liana__arena_allocate(&source->arena, (paths->count + 1) * sizeof *source->base.lost);
    if (source->arena.failed) return liana__fail_memory(error, "a list of files");
    for (size_t i = 0; i < paths->count; i++) LIANA_TRY(open_file(source, paths->items[i], skip_damage, error));
    source->base.num_records = source->starts[source->num_files];
    return LIANA_OK;
}

static liana_status open_source(const liana__paths *paths, const liana__source_options *options, liana__source **out,
                                liana__error *error)
{
    tfrecord_source *source = calloc(1, sizeof *source);
    if (!source) return liana__fail_memory(error, "TFRecord files");
    source->base.kind = &liana__source_tfrecord;
    liana_status status = open_files(source, paths, options->skip_damage, error);
    if (status == LIANA_OK && source->base.num_records > 0) {
        liana__example example = {0};
        status = choose_features(source, options, &example, error);
        liana__example_free(&example);
    }
    if (status != LIANA_OK) {
        close_source(&source->base);
        return status;
    }
    *out = &source->base;
    return LIANA_OK;
}

static void scratch_free(void *scratch)
{
    liana__example_free(scratch);
}

const liana__source_kind liana__source_tfrecord = {
    .name = "tfrecord",
    .doc = "TFRecord files of tf.Example with JPEG or PNG images, plain or gzipped.",
    .recognises = recognises,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .offset = offset,
    .scratch_size = sizeof(liana__example),
    .scratch_free = scratch_free,
};
