/* Tables of metrics by class. */
#include "cli/class_table.h"

#include "base/format.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_COLUMN = 9, LONGEST_NAME = 32, MOST_MATRIX_CLASSES = 30 };

/* A metric that has a number for each class. */
typedef struct column {
    const char *title;
    size_t title_length;
    const double *values; /* [classes] */
    int width;
    bool counts; /* examples, and no share */
} column;

/* A table that is being written. */
typedef struct table {
    const liana__totals *totals;
    liana__strings names;
    liana__text *text;
    liana__arena arena;
    column columns[LIANA__MAX_METRICS];
    size_t num_columns;
    size_t classes;
    int width; /* of the column of names, in characters */
} table;

/* ---- cells ---- */

/* Characters of a UTF-8 text: bytes that continue none. */
static int num_characters(const char *text)
{
    int count = 0;
    for (; *text; text++) count += ((unsigned char)*text & 0xC0) != 0x80;
    return count;
}

/* At most `most` characters, filled up with blanks. */
static void add_left(liana__text *text, const char *word, int most)
{
    int shown = 0;
    const char *end = word;
    while (*end && (shown < most || ((unsigned char)*end & 0xC0) == 0x80)) {
        shown += ((unsigned char)*end & 0xC0) != 0x80;
        end++;
    }
    liana__text_add_bytes(text, word, (size_t)(end - word));
    liana__text_add(text, "%*s", most - shown, "");
}

/* Without control characters. */
static const char *plain_name(table *own, const char *name)
{
    const size_t size = 4 * strlen(name) + 1;
    char *plain = liana__arena_allocate(&own->arena, size);
    if (!plain) return "";
    memcpy(plain, name, strlen(name) + 1);
    liana__escape_controls(plain, size);
    return plain;
}

static const char *name_of(table *own, size_t class)
{
    if (class < own->names.count) return plain_name(own, own->names.items[class]);
    const char *number = liana__arena_format(&own->arena, "%zu", class);
    return number ? number : "";
}

static int width_of_names(const table *own, size_t classes, int least)
{
    int width = least;
    for (size_t i = 0; i < classes && i < own->names.count; i++) {
        int length = num_characters(own->names.items[i]);
        if (length > width) width = length;
    }
    return width > LONGEST_NAME ? LONGEST_NAME : width;
}

static void add_count(liana__text *text, int width, double count)
{
    liana__text_add(text, count == floor(count) ? "  %*.0f" : "  %*.1f", width, count);
}

/* ---- the table of classes ---- */

static void add_column(table *own, const liana__objective_metric *metric, const double *values)
{
    static const char ending[] = "_by_class";
    const char *title = metric->choice.name;
    size_t length = strlen(title), extra = sizeof ending - 1;
    if (length > extra && strcmp(title + length - extra, ending) == 0) length -= extra;
    own->columns[own->num_columns++] = (column){.title = title,
                                                .title_length = length,
                                                .values = values,
                                                .width = length > LEAST_COLUMN ? (int)length : LEAST_COLUMN,
                                                .counts = metric->choice.metric == &liana__metric_support};
}

static void add_row(const table *own, const char *name, double (*value)(const table *own, const column *of, size_t at),
                    size_t at)
{
    add_left(own->text, name, own->width);
    for (size_t i = 0; i < own->num_columns; i++) {
        const column *of = &own->columns[i];
        double number = value(own, of, at);
        if (of->counts) {
            add_count(own->text, of->width, number);
        } else {
            liana__text_add(own->text, "  %*.4f", of->width, number);
        }
    }
    liana__text_add(own->text, "\n");
}

static double value_at(const table *own, const column *of, size_t at)
{
    (void)own;
    return of->values[at];
}

static double sum_of(const table *own, const column *of)
{
    double sum = 0;
    for (size_t i = 0; i < own->classes; i++) sum += of->values[i];
    return sum;
}

static double mean_over_classes(const table *own, const column *of, size_t at)
{
    (void)at;
    return of->counts ? sum_of(own, of) : sum_of(own, of) / (double)own->classes;
}

