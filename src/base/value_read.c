/* Reads members of maps. */
#include "base/value_read.h"

static const liana__value *find(const liana__value *map, const char *key, liana__value_kind kind)
{
    const liana__value *value = liana__value_get(map, key);
    return value && value->kind == kind ? value : NULL;
}

const char *liana__value_text_of(const liana__value *map, const char *key, const char *otherwise)
{
    const liana__value *value = find(map, key, LIANA__VALUE_STRING);
    return value ? value->string : otherwise;
}

int64_t liana__value_int_of(const liana__value *map, const char *key, int64_t otherwise)
{
    const liana__value *value = find(map, key, LIANA__VALUE_INT);
    return value ? value->integer : otherwise;
}

bool liana__value_is_number(const liana__value *value)
{
    return value && (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT);
}

double liana__value_number_of(const liana__value *map, const char *key, double otherwise)
{
    const liana__value *value = liana__value_get(map, key);
    return liana__value_is_number(value) ? value->number : otherwise;
}

bool liana__value_true_of(const liana__value *map, const char *key)
{
    const liana__value *value = find(map, key, LIANA__VALUE_BOOL);
    return value && value->boolean;
}

const liana__value *liana__value_list_of(const liana__value *map, const char *key)
{
    return find(map, key, LIANA__VALUE_LIST);
}
