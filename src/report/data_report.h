/* data_report.h - pictures of the data that a run would be trained on. */
#ifndef LIANA_REPORT_DATA_REPORT_H
#define LIANA_REPORT_DATA_REPORT_H

#include "train/run/run.h"

/* What is told of each picture that was written. */
typedef void (*liana__on_picture)(void *user, const char *path);

/* Draws into a folder that exists, each as .png and .svg: `samples` (training images with their classes), `labels` (how
 * often the classes come in training and in validation), `sampling` (before and after oversampling or weighted
 * sampling), `sizes` (of the images in the files) and `augmented` (originals beside what training sees of them). The
 * run is open with its training data. Errors: those of the data, of augmentation and of the pictures. */
liana_status liana__report_data(liana__run *run, const char *folder, liana__on_picture on_picture, void *user,
                                liana__error *error) LIANA_MUST_USE;

#endif
