/* The kinds that `liana list` knows, with their things, directly from the registries. */
#include "backends/backend.h"
#include "base/cpu.h"
#include "base/named.h"
#include "base/plugin.h"
#include "cli/list/list.h"
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

#include <string.h>

static liana__list_item *add(liana__list_items *list, const char *name, const char *doc, const liana__fields *fields)
{
    if (list->count == LIANA__MAX_LISTED) {
        list->overflows = true;
        return &list->items[0];
    }
    liana__list_item *item = &list->items[list->count++];
    *item = (liana__list_item){.name = name, .doc = doc, .fields = fields};
    return item;
}

static void add_part(liana__list_items *list, const liana__kind *kind, const liana_part *part)
{
    const liana_options *own =
        kind == &liana__metric_kind ? liana__metric_options((const liana_metric_type *)part) : &part->options;
    liana__list_item *item = add(list, part->name, part->doc ? part->doc : "", own && own->count ? own : NULL);
    item->aliases = part->aliases;
}

static size_t num_builtin(const liana__kind *kind)
{
    size_t count = 0;
    while (kind->builtin[count]) count++;
    return count;
}

/* liana's own parts, or those that the context has. */
static void add_parts(liana__list_items *list, const liana__kind *kind, bool own)
{
    const size_t first = own ? num_builtin(kind) : 0;
    const liana_part *part;
    for (size_t i = first; (part = liana__part_at(own ? list->context : NULL, kind, i)); i++)
        add_part(list, kind, part);
}

/* ---- the kinds ---- */

static void list_layers(liana__list_items *list)
{
    add_parts(list, &liana__layer_kind, false);
    for (const liana__model_entry *own = liana__model_entries; own->name; own++) {
        add(list, own->name, own->doc, own->options);
    }
    add_parts(list, &liana__layer_kind, true);
}

static void list_controls(liana__list_items *list)
{
    add_parts(list, &liana__control_kind, false);
}

static void list_environment(liana__list_items *list)
{
#define LIANA__ENV(symbol, text) add(list, #symbol, text, NULL);
#include "base/env.def"
#undef LIANA__ENV
}

static const char *isa_doc(liana__isa isa)
{
    static const char *const docs[] = {
        [LIANA__ISA_BASELINE] = "no vectors beyond those that each processor of this kind has",
        [LIANA__ISA_AVX2] = "vectors of 8 floats, with FMA and F16C",
        [LIANA__ISA_AVX512] = "vectors of 16 floats (AVX-512 F, BW, DQ and VL)",
        [LIANA__ISA_AVX512_BF16_STORAGE] =
            "as avx512, and rounding to bf16 in one instruction; bf16 is multiplied in f32",
        [LIANA__ISA_AVX512_BF16] = "as avx512, and dot products of pairs of bf16",
        [LIANA__ISA_AMX] = "as avx512_bf16, and tiles of bf16",
    };
    return docs[isa];
}

/* For people those of this processor alone: LIANA_MAX_ISA takes no other. */
static void list_instruction_sets(liana__list_items *list)
{
    liana__isa best;
    if (liana__cpu_detect(NULL, &best, NULL, 0, NULL) != LIANA_OK) return;
    if (list->everywhere) best = LIANA__ISA_AMX;
    for (int isa = 0; isa <= (int)best; isa++) {
        const char *doc = list->everywhere ? isa_doc((liana__isa)isa) : "";
        add(list, liana__isa_name((liana__isa)isa), doc, NULL);
    }
}

static void list_keys(liana__list_items *list, const liana__fields *fields, const char *prefix)
{
    for (size_t i = 0; i < fields->count; i++) {
        const liana__field *field = &fields->items[i];
        const char *key = liana__arena_format(list->arena, "%s%s%s", prefix, *prefix ? "." : "", field->name);
        if (!key) return;
        if (field->kind == LIANA__FIELD_SECTION) {
            liana__value *section = liana__value_map(list->arena);
            liana__value_set(list->arena, section, "name", liana__value_string(list->arena, key));
            liana__value_set(list->arena, section, "doc", liana__value_string(list->arena, field->doc));
            liana__value_add(list->arena, list->sections, section);
            list_keys(list, field->section, key);
            continue;
        }
        liana__list_item *item = add(list, key, field->doc, NULL);
        item->default_text = liana__list_default(field);
        item->field = field;
        item->in_c = liana__job_names_in_c(key, list->arena);
    }
}

static void add_resume_rules(liana__list_items *list)
{
    static const char *const words[] = {
        [LIANA__RESUME_SAME] = "no", [LIANA__RESUME_SAFE] = "with --allow-changed", [LIANA__RESUME_FREE] = "yes"};
    for (size_t i = 0; i < list->count; i++) {
        const liana__job_key rule = liana__run_key_rule(list->items[i].name);
        list->items[i].resumes = words[rule.resume];
        list->items[i].differs = rule.own;
    }
}

static void list_data_sets(liana__list_items *list)
{
    const char *doc, *name;
    for (size_t i = 0; (name = liana__data_set_at(i, &doc)); i++) add(list, name, doc, NULL);
}

static void list_subcommands(liana__list_items *list)
{
    size_t count;
    const liana__command *const *commands = liana__commands(&count);
    for (size_t i = 0; i < count; i++) add(list, commands[i]->name, commands[i]->summary, NULL)->command = commands[i];
}

static void list_exit_codes(liana__list_items *list)
{
#define LIANA__EXIT(symbol, code, text) add(list, #code, text, NULL);
#include "cli/exit_codes.def"
#undef LIANA__EXIT
}

