/* Reads the records of sources. */
#include "data/source/source.h"

#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ---- sources of kinds that make none of their own ---- */

typedef struct plain_source {
    liana__source base;
    liana__arena arena; /* of components and paths */
    const char **paths; /* the first one is the file of all records in messages */
    size_t num_paths;
} plain_source;

liana_status liana__source_fail_opening(const liana_source_type *kind, const char *file, liana_status status,
                                        const char *message, liana__error *error)
{
    return liana__fail(error, status, "'%s' (kind %s): %s", file, kind->part.name,
                       *message ? message : liana_status_text(status));
}

/* Copies the components. A batch must be able to hold them. */
static liana_status take_components(plain_source *source, const liana_source_opening *opening, liana__error *error)
{
    const liana_source_type *kind = source->base.kind;
    if (opening->num_components > LIANA_MAX_COMPONENTS || (opening->num_components && !opening->components)) {
        return liana__source_fail_opening(kind, source->paths[0], LIANA_INVALID_ARGUMENT,
                                          "it has more components than 16, or none at NULL", error);
    }
    liana_component *copy = liana__arena_allocate(&source->arena, (opening->num_components + 1) * sizeof *copy);
    if (!copy) return liana__fail_memory(error, kind->part.name);
    for (size_t i = 0; i < opening->num_components; i++) {
        const liana_component *given = &opening->components[i];
        bool valid = given->name && *given->name && given->dtype >= 0 && given->dtype < LIANA_NUM_DTYPES &&
                     given->shape.rank >= 0 && given->shape.rank <= LIANA_MAX_RANK;
        for (int axis = 0; valid && axis < given->shape.rank; axis++) valid = given->shape.dims[axis] >= 1;
        if (!valid) {
            return liana__source_fail_opening(kind, source->paths[0], LIANA_INVALID_ARGUMENT,
                                              "a component has no name, no dtype of numbers, or no static shape",
                                              error);
        }
        copy[i] = *given;
        copy[i].name = liana__arena_string(&source->arena, given->name);
        if (!copy[i].name) return liana__fail_memory(error, kind->part.name);
    }
    source->base.components = copy;
    source->base.num_components = opening->num_components;
    return LIANA_OK;
}

static void free_plain(liana__source *base)
{
    plain_source *source = (plain_source *)base;
    liana__arena_free(&source->arena);
    free(source);
}

liana_status liana__source_make_plain(const liana_source_opening *opening, liana__source **out, liana__error *error)
{
    plain_source *source = calloc(1, sizeof *source);
    if (!source) return liana__fail_memory(error, opening->type->part.name);
    source->base = (liana__source){.kind = opening->type,
                                   .is_plain = true,
                                   .handle = opening->handle,
                                   .num_records = opening->num_records,
                                   .has_labels = opening->has_labels,
                                   .lacks_images = !opening->has_images};
    source->paths = liana__arena_allocate(&source->arena, (opening->num_paths + 1) * sizeof *source->paths);
    for (size_t i = 0; source->paths && i < opening->num_paths; i++) {
        source->paths[source->num_paths++] = liana__arena_string(&source->arena, opening->paths[i]);
    }
    liana_status status = source->arena.failed ? liana__fail_memory(error, opening->type->part.name)
                                               : take_components(source, opening, error);
    *out = status == LIANA_OK ? &source->base : NULL;
    if (status != LIANA_OK) free_plain(&source->base);
    return status;
}

/* ---- reading ---- */

/* A record must have the components of its source. */
static const char *mistake_of(const liana__source *source, const liana_source_record *given)
{
    if (!source->lacks_images && !given->bytes && !given->pixels) return "it has no image";
    if (!source->lacks_images && given->bytes && !given->size) return "its image has no bytes";
    if (!source->lacks_images && !given->bytes &&
        (given->height < 1 || given->width < 1 || (given->channels != 1 && given->channels != 3))) {
        return "its pixels are not [height, width, 1 or 3]";
    }
    for (size_t i = 0; i < source->num_components; i++) {
        if (!given->values[i]) return "a component has no values";
    }
    return NULL;
}

