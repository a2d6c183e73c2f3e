#include "data/convert.h"

#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/text.h"
#include "data/convert_source.h"
#include "formats/example.h"
#include "formats/tfrecord.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DEFAULT_RECORDS_PER_SHARD = 1000, MAX_SPLITS = 3 };

static const char *const split_folders[] = {"train", "val", "test"};

typedef struct split {
    const char *folder;
    size_t first; /* position in the order of all records */
    size_t count;
    size_t num_shards;
    bool with_class;
} split;

typedef struct conversion {
    const liana__convert_options *options;
    const char *prefix;
    liana__convert_source source;
    liana__arena arena;
    split splits[MAX_SPLITS];
    int num_splits;
    bool output_existed;
    liana__example_builder builder;
    /* What is removed again after a failure. */
    char **written;
    size_t num_written;
    size_t written_capacity;
    size_t num_done;
} conversion;

static liana_status check_fraction(const char *name, double fraction, liana__error *error)
{
    if (fraction >= 0 && fraction < 1) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT, "the %s fraction is %g, expected at least 0 and less than 1",
                       name, fraction);
}

static liana_status check_options(const liana__convert_options *options, liana__error *error)
{
    if (!options->output || !*options->output) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "no output folder was given");
    }
    if (options->prefix && strchr(options->prefix, '/')) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the prefix '%s' has a '/' in it; it is only a part of a name", options->prefix);
    }
    bool idx = options->images || options->labels;
    if (idx && !(options->images && options->labels)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "images and labels must be given together, the %s are missing",
                           options->images ? "labels" : "images");
    }
    if (idx == (options->folder != NULL)) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "expected either a folder of class folders or a pair of IDX files, got %s",
                           idx ? "both" : "neither");
    }
    if (options->num_shards && options->records_per_shard) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "both a number of shards (%zu) and of records per shard (%zu) were given; expected one",
                           options->num_shards, options->records_per_shard);
    }
    LIANA_TRY(check_fraction("validation", options->validation_fraction, error));
    LIANA_TRY(check_fraction("test", options->test_fraction, error));
    if (options->validation_fraction + options->test_fraction >= 1) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the validation fraction %g and the test fraction %g leave nothing to train on",
                           options->validation_fraction, options->test_fraction);
    }
    bool splits = options->validation_fraction > 0 || options->test_fraction > 0;
    if (splits && options->folder && !options->shuffle) {
        return liana__fail(
            error, LIANA_INVALID_ARGUMENT,
            "class folders are read class by class, so that a split without shuffling would put the last "
            "classes into the test data: shuffle too");
    }
    return LIANA_OK;
}

/* How many shards a split of `count` records gets. */
static size_t choose_num_shards(const conversion *work, size_t count)
{
    const liana__convert_options *options = work->options;
    size_t num_shards;
    if (options->num_shards) {
        double share = (double)options->num_shards * (double)count / (double)work->source.count;
        num_shards = (size_t)llround(share);
    } else {
        size_t each = options->records_per_shard ? options->records_per_shard : DEFAULT_RECORDS_PER_SHARD;
        num_shards = count / each + (count % each != 0);
    }
    return num_shards < 1 ? 1 : num_shards > count ? count : num_shards;
}

static liana_status plan_splits(conversion *work, liana__error *error)
{
    const liana__convert_options *options = work->options;
    size_t count = work->source.count;
    if (options->num_shards > count) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%zu shards were asked for, but there are only %zu records",
                           options->num_shards, count);
    }
    const double fractions[] = {0, options->validation_fraction, options->test_fraction};
    bool any = fractions[1] > 0 || fractions[2] > 0;
    size_t counts[MAX_SPLITS] = {count};
    for (int i = 1; i < MAX_SPLITS; i++) {
        size_t wanted = (size_t)llround(fractions[i] * (double)count);
        counts[i] = wanted < counts[0] ? wanted : counts[0];
        counts[0] -= counts[i];
    }
    size_t first = 0;
    for (int i = 0; i < MAX_SPLITS; i++) {
        if (counts[i] == 0 && (i == 0 || fractions[i] > 0)) {
            return liana__fail(error, LIANA_INVALID_ARGUMENT,
                               "of %zu records none would be left for %s; use other fractions or more images", count,
                               split_folders[i]);
        }
        if (counts[i] == 0) continue;
        const char *folder = any ? liana__path_join(&work->arena, options->output, split_folders[i]) : options->output;
        if (!folder) return liana__fail_memory(error, options->output);
        work->splits[work->num_splits++] = (split){.folder = folder,
                                                   .first = first,
                                                   .count = counts[i],
                                                   .num_shards = choose_num_shards(work, counts[i]),
                                                   .with_class = i != 2};
        first += counts[i];
    }
    return LIANA_OK;
}