static void list_statuses(liana__list_items *list)
{
#define ADD_STATUS(symbol, text) add(list, #symbol, text, NULL);
    LIANA_STATUS_MAP(ADD_STATUS)
#undef ADD_STATUS
}

static void list_events(liana__list_items *list)
{
#define LIANA__EVENT(symbol, commands, text) add(list, #symbol, text " (" commands ")", NULL);
#include "cli/events.def"
#undef LIANA__EVENT
}

#define THINGS(list, type) \
    .things = (const void *const *)(list), .name_at = offsetof(type, name), .doc_at = offsetof(type, doc)

static const liana__list_kind kinds[] = {
    {"configuration", "keys of the configuration", .keys = liana__config_fields, .of_run = true},
    {"sweep", "keys of a sweep's file, for liana sweep", .keys = liana__sweep_fields},
    {"models", "architectures, for model.base", THINGS(liana__architectures, liana__architecture),
     .options_at = offsetof(liana__architecture, options), .columns = liana__size_columns,
     .measure = liana__list_measure_architectures},
    {"layers", "layers, for model.layers", .list = list_layers, .common = &liana__layer_common},
    {"activations", "activation functions of layers", .parts = &liana__activation_kind},
    {"initializers", "initial values of weights", .parts = &liana__initializer_kind},
    {"regularizers", "penalties for the size of weights or results", .parts = &liana__regularizer_kind},
    {"constraints", "limits of weights", .parts = &liana__constraint_kind},
    {"losses", "losses, for train.loss", .parts = &liana__loss_kind},
    {"metrics", "metrics, for train.metrics", .parts = &liana__metric_kind},
    {"optimizers", "optimizers, for train.optimizer", .parts = &liana__optimizer_kind},
    {"schedules", "learning-rate schedules, for train.optimizer.learning_rate", .parts = &liana__schedule_kind},
    {"callbacks", "what runs after epochs and updates, for train.callbacks", .parts = &liana__callback_kind},
    {"controls", "what decides whether a training goes on or back, for train.control", .list = list_controls},
    {"sources", "kinds of data, for data.train.kind", .parts = &liana__source_kind},
    {"data", "data sets by name, for data.train", .list = list_data_sets},
    {"columns", "options of one column, for data.columns", .keys = liana__column_fields},
    {"datasets", "stages of datasets, for C programs (liana_dataset_NAME)", .parts = &liana__stage_kind},
    {"augmentations", "augmentations of training images, for data.augment", .parts = &liana__augmentation_kind},
    {"devices", "devices that compute, for train.device", THINGS(liana__backends, liana__backend)},
    {"strategies", "strategies: which device computes which part of a batch",
     THINGS(liana__strategies, liana__strategy), .options_at = offsetof(liana__strategy, options)},
    {"transports", "how messages get from process to process, for cluster.transport",
     THINGS(liana__transports, liana__transport)},
    {"ops", "operations of a graph", THINGS(liana__ops, liana__op), .options_at = offsetof(liana__op, attributes)},
    {"passes", "passes that rewrite graphs before they run", THINGS(liana__passes, liana__pass)},
    {"instruction_sets", "instruction sets of this processor, for LIANA_MAX_ISA", .list = list_instruction_sets},
    {"environment", "environment variables", .list = list_environment},
    {"subcommands", "subcommands of liana, with their options", .list = list_subcommands},
    {"exit_codes", "exit codes of liana", .list = list_exit_codes},
    {"statuses", "kinds of failures, in C programs and in JSON", .list = list_statuses},
    {"events", "events that --json prints, one a line", .list = list_events},
};
#undef THINGS

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

const liana__list_kind *liana__list_kind_at(size_t index)
{
    return index < NUM_KINDS ? &kinds[index] : NULL;
}

liana_status liana__list_kind_find(const char *name, const liana__list_kind **found, liana__error *error)
{
    const char *nearest;
    size_t index = liana__named_find(LIANA__NAMED(liana__list_kind, kinds, NUM_KINDS), name, &nearest);
    *found = liana__list_kind_at(index);
    if (*found) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "list: there is no kind '%.100s'%s%s%s", name,
                       nearest ? "; did you mean '" : "; 'liana list' shows them", nearest ? nearest : "",
                       nearest ? "'?" : "");
}

static const void *member_of(const void *thing, size_t offset)
{
    const void *member;
    memcpy(&member, (const char *)thing + offset, sizeof member);
    return member;
}

static void list_things(liana__list_items *list, const liana__list_kind *which)
{
    for (const void *const *thing = which->things; *thing; thing++) {
        add(list, member_of(*thing, which->name_at), member_of(*thing, which->doc_at),
            which->options_at ? member_of(*thing, which->options_at) : NULL);
    }
}

liana_status liana__list_fill(const liana__list_kind *which, liana__list_items *list, liana__error *error)
{
    list->count = 0;
    list->overflows = false;
    list->sections = liana__value_list(list->arena);
    if (which->parts) {
        add_parts(list, which->parts, false);
        add_parts(list, which->parts, true);
    }
    if (which->list) which->list(list);
    if (which->keys) list_keys(list, which->keys(), "");
    if (which->of_run) add_resume_rules(list);
    if (which->things) list_things(list, which);
    if (!list->overflows) return LIANA_OK;
    return liana__fail(error, LIANA_INTERNAL, "list: there are more than %d %s", LIANA__MAX_LISTED, which->name);
}
