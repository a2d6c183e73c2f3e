/* Reads Keras's compile settings. */
#include "train/model/keras_compile.h"

#include "base/value_read.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "optimizers/optimizer.h"
#include "train/model/keras_compile_names.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    const liana_model *model;
    const char *where;
    bool keras3;
    liana__arena *arena;
    liana__error *error;
} reader;

/* ---- values ---- */

/* Keras keeps rates in float32, and writes 0.0010000000474974513 for 0.001. Returns the shortest of the numbers that
 * are the same one in float32. */
static double shortest(double number)
{
    if (!isfinite(number) || (double)(float)number != number) return number;
    char text[40];
    for (int digits = 1; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, number);
        const double read = strtod(text, NULL);
        if ((float)read == (float)number) return read;
    }
    return number;
}

/* A copy that keeps its place. */
static liana__value *copy_of(const reader *r, const liana__value *value)
{
    liana__value *copy = value->kind == LIANA__VALUE_FLOAT ? liana__value_float(r->arena, shortest(value->number))
                                                           : liana__value_copy(r->arena, value);
    if (copy) copy->place = value->place;
    return copy;
}

static void set(const reader *r, liana__value *map, const char *key, const liana__value *value)
{
    liana__value *copy = copy_of(r, value);
    if (map && copy) liana__value_append(r->arena, map, key, &value->place, copy);
}

static liana__value *new_map(const reader *r, const liana__value *from)
{
    liana__value *map = liana__value_map(r->arena);
    if (map) map->place = from->place;
    return map;
}

static liana_status give_memory(const reader *r)
{
    return r->arena->failed ? liana__fail_memory(r->error, "the compile settings") : LIANA_OK;
}

static bool is_null(const liana__value *value)
{
    return !value || value->kind == LIANA__VALUE_NULL;
}

static bool is_one_of(const char *key, const char *const *names)
{
    for (size_t i = 0; names[i]; i++) {
        if (strcmp(names[i], key) == 0) return true;
    }
    return false;
}

/* A key that must have the value of nothing: `usual`, or null. */
typedef struct usual_value {
    const char *key;
    double number;
    const char *text;
    const char *expected;
} usual_value;

static bool is_usual(const usual_value *row, const liana__value *value)
{
    if (is_null(value)) return true;
    if (value->kind == LIANA__VALUE_STRING) return row->text && strcmp(row->text, value->string) == 0;
    if (value->kind == LIANA__VALUE_BOOL) return row->number == 0 && !value->boolean;
    return liana__value_is_number(value) && value->number == row->number;
}

/* *skip: the key is among the rows. Errors: UNIMPLEMENTED where its value says something. */
static liana_status check_usual(const reader *r, const usual_value *rows, size_t count, const char *key,
                                const liana__value *value, const char *where, bool *skip)
{
    *skip = false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(rows[i].key, key) != 0) continue;
        *skip = true;
        if (!is_usual(&rows[i], value)) return liana__keras_lacks(value, where, key, rows[i].expected, r->error);
    }
    return LIANA_OK;
}
#define CHECK_USUAL(r, rows, key, value, where, skip) \
    check_usual(r, rows, sizeof(rows) / sizeof *(rows), key, value, where, skip)

/* ---- a class with its options ---- */

typedef struct object {
    const char *name; /* of the class, without "Custom>", or of a function */
    const liana__value *config;
    bool is_function;
} object;

/* "mse"; {"class_name": "MeanSquaredError", "config": {...}}; {"class_name": "function", "config": "mse"}; Keras 2's
 * wrappers of functions, {"class_name": "MeanMetricWrapper", "config": {"fn": "mse"}}. */
static liana_status read_object(const reader *r, const liana__value *value, const char *where, object *own)
{
    static const char *const wrappers[] = {"MeanMetricWrapper", "LossFunctionWrapper", NULL};
    *own = (object){.name = value->kind == LIANA__VALUE_STRING ? value->string : NULL, .is_function = true};
    if (own->name) return LIANA_OK;
    const char *name = liana__value_text_of(value, "class_name", NULL);
    own->config = liana__value_get(value, "config");
    if (name && own->config && own->config->kind == LIANA__VALUE_STRING) {
        own->name = own->config->string;
        own->config = NULL;
        return LIANA_OK;
    }
    if (is_null(own->config)) own->config = NULL;
    if (own->config && own->config->kind != LIANA__VALUE_MAP) name = NULL;
    if (name && is_one_of(name, wrappers)) {
        own->name = liana__value_text_of(own->config, "fn", NULL);
        if (own->name) return LIANA_OK;
    } else if (name) {
        const char *package = strrchr(name, '>');
        own->name = package ? package + 1 : name;
        own->is_function = false;
        return LIANA_OK;
    }
    return liana__keras_lacks(value, r->where, where, "a name, or an object with class_name and config", r->error);
}

