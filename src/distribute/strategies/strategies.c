/* Finds strategies by name. */
#include "distribute/strategies/strategies.h"

#include "base/choice.h"
#include "base/named.h"
#include "base/other_names.h"
#include "base/scoped.h"
#include "distribute/cluster/cluster.h"
#include "distribute/cluster/wire.h"
#include "formats/yaml.h"

#include <stdio.h>
#include <string.h>

const liana__strategy *const liana__strategies[] = {
#define LIANA__STRATEGY(stem, name) &liana__strategy_##name,
#include "distribute/strategies/strategies.def"
#undef LIANA__STRATEGY
    NULL,
};

enum { NUM_STRATEGIES = sizeof liana__strategies / sizeof *liana__strategies - 1 };

static const liana__strategy *find(const char *name, liana__hint_text *hint)
{
    const char *nearest, *ours;
    const size_t index =
        liana__named_find(LIANA__NAMED_POINTERS(liana__strategy, liana__strategies, NUM_STRATEGIES), name, &nearest);
    if (index < NUM_STRATEGIES) return liana__strategies[index];
    *hint = liana__hint(nearest);
    ours = liana__other_name(LIANA__OTHER_STRATEGY, name);
    if (ours) snprintf(hint->text, sizeof hint->text, "; liana calls it '%s'", ours);
    return NULL;
}

liana_status liana__strategy_read(const liana__value *value, const char *where, liana__arena *arena,
                                  liana__strategy_choice *choice, liana__error *error)
{
    static const char *const ignored[] = {"name", NULL};
    static const liana__fields none = {"strategy", 0, 0, NULL};
    const char *name = NULL;
    liana__hint_text hint;
    const liana__value *map;
    *choice = (liana__strategy_choice){&liana__strategy_one_device, NULL};
    if (!value || value->kind == LIANA__VALUE_NULL) return LIANA_OK;
    LIANA_TRY(liana__choice_read(value, where,
                                 "the name of a strategy, or a mapping such as {name: mirrored, replicas: 2}", &name,
                                 &map, error));
    choice->strategy = find(name, &hint);
    if (!choice->strategy) {
        return liana__fail_at(error, &value->place, where,
                              "there is no strategy '%.60s' among those that 'liana list strategies' shows%s", name,
                              hint.text);
    }
    const liana__fields *fields = choice->strategy->options ? choice->strategy->options : &none;
    return liana__choice_options(fields, map, where, ignored, arena, &choice->options, error);
}

liana_status liana__strategy_cluster(liana_context *context, const liana_strategy *options, liana__cluster **cluster,
                                     liana__error *error)
{
    *cluster = NULL;
    if (!options->name) return LIANA_OK;
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__strategy_choice choice;
    /* A fault of the options is told where they are used. */
    const bool is_known = liana__strategy_of(options, &arena, &choice, NULL) == LIANA_OK;
    if (!is_known || !choice.strategy->needs_cluster) return LIANA_OK;
    return liana__cluster_require(context, choice.strategy->name, cluster, error);
}

_Static_assert(LIANA_BIND_NODES == (int)LIANA__BIND_NODES && LIANA_BIND_CORES == (int)LIANA__BIND_CORES,
               "both enums name the same things");

/* NAME, or a mapping with the options as in YAML. */
static liana_status read_text(const char *text, liana__arena *arena, liana__value **map, liana__error *error)
{
    const char *name = NULL;
    const liana__value *given;
    liana__value *parsed;
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "strategy", arena, &parsed, error));
    LIANA_TRY(liana__choice_read(parsed, "strategy", "the name of a strategy, or a mapping such as {name: mirrored}",
                                 &name, &given, error));
    *map = given ? parsed : liana__value_map(arena);
    if (!*map) return liana__fail_memory(error, "the strategy");
    if (!given) liana__value_set(arena, *map, "name", liana__value_string(arena, name));
    return LIANA_OK;
}

