/* Options and keys in words: their types, defaults and ranges. */
#include "cli/list/list.h"

#include <math.h>
#include <stdint.h>

const char *liana__list_default(const liana__field *field)
{
    if (field->required) return "required";
    if (field->default_text) return field->default_text;
    switch (field->kind) {
    case LIANA__FIELD_BOOL: return "false";
    case LIANA__FIELD_INT: return "0";
    case LIANA__FIELD_FLOAT: return "0.0";
    case LIANA__FIELD_INT_SINGLE: return "[0]";
    case LIANA__FIELD_INT_PAIR: return "[0, 0]";
    case LIANA__FIELD_INT_TRIPLE: return "[0, 0, 0]";
    case LIANA__FIELD_INTS:
    case LIANA__FIELD_STRINGS:
    case LIANA__FIELD_FLOATS:
    case LIANA__FIELD_INTEGERS:
    case LIANA__FIELD_AXES:
    case LIANA__FIELD_PATHS: return "[]";
    case LIANA__FIELD_ENUM: return field->names[0];
    default: return "null";
    }
}

const char *liana__list_type(const liana__field *field)
{
    switch (field->kind) {
    case LIANA__FIELD_BOOL: return "true or false";
    case LIANA__FIELD_INT: return "a whole number";
    case LIANA__FIELD_FLOAT: return "a number";
    case LIANA__FIELD_STRING: return "text";
    case LIANA__FIELD_PATH: return "a path";
    case LIANA__FIELD_ENUM: return "a word";
    case LIANA__FIELD_INT_SINGLE: return "a whole number";
    case LIANA__FIELD_INT_PAIR: return "one or two whole numbers";
    case LIANA__FIELD_INT_TRIPLE: return "one or three whole numbers";
    case LIANA__FIELD_INTS:
    case LIANA__FIELD_INTEGERS: return "whole numbers";
    case LIANA__FIELD_STRINGS: return "texts";
    case LIANA__FIELD_PATHS: return "paths";
    case LIANA__FIELD_VALUE: return "a value";
    case LIANA__FIELD_SECTION: return "a section";
    case LIANA__FIELD_FLOATS: return "numbers";
    case LIANA__FIELD_AXES: return "axes";
    case LIANA__FIELD_LAYER: return "a layer";
    case LIANA__FIELD_LAYERS: return "a list of layers";
    }
    return "";
}

static bool has_range(const liana__field *field)
{
    switch (field->kind) {
    case LIANA__FIELD_INT:
    case LIANA__FIELD_FLOAT:
    case LIANA__FIELD_INT_SINGLE:
    case LIANA__FIELD_INT_PAIR:
    case LIANA__FIELD_INT_TRIPLE:
    case LIANA__FIELD_INTS:
    case LIANA__FIELD_INTEGERS:
    case LIANA__FIELD_FLOATS: return field->minimum != field->maximum;
    default: return false;
    }
}

/* Whole numbers with all their digits, others with as many as tell them apart. */
static const char *number_text(double number, liana__arena *arena)
{
    const bool is_whole = number == floor(number) && fabs(number) < 1e16;
    return liana__arena_format(arena, is_whole ? "%.0f" : "%.9g", number);
}

const char *liana__list_range(const liana__field *field, liana__arena *arena)
{
    if (!has_range(field)) return NULL;
    /* The limits of an int32 are no limits that anybody asks for. */
    const bool is_open_below = isinf(field->minimum) || field->minimum <= INT32_MIN;
    const bool is_open_above = isinf(field->maximum) || field->maximum >= INT32_MAX;
    const char *least = number_text(field->minimum, arena), *most = number_text(field->maximum, arena);
    if (is_open_below && is_open_above) return NULL;
    if (is_open_above) return liana__arena_format(arena, "%s or more", least);
    if (is_open_below) return liana__arena_format(arena, "%s or less", most);
    return liana__arena_format(arena, "%s to %s", least, most);
}