/* PREFIXnn-COUNT.tfrec */
static bool is_shard_name(const char *name, const char *prefix)
{
    if (!liana__starts_with(name, prefix)) return false;
    const char *rest = name + strlen(prefix);
    size_t digits = strspn(rest, "0123456789");
    if (digits < 2 || rest[digits] != '-') return false;
    rest += digits + 1;
    digits = strspn(rest, "0123456789");
    return digits > 0 && strcmp(rest + digits, ".tfrec") == 0;
}

/* Removes what an earlier conversion with this prefix left in a folder. */
static liana_status remove_old(conversion *work, const char *folder, liana__error *error)
{
    if (!liana__folder_exists(folder)) return LIANA_OK;
    bool top = strcmp(folder, work->options->output) == 0;
    liana__paths names;
    LIANA_TRY(liana__folder_list(folder, &work->arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        bool class_names = top && strcmp(names.items[i], "classes.txt") == 0;
        if (!class_names && !is_shard_name(names.items[i], work->prefix)) continue;
        const char *path = liana__path_join(&work->arena, folder, names.items[i]);
        if (!path) return liana__fail_memory(error, folder);
        if (unlink(path) != 0) {
            return liana__fail(error, LIANA_IO_ERROR, "cannot remove '%s' of an earlier conversion: %s", path,
                               strerror(errno));
        }
    }
    return LIANA_OK;
}

/* An output inside the input would be a class of its own the next time. */
static liana_status check_apart(const conversion *work, liana__error *error)
{
    const char *folder = work->options->folder;
    if (!folder) return LIANA_OK;
    char *input = realpath(folder, NULL), *output = realpath(work->options->output, NULL);
    size_t length = input ? strlen(input) : 0;
    bool inside =
        input && output && strncmp(output, input, length) == 0 && (output[length] == 0 || output[length] == '/');
    free(input);
    free(output);
    if (!inside) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the output '%s' lies in the folder that is converted, '%s'; choose a place outside of it",
                       work->options->output, folder);
}

static liana_status prepare_output(conversion *work, liana__error *error)
{
    const liana__convert_options *options = work->options;
    const char *output = options->output;
    work->output_existed = liana__folder_exists(output);
    LIANA_TRY(liana__folder_make(output, error));
    LIANA_TRY(check_apart(work, error));
    liana__paths names;
    LIANA_TRY(liana__folder_list(output, &work->arena, &names, error));
    if (names.count > 0 && !options->overwrite) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "the output folder '%s' is not empty (it has '%s'); choose another, or allow to overwrite",
                           output, names.items[0]);
    }
    LIANA_TRY(remove_old(work, output, error));
    for (int i = 0; i < MAX_SPLITS; i++) {
        const char *folder = liana__path_join(&work->arena, output, split_folders[i]);
        if (!folder) return liana__fail_memory(error, output);
        LIANA_TRY(remove_old(work, folder, error));
    }
    for (int i = 0; i < work->num_splits; i++) LIANA_TRY(liana__folder_make(work->splits[i].folder, error));
    return LIANA_OK;
}

static liana_status remember_written(conversion *work, char *path, liana__error *error)
{
    if (!liana__grow(&work->written, work->num_written, &work->written_capacity, sizeof *work->written)) {
        return liana__fail_memory(error, path);
    }
    work->written[work->num_written++] = path;
    return LIANA_OK;
}

static liana_status write_record(conversion *work, const split *part, size_t position, liana__tfrecord_writer *writer,
                                 liana__error *error)
{
    const liana__convert_options *options = work->options;
    size_t count = work->source.count;
    size_t index = options->shuffle ? (size_t)liana__permute(options->seed, 0, position, count) : position;
    liana__convert_source_image image;
    LIANA_TRY(liana__convert_source_read(&work->source, index, &image, error));
    int64_t label = (int64_t)image.label;
    liana__example_add_bytes(&work->builder, "image", image.bytes, image.size);
    if (part->with_class) liana__example_add_int64s(&work->builder, "class", &label, 1);
    liana__example_add_bytes(&work->builder, "id", image.id, strlen(image.id));
    const uint8_t *bytes;
    size_t size;
    LIANA_TRY(liana__example_pack(&work->builder, &bytes, &size, error));
    LIANA_TRY(liana__tfrecord_writer_add(writer, bytes, size, error));
    work->num_done++;
    if (options->progress && !options->progress(options->user, work->num_done, count)) {
        return liana__fail(error, LIANA_CANCELLED, "the conversion to '%s' was stopped after %zu of %zu records",
                           options->output, work->num_done, count);
    }
    return LIANA_OK;
}

