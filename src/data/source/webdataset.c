/* WebDataset tar archives. Consecutive files whose names differ only after the first dot of the last part
 * ("n01/0001.jpg", "n01/0001.cls") are one example. The text before that dot is its id. */
#include "base/search.h"
#include "base/text.h"
#include "data/source/column_search.h"
#include "data/source/source.h"
#include "formats/tar.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

typedef struct example_place {
    const char *key; /* not NUL-terminated */
    size_t key_size;
    uint64_t offset;                /* of its first member */
    const liana__tar_member *image; /* NULL: none, and the record is bad */
    const liana__tar_member *label; /* NULL: none */
} example_place;

typedef struct webdataset_source {
    liana__source base;
    liana__arena arena; /* of lost records */
    size_t num_files;
    liana__tar *files;
    uint64_t *starts; /* [num_files + 1] index of each file's first example */
    example_place *examples;
    size_t count;
    size_t capacity;
    size_t num_labelled;
    bool ignore_labels;
} webdataset_source;

/* Extensions as WebDataset's own tools write them, unless data.features names others. */
static const char *const IMAGE_NAMES[] = {"jpg", "jpeg", "jpe", "jfif", "png", "bmp",
                                          "gif", "webp", "tif", "tiff", "img", "image"};
static const char *const LABEL_NAMES[] = {"cls", "index", "target", "label"};
#define COUNT(names) (sizeof(names) / sizeof *(names))

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    (void)head;
    (void)head_size;
    size_t length = strlen(path);
    return length > 4 && strcasecmp(path + length - 4, ".tar") == 0;
}

static void close_source(void *handle)
{
    webdataset_source *source = handle;
    for (size_t i = 0; i < source->num_files; i++) liana__tar_close(&source->files[i]);
    free(source->files);
    free(source->starts);
    free(source->examples);
    liana__arena_free(&source->arena);
    free(source);
}

static size_t file_of(const webdataset_source *source, uint64_t index)
{
    return liana__part_of(source->starts, source->num_files, index);
}

static liana_record_address address(const void *handle, uint64_t index)
{
    const webdataset_source *source = handle;
    size_t file = file_of(source, index);
    return (liana_record_address){source->files[file].name, (int64_t)(index - source->starts[file]), 0};
}

static int64_t offset(const void *handle, uint64_t index)
{
    const example_place *place = &((const webdataset_source *)handle)->examples[index];
    return (int64_t)(place->image ? place->image->offset : place->offset);
}

/* A number in decimal digits, with white space around it. */
static bool parse_label(const uint8_t *bytes, size_t size, int64_t *label)
{
    size_t i = 0;
    while (i < size && strchr(" \t\r\n", bytes[i]) && bytes[i]) i++;
    size_t first = i;
    *label = 0;
    for (; i < size && bytes[i] >= '0' && bytes[i] <= '9' && i - first < 18; i++)
        *label = *label * 10 + (bytes[i] - '0');
    bool any = i > first;
    while (i < size && strchr(" \t\r\n", bytes[i]) && bytes[i]) i++;
    return any && i == size;
}

static void expect(const void *handle, uint64_t index)
{
    const webdataset_source *source = handle;
    const liana__tar *tar = &source->files[file_of(source, index)];
    const liana__tar_member *image = source->examples[index].image;
    if (image) liana__mapping_expect(&tar->mapping, (size_t)image->offset, (size_t)image->size);
}

/* The memory that one thread reads with. */
typedef struct member_buffers {
    liana__file_buffer image;
    liana__file_buffer label;
} member_buffers;

