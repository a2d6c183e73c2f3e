/* Gathers the data of a page about runs. */
#include "report/page/run_page.h"

#include "base/file.h"
#include "report/examine.h"
#include "report/page/page.h"
#include "report/reports.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Longer configurations are cut in a page; so many confusions are listed of classes that have no matrix. */
enum { MOST_CONFIG = 1 << 18, MOST_CONFUSIONS = 500, MOST_MATRIX_CLASSES = 500, MOST_PICTURES = 24 };

static void set_text(liana__run_page *page, liana__value *map, const char *key, const char *text)
{
    if (text) liana__value_set(&page->arena, map, key, liana__value_string(&page->arena, text));
}

static void set_number(liana__run_page *page, liana__value *map, const char *key, double number)
{
    if (isfinite(number)) liana__value_set(&page->arena, map, key, liana__page_number(&page->arena, number));
}

/* ---- a run ---- */

static void add_measure(liana__run_page *page, const liana__run_files *run, const char *key, liana__value *list)
{
    const liana__best_value best = liana__run_files_best(run, key);
    liana__value *map = liana__value_map(&page->arena);
    if (!best.epoch) return;
    set_text(page, map, "name", key);
    set_number(page, map, "last", best.last);
    set_number(page, map, "best", best.value);
    liana__value_set(&page->arena, map, "epoch", liana__value_int(&page->arena, (int64_t)best.epoch));
    liana__value_add(&page->arena, list, map);
}

/* The measures of the validation first: they tell how good a run is. */
static liana_status add_measures(liana__run_page *page, const liana__run_files *run, liana__value *map,
                                 liana__error *error)
{
    liana__value *list = liana__value_list(&page->arena);
    const char *const *keys;
    size_t count;
    LIANA_TRY(liana__run_files_measures(run, 1, &page->arena, &keys, &count, error));
    for (size_t i = 0; i < count; i++) {
        const char *key = liana__arena_format(&page->arena, "val_%s", keys[i]);
        if (key) add_measure(page, run, key, list);
    }
    for (size_t i = 0; i < count; i++) add_measure(page, run, keys[i], list);
    liana__value_set(&page->arena, map, "measures", list);
    return LIANA_OK;
}

/* A member of a member: "optimizer.name" of train. */
static const liana__value *find(const liana__value *map, const char *first, const char *second)
{
    const liana__value *member = liana__value_get(map, first);
    return second && member ? (member->kind == LIANA__VALUE_MAP ? liana__value_get(member, second) : NULL) : member;
}

static void set_fact(liana__run_page *page, liana__value *facts, const char *name, const liana__value *value)
{
    if (!value || value->kind == LIANA__VALUE_NULL || value->kind == LIANA__VALUE_MAP) return;
    if (value->kind == LIANA__VALUE_LIST) return;
    liana__value_set(&page->arena, facts, name, liana__value_copy(&page->arena, value));
}

static void add_facts(liana__run_page *page, const liana__run_files *run, liana__value *map)
{
    liana__value *facts = liana__value_map(&page->arena);
    const liana__value *train = liana__value_get(run->config, "train"), *optimizer = find(train, "optimizer", "name");
    set_fact(page, facts, "model", find(run->config, "model", "base"));
    set_fact(page, facts, "optimizer", optimizer ? optimizer : find(train, "optimizer", NULL));
    set_fact(page, facts, "loss", find(train, "loss", NULL));
    set_fact(page, facts, "batch size", find(train, "batch_size", NULL));
    set_fact(page, facts, "seed", find(train, "seed", NULL));
    set_fact(page, facts, "device", find(train, "device", NULL));
    set_fact(page, facts, "precision", find(train, "precision", NULL));
    set_fact(page, facts, "strategy", find(train, "strategy", NULL));
    liana__value_set(&page->arena, map, "facts", facts);
}

