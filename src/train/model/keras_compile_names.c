/* Names of losses, metrics, optimizers and schedules in Keras and here. */
#include "train/model/keras_compile_names.h"

#include "base/field.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* Keras's own names of things where they are not those of the class in lower case. */
static const char *const other_functions[][2] = {
    {"log_cosh_error", "logcosh"},
    {"equality", "accuracy"},
    {"iou", "io_u"},
    {"mean_iou", "mean_io_u"},
    {"binary_iou", "binary_io_u"},
    {"one_hot_iou", "one_hot_io_u"},
    {"one_hot_mean_iou", "one_hot_mean_io_u"},
};

static const char *const optimizers[] = {"Adam",
                                         "AdamW",
                                         "Adamax",
                                         "Nadam",
                                         "SGD",
                                         "RMSprop",
                                         "Adagrad",
                                         "Adadelta",
                                         "Ftrl",
                                         "Lion",
                                         "Lamb",
                                         "Adafactor",
                                         "Muon",
                                         "ScheduleFreeAdamW",
                                         "LossScaleOptimizer",
                                         "MultiOptimizer",
                                         NULL};

/* A Constant becomes a number. */
static const char *const schedules[] = {
    "Constant",    "ExponentialDecay",    "InverseTimeDecay",       "PolynomialDecay",
    "CosineDecay", "CosineDecayRestarts", "PiecewiseConstantDecay", NULL,
};

static bool is_among(const char *const *names, const char *name)
{
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], name) == 0) return true;
    }
    return false;
}

/* Names of TensorFlow Addons; and of Keras's metrics of values, which are not those of a model's outputs. */
static const char *const of_others[] = {"CohenKappa", "MatthewsCorrelationCoefficient", "Mean", "Sum", NULL};

/* Of the aliases of a part, the one that begins with a capital is Keras's class. */
static liana__keras_name name_of(const liana_part *part)
{
    liana__keras_name made = {.function = part->name, .liana = part->name};
    for (size_t i = 0; i < LIANA_MAX_ALIASES && part->aliases[i]; i++) {
        const char *alias = part->aliases[i];
        if (isupper((unsigned char)*alias) && !is_among(of_others, alias)) made.class_name = alias;
    }
    for (size_t i = 0; i < sizeof other_functions / sizeof *other_functions; i++) {
        if (strcmp(other_functions[i][0], part->name) == 0) made.function = other_functions[i][1];
    }
    return made;
}

bool liana__keras_find(const liana__kind *kind, const char *name, liana__keras_name *found)
{
    const liana_part *part = liana__part_find(NULL, kind, name, NULL);
    if (part) *found = name_of(part);
    return part != NULL;
}

bool liana__keras_has_optimizer(const char *name)
{
    return is_among(optimizers, name);
}

bool liana__keras_has_schedule(const char *name)
{
    return is_among(schedules, name);
}

liana_status liana__keras_lacks(const liana__value *value, const char *where, const char *key, const char *expected,
                                liana__error *error)
{
    char found[128];
    liana__fail_at(error, &value->place, where, "%s: found %s, expected %s", key,
                   liana__value_describe(value, found, sizeof found), expected);
    if (error) error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}