/* ---- losses ---- */

static liana_status read_loss(const reader *r, const liana__value *value, const char *where, liana__value **loss)
{
    static const char *const neutral[] = {"name", "fn", "dtype", NULL};
    /* Also of losses that have no such option here. */
    static const usual_value usual[] = {{"from_logits", 0, NULL, NULL},
                                        {"label_smoothing", 0, NULL, NULL},
                                        {"axis", -1, NULL, NULL},
                                        {"reduction", NAN, "sum_over_batch_size", NULL},
                                        {"reduction", NAN, "auto", NULL},
                                        {"reduction", NAN, "mean", NULL}};
    object own;
    LIANA_TRY(read_object(r, value, where, &own));
    liana__keras_name row;
    const bool known = liana__keras_find(&liana__loss_kind, own.name, &row);
    liana__value *map = new_map(r, value), *name = liana__value_string(r->arena, known ? row.liana : own.name);
    if (name) name->place = value->place;
    if (map) liana__value_set(r->arena, map, "name", name);
    for (size_t i = 0; map && own.config && i < own.config->count; i++) {
        const char *key = own.config->keys[i];
        const liana__value *item = own.config->items[i];
        const bool no_reduction = strcmp(key, "reduction") == 0 && is_null(item);
        if (no_reduction) {
            return liana__keras_lacks(item, where, key,
                                      "sum_over_batch_size, sum or mean_with_sample_weight: one "
                                      "number is trained on",
                                      r->error);
        }
        bool skip = is_null(item) || is_one_of(key, neutral);
        for (size_t k = 0; k < sizeof usual / sizeof *usual; k++) {
            skip = skip || (strcmp(usual[k].key, key) == 0 && is_usual(&usual[k], item));
        }
        if (!skip) set(r, map, key, item);
    }
    LIANA_TRY(give_memory(r));
    *loss = map->count > 1 ? map : name;
    liana__loss_choice choice;
    return liana__loss_read(r->model->context, *loss, where, r->arena, &choice, r->error);
}

/* ---- metrics ---- */

/* The name that the user gave; NULL: one of Keras's own, such as "auc_2". */
static const char *own_name(const object *own, const liana__keras_name *row)
{
    const char *name = own->is_function ? NULL : liana__value_text_of(own->config, "name", NULL);
    if (!name) return NULL;
    const size_t length = strlen(row->function);
    if (strncmp(name, row->function, length) != 0) return name;
    const char *end = name + length;
    const bool counted = !*end || (*end == '_' && end[1] && !end[1 + strspn(end + 1, "0123456789")]);
    return counted ? NULL : name;
}

/* Whether null is the word none, and not the default. */
static bool means_none(const liana_options *table, const char *key)
{
    const liana_option *row = table ? liana__fields_find(table, key) : NULL;
    const bool is_word = row && row->kind == LIANA_OPTION_ENUM && is_one_of("none", row->names);
    return is_word && strcmp(row->default_text ? row->default_text : row->names[0], "none") != 0;
}

/* An option of a metric as it is here. Nothing is set if it says nothing. */
static void read_metric_option(const reader *r, const liana_options *table, const char *key, const liana__value *item,
                               liana__value *map)
{
    static const char *const neutral[] = {"name", "fn", NULL};
    const bool is_false = strcmp(key, "from_logits") == 0 && item->kind == LIANA__VALUE_BOOL && !item->boolean;
    const bool is_last = strcmp(key, "axis") == 0 && liana__value_is_number(item) && item->number == -1;
    if (is_null(item) && means_none(table, key)) {
        liana__value_set(r->arena, map, key, liana__value_string(r->arena, "none"));
    }
    if (is_null(item) || is_one_of(key, neutral) || is_false || is_last) return;
    if (strcmp(key, "dtype") == 0) {
        /* Some have int, which leaves fractions of weights out. */
        const bool is_float = item->kind == LIANA__VALUE_STRING && strncmp(item->string, "float", 5) == 0;
        if (!table || !liana__fields_find(table, key) || !is_float) return;
        liana__value_set(r->arena, map, key, liana__value_string(r->arena, "float32"));
        return;
    }
    const bool is_one = strcmp(key, "thresholds") == 0 && item->kind == LIANA__VALUE_LIST && item->count == 1;
    set(r, map, key, is_one ? item->items[0] : item);
}