/* A word of a shell. */
static const char *quoted(liana__run_page *page, const char *word)
{
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/-+=:@%,";
    liana__text text = {0};
    if (*word && word[strspn(word, plain)] == 0) return word;
    liana__text_add(&text, "'");
    for (const char *at = word; *at; at++) {
        if (*at == '\'') liana__text_add(&text, "'\\''");
        if (*at != '\'') liana__text_add_bytes(&text, at, 1);
    }
    liana__text_add(&text, "'");
    const char *made = text.failed ? NULL : liana__arena_string(&page->arena, text.data);
    liana__text_free(&text);
    return made ? made : word;
}

static void add_commands(liana__run_page *page, const liana__run_files *run, liana__value *map)
{
    const char *folder = quoted(page, run->folder),
               *config = liana__path_join(&page->arena, run->folder, "config.yaml");
    set_text(page, map, "command",
             liana__arena_format(&page->arena,
                                 "# the same training once more, into another folder\nliana train %s --out again\n"
                                 "# this page\nliana report %s --html",
                                 folder, folder));
    char *bytes = NULL;
    size_t size = 0;
    liana__error ignored = {0};
    if (!config || liana__file_read(config, MOST_CONFIG, &bytes, &size, &ignored) != LIANA_OK) {
        set_text(page, map, "config", "# config.yaml is too large to be shown here, or cannot be read");
    } else {
        set_text(page, map, "config", bytes);
    }
    free(bytes);
}

static double sum_of(const liana__value *times, const char *key)
{
    double sum = 0;
    for (size_t i = 0; i < times->count; i++) {
        const double number = liana__run_files_number(times, i, key);
        if (isfinite(number)) sum += number;
    }
    return times->count ? sum : NAN;
}

static liana_status add_run(liana__run_page *page, const liana__run_files *run, const char *note, liana__value *list,
                            liana__error *error)
{
    liana__value *map = liana__value_map(&page->arena);
    set_text(page, map, "name", run->name);
    set_text(page, map, "note", note);
    liana__value_set(&page->arena, map, "epochs", liana__value_int(&page->arena, (int64_t)run->epochs->count));
    LIANA_TRY(add_measures(page, run, map, error));
    add_facts(page, run, map);
    add_commands(page, run, map);
    set_number(page, map, "seconds", liana__run_files_seconds(run));
    set_number(page, map, "total_seconds", sum_of(run->times, "seconds"));
    if (run->times->count) {
        set_number(page, map, "examples_per_second",
                   liana__run_files_number(run->times, run->times->count - 1, "examples_per_second"));
    }
    liana__value_add(&page->arena, list, map);
    return LIANA_OK;
}

/* ---- all runs ---- */

static liana_status add_differences(liana__run_page *page, liana__error *error)
{
    liana__value *list = liana__value_list(&page->arena);
    liana__differences differences = {0};
    liana_status status = liana__run_files_differences(page->runs, page->count, &page->arena, &differences, error);
    for (size_t i = 0; status == LIANA_OK && i < differences.count; i++) {
        liana__value *map = liana__value_map(&page->arena), *values = liana__value_list(&page->arena);
        set_text(page, map, "key", differences.items[i].key);
        for (size_t k = 0; k < page->count; k++) {
            liana__value_add(&page->arena, values, liana__value_string(&page->arena, differences.items[i].values[k]));
        }
        liana__value_set(&page->arena, map, "values", values);
        liana__value_add(&page->arena, list, map);
    }
    liana__differences_free(&differences);
    liana__value_set(&page->arena, page->data, "differences", list);
    return status;
}

static liana_status add_figures(liana__run_page *page, liana__error *error)
{
    liana__figure curves, times;
    LIANA_TRY(liana__run_figure(page->runs, page->count, NULL, 0, &page->arena, &curves, error));
    LIANA_TRY(liana__time_figure(page->runs, page->count, &page->arena, &times, error));
    liana__value_set(&page->arena, page->data, "curves", liana__page_figure(&curves, "curves", &page->arena));
    liana__value_set(&page->arena, page->data, "times", liana__page_figure(&times, "times", &page->arena));
    return LIANA_OK;
}

