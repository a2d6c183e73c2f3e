/* Says in words which number of a step is not finite. */
#include "step/builders.h"

#include "base/format.h"

#include <stdio.h>
#include <string.h>

/* "learning_rate" is "the learning rate"; others are the program's own. */
static void describe_scalar(const liana__fault *fault, char *text, size_t size)
{
    if (strcmp(fault->name, "learning_rate") == 0) {
        snprintf(text, size, "the learning rate is %g", liana__shown(fault->value));
    } else {
        snprintf(text, size, "the scalar '%.100s' is %g", fault->name, liana__shown(fault->value));
    }
}

const char *liana__fault_describe(const liana__fault *fault, char *text, size_t size)
{
    const char *numbers = fault->count == 1 ? "number that is" : "numbers that are";
    const char *validation = fault->of_validation ? "validation " : "";
    switch (fault->kind) {
    case LIANA__FAULT_LOSS:
        snprintf(text, size, "the %sloss%s%.200s%s is %g", validation, *fault->name ? " of '" : "", fault->name,
                 *fault->name ? "'" : "", liana__shown(fault->value));
        break;
    case LIANA__FAULT_SUM:
        snprintf(text, size, "the sum '%.100s' is %g", fault->name, liana__shown(fault->value));
        break;
    case LIANA__FAULT_SUMS:
        snprintf(text, size, "the sum for '%.300s', of gradients or statistics, has %lld %s not finite", fault->name,
                 (long long)fault->count, numbers);
        break;
    case LIANA__FAULT_PENALTY:
        snprintf(text, size, "the %sloss is %g: the penalty of the weights", validation, liana__shown(fault->value));
        break;
    case LIANA__FAULT_SCALAR: describe_scalar(fault, text, size); break;
    case LIANA__FAULT_UPDATE:
        snprintf(text, size, "the update gives '%.300s' %lld %s not finite", fault->name, (long long)fault->count,
                 numbers);
        break;
    case LIANA__FAULT_NONE: snprintf(text, size, "all numbers are finite"); break;
    }
    return text;
}
