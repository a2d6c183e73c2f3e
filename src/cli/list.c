/* Lists the names that a configuration may use, directly from the registries. */
#include "cli/list.h"
#include "backends/backend.h"
#include "base/context_plugins.h"
#include "base/cpu.h"
#include "base/named.h"
#include "base/plugin.h"
#include "base/scoped.h"
#include "cli/session.h"
#include "data/augment/augment.h"
#include "data/dataset/dataset.h"
#include "data/source/source_open.h"
#include "distribute/strategies/strategies.h"
#include "distribute/transport/transport.h"
#include "known/data_set.h"
#include "layers/activations.h"
#include "layers/rules/constraints.h"
#include "layers/rules/regularizers.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "models/models.h"
#include "optimizers/optimizer.h"
#include "passes/pass.h"
#include "train/config/sweep.h"

#include <liana/architectures.h>
#include <stdio.h>
#include <string.h>

LIANA__SCOPED_POINTER(liana_context_destroy, liana_context)

static const liana__option options[] = {
    {"plugin", "FILE.so", "list the parts of a plugin as well"},
    {LIANA__OPTION_JSON},
    {0},
};

/* One thing that can be named. */
typedef struct entry {
    const char *name;
    const char *doc;             /* "": the name is enough */
    const char *default_text;    /* of configuration keys; else NULL */
    const liana__fields *fields; /* its options; NULL: none */
    const char *in_c;            /* the name of a configuration key in programs; NULL: none */
    const char *const *cells;    /* under the kind's columns; NULL: it has none */
    const liana__value *facts;   /* the same as numbers, in JSON */
} entry;

enum { MAX_ENTRIES = 256 };

typedef struct entries {
    entry items[MAX_ENTRIES];
    size_t count;
    liana__arena *arena;
    const liana_context *context; /* whose own parts are listed */
} entries;

static void add(entries *list, const char *name, const char *doc, const liana__fields *fields)
{
    if (list->count < MAX_ENTRIES) {
        list->items[list->count++] = (entry){.name = name, .doc = doc, .fields = fields};
    }
}

/* liana's own, with their options or without them; then those that the context has. */
static void add_parts(entries *list, const liana__kind *kind, bool with_options)
{
    const liana_part *part;
    for (size_t i = 0; (part = liana__part_at(NULL, kind, i)); i++) {
        const liana_options *own =
            kind == &liana__metric_kind ? liana__metric_options((const liana_metric_type *)part) : &part->options;
        add(list, part->name, part->doc ? part->doc : "", with_options ? own : NULL);
    }
}

static void add_own(entries *list, const liana__kind *kind)
{
    const liana_part *part;
    size_t first = 0;
    while (kind->builtin[first]) first++;
    for (size_t i = first; (part = liana__part_at(list->context, kind, i)); i++) {
        add(list, part->name, part->doc, part->options.count ? &part->options : NULL);
    }
}

static void list_parts(entries *list, const liana__kind *kind, bool with_options)
{
    add_parts(list, kind, with_options);
    add_own(list, kind);
}

/* ---- the kinds ---- */

static void list_layers(entries *list)
{
    add_parts(list, &liana__layer_kind, true);
    for (const liana__model_entry *own = liana__model_entries; own->name; own++) {
        add(list, own->name, own->doc, own->options);
    }
    add_own(list, &liana__layer_kind);
}

static void list_controls(entries *list)
{
    add_parts(list, &liana__control_kind, true);
}

static void list_environment(entries *list)
{
#define LIANA__ENV(symbol, text) add(list, #symbol, text, NULL);
#include "base/env.def"
#undef LIANA__ENV
}

static void list_instruction_sets(entries *list)
{
    liana__isa best;
    if (liana__cpu_detect(NULL, &best, NULL, 0, NULL) != LIANA_OK) return;
    for (int isa = 0; isa <= (int)best; isa++) add(list, liana__isa_name((liana__isa)isa), "", NULL);
}

/* As it would be written in YAML. */
static const char *default_of(const liana__field *field)
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

static void list_keys(entries *list, const liana__fields *fields, const char *prefix)
{
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const char *key = liana__arena_format(list->arena, "%s%s%s", prefix, *prefix ? "." : "", field->name);
        if (!key) return;
        if (field->kind == LIANA__FIELD_SECTION) {
            list_keys(list, field->section, key);
        } else if (list->count < MAX_ENTRIES) {
            list->items[list->count++] = (entry){.name = key,
                                                 .doc = field->doc,
                                                 .default_text = default_of(field),
                                                 .in_c = liana__job_names_in_c(key, list->arena)};
        }
    }
}