static const char *title_of(liana__run_page *page)
{
    liana__arena *arena = &page->arena;
    const char *first = liana__isolate(arena, page->runs[0].name);
    if (page->count == 1) return first;
    if (page->count == 2) {
        return liana__arena_format(arena, "%s and %s", first, liana__isolate(arena, page->runs[1].name));
    }
    return liana__arena_format(arena, "%s and %zu more runs", first, page->count - 1);
}

static liana_status begin_details(liana__run_page *page, liana__error *error)
{
    liana__value *list = liana__value_list(&page->arena);
    page->details = liana__arena_allocate(&page->arena, (page->count + 1) * sizeof(liana__value *));
    page->rates = liana__arena_allocate(&page->arena, (page->count + 1) * sizeof *page->rates);
    if (!page->details || !page->rates) return liana__fail_memory(error, "the page");
    for (size_t i = 0; i < page->num_details; i++) {
        page->details[i] = liana__value_map(&page->arena);
        liana__value_set(&page->arena, page->details[i], "run", liana__value_int(&page->arena, (int64_t)i));
        liana__value_add(&page->arena, list, page->details[i]);
    }
    liana__value_set(&page->arena, page->data, "details", list);
    return LIANA_OK;
}

liana_status liana__run_page_begin(liana__run_page *page, const char *const *folders, size_t count, bool with_details,
                                   liana__error *error)
{
    const char **notes;
    page->count = count;
    page->num_details = with_details && count <= LIANA__RUN_PAGE_MOST_DETAILS ? count : 0;
    LIANA_TRY(liana__run_files_read_any(folders, count, &page->arena, &page->runs, &notes, error));
    page->data = liana__value_map(&page->arena);
    liana__value_set(&page->arena, page->data, "format", liana__value_int(&page->arena, 1));
    set_text(page, page->data, "version", LIANA_VERSION);
    set_text(page, page->data, "title", title_of(page));
    liana__value *runs = liana__value_list(&page->arena);
    for (size_t i = 0; i < count; i++) LIANA_TRY(add_run(page, &page->runs[i], notes[i], runs, error));
    liana__value_set(&page->arena, page->data, "runs", runs);
    LIANA_TRY(add_figures(page, error));
    LIANA_TRY(add_differences(page, error));
    if (with_details && !page->num_details) {
        set_text(
            page, page->data, "left_out",
            liana__arena_format(&page->arena,
                                "Predictions and training data are on pages of up to %d runs: liana report RUN ... "
                                "--html",
                                LIANA__RUN_PAGE_MOST_DETAILS));
    }
    return begin_details(page, error);
}

/* ---- details ---- */

void liana__run_page_note(liana__run_page *page, size_t index, const char *note)
{
    liana__value *detail = page->details[index], *notes = NULL;
    const liana__value *there = liana__value_get(detail, "notes");
    notes = there ? liana__value_copy(&page->arena, there) : liana__value_list(&page->arena);
    liana__value_add(&page->arena, notes, liana__value_string(&page->arena, note));
    liana__value_set(&page->arena, detail, "notes", notes);
}

typedef struct pair {
    int32_t truth, said;
    size_t count;
} pair;

static int by_pair(const void *a, const void *b)
{
    const pair *first = a, *second = b;
    if (first->truth != second->truth) return first->truth < second->truth ? -1 : 1;
    return (first->said > second->said) - (first->said < second->said);
}

static int by_falling_count(const void *a, const void *b)
{
    const pair *first = a, *second = b;
    if (first->count != second->count) return first->count > second->count ? -1 : 1;
    return by_pair(a, b);
}

