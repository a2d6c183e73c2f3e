/* Several optimizers, each for weights of some names: Keras's MultiOptimizer with an OptimizerMap. */
#include "optimizers/optimizer.h"

#include <regex.h>
#include <stdio.h>
#include <string.h>

static const liana_option fields[] = {
    LIANA_OPTION_ROW(liana__multi_options, optimizer_map, VALUE, .required = true,
                     .doc = "{default_optimizer: {name: SGD, ...}, optimizer_map: {\"head/.*\": {name: Adam, ...}}}: "
                            "regular expressions for whole names of weights, and their optimizers."),
    LIANA_OPTION_ROW(liana__multi_options, loss_scale_factor, FLOAT, .default_text = "null", .minimum = 1e-12,
                     .maximum = 1e12, .doc = "Keras's factor of the loss, by which gradients are divided again."),
};

const liana__multi_options *liana__as_multi(const liana_optimizer_type *optimizer, const void *options)
{
    return optimizer == &liana__optimizer_MultiOptimizer ? options : NULL;
}

static bool matches(const char *pattern, const char *name)
{
    regex_t compiled;
    regmatch_t found[1];
    if (regcomp(&compiled, pattern, REG_EXTENDED) != 0) return false;
    const bool matched = regexec(&compiled, name, 1, found, 0) == 0;
    regfree(&compiled);
    return matched && found[0].rm_so == 0 && (size_t)found[0].rm_eo == strlen(name);
}

/* The number of a weight's optimizer, and in *other that of a second one: 0, if there is none. */
static size_t find(const liana__multi_options *multi, const char *weight, size_t *other)
{
    size_t number = 0;
    *other = 0;
    for (size_t i = 1; i < multi->count; i++) {
        if (strcmp(multi->items[i].pattern, weight) == 0) return i;
    }
    for (size_t i = 1; i < multi->count; i++) {
        if (!matches(multi->items[i].pattern, weight)) continue;
        if (number && !*other) *other = i;
        if (!number) number = i;
    }
    return number;
}

size_t liana__multi_find(const liana__multi_options *multi, const char *weight)
{
    size_t other;
    return find(multi, weight, &other);
}

static bool has_match(const char *pattern, const char *const *weights, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strcmp(pattern, weights[i]) == 0 || matches(pattern, weights[i])) return true;
    }
    return false;
}

liana_status liana__multi_check(const liana__multi_options *multi, const char *const *weights, size_t count,
                                liana__error *error)
{
    for (size_t i = 0; i < count; i++) {
        size_t other;
        const size_t number = find(multi, weights[i], &other);
        if (!other) continue;
        return liana__fail_at(error, &multi->items[other].place, multi->where,
                              "'%.100s' and '%.100s' both match the weight '%.100s', expected one optimizer for each "
                              "weight",
                              multi->items[number].pattern, multi->items[other].pattern, weights[i]);
    }
    for (size_t i = 1; i < multi->count; i++) {
        if (has_match(multi->items[i].pattern, weights, count)) continue;
        return liana__fail_at(error, &multi->items[i].place, multi->where,
                              "'%.100s' matches no weight, expected a regular expression for whole names; weights are "
                              "called '%.100s' to '%.100s'",
                              multi->items[i].pattern, count ? weights[0] : "", count ? weights[count - 1] : "");
    }
    return LIANA_OK;
}

/* The rule of each weight has taken its place (liana__rule_of). */
static void update(liana_optimizer_step *step)
{
    step->new_variable = step->variable;
}

const liana_optimizer_type liana__optimizer_MultiOptimizer = {
    LIANA_PART(OPTIMIZER, liana_optimizer_type, "MultiOptimizer", "Other optimizers, each for weights of some names.",
               LIANA_PART_OPTIONS(liana__multi_options, fields)),
    .default_learning_rate = 1e-3,
    .update = update,
};
