/* Writes Keras's compile settings. */
#include "train/model/keras_compile.h"

#include "base/value_read.h"
#include "losses/loss.h"
#include "metrics/metric.h"
#include "optimizers/optimizer.h"
#include "train/model/keras_compile_names.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct writer {
    const liana_model *model;
    liana__keras_compile_form form;
    liana__arena *arena;
    liana__error *error;
} writer;

static void set_text(const writer *w, liana__value *map, const char *key, const char *text)
{
    liana__value_set(w->arena, map, key, text ? liana__value_string(w->arena, text) : liana__value_null(w->arena));
}

/* HDF5 files have class_name and config alone; a schedule has its module there too. */
static liana__value *write_object(const writer *w, const char *module, const char *class_name, liana__value *config)
{
    const bool whole = w->form == LIANA__KERAS_COMPILE_CONFIG || strstr(module, "schedules");
    liana__value *map = liana__value_map(w->arena);
    if (!map) return NULL;
    if (whole) set_text(w, map, "module", module);
    set_text(w, map, "class_name", class_name);
    liana__value_set(w->arena, map, "config", config);
    if (whole) set_text(w, map, "registered_name", NULL);
    return map;
}

static liana_status give_memory(const writer *w)
{
    return w->arena->failed ? liana__fail_memory(w->error, "the compile settings") : LIANA_OK;
}

/* NaN stands for an option that is not given. */
static liana__value *or_null(const writer *w, liana__value *value)
{
    const bool none = value->kind == LIANA__VALUE_FLOAT && isnan(value->number);
    return none ? liana__value_null(w->arena) : value;
}

/* An option of liana's that Keras does not have, and the value that says nothing. */
typedef struct missing_option {
    const char *key;
    double usual;
} missing_option;

/* Refuses a value of such an option that says something, and takes the option from the map. */
static liana_status take_missing(const writer *w, liana__value *map, const missing_option *rows, size_t count,
                                 const char *where)
{
    for (size_t i = 0; i < count; i++) {
        const liana__value *value = liana__value_get(map, rows[i].key);
        if (!value) continue;
        bool says = value->kind == LIANA__VALUE_LIST ? value->count > 0 : value->kind == LIANA__VALUE_STRING;
        if (liana__value_is_number(value)) says = value->number != rows[i].usual && !isnan(value->number);
        if (says)
            return liana__keras_lacks(value, where, rows[i].key, "the default: Keras has no such option", w->error);
        liana__value_remove(map, rows[i].key);
    }
    return LIANA_OK;
}
#define TAKE_MISSING(w, map, rows, where) take_missing(w, map, rows, sizeof(rows) / sizeof *(rows), where)

/* A part that Keras does not have, by its name. */
static liana_status lacks_part(const writer *w, const liana__value *value, const char *where, const char *kind,
                               const char *name)
{
    liana__fail_at(w->error, value ? &value->place : NULL, where, "Keras has no %s '%.60s'", kind, name);
    if (w->error) w->error->status = LIANA_UNIMPLEMENTED;
    return LIANA_UNIMPLEMENTED;
}

/* ---- losses and metrics ---- */

/* Keras takes null where liana has a number or word for nothing. */
static void null_options(const writer *w, liana__value *options)
{
    static const struct {
        const char *key;
        double number;
        const char *text;
    } rows[] = {{"top_k", 0, NULL},      {"class_id", -1, NULL},          {"average", NAN, "none"},
                {"num_labels", 0, NULL}, {"ignore_class", INT_MIN, NULL}, {"class_aggregation", NAN, "none"},
                {"rms_rate", 0, NULL}};
    for (size_t i = 0; i < options->count; i++) {
        const liana__value *item = options->items[i] = or_null(w, options->items[i]);
        for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
            if (strcmp(rows[k].key, options->keys[i]) != 0) continue;
            const bool same = item->kind == LIANA__VALUE_STRING ? rows[k].text && !strcmp(rows[k].text, item->string)
                                                                : item->number == rows[k].number;
            if (same) options->items[i] = liana__value_null(w->arena);
        }
    }
}

