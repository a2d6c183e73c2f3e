/* The table of a job's options, and all that follows from it. */
#include "train/job/job_options.h"

#include "base/clock.h"
#include "base/format.h"
#include "base/scoped.h"
#include "data/source/source.h"
#include "distribute/strategies/strategies.h"
#include "formats/yaml.h"
#include "program/optimizer_text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_BATCH = 1048576, MAX_THREADS = 1024 };
static const char *const bad_numbers_policies[] = {"fail", "skip", "restore", NULL};
static const char *const remainders[] = {"keep", "drop", "refuse", NULL};

/* ---- the table ---- */

#define FIELD(...) __VA_ARGS__
#define MEMBER(type, key, member, field_kind, ...) \
    {.name = #key, .kind = LIANA__FIELD_##field_kind, .offset = offsetof(type, member), __VA_ARGS__},

static const liana__field train_items[] = {
#define LIANA__JOB_TRAIN(member, kind, field, row) MEMBER(liana__job_options, member, member, kind, field)
#include "train/job/options.def"
};

static const liana__field checkpoint_items[] = {
#define LIANA__JOB_CHECKPOINT(key, member, kind, field, row) \
    MEMBER(liana__checkpointing_options, key, member, kind, field)
#include "train/job/options.def"
};

static const liana__field top_items[] = {
#define LIANA__JOB_TOP(member, kind, field, row) MEMBER(liana__job_options, member, member, kind, field)
#include "train/job/options.def"
};
#undef MEMBER

#define COUNT(array) (sizeof(array) / sizeof *(array))
/* Members behind those of `train` are not its own. */
const liana__fields liana__job_train_fields = {"train", offsetof(liana__job_options, checkpoint), COUNT(train_items),
                                               train_items};
const liana__fields liana__job_checkpoint_fields = {"checkpoint", sizeof(liana__checkpointing_options),
                                                    COUNT(checkpoint_items), checkpoint_items};

/* A member of a public struct. */
typedef struct door_member {
    const char *name; /* NULL: the door does not have it */
    size_t offset;
} door_member;

typedef struct job_row {
    door_member doors[LIANA__NUM_DOORS];
    bool compared, own, compiled;
    liana__resume_rule resume;
    bool is_unsigned;      /* programs give a uint64_t */
    bool negative_is_zero; /* programs, whose 0 is the default, say 0 so */
    double unit;           /* the number of a program's units in one of the table's; 0: 1 */
} job_row;

#define FIT(member) .doors[LIANA__DOOR_FIT] = {#member, offsetof(liana_fit_options, member)}
#define EVALUATE(member) .doors[LIANA__DOOR_EVALUATE] = {#member, offsetof(liana_evaluate_options, member)}
#define ESTIMATOR(member) .doors[LIANA__DOOR_ESTIMATOR] = {#member, offsetof(liana_run_config, member)}
#define COMPARED .compared = true
#define OWN .own = true
#define COMPILED .compiled = true
#define SAFE .resume = LIANA__RESUME_SAFE
#define FREE .resume = LIANA__RESUME_FREE
#define ROW(...) {__VA_ARGS__},
/* In the order of the three lists of fields. */
static const job_row rows[] = {
#define LIANA__JOB_TRAIN(member, kind, field, row) row
#define LIANA__JOB_CHECKPOINT(key, member, kind, field, row) row
#define LIANA__JOB_TOP(member, kind, field, row) row
#include "train/job/options.def"
};

/* An option of the table. */
typedef struct option {
    const job_row *row;
    const liana__field *field;
    const char *section; /* "": none */
    size_t offset;       /* in liana__job_options */
} option;

static option option_at(size_t index)
{
    const job_row *row = &rows[index];
    if (index < COUNT(train_items)) {
        return (option){row, &train_items[index], "train", train_items[index].offset};
    }
    index -= COUNT(train_items);
    if (index < COUNT(checkpoint_items)) {
        const liana__field *field = &checkpoint_items[index];
        return (option){row, field, "checkpoint", offsetof(liana__job_options, checkpoint) + field->offset};
    }
    const liana__field *field = &top_items[index - COUNT(checkpoint_items)];
    return (option){row, field, "", field->offset};
}

size_t liana__job_num_keys(void)
{
    return COUNT(rows);
}

liana__job_key liana__job_key_at(size_t index)
{
    const option one = option_at(index);
    liana__job_key key = {.own = one.row->own, .resume = one.row->resume};
    snprintf(key.name, sizeof key.name, "%s%s%s", one.section, *one.section ? "." : "", one.field->name);
    return key;
}

const char *liana__job_names_in_c(const char *key, liana__arena *arena)
{
    static const char *const structs[] = {[LIANA__DOOR_FIT] = "liana_fit_options",
                                          [LIANA__DOOR_EVALUATE] = "liana_evaluate_options",
                                          [LIANA__DOOR_ESTIMATOR] = "liana_run_config"};
    const char *names = NULL;
    for (size_t i = 0; i < COUNT(rows); i++) {
        if (strcmp(liana__job_key_at(i).name, key) != 0) continue;
        for (size_t door = 0; door < LIANA__NUM_DOORS; door++) {
            const char *name = rows[i].doors[door].name, *before = names ? names : "";
            if (!name) continue;
            names = liana__arena_format(arena, "%s%s%s.%s", before, *before ? ", " : "", structs[door], name);
        }
    }
    return names;
}

/* ---- messages ---- */

const liana__job_door liana__job_fit_door = {LIANA__DOOR_FIT, "", "fit", NULL, NULL};
const liana__job_door liana__job_evaluate_door = {LIANA__DOOR_EVALUATE, "", "evaluation", NULL, NULL};

liana_status liana__job_refuse(const liana__job_door *door, liana__error *error, const char *name, const char *found,
                               const char *format, ...)
{
    char expected[512], key[128];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(expected, sizeof expected, format, arguments);
    va_end(arguments);
    snprintf(key, sizeof key, "%s%s", door->prefix, name);
    if (!door->place) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "%s is %s, expected %s", key, found, expected);
    }
    const liana__place place = door->place(door->user, key);
    return liana__fail_at(error, &place, key, "found %s, expected %s", found, expected);
}

