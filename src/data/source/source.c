/* Opens sources: finds their files and kind, and reads their records. */
#include "data/source/source.h"

#include "base/text.h"
#include "base/utf8.h"
#include "data/source/class_list.h"
#include "data/source/image_names.h"
#include "formats/image.h"
#include "formats/sniff.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const liana__source_kind *const KINDS[] = {
#define LIANA__SOURCE(stem, name) &liana__source_##name,
#include "data/sources.def"
#undef LIANA__SOURCE
};
enum { NUM_KINDS = sizeof KINDS / sizeof *KINDS };

/* liana's own kinds first, then those of the context; NULL after the last. */
static const liana__source_kind *kind_at(const liana_context *context, size_t index)
{
    if (index < NUM_KINDS) return KINDS[index];
    const liana_source_type *own = liana__part_at(context, &liana__own_source_kind, index - NUM_KINDS);
    return own ? own->internal : NULL;
}

static bool recognises(const liana__source_kind *kind, const char *path, const uint8_t *head, size_t size)
{
    return kind->own ? liana__own_source_recognises(kind, path, head, size) : kind->recognises(path, head, size);
}

static liana_status find_kind(const liana_context *context, const char *name, const liana__source_kind **kind,
                              liana__error *error)
{
    *kind = NULL;
    if (!name || strcmp(name, "auto") == 0) return LIANA_OK;
    liana__nearest_search search = liana__nearest_begin(name);
    liana__nearest_add(&search, "auto");
    liana__text known = {0};
    const liana__source_kind *each;
    for (size_t i = 0; (each = kind_at(context, i)); i++) {
        if (strcmp(each->name, name) == 0) *kind = each;
        liana__nearest_add(&search, each->name);
        liana__text_add(&known, ", %s", each->name);
    }
    if (!*kind) {
        const char *nearest = search.nearest;
        liana__fail(error, LIANA_INVALID_CONFIG, "there is no kind of data '%s'%s%s%s; the kinds are: auto%s", name,
                    nearest ? "; did you mean '" : "", nearest ? nearest : "", nearest ? "'" : "",
                    known.data ? known.data : "");
    }
    liana__text_free(&known);
    return *kind ? LIANA_OK : LIANA_INVALID_CONFIG;
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

static const liana__source_kind *recognise(const liana_context *context, const char *path)
{
    uint8_t head[LIANA__SOURCE_HEAD];
    size_t size = read_head(path, head);
    const liana__source_kind *kind;
    for (size_t i = 0; (kind = kind_at(context, i)); i++) {
        if (recognises(kind, path, head, size)) return kind;
    }
    return NULL;
}

/* A folder is of the kind of its first known file; one that only holds folders is of the kind that takes folders. */
static liana_status recognise_folder(const liana_context *context, const char *path, const liana__source_kind **kind,
                                     liana__error *error)
{
    liana__arena arena = {0};
    liana__paths names;
    const liana__source_kind *folders = NULL;
    *kind = NULL;
    for (size_t i = 0; i < NUM_KINDS; i++) {
        if (KINDS[i]->takes_folders) folders = KINDS[i];
    }
    liana_status status = liana__folder_list(path, &arena, &names, error);
    bool has_folders = false;
    for (size_t i = 0; status == LIANA_OK && i < names.count && !*kind; i++) {
        const char *inner = liana__path_join(&arena, path, names.items[i]);
        if (!inner) {
            status = liana__fail_memory(error, path);
        } else if (liana__folder_exists(inner)) {
            has_folders = has_folders || *names.items[i] != '.';
        } else {
            *kind = recognise(context, inner);
            if (*kind && (*kind)->named_only) *kind = NULL;
        }
    }
    if (!*kind && has_folders) *kind = folders;
    liana__arena_free(&arena);
    return status;
}

/* What a file or folder of no known kind is: "; it is an HEIC image", "; it has 3 .heic". In the arena; NULL: out of
 * memory. */
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
    liana__arena arena = {0};
    const char *what = describe_unknown(path, &arena);
    liana_status status = liana__fail(error, LIANA_INVALID_DATA,
                                      "'%s' is not of a known kind%s; expected TFRecord files, IDX files (MNIST), CSV "
                                      "lists of images, WebDataset tar "
                                      "archives, images (" LIANA__IMAGE_KINDS
                                      ") or folders of them; if it is one of these, set data.kind",
                                      path, what ? what : "");
    liana__arena_free(&arena);
    return status;
}