/* Keras's loss of probabilities without logits is of class numbers alone. */
static bool has_logits(const liana_loss_type *loss)
{
    return loss->activation != LIANA_LOGITS_NONE && loss != &liana__loss_categorical_generalized_cross_entropy;
}

static liana_status write_loss(const writer *w, const liana__value *value, const char *where, liana__value **made)
{
    liana__loss_choice choice;
    LIANA_TRY(liana__loss_read(w->model->context, value, where, w->arena, &choice, w->error));
    static const char *const reductions[] = {"sum_over_batch_size", "sum", "mean_with_sample_weight"};
    liana__keras_name row;
    const bool known = liana__keras_find(&liana__loss_kind, choice.loss->part.name, &row) && row.class_name;
    if (!known) return lacks_part(w, value, where, "loss", choice.loss->part.name);
    liana__value *config = liana__value_map(w->arena);
    liana__value *options = liana__fields_write(&choice.loss->part.options, w->arena, choice.options);
    if (!config || !options) return liana__fail_memory(w->error, "the compile settings");
    set_text(w, config, "name", row.function);
    set_text(w, config, "reduction", reductions[choice.reduction]);
    null_options(w, options);
    if (has_logits(choice.loss)) {
        liana__value_set(w->arena, config, "from_logits", liana__value_bool(w->arena, choice.from_logits));
    }
    for (size_t i = 0; i < options->count; i++) {
        /* Keras 2, which reads HDF5 files too, knows it for few losses; there it is always the last axis. */
        const liana__value *item = options->items[i];
        const bool is_last =
            strcmp(options->keys[i], "axis") == 0 && item->kind == LIANA__VALUE_INT && item->integer == -1;
        if (is_last && w->form == LIANA__KERAS_TRAINING_CONFIG) continue;
        liana__value_set(w->arena, config, options->keys[i], options->items[i]);
    }
    *made = write_object(w, "keras.losses", row.class_name, config);
    return give_memory(w);
}

/* liana's top_k_accuracy takes either kind of targets. */
static const char *metric_class(const liana_metric_type *metric, const liana__keras_name *row, bool sparse)
{
    const bool top_k = metric == &liana__metric_top_k_accuracy || metric == &liana__metric_top_5_accuracy;
    if (!top_k) return row->class_name;
    return sparse ? "SparseTopKCategoricalAccuracy" : "TopKCategoricalAccuracy";
}

/* Metrics of liana see probabilities; those of Keras what the model gives. */
static void write_logits(const writer *w, const liana__metric_choice *choice, bool from_logits, liana__value *config)
{
    const liana_loss_type *loss = choice->metric->mean_of;
    const bool takes_them = choice->metric == &liana__metric_auc || (loss && has_logits(loss));
    if (!takes_them) return;
    liana__value_set(w->arena, config, "from_logits", liana__value_bool(w->arena, choice->from_logits || from_logits));
}

static liana_status write_metric(const writer *w, const liana__value *value, const char *where,
                                 const liana__loss_choice *loss, liana__value **made)
{
    liana__metric_choice choice;
    LIANA_TRY(liana__metric_read(w->model->context, value, where, w->arena, &choice, w->error));
    const bool sparse = loss->loss == &liana__loss_sparse_categorical_crossentropy;
    const char *name = choice.metric->part.name;
    liana__keras_name row = {0};
    liana__keras_find(&liana__metric_kind, name, &row);
    const char *class_name = metric_class(choice.metric, &row, sparse);
    const bool plain = choice.metric == &liana__metric_accuracy;
    if (!class_name && !plain) return lacks_part(w, value, where, "metric", name);
    if (plain && strcmp(choice.name, name) == 0) {
        *made = liana__value_string(w->arena, "accuracy");
        return give_memory(w);
    }
    if (plain) return liana__keras_lacks(value, where, "as", "the name accuracy, as Keras calls it", w->error);
    liana__value *config = liana__value_map(w->arena);
    liana__value *options = liana__fields_write(liana__metric_options(choice.metric), w->arena, choice.options);
    if (!config || !options) return liana__fail_memory(w->error, "the compile settings");
    set_text(w, config, "name", choice.name);
    set_text(w, config, "dtype", "float32");
    write_logits(w, &choice, loss->from_logits, config);
    if (choice.metric == &liana__metric_top_5_accuracy) {
        liana__value_set(w->arena, config, "k", liana__value_int(w->arena, 5));
    }
    null_options(w, options);
    for (size_t i = 0; i < options->count; i++) {
        liana__value_set(w->arena, config, options->keys[i], options->items[i]);
    }
    *made = write_object(w, "keras.metrics", class_name, config);
    return give_memory(w);
}