/* ---- taking a program's options ---- */

static liana_status refuse_number(const liana__job_door *door, const option *one, double number, liana__error *error)
{
    char found[64], least[64];
    const bool is_int = one->field->kind == LIANA__FIELD_INT;
    const double unit = one->row->unit ? one->row->unit : 1;
    snprintf(found, sizeof found, is_int ? "%.0f" : "%g", number);
    snprintf(least, sizeof least, one->row->negative_is_zero ? "-1" : "0");
    if (!is_int && one->field->minimum > 0) {
        snprintf(least, sizeof least, "0 (the default), or %g", one->field->minimum * unit);
    }
    return liana__job_refuse(door, error, one->row->doors[door->kind].name, found, "%s to %.15g", least,
                             one->field->maximum * unit);
}

/* 0 is the default. */
static bool is_in_range(const liana__field *field, double number)
{
    return number == 0 || (number >= field->minimum && number <= field->maximum);
}

static liana_status take_int(const liana__job_door *door, const option *one, int64_t number, int64_t *member,
                             liana__error *error)
{
    const bool is_zero = one->row->negative_is_zero && number < 0;
    if (!is_zero && !one->row->is_unsigned && !is_in_range(one->field, (double)number)) {
        return refuse_number(door, one, (double)number, error);
    }
    if (number) *member = is_zero ? 0 : number;
    return LIANA_OK;
}

static liana_status take_float(const liana__job_door *door, const option *one, double number, double *member,
                               liana__error *error)
{
    const double value = one->row->unit ? number / one->row->unit : number;
    if (!is_in_range(one->field, value)) return refuse_number(door, one, number, error);
    if (number != 0) *member = value;
    return LIANA_OK;
}

