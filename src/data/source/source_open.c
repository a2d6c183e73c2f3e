/* Opens sources: finds their files and their kind. */
#include "data/source/source_open.h"

#include "base/scoped.h"
#include "data/source/class_list.h"
#include "data/source/image_names.h"
#include "data/source/number_names.h"
#include "formats/image.h"
#include "formats/sniff.h"
#include "known/data_set.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static liana_status accept(liana_context *context, liana_part *part)
{
    const liana_source_type *type = (const liana_source_type *)part;
    LIANA_TRY(liana__part_needs(context, part, type->open != NULL, "open"));
    LIANA_TRY(liana__part_needs(context, part, type->read != NULL, "read"));
    if (part->options.count) {
        return liana__part_refuse(context, part, "it has options, which kinds of data cannot have");
    }
    if (strcmp(part->name, "auto") != 0) return LIANA_OK;
    return liana__part_refuse(context, part, "liana has one of this name; choose another name");
}

static const liana_part *const kinds[] = {
#define LIANA__SOURCE(stem, name) &liana__source_##name.part,
#include "data/sources.def"
#undef LIANA__SOURCE
    NULL};

const liana__kind liana__source_kind = {.kind = LIANA_PART_SOURCE,
                                        .size = sizeof(liana_source_type),
                                        .builtin = kinds,
                                        .accept = accept};

static bool recognises(const liana_source_type *kind, const char *path, const uint8_t *head, size_t size)
{
    return kind->recognises && kind->recognises(path, head, size);
}

static liana_status find_kind(const liana_context *context, const char *name, const liana_source_type **kind,
                              liana__error *error)
{
    *kind = NULL;
    if (!name || strcmp(name, "auto") == 0) return LIANA_OK;
    liana__nearest_search search = liana__nearest_begin(name);
    liana__nearest_add(&search, "auto");
    LIANA__SCOPED(liana__text) known = {0};
    *kind = liana__part_find(context, &liana__source_kind, name, NULL);
    const liana_part *each;
    for (size_t i = 0; (each = liana__part_at(context, &liana__source_kind, i)); i++) {
        liana__nearest_add(&search, each->name);
        liana__text_add(&known, ", %s", each->name);
    }
    if (*kind) return LIANA_OK;
    const char *nearest = search.nearest;
    return liana__fail(error, LIANA_INVALID_CONFIG, "there is no kind of data '%s'%s%s%s; the kinds are: auto%s", name,
                       nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'" : "",
                       known.data ? known.data : "");
}

/* The first bytes of a file; none if it cannot be read (opening it will say why). */
static size_t read_head(const char *path, uint8_t head[LIANA__SOURCE_HEAD])
{
    FILE *file = liana__file_exists(path) ? fopen(path, "rb") : NULL; /* opening a pipe could wait for ever */
    if (!file) return 0;
    size_t size = fread(head, 1, LIANA__SOURCE_HEAD, file);
    fclose(file);
    return size;
}

static const liana_source_type *recognise(const liana_context *context, const char *path)
{
    uint8_t head[LIANA__SOURCE_HEAD];
    size_t size = read_head(path, head);
    const liana_source_type *kind;
    for (size_t i = 0; (kind = liana__part_at(context, &liana__source_kind, i)); i++) {
        if (recognises(kind, path, head, size)) return kind;
    }
    return NULL;
}

/* A folder is of the kind of its first known file; one that only holds folders is of the kind that takes folders. */
static liana_status recognise_folder(const liana_context *context, const char *path, const liana_source_type **kind,
                                     liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    const liana_source_type *folders = NULL, *each;
    *kind = NULL;
    for (size_t i = 0; !folders && (each = liana__part_at(context, &liana__source_kind, i)); i++) {
        if (each->takes_folders) folders = each;
    }
    LIANA_TRY(liana__folder_list(path, &arena, &names, error));
    bool has_folders = false;
    for (size_t i = 0; i < names.count && !*kind; i++) {
        const char *inner = liana__path_join(&arena, path, names.items[i]);
        if (!inner) return liana__fail_memory(error, path);
        if (liana__folder_exists(inner)) {
            has_folders = has_folders || *names.items[i] != '.';
        } else {
            *kind = recognise(context, inner);
            if (*kind && (*kind)->named_only) *kind = NULL;
        }
    }
    if (!*kind && has_folders) *kind = folders;
    return LIANA_OK;
}