/* Writes the positions [first, first + count) of the order as one file. */
static liana_status write_shard(conversion *work, const split *part, const char *path, size_t first, size_t count,
                                liana__error *error)
{
    liana__tfrecord_writer writer;
    LIANA_TRY(liana__tfrecord_writer_begin(&writer, path, false, error));
    for (size_t i = 0; i < count; i++) {
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
    /* As many digits in all names, so that their byte order is their number order. */
    int width = 2;
    for (size_t largest = part->num_shards - 1; largest >= 100; largest /= 10) width++;
    size_t first = part->first;
    for (size_t shard = 0; shard < part->num_shards; shard++) {
        size_t count = part->count / part->num_shards + (shard < part->count % part->num_shards);
        const char *slash = liana__ends_with(part->folder, "/") ? "" : "/";
        char *path = liana__arena_format(&work->arena, "%s%s%s%0*zu-%zu.tfrec", part->folder, slash, work->prefix,
                                         width, shard, count);
        if (!path) return liana__fail_memory(error, part->folder);
        LIANA_TRY(remember_written(work, path, error));
        LIANA_TRY(write_shard(work, part, path, first, count, error));
        first += count;
    }
    return LIANA_OK;
}

static liana_status write_class_names(conversion *work, liana__error *error)
{
    char *path = liana__path_join(&work->arena, work->options->output, "classes.txt");
    if (!path) return liana__fail_memory(error, "classes.txt");
    LIANA_TRY(remember_written(work, path, error));
    liana__text text = {0};
    for (size_t i = 0; i < work->source.num_classes; i++) liana__text_add(&text, "%s\n", work->source.class_names[i]);
    liana_status status =
        text.failed ? liana__fail_memory(error, path) : liana__file_replace(path, text.data, text.length, error);
    liana__text_free(&text);
    return status;
}

/* Removes what this conversion wrote, and the folders that it made, unless something else is in them. */
static void remove_written(conversion *work)
{
    for (size_t i = 0; i < work->num_written; i++) unlink(work->written[i]);
    for (int i = 0; i < work->num_splits; i++) {
        if (work->splits[i].folder != work->options->output) rmdir(work->splits[i].folder);
    }
    if (!work->output_existed) rmdir(work->options->output);
}

static liana_status write_all(conversion *work, liana__error *error)
{
    liana_status status = prepare_output(work, error);
    for (int i = 0; i < work->num_splits && status == LIANA_OK; i++) {
        status = write_split(work, &work->splits[i], error);
    }
    /* Last: a folder with a classes.txt is a whole one. */
    if (status == LIANA_OK) status = write_class_names(work, error);
    if (status != LIANA_OK) remove_written(work);
    return status;
}

static void summarise(const conversion *work, liana__convert_summary *summary)
{
    *summary = (liana__convert_summary){.num_classes = work->source.num_classes,
                                        .num_records = work->source.count,
                                        .num_train = work->splits[0].count,
                                        .num_ignored = work->source.num_ignored};
    for (int i = 0; i < work->num_splits; i++) {
        const split *part = &work->splits[i];
        summary->num_shards += part->num_shards;
        if (!part->with_class) {
            summary->num_test = part->count;
        } else if (i > 0) {
            summary->num_validation = part->count;
        }
    }
}

liana_status liana__convert(const liana__convert_options *options, liana__convert_summary *summary, liana__error *error)
{
    LIANA_TRY(check_options(options, error));
    conversion work = {.options = options, .prefix = options->prefix ? options->prefix : "part"};
    liana_status status = options->folder
                              ? liana__convert_source_open_folder(&work.source, options->folder, error)
                              : liana__convert_source_open_idx(&work.source, options->images, options->labels, error);
    if (status == LIANA_OK) status = plan_splits(&work, error);
    if (status == LIANA_OK) status = write_all(&work, error);
    if (status == LIANA_OK && summary) summarise(&work, summary);
    liana__convert_source_close(&work.source);
    liana__example_builder_free(&work.builder);
    liana__arena_free(&work.arena);
    free(work.written);
    return status;
}