_Static_assert(LIANA_WIRE_BFLOAT16 == (int)LIANA__WIRE_BFLOAT16, "both enums name the same things");

/* ---- the fields of a program's struct, as the mapping that a configuration has ---- */

static void set_number(liana__arena *arena, liana__value *map, const char *key, int64_t number)
{
    if (number) liana__value_set(arena, map, key, liana__value_int(arena, number));
}

static void set_text(liana__arena *arena, liana__value *map, const char *key, const char *text)
{
    liana__value_set(arena, map, key, liana__value_string(arena, text));
}

static void set_devices(const liana_strategy *options, liana__arena *arena, liana__value *map)
{
    if (!options->devices[0]) return;
    liana__value *list = liana__value_list(arena);
    for (size_t i = 0; i < LIANA_MAX_NAMED_DEVICES && options->devices[i]; i++) {
        liana__value_add(arena, list, liana__value_string(arena, options->devices[i]));
    }
    liana__value_set(arena, map, "devices", list);
}

static void set_fields(const liana_strategy *options, liana__arena *arena, liana__value *map)
{
    const int64_t staleness = options->max_staleness;
    set_number(arena, map, "replicas", options->replicas);
    set_number(arena, map, "threads", options->threads);
    set_devices(options, arena, map);
    if (options->bind) set_text(arena, map, "bind", liana__cpu_binding_names[options->bind]);
    if (options->wire) set_text(arena, map, "wire", liana__wire_names[options->wire]);
    if (options->asynchronous) liana__value_set(arena, map, "synchronous", liana__value_bool(arena, false));
    set_number(arena, map, "max_staleness", staleness);
    if (staleness == LIANA_NO_STALENESS) liana__value_set(arena, map, "max_staleness", liana__value_int(arena, 0));
    set_number(arena, map, "replicas_to_aggregate", options->replicas_to_aggregate);
    set_number(arena, map, "pause_steps", options->pause_steps);
}

liana_status liana__strategy_of(const liana_strategy *options, liana__arena *arena, liana__strategy_choice *choice,
                                liana__error *error)
{
    liana__value *map;
    if ((unsigned)options->bind > LIANA_BIND_NODES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "strategy.bind is %d, expected a liana_thread_binding",
                           (int)options->bind);
    }
    if ((unsigned)options->wire > LIANA_WIRE_BFLOAT16) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "strategy.wire is %d, expected a liana_wire",
                           (int)options->wire);
    }
    LIANA_TRY(read_text(options->name ? options->name : liana__strategy_one_device.name, arena, &map, error));
    set_fields(options, arena, map);
    if (arena->failed) return liana__fail_memory(error, "the strategy");
    return liana__strategy_read(map, "strategy", arena, choice, error);
}

liana_status liana__strategy_copy(const liana_strategy *options, liana__arena *arena, liana_strategy *copy,
                                  liana__error *error)
{
    *copy = *options;
    copy->name = liana__arena_string(arena, options->name);
    for (size_t i = 0; i < LIANA_MAX_NAMED_DEVICES && options->devices[i]; i++) {
        copy->devices[i] = liana__arena_string(arena, options->devices[i]);
    }
    return arena->failed ? liana__fail_memory(error, "the strategy") : LIANA_OK;
}

void liana__strategy_print(const liana_strategy *options, liana__text *text)
{
    liana__text_add(text, "%s %lld %lld %d", options->name ? options->name : "", (long long)options->replicas,
                    (long long)options->threads, (int)options->bind);
    for (size_t i = 0; i < LIANA_MAX_NAMED_DEVICES && options->devices[i]; i++) {
        liana__text_add(text, " [%s]", options->devices[i]);
    }
    liana__text_add(text, " %d %d %lld %lld %lld", (int)options->wire, options->asynchronous,
                    (long long)options->max_staleness, (long long)options->replicas_to_aggregate,
                    (long long)options->pause_steps);
}
