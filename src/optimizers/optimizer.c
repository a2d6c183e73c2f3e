/* The list of optimizers, and reading their options. */
#include "optimizers/optimizer.h"

#include "base/own_part.h"
#include "base/text.h"

#include <stdio.h>
#include <string.h>

const liana__optimizer *const liana__optimizers[] = {
#define LIANA__OPTIMIZER(stem, name) &liana__optimizer_##name,
#include "optimizers/optimizers.def"
#undef LIANA__OPTIMIZER
    NULL,
};

enum { NUM_OPTIMIZERS = sizeof liana__optimizers / sizeof *liana__optimizers - 1 };

const liana__optimizer *liana__optimizer_find(const liana_context *context, const char *name, const char **nearest)
{
    liana__named list = LIANA__NAMED_POINTERS(liana__optimizer, liana__optimizers, NUM_OPTIMIZERS);
    list.any_case = true; /* Keras takes "adam" for "Adam" too */
    return liana__part_find(context, LIANA__PART_OPTIMIZER, list, name, nearest);
}

size_t liana__optimizer_num_slots(const liana__optimizer *optimizer, const void *options)
{
    if (optimizer->num_slots) return optimizer->num_slots(options);
    size_t count = 0;
    while (count < LIANA__MAX_SLOTS && optimizer->slot_names[count]) count++;
    return count;
}

liana__update_reads liana__optimizer_reads(const liana__optimizer *optimizer, const void *options)
{
    return optimizer->reads ? optimizer->reads(options) : (liana__update_reads){0};
}

/* ---- reading ---- */

/* "there is no optimizer 'Adm'; 'liana list' shows them; did you mean 'Adam'?" */
static liana_status fail_unknown(const liana__value *name, const char *where, const char *kind, const char *nearest,
                                 liana__error *error)
{
    return liana__fail_at(error, &name->place, where, "there is no %s '%.100s'; 'liana list' shows them%s", kind,
                          name->string, liana__hint(nearest).text);
}

/* The name in a map that must have one. */
static liana_status read_name(const liana__value *map, const char *where, const char *expected,
                              const liana__value **name, liana__error *error)
{
    char found[128];
    if (map->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(error, &map->place, where, "found %s, expected %s",
                              liana__value_describe(map, found, sizeof found), expected);
    }
    *name = liana__value_get(map, "name");
    if (!*name) return liana__fail_at(error, &map->place, where, "the key 'name' is missing, expected %s", expected);
    if ((*name)->kind == LIANA__VALUE_STRING) return LIANA_OK;
    return liana__fail_at(error, &(*name)->place, where, "name: found %s, expected text",
                          liana__value_describe(*name, found, sizeof found));
}

/* A number is read as the schedules' initial rate is, under the name that it was given. */
static liana_status read_number(const liana__schedule *schedule, const liana__value *value, const char *where,
                                liana__arena *arena, liana__schedule_common *options, liana__error *error)
{
    liana__field row = *liana__fields_find(schedule->options, "initial_learning_rate");
    row.name = "learning_rate";
    const liana__fields table = {schedule->name, sizeof *options, 1, &row};
    liana__schedule_common read;
    liana__value *map = liana__value_map(arena);
    if (map) liana__value_append(arena, map, row.name, &value->place, liana__value_copy(arena, value));
    if (!map || arena->failed) return liana__fail_memory(error, "the learning rate");
    map->items[0]->place = value->place;
    LIANA_TRY(liana__fields_read(&table, map, where, NULL, arena, &read, error));
    options->initial_learning_rate = read.initial_learning_rate;
    return LIANA_OK;
}

/* `where` is the optimizer's key. */
static liana_status read_learning_rate(const liana_context *context, const liana__value *value, const char *where,
                                       liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", NULL};
    const liana__schedule *schedule = &liana__schedule_Constant;
    const double usual = choice->optimizer->default_learning_rate;
    if (value && value->kind == LIANA__VALUE_NULL) value = NULL;
    bool is_number = value && (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT);
    char key[256];
    snprintf(key, sizeof key, "%s.learning_rate", where);
    if (value && !is_number) {
        const liana__value *name;
        const char *nearest = NULL;
        LIANA_TRY(read_name(value, key, "a number, or a schedule such as {name: CosineDecay, ...}", &name, error));
        schedule = liana__schedule_find(context, name->string, &nearest);
        if (!schedule) return fail_unknown(name, key, "schedule", nearest, error);
    }
    liana__schedule_common *options = liana__arena_allocate(arena, schedule->options->size);
    if (!options) return liana__fail_memory(error, "the learning rate");
    LIANA_TRY(liana__fields_read(schedule->options, is_number ? NULL : value, key, ignored, arena, options, error));
    LIANA_TRY(liana__own_part_finish(schedule->own, options, value ? &value->place : NULL, key, error));
    if (is_number) LIANA_TRY(read_number(schedule, value, where, arena, options, error));
    if (value) LIANA_TRY(liana__schedule_check(options, value, key, usual, error));
    choice->learning_rate = (liana__learning_rate){schedule, options, usual, 0, 0};
    return LIANA_OK;
}

liana_status liana__optimizer_read(const liana_context *context, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "learning_rate", "rate_multipliers", NULL};
    const char *nearest = NULL;
    const liana__value *name;
    char key[256];
    LIANA_TRY(
        read_name(value, where, "a name, or a mapping such as {name: Adam, learning_rate: 1.0e-3}", &name, error));
    const liana__optimizer *optimizer = liana__optimizer_find(context, name->string, &nearest);
    if (!optimizer) return fail_unknown(name, where, "optimizer", nearest, error);
    void *options = liana__arena_allocate(arena, optimizer->options->size);
    if (!options) return liana__fail_memory(error, "the optimizer");
    LIANA_TRY(liana__fields_read(optimizer->options, value, where, ignored, arena, options, error));
    LIANA_TRY(liana__own_part_finish(optimizer->own, options, &value->place, where, error));
    *choice = (liana__optimizer_choice){.optimizer = optimizer, .options = options};
    snprintf(key, sizeof key, "%s.rate_multipliers", where);
    const liana__value *multipliers = liana__value_get(value, "rate_multipliers");
    LIANA_TRY(liana__rate_multipliers_read(multipliers, key, arena, &choice->rate_multipliers, error));
    return read_learning_rate(context, liana__value_get(value, "learning_rate"), where, arena, choice, error);
}