/* A description of a file or folder of no known kind: "; it is an HEIC image", "; it has 3 .heic". In the arena; NULL:
 * out of memory. */
static const char *describe_unknown(const char *path, liana__arena *arena)
{
    uint8_t head[LIANA__SOURCE_HEAD];
    liana__paths names = {0};
    liana__unread_images unread = {0};
    if (!liana__folder_exists(path)) {
        const char *what = liana__sniff(head, read_head(path, head));
        return what ? liana__arena_format(arena, "; it looks like %s", what) : "";
    }
    if (liana__folder_list(path, arena, &names, NULL) != LIANA_OK) return "";
    for (size_t i = 0; i < names.count; i++) liana__unread_images_add(&unread, names.items[i]);
    if (!unread.total) return "";
    const char *list = liana__unread_images_list(&unread, arena);
    return list ? liana__arena_format(arena, "; it has image files of kinds that are not read: %s", list) : NULL;
}

static liana_status fail_unknown_kind(const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *what = describe_unknown(path, &arena);
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s' is not of a known kind%s; expected TFRecord files, IDX files (MNIST), CSV "
                       "lists of images, WebDataset tar "
                       "archives, images (" LIANA__IMAGE_KINDS
                       ") or folders of them; if it is one of these, set data.kind",
                       path, what ? what : "");
}

static liana_status recognise_all(const liana_context *context, const liana__paths *paths,
                                  const liana_source_type **kind, liana__error *error)
{
    *kind = NULL;
    for (size_t i = 0; i < paths->count; i++) {
        const liana_source_type *found = NULL;
        if (liana__folder_exists(paths->items[i])) {
            LIANA_TRY(recognise_folder(context, paths->items[i], &found, error));
        } else {
            found = recognise(context, paths->items[i]);
        }
        if (!found) LIANA_TRY(liana__link_check(paths->items[i], error));
        if (!found) return fail_unknown_kind(paths->items[i], error);
        if (*kind && found != *kind) {
            return liana__fail(error, LIANA_INVALID_DATA,
                               "'%s' is of kind %s but '%s' is of kind %s; name data of one kind, or set data.kind",
                               paths->items[0], (*kind)->part.name, paths->items[i], found->part.name);
        }
        *kind = found;
    }
    return LIANA_OK;
}

/* A growing list whose strings are in an arena. */
typedef struct path_list {
    liana__arena *arena;
    char **items;
    size_t count;
    size_t capacity;
} path_list;

static void path_list_free(path_list *list)
{
    free(list->items);
}

static liana_status add_path(path_list *list, const char *path, liana__error *error)
{
    if (!path || !liana__grow(&list->items, list->count, &list->capacity, sizeof *list->items)) {
        return liana__fail_memory(error, "a list of files");
    }
    list->items[list->count] = liana__arena_string(list->arena, path);
    return list->items[list->count++] ? LIANA_OK : liana__fail_memory(error, "a list of files");
}

static liana_status add_pattern(path_list *list, const char *pattern, liana__error *error)
{
    /* A path that exists is meant literally, whatever characters it has. */
    if (liana__file_exists(pattern) || liana__folder_exists(pattern)) return add_path(list, pattern, error);
    liana__paths matches;
    liana_status status = liana__file_match(pattern, list->arena, &matches, error);
    const char *nearest = status == LIANA_NOT_FOUND ? liana__data_set_nearest(liana__path_name(pattern)) : NULL;
    if (nearest) {
        return liana__fail(error, status, "there is no file '%s'; did you mean the data set '%s'?", pattern, nearest);
    }
    LIANA_TRY(status);
    for (size_t i = 0; i < matches.count; i++) LIANA_TRY(add_path(list, matches.items[i], error));
    return LIANA_OK;
}

