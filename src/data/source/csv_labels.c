/* Reads the labels of CSV lists and tables. */
#include "data/source/csv_labels.h"

#include "data/source/class_list.h"

#include <stdio.h>
#include <string.h>

/* The cell of a row's label; NULL if there is none, or nothing in it. */
static const char *label_cell(const liana__csv_list *list, size_t row)
{
    if (list->label < 0) return NULL;
    const char *cell = liana__csv_cell(&list->csv, row, (size_t)list->label);
    return *cell ? cell : NULL; /* without blanks at its ends */
}

/* How many labels of a list are numbers, and how many are not. */
typedef struct label_counts {
    size_t numbers;
    size_t names;
    size_t missing; /* of the names: "NA" and the like, which are no names where the other labels are numbers */
} label_counts;

static label_counts count_labels(const liana__csv_list *list)
{
    label_counts counts = {0};
    for (size_t row = list->first_row; row < list->csv.num_rows; row++) {
        int64_t number;
        const char *cell = label_cell(list, row);
        bool is_number = cell && liana__class_number_read(cell, &number) != LIANA__CLASS_NO_NUMBER;
        counts.numbers += is_number;
        counts.missing += cell && liana__cell_is_missing(cell, strlen(cell));
        counts.names += cell && !is_number;
    }
    return counts;
}

/* Whether all labels are numbers; or most of them, if bad rows may be left out. One list with only numbers and one with
 * only names is always a mistake: which number belongs to which name is not known. */
static liana_status find_numbers(const liana__csv_list *lists, size_t count, bool skip_damage, bool *are_numbers,
                                 liana__error *error)
{
    label_counts all = {0};
    const char *numbered = NULL, *named = NULL;
    for (size_t i = 0; i < count; i++) {
        label_counts own = count_labels(&lists[i]);
        all.numbers += own.numbers;
        all.names += own.names;
        all.missing += own.missing;
        if (own.numbers && !own.names) numbered = lists[i].path;
        if (own.names && !own.numbers) named = lists[i].path;
    }
    size_t names = all.numbers ? all.names - all.missing : all.names;
    *are_numbers = skip_damage ? all.numbers >= all.names : names == 0;
    if (!numbered || !named) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "the labels of '%s' are numbers, those of '%s' are names of classes; which number belongs to "
                       "which name is not known: write all labels in one way",
                       numbered, named);
}

/* All labels that occur, in byte order. */
static liana_status collect_names(const liana__csv_labels *labels, liana__strings *names, liana__error *error)
{
    liana__name_set set = {.arena = labels->arena};
    for (size_t i = 0; i < labels->num_lists; i++) {
        const liana__csv_list *list = &labels->lists[i];
        for (size_t row = list->first_row; row < list->csv.num_rows; row++) {
            const char *cell = label_cell(list, row);
            if (cell) liana__name_set_add(&set, cell, strlen(cell));
        }
    }
    *names = liana__name_set_take(&set);
    return labels->arena->failed ? liana__fail_memory(error, "a list of classes") : LIANA_OK;
}

/* "'FILE', line N" of a label that occurs. */
static const char *first_place(liana__csv_labels *labels, const char *name)
{
    for (size_t i = 0; i < labels->num_lists; i++) {
        const liana__csv_list *list = &labels->lists[i];
        for (size_t row = list->first_row; row < list->csv.num_rows; row++) {
            const char *cell = label_cell(list, row);
            if (!cell || strcmp(cell, name) != 0) continue;
            return liana__arena_format(labels->arena, "'%s', line %zu", list->path, list->csv.lines[row]);
        }
    }
    return NULL;
}

/* Names that mean the same are one class, written in two ways. */
static liana_status check_spelling(liana__csv_labels *labels, liana__error *error)
{
    liana__alike alike;
    LIANA_TRY(liana__class_list_find_alike(&labels->classes, false, &alike, error));
    if (!alike.one) return LIANA_OK;
    const char *one = first_place(labels, alike.one), *other = first_place(labels, alike.other);
    if (!one || !other) return liana__fail_memory(error, "a list of classes");
    return liana__fail(error, LIANA_INVALID_DATA,
                       "%s: the label %s, and %s: %s are written differently, but mean the same; write them alike%s",
                       one, liana__class_name_show(alike.one, alike.looks_same).text, other,
                       liana__class_name_show(alike.other, alike.looks_same).text,
                       alike.looks_same ? "" : ", or list both in data.class_names if they are two classes");
}

/* Whether labels are looked up among the listed names even if they are numbers. */
static bool numbers_are_names(const liana__source_options *options)
{
    const liana__strings *listed = &options->class_names;
    return listed->count && (options->labels_are_names || liana__class_list_is_numbers(listed));
}

/* The listed ones, or all that occur, in byte order. */
static liana_status find_names(liana__csv_labels *labels, const liana__source_options *options, liana__error *error)
{
    const liana__strings *listed = &options->class_names;
    labels->lists_classes = listed->count > 0;
    if (labels->lists_classes) {
        labels->classes = liana__names_copy(listed, labels->arena);
        if (labels->arena->failed) return liana__fail_memory(error, "a list of classes");
        liana__twins twins;
        LIANA_TRY(liana__class_list_find_twins(&labels->classes, &twins, error));
        labels->has_twins = twins.one >= 0;
        return LIANA_OK;
    }
    LIANA_TRY(collect_names(labels, &labels->classes, error));
    return check_spelling(labels, error);
}