static liana_status take_enum(const liana__job_door *door, const option *one, int number, int *member,
                              liana__error *error)
{
    const char *const *names = one->field->names;
    char found[32];
    LIANA__SCOPED(liana__text) known = {0};
    int count = 0;
    while (names[count]) count++;
    if (number >= 0 && number < count) {
        if (number) *member = number;
        return LIANA_OK;
    }
    for (int i = 0; i < count; i++) {
        liana__text_add(&known, "%s%s", i == 0 ? "" : i + 1 < count ? ", " : " or ", names[i]);
    }
    snprintf(found, sizeof found, "%d", number);
    return liana__job_refuse(door, error, one->row->doors[door->kind].name, found, "%s",
                             known.data ? known.data : "another");
}

static liana_status take_member(const liana__job_door *door, const option *one, const void *from, void *to,
                                liana__arena *arena, liana__error *error)
{
    const char *text;
    switch (one->field->kind) {
    case LIANA__FIELD_BOOL: *(bool *)to = *(const bool *)from; return LIANA_OK;
    case LIANA__FIELD_INT: return take_int(door, one, *(const int64_t *)from, to, error);
    case LIANA__FIELD_FLOAT: return take_float(door, one, *(const double *)from, to, error);
    case LIANA__FIELD_ENUM: return take_enum(door, one, *(const int *)from, to, error);
    case LIANA__FIELD_STRING:
        text = *(const char *const *)from;
        if (text) *(const char **)to = text;
        return LIANA_OK;
    default: break;
    }
    text = *(const char *const *)from;
    if (!text) return LIANA_OK;
    liana__value *value = liana__value_string(arena, text);
    *(const liana__value **)to = value;
    return value ? LIANA_OK : liana__fail_memory(error, one->field->name);
}

static liana_status check_weights(const double *weights, int64_t count, liana__error *error)
{
    if (count < 0 || count > LIANA__MAX_CLASSES) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "num_class_weights is %lld, expected 0 to %d",
                           (long long)count, (int)LIANA__MAX_CLASSES);
    }
    for (int64_t i = 0; weights && i < count; i++) {
        if (weights[i] >= 0 && weights[i] <= 1e30) continue;
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "class_weights[%lld] is %g, expected a number of at least 0",
                           (long long)i, weights[i]);
    }
    return LIANA_OK;
}

static liana_status check_data_memory(const liana__job_door *door, int64_t mebibytes, liana__error *error)
{
    char found[32];
    if (mebibytes >= 0 && mebibytes <= 1 << 24) return LIANA_OK;
    snprintf(found, sizeof found, "%lld", (long long)mebibytes);
    return liana__job_refuse(door, error, "data_memory", found, "0 to %d MiB", 1 << 24);
}

/* The members that are structs of the interface, and those that are data's in a configuration. */
static liana_status take_others(const liana__job_door *door, const void *given, liana__job_options *options,
                                liana__error *error)
{
    const liana_fit_options *fit = given;
    const liana_evaluate_options *evaluate = given;
    const liana_run_config *config = given;
    switch (door->kind) {
    case LIANA__DOOR_FIT:
        options->own_strategy = fit->strategy;
        options->objective = (liana__named_objective){fit->loss, fit->losses, fit->metrics, fit->output_metrics};
        options->weights = fit->class_weights;
        options->num_weights = fit->class_weights ? fit->num_class_weights : 0;
        LIANA_TRY(check_weights(fit->class_weights, fit->num_class_weights, error));
        return check_data_memory(door, fit->data_memory, error);
    case LIANA__DOOR_EVALUATE:
        options->own_strategy = evaluate->strategy;
        options->objective =
            (liana__named_objective){evaluate->loss, evaluate->losses, evaluate->metrics, evaluate->output_metrics};
        options->optimizer = NULL;
        return LIANA_OK;
    default: options->own_strategy = config->strategy; return check_data_memory(door, config->data_memory, error);
    }
}

