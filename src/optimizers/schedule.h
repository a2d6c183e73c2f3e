/* schedule.h - the contract of learning-rate schedules. To add one: src/optimizers/<stem>.c with the struct, and a row
 * in schedules.def. A schedule is a pure function of the update's number, so a resumed run needs only that number. */
#ifndef LIANA_OPTIMIZERS_SCHEDULE_H
#define LIANA_OPTIMIZERS_SCHEDULE_H

#include "base/context.h"
#include "base/field.h"

struct liana__learning_rate;

typedef struct liana__schedule {
    const char *name;                  /* Keras's class name */
    const struct liana__own_part *own; /* of a program's own schedule (own_schedule.c) */
    const char *doc;
    const liana__fields *options; /* of a struct that begins with liana__schedule_common */
    /* The rate `step` updates after the warm-up (a fraction of an update only if the warm-up's length is). decay_steps
     * > 0 is the resolved length of the decay. */
    double (*rate)(const void *options, double step, double decay_steps, double initial_learning_rate);
    /* In place of `rate`, for what needs to know the length of an epoch. */
    double (*rate_of_run)(const struct liana__learning_rate *run, double step, double initial_learning_rate);
    /* Of a schedule whose rate follows the training, and is state: the rate of an update, from that of the update
     * before it (at first, `rate`'s) and sums over all weights (LIANA__RATE_PRODUCT...). NULL: a pure function. */
    double (*adapt)(const void *options, double rate, const float *sums);
    /* Whether the rate does not depend on the length of the run. */
    bool endless;
    /* Checks what the options of this schedule cannot check one by one. `value` and `where` as in
     * liana__schedule_check. NULL: nothing. */
    liana_status (*check)(const void *options, const liana__value *value, const char *where, liana__error *error);
} liana__schedule;

typedef enum liana__schedule_by { LIANA__BY_STEP, LIANA__BY_EPOCH } liana__schedule_by;
extern const char *const liana__schedule_by_names[];

/* The options of all schedules. Lengths may be given in updates or in epochs. */
typedef struct liana__schedule_common {
    double initial_learning_rate; /* NaN: the optimizer's default */
    double warmup_steps;
    double warmup_epochs;
    double warmup_share;
    double warmup_learning_rate; /* where the warm-up starts */
    double scale;
    int64_t scale_with_batch; /* 0: not */
    int by;                   /* liana__schedule_by */
    double decay_steps;       /* both NaN: the rest of the run */
    double decay_epochs;
} liana__schedule_common;

/* The last rows of each schedule's table: those of every rate, and those of a decay of one length. */
#define LIANA__SCHEDULE_RATE_FIELDS                                                                                   \
    LIANA__FIELD_ROW(liana__schedule_common, initial_learning_rate, FLOAT, .default_text = "null", .minimum = 0,      \
                     .maximum = 1e38, .doc = "The rate after the warm-up; default: the optimizer's."),                \
        LIANA__FIELD_ROW(liana__schedule_common, warmup_steps, FLOAT, .default_text = "0.0", .minimum = 0,            \
                         .maximum = 1e12, .doc = "Length of the linear warm-up in updates."),                         \
        LIANA__FIELD_ROW(liana__schedule_common, warmup_epochs, FLOAT, .default_text = "0.0", .minimum = 0,           \
                         .maximum = 1e9, .doc = "Length of the linear warm-up in epochs, added to warmup_steps."),    \
        LIANA__FIELD_ROW(liana__schedule_common, warmup_share, FLOAT, .default_text = "0.0", .minimum = 0,            \
                         .maximum = 1, .doc = "Length of the linear warm-up as a share of the run's updates."),       \
        LIANA__FIELD_ROW(liana__schedule_common, warmup_learning_rate, FLOAT, .default_text = "0.0", .minimum = 0,    \
                         .maximum = 1e6, .doc = "The rate at which the warm-up starts."),                             \
        LIANA__FIELD_ROW(liana__schedule_common, scale, FLOAT, .default_text = "1.0", .minimum = 1e-12,               \
                         .maximum = 1e12, .doc = "A factor of every rate of the schedule."),                          \
        LIANA__FIELD_ROW(liana__schedule_common, scale_with_batch, INT, .default_text = "0", .minimum = 0,            \
                         .maximum = 1e9,                                                                              \
                         .doc = "The batch size that the rates are for; they are multiplied by batch_size / this. "   \
                                "0: they are not."),                                                                  \
        LIANA__FIELD_ROW(liana__schedule_common, by, ENUM, .default_text = "step", .names = liana__schedule_by_names, \
                         .doc = "Whether the rate changes with each step, or only with each epoch (the warm-up: "     \
                                "always with each step).")
#define LIANA__SCHEDULE_FIELDS                                                                                        \
    LIANA__SCHEDULE_RATE_FIELDS,                                                                                      \
        LIANA__FIELD_ROW(liana__schedule_common, decay_steps, FLOAT, .default_text = "null", .minimum = 0,            \
                         .maximum = 1e12,                                                                             \
                         .doc = "Length of the decay in updates after the warm-up; default: to the end of the run."), \
        LIANA__FIELD_ROW(liana__schedule_common, decay_epochs, FLOAT, .default_text = "null", .minimum = 0,           \
                         .maximum = 1e9, .doc = "Length of the decay in epochs, added to decay_steps.")

#define LIANA__SCHEDULE(stem, name) extern const liana__schedule liana__schedule_##name;
#include "optimizers/schedules.def"
#undef LIANA__SCHEDULE

/* All schedules in the order of schedules.def, NULL-terminated. */
extern const liana__schedule *const liana__schedules[];

/* Finds a schedule by name, also among the context's own (NULL: there are none). NULL: there is none; *nearest (may be
 * NULL) is then the nearest name, or NULL. */
const liana__schedule *liana__schedule_find(const liana_context *context, const char *name, const char **nearest);

/* Checks what the options of a schedule cannot check one by one. `value` is what they were read from: a map, or a
 * number, the initial rate. `where` is its dotted key. Errors: INVALID_CONFIG. */
liana_status liana__schedule_check(const liana__schedule_common *options, const liana__value *value, const char *where,
                                   double default_learning_rate, liana__error *error) LIANA_MUST_USE;

/* A schedule with its options, and the run that it is for. */
typedef struct liana__learning_rate {
    const liana__schedule *schedule;
    const void *options;
    double default_learning_rate; /* the optimizer's */
    int64_t steps_per_epoch;
    int64_t total_steps;
    int64_t batch_size;
} liana__learning_rate;

/* Updates: `steps` and `epochs` of the run together. Rounded to a whole number where only rounding errors are between. */
double liana__length_in_updates(double steps, double epochs, int64_t steps_per_epoch);

/* The length of the warm-up in updates; may have a fraction. */
double liana__warmup_length(const liana__learning_rate *rate);

/* Whether the rate of each update is known without the length of the run. */
bool liana__learning_rate_has_length(const liana__learning_rate *rate);

/* The learning rate of update `step`, counted from 0. Of a schedule that follows the training: the first one. */
double liana__learning_rate_at(const liana__learning_rate *rate, int64_t step);

#endif
