/* Writes and verifies exported folders. */
#include "train/export/export.h"

#include "base/file.h"
#include "base/scoped.h"
#include "formats/json.h"
#include "models/preprocessing.h"
#include "train/export/sha256.h"
#include "train/model/model_file.h"

#include <math.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_predictor_close, liana_predictor)

static const char SUMS[] = "SHA256SUMS";

/* ---- checksums ---- */

/* All files below a folder, by names relative to it, in byte order of the folders' lists. */
static liana_status list_files(const char *folder, const char *below, liana__arena *arena, liana__value *names,
                               liana__error *error)
{
    const char *here = *below ? liana__path_join(arena, folder, below) : folder;
    liana__paths items;
    if (!here) return liana__fail_memory(error, folder);
    LIANA_TRY(liana__folder_list(here, arena, &items, error));
    for (size_t i = 0; i < items.count; i++) {
        const char *name = liana__arena_format(arena, "%s%s%s", below, *below ? "/" : "", items.items[i]);
        const char *path = name ? liana__path_join(arena, folder, name) : NULL;
        if (!path) return liana__fail_memory(error, folder);
        if (liana__folder_exists(path)) {
            LIANA_TRY(list_files(folder, name, arena, names, error));
        } else if (strcmp(name, SUMS) != 0) {
            liana__value_add(arena, names, liana__value_string(arena, name));
        }
    }
    return arena->failed ? liana__fail_memory(error, folder) : LIANA_OK;
}

liana_status liana__export_write_sums(const char *folder, liana__arena *arena, liana__error *error)
{
    liana__value *names = liana__value_list(arena);
    LIANA__SCOPED(liana__text) text = {0};
    LIANA_TRY(list_files(folder, "", arena, names, error));
    for (size_t i = 0; i < names->count; i++) {
        liana__sha256_digits digits;
        const char *path = liana__path_join(arena, folder, names->items[i]->string);
        if (!path) return liana__fail_memory(error, folder);
        LIANA_TRY(liana__sha256_file(path, &digits, error));
        liana__text_add(&text, "%s  %s\n", digits.text, names->items[i]->string);
    }
    const char *path = liana__path_join(arena, folder, SUMS);
    if (!path || text.failed) return liana__fail_memory(error, folder);
    return liana__file_replace(path, text.data, text.length, error);
}

/* A line of SHA256SUMS: 64 digits, two spaces, a name below the folder. */
static liana_status check_sum(const char *folder, const char *path, size_t line, char *text, liana__arena *arena,
                              liana__error *error)
{
    enum { DIGITS = 64 };
    liana__sha256_digits digits;
    char *name = strlen(text) > DIGITS + 2 ? text + DIGITS + 2 : NULL;
    if (!name || text[DIGITS] != ' ' || *name == '/' || strstr(name, "..")) {
        return liana__fail(error, LIANA_INVALID_DATA, "%s:%zu: expected 64 hexadecimal digits, two spaces and a name",
                           path, line);
    }
    const char *file = liana__path_join(arena, folder, name);
    if (!file) return liana__fail_memory(error, folder);
    const liana_status status = liana__sha256_file(file, &digits, error);
    if (status == LIANA_NOT_FOUND) {
        return liana__fail(error, LIANA_DATA_LOSS, "'%s' is missing, which %s names: export the model again", file,
                           SUMS);
    }
    LIANA_TRY(status);
    if (strncmp(digits.text, text, DIGITS) == 0) return LIANA_OK;
    return liana__fail(error, LIANA_DATA_LOSS, "'%s' has changed: its SHA-256 is %s, %s has %.*s", file, digits.text,
                       SUMS, DIGITS, text);
}

static liana_status check_sums(const char *folder, liana__arena *arena, size_t *num_files, liana__error *error)
{
    enum { MOST = 1 << 24 };
    const char *path = liana__path_join(arena, folder, SUMS);
    char *text = NULL, *next;
    size_t size, line = 0;
    if (!path) return liana__fail_memory(error, folder);
    if (!liana__folder_exists(folder)) return liana__fail(error, LIANA_NOT_FOUND, "'%s' is no folder", folder);
    if (!liana__file_exists(path)) {
        return liana__fail(error, LIANA_NOT_FOUND, "'%s' has no %s: it was not written by liana export", folder, SUMS);
    }
    liana_status status = liana__file_read(path, MOST, &text, &size, error);
    for (char *at = text; status == LIANA_OK && at && *at; at = next) {
        next = strchr(at, '\n');
        if (next) *next++ = '\0';
        status = check_sum(folder, path, ++line, at, arena, error);
        if (!next) break;
    }
    free(text);
    *num_files = line;
    return status;
}

/* ---- writing ---- */

static liana_status write_class_names(const liana__export *own, const char *folder, liana__error *error)
{
    const liana_preprocessing known = liana_model_preprocessing(own->model);
    LIANA__SCOPED(liana__text) text = {0};
    if (!known.class_names || !known.num_class_names) return LIANA_OK;
    for (size_t i = 0; i < known.num_class_names; i++) liana__text_add(&text, "%s\n", known.class_names[i]);
    const char *path = liana__path_join(own->arena, folder, "class_names.txt");
    if (!path || text.failed) return liana__fail_memory(error, folder);
    return liana__file_replace(path, text.data, text.length, error);
}

