/* liana check: reads data whole and lists their errors. */
#include "base/clock.h"
#include "base/context.h"
#include "base/file.h"
#include "base/scoped.h"
#include "cli/findings.h"
#include "cli/remote_files.h"
#include "cli/session.h"
#include "data/check/quarantine.h"
#include "data/check/scan.h"
#include "data/source/class_list.h"
#include "data/source/source_open.h"

#include <inttypes.h>
#include <unistd.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)

static const liana__option options[] = {
    {"quarantine", "FILE.csv", "write a list of the records to leave out, for data.quarantine (-: standard output)"},
    {LIANA__OPTION_PLUGINS},
    {LIANA__OPTION_JSON},
    {0},
};

/* The number of findings of each kind that are shown to people; JSON has all. */
enum { MAX_SHOWN = 20 };

typedef struct checker {
    liana__invocation *invocation;
    const char *quarantine; /* the file, or NULL */
    liana__remote *remote;
    liana__scan_part parts[LIANA__SCAN_MAX_PARTS];
    size_t num_parts;
    liana__scan_options options;
    liana__strings class_names;
    const liana__columns *columns; /* as the training data have them */
    bool labels_are_names;         /* the classes come from the training data or the configuration */
    bool numbered;                 /* the labels of the training data are numbers */
    liana__scan_result result;
    liana__error unopened; /* of the first part that could not be opened at all */
    double last_shown;     /* when progress was */
    bool line_open;
} checker;

/* ---- the data to read ---- */

static liana_status add_part(checker *own, const char *name, const char *const *patterns, size_t count,
                             const liana__source_options *wanted)
{
    liana__source *source;
    LIANA_TRY(liana__source_open(patterns, count, wanted, &source, &own->invocation->error));
    if (source->left_out) fprintf(own->invocation->err, "liana: %s: %s\n", name, source->left_out);
    /* Tables, and images with more columns, may be compared with something else than classes. */
    bool labelled = source->has_labels || !source->num_components;
    own->parts[own->num_parts++] = (liana__scan_part){name, source, wanted->need_labels && labelled};
    return LIANA_OK;
}

static liana_status open_files(checker *own)
{
    liana__invocation *invocation = own->invocation;
    if (invocation->num_overrides) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "check: '%s' changes a configuration, but '%s' is no configuration",
                           invocation->overrides[0], invocation->operands[0]);
    }
    LIANA_TRY(liana__fetching_start(invocation, NULL, 0, &own->remote));
    liana__source_options wanted = {.skip_damage = true, .or_table = true, .remote = own->remote};
    LIANA_TRY(add_part(own, "data", invocation->operands, invocation->num_operands, &wanted));
    own->parts[0].needs_labels = own->parts[0].source->has_labels;
    own->class_names = own->parts[0].source->class_names;
    return LIANA_OK;
}

/* One list of classes numbers all parts, as in a run. */
static void meet_classes(checker *own, const char *name, const liana__source *source)
{
    const liana__strings *names = &source->class_names;
    if (own->class_names.count) return;
    if (own->numbered && names->count && !liana__class_list_counts(names)) {
        if (own->unopened.status != LIANA_OK) return;
        liana__fail(&own->unopened, LIANA_INVALID_DATA,
                    "%s: its labels are names (%s), but the training data's are numbers; list the names in the order "
                    "of the numbers in data.class_names",
                    name, liana__class_list_show(names).text);
        return;
    }
    own->numbered = source->has_labels && !names->count;
    if (own->numbered || !names->count) return;
    own->class_names = *names;
    own->labels_are_names = true;
}

static liana_status open_configured(checker *own, const liana__config *config, const char *name,
                                    const liana__source_config *where, bool labelled,
                                    const liana__bad_records *left_out)
{
    if (!liana__config_has_source(where)) return LIANA_OK;
    liana__source_options wanted = liana__config_source_options(config, where);
    wanted.class_names = own->class_names;
    wanted.need_labels = labelled;
    wanted.labels_are_names = labelled && own->labels_are_names;
    wanted.ignore_labels = wanted.columns_optional = !labelled;
    if (own->columns) wanted.columns = own->columns;
    if (!liana__config_is_override(config, "data.take")) wanted.take = 0;
    wanted.skip_damage = true;
    wanted.remote = own->remote;
    wanted.measured = where != &config->data.train;
    liana__error *error = &own->invocation->error;
    liana__strings files;
    LIANA_TRY(liana__config_files(where, &own->invocation->arena, &files, error));
    liana_status status = add_part(own, name, files.items, files.count, &wanted);
    if (liana__source_is_bad_record(status)) {
        /* The other parts are looked at all the same. */
        liana__fail_within(error, "%s", name);
        if (own->unopened.status == LIANA_OK) own->unopened = *error;
        *error = (liana__error){0};
        return LIANA_OK;
    }
    LIANA_TRY(status);
    liana__scan_part *part = &own->parts[own->num_parts - 1];
    if (labelled) meet_classes(own, name, part->source);
    if (!own->columns) own->columns = part->source->columns;
    return liana__source_leave_out(&part->source, left_out, NULL, error);
}

