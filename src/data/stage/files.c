/* Examples in files, of every kind of source: labelled images, and values of tables. */
#include "base/scoped.h"
#include "data/dataset/dataset.h"
#include "data/dataset/dataset_source.h"
#include "data/image/decode.h"
#include "data/source/part.h"
#include "data/source/source_open.h"

#include <string.h>

static void close_files(liana_dataset *dataset)
{
    liana__source_close(dataset->source);
}

/* The state of a reader: the source's scratch, and memory for labels and strings. */
typedef struct files_reader {
    const liana__source *source;
    void *scratch;
    int64_t label;
    liana_bytes image;
    liana_bytes id;
} files_reader;

static void free_reader(void *pointer)
{
    files_reader *own = pointer;
    if (own->source) liana__source_scratch_destroy(own->source, own->scratch);
}

static size_t reader_bytes(const liana__reader *reader)
{
    const files_reader *own = reader->own;
    return own->source ? liana__source_scratch_bytes(own->source, own->scratch) : 0;
}

static size_t memory_of(const liana_dataset *dataset)
{
    return dataset->source->memory;
}

static liana_status put_image(const liana_dataset *dataset, files_reader *own, const liana_source_record *record,
                              liana_element *element, liana__error *error)
{
    const liana_component *image = &dataset->spec.components[0];
    const int64_t *dims = image->shape.dims;
    if (image->dtype == LIANA_STRING && record->bytes) {
        own->image = (liana_bytes){record->bytes, record->size};
        element->data[0] = &own->image;
        return LIANA_OK;
    }
    if (image->dtype == LIANA_U8 && record->pixels && record->height == dims[0] && record->width == dims[1] &&
        record->channels == dims[2]) {
        element->data[0] = record->pixels;
        element->rows[0] = dims[0];
        return LIANA_OK;
    }
    return liana__fail(error, LIANA_INVALID_DATA,
                       "its image is %s of %lld x %lld x %d, expected %s as in the first "
                       "record",
                       record->bytes ? "an encoded file" : "pixels", (long long)record->height,
                       (long long)record->width, record->channels, liana__component_describe(image).text);
}

/* There may be a column of its own with this name. */
static bool has_ids(const liana__source *source)
{
    for (size_t i = 0; i < source->num_components; i++) {
        if (strcmp(source->components[i].name, "id") == 0) return false;
    }
    return true;
}

static liana_status read_file(liana__reader *reader, const liana__at *at, liana_element *element, liana__error *error)
{
    const liana_dataset *dataset = reader->dataset;
    const liana__source *source = dataset->source;
    files_reader *own = reader->own;
    if (!own->source) {
        own->scratch = liana__source_scratch_create(source);
        if (!own->scratch) return liana__fail_memory(error, "reading files");
        own->source = source;
        liana__source_scratch_bound(source, own->scratch, reader->share);
    }
    liana_source_record record;
    LIANA_TRY(liana__source_read(source, at->index, own->scratch, &record, error));
    *element = (liana_element){.spec = &dataset->spec, .record = at->index};
    size_t next = 0;
    if (!source->lacks_images) {
        if (put_image(dataset, own, &record, element, error) != LIANA_OK) {
            return liana__source_fail_within(source, at->index, &record, error);
        }
        next++;
    }
    if (source->has_labels) {
        bool fits = record.has_label && !__builtin_add_overflow(record.label, dataset->label_offset, &own->label);
        int32_t label;
        if (!fits) return liana__source_label(source, at->index, &record, dataset->label_offset, 0, &label, error);
        element->data[next++] = &own->label;
    }
    own->id = (liana_bytes){record.id ? record.id : "", record.id ? record.id_size : 0};
    if (has_ids(source)) element->data[next++] = &own->id;
    for (size_t i = 0; i < source->num_components; i++, next++) {
        element->data[next] = record.values[i];
        element->rows[next] = liana__component_rows(&source->components[i]);
    }
    return LIANA_OK;
}

/* Components as the first record has them. */
static liana_status make_spec(liana_dataset *dataset, liana__error *error)
{
    const liana__source *source = dataset->source;
    liana_component made[3 + LIANA_MAX_COMPONENTS] = {{.name = "image", .dtype = LIANA_STRING}};
    size_t count = !source->lacks_images;
    void *scratch = liana__source_scratch_create(source);
    if (!scratch) return liana__fail_memory(error, "reading files");
    liana_source_record record;
    liana_status status = liana__source_read(source, 0, scratch, &record, error);
    if (status == LIANA_OK && count && !record.bytes) {
        made[0].dtype = LIANA_U8;
        made[0].shape = (liana_shape){3, {record.height, record.width, record.channels}};
    }
    liana__source_scratch_destroy(source, scratch);
    if (source->has_labels) made[count++] = (liana_component){.name = "label", .dtype = LIANA_S64};
    if (has_ids(source)) made[count++] = (liana_component){.name = "id", .dtype = LIANA_STRING};
    for (size_t i = 0; i < source->num_components; i++) made[count++] = source->components[i];
    return status == LIANA_OK ? liana__spec_make(&dataset->arena, made, count, &dataset->spec, error) : status;
}

liana_dataset *liana__dataset_of_source(liana_context *context, liana__source *source, int64_t label_offset)
{
    liana_dataset *dataset = liana__dataset_create(context, &liana__stage_files, NULL, 0, 0);
    if (!dataset) {
        liana__source_close(source);
        return NULL;
    }
    dataset->source = source;
    dataset->label_offset = label_offset;
    dataset->random_access = true;
    dataset->length = (int64_t)source->num_records;
    dataset->num_blocks = source->num_blocks;
    dataset->block_starts = source->block_starts;
    liana_status status = make_spec(dataset, &context->error);
    if (status == LIANA_OK) return dataset;
    liana_dataset_close(dataset); /* the message names the file */
    return NULL;
}

