/* Writes data of any form as TFRecord shards. */
#include "data/convert/convert.h"

#include "base/random.h"
#include "base/scoped.h"
#include "data/convert/convert_ids.h"
#include "data/convert/shards.h"
#include "data/source/source_open.h"
#include "formats/example.h"
#include "formats/image.h"
#include "formats/tfrecord.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_RECORDS_PER_SHARD = 1000, TRAIN = 0, TEST = 2 };

typedef struct split {
    const char *folder; /* its name; NULL: there is only one split */
    uint64_t first;     /* position in the order of all records */
    uint64_t count;
    uint64_t num_shards;
    bool with_class;
} split;

typedef struct conversion {
    const liana__convert_options *options;
    liana__source *source;
    void *scratch;
    int64_t num_classes;
    liana__convert_ids ids; /* of images that are files; else empty */
    split splits[LIANA__NUM_SPLITS];
    int num_splits;
    liana__shards shards;
    liana__example_builder builder;
    liana__text png;
    uint64_t num_done;
} conversion;

/* ---- the plan ---- */

static liana_status check_fraction(const char *name, double fraction, liana__error *error)
{
    if (fraction >= 0 && fraction < 1) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "the %s fraction is %g, expected at least 0 and less than 1", name,
                       fraction);
}

static liana_status check_options(const liana__convert_options *options, liana__error *error)
{
    if (!options->output || !*options->output) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "no output folder was given");
    }
    if (options->num_shards && options->records_per_shard) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "both a number of shards (%zu) and of records in a shard (%zu) were given; expected one of them",
            options->num_shards, options->records_per_shard);
    }
    LIANA_TRY(check_fraction("validation", options->validation_fraction, error));
    LIANA_TRY(check_fraction("test", options->test_fraction, error));
    if (options->validation_fraction + options->test_fraction < 1) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "the validation fraction %g and the test fraction %g leave nothing to train on",
                       options->validation_fraction, options->test_fraction);
}

/* How many shards a split of `count` records gets. */
static uint64_t choose_num_shards(const conversion *work, uint64_t count)
{
    const liana__convert_options *options = work->options;
    uint64_t num_shards;
    if (options->num_shards) {
        double share = (double)options->num_shards * (double)count / (double)work->source->num_records;
        num_shards = (uint64_t)llround(share);
    } else {
        uint64_t each = options->records_per_shard ? options->records_per_shard : DEFAULT_RECORDS_PER_SHARD;
        num_shards = count / each + (count % each != 0);
    }
    return num_shards < 1 ? 1 : num_shards > count ? count : num_shards;
}

static liana_status plan_splits(conversion *work, liana__error *error)
{
    const liana__convert_options *options = work->options;
    uint64_t count = work->source->num_records;
    if (options->num_shards > count) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%zu shards were asked for, but there are only %" PRIu64 " records", options->num_shards,
                           count);
    }
    const double fractions[] = {0, options->validation_fraction, options->test_fraction};
    bool any = fractions[1] > 0 || fractions[2] > 0;
    if (any && work->source->class_names.count && !options->shuffle) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "class folders are read class by class, so a split without shuffling would put the last "
                           "classes into the test data; shuffle too");
    }
    uint64_t counts[LIANA__NUM_SPLITS] = {count};
    for (int i = 1; i < LIANA__NUM_SPLITS; i++) {
        uint64_t wanted = (uint64_t)llround(fractions[i] * (double)count);
        counts[i] = wanted < counts[TRAIN] ? wanted : counts[TRAIN];
        counts[TRAIN] -= counts[i];
    }
    uint64_t first = 0;
    for (int i = 0; i < LIANA__NUM_SPLITS; i++) {
        if (counts[i] == 0 && (i == TRAIN || fractions[i] > 0)) {
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "of %" PRIu64 " records none would be left for %s; use other fractions or more images",
                               count, liana__split_folders[i]);
        }
        if (counts[i] == 0) continue;
        work->splits[work->num_splits++] = (split){.folder = any ? liana__split_folders[i] : NULL,
                                                   .first = first,
                                                   .count = counts[i],
                                                   .num_shards = choose_num_shards(work, counts[i]),
                                                   .with_class = work->source->has_labels && i != TEST};
        first += counts[i];
    }
    return LIANA_OK;
}

static uint64_t record_at(const conversion *work, uint64_t position)
{
    const liana__convert_options *options = work->options;
    if (!options->shuffle) return position;
    return liana__permute(options->seed, 0, position, work->source->num_records);
}

