/* Writes the page of a sweep. */
#include "report/reports.h"

#include "base/file.h"
#include "base/format.h"
#include "base/scoped.h"
#include "report/run_plot.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_MEASURES = 6 };

typedef struct page {
    const liana__sweep_results *results;
    const liana__sweep *sweep;
    const char *folder; /* of the page */
    const char *stem;   /* of its name: "flower-study" */
    liana__arena *arena;
    liana__text text;
    liana__error *error;
} page;

/* "images/flower-study-1.png", as the page names it; *path is where it is written. */
static const char *picture_name(const page *own, const char *ending, const char **path)
{
    const char *name = liana__arena_format(own->arena, "images/%s-%s.png", own->stem, ending);
    *path = name ? liana__path_join(own->arena, own->folder, name) : NULL;
    return *path ? name : NULL;
}

/* ---- all settings ---- */

static void add_settings(page *own)
{
    const liana__sweep *sweep = own->sweep;
    bool any = false;
    for (size_t i = 0; i < sweep->num_settings; i++) any |= sweep->settings[i].about != NULL;
    if (!any) return;
    liana__text_add(&own->text, "## Settings\n\n| setting | what it is |\n|---|---|\n");
    for (size_t i = 0; i < sweep->num_settings; i++) {
        const char *about = sweep->settings[i].about;
        liana__text_add(&own->text, "| %s | %s |\n", sweep->settings[i].name, about ? about : "");
    }
    liana__text_add(&own->text, "\n");
}

static liana_status add_means(page *own, size_t metric)
{
    const liana__sweep *sweep = own->sweep;
    const char *key = own->results->metrics[metric], *path;
    liana__dots_row *rows = liana__arena_allocate(own->arena, sweep->num_settings * sizeof *rows + 1);
    const char *name = picture_name(own, key, &path);
    if (!rows || !name) return liana__fail_memory(own->error, sweep->file);
    for (size_t i = 0; i < sweep->num_settings; i++) {
        liana__sweep_measure measure = liana__sweep_measure_of(own->results, i, metric);
        rows[i] = (liana__dots_row){sweep->settings[i].name, measure.mean, measure.spread};
    }
    LIANA_TRY(liana__dots_write(path, key, rows, sweep->num_settings, own->error));
    liana__text_add(&own->text, "![%s of every setting: mean and spread over the seeds](%s)\n\n", key, name);
    return LIANA_OK;
}

/* ---- comparisons ---- */

/* The curves of the first seed with which both are finished. */
static liana_status add_curves(page *own, size_t index)
{
    const liana__sweep *sweep = own->sweep;
    const liana__sweep_comparison *comparison = &sweep->comparisons[index];
    const char *folders[2] = {0}, *measures[MOST_MEASURES], *path;
    size_t seeds = (size_t)sweep->num_seeds, num_measures = 0;
    for (size_t i = 0; i < seeds && !folders[0]; i++) {
        size_t first = comparison->first * seeds + i, second = comparison->second * seeds + i;
        if (!own->results->finished[first] || !own->results->finished[second]) continue;
        folders[0] = sweep->runs[first].folder;
        folders[1] = sweep->runs[second].folder;
    }
    if (!folders[0]) return LIANA_OK;
    for (size_t i = 0; i < own->results->num_metrics && num_measures < MOST_MEASURES; i++) {
        const char *key = own->results->metrics[i];
        measures[num_measures++] = liana__starts_with(key, "val_") ? key + 4 : key;
    }
    char ending[32];
    snprintf(ending, sizeof ending, "%zu", index + 1);
    const char *name = picture_name(own, ending, &path);
    if (!name) return liana__fail_memory(own->error, sweep->file);
    liana__run_files *runs;
    LIANA_TRY(liana__run_files_read(folders, 2, own->arena, &runs, own->error));
    LIANA_TRY(liana__plot_runs(runs, 2, measures, num_measures, path, own->arena, own->error));
    liana__text_add(&own->text, "![The curves of %s (dashed) and %s](%s)\n\n", runs[0].name, runs[1].name, name);
    return LIANA_OK;
}

static const char *verdict_of(const char *metric, double difference, double error)
{
    const liana__monitor_options monitor = {.monitor = metric, .mode = LIANA__MONITOR_AUTO};
    if (isnan(error)) return "not comparable: one seed has no spread";
    if (fabs(difference) <= 2 * error) return "as good, as far as these seeds show";
    return liana__monitor_improves(&monitor, difference, 0) ? "better" : "worse";
}