static void list_data_sets(entries *list)
{
    const char *doc, *name;
    for (size_t i = 0; (name = liana__data_set_at(i, &doc)); i++) add(list, name, doc, NULL);
}

/* ---- the sizes of architectures ---- */

/* 25636712 -> "25,636,712". */
static const char *with_commas(int64_t count, liana__arena *arena)
{
    char digits[32], text[48];
    const int length = snprintf(digits, sizeof digits, "%lld", (long long)count);
    size_t used = 0;
    for (int i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0) text[used++] = ',';
        text[used++] = digits[i];
    }
    text[used] = 0;
    return liana__arena_string(arena, text);
}

static const liana__value *size_facts(const liana_shape *shape, const liana_architecture_size *size,
                                      liana__arena *arena)
{
    liana__value *map = liana__value_map(arena), *dims = liana__value_list(arena);
    for (int i = 0; i < shape->rank; i++) liana__value_add(arena, dims, liana__value_int(arena, shape->dims[i]));
    liana__value_set(arena, map, "input_shape", dims);
    liana__value_set(arena, map, "parameters", liana__value_int(arena, size->num_parameters));
    liana__value_set(arena, map, "trainable_parameters", liana__value_int(arena, size->num_trainable_parameters));
    liana__value_set(arena, map, "flops", liana__value_int(arena, (int64_t)size->flops));
    return map;
}

static const char *const size_columns[] = {"input", "parameters", "GFLOP", NULL};

static liana_status measure_architecture(liana__invocation *invocation, liana_context *context, size_t index,
                                         entry *item)
{
    liana__arena *arena = &invocation->arena;
    const liana_shape shape = liana_architecture_at(index).input_shape;
    liana_architecture_size size;
    const liana_status status = liana_architecture_measure(context, item->name, &size);
    if (status != LIANA_OK) {
        invocation->error = context->error;
        return status;
    }
    const char **cells = liana__arena_allocate(arena, sizeof size_columns);
    if (!cells) return liana__fail_memory(&invocation->error, "the list");
    cells[0] = liana__arena_format(arena, "%lld x %lld x %lld", (long long)shape.dims[0], (long long)shape.dims[1],
                                   (long long)shape.dims[2]);
    cells[1] = with_commas(size.num_parameters, arena);
    cells[2] = liana__arena_format(arena, "%.2f", 1e-9 * size.flops);
    item->cells = cells;
    item->facts = size_facts(&shape, &size, arena);
    return arena->failed ? liana__fail_memory(&invocation->error, "the list") : LIANA_OK;
}

static liana_status measure_architectures(liana__invocation *invocation, entries *list)
{
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    if (liana_context_create(&(liana_context_options){.num_threads = 1}, &context) != LIANA_OK) {
        return liana__fail_memory(&invocation->error, "a context");
    }
    for (size_t i = 0, place = 0; liana__architectures[i]; i++) {
        if (place == list->count || strcmp(liana__architectures[i]->name, list->items[place].name) != 0) continue;
        LIANA_TRY(measure_architecture(invocation, context, i, &list->items[place++]));
    }
    return LIANA_OK;
}

typedef struct kind {
    const char *name;
    const char *doc;
    void (*list)(entries *list);
    const liana__fields *common; /* options that all of them have; NULL: none */
    const liana__kind *parts;    /* instead of `list`: parts of a kind, with their options or without them */
    bool with_options;
    const liana__fields *(*keys)(void); /* instead of `list`: the keys of a file */
    const void *const *things;          /* instead of `list`: structs, up to a NULL */
    size_t name_at, doc_at, options_at; /* the places of members in them; options_at 0: they have no options */
    const char *const *columns;         /* the titles of their cells; NULL: none */
    liana_status (*measure)(liana__invocation *invocation, entries *list); /* fills in cells and facts */
} kind;

#define THINGS(list, type) \
    .things = (const void *const *)(list), .name_at = offsetof(type, name), .doc_at = offsetof(type, doc)

