/* Reading an optimizer: its name, its options and its learning rate. */
#include "base/other_names.h"
#include "base/text.h"
#include "optimizers/update_rule.h"

#include <stdio.h>
#include <string.h>

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
static liana_status read_number(const liana_schedule_type *schedule, const liana__value *value, const char *where,
                                liana__arena *arena, liana_schedule_common *options, liana__error *error)
{
    liana_option row = *liana__fields_find(&schedule->part.options, "initial_learning_rate");
    row.name = "learning_rate";
    const liana_options table = {schedule->part.name, sizeof *options, 1, &row};
    liana_schedule_common read;
    liana__value *map = liana__value_map(arena);
    if (map) liana__value_append(arena, map, row.name, &value->place, liana__value_copy(arena, value));
    if (!map || arena->failed) return liana__fail_memory(error, "the learning rate");
    map->items[0]->place = value->place;
    LIANA_TRY(liana__fields_read(&table, map, where, NULL, arena, &read, error));
    options->initial_learning_rate = read.initial_learning_rate;
    return LIANA_OK;
}

/* {name: SCHEDULE, ...}, or {online: SCHEDULE, ...} for one that follows the training. */
static liana_status find_schedule(const liana_context *context, const liana__value *value, const char *key,
                                  const liana_schedule_type **schedule, liana__error *error)
{
    static const char expected[] = "a number, or a schedule such as {name: CosineDecay, ...}";
    const liana__value *online = value->kind == LIANA__VALUE_MAP ? liana__value_get(value, "online") : NULL;
    const liana__value *name = online;
    const char *nearest = NULL;
    if (!online || online->kind != LIANA__VALUE_STRING) LIANA_TRY(read_name(value, key, expected, &name, error));
    *schedule = liana__part_find(context, &liana__schedule_kind, name->string, &nearest);
    if (!*schedule) return fail_unknown(name, key, "schedule", nearest, error);
    if (name != online || (*schedule)->adapt) return LIANA_OK;
    return liana__fail_at(error, &name->place, key,
                          "online: found '%s', whose rate does not follow the training, expected Hypergradient; other "
                          "schedules have the key 'name'",
                          (*schedule)->part.name);
}

/* `where` is the optimizer's key. */
static liana_status read_learning_rate(const liana_context *context, const liana__value *value, const char *where,
                                       liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "online", NULL};
    const liana_schedule_type *schedule = &liana__schedule_Constant;
    const double usual = choice->optimizer->default_learning_rate;
    if (value && value->kind == LIANA__VALUE_NULL) value = NULL;
    bool is_number = value && (value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT);
    char key[256];
    snprintf(key, sizeof key, "%s.learning_rate", where);
    if (value && !is_number) LIANA_TRY(find_schedule(context, value, key, &schedule, error));
    liana_schedule_common *options = liana__arena_allocate(arena, schedule->part.options.size);
    if (!options) return liana__fail_memory(error, "the learning rate");
    LIANA_TRY(
        liana__fields_read(&schedule->part.options, is_number ? NULL : value, key, ignored, arena, options, error));
    if (is_number) LIANA_TRY(read_number(schedule, value, where, arena, options, error));
    if (value) LIANA_TRY(liana__schedule_check(options, value, key, usual, error));
    if (value && !is_number) LIANA_TRY(liana__part_check(&schedule->part, context, options, value, key, error));
    choice->learning_rate =
        (liana_learning_rate){.schedule = schedule, .options = options, .default_learning_rate = usual};
    return LIANA_OK;
}

/* Keras's LossScaleOptimizer: the inner one. Its scale keeps gradients in float16 above 0; those here are float32 or
 * bfloat16, whose smallest numbers are as small, so that no scale changes an update. */
static liana_status read_scaled(const liana_context *context, const liana__value *value, const liana__value *inner,
                                const char *where, liana__arena *arena, liana__optimizer_choice *choice,
                                liana__error *error)
{
    static const char *const known[] = {"name", "inner_optimizer", "initial_scale", "dynamic_growth_steps", NULL};
    static const liana_options none = {.name = "LossScaleOptimizer"};
    char key[256], nothing[1];
    LIANA_TRY(liana__fields_read(&none, value, where, known, arena, nothing, error));
    snprintf(key, sizeof key, "%s.inner_optimizer", where);
    return liana__optimizer_read(context, inner, key, arena, choice, error);
}

liana_status liana__optimizer_read(const liana_context *context, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "learning_rate", "rate_multipliers", NULL};
    const char *nearest = NULL;
    const liana__value *name = NULL;
    LIANA_TRY(
        read_name(value, where, "a name, or a mapping such as {name: Adam, learning_rate: 1.0e-3}", &name, error));
    const liana__value *inner = liana__value_get(value, "inner_optimizer");
    if (inner && liana__same_name(name->string, "LossScaleOptimizer")) {
        return read_scaled(context, value, inner, where, arena, choice, error);
    }
    const liana_optimizer_type *optimizer = liana__part_find(context, &liana__optimizer_kind, name->string, &nearest);
    if (!optimizer) return fail_unknown(name, where, "optimizer", nearest, error);
    void *options = liana__arena_allocate(arena, optimizer->part.options.size);
    if (!options) return liana__fail_memory(error, "the optimizer");
    LIANA_TRY(liana__fields_read(&optimizer->part.options, value, where, ignored, arena, options, error));
    LIANA_TRY(liana__part_check(&optimizer->part, context, options, value, where, error));
    LIANA_TRY(liana__optimizer_check_common(options, value, where, error));
    *choice = (liana__optimizer_choice){.optimizer = optimizer, .options = options};
    char key[256];
    snprintf(key, sizeof key, "%s.rate_multipliers", where);
    const liana__value *multipliers = liana__value_get(value, "rate_multipliers");
    LIANA_TRY(liana__rate_multipliers_read(multipliers, key, arena, &choice->rate_multipliers, error));
    return read_learning_rate(context, liana__value_get(value, "learning_rate"), where, arena, choice, error);
}