static liana_status read_metric(const reader *r, const liana__value *value, const char *where, liana__value **metric)
{
    object own;
    LIANA_TRY(read_object(r, value, where, &own));
    liana__keras_name row;
    const bool known = liana__keras_find(&liana__metric_kind, own.name, &row);
    const liana_metric_type *type = known ? liana__part_find(NULL, &liana__metric_kind, row.liana, NULL) : NULL;
    liana__value *map = new_map(r, value), *name = liana__value_string(r->arena, known ? row.liana : own.name);
    if (name) name->place = value->place;
    if (map) liana__value_set(r->arena, map, "name", name);
    const char *as = known ? own_name(&own, &row) : NULL;
    if (map && as) liana__value_set(r->arena, map, "as", liana__value_string(r->arena, as));
    for (size_t i = 0; map && own.config && i < own.config->count; i++) {
        read_metric_option(r, type ? liana__metric_options(type) : NULL, own.config->keys[i], own.config->items[i],
                           map);
    }
    LIANA_TRY(give_memory(r));
    *metric = map->count > 1 ? map : name;
    liana__metric_choice choice;
    return liana__metric_read(r->model->context, *metric, where, r->arena, &choice, r->error);
}

/* The name that a metric is reported under. NULL: it cannot be read. */
static const char *reported_name(const reader *r, const liana__value *metric)
{
    liana__metric_choice choice;
    const liana_status status = liana__metric_read(r->model->context, metric, "metrics", r->arena, &choice, NULL);
    return status == LIANA_OK ? choice.name : NULL;
}

/* {name: ..., weighted: true}; as in Keras, "weighted_NAME" where a metric of that name is in the list. */
static liana__value *weighted_metric(const reader *r, const liana__value *metric, const liana__value *list)
{
    const bool is_map = metric->kind == LIANA__VALUE_MAP;
    liana__value *map = is_map ? liana__value_copy(r->arena, metric) : new_map(r, metric);
    const char *name = reported_name(r, metric);
    if (map && !is_map) liana__value_set(r->arena, map, "name", liana__value_copy(r->arena, metric));
    if (map) liana__value_set(r->arena, map, "weighted", liana__value_bool(r->arena, true));
    for (size_t i = 0; map && name && i < list->count; i++) {
        const char *other = reported_name(r, list->items[i]);
        if (!other || strcmp(other, name) != 0) continue;
        const char *as = liana__arena_format(r->arena, "weighted_%s", name);
        liana__value_set(r->arena, map, "as", liana__value_string(r->arena, as));
    }
    return map;
}

/* Adds the metrics of an output to its list. */
static liana_status read_metrics(const reader *r, const liana__value *value, bool weighted, const char *where,
                                 liana__value *list)
{
    const bool is_list = value && value->kind == LIANA__VALUE_LIST;
    const size_t count = is_list ? value->count : !is_null(value);
    if (value && !list->count) list->place = value->place;
    for (size_t i = 0; i < count; i++) {
        const liana__value *item = is_list ? value->items[i] : value;
        liana__value *metric = NULL;
        if (is_null(item)) continue;
        LIANA_TRY(read_metric(r, item, where, &metric));
        liana__value_add(r->arena, list, weighted ? weighted_metric(r, metric, list) : metric);
    }
    return give_memory(r);
}

/* ---- outputs ---- */

static bool is_object(const liana__value *value)
{
    return value->kind == LIANA__VALUE_MAP && liana__value_get(value, "class_name");
}