static liana_status write_preprocessing(const liana__export *own, const liana_predictor *predictor, const char *folder,
                                        liana__error *error)
{
    liana__arena *arena = own->arena;
    const liana_predictor_facts facts = liana_predictor_info(predictor);
    const liana_preprocessing *known = &facts.preprocessing;
    const char *path = liana__path_join(arena, folder, "preprocessing.json");
    liana__value *map = liana__value_map(arena);
    if (!facts.takes_images) return LIANA_OK;
    liana__value_set(arena, map, "height", liana__value_int(arena, facts.height));
    liana__value_set(arena, map, "width", liana__value_int(arena, facts.width));
    liana__value_set(arena, map, "channels", liana__value_int(arena, facts.channels));
    liana__value_set(arena, map, "interpolation", liana__value_string(arena, "bilinear"));
    liana__value_set(arena, map, "antialias", liana__value_bool(arena, known->antialias));
    liana__value_set(arena, map, "round", liana__value_bool(arena, known->round));
    liana__value_set(arena, map, "scale", liana__value_string(arena, liana__scale_names[known->scale]));
    if (!path || !map || arena->failed) return liana__fail_memory(error, folder);
    return liana__json_write(path, map, error);
}

static liana_status copy_file(const char *from, const char *to, liana__error *error)
{
    enum { MOST = 1 << 28 };
    char *bytes;
    size_t size;
    LIANA_TRY(liana__file_read(from, MOST, &bytes, &size, error));
    const liana_status status = liana__file_replace(to, bytes, size, error);
    free(bytes);
    return status;
}

/* They are in a folder of their own: one with a config.yaml is taken for a run. */
static liana_status copy_run_files(const liana__export *own, const char *folder, liana__error *error)
{
    static const char *const names[] = {"config.yaml", "history.json"};
    if (!own->run) return LIANA_OK;
    const char *into = liana__path_join(own->arena, folder, "training");
    if (!into) return liana__fail_memory(error, folder);
    LIANA_TRY(liana__folder_make(into, error));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *from = liana__path_join(own->arena, own->run, names[i]);
        const char *to = liana__path_join(own->arena, into, names[i]);
        if (!from || !to) return liana__fail_memory(error, folder);
        if (liana__file_exists(from)) LIANA_TRY(copy_file(from, to, error));
    }
    return LIANA_OK;
}

static liana_status write_with(const liana__export *own, liana_predictor *predictor, const char *folder,
                               liana__error *error)
{
    liana__export_examples *examples = liana__arena_allocate(own->arena, sizeof *examples);
    if (!examples) return liana__fail_memory(error, "the examples");
    LIANA_TRY(write_preprocessing(own, predictor, folder, error));
    LIANA_TRY(liana__export_choose(own, predictor, examples, error));
    LIANA_TRY(liana__export_compute(predictor, examples, own->arena, error));
    LIANA_TRY(liana__export_write_examples(predictor, examples, folder, own->arena, error));
    LIANA_TRY(liana__export_write_card(own, predictor, examples, folder, error));
    return liana__export_write_sums(folder, own->arena, error);
}

/* The examples are computed by what was written, not by the model in memory. */
static liana_status open_written(liana_context *context, const char *folder, liana_predictor **predictor,
                                 liana__error *error)
{
    const liana_status status = liana_predictor_open(context, folder, NULL, predictor);
    return status == LIANA_OK ? LIANA_OK : liana__fail_as(error, &context->error);
}

liana_status liana__export_write(const liana__export *own, const char *folder, liana__error *error)
{
    LIANA__SCOPED_BY(liana_predictor_close_scoped) liana_predictor *predictor = NULL;
    LIANA_TRY(liana__model_write_any(own->model, folder, LIANA__KERAS3, &own->notes, error));
    LIANA_TRY(write_class_names(own, folder, error));
    LIANA_TRY(copy_run_files(own, folder, error));
    LIANA_TRY(open_written(own->context, folder, &predictor, error));
    return write_with(own, predictor, folder, error);
}

/* ---- verifying ---- */

static liana_status compare(liana_predictor *predictor, liana__export_examples *examples, liana__arena *arena,
                            liana__export_report *report, liana__error *error)
{
    const size_t each = (size_t)liana_predictor_info(predictor).num_values, count = examples->count * each;
    const float *recorded = examples->outputs;
    LIANA_TRY(liana__export_compute(predictor, examples, arena, error));
    report->num_examples = examples->count;
    report->same_bits = memcmp(recorded, examples->outputs, count * sizeof *recorded) == 0;
    for (size_t i = 0; i < count; i++) {
        const double difference = fabs((double)recorded[i] - (double)examples->outputs[i]);
        if (difference > report->largest) report->largest = difference;
        if (difference <= LIANA__EXPORT_TOLERANCE * (1 + fabs((double)recorded[i]))) continue;
        return liana__fail(error, LIANA_INVALID_DATA,
                           "output %zu of example %zu is %.9g, but %.9g was recorded when the model was exported",
                           i % each, i / each, (double)examples->outputs[i], (double)recorded[i]);
    }
    return LIANA_OK;
}

liana_status liana__export_verify(liana_context *context, const char *folder, liana__export_report *report,
                                  liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED_BY(liana_predictor_close_scoped) liana_predictor *predictor = NULL;
    *report = (liana__export_report){0};
    liana__export_examples *examples = liana__arena_allocate(&arena, sizeof *examples);
    if (!examples) return liana__fail_memory(error, "the examples");
    LIANA_TRY(check_sums(folder, &arena, &report->num_files, error));
    LIANA_TRY(open_written(context, folder, &predictor, error));
    LIANA_TRY(liana__export_read_examples(predictor, folder, &arena, examples, error));
    return compare(predictor, examples, &arena, report, error);
}