/* ---- outputs ---- */

/* Of output `index`: the only one's own value, or that of its name. */
static const liana__value *of_output(const writer *w, const liana__value *value, size_t index)
{
    const char *name = liana__model_output(w->model, index).name;
    const liana__value *named = value && value->kind == LIANA__VALUE_MAP ? liana__value_get(value, name) : NULL;
    return named || liana__model_num_outputs(w->model) > 1 ? named : value;
}

static bool is_null(const liana__value *value)
{
    return !value || value->kind == LIANA__VALUE_NULL;
}

/* The metrics of an output that are weighted, or those that are not. */
static liana_status write_metrics(const writer *w, const liana__value *list, const char *where,
                                  const liana__loss_choice *loss, bool weighted, liana__value **made)
{
    *made = liana__value_list(w->arena);
    const bool is_list = list && list->kind == LIANA__VALUE_LIST;
    const size_t count = is_null(list) ? 0 : is_list ? list->count : 1;
    for (size_t i = 0; *made && i < count; i++) {
        const liana__value *item = is_list ? list->items[i] : list;
        liana__value *metric = NULL;
        if (liana__value_true_of(item, "weighted") != weighted) continue;
        LIANA_TRY(write_metric(w, item, where, loss, &metric));
        liana__value_add(w->arena, *made, metric);
    }
    return give_memory(w);
}

/* Keras wants a weight of each output, or none at all. */
static liana__value *write_loss_weights(const writer *w, const liana__value *train)
{
    const liana__value *given = liana__value_get(train, "loss_weights");
    liana__value *weights = is_null(given) ? liana__value_null(w->arena) : liana__value_map(w->arena);
    for (size_t i = 0; weights && !is_null(given) && i < liana__model_num_outputs(w->model); i++) {
        const char *name = liana__model_output(w->model, i).name;
        const double weight = liana__value_number_of(given, name, 1);
        liana__value_set(w->arena, weights, name, liana__value_float(w->arena, weight));
    }
    return weights;
}

static liana_status write_objective(const writer *w, const liana__value *train, liana__value *settings)
{
    const size_t count = liana__model_num_outputs(w->model);
    const liana__value *losses = liana__value_get(train, "loss"), *metrics = liana__value_get(train, "metrics");
    liana__value *all = liana__value_map(w->arena), *made = NULL, *list[2] = {0};
    liana__value *lists[] = {liana__value_map(w->arena), liana__value_map(w->arena)};
    liana__value *usual = liana__value_string(w->arena, "sparse_categorical_crossentropy");
    bool any_weighted = false;
    if (is_null(losses) && count == 1) losses = usual;
    for (size_t i = 0; all && lists[0] && lists[1] && i < count; i++) {
        const char *name = liana__model_output(w->model, i).name;
        const liana__value *loss = of_output(w, losses, i);
        liana__loss_choice choice = {0};
        made = liana__value_null(w->arena);
        if (!is_null(loss)) {
            LIANA_TRY(write_loss(w, loss, "train.loss", &made));
            LIANA_TRY(liana__loss_read(w->model->context, loss, "train.loss", w->arena, &choice, w->error));
        }
        for (int weighted = 0; weighted < 2; weighted++) {
            LIANA_TRY(write_metrics(w, of_output(w, metrics, i), "train.metrics", &choice, weighted, &list[weighted]));
            liana__value_set(w->arena, lists[weighted], name, list[weighted]);
        }
        any_weighted = any_weighted || list[1]->count;
        liana__value_set(w->arena, all, name, made);
    }
    liana__value_set(w->arena, settings, "loss", count == 1 ? made : all);
    liana__value_set(w->arena, settings, "loss_weights", write_loss_weights(w, train));
    liana__value_set(w->arena, settings, "metrics", count == 1 ? list[0] : lists[0]);
    liana__value *weighted = count == 1 ? list[1] : lists[1];
    liana__value_set(w->arena, settings, "weighted_metrics", any_weighted ? weighted : liana__value_null(w->arena));
    return give_memory(w);
}

