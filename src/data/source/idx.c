/* IDX files, as MNIST has them: a file of images, and a file of their labels in the same folder, or named. */
#include "formats/idx.h"
#include "data/source/source.h"

#include <stdlib.h>
#include <string.h>

typedef struct idx_pair {
    liana__idx images;
    liana__idx labels;
    bool has_labels;
    uint64_t start; /* index of its first record */
} idx_pair;

typedef struct idx_source {
    liana__source base;
    liana__arena arena; /* of lost records */
    size_t num_pairs;
    idx_pair *pairs;
} idx_source;

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    const char *name = liana__path_name(path);
    if (strstr(name, "idx1-ubyte") || strstr(name, "idx3-ubyte")) return true;
    return head_size >= 4 && head[0] == 0 && head[1] == 0 && head[2] == LIANA__IDX_U8 && head[3] >= 1 && head[3] <= 3;
}

static void close_source(void *handle)
{
    idx_source *source = handle;
    for (size_t i = 0; i < source->num_pairs; i++) {
        liana__idx_close(&source->pairs[i].images);
        if (source->pairs[i].has_labels) liana__idx_close(&source->pairs[i].labels);
    }
    free(source->pairs);
    liana__arena_free(&source->arena);
    free(source);
}

static const idx_pair *pair_of(const idx_source *source, uint64_t index)
{
    size_t pair = source->num_pairs - 1;
    while (source->pairs[pair].start > index) pair--;
    return &source->pairs[pair];
}

static liana_record_address address(const void *handle, uint64_t index)
{
    const idx_pair *pair = pair_of(handle, index);
    return (liana_record_address){pair->images.name, (int64_t)(index - pair->start), 0};
}

static void visit_files(const void *handle, liana_file_visitor *visit, void *user)
{
    const idx_source *source = handle;
    for (size_t i = 0; i < source->num_pairs; i++) {
        const idx_pair *pair = &source->pairs[i];
        if (pair->has_labels) visit(user, pair->labels.name, liana__path_name(pair->labels.name), true);
    }
}

/* Copies values of a mapped file into the buffer, so that a shortened file cannot end the process; values of an
 * inflated file are used in place. */
static liana_status copy_values(const liana__idx *idx, size_t at, size_t count, liana__file_buffer *buffer,
                                const uint8_t **values, liana__error *error)
{
    const liana__mapping *mapping = &idx->mapping;
    *values = idx->data + at;
    if (!mapping->data) return LIANA_OK;
    LIANA_TRY(liana__mapping_read(mapping, idx->name, (size_t)(*values - mapping->data), count, buffer, error));
    *values = (const uint8_t *)buffer->bytes;
    return LIANA_OK;
}

static liana_status read_label(const idx_pair *pair, size_t at, uint8_t *label, liana__error *error)
{
    const liana__mapping *mapping = &pair->labels.mapping;
    const uint8_t *place = pair->labels.data + at;
    *label = mapping->data ? 0 : *place;
    if (!mapping->data) return LIANA_OK;
    return liana__mapping_copy(mapping, pair->labels.name, (size_t)(place - mapping->data), label, 1, error);
}

static int64_t known_label(const void *handle, uint64_t index)
{
    const idx_pair *pair = pair_of(handle, index);
    uint8_t label;
    if (!pair->has_labels || read_label(pair, (size_t)(index - pair->start), &label, NULL) != LIANA_OK) return -1;
    return label;
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    const idx_pair *pair = pair_of(handle, record->index);
    size_t at = (size_t)(record->index - pair->start), height = pair->images.dimensions[1],
           width = pair->images.dimensions[2];
    LIANA_TRY(copy_values(&pair->images, at * height * width, height * width, record->scratch, &record->pixels,
                          record->error));
    record->height = (int64_t)height;
    record->width = (int64_t)width;
    record->channels = 1;
    record->has_label = pair->has_labels;
    if (!pair->has_labels) return LIANA_OK;
    uint8_t label = 0;
    LIANA_TRY(read_label(pair, at, &label, record->error));
    record->label = label;
    return LIANA_OK;
}

/* The last `from` in a text becomes `to`, of the same length. */
static bool replace_last(char *text, const char *from, const char *to)
{
    char *last = NULL;
    for (char *found = strstr(text, from); found; found = strstr(found + 1, from)) last = found;
    if (last) memcpy(last, to, strlen(to));
    return last != NULL;
}

enum { MAX_LABELS = 2 };

/* The possible names of a file of labels: "train-images-idx3-ubyte.gz" -> "train-labels-idx1-ubyte.gz", and the same
 * without ".gz"; with ".gz" second if the images have none. Returns their number; they are in the arena. */
