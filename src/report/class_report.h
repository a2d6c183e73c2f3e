/* class_report.h - pictures of how well a trained run knows its classes. */
#ifndef LIANA_REPORT_CLASS_REPORT_H
#define LIANA_REPORT_CLASS_REPORT_H

#include "train/run/run.h"

/* Evaluates the validation data, and writes two confusion matrices for each output with classes: confusion_matrix.png
 * with the numbers of examples, and confusion_matrix_normalized.png with shares of each true class; with several
 * outputs "OUTPUT_confusion_matrix.png". The run was opened with `by_class` and validation data. `on_picture` is called
 * with the path of each. Errors: those of the evaluation and of liana__class_matrix_write. */
liana_status liana__report_classes(liana__run *run, const char *folder,
                                   void (*on_picture)(void *user, const char *path), void *user, liana__error *error)
    LIANA_MUST_USE;

#endif