static const kind kinds[] = {
    {"configuration", "keys of the configuration", .keys = liana__config_fields},
    {"sweep", "keys of a sweep's file, for liana sweep", .keys = liana__sweep_fields},
    {"models", "architectures, for model.base", THINGS(liana__architectures, liana__architecture),
     .options_at = offsetof(liana__architecture, options), .columns = size_columns, .measure = measure_architectures},
    {"layers", "layers, for model.layers", .list = list_layers, .common = &liana__layer_common},
    {"activations", "activation functions of layers", .parts = &liana__activation_kind},
    {"initializers", "initial values of weights", .parts = &liana__initializer_kind},
    {"regularizers", "penalties for the size of weights or results", .parts = &liana__regularizer_kind,
     .with_options = true},
    {"constraints", "limits of weights", .parts = &liana__constraint_kind, .with_options = true},
    {"losses", "losses, for train.loss", .parts = &liana__loss_kind},
    {"metrics", "metrics, for train.metrics", .parts = &liana__metric_kind},
    {"optimizers", "optimizers, for train.optimizer", .parts = &liana__optimizer_kind, .with_options = true},
    {"schedules", "learning-rate schedules, for train.optimizer.learning_rate", .parts = &liana__schedule_kind,
     .with_options = true},
    {"callbacks", "what runs after epochs and updates, for train.callbacks", .parts = &liana__callback_kind,
     .with_options = true},
    {"controls", "what decides whether a training goes on or back, for train.control", .list = list_controls},
    {"sources", "kinds of data, for data.train.kind", .parts = &liana__source_kind},
    {"data", "data sets by name, for data.train", .list = list_data_sets},
    {"columns", "options of one column, for data.columns", .keys = liana__column_fields},
    {"datasets", "stages of datasets, for C programs (liana_dataset_NAME)", .parts = &liana__stage_kind},
    {"augmentations", "augmentations of training images, for data.augment", .parts = &liana__augmentation_kind,
     .with_options = true},
    {"devices", "devices that compute, for train.device", THINGS(liana__backends, liana__backend)},
    {"strategies", "strategies: which device computes which part of a batch",
     THINGS(liana__strategies, liana__strategy), .options_at = offsetof(liana__strategy, options)},
    {"transports", "how messages get from process to process, for cluster.transport",
     THINGS(liana__transports, liana__transport)},
    {"ops", "operations of a graph", THINGS(liana__ops, liana__op), .options_at = offsetof(liana__op, attributes)},
    {"passes", "passes that rewrite graphs before they run", THINGS(liana__passes, liana__pass)},
    {"instruction_sets", "instruction sets of this processor, for LIANA_MAX_ISA", .list = list_instruction_sets},
    {"environment", "environment variables", .list = list_environment},
};

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

static const void *member_of(const void *thing, size_t offset)
{
    const void *member;
    memcpy(&member, (const char *)thing + offset, sizeof member);
    return member;
}

static void list_things(entries *list, const kind *which)
{
    for (const void *const *thing = which->things; *thing; thing++) {
        add(list, member_of(*thing, which->name_at), member_of(*thing, which->doc_at),
            which->options_at ? member_of(*thing, which->options_at) : NULL);
    }
}

static void fill(liana__arena *arena, const liana_context *context, const kind *which, entries *list)
{
    *list = (entries){.arena = arena, .context = context};
    if (which->parts) list_parts(list, which->parts, which->with_options);
    if (which->list) which->list(list);
    if (which->keys) list_keys(list, which->keys(), "");
    if (which->things) list_things(list, which);
}

/* ---- finding ---- */

static liana_status find_kind(liana__invocation *invocation, const char *name, const kind **found)
{
    const char *nearest;
    size_t index = liana__named_find(LIANA__NAMED(kind, kinds, NUM_KINDS), name, &nearest);
    *found = index < NUM_KINDS ? &kinds[index] : NULL;
    if (*found) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "list: there is no kind '%.100s'%s%s%s", name,
                       nearest ? "; did you mean '" : "; 'liana list' shows them", nearest ? nearest : "",
                       nearest ? "'?" : "");
}

void liana__list_visit_kinds(liana__list_visit *visit, void *user)
{
    for (size_t i = 0; i < NUM_KINDS; i++) visit(user, kinds[i].name, kinds[i].doc);
}

void liana__list_visit_names(const char *kind_name, liana__arena *arena, liana__list_visit *visit, void *user)
{
    size_t index = liana__named_find(LIANA__NAMED(kind, kinds, NUM_KINDS), kind_name, NULL);
    entries *list = index < NUM_KINDS ? liana__arena_allocate(arena, sizeof *list) : NULL;
    if (!list) return;
    fill(arena, NULL, &kinds[index], list);
    for (size_t i = 0; i < list->count; i++) visit(user, list->items[i].name, list->items[i].doc);
}

const char *liana__list_kind_for(const char *key)
{
    for (size_t i = 0; i < NUM_KINDS; i++) {
        const char *words = strstr(kinds[i].doc, ", for ");
        if (words && strcmp(words + strlen(", for "), key) == 0) return kinds[i].name;
    }
    return NULL;
}

