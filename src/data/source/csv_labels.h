/* csv_labels.h - the labels of CSV lists and tables: numbers, or names of classes. */
#ifndef LIANA_DATA_CSV_LABELS_H
#define LIANA_DATA_CSV_LABELS_H

#include "data/source/source.h"
#include "formats/csv.h"

/* One list while it is read. */
typedef struct liana__csv_list {
    const char *path;
    const char *folder;
    liana__csv csv;
    size_t first_row; /* 1 behind a header */
    int image;        /* columns; -1: none; all lists have images, or none has */
    int label;
    int id;
} liana__csv_list;

/* The labels of all lists of a source. */
typedef struct liana__csv_labels {
    liana__arena *arena;
    const liana__csv_list *lists; /* [num_lists] while the source is opened */
    size_t num_lists;
    liana__strings classes; /* in the order of the labels, in the arena; none: labels are numbers */
    bool lists_classes;     /* they are those of the options */
    bool has_twins;         /* two of them have one name */
    bool ignored;
    bool skip_damage;
} liana__csv_labels;

/* A table's column that is called as labels are, but holds fractions, is no class: it is a number to predict, and the
 * lists then have no label. */
void liana__csv_drop_numbers(liana__csv_list *lists, size_t count, const liana__source_options *options);
/* Decides whether labels are numbers or names, and finds the classes of names: the listed ones, or all that occur, in
 * byte order. Errors: INVALID_DATA (numbers in one list and names in another; names that are alike), OUT_OF_MEMORY. */
liana_status liana__csv_find_classes(liana__csv_labels *labels, const liana__source_options *options,
                                     liana__error *error) LIANA_MUST_USE;
/* Gives the label of a row; -1 for an empty cell. Errors: "line N: ..." INVALID_DATA, OUT_OF_RANGE. */
liana_status liana__csv_find_label(const liana__csv_labels *labels, const liana__csv_list *list, size_t row,
                                   int64_t *label, liana__error *error) LIANA_MUST_USE;
/* Refuses lists none of whose labels is a listed class. Errors: INVALID_DATA with both lists, OUT_OF_MEMORY. */
liana_status liana__csv_fail_labels(const liana__csv_labels *labels, liana__error *error) LIANA_MUST_USE;

#endif