/* ---- the optimizer ---- */

/* liana's warm-up ends at the initial rate; that of Keras's CosineDecay begins there, and ends at warmup_target. */
static void turn_warmup(const writer *w, liana__value *options, double initial)
{
    const double steps = liana__value_number_of(options, "warmup_steps", 0);
    const double begin = liana__value_number_of(options, "warmup_learning_rate", 0);
    liana__value_remove(options, "warmup_learning_rate");
    liana__value *target = steps > 0 ? liana__value_float(w->arena, initial) : liana__value_null(w->arena);
    liana__value_set(w->arena, options, "warmup_target", target);
    if (steps > 0) liana__value_set(w->arena, options, "initial_learning_rate", liana__value_float(w->arena, begin));
}

static liana_status check_lengths(const writer *w, const liana__value *options, const liana__value *value,
                                  const char *where)
{
    static const char *const epochs[] = {"warmup_epochs", "decay_epochs", "first_decay_epochs"};
    for (size_t i = 0; i < sizeof epochs / sizeof *epochs; i++) {
        const liana__value *length = liana__value_get(options, epochs[i]);
        if (!liana__value_is_number(length) || isnan(length->number) || length->number == 0) continue;
        return liana__keras_lacks(length, where, epochs[i], "a length in updates: Keras has no other", w->error);
    }
    const liana__value *steps = liana__value_get(options, "decay_steps");
    if (!steps || steps->number > 0) return LIANA_OK;
    return liana__keras_lacks(value, where, "decay_steps",
                              "a length in updates: in Keras a decay does not end with the run", w->error);
}

static liana_status write_schedule(const writer *w, const liana_learning_rate *rate, const liana__value *value,
                                   const char *where, liana__value **made)
{
    static const missing_option missing[] = {
        {"warmup_epochs", 0},    {"warmup_share", 0}, {"scale", 1},
        {"scale_with_batch", 0}, {"decay_epochs", 0}, {"first_decay_epochs", 0},
    };
    static const missing_option of_warmup[] = {{"warmup_steps", 0}, {"warmup_learning_rate", 0}};
    const liana_schedule_common *common = rate->options;
    const char *name = rate->schedule->part.name;
    const bool is_constant = rate->schedule == &liana__schedule_Constant;
    const bool is_piecewise = rate->schedule == &liana__schedule_PiecewiseConstantDecay;
    const double initial =
        isnan(common->initial_learning_rate) ? rate->default_learning_rate : common->initial_learning_rate;
    liana__value *options = liana__fields_write(&rate->schedule->part.options, w->arena, rate->options);
    if (!options) return liana__fail_memory(w->error, "the compile settings");
    if (!liana__keras_has_schedule(name)) return lacks_part(w, value, where, "schedule", name);
    if (!is_constant && !is_piecewise) LIANA_TRY(check_lengths(w, options, value, where));
    LIANA_TRY(TAKE_MISSING(w, options, missing, where));
    if (common->by == LIANA_BY_EPOCH) {
        return liana__keras_lacks(value, where, "by", "step: in Keras a schedule is of updates", w->error);
    }
    liana__value_remove(options, "by");
    liana__value_set(w->arena, options, "initial_learning_rate", liana__value_float(w->arena, initial));
    if (rate->schedule == &liana__schedule_CosineDecay) {
        turn_warmup(w, options, initial);
    } else {
        LIANA_TRY(TAKE_MISSING(w, options, of_warmup, where));
    }
    const liana__value *unit = liana__value_get(options, "unit");
    if (unit && strcmp(unit->string, "steps") != 0) {
        return liana__keras_lacks(value, where, "unit", "steps: in Keras boundaries are updates", w->error);
    }
    liana__value_remove(options, "unit");
    if (is_piecewise) liana__value_remove(options, "initial_learning_rate");
    set_text(w, options, "name", name);
    *made = is_constant ? liana__value_float(w->arena, initial)
                        : write_object(w, "keras.optimizers.schedules", name, options);
    return give_memory(w);
}