/* Copies a member, so that nobody who shortens the file can end the process. */
static liana_status copy_member(const liana__tar *tar, const liana__tar_member *member, liana__file_buffer *buffer,
                                liana__error *error)
{
    return liana__mapping_read(&tar->mapping, tar->name, (size_t)member->offset, (size_t)member->size, buffer, error);
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    member_buffers *buffers = record->scratch;
    const webdataset_source *source = handle;
    const example_place *place = &source->examples[record->index];
    const liana__tar *tar = &source->files[file_of(source, record->index)];
    record->id = place->key;
    record->id_size = place->key_size;
    if (!place->image) {
        liana__fail(record->error, LIANA_INVALID_DATA,
                    "no image among the members of that name; data.features.image names the extension");
        return liana__source_fail_within(&source->base, record->index, record, record->error);
    }
    LIANA_TRY(copy_member(tar, place->image, &buffers->image, record->error));
    record->bytes = (const uint8_t *)buffers->image.bytes;
    record->size = (size_t)place->image->size;
    if (!place->label || source->ignore_labels) return LIANA_OK;
    record->has_label = true;
    LIANA_TRY(copy_member(tar, place->label, &buffers->label, record->error));
    if (parse_label((const uint8_t *)buffers->label.bytes, (size_t)place->label->size, &record->label)) return LIANA_OK;
    liana__fail(record->error, LIANA_INVALID_DATA, "'%.200s' is not a class number in decimal digits",
                place->label->name);
    return liana__source_fail_within(&source->base, record->index, record, record->error);
}

/* ---- opening ---- */

/* The length of the key in a member's name: up to the first dot of its last part. */
static size_t key_length(const char *name)
{
    const char *dot = strchr(liana__path_name(name), '.');
    return dot ? (size_t)(dot - name) : strlen(name);
}

static liana_status fail_without_image(const liana__tar *tar, const example_place *example, const char *wanted,
                                       liana__error *error)
{
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s': no member '%.*s.%s' among the members of that name; name the extension of the images in "
                       "data.features.image",
                       tar->name, example->key_size > 200 ? 200 : (int)example->key_size, example->key,
                       wanted ? wanted : "jpg");
}

static liana_status add_example(webdataset_source *source, const liana__tar *tar, const example_place *example,
                                const liana__source_options *options, liana__error *error)
{
    if (!example->key) return LIANA_OK;
    if (!example->image && !options->skip_damage) {
        return fail_without_image(tar, example, options->image_feature, error);
    }
    if (!liana__grow(&source->examples, source->count, &source->capacity, sizeof *source->examples)) {
        return liana__fail_memory(error, tar->name);
    }
    source->examples[source->count++] = *example;
    source->num_labelled += example->label != NULL;
    return LIANA_OK;
}

/* The members of one name, which are an example: members[first, end), with their extensions. */
typedef struct member_group {
    const liana__tar *tar;
    const char **extensions; /* [number of members of the archive]; NULL: the member does not belong to the example */
    size_t first;
    size_t end;
} member_group;

static liana_status find_member(const member_group *group, const char *wanted, const char *const *usual,
                                size_t num_usual, const liana__tar_member **member, liana__error *error)
{
    int place;
    *member = NULL;
    LIANA_TRY(liana__column_search_usual("member", group->extensions + group->first, group->end - group->first, wanted,
                                         usual, num_usual, &place, error));
    if (place >= 0) *member = &group->tar->members[group->first + (size_t)place];
    return LIANA_OK;
}

static liana_status add_group(webdataset_source *source, const member_group *group, example_place *example,
                              const liana__source_options *options, liana__error *error)
{
    if (!example->key) return LIANA_OK;
    liana_status status =
        find_member(group, options->image_feature, IMAGE_NAMES, COUNT(IMAGE_NAMES), &example->image, error);
    if (example->image) group->extensions[example->image - group->tar->members] = NULL;
    if (status == LIANA_OK) {
        status = find_member(group, options->label_feature, LABEL_NAMES, COUNT(LABEL_NAMES), &example->label, error);
    }
    if (status != LIANA_OK && !options->skip_damage) {
        return liana__fail_within(error, "'%s', the members '%.*s.*'", group->tar->name,
                                  example->key_size > 200 ? 200 : (int)example->key_size, example->key);
    }
    return add_example(source, group->tar, example, options, error);
}

static liana_status add_members(webdataset_source *source, member_group *group, const liana__source_options *options,
                                liana__error *error)
{
    const liana__tar *tar = group->tar;
    example_place example = {0};
    for (size_t i = 0; i < tar->count; i++) {
        const liana__tar_member *member = &tar->members[i];
        size_t size = key_length(member->name);
        /* Names like ".DS_Store" or "__info__.json" (WebDataset: names that start with "__" are metadata). */
        const char *part = liana__path_name(member->name);
        if (*part == '.' || liana__starts_with(part, "__")) continue;
        if (!example.key || size != example.key_size || memcmp(member->name, example.key, size) != 0) {
            group->end = i;
            LIANA_TRY(add_group(source, group, &example, options, error));
            group->first = i;
            example = (example_place){.key = member->name, .key_size = size, .offset = member->offset};
        }
        group->extensions[i] = member->name + size + (member->name[size] == '.');
    }
    group->end = tar->count;
    return add_group(source, group, &example, options, error);
}

