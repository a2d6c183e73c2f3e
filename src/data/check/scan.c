/* Reads whole data sets and collects their faults. */
#include "data/check/scan.h"

#include "base/file.h"
#include "data/check/hash.h"
#include "formats/image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 32, CHUNKS_AT_ONCE = 64 };

const char *const liana__finding_names[LIANA__NUM_FINDINGS] = {"bad", "lost", "overlap", "conflict", "duplicate"};

/* The facts that are kept of a record. */
typedef struct scanned {
    liana__hash hash;
    uint64_t index : 55; /* in its part's source */
    uint64_t part : 8;
    uint64_t good : 1;
    int32_t label;   /* -1: none */
    uint16_t height; /* 0: bad, or the record has no image */
    uint16_t width;
} scanned;

/* The tools of one thread. */
typedef struct worker {
    void *scratch; /* of the running part's source */
    liana__image image;
    liana__bad_record *findings;
    size_t num_findings, capacity;
    liana__arena arena;
    bool failed; /* out of memory */
} worker;

typedef struct scan {
    const liana__scan_part *parts;
    size_t num_parts;
    const liana__scan_options *options;
    liana__scan_result *result;
    liana__error *error;
    worker *workers;
    size_t num_workers;
    scanned *records;
    uint64_t num_records;
    size_t part;    /* that is being read */
    uint64_t start; /* of the chunks that are being read */
    uint64_t base;  /* of the part's records */
    size_t finding_capacity;
} scan;

bool liana__finding_is_wrong(liana__finding_kind kind)
{
    return kind != LIANA__FINDING_DUPLICATE;
}

/* ---- one record ---- */

static liana__bad_record describe(const liana__scan_part *part, uint64_t index, const liana_source_record *record,
                                  liana__arena *arena)
{
    liana_record_address where = liana__source_address(part->source, index);
    char id[96];
    const char *name = record && where.record >= 0 ? liana__source_id(record, id, sizeof id) : NULL;
    return (liana__bad_record){.part = part->name,
                               .file = where.file,
                               .record = where.record,
                               .offset = liana__source_offset(part->source, index),
                               .id = liana__arena_string(arena, name)};
}

/* Reads, checks and decodes a record. `record` is set as far as it could be read. */
static liana_status look_at(const scan *own, worker *self, uint64_t index, liana_source_record *record, scanned *kept,
                            liana__error *error)
{
    const liana__scan_part *part = &own->parts[own->part];
    const liana__scan_options *options = own->options;
    LIANA_TRY(liana__source_read(part->source, index, self->scratch, record, error));
    int64_t height = record->height, width = record->width;
    if (record->bytes) {
        if (liana__image_decode(record->bytes, record->size, NULL, &self->image, error) != LIANA_OK) {
            return liana__source_fail_within(part->source, index, record, error);
        }
        height = self->image.height;
        width = self->image.width;
        kept->hash = liana__hash_bytes(record->bytes, record->size);
    } else if (record->pixels) {
        kept->hash = liana__hash_bytes(record->pixels, (size_t)(height * width * record->channels));
    }
    if (part->needs_labels) {
        int64_t classes = options->num_classes ? options->num_classes : LIANA__MAX_CLASSES;
        LIANA_TRY(
            liana__source_label(part->source, index, record, options->label_offset, classes, &kept->label, error));
    }
    kept->height = (uint16_t)(height < UINT16_MAX ? height : UINT16_MAX);
    kept->width = (uint16_t)(width < UINT16_MAX ? width : UINT16_MAX);
    return LIANA_OK;
}

static void keep_finding(worker *self, const liana__bad_record *finding)
{
    if (liana__grow(&self->findings, self->num_findings, &self->capacity, sizeof *self->findings)) {
        self->findings[self->num_findings++] = *finding;
    } else {
        self->failed = true;
    }
}

static void scan_record(const scan *own, worker *self, uint64_t index)
{
    scanned *kept = &own->records[own->base + index];
    *kept = (scanned){.index = index, .part = own->part, .label = -1};
    liana_source_record record = {0};
    liana__error error = {0};
    liana_status status = look_at(own, self, index, &record, kept, &error);
    kept->good = status == LIANA_OK;
    if (kept->good) return;
    if (status == LIANA_OUT_OF_MEMORY) self->failed = true;
    kept->height = 0;
    liana__bad_record finding = describe(&own->parts[own->part], index, &record, &self->arena);
    finding.reason = liana__arena_string(&self->arena, error.message);
    keep_finding(self, &finding);
}