static size_t name_labels(liana__arena *arena, const char *images, const char *names[MAX_LABELS])
{
    char *path = liana__arena_string(arena, images);
    char *name = path ? path + (liana__path_name(images) - images) : NULL;
    if (!path || strchr(name, '?') || !replace_last(name, "images", "labels")) return 0;
    replace_last(name, "idx3", "idx1");
    if (liana__ends_with(path, ".gz")) {
        names[0] = path;
        names[1] = liana__arena_format(arena, "%.*s", (int)strlen(path) - 3, path);
    } else {
        names[0] = liana__arena_format(arena, "%s.gz", path);
        names[1] = path;
    }
    return names[0] && names[1] ? MAX_LABELS : 0;
}

/* Finds the file of labels in the folder of the images, or on their server. NULL: there is none. */
static liana_status find_labels(liana__remote *remote, liana__arena *arena, const char *images, const char **labels,
                                liana__error *error)
{
    const char *names[MAX_LABELS];
    *labels = NULL;
    size_t count = name_labels(arena, images, names);
    for (size_t i = 0; i < count; i++) {
        if (!liana__file_exists(names[i])) continue;
        *labels = names[i];
        return LIANA_OK;
    }
    if (!count || !liana__path_is_remote(liana__remote_name(images))) return LIANA_OK;
    liana__remote_file_of_many wanted[MAX_LABELS] = {{.name = liana__remote_name(names[0])},
                                                     {.name = liana__remote_name(names[1])}};
    LIANA_TRY(liana__remote_files(remote, wanted, count, arena, error));
    for (size_t i = 0; i < count && !*labels; i++) {
        if (wanted[i].status == LIANA_OK) *labels = wanted[i].path;
    }
    return LIANA_OK;
}

/* Opens a file, or notes that it is lost. */
static liana_status open_file(idx_source *source, const char *path, liana__idx *idx, bool *lost, liana__error *error)
{
    liana__error own = {0};
    *lost = liana__idx_open(path, 0, source->base.skip_damage, idx, &own) != LIANA_OK;
    return *lost ? liana__source_lose_file(&source->base, &source->arena, path, &own, error) : LIANA_OK;
}

/* Notes the missing part of a truncated file. */
static liana_status note_missing(idx_source *source, const liana__idx *idx, const char *what, liana__error *error)
{
    if (!idx->missing) return LIANA_OK;
    size_t count = idx->dimensions[0];
    int64_t end = (int64_t)(4 + 4 * (size_t)idx->num_dimensions + idx->size);
    int64_t bytes = idx->mapping.data ? (int64_t)idx->mapping.size - end : 0;
    const char *reason = liana__arena_format(&source->arena, "'%s' is truncated: it has %zu of %zu %s", idx->name,
                                             count, count + idx->missing, what);
    if (!reason) return liana__fail_memory(error, idx->name);
    liana__lost lost = {idx->name, (int64_t)count, end, bytes, reason};
    return liana__source_add_lost(&source->base, &source->arena, &lost, error);
}

static liana_status check_images(const liana__idx *images, liana__error *error)
{
    LIANA_TRY(liana__idx_expect_u8(images, 3, "images of 3 dimensions: number, height, width", error));
    const size_t *dimensions = images->dimensions;
    if (dimensions[1] && dimensions[2]) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s': its images are empty: %zu x %zu pixels", images->name,
                       dimensions[1], dimensions[2]);
}

/* Where one of the two is cut, the other may have more. */
static liana_status check_labels(const idx_pair *pair, liana__error *error)
{
    LIANA_TRY(liana__idx_expect_u8(&pair->labels, 1, "labels of 1 dimension", error));
    size_t num_images = pair->images.dimensions[0] + pair->images.missing;
    size_t num_labels = pair->labels.dimensions[0] + pair->labels.missing;
    if (num_labels == num_images) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' has %zu labels, but '%s' has %zu images", pair->labels.name,
                       num_labels, pair->images.name, num_images);
}

static liana_status open_pair(idx_source *source, const char *images, const char *labels,
                              const liana__source_options *options, liana__error *error)
{
    idx_pair *pair = &source->pairs[source->num_pairs];
    bool lost;
    LIANA_TRY(open_file(source, images, &pair->images, &lost, error));
    if (lost) return LIANA_OK;
    source->num_pairs++;
    LIANA_TRY(check_images(&pair->images, error));
    LIANA_TRY(note_missing(source, &pair->images, "images", error));
    pair->start = source->base.num_records;
    uint64_t count = pair->images.dimensions[0];
    if (labels) {
        LIANA_TRY(open_file(source, labels, &pair->labels, &lost, error));
        pair->has_labels = !lost;
        /* Images without labels are useless where labels are needed. */
        if (lost && !options->ignore_labels) count = 0;
        if (!lost) LIANA_TRY(check_labels(pair, error));
        if (!lost) LIANA_TRY(note_missing(source, &pair->labels, "labels", error));
        if (!lost && pair->labels.dimensions[0] < count) count = pair->labels.dimensions[0];
    }
    source->base.num_records += count;
    return LIANA_OK;
}