static liana_status plan_ids(conversion *work, liana__error *error)
{
    if (liana__source_address(work->source, 0).record >= 0) return LIANA_OK;
    LIANA_TRY(liana__convert_ids_create(&work->ids, work->source->num_records, error));
    for (uint64_t position = 0; position < work->ids.count; position++) {
        const char *file = liana__source_address(work->source, record_at(work, position)).file;
        work->ids.names[position] = liana__path_name(file);
    }
    return liana__convert_ids_number(&work->ids, error);
}

static liana_status open_input(conversion *work, liana__error *error)
{
    const liana__convert_options *options = work->options;
    liana__source_options source = options->source;
    source.need_labels = !source.ignore_labels;
    LIANA_TRY(liana__source_open(options->inputs, options->num_inputs, &source, &work->source, error));
    work->scratch = liana__source_scratch_create(work->source);
    if (!work->scratch) return liana__fail_memory(error, "reading the data");
    LIANA_TRY(plan_splits(work, error));
    LIANA_TRY(plan_ids(work, error));
    work->num_classes = work->source->has_labels ? (int64_t)work->source->class_names.count : 0;
    if (work->num_classes || !work->source->has_labels) return LIANA_OK;
    return liana__source_count_classes(work->source, 0, &work->num_classes, NULL, error);
}

/* ---- the output ---- */

static bool is_url_inside(const char *path, const char *folder)
{
    size_t length = strlen(folder);
    while (length && folder[length - 1] == '/') length--;
    return strncmp(path, folder, length) == 0 && (path[length] == 0 || path[length] == '/');
}

static bool is_inside(const char *path, const char *folder)
{
    if (liana__path_is_remote(path) && liana__path_is_remote(folder)) return is_url_inside(path, folder);
    char *inner = realpath(path, NULL), *outer = realpath(folder, NULL);
    size_t length = outer ? strlen(outer) : 0;
    bool inside = inner && outer && strncmp(inner, outer, length) == 0 && (inner[length] == 0 || inner[length] == '/');
    free(inner);
    free(outer);
    return inside;
}

/* An output inside the input would be a class of its own the next time, and an input inside the output be replaced. */
static liana_status check_apart(const conversion *work, liana__error *error)
{
    const liana__convert_options *options = work->options;
    for (size_t i = 0; i < options->num_inputs; i++) {
        const char *input = options->inputs[i];
        if (!is_inside(options->output, input) && !is_inside(input, options->output)) continue;
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "the output '%s' and the data '%s' are one inside the other; choose an output outside of the data",
            options->output, input);
    }
    return LIANA_OK;
}

/* The bytes of an encoded image as they are, after a look at its header; pixels as a PNG. */
static liana_status get_image(conversion *work, uint64_t index, const liana_source_record *record, const void **bytes,
                              size_t *size, liana__error *error)
{
    liana_status status;
    *bytes = record->bytes;
    *size = record->size;
    if (record->bytes) {
        liana__image header = {0};
        status = liana__image_probe(record->bytes, record->size, NULL, &header, error);
        liana__image_free(&header);
    } else {
        work->png.length = 0;
        status = liana__png_encode(record->pixels, record->height, record->width, record->channels, &work->png, error);
        *bytes = work->png.data;
        *size = work->png.length;
    }
    return status == LIANA_OK ? LIANA_OK : liana__source_fail_within(work->source, index, record, error);
}

static liana_status add_id(conversion *work, uint64_t position, uint64_t index, const liana_source_record *record,
                           char number[24], liana__error *error)
{
    const char *id = record->id;
    size_t size = record->id_size;
    if (work->ids.count || !id) {
        snprintf(number, 24, "%" PRIu64, index);
        id = work->ids.count ? liana__convert_ids_get(&work->ids, position) : number;
        if (!id) return liana__fail_memory(error, "an id");
        size = strlen(id);
    }
    liana__example_add_bytes(&work->builder, "id", id, size);
    return LIANA_OK;
}