static void scan_chunk(void *user, size_t task, int number)
{
    const scan *own = user;
    uint64_t begin = own->start + task * CHUNK, count = own->parts[own->part].source->num_records;
    uint64_t end = begin + CHUNK < count ? begin + CHUNK : count;
    for (uint64_t index = begin; index < end; index++) scan_record(own, &own->workers[number], index);
}

/* ---- a part ---- */

static liana_status add_finding(scan *own, size_t part, liana__finding_kind kind, const liana__bad_record *record)
{
    liana__scan_result *result = own->result;
    result->parts[part].counts[kind]++;
    if (!record->reason ||
        !liana__grow(&result->findings, result->num_findings, &own->finding_capacity, sizeof *result->findings)) {
        return liana__fail_memory(own->error, "what was found");
    }
    result->findings[result->num_findings++] = (liana__finding){kind, part, *record};
    return LIANA_OK;
}

/* Takes over the workers' findings. */
static liana_status gather(scan *own)
{
    liana__arena *arena = &own->result->arena;
    for (size_t i = 0; i < own->num_workers; i++) {
        worker *self = &own->workers[i];
        if (self->failed || self->arena.failed) return liana__fail_memory(own->error, "what was found");
        for (size_t k = 0; k < self->num_findings; k++) {
            liana__bad_record record = self->findings[k];
            record.id = liana__arena_string(arena, record.id);
            record.reason = liana__arena_string(arena, record.reason);
            LIANA_TRY(add_finding(own, own->part, LIANA__FINDING_BAD, &record));
        }
        self->num_findings = 0;
        liana__arena_free(&self->arena);
    }
    return LIANA_OK;
}

static liana_status report_lost(scan *own)
{
    const liana__scan_part *part = &own->parts[own->part];
    for (size_t i = 0; i < part->source->num_lost; i++) {
        const liana__lost *lost = &part->source->lost[i];
        liana__bad_record record = {.part = part->name,
                                    .file = lost->file,
                                    .record = lost->record,
                                    .offset = lost->offset,
                                    .reason = liana__arena_format(&own->result->arena, "%s; %" PRId64 " bytes are lost",
                                                                  lost->reason, lost->bytes)};
        own->result->parts[own->part].lost_bytes += lost->bytes;
        LIANA_TRY(add_finding(own, own->part, LIANA__FINDING_LOST, &record));
    }
    return LIANA_OK;
}

static liana_status scan_part(scan *own)
{
    const liana__source *source = own->parts[own->part].source;
    own->result->parts[own->part].num_records = source->num_records;
    LIANA_TRY(report_lost(own));
    for (size_t i = 0; i < own->num_workers; i++) {
        own->workers[i].scratch = liana__source_scratch_create(source);
        if (!own->workers[i].scratch) return liana__fail_memory(own->error, "reading");
    }
    for (own->start = 0; own->start < source->num_records; own->start += CHUNK * CHUNKS_AT_ONCE) {
        uint64_t left = source->num_records - own->start, chunks = (left + CHUNK - 1) / CHUNK;
        liana__pool_run(own->options->pool, chunks < CHUNKS_AT_ONCE ? chunks : CHUNKS_AT_ONCE, scan_chunk, own);
        uint64_t done = own->base + own->start + (left < CHUNK * CHUNKS_AT_ONCE ? left : CHUNK * CHUNKS_AT_ONCE);
        if (own->options->on_progress && !own->options->on_progress(own->options->user, done, own->num_records)) {
            return liana__fail(own->error, LIANA_CANCELLED, "stopped on request");
        }
    }
    for (size_t i = 0; i < own->num_workers; i++) {
        liana__source_scratch_destroy(source, own->workers[i].scratch);
        own->workers[i].scratch = NULL;
    }
    own->base += source->num_records;
    return gather(own);
}

/* ---- the same image more than once ---- */

static int compare_scanned(const void *a, const void *b)
{
    const scanned *first = a, *second = b;
    int order = memcmp(&first->hash, &second->hash, sizeof first->hash);
    if (order) return order;
    if (first->part != second->part) return first->part < second->part ? -1 : 1;
    return (first->index > second->index) - (first->index < second->index);
}

/* Two readers, to hold two records at the same time. */
typedef struct comparison {
    const scan *own;
    void *scratch[2];
    size_t part[2];
} comparison;