liana_status liana__job_defaults(liana__arena *arena, liana__job_options *options, liana__error *error)
{
    *options = (liana__job_options){0};
    LIANA_TRY(liana__fields_default(&liana__job_train_fields, arena, options, error));
    LIANA_TRY(liana__fields_default(&liana__job_checkpoint_fields, arena, &options->checkpoint, error));
    options->is_of_program = true;
    options->loss = options->strategy = NULL;
    options->epochs = 0; /* liana__job_find_epochs */
    return LIANA_OK;
}

liana_status liana__job_take(const liana__job_door *door, const void *given, const liana__job_options *defaults,
                             liana__arena *arena, liana__job_options *options, liana__error *error)
{
    if (!defaults) LIANA_TRY(liana__job_defaults(arena, options, error));
    if (defaults) *options = *defaults;
    for (size_t i = 0; i < COUNT(rows); i++) {
        const option one = option_at(i);
        const door_member *from = &one.row->doors[door->kind];
        if (!from->name) continue;
        LIANA_TRY(
            take_member(door, &one, (const char *)given + from->offset, (char *)options + one.offset, arena, error));
    }
    return take_others(door, given, options, error);
}

/* ---- checks ---- */

static liana_status check_stop_at(const liana__job_options *options, const liana__job_door *door, liana__error *error)
{
    char found[80];
    time_t moment;
    if (!options->stop_at || liana__wall_clock_read(options->stop_at, time(NULL), &moment)) return LIANA_OK;
    snprintf(found, sizeof found, "'%.60s'", options->stop_at);
    return liana__job_refuse(door, error, "stop_at", found,
                             "a time: 2026-11-23T06:00, 2026-11-23T06:00:00+01:00, or 06:00");
}

liana_status liana__job_check(const liana__job_options *options, const liana__job_door *door, liana__error *error)
{
    char found[64];
    LIANA_TRY(check_stop_at(options, door, error));
    if (!options->epochs || options->initial_epoch < options->epochs) return LIANA_OK;
    snprintf(found, sizeof found, "%s%lld", door->place ? "the number " : "", (long long)options->initial_epoch);
    return liana__job_refuse(door, error, "initial_epoch", found,
                             "less than %sepochs, which is %lld: epochs counts the initial ones", door->prefix,
                             (long long)options->epochs);
}

void liana__job_find_epochs(liana__job_options *options, bool given)
{
    const bool is_limited = options->steps || options->max_minutes > 0 || options->stop_at;
    if (!given) options->epochs = is_limited ? 0 : 1 + options->initial_epoch;
}

liana_status liana__job_check_decay(const liana__job_options *options, const liana_learning_rate *rate,
                                    const liana__job_door *door, liana__error *error)
{
    static const char key[] = "train.optimizer.learning_rate";
    if (options->epochs || options->steps || liana__learning_rate_has_length(rate)) return LIANA_OK;
    const char *prefix = door->prefix;
    const liana__place place = door->place ? door->place(door->user, key) : (liana__place){0};
    return liana__fail_at(error, &place, door->place ? key : NULL,
                          "%s decays to the end of the %s, which is not known with %s%s alone; give decay_steps or "
                          "decay_epochs, or %sepochs or %ssteps as well",
                          rate->schedule->part.name, door->noun, prefix, options->stop_at ? "stop_at" : "max_minutes",
                          prefix, prefix);
}

/* ---- values ---- */

liana_status liana__job_value(const liana__job_options *options, const liana__value *value, const char *name,
                              liana__arena *arena, const liana__value **read, liana__error *error)
{
    liana__value *parsed;
    *read = value;
    if (!value || !options->is_of_program) return LIANA_OK;
    LIANA_TRY(liana__yaml_parse(value->string, strlen(value->string), name, arena, &parsed, error));
    *read = parsed;
    return LIANA_OK;
}

