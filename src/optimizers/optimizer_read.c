/* Reading an optimizer: its name, its options and its learning rate. */
#include "base/other_names.h"
#include "base/text.h"
#include "optimizers/update_rule.h"

#include <regex.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Reading an optimizer that has others within. */
typedef struct reading {
    const liana_context *context;
    liana__arena *arena;
    const liana_optimizer_type *optimizer;
    liana__error *error;
} reading;

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

/* ---- optimizers within others ---- */

/* An optimizer within another one: its rate does not follow the training, and its multipliers are the outer one's. */
static liana_status read_inner(const reading *r, const liana__value *value, const char *where,
                               liana__optimizer_choice *choice)
{
    if (value->kind == LIANA__VALUE_STRING) {
        liana__value *map = liana__value_map(r->arena);
        if (map) liana__value_append(r->arena, map, "name", &value->place, liana__value_copy(r->arena, value));
        if (!map || r->arena->failed) return liana__fail_memory(r->error, "the optimizer");
        map->place = map->items[0]->place = value->place;
        value = map;
    }
    LIANA_TRY(liana__optimizer_read(r->context, value, where, r->arena, choice, r->error));
    if (choice->learning_rate.schedule->adapt) {
        return liana__fail_at(r->error, &value->place, where,
                              "learning_rate: found %s, which follows the sums of all weights, expected another "
                              "schedule or a number within %s",
                              choice->learning_rate.schedule->part.name, r->optimizer->part.name);
    }
    return LIANA_OK;
}

static liana_status read_scaled(const reading *r, liana__loss_scale_options *options, const char *where,
                                liana__optimizer_choice *choice)
{
    char key[256];
    liana__optimizer_choice *inner = liana__arena_allocate(r->arena, sizeof *inner);
    if (!inner) return liana__fail_memory(r->error, "the optimizer");
    snprintf(key, sizeof key, "%s.inner_optimizer", where);
    LIANA_TRY(read_inner(r, options->inner_optimizer, key, inner));
    options->inner = inner;
    if (liana__as_loss_scale(inner->optimizer, inner->options)) {
        return liana__fail_at(r->error, &options->inner_optimizer->place, key,
                              "found another LossScaleOptimizer, expected the optimizer that updates");
    }
    choice->learning_rate = inner->learning_rate;
    choice->rate_multipliers = inner->rate_multipliers;
    return LIANA_OK;
}

static liana_status read_mapped(const reading *r, const liana__value *value, const char *where,
                                liana__mapped_optimizer *item)
{
    LIANA_TRY(read_inner(r, value, where, &item->choice));
    const liana__optimizer_choice *choice = &item->choice;
    const char *name = choice->optimizer->part.name;
    const bool is_around =
        liana__as_loss_scale(choice->optimizer, choice->options) || liana__as_multi(choice->optimizer, choice->options);
    if (is_around) {
        return liana__fail_at(r->error, &value->place, where,
                              "found %s, expected an optimizer that updates; %s stands around a MultiOptimizer, or not "
                              "at all",
                              name, name);
    }
    if (!choice->rate_multipliers) return LIANA_OK;
    return liana__fail_at(r->error, &value->place, where,
                          "found rate_multipliers, expected them beside optimizer_map, where they are for all weights");
}

static liana_status check_pattern(const reading *r, const liana__mapped_optimizer *item, const char *where)
{
    regex_t compiled;
    char why[128];
    const int failed = regcomp(&compiled, item->pattern, REG_EXTENDED | REG_NOSUB);
    if (failed == 0) {
        regfree(&compiled);
        return LIANA_OK;
    }
    regerror(failed, &compiled, why, sizeof why);
    return liana__fail_at(r->error, &item->place, where,
                          "found '%.100s', expected a regular expression for whole names of weights: %s", item->pattern,
                          why);
}

/* The keys of an OptimizerMap. */
typedef struct map_options {
    const liana__value *default_optimizer, *optimizer_map;
} map_options;

static const liana_option map_rows[] = {
    LIANA_OPTION_ROW(map_options, default_optimizer, VALUE, .required = true,
                     .doc = "The optimizer of all weights that no pattern matches."),
    LIANA_OPTION_ROW(map_options, optimizer_map, VALUE, .doc = "Regular expressions, and their optimizers."),
};
static const liana_options map_table = LIANA__FIELD_TABLE("OptimizerMap", map_options, map_rows);