static void end_comparison(comparison *both, int side)
{
    if (both->scratch[side]) {
        liana__source_scratch_destroy(both->own->parts[both->part[side]].source, both->scratch[side]);
    }
    both->scratch[side] = NULL;
}

static liana_status read_side(comparison *both, int side, const scanned *which, liana_source_record *record,
                              liana__error *error)
{
    const liana__source *source = both->own->parts[which->part].source;
    if (!both->scratch[side] || both->part[side] != which->part) {
        end_comparison(both, side);
        both->scratch[side] = liana__source_scratch_create(source);
        both->part[side] = which->part;
        if (!both->scratch[side]) return liana__fail_memory(error, "reading");
    }
    return liana__source_read(source, which->index, both->scratch[side], record, error);
}

/* Records that cannot be read any more are not the same. */
static bool same_image(comparison *both, const scanned *a, const scanned *b)
{
    liana_source_record first, second;
    if (read_side(both, 0, a, &first, NULL) != LIANA_OK || read_side(both, 1, b, &second, NULL) != LIANA_OK) {
        return false;
    }
    if (first.bytes && second.bytes) {
        return first.size == second.size && memcmp(first.bytes, second.bytes, first.size) == 0;
    }
    bool alike = !first.bytes && !second.bytes && first.height == second.height && first.width == second.width &&
                 first.channels == second.channels;
    return alike && memcmp(first.pixels, second.pixels, (size_t)(first.height * first.width * first.channels)) == 0;
}

static liana_status add_copy(scan *own, liana__finding_kind kind, const scanned *record, const scanned *other)
{
    liana__arena *arena = &own->result->arena;
    liana__bad_record found = describe(&own->parts[record->part], record->index, NULL, arena);
    liana__bad_record twin = describe(&own->parts[other->part], other->index, NULL, arena);
    char here[40] = "", there[40] = "";
    if (found.record >= 0) snprintf(here, sizeof here, ", record %" PRId64, found.record);
    if (twin.record >= 0) snprintf(there, sizeof there, ", record %" PRId64, twin.record);
    const char *what = kind == LIANA__FINDING_CONFLICT ? "with another label" : "with the same label";
    if (kind == LIANA__FINDING_OVERLAP) what = "as well";
    found.reason = liana__arena_format(arena, "'%s'%s: the same image is in '%s'%s (%s) %s", found.file, here,
                                       twin.file, there, twin.part, what);
    return add_finding(own, record->part, kind, &found);
}

/* Of a record with a label in a group: another one whose label contradicts it, or NULL. */
static const scanned *find_conflict(const scanned *group, size_t count, const scanned *record)
{
    for (size_t i = 0; record->label >= 0 && i < count; i++) {
        if (group[i].label >= 0 && group[i].label != record->label) return &group[i];
    }
    return NULL;
}

/* A group of the same images, in the order of parts and records. */
static liana_status report_group(scan *own, const scanned *group, size_t count)
{
    const scanned *last = &group[count - 1];
    for (size_t i = 0; i < count; i++) {
        const scanned *conflict = find_conflict(group, count, &group[i]);
        if (conflict) LIANA_TRY(add_copy(own, LIANA__FINDING_CONFLICT, &group[i], conflict));
        if (group[i].part < last->part) LIANA_TRY(add_copy(own, LIANA__FINDING_OVERLAP, &group[i], last));
        bool again = i > 0 && group[i - 1].part == group[i].part;
        if (again && !conflict) LIANA_TRY(add_copy(own, LIANA__FINDING_DUPLICATE, &group[i], &group[i - 1]));
    }
    return LIANA_OK;
}

static bool same_hash(const scanned *a, const scanned *b)
{
    return memcmp(&a->hash, &b->hash, sizeof a->hash) == 0;
}

/* Equal hashes of different images would be a wonder, and are not reported. */
static liana_status find_copies(scan *own)
{
    scanned *records = own->records;
    uint64_t count = 0;
    for (uint64_t i = 0; i < own->num_records; i++) {
        if (records[i].height) records[count++] = records[i];
    }
    if (count) qsort(records, count, sizeof *records, compare_scanned);
    comparison both = {.own = own};
    liana_status status = LIANA_OK;
    for (uint64_t begin = 0; begin < count && status == LIANA_OK;) {
        uint64_t end = begin + 1, kept = begin + 1;
        for (; end < count && same_hash(&records[end], &records[begin]); end++) {
            if (same_image(&both, &records[begin], &records[end])) records[kept++] = records[end];
        }
        if (kept > begin + 1) status = report_group(own, &records[begin], (size_t)(kept - begin));
        begin = end;
    }
    for (int side = 0; side < 2; side++) end_comparison(&both, side);
    return status;
}