/* An optimizer without others within it. */
static liana_status write_one(const writer *w, const liana__optimizer_choice *choice, const liana__value *value,
                              const char *where, liana__value **made)
{
    static const missing_option missing[] = {{"exclude_from_weight_decay", 0},
                                             {"lookahead_period", 0},
                                             {"lookahead_step_size", 0.5},
                                             {"swa_period", 0},
                                             {"swa_start", 0}};
    const char *name = choice->optimizer->part.name;
    char key[256];
    if (!liana__keras_has_optimizer(name)) return lacks_part(w, value, where, "optimizer", name);
    if (w->form == LIANA__KERAS_TRAINING_CONFIG && choice->optimizer == &liana__optimizer_Lamb) {
        return liana__keras_lacks(value, where, "name",
                                  "another optimizer: Keras does not find Lamb in HDF5 files; a .keras file has it",
                                  w->error);
    }
    liana__value *config = liana__value_map(w->arena), *rate = NULL;
    liana__value *options = liana__fields_write(&choice->optimizer->part.options, w->arena, choice->options);
    if (!config || !options) return liana__fail_memory(w->error, "the compile settings");
    LIANA_TRY(TAKE_MISSING(w, options, missing, where));
    null_options(w, options);
    snprintf(key, sizeof key, "%s.learning_rate", where);
    LIANA_TRY(write_schedule(w, &choice->learning_rate, value, key, &rate));
    set_text(w, config, "name", name);
    liana__value_set(w->arena, config, "learning_rate", rate);
    for (size_t i = 0; i < options->count; i++) {
        liana__value *item = or_null(w, options->items[i]);
        const bool counts = strcmp(options->keys[i], "ema_overwrite_frequency") == 0 ||
                            strcmp(options->keys[i], "gradient_accumulation_steps") == 0;
        const bool never = counts && item->integer == 0;
        /* Keras 2, which reads HDF5 files too, does not know the key. */
        const bool is_newer = strcmp(options->keys[i], "gradient_accumulation_steps") == 0 ||
                              strcmp(options->keys[i], "loss_scale_factor") == 0;
        if ((never || is_null(item)) && is_newer && w->form == LIANA__KERAS_TRAINING_CONFIG) continue;
        liana__value_set(w->arena, config, options->keys[i], never ? liana__value_null(w->arena) : item);
    }
    *made = write_object(w, "keras.optimizers", name, config);
    return give_memory(w);
}

/* Objects within others have their modules in every form. */
static writer within(const writer *w)
{
    writer inner = *w;
    inner.form = LIANA__KERAS_COMPILE_CONFIG;
    return inner;
}