static liana_status open_config(checker *own, const liana__config *config)
{
    const liana__data_config *data = &config->data;
    liana__error *error = &own->invocation->error;
    LIANA__SCOPED(liana__bad_records) left_out = {0};
    own->options.label_offset = data->label_offset;
    own->class_names = data->class_names;
    own->labels_are_names = data->label_kind == LIANA__LABELS_NAMES;
    LIANA_TRY(liana__fetching_start(own->invocation, data->remote_cache, data->remote_cache_limit, &own->remote));
    if (data->quarantine) LIANA_TRY(liana__bad_records_read(&left_out, data->quarantine, own->remote, error));
    LIANA_TRY(open_configured(own, config, "train", &data->train, true, &left_out));
    LIANA_TRY(open_configured(own, config, "validation", &data->validation, true, &left_out));
    LIANA_TRY(open_configured(own, config, "test", &data->test, false, &left_out));
    own->options.num_classes = data->num_classes ? data->num_classes : (int64_t)own->class_names.count;
    if (own->num_parts) return LIANA_OK;
    if (own->unopened.status != LIANA_OK) {
        *error = own->unopened;
        return error->status;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "'%s' names no data: expected data.train, data.validation or "
                       "data.test",
                       config->file);
}

/* ---- progress ---- */

static bool show_progress(void *user, uint64_t done, uint64_t total)
{
    checker *own = user;
    FILE *err = own->invocation->err;
    bool terminal = isatty(fileno(err));
    double time = liana__clock_seconds();
    if (time - own->last_shown >= (terminal ? 0.2 : 30)) {
        char line[100];
        snprintf(line, sizeof line, "checked %" PRIu64 " of %" PRIu64 " records (%.0f%%)", done, total,
                 100 * (double)done / (double)total);
        if (terminal) liana__terminal_draw(err, line);
        if (!terminal) fprintf(err, "%s\n", line);
        fflush(err);
        own->line_open = terminal;
        own->last_shown = time;
    }
    return liana__signals_caught() == 0;
}

/* ---- the report ---- */

/* "192", "120 to 500", or null. */
static void set_range(checker *own, liana__value *row, const char *key, int64_t low, int64_t high)
{
    liana__arena *arena = &own->invocation->arena;
    if (low == high && low > 0) {
        liana__findings_int(arena, row, key, low);
        return;
    }
    const char *text = low ? liana__arena_format(arena, "%" PRId64 " to %" PRId64, low, high) : NULL;
    liana__findings_text(arena, row, key, text);
}

static liana__value *describe_parts(checker *own)
{
    liana__arena *arena = &own->invocation->arena;
    liana__value *rows = liana__value_list(arena);
    for (size_t i = 0; i < own->num_parts; i++) {
        const liana__scan_summary *part = &own->result.parts[i];
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "part", own->parts[i].name);
        liana__findings_int(arena, row, "records", (int64_t)part->num_records);
        for (int kind = 0; kind < LIANA__NUM_FINDINGS; kind++) {
            liana__findings_int(arena, row, liana__finding_names[kind], (int64_t)part->counts[kind]);
        }
        liana__findings_int(arena, row, "lost_bytes", part->lost_bytes);
        set_range(own, row, "height", part->min_height, part->max_height);
        set_range(own, row, "width", part->min_width, part->max_width);
        liana__value_add(arena, rows, row);
    }
    return rows;
}

static liana__value *describe_classes(checker *own)
{
    liana__arena *arena = &own->invocation->arena;
    liana__value *rows = liana__value_list(arena);
    for (int64_t label = 0; label < own->result.num_classes; label++) {
        liana__value *row = liana__value_map(arena);
        liana__findings_int(arena, row, "class", label);
        if ((size_t)label < own->class_names.count) {
            liana__findings_text(arena, row, "name", own->class_names.items[label]);
        }
        for (size_t i = 0; i < own->num_parts; i++) {
            if (!own->parts[i].needs_labels) continue;
            liana__findings_int(arena, row, own->parts[i].name, own->result.parts[i].labels[label]);
        }
        liana__value_add(arena, rows, row);
    }
    return rows;
}