static bool is_below(const char *key, const char *section)
{
    size_t length = strlen(section);
    return strncmp(key, section, length) == 0 && key[length] == '.';
}

/* Leaves the entry of that name; of the configuration, a section's keys too. */
static liana_status select_name(liana__invocation *invocation, const kind *which, const char *name, entries *list)
{
    const char *nearest = NULL;
    const liana_part *part = which->parts ? liana__part_find(list->context, which->parts, name, NULL) : NULL;
    if (part) name = part->name;
    (void)liana__named_find(LIANA__NAMED(entry, list->items, list->count), name, &nearest);
    size_t kept = 0;
    for (size_t i = 0; i < list->count; i++) {
        const entry *item = &list->items[i];
        if (strcmp(item->name, name) == 0 || is_below(item->name, name)) list->items[kept++] = *item;
    }
    list->count = kept;
    if (kept) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "list: there is no '%.100s' among the %s%s", name,
                       which->name, liana__hint(nearest).text);
}

/* ---- printing ---- */

static const char *type_of(const liana__field *field)
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

static void add_options(const liana__fields *fields, liana__value *list, liana__arena *arena)
{
    for (size_t i = 0; fields && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        liana__value *map = liana__value_map(arena);
        liana__value_set(arena, map, "name", liana__value_string(arena, field->name));
        liana__value_set(arena, map, "type", liana__value_string(arena, type_of(field)));
        liana__value_set(arena, map, "required", liana__value_bool(arena, field->required));
        if (!field->required) {
            liana__value_set(arena, map, "default", liana__value_string(arena, default_of(field)));
        }
        if (field->kind == LIANA__FIELD_ENUM) {
            liana__value *names = liana__value_list(arena);
            for (size_t k = 0; field->names[k]; k++) {
                liana__value_add(arena, names, liana__value_string(arena, field->names[k]));
            }
            liana__value_set(arena, map, "words", names);
        }
        liana__value_set(arena, map, "doc", liana__value_string(arena, field->doc ? field->doc : ""));
        liana__value_add(arena, list, map);
    }
}

static void print_json(liana__invocation *invocation, const kind *which, const entries *list)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "list"), *items = liana__value_list(arena);
    for (size_t i = 0; i < list->count; i++) {
        const entry *item = &list->items[i];
        liana__value *map = liana__value_map(arena), *own = liana__value_list(arena);
        liana__value_set(arena, map, "name", liana__value_string(arena, item->name));
        liana__value_set(arena, map, "doc", liana__value_string(arena, item->doc));
        if (item->default_text) {
            liana__value_set(arena, map, "default", liana__value_string(arena, item->default_text));
        }
        if (item->in_c) liana__value_set(arena, map, "in_c", liana__value_string(arena, item->in_c));
        for (size_t k = 0; item->facts && k < item->facts->count; k++) {
            liana__value_set(arena, map, item->facts->keys[k], item->facts->items[k]);
        }
        add_options(item->fields, own, arena);
        add_options(which->common, own, arena);
        if (own->count) liana__value_set(arena, map, "options", own);
        liana__value_add(arena, items, map);
    }
    liana__value_set(arena, event, "kind", liana__value_string(arena, which->name));
    liana__value_set(arena, event, "items", items);
    liana__invocation_print_json(invocation, event);
}

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width) *width = (int)strlen(text);
}

static void print_fields(liana__invocation *invocation, const liana__fields *fields, int names, int defaults)
{
    for (size_t i = 0; fields && i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        fprintf(invocation->out, "    %-*s  %-*s  %s", names, field->name, defaults, default_of(field),
                field->doc ? field->doc : "");
        for (size_t k = 0; field->kind == LIANA__FIELD_ENUM && field->names[k]; k++) {
            fprintf(invocation->out, "%s%s%s", k ? ", " : " (", field->names[k], field->names[k + 1] ? "" : ")");
        }
        fputc('\n', invocation->out);
    }
}

/* One thing with its options. */
static void print_entry(liana__invocation *invocation, const kind *which, const entry *item)
{
    const liana__fields *both[] = {item->fields, which->common};
    int names = (int)strlen("option"), defaults = (int)strlen("default");
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; both[i] && k < both[i]->count; k++) {
            widen(&names, both[i]->items[k].name);
            widen(&defaults, default_of(&both[i]->items[k]));
        }
    }
    fprintf(invocation->out, "%s%s%s\n", item->name, *item->doc ? ": " : "", item->doc);
    for (size_t i = 0; item->cells && which->columns[i]; i++) {
        fprintf(invocation->out, "%s%s: %s%s", i ? ", " : "    ", which->columns[i], item->cells[i],
                which->columns[i + 1] ? "" : "\n");
    }
    if (!item->fields && !which->common) return;
    fprintf(invocation->out, "    %-*s  %-*s\n", names, "option", defaults, "default");
    for (size_t i = 0; i < 2; i++) print_fields(invocation, both[i], names, defaults);
}