/* Of very many classes: which is most often taken for which. Row, column, count, one after the other. */
static liana__value *confusions_of(liana__run_page *page, const liana__examined_output *output)
{
    liana__value *list = liana__value_list(&page->arena);
    pair *pairs = calloc(output->num_pairs + 1, sizeof *pairs);
    size_t wrong = 0, count = 0;
    for (size_t i = 0; pairs && i < output->num_pairs; i++) {
        if (output->truths[i] != output->said[i]) pairs[wrong++] = (pair){output->truths[i], output->said[i], 1};
    }
    if (pairs) qsort(pairs, wrong, sizeof *pairs, by_pair);
    for (size_t i = 0; i < wrong; i++) {
        const bool is_same = count && by_pair(&pairs[count - 1], &pairs[i]) == 0;
        if (is_same) pairs[count - 1].count++;
        if (!is_same) pairs[count++] = pairs[i];
    }
    if (pairs) qsort(pairs, count, sizeof *pairs, by_falling_count);
    for (size_t i = 0; i < count && i < MOST_CONFUSIONS; i++) {
        const double numbers[3] = {pairs[i].truth, pairs[i].said, (double)pairs[i].count};
        for (int k = 0; k < 3; k++) liana__value_add(&page->arena, list, liana__page_number(&page->arena, numbers[k]));
    }
    free(pairs);
    return list;
}

static void set_numbers(liana__run_page *page, liana__value *map, const char *key, const double *numbers, size_t count)
{
    if (numbers) liana__value_set(&page->arena, map, key, liana__page_numbers(&page->arena, numbers, count));
}

static liana_status add_class_table(liana__run_page *page, liana__examined *examined, liana__examined_output *output,
                                    liana__value *tables, liana__error *error)
{
    const liana__class_numbers *numbers;
    liana__value *map = liana__value_map(&page->arena), *labels = liana__value_list(&page->arena);
    const size_t count = output->width;
    LIANA_TRY(liana__class_numbers_find(examined, output, &numbers, error));
    double *areas = liana__arena_allocate(&page->arena, 2 * count * sizeof *areas + 1);
    if (!areas) return liana__fail_memory(error, "the table of classes");
    for (size_t i = 0; i < count; i++) {
        areas[i] = numbers->curves[i].auc;
        areas[count + i] = numbers->curves[i].average_precision;
        liana__value_add(&page->arena, labels,
                         liana__value_string(&page->arena, liana__examined_class(examined, output, i)));
    }
    set_text(page, map, "output", output->name);
    liana__value_set(&page->arena, map, "labels", labels);
    set_numbers(page, map, "precision", numbers->precision, count);
    set_numbers(page, map, "recall", numbers->recall, count);
    set_numbers(page, map, "f1_score", numbers->f1_score, count);
    set_numbers(page, map, "support", numbers->support, count);
    set_numbers(page, map, "auc", areas, count);
    set_numbers(page, map, "average_precision", areas + count, count);
    if (output->exclusive && count > MOST_MATRIX_CLASSES) {
        liana__value_set(&page->arena, map, "confusions", confusions_of(page, output));
    }
    liana__value_add(&page->arena, tables, map);
    return LIANA_OK;
}

static void add_validation(liana__run_page *page, const liana__examined *examined, liana__value *detail)
{
    const liana__totals *totals = &examined->totals;
    liana__value *list = liana__value_list(&page->arena);
    for (size_t i = 0; i < totals->objective->num_values; i++) {
        liana__value *item = liana__value_list(&page->arena);
        liana__value_add(&page->arena, item, liana__value_string(&page->arena, totals->objective->value_names[i]));
        liana__value_add(&page->arena, item, liana__page_number(&page->arena, liana__totals_value(totals, i)));
        liana__value_add(&page->arena, list, item);
    }
    liana__value *examples = liana__value_list(&page->arena);
    liana__value_add(&page->arena, examples, liana__value_string(&page->arena, "examples"));
    liana__value_add(&page->arena, examples, liana__value_int(&page->arena, totals->count));
    liana__value_add(&page->arena, list, examples);
    liana__value_set(&page->arena, detail, "validation", list);
}