static liana_status add_file(webdataset_source *source, const liana__tar *tar, const liana__source_options *options,
                             liana__error *error)
{
    member_group group = {.tar = tar, .extensions = calloc(tar->count + 1, sizeof *group.extensions)};
    liana_status status =
        group.extensions ? add_members(source, &group, options, error) : liana__fail_memory(error, tar->name);
    free(group.extensions);
    return status;
}

/* Uses the members of a truncated archive. Its last example may be incomplete; it is used only if it has an image, and
 * a label if others have one. */
static liana_status note_cut(webdataset_source *source, const liana__tar *tar, size_t first, const char *reason,
                             liana__error *error)
{
    const liana__tar_member *member = &tar->members[tar->count - 1];
    uint64_t end = member->offset + member->size;
    const example_place *last = source->count > first ? &source->examples[source->count - 1] : NULL;
    if (last && (!last->image || (!last->label && source->num_labelled))) {
        end = last->offset;
        source->count--;
    }
    liana__lost lost = {.file = tar->name,
                        .record = (int64_t)(source->count - first),
                        .offset = (int64_t)end,
                        .bytes = (int64_t)(tar->mapping.size - end),
                        .reason = reason};
    return liana__source_add_lost(&source->base, &source->arena, &lost, error);
}

static liana_status open_file(webdataset_source *source, const char *path, const liana__source_options *options,
                              liana__error *error)
{
    liana__tar *tar = &source->files[source->num_files++];
    size_t first = source->count;
    liana__error own = {0};
    liana_status status = liana__tar_open(path, tar, &own);
    bool cut = status == LIANA_DATA_LOSS && tar->count > 0;
    if (status != LIANA_OK && !(cut && options->skip_damage)) {
        return liana__source_lose_file(&source->base, &source->arena, path, &own, error);
    }
    LIANA_TRY(add_file(source, tar, options, error));
    return cut ? note_cut(source, tar, first, own.message, error) : LIANA_OK;
}

static liana_status fill_source(webdataset_source *source, const liana__paths *paths,
                                const liana__source_options *options, liana__error *error)
{
    for (size_t i = 0; i < paths->count; i++) {
        source->starts[i] = source->count;
        LIANA_TRY(open_file(source, paths->items[i], options, error));
    }
    source->starts[paths->count] = source->base.num_records = source->count;
    size_t needed = options->skip_damage && source->num_labelled ? source->num_labelled : source->count;
    source->base.has_labels = source->num_labelled == needed;
    source->base.memory = source->capacity * sizeof *source->examples;
    for (size_t i = 0; i < source->num_files; i++) {
        const liana__tar *tar = &source->files[i];
        source->base.memory += tar->arena.used + tar->capacity * sizeof *tar->members;
    }
    return LIANA_OK;
}

static liana_status open_source(liana_source_opening *opening)
{
    const liana__paths *paths = &(liana__paths){(char **)opening->paths, opening->num_paths};
    const liana__source_options *options = opening->options;
    liana__error *error = opening->error;
    webdataset_source *source = liana__source_make(opening, sizeof *source);
    if (!source) return LIANA_OUT_OF_MEMORY;
    source->ignore_labels = options->ignore_labels;
    source->files = calloc(paths->count, sizeof *source->files);
    source->starts = calloc(paths->count + 1, sizeof *source->starts);
    return source->files && source->starts ? fill_source(source, paths, options, error)
                                           : liana__fail_memory(error, "tar archives");
}

const liana_source_type liana__source_webdataset = {
    LIANA_PART(SOURCE, liana_source_type, "webdataset",
               "WebDataset tar archives with images and class numbers (NAME.jpg, NAME.cls)."),
    .recognises = recognises,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .offset = offset,
    .expect = expect,
    .scratch_size = sizeof(member_buffers),
    .num_buffers = 2,
};