/* Refuses names that are no outputs, and lists of another length. */
static liana_status check_outputs(const reader *r, const liana__value *value, const char *key)
{
    const size_t count = liana__model_num_outputs(r->model);
    char expected[160];
    if (value->kind == LIANA__VALUE_LIST && value->count != count) {
        snprintf(expected, sizeof expected, "one for each of the model's %zu outputs", count);
        return liana__keras_lacks(value, r->where, key, expected, r->error);
    }
    for (size_t i = 0; value->kind == LIANA__VALUE_MAP && i < value->count; i++) {
        bool known = false;
        for (size_t k = 0; k < count; k++) {
            known = known || strcmp(liana__model_output(r->model, k).name, value->keys[i]) == 0;
        }
        if (known) continue;
        liana__fail_at(r->error, &value->place, r->where, "%s: the model has no output '%.60s'; its first is '%.60s'",
                       key, value->keys[i], count ? liana__model_output(r->model, 0).name : "");
        return LIANA_INVALID_CONFIG;
    }
    return LIANA_OK;
}

/* Of output `index`; NULL: nothing. `shared`: one value is for all outputs. */
static const liana__value *of_output(const reader *r, const liana__value *value, size_t index, bool shared)
{
    if (shared) return value;
    if (value->kind == LIANA__VALUE_LIST) return value->items[index];
    return liana__value_get(value, liana__model_output(r->model, index).name);
}

static liana_status read_losses(const reader *r, const liana__value *value, liana__value *train)
{
    const size_t count = liana__model_num_outputs(r->model);
    const bool shared = value->kind == LIANA__VALUE_STRING || is_object(value);
    char where[200];
    if (!shared) LIANA_TRY(check_outputs(r, value, "loss"));
    liana__value *map = new_map(r, value), *loss = NULL;
    for (size_t i = 0; map && i < count; i++) {
        const liana__value *item = of_output(r, value, i, shared);
        const char *name = liana__model_output(r->model, i).name;
        snprintf(where, sizeof where, count > 1 ? "%.80s.loss.%.80s" : "%.80s.loss", r->where, name);
        if (!is_null(item)) LIANA_TRY(read_loss(r, item, where, &loss));
        liana__value_set(r->arena, map, name, is_null(item) ? liana__value_null(r->arena) : loss);
    }
    liana__value_set(r->arena, train, "loss", count == 1 ? loss : map);
    return give_memory(r);
}

static liana_status read_loss_weights(const reader *r, const liana__value *value, liana__value *train)
{
    const bool shared = liana__value_is_number(value);
    if (!shared) LIANA_TRY(check_outputs(r, value, "loss_weights"));
    liana__value *map = new_map(r, value);
    for (size_t i = 0; map && i < liana__model_num_outputs(r->model); i++) {
        const liana__value *item = of_output(r, value, i, shared);
        if (is_null(item)) continue;
        if (!liana__value_is_number(item)) {
            return liana__keras_lacks(item, r->where, "loss_weights", "a number", r->error);
        }
        if (item->number != 1) set(r, map, liana__model_output(r->model, i).name, item);
    }
    if (map && map->count) liana__value_set(r->arena, train, "loss_weights", map);
    return give_memory(r);
}

/* Whether a list has an item for each output. Keras 2 takes a flat one for all of them. */
static bool lists_outputs(const reader *r, const liana__value *value)
{
    if (value->kind != LIANA__VALUE_LIST) return false;
    bool nested = false;
    for (size_t i = 0; i < value->count; i++) nested = nested || value->items[i]->kind == LIANA__VALUE_LIST;
    return nested || (r->keras3 && liana__model_num_outputs(r->model) > 1);
}

static liana_status read_listed_metrics(const reader *r, const liana__value *value, const char *key,
                                        liana__value *const *lists)
{
    const size_t count = liana__model_num_outputs(r->model);
    const bool empty = is_null(value) || ((value->kind == LIANA__VALUE_LIST) && value->count == 0);
    const bool by_output =
        !empty && (lists_outputs(r, value) || (value->kind == LIANA__VALUE_MAP && !is_object(value)));
    const bool weighted = strcmp(key, "weighted_metrics") == 0;
    char where[200];
    if (by_output) LIANA_TRY(check_outputs(r, value, key));
    for (size_t i = 0; !empty && i < count; i++) {
        const liana__value *item = of_output(r, value, i, !by_output);
        const char *name = liana__model_output(r->model, i).name;
        snprintf(where, sizeof where, count > 1 ? "%.80s.%s.%.80s" : "%.80s.%s", r->where, key, name);
        LIANA_TRY(read_metrics(r, item, weighted, where, lists[i]));
    }
    return LIANA_OK;
}