static liana__value *describe_findings(checker *own)
{
    liana__arena *arena = &own->invocation->arena;
    liana__value *rows = liana__value_list(arena);
    for (size_t i = 0; i < own->result.num_findings; i++) {
        const liana__finding *finding = &own->result.findings[i];
        const liana__bad_record *record = &finding->record;
        liana__value *row = liana__value_map(arena);
        liana__findings_text(arena, row, "kind", liana__finding_names[finding->kind]);
        liana__findings_text(arena, row, "part", record->part);
        liana__findings_text(arena, row, "file", record->file);
        if (record->record >= 0) liana__findings_int(arena, row, "record", record->record);
        if (record->offset >= 0) liana__findings_int(arena, row, "offset", record->offset);
        if (record->id) liana__findings_text(arena, row, "id", record->id);
        liana__findings_text(arena, row, "reason", record->reason);
        liana__value_add(arena, rows, row);
    }
    return rows;
}

static void print_findings(const checker *own)
{
    FILE *out = own->invocation->out;
    uint64_t shown = 0;
    for (size_t i = 0; i < own->result.num_findings; i++) {
        const liana__finding *finding = &own->result.findings[i];
        bool first = i == 0 || finding[-1].kind != finding->kind;
        bool last = i + 1 == own->result.num_findings || finding[1].kind != finding->kind;
        shown = first ? 1 : shown + 1;
        const char *name = liana__finding_names[finding->kind];
        if (shown <= MAX_SHOWN) {
            fprintf(out, "%s (%s): ", name, finding->record.part);
            liana__print_plainly(out, finding->record.reason);
            fputc('\n', out);
        }
        if (last && shown > MAX_SHOWN)
            fprintf(out, "%s: and %" PRIu64 " more (--json lists all)\n", name, shown - MAX_SHOWN);
    }
}

/* Classes without a single example where there should be some. */
static void report_empty_classes(checker *own, liana__value *warnings)
{
    liana__arena *arena = &own->invocation->arena;
    for (size_t i = 0; i < own->num_parts; i++) {
        int64_t empty = 0, first = -1;
        for (int64_t label = 0; own->parts[i].needs_labels && label < own->result.num_classes; label++) {
            if (own->result.parts[i].labels[label]) continue;
            if (first < 0) first = label;
            empty++;
        }
        if (!empty) continue;
        const char *text =
            liana__arena_format(arena,
                                "%s: %" PRId64 " of %" PRId64 " classes have no example, the first is class %" PRId64,
                                own->parts[i].name, empty, own->result.num_classes, first);
        if (text) liana__value_add(arena, warnings, liana__value_string(arena, text));
    }
}

static void print_report(checker *own)
{
    liana__invocation *invocation = own->invocation;
    liana__arena *arena = &invocation->arena;
    liana__value *report = liana__session_event(invocation, "checked"), *warnings = liana__value_list(arena);
    report_empty_classes(own, warnings);
    liana__value_set(arena, report, "parts", describe_parts(own));
    liana__value_set(arena, report, "classes", describe_classes(own));
    if (liana__invocation_has(invocation, "json")) {
        liana__value_set(arena, report, "findings", describe_findings(own));
        liana__value_set(arena, report, "warnings", warnings);
        liana__invocation_print_json(invocation, report);
        return;
    }
    liana__findings_print(report, invocation->out);
    print_findings(own);
    for (size_t i = 0; warnings && i < warnings->count; i++) {
        fputs("warning: ", invocation->out);
        liana__print_plainly(invocation->out, warnings->items[i]->string);
        fputc('\n', invocation->out);
    }
}

/* ---- the verdict ---- */

static uint64_t count_of(const checker *own, liana__finding_kind kind)
{
    uint64_t count = 0;
    for (size_t i = 0; i < own->num_parts; i++) count += own->result.parts[i].counts[kind];
    return count;
}