liana_status liana__job_optimizer_value(const liana__job_options *options, liana__arena *arena,
                                        const liana__value **map, liana__error *error)
{
    *map = options->optimizer;
    if (!options->is_of_program) return LIANA_OK;
    liana__value *parsed;
    LIANA_TRY(liana__optimizer_text_read(options->optimizer->string, arena, &parsed, error));
    *map = parsed;
    return LIANA_OK;
}

int64_t liana__job_evaluation_batch_size(const liana__job_options *options)
{
    int64_t validation = options->validation_batch_size ? options->validation_batch_size : options->batch_size;
    int64_t prediction = options->prediction_batch_size ? options->prediction_batch_size : validation;
    return prediction > validation ? prediction : validation;
}

/* ---- comparing ---- */

static void add_fact(liana__facts *facts, const option *one, const char *name, const void *member)
{
    switch (one->field->kind) {
    case LIANA__FIELD_BOOL: liana__facts_add_number(facts, name, *(const bool *)member); return;
    case LIANA__FIELD_INT:
        if (one->row->is_unsigned) {
            liana__facts_add_seed(facts, *(const uint64_t *)member);
        } else {
            liana__facts_add_number(facts, name, (double)*(const int64_t *)member);
        }
        return;
    case LIANA__FIELD_FLOAT: liana__facts_add_number(facts, name, *(const double *)member); return;
    case LIANA__FIELD_ENUM: liana__facts_add(facts, name, one->field->names[*(const int *)member]); return;
    case LIANA__FIELD_STRING: liana__facts_add(facts, name, *(const char *const *)member); return;
    default: break;
    }
    const liana__value *text = *(const liana__value *const *)member;
    liana__facts_add(facts, name, text ? text->string : NULL);
}

void liana__job_add_facts(const liana__job_options *options, liana__job_door_kind door, liana__facts *facts)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const option one = option_at(i);
        const char *name = one.row->doors[door].name;
        if (name && one.row->compared) add_fact(facts, &one, name, (const char *)options + one.offset);
    }
    for (int64_t i = 0; i < options->num_weights; i++) {
        char name[64];
        snprintf(name, sizeof name, "class_weights[%lld]", (long long)i);
        liana__facts_add_number(facts, name, options->weights[i]);
    }
    LIANA__SCOPED(liana__text) text = {0};
    liana__describe_objective(&options->objective, &text);
    if (text.failed) facts->message.failed = true;
    liana__facts_add(facts, "loss and metrics", text.data);
}

static void add_text(liana__text *text, const char *added)
{
    liana__text_add_bytes(text, added ? added : "", added ? strlen(added) + 1 : 1);
}

static void describe_member(const liana__field *field, const void *member, liana__text *text)
{
    const liana__value *value;
    switch (field->kind) {
    case LIANA__FIELD_BOOL: liana__text_add_bytes(text, member, sizeof(bool)); return;
    case LIANA__FIELD_INT: liana__text_add_bytes(text, member, sizeof(int64_t)); return;
    case LIANA__FIELD_FLOAT: liana__text_add_bytes(text, member, sizeof(double)); return;
    case LIANA__FIELD_ENUM: liana__text_add_bytes(text, member, sizeof(int)); return;
    case LIANA__FIELD_STRING: add_text(text, *(const char *const *)member); return;
    default: value = *(const liana__value *const *)member; add_text(text, value ? value->string : NULL);
    }
}

void liana__job_describe(const liana__job_options *options, liana__text *text)
{
    for (size_t i = 0; i < COUNT(rows); i++) {
        const option one = option_at(i);
        if (one.row->compiled) describe_member(one.field, (const char *)options + one.offset, text);
    }
    liana__strategy_print(&options->own_strategy, text);
    liana__text_add_bytes(text, (const char *)&options->num_weights, sizeof options->num_weights);
    if (options->num_weights) {
        size_t size = (size_t)options->num_weights * sizeof *options->weights;
        liana__text_add_bytes(text, (const char *)options->weights, size);
    }
    liana__describe_objective(&options->objective, text);
}