static liana_status read_all_metrics(const reader *r, const liana__value *settings, liana__value *train)
{
    const size_t count = liana__model_num_outputs(r->model);
    liana__value **lists = liana__arena_allocate(r->arena, (count + 1) * sizeof *lists);
    liana__value *map = liana__value_map(r->arena);
    bool found = false;
    for (size_t i = 0; lists && i <= count; i++) lists[i] = liana__value_list(r->arena);
    LIANA_TRY(give_memory(r));
    static const char *const keys[] = {"metrics", "weighted_metrics"};
    for (size_t i = 0; i < 2; i++)
        LIANA_TRY(read_listed_metrics(r, liana__value_get(settings, keys[i]), keys[i], lists));
    for (size_t i = 0; i < count; i++) {
        found = found || lists[i]->count;
        if (lists[i]->count) liana__value_set(r->arena, map, liana__model_output(r->model, i).name, lists[i]);
    }
    liana__value_set(r->arena, train, "metrics", count == 1 || !found ? lists[0] : map);
    return give_memory(r);
}

/* ---- the optimizer ---- */

/* Keras's warm-up goes from its initial rate to warmup_target, at which the decay begins. */
static void turn_warmup(const reader *r, liana__value *schedule)
{
    const liana__value *target = liana__value_get(schedule, "warmup_target");
    const liana__value *initial = liana__value_get(schedule, "initial_learning_rate");
    if (target && initial && target->kind != LIANA__VALUE_NULL) {
        liana__value *begin = copy_of(r, initial), *end = copy_of(r, target);
        liana__value_set(r->arena, schedule, "initial_learning_rate", end);
        liana__value_set(r->arena, schedule, "warmup_learning_rate", begin);
    } else {
        liana__value_remove(schedule, "warmup_steps");
    }
    liana__value_remove(schedule, "warmup_target");
}

static liana_status read_schedule(const reader *r, const liana__value *value, const char *where, liana__value **rate)
{
    object own;
    LIANA_TRY(read_object(r, value, where, &own));
    liana__value *map = new_map(r, value);
    if (map) liana__value_set(r->arena, map, "name", liana__value_string(r->arena, own.name));
    for (size_t i = 0; map && own.config && i < own.config->count; i++) {
        const bool is_name = strcmp(own.config->keys[i], "name") == 0;
        if (!is_name && !is_null(own.config->items[i])) set(r, map, own.config->keys[i], own.config->items[i]);
    }
    LIANA_TRY(give_memory(r));
    turn_warmup(r, map);
    *rate = map;
    return give_memory(r);
}

/* Keras 1 and 2: the rate of update i is rate / (1 + decay * i). */
static liana__value *decayed_rate(const reader *r, const liana__value *rate, const liana__value *decay)
{
    liana__value *map = new_map(r, rate);
    if (!map) return NULL;
    liana__value_set(r->arena, map, "name", liana__value_string(r->arena, "InverseTimeDecay"));
    liana__value_set(r->arena, map, "initial_learning_rate", copy_of(r, rate));
    liana__value_set(r->arena, map, "decay_steps", liana__value_int(r->arena, 1));
    liana__value_set(r->arena, map, "decay_rate", copy_of(r, decay));
    return map;
}

static liana_status read_rate(const reader *r, const liana__value *config, const char *where, liana__value *optimizer)
{
    const liana__value *rate = liana__value_get(config, "learning_rate"), *decay = liana__value_get(config, "decay");
    if (!rate) rate = liana__value_get(config, "lr");
    if (is_null(rate)) return LIANA_OK;
    liana__value *made = NULL;
    if (rate->kind == LIANA__VALUE_MAP) {
        LIANA_TRY(read_schedule(r, rate, where, &made));
    } else if (liana__value_is_number(decay) && decay->number != 0) {
        made = decayed_rate(r, rate, decay);
    } else {
        made = copy_of(r, rate);
    }
    if (made) liana__value_append(r->arena, optimizer, "learning_rate", &rate->place, made);
    return give_memory(r);
}