static liana_status recognise_all(const liana_context *context, const liana__paths *paths,
                                  const liana__source_kind **kind, liana__error *error)
{
    *kind = NULL;
    for (size_t i = 0; i < paths->count; i++) {
        const liana__source_kind *found = NULL;
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
                               paths->items[0], (*kind)->name, paths->items[i], found->name);
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
    LIANA_TRY(liana__file_match(pattern, list->arena, &matches, error));
    for (size_t i = 0; i < matches.count; i++) LIANA_TRY(add_path(list, matches.items[i], error));
    return LIANA_OK;
}

/* The files of this kind in a folder. */
static liana_status add_folder(path_list *list, const char *path, const liana__source_kind *kind, liana__error *error)
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
    return liana__fail(error, LIANA_NOT_FOUND, "no %s file in the folder '%s'", kind->name, path);
}

static liana_status open_paths(const path_list *list, const liana__source_kind *kind,
                               const liana__source_options *options, liana__source **source, liana__error *error)
{
    path_list files = {.arena = list->arena};
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < list->count; i++) {
        bool expand = !kind->takes_folders && liana__folder_exists(list->items[i]);
        status = expand ? add_folder(&files, list->items[i], kind, error) : add_path(&files, list->items[i], error);
    }
    liana__paths paths = {files.items, files.count};
    if (status == LIANA_OK) {
        status = kind->own ? liana__own_source_open(kind, &paths, source, error)
                           : kind->open(&paths, options, source, error);
    }
    free(files.items);
    return status;
}

enum { LABELS_SHOWN = 100 };

