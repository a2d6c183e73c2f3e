/* TFRecord files of tf.Example: an encoded image, and perhaps a label and an id, under names that are found by looking
 * at the first record unless they are given. Compressed files are read in blocks. */
#include "base/scoped.h"
#include "data/source/cast.h"
#include "data/source/example_columns.h"
#include "data/source/label_advice.h"
#include "data/source/record_files.h"
#include "data/source/source.h"
#include "formats/example.h"
#include "formats/tfrecord_frame.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct tfrecord_source {
    liana__source base;
    liana__record_files files; /* names of features and lost files are in its arena */
    const char *image;
    const char *label; /* NULL: no labels */
    const char *id;    /* NULL: no ids */
    liana__example_columns columns;
} tfrecord_source;

/* The memory that a thread reads with. */
typedef struct reading {
    liana__tfrecord_reader reader;
    liana__example example;
    char *values; /* of the columns; NULL: none yet */
    size_t values_size;
    char id[32]; /* of a record whose id is a number */
} reading;

/* The usual names, best first: those of Kaggle's flowers, then TF-slim's. */
static const char *const IMAGE_NAMES[] = {"image", "image/encoded", "image_bytes", "jpeg", "png"};
static const char *const LABEL_NAMES[] = {"class", "label", "image/class/label"};
static const char *const ID_NAMES[] = {"id", "image_id", "image/filename", "filename", "image/source_id"};
#define COUNT(names) (sizeof(names) / sizeof *(names))

static bool recognises(const char *path, const uint8_t *head, size_t head_size)
{
    const char *name = liana__path_name(path);
    if (strstr(name, "tfrec") || strstr(name, ".record")) return true;
    return liana__tfrecord_header_is_right(head, head_size);
}

static void close_source(void *handle)
{
    tfrecord_source *source = handle;
    liana__record_files_free(&source->files);
    free(source);
}

static liana_record_address address(const void *handle, uint64_t index)
{
    const liana__tfrecord *file = liana__record_files_find(&((const tfrecord_source *)handle)->files, &index);
    return (liana_record_address){liana__tfrecord_name(file), (int64_t)index, 0};
}

static int64_t offset(const void *handle, uint64_t index)
{
    const liana__tfrecord *file = liana__record_files_find(&((const tfrecord_source *)handle)->files, &index);
    return (int64_t)liana__tfrecord_offset(file, index);
}

static void expect(const void *handle, uint64_t index)
{
    const liana__tfrecord *file = liana__record_files_find(&((const tfrecord_source *)handle)->files, &index);
    liana__tfrecord_expect(file, index);
}

static liana_status parse(const tfrecord_source *source, uint64_t record, reading *scratch, liana__error *error)
{
    const liana__tfrecord *file = liana__record_files_find(&source->files, &record);
    const uint8_t *bytes;
    size_t size;
    LIANA_TRY(liana__tfrecord_read(file, record, &scratch->reader, &bytes, &size, error));
    return liana__example_parse(&scratch->example, liana__tfrecord_name(file), record, bytes, size, error);
}

static liana_status read_columns(const tfrecord_source *source, uint64_t index, reading *scratch,
                                 liana_source_record *record, liana__error *error)
{
    const liana__example_columns *columns = &source->columns;
    if (!scratch->values) scratch->values = liana__allocate_aligned(columns->size);
    if (!scratch->values) return liana__fail_memory(error, "the columns of a record");
    scratch->values_size = columns->size;
    if (liana__example_columns_read(columns, &scratch->example, scratch->values, error) != LIANA_OK) {
        return liana__source_fail_within(&source->base, index, record, error);
    }
    for (size_t i = 0; i < columns->components.count; i++) record->values[i] = scratch->values + columns->offsets[i];
    return LIANA_OK;
}