/* The files of this kind in a folder. */
static liana_status add_folder(path_list *list, const char *path, const liana_source_type *kind, liana__error *error)
{
    liana__paths names;
    size_t before = list->count;
    LIANA_TRY(liana__folder_list(path, list->arena, &names, error));
    for (size_t i = 0; i < names.count; i++) {
        char *inner = liana__path_join(list->arena, path, names.items[i]);
        if (inner && liana__folder_exists(inner)) continue;
        uint8_t head[LIANA__SOURCE_HEAD];
        size_t size = inner ? read_head(inner, head) : 0;
        if (inner && !recognises(kind, inner, head, size)) continue;
        LIANA_TRY(add_path(list, inner, error));
    }
    if (list->count > before) return LIANA_OK;
    return liana__fail(error, LIANA_NOT_FOUND, "no %s file in the folder '%s'", kind->part.name, path);
}

static liana_status open_kind(const liana_source_type *kind, const liana__paths *paths,
                              const liana__source_options *options, liana__source **out, liana__error *error)
{
    char message[LIANA_SOURCE_MESSAGE] = "";
    liana_source_opening opening = {.paths = (const char *const *)paths->items,
                                    .num_paths = paths->count,
                                    .message = message,
                                    .type = kind,
                                    .options = options,
                                    .error = error};
    liana_status status = kind->open(&opening);
    message[sizeof message - 1] = 0;
    const char *file = paths->count ? paths->items[0] : "";
    if (status != LIANA_OK && !opening.source) liana__source_fail_opening(kind, file, status, message, error);
    if (status == LIANA_OK && !opening.source) status = liana__source_make_plain(&opening, &opening.source, error);
    if (status != LIANA_OK && opening.handle && kind->close) kind->close(opening.handle);
    if (status == LIANA_OK) *out = opening.source;
    return status;
}

static liana_status open_paths(const path_list *list, const liana_source_type *kind,
                               const liana__source_options *options, liana__source **source, liana__error *error)
{
    LIANA__SCOPED(path_list) files = {.arena = list->arena};
    for (size_t i = 0; i < list->count; i++) {
        bool expand = !kind->takes_folders && liana__folder_exists(list->items[i]);
        LIANA_TRY(expand ? add_folder(&files, list->items[i], kind, error) : add_path(&files, list->items[i], error));
    }
    return open_kind(kind, &(liana__paths){files.items, files.count}, options, source, error);
}

enum { LABELS_SHOWN = 100 };

/* Different labels of the first records: "0, 2, 1". */
static void show_labels(const liana__source *source, liana__text *text)
{
    int64_t shown[8];
    size_t count = 0, most = sizeof shown / sizeof *shown;
    void *scratch = liana__source_scratch_create(source);
    for (uint64_t i = 0; scratch && i < source->num_records && i < LABELS_SHOWN && count < most; i++) {
        liana_source_record record;
        liana__error own = {0};
        if (liana__source_read(source, i, scratch, &record, &own) != LIANA_OK || !record.has_label) continue;
        bool is_new = true;
        for (size_t k = 0; k < count; k++) is_new = is_new && shown[k] != record.label;
        if (!is_new) continue;
        liana__text_add(text, "%s%" PRId64, count ? ", " : "", record.label);
        shown[count++] = record.label;
    }
    liana__source_scratch_destroy(source, scratch);
}

/* Numbers mean the classes that others have names for only where these names are the numbers. */
static liana_status check_names(const liana__source *source, const char *pattern, const liana__source_options *options,
                                liana__error *error)
{
    bool numbered = source->has_labels && !source->class_names.count;
    if (!options->labels_are_names || !numbered || liana__class_list_counts(&options->class_names)) return LIANA_OK;
    LIANA__SCOPED(liana__text) labels = {0};
    show_labels(source, &labels);
    return liana__fail(
        error, LIANA_INVALID_DATA,
        "the labels of '%s' are numbers (%s, ...), but the run has names for its classes: %s. Which number belongs to "
        "which name is not known; use the names, or list them in the order of the numbers in data.class_names",
        pattern, labels.data ? labels.data : "", liana__class_list_show(&options->class_names).text);
}

