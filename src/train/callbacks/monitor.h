/* monitor.h - watching whether a metric gets better, for callbacks with Keras's options monitor, mode and min_delta. */
#ifndef LIANA_TRAIN_MONITOR_H
#define LIANA_TRAIN_MONITOR_H

#include "train/callbacks/callback.h"

typedef enum liana__monitor_mode { LIANA__MONITOR_AUTO, LIANA__MONITOR_MIN, LIANA__MONITOR_MAX } liana__monitor_mode;
extern const char *const liana__monitor_modes[];

/* The first options of each such callback. */
typedef struct liana__monitor_options {
    const char *monitor; /* "val_loss" */
    int mode;            /* liana__monitor_mode */
    double min_delta;
} liana__monitor_options;

#define LIANA__MONITOR_FIELDS(delta)                                                                                \
    LIANA__FIELD_ROW(liana__monitor_options, monitor, STRING, .default_text = "val_loss",                           \
                     .doc = "What is watched: loss or a metric, with val_ before it that of the validation."),      \
        LIANA__FIELD_ROW(liana__monitor_options, mode, ENUM, .default_text = "auto", .names = liana__monitor_modes, \
                         .doc = "Which values are better: min, max, or auto: smaller losses and errors, greater "   \
                                "other metrics."),                                                                  \
        LIANA__FIELD_ROW(liana__monitor_options, min_delta, FLOAT, .default_text = (delta), .minimum = 0,           \
                         .maximum = 1e30, .doc = "Smaller improvements than this count as none.")

/* Whether a metric of this name is better if it is smaller: losses and errors. */
bool liana__monitor_falls(const char *name);

/* Whether `value` is better than `reference` by more than min_delta. */
bool liana__monitor_improves(const liana__monitor_options *options, double value, double reference);

/* By how much `value` is worse than `reference`: 0 or less if it is not. */
double liana__monitor_worsening(const liana__monitor_options *options, double value, double reference);

/* Checks that the training measures the watched value, and that the mode does not contradict it (max of a loss, min of
 * an accuracy). For ON_TRAIN_BEGIN. Errors: INVALID_CONFIG. */
liana_status liana__monitor_check(const liana__monitor_options *options, const liana_fit_context *context,
                                  liana__error *error) LIANA_MUST_USE;

#endif