static liana_status read_items(const reading *r, const map_options *map, const char *where,
                               liana__multi_options *options)
{
    const liana__value *items = map->optimizer_map;
    const size_t count = items ? items->count : 0;
    char key[512];
    options->items = liana__arena_allocate(r->arena, (count + 1) * sizeof *options->items);
    options->where = liana__arena_format(r->arena, "%s.optimizer_map", where);
    if (!options->items || !options->where) return liana__fail_memory(r->error, "the optimizers");
    options->count = count + 1;
    options->items[0] = (liana__mapped_optimizer){.place = map->default_optimizer->place};
    snprintf(key, sizeof key, "%.400s.default_optimizer", where);
    LIANA_TRY(read_mapped(r, map->default_optimizer, key, &options->items[0]));
    for (size_t i = 0; i < count; i++) {
        liana__mapped_optimizer *item = &options->items[1 + i];
        *item = (liana__mapped_optimizer){.pattern = liana__arena_string(r->arena, items->keys[i]),
                                          .place = items->key_places[i]};
        if (!item->pattern) return liana__fail_memory(r->error, "the optimizers");
        LIANA_TRY(check_pattern(r, item, options->where));
        snprintf(key, sizeof key, "%.300s.%.150s", options->where, item->pattern);
        LIANA_TRY(read_mapped(r, items->items[i], key, item));
    }
    return LIANA_OK;
}

static liana_status read_multi(const reading *r, liana__multi_options *options, const char *where,
                               liana__optimizer_choice *choice)
{
    static const char *const ignored[] = {"name", NULL};
    const liana__value *value = options->optimizer_map;
    char key[256], found[128];
    map_options map;
    snprintf(key, sizeof key, "%s.optimizer_map", where);
    if (value->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(r->error, &value->place, key,
                              "found %s, expected an OptimizerMap: {default_optimizer: {name: SGD}, optimizer_map: "
                              "{\"head/.*\": {name: Adam}}}",
                              liana__value_describe(value, found, sizeof found));
    }
    LIANA_TRY(liana__fields_read(&map_table, value, key, ignored, r->arena, &map, r->error));
    if (map.optimizer_map && map.optimizer_map->kind != LIANA__VALUE_MAP) {
        return liana__fail_at(r->error, &map.optimizer_map->place, key,
                              "optimizer_map: found %s, expected patterns and their optimizers: {\"head/.*\": {name: "
                              "Adam}}",
                              liana__value_describe(map.optimizer_map, found, sizeof found));
    }
    LIANA_TRY(read_items(r, &map, key, options));
    choice->learning_rate = options->items[0].choice.learning_rate;
    return LIANA_OK;
}

/* Rates are those of the optimizers within. */
static liana_status read_around(const reading *r, const liana__value *value, const char *where,
                                liana__optimizer_choice *choice)
{
    const liana__value *rate = liana__value_get(value, "learning_rate");
    const liana__update_rule rule = {.optimizer = choice->optimizer, .options = choice->options};
    if (rate && rate->kind != LIANA__VALUE_NULL) {
        return liana__fail_at(r->error, &rate->place, where,
                              "learning_rate: %s has no rate of its own, expected one in each optimizer within",
                              choice->optimizer->part.name);
    }
    if (liana__as_loss_scale(choice->optimizer, choice->options)) {
        LIANA_TRY(read_scaled(r, (void *)(uintptr_t)choice->options, where, choice));
    } else {
        LIANA_TRY(read_multi(r, (void *)(uintptr_t)choice->options, where, choice));
    }
    if (!liana__rule_has_many_rounds(&rule)) return LIANA_OK;
    return liana__fail_at(r->error, &value->place, where,
                          "the optimizers within need more than %d rounds of sums (clipnorm, global_clipnorm, Lamb and "
                          "LARS take one each); remove one of these",
                          LIANA_MAX_SUM_ROUNDS);
}

liana_status liana__optimizer_read(const liana_context *context, const liana__value *value, const char *where,
                                   liana__arena *arena, liana__optimizer_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", "learning_rate", "rate_multipliers", NULL};
    const char *nearest = NULL;
    const liana__value *name = NULL;
    LIANA_TRY(
        read_name(value, where, "a name, or a mapping such as {name: Adam, learning_rate: 1.0e-3}", &name, error));
    const liana_optimizer_type *optimizer = liana__part_find(context, &liana__optimizer_kind, name->string, &nearest);
    if (!optimizer) return fail_unknown(name, where, "optimizer", nearest, error);
    void *options = liana__arena_allocate(arena, optimizer->part.options.size);
    if (!options) return liana__fail_memory(error, "the optimizer");
    LIANA_TRY(liana__fields_read(&optimizer->part.options, value, where, ignored, arena, options, error));
    LIANA_TRY(liana__part_check(&optimizer->part, context, options, value, where, error));
    *choice = (liana__optimizer_choice){.optimizer = optimizer, .options = options};
    const bool is_around = liana__as_loss_scale(optimizer, options) || liana__as_multi(optimizer, options);
    const reading own = {context, arena, optimizer, error};
    if (is_around) LIANA_TRY(read_around(&own, value, where, choice));
    if (!is_around) LIANA_TRY(liana__optimizer_check_common(options, value, where, error));
    char key[256];
    snprintf(key, sizeof key, "%s.rate_multipliers", where);
    const liana__value *multipliers = liana__value_get(value, "rate_multipliers");
    if (multipliers) {
        LIANA_TRY(liana__rate_multipliers_read(multipliers, key, arena, &choice->rate_multipliers, error));
    }
    if (is_around) return LIANA_OK;
    return read_learning_rate(context, liana__value_get(value, "learning_rate"), where, arena, choice, error);
}