static liana_status judge(const checker *own)
{
    static const char *const phrases[LIANA__NUM_FINDINGS] = {
        [LIANA__FINDING_BAD] = "bad records",
        [LIANA__FINDING_LOST] = "files that cannot be read to their end",
        [LIANA__FINDING_OVERLAP] = "images that a later part has too",
        [LIANA__FINDING_CONFLICT] = "images with contradicting labels",
    };
    LIANA__SCOPED(liana__text) text = {0};
    if (own->unopened.status != LIANA_OK) liana__text_add(&text, "%s", own->unopened.message);
    for (int kind = 0; kind < LIANA__NUM_FINDINGS; kind++) {
        uint64_t count = count_of(own, (liana__finding_kind)kind);
        if (!count || !liana__finding_is_wrong((liana__finding_kind)kind)) continue;
        liana__text_add(&text, "%s%" PRIu64 " %s", text.length ? ", " : "", count, phrases[kind]);
    }
    if (!text.length) return LIANA_OK;
    return liana__fail(&own->invocation->error, LIANA_INVALID_DATA,
                       "the data have errors: %s; --quarantine FILE lists the records to leave out", text.data);
}

static liana_status write_quarantine(const checker *own)
{
    liana__invocation *invocation = own->invocation;
    const char *path = own->quarantine;
    if (!path) return LIANA_OK;
    LIANA__SCOPED(liana__bad_records) list = {0};
    LIANA_TRY(liana__scan_quarantine(&own->result, &list, &invocation->error));
    LIANA_TRY(liana__bad_records_write(&list, path, &invocation->error));
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "%zu records are listed in '%s'; data.quarantine: %s leaves them out\n", list.count,
                path, path);
    }
    return LIANA_OK;
}

static liana_status check(checker *own)
{
    liana__invocation *invocation = own->invocation;
    own->options.on_progress = show_progress;
    own->options.user = own;
    own->last_shown = liana__clock_seconds();
    const liana_status status =
        liana__scan(own->parts, own->num_parts, &own->options, &own->result, &invocation->error);
    if (own->line_open) fprintf(invocation->err, "\r\x1b[K");
    LIANA_TRY(status);
    print_report(own);
    LIANA_TRY(write_quarantine(own));
    return judge(own);
}

static void close_checker(checker *own)
{
    for (size_t i = 0; i < own->num_parts; i++) liana__source_close(own->parts[i].source);
    liana__remote_destroy(own->remote);
    liana__scan_free(&own->result);
}

static liana_status check_config(liana__invocation *invocation, const char *quarantine)
{
    LIANA__SCOPED_BY(liana__session_close) liana__session session = {0};
    LIANA__SCOPED_BY(close_checker) checker own = {.invocation = invocation, .quarantine = quarantine};
    LIANA_TRY(liana__session_open(invocation, invocation->operands[0], &session));
    own.options.pool = session.context->pool;
    LIANA_TRY(open_config(&own, &session.config));
    return check(&own);
}

static liana_status check_files(liana__invocation *invocation, const char *quarantine)
{
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    LIANA__SCOPED_BY(close_checker) checker own = {.invocation = invocation, .quarantine = quarantine};
    const liana_status status = liana_context_create(NULL, &context);
    if (status != LIANA_OK && context) invocation->error = context->error;
    LIANA_TRY(status);
    own.options.pool = context->pool;
    LIANA_TRY(open_files(&own));
    return check(&own);
}

static liana_status run(liana__invocation *invocation)
{
    const char *first = invocation->operands[0], *quarantine;
    LIANA_TRY(liana__invocation_output(invocation, "quarantine", &quarantine));
    liana__signals_catch();
    bool config = liana__ends_with(first, ".yaml") || liana__ends_with(first, ".yml");
    if (config && invocation->num_operands > 1) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "check: found '%s' after a configuration; give one configuration, or files",
                           invocation->operands[1]);
    }
    return (config ? check_config : check_files)(invocation, quarantine);
}

const liana__command liana__subcommand_check = {
    .name = "check",
    .operands = "CONFIG.yaml [key=value ...] | FILES...",
    .summary = "Find errors in data before training on them",
    .help = "Reads every record of the data that a configuration names, or of files, patterns and folders.\n"
            "Whatever take, skip, shard, filter and validation_split choose of them, files are read whole.\n"
            "(data.take=N on the command line reads the first N.)\n"
            "Verifies checksums, decodes images, checks labels, compares images. These are errors (exit code 1):\n"
            "  bad        a record that cannot be used\n"
            "  lost       a file that cannot be read to its end\n"
            "  overlap    an image that is also in validation or test data\n"
            "  conflict   the same image with different labels\n"
            "These are warnings: the same image twice in one part (duplicate), classes without examples.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = -1,
    .overrides = true,
    .run = run,
};