static void add_row(page *own, const liana__sweep_comparison *comparison, size_t metric)
{
    liana__sweep_measure first = liana__sweep_measure_of(own->results, comparison->first, metric);
    liana__sweep_measure second = liana__sweep_measure_of(own->results, comparison->second, metric);
    const char *key = own->results->metrics[metric];
    char row[256];
    if (!first.count || !second.count) {
        liana__text_add(&own->text, "| %s | - | - | - | - | not finished yet |\n", key);
        return;
    }
    double difference = second.mean - first.mean;
    double error =
        sqrt(first.spread * first.spread / (double)first.count + second.spread * second.spread / (double)second.count);
    char spread[32] = "-";
    if (!isnan(error)) liana__format(spread, sizeof spread, "%.4f", error);
    liana__format(row, sizeof row, "| %s | %.4f | %.4f | %+.4f | %s | %s |\n", key, first.mean, second.mean, difference,
                  spread, verdict_of(key, difference, error));
    liana__text_add(&own->text, "%s", row);
}

static liana_status add_comparison(page *own, size_t index)
{
    const liana__sweep_comparison *comparison = &own->sweep->comparisons[index];
    const char *first = own->sweep->settings[comparison->first].name;
    const char *second = own->sweep->settings[comparison->second].name;
    liana__text_add(&own->text, "### %s\n\n| metric | %s | %s | difference | its standard error | the second is |\n",
                    comparison->question, first, second);
    liana__text_add(&own->text, "|---|---|---|---|---|---|\n");
    for (size_t i = 0; i < own->results->num_metrics; i++) add_row(own, comparison, i);
    liana__text_add(&own->text, "\n");
    return add_curves(own, index);
}

/* ---- the page ---- */

static liana_status write_page(page *own)
{
    const liana__sweep *sweep = own->sweep;
    liana__text_add(&own->text, "# %s\n\n", sweep->title ? sweep->title : own->stem);
    liana__text_add(&own->text,
                    "Written by `liana sweep %s --report %s.md` from %zu of %zu runs: %zu settings, each over %lld "
                    "seeds.\n\n",
                    liana__path_name(sweep->file), own->stem, own->results->num_finished, sweep->num_runs,
                    sweep->num_settings, (long long)sweep->num_seeds);
    add_settings(own);
    liana__text_add(&own->text, "## Results\n\n");
    liana__sweep_results_markdown(own->results, &own->text);
    liana__text_add(&own->text, "\n");
    for (size_t i = 0; i < own->results->num_metrics; i++) LIANA_TRY(add_means(own, i));
    if (!sweep->num_comparisons) return LIANA_OK;
    liana__text_add(&own->text,
                    "## What follows\n\nA difference counts if it is more than twice its standard error, which comes "
                    "from the spread over the seeds.\n\n");
    for (size_t i = 0; i < sweep->num_comparisons; i++) LIANA_TRY(add_comparison(own, i));
    return LIANA_OK;
}

static liana_status write_files(page *own, const char *path)
{
    const char *name = liana__path_name(path), *dot = strrchr(name, '.');
    own->folder = liana__path_folder(own->arena, path);
    own->stem = liana__arena_format(own->arena, "%.*s", (int)(dot ? dot - name : (long)strlen(name)), name);
    const char *images = own->folder ? liana__path_join(own->arena, own->folder, "images") : NULL;
    if (!own->stem || !images) return liana__fail_memory(own->error, path);
    LIANA_TRY(liana__folder_make(images, own->error));
    LIANA_TRY(write_page(own));
    /* One newline at the end. */
    while (own->text.length > 1 && own->text.data[own->text.length - 2] == '\n') own->text.length--;
    return own->text.failed ? liana__fail_memory(own->error, path)
                            : liana__file_replace(path, own->text.data, own->text.length, own->error);
}

liana_status liana__sweep_report_write(const liana__sweep_results *results, const char *path, liana__error *error)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    page own = {.results = results, .sweep = results->sweep, .arena = &arena, .error = error};
    if (!results->num_finished) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "'%s': no run of the sweep is finished", path);
    }
    liana_status status = write_files(&own, path);
    liana__text_free(&own.text);
    return status;
}