static liana_status read_plain(const liana__source *source, liana_source_record *record)
{
    char message[LIANA_SOURCE_MESSAGE] = "";
    record->message = message;
    liana_status status = source->kind->read(liana__source_handle(source), record);
    message[sizeof message - 1] = 0;
    record->message = NULL;
    const char *mistake = status == LIANA_OK ? mistake_of(source, record) : NULL;
    if (mistake) status = LIANA_INVALID_DATA;
    if (status != LIANA_OK) {
        return liana__fail(record->error, status, "'%s', record %llu (kind %s): %s",
                           ((const plain_source *)source)->paths[0], (unsigned long long)record->index,
                           source->kind->part.name,
                           mistake    ? mistake
                           : *message ? message
                                      : liana_status_text(status));
    }
    if (record->bytes) record->pixels = NULL;
    if (record->id && !record->id_size) record->id_size = strlen(record->id);
    return LIANA_OK;
}

static liana_record_address address_plain(const liana__source *source, uint64_t index)
{
    return (liana_record_address){((const plain_source *)source)->paths[0], (int64_t)index, 0};
}

static void visit_files_plain(const liana__source *base, liana_file_visitor *visit, void *user)
{
    const plain_source *source = (const plain_source *)base;
    for (size_t i = 1; i < source->num_paths; i++) {
        visit(user, source->paths[i], liana__path_name(source->paths[i]), false);
    }
}

/* ---- all sources ---- */

void *liana__source_make(liana_source_opening *opening, size_t size)
{
    liana__source *source = calloc(1, size);
    if (source) *source = (liana__source){.kind = opening->type, .skip_damage = opening->options->skip_damage};
    opening->source = opening->handle = source;
    return source;
}

void liana__source_close(liana__source *source)
{
    if (!source) return;
    liana__remote *remote = source->owns_remote ? source->remote : NULL;
    const bool is_plain = source->is_plain;
    if (source->kind->close && liana__source_handle(source)) source->kind->close(liana__source_handle(source));
    if (is_plain) free_plain(source);
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
    if (source->kind->expect && index < source->num_records) source->kind->expect(liana__source_handle(source), index);
}

liana_status liana__source_read_record(const liana__source *source, liana_source_record *record)
{
    return source->is_plain ? read_plain(source, record) : source->kind->read(liana__source_handle(source), record);
}

liana_record_address liana__source_local_address(const liana__source *source, uint64_t index)
{
    return source->kind->address ? source->kind->address(liana__source_handle(source), index)
                                 : address_plain(source, index);
}

void liana__source_visit_files(const liana__source *source, liana_file_visitor *visit, void *user)
{
    if (source->kind->visit_files) {
        source->kind->visit_files(liana__source_handle(source), visit, user);
    } else if (source->is_plain) {
        visit_files_plain(source, visit, user);
    }
}

liana_status liana__source_read(const liana__source *source, uint64_t index, void *scratch, liana_source_record *record,
                                liana__error *error)
{
    *record = (liana_source_record){.index = index, .scratch = scratch, .error = error};
    if (index >= source->num_records) {
        return liana__fail(error, LIANA_OUT_OF_RANGE, "there is no record %" PRIu64 ": there are %" PRIu64, index,
                           source->num_records);
    }
    liana_status status = liana__source_read_record(source, record);
    return status == LIANA_OK ? LIANA_OK : liana__remote_fail_within(source->remote, error);
}

liana_status liana__source_read_at(const liana__source *source, const liana_example_address *address, void *scratch,
                                   liana_source_record *record, liana__error *error)
{
    if (!source->kind->read_at) return liana__source_read(source, address->record, scratch, record, error);
    *record = (liana_source_record){.index = address->record, .scratch = scratch, .error = error};
    return source->kind->read_at(liana__source_handle(source), address, record);
}

liana_record_address liana__source_address(const liana__source *source, uint64_t index)
{
    liana_record_address address = liana__source_local_address(source, index);
    address.file = liana__remote_name(address.file);
    return address;
}