/* Whether a file holds labels: told by its name, or else by its dimensions. */
static bool holds_labels(const char *path)
{
    const char *name = liana__path_name(path);
    if (strstr(name, "labels") || strstr(name, "idx1")) return true;
    if (strstr(name, "images") || strstr(name, "idx3")) return false;
    liana__idx idx;
    /* Errors are reported when the file is really opened. */
    if (liana__idx_open(path, 0, true, &idx, NULL) != LIANA_OK) return false;
    bool labels = idx.num_dimensions == 1;
    liana__idx_close(&idx);
    return labels;
}

/* The paths parted into files of images and files of labels. */
typedef struct idx_files {
    size_t num_images;
    size_t num_labels;
    const char **images;
    const char **labels;
} idx_files;

static liana_status part_files(const liana__paths *paths, liana__arena *arena, idx_files *files, liana__error *error)
{
    files->images = liana__arena_allocate(arena, paths->count * sizeof *files->images);
    files->labels = liana__arena_allocate(arena, paths->count * sizeof *files->labels);
    if (arena->failed) return liana__fail_memory(error, "a list of files");
    for (size_t i = 0; i < paths->count; i++) {
        if (holds_labels(paths->items[i])) {
            files->labels[files->num_labels++] = paths->items[i];
        } else {
            files->images[files->num_images++] = paths->items[i];
        }
    }
    return LIANA_OK;
}

/* Finds the labels of each file of images. Files of labels that are named must each belong to one of images. */
static liana_status pair_files(idx_source *source, const idx_files *files, const liana__source_options *options,
                               liana__arena *arena, liana__error *error)
{
    const char *labels_option = options->labels;
    if (files->num_images == 0) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' holds labels; name the file of images", files->labels[0]);
    }
    if (files->num_images > 1 && labels_option) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "one file of labels ('%s') cannot be used for %zu files of images", labels_option,
                           files->num_images);
    }
    size_t num_used = 0;
    for (size_t i = 0; i < files->num_images; i++) {
        const char *labels = labels_option;
        if (!labels) LIANA_TRY(find_labels(options->remote, arena, files->images[i], &labels, error));
        if (!labels && files->num_images == 1 && files->num_labels == 1) labels = files->labels[0];
        for (size_t k = 0; labels && k < files->num_labels; k++) num_used += strcmp(labels, files->labels[k]) == 0;
        LIANA_TRY(open_pair(source, files->images[i], labels, options, error));
    }
    if (num_used == files->num_labels) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "of the files of labels ('%s', ...) %zu belong to none of the files of images; they belong "
                       "together by name: 'train-images-idx3-ubyte' and 'train-labels-idx1-ubyte'",
                       files->labels[0], files->num_labels - num_used);
}

static liana_status open_source(liana_source_opening *opening)
{
    const liana__paths *paths = &(liana__paths){(char **)opening->paths, opening->num_paths};
    const liana__source_options *options = opening->options;
    liana__error *error = opening->error;
    idx_source *source = liana__source_make(opening, sizeof *source);
    if (!source) return LIANA_OUT_OF_MEMORY;
    source->pairs = calloc(paths->count, sizeof *source->pairs);
    if (!source->pairs) return liana__fail_memory(error, "IDX files");
    liana__arena arena = {0};
    idx_files files = {0};
    liana_status status = part_files(paths, &arena, &files, error);
    if (status == LIANA_OK) status = pair_files(source, &files, options, &arena, error);
    liana__arena_free(&arena);
    source->base.has_labels = true;
    for (size_t i = 0; i < source->num_pairs; i++) {
        bool used = source->pairs[i].start <
                    (i + 1 < source->num_pairs ? source->pairs[i + 1].start : source->base.num_records);
        source->base.has_labels &= source->pairs[i].has_labels || !used;
        source->base.memory += source->pairs[i].images.inflated ? source->pairs[i].images.size : 0;
    }
    return status;
}

const liana_source_type liana__source_idx = {
    LIANA_PART(SOURCE, liana_source_type, "idx",
               "IDX files (MNIST), plain or gzipped: images, and labels in a second file."),
    .recognises = recognises,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .visit_files = visit_files,
    .known_label = known_label,
    .scratch_size = sizeof(liana__file_buffer),
    .num_buffers = 1,
};
