/* device_report.h - a comparison of devices as text. */
#ifndef LIANA_REPORT_DEVICE_REPORT_H
#define LIANA_REPORT_DEVICE_REPORT_H

#include "train/training/device_comparison.h"

#include "base/text.h"

/* A table with a row for each layer: the largest difference of its output, its gradients and its weights, each with its
 * share of the difference that rounding explains. Then the losses. */
void liana__device_report(const liana__device_comparison *comparison, const char *const names[2], liana__text *text);

/* In one sentence or two: where the devices first differ by more than rounding explains, or that they do not. */
void liana__device_verdict(const liana__device_comparison *comparison, const char *const names[2], liana__text *text);

#endif