/* Whether null is 0: of a number that has another default. */
static bool means_zero(const reader *r, const char *optimizer, const char *key)
{
    const liana_part *part = liana__part_find(r->model->context, &liana__optimizer_kind, optimizer, NULL);
    const liana_option *row = part ? liana__fields_find(&part->options, key) : NULL;
    return row && row->kind == LIANA_OPTION_FLOAT && row->default_text && strcmp(row->default_text, "null") != 0;
}

static liana_status read_options(const reader *r, const object *own, const char *where, liana__value *map)
{
    static const char *const neutral[] = {"name",        "learning_rate",       "lr", "decay",
                                          "jit_compile", "is_legacy_optimizer", NULL};
    static const usual_value usual[] = {
        {"schedule_decay", 0.004, NULL, "0.004"},
    };
    const bool averages = liana__value_true_of(own->config, "use_ema");
    for (size_t i = 0; own->config && i < own->config->count; i++) {
        const char *key = own->config->keys[i];
        const liana__value *item = own->config->items[i];
        const bool of_average = strcmp(key, "ema_momentum") == 0 || strcmp(key, "use_ema") == 0;
        bool skip = is_null(item) || (of_average ? !averages : is_one_of(key, neutral));
        skip = skip || (strcmp(key, "ema_overwrite_frequency") == 0 && !averages);
        if (!skip && !of_average) LIANA_TRY(CHECK_USUAL(r, usual, key, item, where, &skip));
        if (is_null(item) && means_zero(r, own->name, key)) {
            liana__value_set(r->arena, map, key, liana__value_float(r->arena, 0));
        }
        if (!skip) set(r, map, key, item);
    }
    return give_memory(r);
}

static liana_status read_optimizer(const reader *r, const liana__value *value, const char *where,
                                   liana__value **optimizer);

/* An optimizer within another one. */
static liana_status read_inner(const reader *r, const liana__value *value, const char *where, const char *key,
                               liana__value *map)
{
    liana__value *inner;
    LIANA_TRY(read_optimizer(r, value, where, &inner));
    liana__value_append(r->arena, map, key, &value->place, inner);
    return give_memory(r);
}

/* Its own rate and the options that every optimizer has say nothing. */
static liana_status read_scaled(const reader *r, const object *own, const char *where, liana__value *map)
{
    static const char *const keys[] = {"initial_scale", "dynamic_growth_steps", NULL};
    for (size_t i = 0; keys[i]; i++) {
        const liana__value *item = liana__value_get(own->config, keys[i]);
        if (!is_null(item)) set(r, map, keys[i], item);
    }
    return read_inner(r, liana__value_get(own->config, "inner_optimizer"), where, "inner_optimizer", map);
}

/* A Sequential's weights have its name before theirs in the process that made it, and not once it was read. */
static const char *pattern_of(const reader *r, const char *key)
{
    const char *name = r->model->name ? r->model->name : "", *rest = key + (*key == '^');
    const size_t length = strlen(name);
    const bool is_prefixed = length && strncmp(rest, name, length) == 0 && rest[length] == '/';
    return is_prefixed ? rest + length + 1 : key;
}

static liana_status read_multi(const reader *r, const object *own, const char *where, liana__value *map)
{
    object given;
    const liana__value *value = liana__value_get(own->config, "optimizer_map");
    const liana__value *factor = liana__value_get(own->config, "loss_scale_factor");
    if (is_null(value)) return liana__keras_lacks(own->config, where, "optimizer_map", "an OptimizerMap", r->error);
    LIANA_TRY(read_object(r, value, where, &given));
    const liana__value *usual = liana__value_get(given.config, "default_optimizer"),
                       *items = liana__value_get(given.config, "optimizer_map");
    if (strcmp(given.name, "OptimizerMap") != 0 || is_null(usual)) {
        return liana__keras_lacks(value, where, "optimizer_map",
                                  "an OptimizerMap: a Python function does not stand in a file", r->error);
    }
    liana__value *made = new_map(r, value), *list = new_map(r, items ? items : value);
    if (!made || !list) return liana__fail_memory(r->error, "the compile settings");
    LIANA_TRY(read_inner(r, usual, where, "default_optimizer", made));
    for (size_t i = 0; items && items->kind == LIANA__VALUE_MAP && i < items->count; i++) {
        LIANA_TRY(read_inner(r, items->items[i], where, pattern_of(r, items->keys[i]), list));
    }
    liana__value_append(r->arena, made, "optimizer_map", &list->place, list);
    liana__value_append(r->arena, map, "optimizer_map", &value->place, made);
    if (!is_null(factor)) set(r, map, "loss_scale_factor", factor);
    return give_memory(r);
}