static void read_id(const tfrecord_source *source, reading *scratch, liana_source_record *record)
{
    liana__feature id;
    if (!source->id || !liana__example_find(&scratch->example, source->id, &id) || id.count != 1) return;
    record->id = scratch->id;
    if (id.kind == LIANA__FEATURE_BYTES) {
        record->id = (const char *)id.bytes[0].data;
        record->id_size = id.bytes[0].len;
    } else if (id.kind == LIANA__FEATURE_INT64) {
        record->id_size = (size_t)snprintf(scratch->id, sizeof scratch->id, "%" PRId64, id.int64s[0]);
    } else {
        liana__cast_describe(LIANA_F32, id.floats, 0, scratch->id, sizeof scratch->id);
        record->id_size = strlen(scratch->id);
    }
}

static liana_status read_record(void *handle, liana_source_record *record)
{
    const tfrecord_source *source = handle;
    const liana__example *example = &((reading *)record->scratch)->example;
    LIANA_TRY(parse(source, record->index, record->scratch, record->error));
    read_id(source, record->scratch, record);
    if (!source->base.lacks_images) {
        LIANA_TRY(liana__example_bytes(example, source->image, &record->bytes, &record->size, record->error));
    }
    if (source->label) {
        LIANA_TRY(liana__example_int64(example, source->label, &record->label, record->error));
        record->has_label = true;
    }
    return source->columns.size ? read_columns(source, record->index, record->scratch, record, record->error)
                                : LIANA_OK;
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

/* How many records without a label are passed over in search of one with. */
enum { MAX_UNLABELLED = 64 };

/* Rates a record: 0 without an image, 1 with an image, 2 also with a label. */
static int rate(const tfrecord_source *source, const liana__example *example)
{
    liana__feature feature;
    const char *image =
        source->image ? source->image : look(example, IMAGE_NAMES, COUNT(IMAGE_NAMES), LIANA__FEATURE_BYTES);
    const char *label =
        source->label ? source->label : look(example, LABEL_NAMES, COUNT(LABEL_NAMES), LIANA__FEATURE_INT64);
    if (!image || !liana__example_find(example, image, &feature)) return 0;
    return label && liana__example_find(example, label, &feature) ? 2 : 1;
}

/* Finds the record in which feature names are looked for, and reads it into the scratch. It is the first record. If bad
 * ones may be left out, it is the first with an image and a label; else the first with an image; else the first
 * Example. */
static liana_status find_pattern(const tfrecord_source *source, bool any, reading *scratch, uint64_t *pattern,
                                 liana__error *error)
{
    int best = -1;
    liana__error first = {0};
    *pattern = 0;
    if (!any) return parse(source, 0, scratch, error);
    for (uint64_t index = 0, unlabelled = 0; index < source->base.num_records && unlabelled < MAX_UNLABELLED; index++) {
        liana__error own = {0};
        liana_status status = parse(source, index, scratch, &own);
        if (index == 0) first = own;
        if (status != LIANA_OK && !liana__source_is_bad_record(status)) return liana__fail_as(error, &own);
        int rated = status == LIANA_OK ? rate(source, &scratch->example) : -1;
        if (rated > best) {
            best = rated;
            *pattern = index;
        }
        if (best == 2) return LIANA_OK;
        unlabelled += best == 1;
    }
    return best >= 0 ? parse(source, *pattern, scratch, error) : liana__fail_as(error, &first);
}

/* The feature may have another name. The reading error lists the existing features; this adds how to name one. */
static liana_status fail_feature(const tfrecord_source *source, const liana__example *example, liana_status status,
                                 liana__error *error)
{
    liana__feature feature;
    bool of_names = status == LIANA_NOT_FOUND || status == LIANA_INVALID_DATA;
    if (!error || !of_names || !example->message) return status;
    bool found = liana__example_find(example, source->image, &feature), is_bytes = feature.kind == LIANA__FEATURE_BYTES;
    liana__error own = *error;
    bool one_image = found && is_bytes && feature.count == 1;
    LIANA__SCOPED(liana__text) advice = {0};
    if (one_image && source->label) liana__label_advice(example, source->label, &advice);
    if (advice.data && !advice.failed) liana__fail(error, status, "%s; %s", own.message, advice.data);
    if (advice.data) return status;
    if (one_image || !found || is_bytes) {
        return liana__fail(error, status, "%s; name the feature that holds the %s in data.features.%s", own.message,
                           one_image ? "labels" : "images", one_image ? "label" : "image");
    }
    return liana__fail(error, status,
                       "%s; name the feature that holds the images in data.features.image, or read these numbers as a "
                       "column: data.columns: {%.60s: {from: %.60s, length: %zu}}",
                       own.message, source->image, source->image, feature.count);
}

/* Records without an image may have other features to learn from. */
static liana_status choose_columns(tfrecord_source *source, const liana__source_options *options,
                                   const liana__example *example, liana__error *error)
{
    liana__feature feature;
    liana__source *base = &source->base;
    bool make_label;
    LIANA_TRY(liana__columns_make_label(options->columns, options->label_feature, &make_label, error));
    bool uses_label = source->label && !options->label_feature && liana__columns_use(options->columns, source->label);
    if (make_label || uses_label) source->label = NULL;
    base->has_labels = source->label != NULL;
    /* Numbers, or bytes that a column reads, are no encoded image, whatever their name. */
    bool is_image = liana__example_find(example, source->image, &feature) && feature.kind == LIANA__FEATURE_BYTES &&
                    !liana__columns_use(options->columns, source->image);
    base->lacks_images = !options->image_feature && !is_image;
    LIANA_TRY(liana__example_columns_find(options->columns, options->columns_optional, example, &source->files.arena,
                                          &source->columns, error));
    base->num_components = source->columns.components.count;
    base->components = source->columns.components.items;
    base->columns = &source->columns.columns;
    return LIANA_OK;
}

/* The feature that is named, that of the component 'id', or one of a usual name. */
static liana_status find_id(tfrecord_source *source, const liana__source_options *options,
                            const liana__example *example, liana__error *error)
{
    liana__feature feature;
    const char *named = options->id_feature, *wanted = named ? named : liana__columns_only(options->columns, "id");
    if (named && !liana__example_find(example, named, &feature)) {
        LIANA_TRY(liana__example_list(example, named, LIANA__FEATURE_BYTES, &feature, error));
    }
    source->id = liana__arena_string(&source->files.arena, wanted);
    if (wanted && !source->id) return liana__fail_memory(error, "feature names");
    if (!wanted) source->id = look(example, ID_NAMES, COUNT(ID_NAMES), LIANA__FEATURE_BYTES);
    if (!source->id) source->id = look(example, ID_NAMES, COUNT(ID_NAMES), LIANA__FEATURE_INT64);
    return LIANA_OK;
}

/* The features that a record without a label has instead. */
static liana_status describe_labels(tfrecord_source *source, const liana__example *example, liana__error *error)
{
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add(&text, "expected an int64 feature 'class', 'label' or 'image/class/label', or the one that "
                           "data.features.label names; ");
    liana__example_describe(example, &text);
    size_t length = text.length;
    for (size_t i = 0; i < COUNT(LABEL_NAMES) && text.length == length; i++) {
        if (i == 0) liana__text_add(&text, "; ");
        length = i == 0 ? text.length : length;
        liana__label_advice(example, LABEL_NAMES[i], &text);
    }
    if (text.length == length) liana__text_add(&text, "name the one with the class number");
    source->base.instead_of_labels = text.failed ? NULL : liana__arena_string(&source->files.arena, text.data);
    return source->base.instead_of_labels ? LIANA_OK : liana__fail_memory(error, "feature names");
}

static liana_status choose_features(tfrecord_source *source, const liana__source_options *options, reading *scratch,
                                    liana__error *error)
{
    const liana__example *example = &scratch->example;
    source->image = liana__arena_string(&source->files.arena, options->image_feature);
    source->label = liana__arena_string(&source->files.arena, options->label_feature);
    if (source->files.arena.failed) return liana__fail_memory(error, "feature names");
    uint64_t pattern;
    LIANA_TRY(find_pattern(source, options->skip_damage || options->any_first_record, scratch, &pattern, error));
    if (!source->image) source->image = look(example, IMAGE_NAMES, COUNT(IMAGE_NAMES), LIANA__FEATURE_BYTES);
    if (!source->label) source->label = look(example, LABEL_NAMES, COUNT(LABEL_NAMES), LIANA__FEATURE_INT64);
    LIANA_TRY(find_id(source, options, example, error));
    if (!source->label) LIANA_TRY(describe_labels(source, example, error));
    /* None of the usual names: reading the first record will fail and list the features that there are. */
    if (!source->image) source->image = IMAGE_NAMES[0];
    source->base.has_labels = source->label != NULL;
    if (options->columns) LIANA_TRY(choose_columns(source, options, example, error));
    liana_source_record record = {.index = pattern, .scratch = scratch, .error = error};
    liana_status status = read_record(source, &record);
    return status == LIANA_OK ? LIANA_OK : fail_feature(source, example, status, error);
}

/* Opens the next file as far as it can be read; one that cannot be at all is lost as a whole. */
static liana_status open_file(tfrecord_source *source, const char *path, liana__error *error)
{
    liana__record_files *files = &source->files;
    liana__error own = {0};
    uint64_t begin, bytes;
    if (liana__record_files_add(files, path, source->base.skip_damage, &own) != LIANA_OK) {
        return liana__source_lose_file(&source->base, &files->arena, path, &own, error);
    }
    const liana__tfrecord *file = files->items[files->count - 1];
    const char *damage = liana__tfrecord_damage(file, &begin, &bytes);
    if (!damage) return LIANA_OK;
    liana__lost lost = {path, (int64_t)liana__tfrecord_count(file), (int64_t)begin, (int64_t)bytes, damage};
    return liana__source_add_lost(&source->base, &files->arena, &lost, error);
}

static liana_status open_files(tfrecord_source *source, const liana_source_opening *opening, liana__error *error)
{
    liana__record_files *files = &source->files;
    liana__source *base = &source->base;
    LIANA_TRY(liana__record_files_begin(files, opening->num_paths, error));
    for (size_t i = 0; i < opening->num_paths; i++) {
        LIANA_TRY(open_file(source, opening->paths[i], error));
    }
    LIANA_TRY(liana__record_files_list_blocks(files, error));
    base->num_records = files->starts[files->count];
    base->num_blocks = files->num_blocks;
    base->block_starts = files->block_starts;
    base->memory = liana__record_files_memory(files);
    return LIANA_OK;
}

static void scratch_free(void *scratch)
{
    reading *own = scratch;
    liana__example_free(&own->example);
    liana__tfrecord_reader_free(&own->reader);
    free(own->values);
}

static size_t scratch_bytes(const void *scratch)
{
    const reading *own = scratch;
    return liana__example_memory(&own->example) + liana__tfrecord_reader_bytes(&own->reader) + own->values_size;
}

static void scratch_bound(void *scratch, liana__memory_share *share)
{
    reading *own = scratch;
    own->example.share = own->reader.buffer.share = share;
}

static liana_status open_source(liana_source_opening *opening)
{
    const liana__source_options *options = opening->options;
    tfrecord_source *source = liana__source_make(opening, sizeof *source);
    if (!source) return LIANA_OUT_OF_MEMORY;
    LIANA_TRY(open_files(source, opening, opening->error));
    if (source->base.num_records == 0) return LIANA_OK;
    reading scratch = {0};
    liana_status status = choose_features(source, options, &scratch, opening->error);
    scratch_free(&scratch);
    return status;
}

const liana_source_type liana__source_tfrecord = {
    LIANA_PART(SOURCE, liana_source_type, "tfrecord",
               "TFRecord files of tf.Example with encoded images, plain or gzipped."),
    .recognises = recognises,
    .open = open_source,
    .close = close_source,
    .read = read_record,
    .address = address,
    .offset = offset,
    .expect = expect,
    .scratch_size = sizeof(reading),
    .scratch_bytes = scratch_bytes,
    .scratch_bound = scratch_bound,
    .scratch_free = scratch_free,
};