static liana_status write_record(conversion *work, const split *part, uint64_t position, liana__tfrecord_writer *writer,
                                 liana__error *error)
{
    uint64_t index = record_at(work, position);
    liana_source_record record;
    int32_t label = 0;
    const void *image;
    char number[24];
    size_t size;
    LIANA_TRY(liana__source_read(work->source, index, work->scratch, &record, error));
    LIANA_TRY(get_image(work, index, &record, &image, &size, error));
    if (part->with_class) {
        LIANA_TRY(liana__source_label(work->source, index, &record, 0, work->num_classes, &label, error));
    }
    int64_t class = label;
    liana__example_add_bytes(&work->builder, "image", image, size);
    if (part->with_class) liana__example_add_int64s(&work->builder, "class", &class, 1);
    LIANA_TRY(add_id(work, position, index, &record, number, error));
    const uint8_t *bytes;
    LIANA_TRY(liana__example_pack(&work->builder, &bytes, &size, error));
    LIANA_TRY(liana__tfrecord_writer_add(writer, bytes, size, error));
    const liana__convert_options *options = work->options;
    uint64_t total = work->source->num_records;
    work->num_done++;
    if (!options->progress || options->progress(options->user, (int64_t)work->num_done, (int64_t)total))
        return LIANA_OK;
    return liana__fail(error, LIANA_CANCELLED,
                       "the conversion to '%s' was stopped after %" PRIu64 " of %" PRIu64 " records", options->output,
                       work->num_done, total);
}

/* Writes the positions [first, first + count) of the order as one file. */
static liana_status write_shard(conversion *work, const split *part, const char *path, uint64_t first, uint64_t count,
                                liana__error *error)
{
    liana__tfrecord_writer writer;
    LIANA_TRY(liana__tfrecord_writer_begin(&writer, path, error));
    for (uint64_t i = 0; i < count; i++) {
        liana_status status = write_record(work, part, first + i, &writer, error);
        if (status != LIANA_OK) {
            liana__tfrecord_writer_abandon(&writer);
            return status;
        }
    }
    return liana__tfrecord_writer_commit(&writer, true, error);
}

static liana_status write_split(conversion *work, const split *part, liana__error *error)
{
    uint64_t first = part->first;
    for (uint64_t shard = 0; shard < part->num_shards; shard++) {
        uint64_t count = part->count / part->num_shards + (shard < part->count % part->num_shards);
        const char *path;
        LIANA_TRY(
            liana__shards_path(&work->shards, part->folder, shard, part->num_shards, (size_t)count, &path, error));
        LIANA_TRY(write_shard(work, part, path, first, count, error));
        first += count;
    }
    return LIANA_OK;
}

static liana_status write_class_names(conversion *work, liana__error *error)
{
    const liana__strings *names = &work->source->class_names;
    LIANA__SCOPED(liana__text) text = {0};
    for (int64_t i = 0; i < work->num_classes; i++) {
        if (names->count) {
            liana__text_add(&text, "%s\n", names->items[i]);
        } else {
            liana__text_add(&text, "%" PRId64 "\n", i);
        }
    }
    return work->num_classes ? liana__shards_class_names(&work->shards, &text, error) : LIANA_OK;
}

static liana_status write_all(conversion *work, liana__error *error)
{
    LIANA_TRY(check_apart(work, error));
    for (int i = 0; i < work->num_splits; i++) LIANA_TRY(write_split(work, &work->splits[i], error));
    LIANA_TRY(write_class_names(work, error));
    return liana__shards_commit(&work->shards, error);
}

static liana_status write_output(conversion *work, liana__error *error)
{
    const liana__convert_options *options = work->options;
    LIANA_TRY(liana__shards_begin(&work->shards, options->output, options->prefix ? options->prefix : "part",
                                  options->overwrite, "--overwrite", error));
    liana_status status = write_all(work, error);
    if (status != LIANA_OK) liana__shards_abandon(&work->shards);
    return status;
}

static void summarise(const conversion *work, liana__convert_summary *summary)
{
    *summary = (liana__convert_summary){.num_classes = (uint64_t)work->num_classes,
                                        .num_records = work->source->num_records,
                                        .num_train = work->splits[0].count,
                                        .num_ignored = work->source->num_ignored};
    for (int i = 0; i < work->num_splits; i++) {
        const split *part = &work->splits[i];
        summary->num_shards += part->num_shards;
        if (part->folder == liana__split_folders[TEST]) summary->num_test = part->count;
        if (part->folder == liana__split_folders[1]) summary->num_validation = part->count;
    }
}

liana_status liana__convert(const liana__convert_options *options, liana__convert_summary *summary, liana__error *error)
{
    LIANA_TRY(check_options(options, error));
    conversion work = {.options = options};
    liana_status status = open_input(&work, error);
    if (status == LIANA_OK) status = write_output(&work, error);
    if (status == LIANA_OK && summary) summarise(&work, summary);
    if (work.scratch) liana__source_scratch_destroy(work.source, work.scratch);
    if (work.source) liana__source_close(work.source);
    liana__convert_ids_free(&work.ids);
    liana__example_builder_free(&work.builder);
    liana__text_free(&work.png);
    return status;
}