int64_t liana__source_offset(const liana__source *source, uint64_t index)
{
    return source->kind->offset ? source->kind->offset(liana__source_handle(source), index) : -1;
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

liana_status liana__source_lose_file(liana__source *source, liana__arena *arena, const char *file,
                                     const liana__error *why, liana__error *error)
{
    if (!source->skip_damage || !liana__source_is_bad_record(why->status)) return liana__fail_as(error, why);
    struct stat info;
    int64_t bytes = stat(file, &info) == 0 && S_ISREG(info.st_mode) ? (int64_t)info.st_size : 0;
    return liana__source_add_lost(source, arena, &(liana__lost){file, 0, 0, bytes, why->message}, error);
}

/* An id may be any bytes. */
const char *liana__source_id(const liana_source_record *record, char *text, size_t size)
{
    size_t length = 0, longest = size - 1 < 80 ? size - 1 : 80;
    if (!record->id) return NULL;
    while (length < longest && length < record->id_size) {
        uint32_t code;
        size_t step = liana__utf8_character(record->id + length, record->id_size - length, &code);
        if (length + step > longest) break;
        bool fit = step > 0 && !liana__is_control(code);
        if (fit) memcpy(text + length, record->id + length, step);
        if (!fit) memset(text + length, '?', step ? step : 1);
        length += step ? step : 1;
    }
    text[length] = 0;
    return text;
}

liana_status liana__source_fail_within(const liana__source *source, uint64_t index, const liana_source_record *record,
                                       liana__error *error)
{
    liana_record_address address = liana__source_address(source, index);
    char line[40] = "", number[40] = "", id[120] = "", shown[96];
    if (address.line > 0) snprintf(line, sizeof line, ", line %" PRId64, address.line);
    if (address.record >= 0) {
        snprintf(number, sizeof number, ", record %" PRId64, address.record);
        /* Where the file is the record, the id would only repeat its name. */
        if (record->id) snprintf(id, sizeof id, " (id '%s')", liana__source_id(record, shown, sizeof shown));
    }
    return liana__fail_within(error, "'%.1024s'%s%s%s", address.file, line, number, id);
}

liana_status liana__source_label(const liana__source *source, uint64_t index, const liana_source_record *record,
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

/* Reads all labels into `labels` (may be NULL), and notes which occur in `seen` (may be NULL). */
static liana_status read_labels(const liana__source *source, int64_t offset, int64_t limit, int32_t *labels, bool *seen,
                                int64_t *num_classes, liana__error *error)
{
    void *scratch = liana__source_scratch_create(source);
    if (!scratch) return liana__fail_memory(error, "reading labels");
    liana_status status = LIANA_OK;
    *num_classes = 0;
    for (uint64_t index = 0; status == LIANA_OK && index < source->num_records; index++) {
        liana_source_record record;
        int32_t label = 0;
        status = liana__source_read(source, index, scratch, &record, error);
        if (status == LIANA_OK) status = liana__source_label(source, index, &record, offset, limit, &label, error);
        if (labels) labels[index] = status == LIANA_OK ? label : -1;
        if (seen && status == LIANA_OK) seen[label] = true;
        if (source->skip_damage && liana__source_is_bad_record(status)) status = LIANA_OK;
        if (label >= *num_classes) *num_classes = (int64_t)label + 1;
    }
    liana__source_scratch_destroy(source, scratch);
    return status;
}

liana_status liana__source_labels(const liana__source *source, int64_t offset, int64_t num_classes, int32_t *labels,
                                  liana__error *error)
{
    int64_t found;
    return read_labels(source, offset, num_classes, labels, NULL, &found, error);
}

liana_status liana__source_count_classes(const liana__source *source, int64_t offset, int64_t *num_classes, bool *seen,
                                         liana__error *error)
{
    return read_labels(source, offset, LIANA__MAX_CLASSES, NULL, seen, num_classes, error);
}

bool liana__source_known_classes(const liana__source *source, int64_t offset, int64_t num_classes, bool *seen)
{
    if (!source->kind->known_label || !source->has_labels) return false;
    for (uint64_t index = 0; index < source->num_records; index++) {
        int64_t label = source->kind->known_label(liana__source_handle(source), index), value;
        if (label < 0 || __builtin_add_overflow(label, offset, &value)) continue;
        if (value >= 0 && value < num_classes) seen[value] = true;
    }
    return true;
}

/* Of a remote file, its server's name for this state of it. */
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