static liana_status read_optimizer(const reader *r, const liana__value *value, const char *where,
                                   liana__value **optimizer)
{
    object own;
    LIANA_TRY(read_object(r, value, where, &own));
    const liana__value *inner = liana__value_get(own.config, "inner_optimizer"),
                       *dynamic = liana__value_get(own.config, "dynamic");
    const bool is_scaled = strcmp(own.name, "LossScaleOptimizer") == 0 && inner;
    /* Keras 2: a scale that stays, which gradients are divided by again. */
    if (is_scaled && dynamic && dynamic->kind == LIANA__VALUE_BOOL && !dynamic->boolean) {
        return read_optimizer(r, inner, where, optimizer);
    }
    liana__value *map = *optimizer = new_map(r, value);
    if (!map) return liana__fail_memory(r->error, "the compile settings");
    liana__value_set(r->arena, map, "name", liana__value_string(r->arena, own.name));
    if (is_scaled) return read_scaled(r, &own, where, map);
    if (strcmp(own.name, "MultiOptimizer") == 0) return read_multi(r, &own, where, map);
    LIANA_TRY(read_rate(r, own.config, where, map));
    return read_options(r, &own, where, map);
}

static liana_status take_optimizer(const reader *r, const liana__value *value, liana__value *train)
{
    char where[200];
    liana__value *map;
    liana__optimizer_choice choice;
    snprintf(where, sizeof where, "%.80s.optimizer", r->where);
    LIANA_TRY(read_optimizer(r, value, where, &map));
    LIANA_TRY(liana__optimizer_read(r->model->context, map, where, r->arena, &choice, r->error));
    liana__value_set(r->arena, train, "optimizer", map);
    return give_memory(r);
}

/* ---- the settings ---- */

static liana_status read_settings(const reader *r, const liana__value *settings, liana__value *train)
{
    static const usual_value usual[] = {
        {"sample_weight_mode", NAN, NULL, "null"},
    };
    const liana__value *optimizer = liana__value_get(settings, "optimizer");
    const liana__value *loss = liana__value_get(settings, "loss"),
                       *weights = liana__value_get(settings, "loss_weights");
    const liana__value *steps = liana__value_get(settings, "steps_per_execution");
    if (is_null(optimizer)) optimizer = liana__value_get(settings, "optimizer_config");
    for (size_t i = 0; i < settings->count; i++) {
        const liana__value *item = settings->items[i];
        bool skip, empty = item->kind == LIANA__VALUE_LIST && item->count == 0;
        if (!empty) LIANA_TRY(CHECK_USUAL(r, usual, settings->keys[i], item, r->where, &skip));
    }
    if (!is_null(optimizer)) LIANA_TRY(take_optimizer(r, optimizer, train));
    if (!is_null(loss)) LIANA_TRY(read_losses(r, loss, train));
    if (!is_null(weights)) LIANA_TRY(read_loss_weights(r, weights, train));
    LIANA_TRY(read_all_metrics(r, settings, train));
    const bool many = steps && steps->kind == LIANA__VALUE_INT && steps->integer > 1;
    if (many) set(r, train, "steps_per_execution", steps);
    return give_memory(r);
}

liana_status liana__keras_compile_read(const liana_model *model, const liana__value *settings, const char *where,
                                       bool keras3, liana__arena *arena, const liana__value **train,
                                       liana__error *error)
{
    const reader r = {model, where, keras3, arena, error};
    *train = NULL;
    if (!settings || settings->kind == LIANA__VALUE_NULL) return LIANA_OK;
    if (settings->kind != LIANA__VALUE_MAP) return liana__keras_lacks(settings, NULL, where, "a mapping", error);
    if (settings->count == 0) return LIANA_OK;
    liana__value *made = new_map(&r, settings);
    if (!made) return liana__fail_memory(error, "the compile settings");
    LIANA_TRY(read_settings(&r, settings, made));
    *train = made;
    return LIANA_OK;
}