/* Different labels of the first records: "0, 2, 1". */
static void show_labels(const liana__source *source, liana__text *text)
{
    int64_t shown[8];
    size_t count = 0, most = sizeof shown / sizeof *shown;
    void *scratch = liana__source_scratch_create(source);
    for (uint64_t i = 0; scratch && i < source->num_records && i < LABELS_SHOWN && count < most; i++) {
        liana__record record;
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
    liana__text labels = {0};
    show_labels(source, &labels);
    liana__fail(
        error, LIANA_INVALID_DATA,
        "the labels of '%s' are numbers (%s, ...), but the run has names for its classes: %s. Which number belongs to "
        "which name is not known; use the names, or list them in the order of the numbers in data.class_names",
        pattern, labels.data ? labels.data : "", liana__class_list_show(&options->class_names).text);
    liana__text_free(&labels);
    return LIANA_INVALID_DATA;
}

static liana_status check_source(const liana__source *source, const char *pattern, const liana__source_options *options,
                                 liana__error *error)
{
    if (source->num_records == 0) {
        const char *why = source->num_lost ? source->lost[0].reason : NULL;
        return liana__fail(error, LIANA_INVALID_DATA, "'%s': no records in it%s%s", pattern, why ? ": " : "",
                           why ? why : "");
    }
    /* Components may be what is learnt. */
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

static liana_status open_local(const char *const *patterns, size_t num_patterns, const liana__source_options *options,
                               liana__source **source, liana__error *error)
{
    *source = NULL;
    if (num_patterns == 0) return liana__fail(error, LIANA_INVALID_ARGUMENT, "no files to read data from");
    const liana__source_kind *kind;
    LIANA_TRY(find_kind(options->context, options->kind, &kind, error));
    liana__arena arena = {0};
    path_list list = {.arena = &arena};
    liana_status status = LIANA_OK;
    for (size_t i = 0; status == LIANA_OK && i < num_patterns; i++) status = add_pattern(&list, patterns[i], error);
    liana__paths paths = {list.items, list.count};
    if (status == LIANA_OK && !kind) status = recognise_all(options->context, &paths, &kind, error);
    if (status == LIANA_OK) status = open_paths(&list, kind, options, source, error);
    if (status == LIANA_OK) {
        if (options->take && options->take < (*source)->num_records) (*source)->num_records = options->take;
        if (options->ignore_labels) (*source)->has_labels = false;
        (*source)->skip_damage = options->skip_damage;
        status = check_source(*source, patterns[0], options, error);
        if (status != LIANA_OK) {
            liana__source_close(*source);
            *source = NULL;
        }
    }
    free(list.items);
    liana__arena_free(&arena);
    return status;
}

/* Fetches all URLs together, then opens the local files. Named labels come after the patterns. */
static liana_status open_resolved(liana__remote *remote, const char *const *patterns, size_t num_patterns,
                                  const liana__source_options *options, liana__source **source, liana__error *error)
{
    liana__arena arena = {0};
    liana__paths paths;
    liana__source_options local = *options;
    size_t count = num_patterns + (options->labels != NULL);
    const char **names = liana__arena_allocate(&arena, (count + 1) * sizeof *names);
    if (!names) return liana__fail_memory(error, "a list of files");
    for (size_t i = 0; i < num_patterns; i++) names[i] = patterns[i];
    if (options->labels) names[num_patterns] = options->labels;
    liana_status status = liana__remote_resolve(remote, names, count, &arena, &paths, error);
    if (status == LIANA_OK && options->labels) local.labels = paths.items[--paths.count];
    if (status == LIANA_OK) status = open_local((const char *const *)paths.items, paths.count, &local, source, error);
    if (status != LIANA_OK) liana__remote_fail_within(remote, error);
    liana__arena_free(&arena);
    return status;
}

static void describe_columns(const liana__columns *columns, liana__fingerprint *settings)
{
    for (size_t i = 0; i < columns->count; i++) {
        const liana__column *column = &columns->items[i];
        const char *const names[] = {column->name, column->lengths, column->value_if_missing};
        const int64_t numbers[] = {column->stacked,
                                   column->dtype,
                                   column->category,
                                   column->length,
                                   column->multi_hot,
                                   (int64_t)column->from.count,
                                   (int64_t)column->vocabulary.count};
        for (size_t k = 0; k < 3; k++) liana__fingerprint_add_text(settings, names[k]);
        liana__fingerprint_add(settings, numbers, sizeof numbers);
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
    for (size_t i = 0; i < options->class_names.count; i++) {
        liana__fingerprint_add_text(settings, options->class_names.items[i]);
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

void liana__source_close(liana__source *source)
{
    if (!source) return;
    liana__remote *remote = source->owns_remote ? source->remote : NULL;
    source->kind->close(source);
    liana__remote_destroy(remote);
}

void *liana__source_scratch_create(const liana__source *source)
{
    return calloc(1, source->kind->scratch_size ? source->kind->scratch_size : 1);
}

void liana__source_scratch_destroy(const liana__source *source, void *scratch)
{
    if (!scratch) return;
    liana__file_buffer *buffers = scratch;
    if (source->kind->scratch_free) source->kind->scratch_free(scratch);
    for (size_t i = 0; i < source->kind->num_buffers; i++) liana__file_buffer_free(&buffers[i]);
    free(scratch);
}

void liana__source_scratch_bound(const liana__source *source, void *scratch, liana__memory_share *share)
{
    liana__file_buffer *buffers = scratch;
    for (size_t i = 0; i < source->kind->num_buffers; i++) buffers[i].share = share;
    if (source->kind->scratch_bound) source->kind->scratch_bound(scratch, share);
}

size_t liana__source_scratch_bytes(const liana__source *source, const void *scratch)
{
    const liana__file_buffer *buffers = scratch;
    size_t bytes = source->kind->scratch_bytes ? source->kind->scratch_bytes(scratch) : 0;
    for (size_t i = 0; i < source->kind->num_buffers; i++) bytes += buffers[i].capacity;
    return bytes;
}

void liana__source_expect(const liana__source *source, uint64_t index)
{
    if (source->kind->expect && index < source->num_records) source->kind->expect(source, index);
}

liana_status liana__source_read(const liana__source *source, uint64_t index, void *scratch, liana__record *record,
                                liana__error *error)
{
    *record = (liana__record){0};
    if (index >= source->num_records) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "there is no record %" PRIu64 ": there are %" PRIu64, index,
                           source->num_records);
    }
    liana_status status = source->kind->read(source, index, scratch, record, error);
    return status == LIANA_OK ? LIANA_OK : liana__remote_fail_within(source->remote, error);
}

liana_status liana__source_read_at(const liana__source *source, const liana_example_address *address, void *scratch,
                                   liana__record *record, liana__error *error)
{
    if (!source->kind->read_at) return liana__source_read(source, address->record, scratch, record, error);
    *record = (liana__record){0};
    return source->kind->read_at(source, address, scratch, record, error);
}

liana__record_address liana__source_address(const liana__source *source, uint64_t index)
{
    liana__record_address address = source->kind->address(source, index);
    address.file = liana__remote_name(address.file);
    return address;
}

int64_t liana__source_offset(const liana__source *source, uint64_t index)
{
    return source->kind->offset ? source->kind->offset(source, index) : -1;
}

bool liana__source_is_bad_record(liana_status status)
{
    switch (status) {
    case LIANA_DATA_LOSS:
    case LIANA_INVALID_DATA:
    case LIANA_OUT_OF_RANGE:
    case LIANA_NOT_FOUND:
    case LIANA_IO_ERROR: return true;
    default: return false;
    }
}

liana_status liana__source_add_lost(liana__source *source, liana__arena *arena, const liana__lost *lost,
                                    liana__error *error)
{
    size_t count = source->num_lost;
    /* Room is doubled when the count is a power of two. */
    if ((count & (count - 1)) == 0) {
        liana__lost *wider = liana__arena_allocate(arena, (count ? 2 * count : 1) * sizeof *wider);
        if (!wider) return liana__fail_memory(error, "a list of files");
        if (count) memcpy(wider, source->lost, count * sizeof *wider);
        source->lost = wider;
    }
    liana__lost *entry = &source->lost[source->num_lost++];
    *entry = *lost;
    entry->file = liana__arena_string(arena, lost->file);
    entry->reason = liana__arena_string(arena, lost->reason);
    return arena->failed ? liana__fail_memory(error, "a list of files") : LIANA_OK;
}

liana_status liana__source_lose_file(liana__source *source, liana__arena *arena, const char *file, bool skip_damage,
                                     const liana__error *why, liana__error *error)
{
    if (!skip_damage || !liana__source_is_bad_record(why->status)) {
        if (error) *error = *why;
        return why->status;
    }
    struct stat info;
    int64_t bytes = stat(file, &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : 0;
    return liana__source_add_lost(source, arena, &(liana__lost){file, 0, 0, bytes, why->message}, error);
}

liana_status liana__source_finish(liana__source *source, liana_status status, liana__source **out)
{
    if (status == LIANA_OK) *out = source;
    if (status != LIANA_OK) source->kind->close(source);
    return status;
}

/* An id may be any bytes. */
const char *liana__source_id(const liana__record *record, char *text, size_t size)
{
    size_t length = 0, longest = size - 1 < 80 ? size - 1 : 80;
    if (!record->id) return NULL;
    while (length < longest && length < record->id_size) {
        uint32_t code;
        size_t step = liana__utf8_character(record->id + length, record->id_size - length, &code);
        if (length + step > longest) break;
        bool fit = step > 0 && code >= 0x20 && (code < 0x7F || code >= 0xA0);
        if (fit) memcpy(text + length, record->id + length, step);
        if (!fit) memset(text + length, '?', step ? step : 1);
        length += step ? step : 1;
    }
    text[length] = 0;
    return text;
}

liana_status liana__source_fail_within(const liana__source *source, uint64_t index, const liana__record *record,
                                       liana__error *error)
{
    liana__record_address address = liana__source_address(source, index);
    char line[40] = "", number[40] = "", id[120] = "", shown[96];
    if (address.line > 0) snprintf(line, sizeof line, ", line %" PRId64, address.line);
    if (address.record >= 0) {
        snprintf(number, sizeof number, ", record %" PRId64, address.record);
        /* Where the file is the record, the id would only repeat its name. */
        if (record->id) snprintf(id, sizeof id, " (id '%s')", liana__source_id(record, shown, sizeof shown));
    }
    return liana__fail_within(error, "'%.1024s'%s%s%s", address.file, line, number, id);
}

liana_status liana__source_label(const liana__source *source, uint64_t index, const liana__record *record,
                                 int64_t offset, int64_t num_classes, int32_t *label, liana__error *error)
{
    if (!record->has_label) {
        liana__fail(error, LIANA_INVALID_DATA, "it has no label");
        return liana__source_fail_within(source, index, record, error);
    }
    int64_t value, limit = num_classes > 0 && num_classes <= INT32_MAX ? num_classes : INT32_MAX;
    bool fits = !__builtin_add_overflow(record->label, offset, &value) && value >= 0 && value < limit;
    *label = fits ? (int32_t)value : -1;
    if (fits) return LIANA_OK;
    char shift[64] = "";
    if (offset) snprintf(shift, sizeof shift, " (with data.label_offset %+" PRId64 ")", offset);
    liana__fail(error, LIANA_OUT_OF_RANGE,
                "label %" PRId64 "%s is out of range [0, %" PRId64 "); are there more classes than data.num_classes "
                "or data.class_names say, or does the first one not have the number 0 (set data.label_offset)?",
                record->label, shift, limit);
    return liana__source_fail_within(source, index, record, error);
}

liana_status liana__source_count_classes(const liana__source *source, int64_t offset, int64_t *num_classes, bool *seen,
                                         liana__error *error)
{
    void *scratch = liana__source_scratch_create(source);
    if (!scratch) return liana__fail_memory(error, "reading labels");
    liana_status status = LIANA_OK;
    *num_classes = 0;
    for (uint64_t index = 0; status == LIANA_OK && index < source->num_records; index++) {
        liana__record record;
        int32_t label = 0;
        status = liana__source_read(source, index, scratch, &record, error);
        if (status == LIANA_OK)
            status = liana__source_label(source, index, &record, offset, LIANA__MAX_CLASSES, &label, error);
        if (status == LIANA_OK && seen) seen[label] = true;
        if (source->skip_damage && liana__source_is_bad_record(status)) status = LIANA_OK;
        if (label >= *num_classes) *num_classes = (int64_t)label + 1;
    }
    liana__source_scratch_destroy(source, scratch);
    return status;
}

bool liana__source_known_classes(const liana__source *source, int64_t offset, int64_t num_classes, bool *seen)
{
    if (!source->kind->known_label || !source->has_labels) return false;
    for (uint64_t index = 0; index < source->num_records; index++) {
        int64_t label = source->kind->known_label(source, index), value;
        if (label < 0 || __builtin_add_overflow(label, offset, &value)) continue;
        if (value >= 0 && value < num_classes) seen[value] = true;
    }
    return true;
}

/* Of a remote file, what its server calls this state of it. */
static void add_remote_file(const liana__remote *remote, const char *url, uint64_t num_records,
                            liana__fingerprint *settings, liana__fingerprint *sources)
{
    liana__remote_version version = liana__remote_version_of(remote, url);
    liana__fingerprint_add_text(settings, url);
    liana__fingerprint_add_text(sources, version.text);
    liana__fingerprint_add(sources, &num_records, sizeof num_records);
}

void liana__source_fingerprint(const liana__source *source, liana__fingerprint *settings, liana__fingerprint *sources)
{
    const char *file = NULL;
    uint64_t first = 0;
    for (uint64_t i = 0; i <= source->num_records; i++) {
        const char *next = i < source->num_records ? liana__source_address(source, i).file : NULL;
        bool same = file && next && (file == next || strcmp(file, next) == 0);
        if (same) continue;
        if (file && liana__path_is_remote(file)) {
            add_remote_file(source->remote, file, i - first, settings, sources);
        } else if (file) {
            liana__fingerprint_add_file(settings, sources, file, i - first);
        }
        file = next;
        first = i;
    }
}