/* ---- the contents ---- */

static void widen(int64_t *low, int64_t *high, int64_t value)
{
    if (!*low || value < *low) *low = value;
    if (value > *high) *high = value;
}

static liana_status summarise(scan *own)
{
    liana__scan_result *result = own->result;
    result->num_classes = own->options->num_classes;
    for (uint64_t i = 0; !own->options->num_classes && i < own->num_records; i++) {
        int64_t label = own->records[i].good ? own->records[i].label : -1;
        if (label >= result->num_classes) result->num_classes = label + 1;
    }
    for (size_t part = 0; part < own->num_parts; part++) {
        result->parts[part].labels =
            liana__arena_allocate(&result->arena, ((size_t)result->num_classes + 1) * sizeof(int64_t));
        if (!result->parts[part].labels) return liana__fail_memory(own->error, "counts of classes");
    }
    for (uint64_t i = 0; i < own->num_records; i++) {
        const scanned *record = &own->records[i];
        liana__scan_summary *part = &result->parts[record->part];
        if (!record->good) continue;
        if (record->height) widen(&part->min_height, &part->max_height, record->height);
        if (record->height) widen(&part->min_width, &part->max_width, record->width);
        if (record->label >= 0) part->labels[record->label]++;
    }
    return LIANA_OK;
}

static int compare_findings(const void *a, const void *b)
{
    const liana__finding *first = a, *second = b;
    if (first->kind != second->kind) return first->kind < second->kind ? -1 : 1;
    if (first->part != second->part) return first->part < second->part ? -1 : 1;
    int order = strcmp(first->record.file, second->record.file);
    if (order) return order;
    return (first->record.record > second->record.record) - (first->record.record < second->record.record);
}

/* ---- all of it ---- */

static liana_status scan_all(scan *own)
{
    for (size_t i = 0; i < own->num_parts; i++) own->num_records += own->parts[i].source->num_records;
    own->num_workers = (size_t)liana__pool_num_threads(own->options->pool);
    own->workers = calloc(own->num_workers, sizeof *own->workers);
    own->records = calloc((size_t)own->num_records + 1, sizeof *own->records);
    if (!own->workers || !own->records) return liana__fail_memory(own->error, "what is kept of each record");
    for (own->part = 0; own->part < own->num_parts; own->part++) LIANA_TRY(scan_part(own));
    LIANA_TRY(summarise(own));
    LIANA_TRY(find_copies(own));
    liana__scan_result *result = own->result;
    if (result->num_findings) {
        qsort(result->findings, result->num_findings, sizeof *result->findings, compare_findings);
    }
    return result->arena.failed ? liana__fail_memory(own->error, "what was found") : LIANA_OK;
}

liana_status liana__scan(const liana__scan_part *parts, size_t num_parts, const liana__scan_options *options,
                         liana__scan_result *result, liana__error *error)
{
    *result = (liana__scan_result){0};
    if (num_parts > LIANA__SCAN_MAX_PARTS) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%zu parts, at most %d are scanned together", num_parts,
                           LIANA__SCAN_MAX_PARTS);
    }
    scan own = {.parts = parts, .num_parts = num_parts, .options = options, .result = result, .error = error};
    liana_status status = scan_all(&own);
    for (size_t i = 0; own.workers && i < own.num_workers; i++) {
        worker *self = &own.workers[i];
        if (self->scratch) liana__source_scratch_destroy(parts[own.part].source, self->scratch);
        liana__image_free(&self->image);
        liana__arena_free(&self->arena);
        free(self->findings);
    }
    free(own.workers);
    free(own.records);
    return status;
}

void liana__scan_free(liana__scan_result *result)
{
    free(result->findings);
    liana__arena_free(&result->arena);
    *result = (liana__scan_result){0};
}

liana_status liana__scan_quarantine(const liana__scan_result *result, liana__bad_records *list, liana__error *error)
{
    for (size_t i = 0; i < result->num_findings; i++) {
        const liana__finding *finding = &result->findings[i];
        /* A lost part has no records to leave out. */
        if (finding->kind == LIANA__FINDING_LOST || finding->kind == LIANA__FINDING_DUPLICATE) continue;
        LIANA_TRY(liana__bad_records_add(list, &finding->record, NULL, error));
    }
    return LIANA_OK;
}