static void note_strides(liana__run_page *page, size_t index, const liana__examined *examined)
{
    for (size_t i = 0; i < examined->num_outputs; i++) {
        if (examined->outputs[i].stride == 1) continue;
        char note[120];
        snprintf(note, sizeof note, "The curves of probabilities are those of every %zu-th example.",
                 examined->outputs[i].stride);
        liana__run_page_note(page, index, note);
    }
}

static liana_status add_examined(liana__run_page *page, size_t index, liana__examined *examined, liana__error *error)
{
    liana__value *detail = page->details[index], *tables = liana__value_list(&page->arena);
    liana__page_part part = {liana__value_map(&page->arena), &page->arena};
    const liana__drawings drawings = {liana__page_take, &part};
    if (!tables || !part.map) return liana__fail_memory(error, "the page");
    liana__value_set(&page->arena, detail, "parts", part.map);
    liana__value_set(&page->arena, detail, "classes", tables);
    add_validation(page, examined, detail);
    note_strides(page, index, examined);
    LIANA_TRY(liana__report_predictions(examined, &drawings, error));
    LIANA_TRY(liana__report_classes(examined, &drawings, error));
    LIANA_TRY(liana__report_numbers(examined, &drawings, error));
    /* The same matrix in other numbers, which the page's script finds itself. */
    for (size_t i = part.map->count; i > 0; i--) {
        if (liana__ends_with(part.map->keys[i - 1], "_normalized")) {
            liana__value_remove(part.map, part.map->keys[i - 1]);
        }
    }
    for (size_t i = 0; i < examined->num_outputs; i++) {
        if (!examined->outputs[i].classes.count) continue;
        LIANA_TRY(add_class_table(page, examined, &examined->outputs[i], tables, error));
    }
    return liana__report_importance(examined->run, &drawings, error);
}

liana_status liana__run_page_add_predictions(liana__run_page *page, size_t index, liana__run *run, liana__error *error)
{
    liana__examined examined = {0};
    liana_status status = liana__examine(run, MOST_PICTURES / page->num_details, &examined, error);
    if (status == LIANA_OK) status = add_examined(page, index, &examined, error);
    liana__examined_free(&examined);
    return status;
}

liana_status liana__run_page_add_data(liana__run_page *page, size_t index, liana__run *run, liana__error *error)
{
    liana__page_part part = {liana__value_map(&page->arena), &page->arena};
    const liana__drawings drawings = {liana__page_take, &part};
    liana__plotted_rate rates = {.name = page->runs[index].name};
    liana__error ignored = {0};
    if (!part.map) return liana__fail_memory(error, "the page");
    /* How long the run is may not be known; then its curve of rates says it, epoch by epoch. */
    if (liana__plan_rates(run, rates.name, &page->arena, &rates, &ignored) == LIANA_OK) {
        page->rates[page->num_rates++] = rates;
    }
    liana__value_set(&page->arena, page->details[index], "data", part.map);
    const liana__data_report_options options = {.part = LIANA__PART_TRAINING, .seed = 1};
    return liana__report_data(run, &options, &drawings, error);
}

/* ---- the end ---- */

liana_status liana__run_page_write(liana__run_page *page, const char *path, liana__error *error)
{
    if (page->num_rates) {
        liana__figure figure;
        LIANA_TRY(liana__rate_figure(page->rates, page->num_rates, &page->arena, &figure, error));
        liana__value_set(&page->arena, page->data, "schedule", liana__page_figure(&figure, "schedule", &page->arena));
    }
    if (page->arena.failed) return liana__fail_memory(error, path);
    return liana__page_write(path, title_of(page), page->data, error);
}

void liana__run_page_set_live(liana__run_page *page)
{
    liana__value *live = liana__value_map(&page->arena);
    set_text(page, live, "events", "events");
    set_text(page, live, "control", "control");
    liana__value_set(&page->arena, page->data, "live", live);
}

void liana__run_page_text(liana__run_page *page, liana__text *text)
{
    liana__page_text(title_of(page), page->data, text);
    text->failed = text->failed || page->arena.failed;
}

void liana__run_page_free(liana__run_page *page)
{
    liana__arena_free(&page->arena);
}