static liana_status write_multi(const writer *w, const liana__multi_options *multi, const liana__value *value,
                                const char *where, liana__value **made)
{
    const writer inner = within(w);
    liana__value *map = liana__value_map(w->arena), *items = liana__value_map(w->arena);
    liana__value *config = liana__value_map(w->arena), *usual = NULL;
    if (!map || !items || !config) return liana__fail_memory(w->error, "the compile settings");
    LIANA_TRY(write_one(&inner, &multi->items[0].choice, value, where, &usual));
    liana__value_set(w->arena, map, "default_optimizer", usual);
    for (size_t i = 1; i < multi->count; i++) {
        liana__value *item = NULL;
        LIANA_TRY(write_one(&inner, &multi->items[i].choice, value, where, &item));
        liana__value_set(w->arena, items, multi->items[i].pattern, item);
    }
    liana__value_set(w->arena, map, "optimizer_map", items);
    liana__value_set(w->arena, config, "optimizer_map", write_object(&inner, "keras.optimizers", "OptimizerMap", map));
    liana__value_set(w->arena, config, "loss_scale_factor",
                     isnan(multi->loss_scale_factor) ? liana__value_null(w->arena)
                                                     : liana__value_float(w->arena, multi->loss_scale_factor));
    set_text(w, config, "name", "MultiOptimizer");
    *made = write_object(w, "keras.optimizers", "MultiOptimizer", config);
    return give_memory(w);
}

static liana_status write_choice(const writer *w, const liana__optimizer_choice *choice, const liana__value *value,
                                 const char *where, liana__value **made)
{
    const liana__loss_scale_options *scale = liana__as_loss_scale(choice->optimizer, choice->options);
    const liana__multi_options *multi = liana__as_multi(choice->optimizer, choice->options);
    if (multi) return write_multi(w, multi, value, where, made);
    if (!scale) return write_one(w, choice, value, where, made);
    const writer own = within(w);
    liana__value *config = liana__value_map(w->arena), *inner = NULL;
    if (!config) return liana__fail_memory(w->error, "the compile settings");
    LIANA_TRY(write_choice(&own, scale->inner, value, where, &inner));
    set_text(w, config, "name", "LossScaleOptimizer");
    liana__value_set(w->arena, config, "inner_optimizer", inner);
    liana__value_set(w->arena, config, "initial_scale", liana__value_float(w->arena, scale->initial_scale));
    liana__value_set(w->arena, config, "dynamic_growth_steps", liana__value_int(w->arena, scale->dynamic_growth_steps));
    *made = write_object(w, "keras.optimizers", "LossScaleOptimizer", config);
    return give_memory(w);
}

static liana_status write_optimizer(const writer *w, const liana__value *value, liana__value **made)
{
    static const char where[] = "train.optimizer";
    liana__value *named = liana__value_map(w->arena);
    if (named && (is_null(value) || value->kind == LIANA__VALUE_STRING)) {
        set_text(w, named, "name", is_null(value) ? "Adam" : value->string);
        value = named;
    }
    if (!named) return liana__fail_memory(w->error, "the compile settings");
    liana__optimizer_choice choice;
    LIANA_TRY(liana__optimizer_read(w->model->context, value, where, w->arena, &choice, w->error));
    if (choice.rate_multipliers) {
        return liana__keras_lacks(value, where, "rate_multipliers", "none: Keras has no such option", w->error);
    }
    return write_choice(w, &choice, value, where, made);
}

/* ---- the settings ---- */

liana_status liana__keras_compile_write(const liana_model *model, const liana__value *train,
                                        liana__keras_compile_form form, liana__arena *arena,
                                        const liana__value **settings, liana__error *error)
{
    const writer w = {model, form, arena, error};
    const bool of_file = form == LIANA__KERAS_TRAINING_CONFIG;
    liana__value *map = liana__value_map(arena), *optimizer = NULL;
    if (!map) return liana__fail_memory(error, "the compile settings");
    LIANA_TRY(write_optimizer(&w, liana__value_get(train, "optimizer"), &optimizer));
    if (!of_file) liana__value_set(arena, map, "optimizer", optimizer);
    LIANA_TRY(write_objective(&w, train, map));
    liana__value_set(arena, map, "run_eagerly", liana__value_bool(arena, false));
    const int64_t steps = liana__value_int_of(train, "steps_per_execution", 1);
    liana__value_set(arena, map, "steps_per_execution", liana__value_int(arena, steps));
    liana__value_set(arena, map, "jit_compile", liana__value_bool(arena, false));
    if (of_file) liana__value_set(arena, map, "optimizer_config", optimizer);
    *settings = map;
    return give_memory(&w);
}
