/* Lists of numbers in options of metrics. */
#include "metrics/numbers.h"

#include "base/value_read.h"

static bool is_list(const liana__value *value)
{
    return value && value->kind == LIANA__VALUE_LIST;
}

size_t liana__num_numbers(const liana__value *value)
{
    return is_list(value) ? value->count : liana__value_is_number(value);
}

double liana__number_at(const liana__value *value, size_t index)
{
    return is_list(value) ? value->items[index]->number : value->number;
}

liana_status liana__check_numbers(liana_check *check, const char *option, const liana__value *value, double minimum,
                                  double maximum)
{
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    const size_t count = is_list(value) ? value->count : 1;
    if (!count) return liana_option_refuse(check, option, "found an empty list, expected a number or a list of them");
    for (size_t i = 0; i < count; i++) {
        const liana__value *item = is_list(value) ? value->items[i] : value;
        char found[128];
        const bool fits = liana__value_is_number(item) && item->number >= minimum && item->number <= maximum;
        if (fits) continue;
        return liana_option_refuse(check, option, "found %s, expected numbers from %g to %g",
                                   liana__value_describe(item, found, sizeof found), minimum, maximum);
    }
    return LIANA_OK;
}