/* `at`: the column of the numbers of examples. */
static double mean_over_examples(const table *own, const column *of, size_t at)
{
    const column *counts = &own->columns[at];
    double total = sum_of(own, counts), sum = 0;
    if (of->counts) return total;
    for (size_t i = 0; i < own->classes; i++) sum += of->values[i] * counts->values[i];
    return total > 0 ? sum / total : 0;
}

static void add_table(table *own)
{
    size_t counts = 0;
    if (!own->num_columns || own->arena.failed) return;
    own->width = width_of_names(own, own->classes, num_characters("weighted mean"));
    liana__text_add(own->text, "\n");
    add_left(own->text, "class", own->width);
    for (size_t i = 0; i < own->num_columns; i++) {
        const column *of = &own->columns[i];
        liana__text_add(own->text, "  %*s%.*s", of->width - (int)of->title_length, "", (int)of->title_length,
                        of->title);
    }
    liana__text_add(own->text, "\n");
    for (size_t i = 0; i < own->classes; i++) add_row(own, name_of(own, i), value_at, i);
    add_row(own, "macro mean", mean_over_classes, 0);
    while (counts < own->num_columns && !own->columns[counts].counts) counts++;
    if (counts < own->num_columns) add_row(own, "weighted mean", mean_over_examples, counts);
}

/* ---- matrices ---- */

static int width_of_cells(const double *values, size_t count)
{
    double largest = 1;
    bool whole = true;
    for (size_t i = 0; i < count; i++) {
        largest = fmax(largest, values[i]);
        whole = whole && values[i] == floor(values[i]);
    }
    return (int)floor(log10(largest)) + 1 + (whole ? 0 : 3);
}

/* A row for each true class; the columns are numbered, since names would be too wide. */
static void add_matrix(table *own, const liana__objective_metric *metric, const double *values)
{
    size_t classes = (size_t)liana__metric_num_rows(metric);
    if (classes > MOST_MATRIX_CLASSES) {
        liana__text_add(own->text,
                        "\n%s: %zu classes are too many to print; --json has all, and 'liana report' draws it\n",
                        metric->name, classes);
        return;
    }
    bool whole = true;
    for (size_t i = 0; i < classes * classes; i++) whole = whole && values[i] == floor(values[i]);
    int width = width_of_cells(values, classes * classes), names = width_of_names(own, classes, 5);
    if (width < 3) width = 3;
    liana__text_add(own->text, "\n%s: rows are true classes, columns predicted ones\n%*s", metric->name, names + 4, "");
    for (size_t i = 0; i < classes; i++) liana__text_add(own->text, "  %*zu", width, i);
    liana__text_add(own->text, "\n");
    for (size_t i = 0; i < classes; i++) {
        liana__text_add(own->text, "%3zu ", i);
        add_left(own->text, i < own->names.count ? own->names.items[i] : "", names);
        for (size_t k = 0; k < classes; k++) {
            liana__text_add(own->text, whole ? "  %*.0f" : "  %*.2f", width, values[i * classes + k]);
        }
        liana__text_add(own->text, "\n");
    }
}

void liana__class_table_add(const liana__totals *totals, size_t output, liana__strings names, liana__text *text)
{
    table own = {.totals = totals, .names = names, .text = text};
    const liana__objective *objective = totals->objective;
    const double *matrices[LIANA__MAX_METRICS] = {0};
    for (size_t i = 0; i < objective->num_metrics; i++) {
        const liana__objective_metric *metric = &objective->metrics[i];
        if (metric->output != output || !metric->num_values) continue;
        double *values = liana__arena_allocate(&own.arena, metric->num_values * sizeof *values);
        if (!values) break;
        liana__totals_values(totals, i, values);
        if (metric->choice.metric->is_matrix) {
            matrices[i] = values;
        } else {
            own.classes = metric->num_values;
            add_column(&own, metric, values);
        }
    }
    add_table(&own);
    for (size_t i = 0; i < objective->num_metrics; i++) {
        if (matrices[i]) add_matrix(&own, &objective->metrics[i], matrices[i]);
    }
    if (own.arena.failed) text->failed = true;
    liana__arena_free(&own.arena);
}
