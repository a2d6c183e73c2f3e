/* Keeps, writes and reads decisions. */
#include "train/training/training_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of a decision, in the order in which they are written. */
typedef enum member_kind { TEXT, COUNT, NUMBER, FLAG } member_kind;
static const struct {
    const char *name;
    member_kind kind;
    size_t offset;
} members[] = {
    {"monitor", TEXT, offsetof(liana__decision, monitor)},
    {"epoch", COUNT, offsetof(liana__decision, epoch)},
    {"update", COUNT, offsetof(liana__decision, update)},
    {"value", NUMBER, offsetof(liana__decision, value)},
    {"reference", NUMBER, offsetof(liana__decision, reference)},
    {"energy", NUMBER, offsetof(liana__decision, energy)},
    {"probability", NUMBER, offsetof(liana__decision, probability)},
    {"drawn", NUMBER, offsetof(liana__decision, drawn)},
    {"accepted", FLAG, offsetof(liana__decision, accepted)},
    {"taken_back", COUNT, offsetof(liana__decision, taken_back)},
    {"learning_rate", NUMBER, offsetof(liana__decision, learning_rate)},
    {"rate_factor", NUMBER, offsetof(liana__decision, rate_factor)},
    {"at_end", FLAG, offsetof(liana__decision, at_end)},
};
enum { NUM_MEMBERS = sizeof members / sizeof *members };

#define AT(type, decision, member) (*(type *)((char *)(decision) + members[member].offset))
#define IN(type, decision, member) (*(const type *)((const char *)(decision) + members[member].offset))

void liana__decisions_free(liana__decisions *decisions)
{
    free(decisions->items);
    *decisions = (liana__decisions){0};
}

liana_status liana__decisions_add(liana__decisions *decisions, const liana__decision *decision, liana__error *error)
{
    if (!liana__grow(&decisions->items, decisions->count, &decisions->capacity, sizeof *decisions->items)) {
        return liana__fail_memory(error, "the decisions");
    }
    decisions->items[decisions->count++] = *decision;
    return LIANA_OK;
}

static liana__value *member_value(const liana__decision *decision, size_t member, liana__arena *arena)
{
    switch (members[member].kind) {
    case TEXT: return liana__value_string(arena, &IN(char, decision, member));
    case COUNT: return liana__value_int(arena, IN(int64_t, decision, member));
    case FLAG: return liana__value_bool(arena, IN(bool, decision, member));
    case NUMBER: break;
    }
    return liana__value_float(arena, IN(double, decision, member));
}

liana__value *liana__decisions_value(const liana__decisions *decisions, liana__arena *arena)
{
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < decisions->count; i++) {
        liana__value *map = liana__value_map(arena);
        for (size_t member = 0; member < NUM_MEMBERS; member++) {
            liana__value_set(arena, map, members[member].name, member_value(&decisions->items[i], member, arena));
        }
        liana__value_add(arena, list, map);
    }
    return list;
}

/* A number that was not finite was written as null. */
static bool read_member(const liana__value *value, liana__decision *decision, size_t member)
{
    if (!value) return false;
    const bool is_number = value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT;
    switch (members[member].kind) {
    case TEXT:
        if (value->kind != LIANA__VALUE_STRING) return false;
        snprintf(&AT(char, decision, member), sizeof decision->monitor, "%s", value->string);
        return true;
    case COUNT: AT(int64_t, decision, member) = value->integer; return value->kind == LIANA__VALUE_INT;
    case FLAG: AT(bool, decision, member) = value->boolean; return value->kind == LIANA__VALUE_BOOL;
    case NUMBER: break;
    }
    AT(double, decision, member) = is_number ? value->number : NAN;
    return is_number || value->kind == LIANA__VALUE_NULL;
}

liana_status liana__decisions_read(const liana__value *value, liana__decisions *decisions, liana__error *error)
{
    *decisions = (liana__decisions){0};
    for (size_t i = 0; value && i < value->count; i++) {
        liana__decision decision = {0};
        liana_status status = LIANA_OK;
        for (size_t member = 0; member < NUM_MEMBERS && status == LIANA_OK; member++) {
            const char *name = members[member].name;
            if (read_member(liana__value_get(value->items[i], name), &decision, member)) continue;
            status = liana__fail(error, LIANA_INVALID_DATA, "'%s' of decision %zu is missing or of another kind", name,
                                 i + 1);
        }
        if (status == LIANA_OK) status = liana__decisions_add(decisions, &decision, error);
        if (status == LIANA_OK) continue;
        liana__decisions_free(decisions);
        return status;
    }
    return LIANA_OK;
}