liana_status liana__csv_find_classes(liana__csv_labels *labels, const liana__source_options *options,
                                     liana__error *error)
{
    bool are_numbers = true;
    if (labels->ignored) return LIANA_OK;
    LIANA_TRY(find_numbers(labels->lists, labels->num_lists, labels->skip_damage, &are_numbers, error));
    return !are_numbers || numbers_are_names(options) ? find_names(labels, options, error) : LIANA_OK;
}

/* The place of a label among the classes, or -1: "7.0" is the class "7". */
static int64_t find_name(const liana__strings *classes, const char *cell)
{
    int64_t number, found = liana__names_find(classes, false, cell, strlen(cell));
    if (found >= 0 || liana__class_number_read(cell, &number) != LIANA__CLASS_WHOLE_NUMBER) return found;
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)number);
    return liana__names_find(classes, false, text, strlen(text));
}

/* Both lists of classes: the run's, and those of the labels. */
typedef struct both_lists {
    liana__class_list_text listed;
    liana__class_list_text found;
} both_lists;

static liana_status show_lists(const liana__csv_labels *labels, both_lists *both, liana__error *error)
{
    liana__strings own;
    LIANA_TRY(collect_names(labels, &own, error));
    both->listed = liana__class_list_show(&labels->classes);
    both->found = liana__class_list_show(&own);
    return LIANA_OK;
}

static liana_status fail_name(const liana__csv_labels *labels, const liana__csv_list *list, size_t row,
                              const char *cell, liana__error *error)
{
    const liana__class_hint_text hint = liana__class_hint(cell, &labels->classes);
    both_lists both = {{""}, {""}};
    /* Bad rows are reported one by one, without the lists. */
    if (labels->lists_classes && !labels->skip_damage) LIANA_TRY(show_lists(labels, &both, error));
    const char *listed = both.listed.text;
    return liana__fail(error, LIANA_INVALID_DATA, "line %zu: '%.100s' is not the name of a class%s%s%s%s%s",
                       list->csv.lines[row], cell, *hint.text ? hint.text : " (see data.class_names)",
                       *listed ? ". There are " : "", listed, *listed ? "; the labels here are of " : "",
                       both.found.text);
}

/* A label that is the name of two classes says neither. */
static liana_status check_twins(const liana__csv_labels *labels, const liana__csv_list *list, size_t row,
                                int64_t *label, liana__error *error)
{
    const liana__twins twins = liana__class_twins(&labels->classes, *label);
    if (twins.one < 0) return LIANA_OK;
    *label = -1;
    return liana__fail(error, LIANA_INVALID_DATA,
                       "line %zu: the label is the name of two classes: %s; write all labels as numbers, or give each "
                       "class a name of its own",
                       list->csv.lines[row], liana__twins_show(&labels->classes, &twins).text);
}

liana_status liana__csv_fail_labels(const liana__csv_labels *labels, liana__error *error)
{
    both_lists both;
    LIANA_TRY(show_lists(labels, &both, error));
    return liana__fail(error, LIANA_INVALID_DATA,
                       "'%s': none of its labels is the name of a class. There are %s; the labels here are of %s",
                       labels->lists[0].path, both.listed.text, both.found.text);
}

liana_status liana__csv_find_label(const liana__csv_labels *labels, const liana__csv_list *list, size_t row,
                                   int64_t *label, liana__error *error)
{
    *label = -1;
    const char *cell = labels->ignored ? NULL : label_cell(list, row);
    if (!cell) return LIANA_OK;
    if (labels->classes.count) {
        *label = find_name(&labels->classes, cell);
        if (*label < 0) return fail_name(labels, list, row, cell, error);
        return labels->has_twins ? check_twins(labels, list, row, label, error) : LIANA_OK;
    }
    switch (liana__class_number_read(cell, label)) {
    case LIANA__CLASS_NO_NUMBER:
        return liana__fail(error, LIANA_INVALID_DATA, "line %zu: the label '%.100s' is not a number, as the others are",
                           list->csv.lines[row], cell);
    case LIANA__CLASS_FRACTION:
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "line %zu: the label '%.100s' is not a whole number; expected the number of a class: 0, 1, 2, ...",
            list->csv.lines[row], cell);
    default: break;
    }
    if (*label >= 0) return LIANA_OK;
    return liana__fail(error, LIANA_OUT_OF_RANGE, "line %zu: the label %s is below 0", list->csv.lines[row], cell);
}

static bool is_fraction(const liana__csv_list *list)
{
    for (size_t row = list->first_row; row < list->csv.num_rows; row++) {
        int64_t number;
        const char *cell = label_cell(list, row);
        if (cell && liana__class_number_read(cell, &number) == LIANA__CLASS_FRACTION) return true;
    }
    return false;
}

void liana__csv_drop_numbers(liana__csv_list *lists, size_t count, const liana__source_options *options)
{
    bool any = false;
    for (size_t i = 0; i < count && !options->label_feature; i++) any = any || is_fraction(&lists[i]);
    for (size_t i = 0; i < count && any; i++) lists[i].label = -1;
}