/* Opens files once more, whose columns have means or boundaries: those of the rows that a fit trains on. */
static liana_status open_again(const char *pattern, const liana_dataset_options *options, liana__source_options *wanted,
                               liana__source **source, liana__error *error)
{
    const liana__split_options split = {.validation = options->validation_split,
                                        .seed = options->split_seed,
                                        .label_offset = options->label_offset};
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__source *first = *source;
    liana_status status = liana__split_find(first, &split, &arena, &wanted->held_out, &wanted->num_held_out, error);
    if (status == LIANA_OK) status = liana__source_open(&pattern, 1, wanted, source, error);
    liana__source_close(first);
    return status;
}

static liana_status open_files(liana_context *context, const char *kind, const char *pattern,
                               const liana_dataset_options *options, liana__arena *arena, liana_dataset **out)
{
    liana__error *error = &context->error;
    liana__source_options wanted = {.context = context,
                                    .kind = kind,
                                    .image_feature = options->image_feature,
                                    .label_feature = options->label_feature,
                                    .id_feature = options->id_feature,
                                    .labels = options->labels,
                                    .take = (uint64_t)options->take,
                                    .need_labels = !options->unlabelled,
                                    .ignore_labels = options->unlabelled};
    liana__columns columns;
    LIANA_TRY(liana__dataset_ask_columns(options, arena, &columns, &wanted, error));
    LIANA_TRY(liana__dataset_ask_classes(options, &wanted, error));
    liana__source *source;
    LIANA_TRY(liana__source_open(&pattern, 1, &wanted, &source, error));
    if (options->validation_split && liana__columns_need_rows(wanted.columns)) {
        LIANA_TRY(open_again(pattern, options, &wanted, &source, error));
    }
    *out = liana__dataset_of_source(context, source, options->label_offset);
    return *out ? LIANA_OK : error->status;
}

static liana_status open_dataset(liana_context *context, const char *kind, const char *pattern,
                                 const liana_dataset_options *options, liana_dataset **out)
{
    static const liana_dataset_options defaults;
    if (!options) options = &defaults;
    *out = NULL;
    liana__error *error = &context->error;
    if (options->take < 0 || (unsigned)options->header > LIANA_HEADER_NO) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "take is %lld and header %d, expected 0 (all) or more, and a liana_header",
                           (long long)options->take, (int)options->header);
    }
    LIANA__SCOPED(liana__arena) arena = {0};
    liana_dataset *dataset;
    LIANA_TRY(open_files(context, kind, pattern, options, &arena, &dataset));
    liana_status status = liana__dataset_keep_options(dataset, options, error);
    if (status == LIANA_OK) *out = dataset;
    if (status != LIANA_OK) liana_dataset_close(dataset);
    return status;
}

liana_status liana_dataset_open(liana_context *context, const char *pattern, const liana_dataset_options *options,
                                liana_dataset **dataset)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, dataset);
    *dataset = NULL;
    LIANA__REQUIRE(&context->error, pattern);
    LIANA__CONTEXT_CALL(context, open_dataset(context, NULL, pattern, options, dataset));
}

static liana_dataset *open_kind(liana_context *context, const char *kind, const char *pattern,
                                const liana_dataset_options *options)
{
    liana_dataset *dataset = NULL;
    if (liana__context_begin(context) != LIANA_OK) return NULL;
    liana_status status = open_dataset(context, kind, pattern, options, &dataset);
    return liana__context_end(context, status) == LIANA_OK ? dataset : NULL;
}

liana_dataset *liana_dataset_csv(liana_context *context, const char *pattern, const liana_dataset_options *options)
{
    LIANA__REQUIRE_OR(NULL, NULL, context);
    LIANA__REQUIRE_OR(NULL, &context->error, pattern);
    return open_kind(context, "table", pattern, options);
}

liana_dataset *liana_dataset_text_from_directory(liana_context *context, const char *directory,
                                                 const liana_dataset_options *options)
{
    LIANA__REQUIRE_OR(NULL, NULL, context);
    LIANA__REQUIRE_OR(NULL, &context->error, directory);
    return open_kind(context, "text", directory, options);
}

/* Labels of IDX files are in files of their own; the labels themselves are used here. */
static void describe(const liana_dataset *dataset, liana__fingerprint *settings, liana__fingerprint *sources)
{
    const liana__source *source = dataset->source;
    liana__fingerprint_add(settings, &source->settings, sizeof source->settings);
    liana__fingerprint_add(settings, &dataset->label_offset, sizeof dataset->label_offset);
    liana__source_fingerprint(source, settings, sources);
    void *scratch =
        source->has_labels && source->kind == &liana__source_idx ? liana__source_scratch_create(source) : NULL;
    for (uint64_t i = 0; scratch && i < source->num_records; i++) {
        liana_source_record record;
        if (liana__source_read(source, i, scratch, &record, NULL) != LIANA_OK) break;
        liana__fingerprint_add(sources, &record.label, sizeof record.label);
    }
    liana__source_scratch_destroy(source, scratch);
}

const liana_stage_type liana__stage_files = {
    LIANA_PART(STAGE, liana_stage_type, "files", "Examples in files: labelled images, tables."),
    .describe = describe,
    .close = close_files,
    .memory = memory_of,
    .read = read_file,
    .reader_size = sizeof(files_reader),
    .reader_free = free_reader,
    .reader_bytes = reader_bytes,
};