/* Cells of numbers end in one line. `texts` are the cells of a row, or the titles. */
static void print_cells(liana__invocation *invocation, const kind *which, const entries *list, const char *const *texts)
{
    for (size_t k = 0; which->columns[k]; k++) {
        int width = (int)strlen(which->columns[k]);
        for (size_t i = 0; i < list->count; i++) widen(&width, list->items[i].cells[k]);
        fprintf(invocation->out, "  %*s", width, texts[k]);
    }
}

static void print_entries(liana__invocation *invocation, const kind *which, const entries *list)
{
    int names = which->columns ? (int)strlen("name") : 0, defaults = 0;
    for (size_t i = 0; i < list->count; i++) {
        widen(&names, list->items[i].name);
        if (list->items[i].default_text) widen(&defaults, list->items[i].default_text);
    }
    if (which->columns) {
        fprintf(invocation->out, "%-*s", names, "name");
        print_cells(invocation, which, list, which->columns);
        fputc('\n', invocation->out);
    }
    for (size_t i = 0; i < list->count; i++) {
        const entry *item = &list->items[i];
        fprintf(invocation->out, "%-*s", *item->doc ? names : 0, item->name);
        if (item->default_text) fprintf(invocation->out, "  %-*s", defaults, item->default_text);
        if (item->cells) print_cells(invocation, which, list, item->cells);
        fprintf(invocation->out, "%s%s\n", *item->doc ? "  " : "", item->doc);
    }
    if (list->count == 1 && list->items[0].in_c) fprintf(invocation->out, "    in C: %s\n", list->items[0].in_c);
}

static liana_status list_kinds(liana__invocation *invocation, const liana_context *context)
{
    bool json = liana__invocation_has(invocation, "json");
    entries *list = liana__arena_allocate(&invocation->arena, sizeof *list);
    if (!list) return liana__fail_memory(&invocation->error, "the list");
    for (size_t i = 0; i < NUM_KINDS && invocation->num_operands == 0; i++) {
        fill(&invocation->arena, context, &kinds[i], list);
        if (json && kinds[i].measure) LIANA_TRY(kinds[i].measure(invocation, list));
        if (json) print_json(invocation, &kinds[i], list);
        if (!json) fprintf(invocation->out, "%-13s  %3zu  %s\n", kinds[i].name, list->count, kinds[i].doc);
    }
    if (invocation->num_operands == 0) return LIANA_OK;
    const kind *which;
    LIANA_TRY(find_kind(invocation, invocation->operands[0], &which));
    fill(&invocation->arena, context, which, list);
    bool one = invocation->num_operands == 2;
    if (one) LIANA_TRY(select_name(invocation, which, invocation->operands[1], list));
    if (which->measure) LIANA_TRY(which->measure(invocation, list));
    if (json) {
        print_json(invocation, which, list);
    } else if (one && list->count == 1 && !list->items[0].default_text) {
        print_entry(invocation, which, &list->items[0]);
    } else {
        print_entries(invocation, which, list);
    }
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    const char *plugin = liana__invocation_text(invocation, "plugin");
    LIANA__SCOPED_BY(liana_context_destroy_scoped) liana_context *context = NULL;
    if (plugin && liana__context_make(NULL, &context) != LIANA_OK)
        return liana__fail_memory(&invocation->error, "a context");
    if (plugin) LIANA_TRY(liana__plugin_load(context, plugin, &invocation->error));
    return list_kinds(invocation, context);
}

const liana__command liana__subcommand_list = {
    .name = "list",
    .operands = "[KIND [NAME]]",
    .summary = "List the names that a configuration may use",
    .help = "Without a KIND, lists the kinds. 'liana list layers Conv2D' explains the options of a layer,\n"
            "'liana list configuration train' the keys of a section with their defaults,\n"
            "'liana list configuration train.epochs' one of them, and what programs in C call it.\n"
            "'liana list models' gives sizes, with the architecture's own classifier: the image, the number of\n"
            "parameters, and the operations of a prediction for one image in 1e9 (GFLOP). These are the ones of\n"
            "convolutions and matrix products; a multiply-add is two operations. --json gives the numbers.\n",
    .options = options,
    .max_operands = 2,
    .run = run,
};
