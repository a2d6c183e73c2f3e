/* data_report.h - pictures of the data that a run would be trained on. */
#ifndef LIANA_REPORT_DATA_REPORT_H
#define LIANA_REPORT_DATA_REPORT_H

#include "train/run/run.h"

/* Called for each picture that was written. */
typedef void (*liana__on_picture)(void *user, const char *path);

/* Draws pictures into an existing folder, each as .png and .svg:
 *
 * - `samples`: training images with their classes;
 * - `labels`: the number of examples of each class in training and validation;
 * - `sampling`: the same before and after oversampling or weighted sampling;
 * - `sizes`: sizes of the images in the files;
 * - `augmented`: originals next to their augmented images;
 * - of tables, `labels` and `column-01`, ...: the values of each column.
 *
 * The run is open with its training data. Errors: those of the data, of augmentation and of the pictures. */
liana_status liana__report_data(liana__run *run, const char *folder, liana__on_picture on_picture, void *user,
                                liana__error *error) LIANA_MUST_USE;

#endif
