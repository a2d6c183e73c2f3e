/* class_table.h - metrics by class as tables of text. */
#ifndef LIANA_CLI_CLASS_TABLE_H
#define LIANA_CLI_CLASS_TABLE_H

#include "train/objective/objective.h"

/* Adds, for an output, a table of the metrics that have a number for each class, a row for each class and one with
 * their means; then each of its matrices. Nothing, if it has no such metrics. Classes without a name are called by
 * their numbers. A matrix of more than 30 classes is left out, with a line that says so. */
void liana__class_table_add(const liana__totals *totals, size_t output, liana__strings names, liana__text *text);

#endif