static liana_status check_source(const liana__source *source, const char *pattern, const liana__source_options *options,
                                 liana__error *error)
{
    if (source->num_records == 0) {
        const char *why = source->num_lost ? source->lost[0].reason : NULL;
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': no records in it%s%s", pattern, why ? ": " : "",
                           why ? why : "");
    }
    /* A model may learn components instead of labels. */
    const bool lacks = options->need_labels && !source->has_labels && !source->num_components;
    if (lacks && source->instead_of_labels) {
        return liana__fail(error, LIANA_INVALID_DATA, "'%s' has no labels, which are needed here: %s", pattern,
                           source->instead_of_labels);
    }
    if (lacks) {
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "'%s' has no labels, which are needed here: IDX images need a file of labels beside them, CSV lists a "
            "column 'label' or 'class' with no empty cell, WebDatasets a NAME.cls beside each image, images a folder "
            "for each class",
            pattern);
    }
    return check_names(source, pattern, options, error);
}

/* The first of the patterns names the data in messages. `known`: what labels that are numbers mean; empty: nothing. */
static liana_status open_local(const char *const *patterns, size_t num_patterns, const liana__source_options *options,
                               const liana__strings *known, liana__source **source, liana__error *error)
{
    *source = NULL;
    if (num_patterns == 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no files to read data from");
    const liana_source_type *kind;
    LIANA_TRY(find_kind(options->context, options->kind, &kind, error));
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(path_list) list = {.arena = &arena};
    for (size_t i = 0; i < num_patterns; i++) LIANA_TRY(add_pattern(&list, patterns[i], error));
    liana__paths paths = {list.items, list.count};
    if (!kind) LIANA_TRY(recognise_all(options->context, &paths, &kind, error));
    LIANA_TRY(open_paths(&list, kind, options, source, error));
    if (options->take && options->take < (*source)->num_records) (*source)->num_records = options->take;
    if (options->ignore_labels) (*source)->has_labels = false;
    (*source)->skip_damage = options->skip_damage;
    liana_status status = LIANA_OK;
    if (known->count) status = liana__source_name_numbers(*source, patterns[0], known, options, error);
    if (status == LIANA_OK) status = check_source(*source, patterns[0], options, error);
    if (status == LIANA_OK) return LIANA_OK;
    liana__source_close(*source);
    *source = NULL;
    return status;
}

/* Names that are opened together. */
typedef struct name_list {
    liana__arena arena;
    const char **items;
    size_t count;
    const char *set;      /* the data set that all of them belong to; NULL: there is none */
    liana__strings known; /* its classes, where the files do not say them */
} name_list;

static void name_list_free(name_list *list)
{
    liana__arena_free(&list->arena);
}

/* The files of a data set take the place of its name. */
static liana_status add_name(name_list *list, const char *name, liana__source_options *options, liana__error *error)
{
    liana__data_files files = {.paths = {1, &name}};
    if (liana__data_set_is_meant(name, name)) {
        LIANA_TRY(liana__data_set_find(name, options->measured, options->remote, (liana_context *)options->context,
                                       options->notes, &list->arena, &files, error));
        if (!options->kind || strcmp(options->kind, "auto") == 0) options->kind = files.kind;
    }
    const bool same = list->count == 0 || (list->set && files.set && strcmp(list->set, files.set) == 0);
    list->set = same ? files.set : NULL;
    list->known = same ? files.class_names : (liana__strings){0};
    for (size_t i = 0; i < files.paths.count; i++) list->items[list->count++] = files.paths.items[i];
    return LIANA_OK;
}

/* Fetches all URLs together, then opens the local files. Named labels come after the patterns. */
static liana_status open_resolved(liana__remote *remote, const char *const *patterns, size_t num_patterns,
                                  const liana__source_options *options, liana__source **source, liana__error *error)
{
    LIANA__SCOPED(name_list) names = {0};
    liana__paths paths;
    liana__source_options local = *options;
    names.items = liana__arena_allocate(&names.arena, (LIANA__DATA_SET_FILES * num_patterns + 1) * sizeof *names.items);
    if (!names.items) return liana__fail_memory(error, "a list of files");
    for (size_t i = 0; i < num_patterns; i++) LIANA_TRY(add_name(&names, patterns[i], &local, error));
    const size_t count = names.count + (options->labels != NULL);
    if (options->labels) names.items[names.count] = options->labels;
    liana_status status = liana__remote_resolve(remote, names.items, count, &names.arena, &paths, error);
    if (status == LIANA_OK && options->labels) local.labels = paths.items[--paths.count];
    if (status == LIANA_OK) {
        status = open_local((const char *const *)paths.items, paths.count, &local, &names.known, source, error);
    }
    return status == LIANA_OK ? LIANA_OK : liana__remote_fail_within(remote, error);
}

static void describe_columns(const liana__columns *columns, liana__fingerprint *settings)
{
    for (size_t i = 0; i < columns->count; i++) {
        const liana__column *column = &columns->items[i];
        const char *const names[] = {column->name, column->lengths, liana__column_if_missing(column, 0),
                                     column->indices};
        const int64_t numbers[] = {column->stacked,
                                   column->dtype,
                                   column->category,
                                   column->length,
                                   column->multi_hot,
                                   (int64_t)column->from.count,
                                   (int64_t)column->vocabulary.count};
        const size_t num_names = column->indices ? 4 : 3;
        for (size_t k = 0; k < num_names; k++) liana__fingerprint_add_text(settings, names[k]);
        liana__fingerprint_add(settings, numbers, sizeof numbers);
        for (size_t k = 1; k < column->values_if_missing.count; k++) {
            liana__fingerprint_add_text(settings, column->values_if_missing.items[k]);
        }
        if (column->num_oov_indices) liana__fingerprint_add_text(settings, LIANA__UNKNOWN_NAME);
        if (column->hash_bins || column->cross || column->num_bins) {
            const int64_t bins[] = {column->hash_bins, column->cross, column->num_bins};
            liana__fingerprint_add(settings, bins, sizeof bins);
        }
        if (column->num_boundaries) {
            liana__fingerprint_add(settings, column->boundaries, column->num_boundaries * sizeof *column->boundaries);
        }
        liana__fingerprint_add(settings, &column->padding, sizeof column->padding);
        for (size_t k = 0; k < column->from.count; k++) liana__fingerprint_add_text(settings, column->from.items[k]);
        for (size_t k = 0; k < column->vocabulary.count; k++) {
            liana__fingerprint_add_text(settings, column->vocabulary.items[k]);
        }
    }
}

static void describe_options(const liana__source_options *options, liana__fingerprint *settings)
{
    const char *const names[] = {options->kind, options->image_feature, options->label_feature, options->id_feature,
                                 options->labels};
    const uint64_t numbers[] = {options->take, options->ignore_labels, options->skip_damage, options->any_first_record,
                                options->class_names.count};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) liana__fingerprint_add_text(settings, names[i]);
    liana__fingerprint_add(settings, numbers, sizeof numbers);
    if (options->columns) describe_columns(options->columns, settings);
    if (options->header) liana__fingerprint_add(settings, &(uint64_t){options->header}, sizeof(uint64_t));
    if (options->field_delim || options->plain_quotes || options->na_value) {
        const char form[] = {options->field_delim, options->plain_quotes};
        liana__fingerprint_add(settings, form, sizeof form);
        liana__fingerprint_add_text(settings, options->na_value);
    }
    for (size_t i = 0; i < options->class_names.count; i++) {
        liana__fingerprint_add_text(settings, options->class_names.items[i]);
    }
    for (size_t i = 0; i < options->num_held_out; i++) {
        liana__fingerprint_add(settings, &options->held_out[i].record, sizeof options->held_out[i].record);
    }
}

liana_status liana__source_open(const char *const *patterns, size_t num_patterns, const liana__source_options *given,
                                liana__source **source, liana__error *error)
{
    liana__source_options options = given ? *given : (liana__source_options){0};
    liana__remote *own = NULL;
    *source = NULL;
    if (!options.remote) LIANA_TRY(liana__remote_create(NULL, &own, error));
    if (own) options.remote = own;
    liana_status status = open_resolved(options.remote, patterns, num_patterns, &options, source, error);
    if (status != LIANA_OK) {
        liana__remote_destroy(own);
        return status;
    }
    (*source)->remote = options.remote;
    (*source)->owns_remote = own != NULL;
    for (size_t i = 0; i < (*source)->num_lost; i++) {
        (*source)->lost[i].file = liana__remote_name((*source)->lost[i].file);
        liana__remote_clean(options.remote, (char *)(*source)->lost[i].reason);
    }
    describe_options(&options, &(*source)->settings);
    return LIANA_OK;
}
