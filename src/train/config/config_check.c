/* Checks the parts of a configuration against each other. */
#include "base/scoped.h"
#include "data/source/class_list.h"
#include "known/known_weights.h"
#include "optimizers/optimizer.h"
#include "train/config/config_internal.h"

#include "base/format.h"
#include "base/other_names.h"

#include <stdio.h>
#include <string.h>

static liana_status LIANA__PRINTF(4, 5)
    refuse(const liana__config *config, liana__error *error, const char *key, const char *format, ...)
{
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    liana__place place = liana__config_place(config, key);
    return liana__fail_at(error, &place, key, "%s", message);
}

/* The section that has a key of this name, or NULL. The optimizer's options are in tables of their own. */
static const char *home_of(const char *key)
{
    const liana__fields *config = liana__config_fields();
    if (strcmp(key, "learning_rate") == 0) return "train.optimizer";
    for (size_t i = 0; i < config->count; i++) {
        const liana__field *section = &config->items[i];
        if (section->kind == LIANA__FIELD_SECTION && liana__fields_find(section->section, key)) return section->name;
    }
    for (const liana_part *const *one = liana__optimizer_kind.builtin; *one; one++) {
        if (liana__fields_find(&(*one)->options, key)) return "train.optimizer";
    }
    return NULL;
}

/* The whole key that has this name elsewhere, or NULL. */
static const char *key_of_others(const char *name)
{
    const char *ours = liana__other_name(LIANA__OTHER_PART, name);
    if (!ours || ours[strcspn(ours, " :{")]) return NULL;
    return strchr(ours, '.') || liana__fields_find(liana__config_fields(), ours) ? ours : NULL;
}

/* With the underscores of a key for the dashes of an option. */
static void spell_as_key(const char *name, char *key, size_t size)
{
    snprintf(key, size, "%s", name);
    for (char *at = key; *at; at++) {
        if (*at == '-') *at = '_';
    }
}

bool liana__config_find_option(const char *name, char *key, size_t size)
{
    const liana__fields *config = liana__config_fields();
    char plain[64], section[64];
    spell_as_key(name, plain, sizeof plain);
    const char *other = key_of_others(plain);
    if (other) snprintf(plain, sizeof plain, "%s", other);
    snprintf(section, sizeof section, "%.*s", (int)strcspn(plain, "."), plain);
    const liana__field *top = liana__fields_find(config, section);
    const char *home = home_of(plain);
    bool is_data = strcmp(plain, "data") == 0, is_whole = top && (strchr(plain, '.') || !top->section);
    if (is_whole) {
        snprintf(key, size, "%s", plain); /* with all its names already */
    } else {
        snprintf(key, size, "%s.%s", home ? home : plain, home ? plain : "train");
    }
    return is_whole || home || is_data;
}

static liana_status check_homes(const liana__fields *fields, const liana__value *map, const char *where,
                                liana__error *error)
{
    for (size_t i = 0; map && map->kind == LIANA__VALUE_MAP && i < map->count; i++) {
        const char *key = map->keys[i], *home = NULL;
        if (liana__fields_find(fields, key)) continue;
        if (liana__fields_find(liana__config_fields(), key)) {
            return liana__fail_at(error, &map->key_places[i], where, "unknown key '%s'; it belongs to the top level",
                                  key);
        }
        const char *other = key_of_others(key);
        if (other) {
            return liana__fail_at(error, &map->key_places[i], where, "unknown key '%s'; did you mean '%s'?", key,
                                  other);
        }
        home = home_of(key);
        if (!home) continue;
        return liana__fail_at(error, &map->key_places[i], where, "unknown key '%s'; did you mean '%s.%s'?", key, home,
                              key);
    }
    return LIANA_OK;
}

liana_status liana__config_check_homes(const liana__value *root, liana__error *error)
{
    const liana__fields *config = liana__config_fields();
    LIANA_TRY(check_homes(config, root, NULL, error));
    for (size_t i = 0; i < config->count; i++) {
        const liana__field *section = &config->items[i];
        if (section->kind != LIANA__FIELD_SECTION) continue;
        LIANA_TRY(check_homes(section->section, liana__value_get(root, section->name), section->name, error));
    }
    return LIANA_OK;
}

static liana_status check_class_names(const liana__config *config, liana__error *error)
{
    liana__error own = {0};
    const liana_status status = liana__class_list_check(&config->data.class_names, &own);
    return status == LIANA_OK ? LIANA_OK : refuse(config, error, "data.class_names", "%s", own.message);
}

static liana_status check_data(const liana__config *config, liana__error *error)
{
    const liana__data_config *data = &config->data;
    if (data->channels == 2) return refuse(config, error, "data.channels", "found the number 2, expected 1 or 3");
    if ((data->image_size[0] == 0) != (data->image_size[1] == 0)) {
        return refuse(config, error, "data.image_size", "one side is 0, expected both (no resizing) or none");
    }
    size_t names = data->class_names.count;
    if (names && data->num_classes != (int64_t)names) {
        return refuse(config, error, "data.num_classes", "found the number %lld, but data.class_names has %zu names",
                      (long long)data->num_classes, names);
    }
    LIANA_TRY(check_class_names(config, error));
    if (data->field_delim && (strlen(data->field_delim) != 1 || strchr("\"\r\n", *data->field_delim))) {
        return refuse(config, error, "data.field_delim",
                      "found '%.20s', expected one character, and no quote or line end", data->field_delim);
    }
    if (data->max_bad && data->on_bad_record != LIANA__ON_BAD_RECORD_SKIP) {
        return refuse(config, error, "data.max_bad", "it needs data.on_bad_record: skip");
    }
    if (data->validation_split >= 1) {
        return refuse(config, error, "data.validation_split", "found the number %g, expected a share below 1",
                      data->validation_split);
    }
    if (data->validation_split > 0 && liana__config_has_source(&data->validation)) {
        return refuse(config, error, "data.validation_split",
                      "'validation' and 'validation_split' exclude each other; keep one of them");
    }
    if (data->validation_split > 0 && !liana__config_has_source(&data->train)) {
        return refuse(config, error, "data.validation_split", "it needs 'train', of which it takes a part");
    }
    if (data->repeat && config->job.steps_per_epoch == 0) {
        return refuse(config, error, "data.repeat",
                      "endless data need train.steps_per_epoch, which says when an epoch ends");
    }
    return LIANA_OK;
}

/* An option of the base that was set where nothing reads it. A run without a base has the old default avg. */
static const char *set_in_vain(const liana__model_config *model)
{
    const bool is_usual = model->pooling == LIANA__POOLING_AUTO || model->pooling == LIANA__POOLING_AVG;
    if (model->alpha != 1) return "model.alpha";
    if (model->include_top) return "model.include_top";
    if (!is_usual) return "model.pooling";
    if (model->dropout != 0) return "model.dropout";
    if (!model->trainable) return "model.trainable";
    if (!model->training) return "model.training";
    return NULL;
}

/* The head of a base: its own, liana's, or the user's. */
static liana_status check_head(const liana__config *config, liana__error *error)
{
    const liana__model_config *model = &config->model;
    if (model->layers && model->include_top) {
        return refuse(config, error, "model.include_top",
                      "the base's own classifier and 'layers' exclude each other; keep one of them");
    }
    if (model->layers && model->dropout != 0) {
        return refuse(config, error, "model.dropout",
                      "this is of the head that 'layers' replace; put it there: - Dropout: {rate: %g}", model->dropout);
    }
    const liana__architecture *base = liana__architecture_find(model->base, NULL);
    if (model->include_top && model->dropout != 0 && base && !liana__fields_find(base->options, "dropout")) {
        return refuse(config, error, "model.dropout", "%s has no 'dropout' in its own classifier%s; remove this key",
                      base->name, liana__fields_find(base->options, "dropout_rate") ? ", but 'dropout_rate'" : "");
    }
    if (!model->layers && !model->include_top && model->pooling == LIANA__POOLING_NONE) {
        return refuse(config, error, "model.pooling",
                      "found none, but a head without 'layers' needs avg or max, which make vectors of images");
    }
    return LIANA_OK;
}

static liana_status check_model(const liana__config *config, liana__error *error)
{
    const liana__model_config *model = &config->model;
    if (!model->base && !model->layers && !model->file) {
        return refuse(config, error, "model", "expected 'base' (an architecture) or 'layers' (a list of layers)");
    }
    if (model->base) LIANA_TRY(check_head(config, error));
    if (model->file && (model->base || model->layers)) {
        return refuse(config, error, "model.file", "'file' and '%s' exclude each other; keep one of them",
                      model->base ? "base" : "layers");
    }
    const bool is_named = model->weights && liana__weights_are_named(model->weights, model->weights);
    if (model->weights_sha256 && !is_named) {
        return refuse(config, error, "model.weights_sha256", "it belongs to model.weights by name: %s",
                      liana__weights_names());
    }
    if (model->partial_weights && !model->weights) {
        return refuse(config, error, "model.partial_weights", "it needs model.weights, a file of weights");
    }
    liana__place place = liana__config_place(config, "model.warm_start");
    LIANA_TRY(liana__warm_start_check(&model->warm_start, "model.warm_start", &place, error));
    if (!model->layers && model->base && model->outputs && model->outputs->kind != LIANA__VALUE_NULL) {
        return refuse(config, error, "model.outputs",
                      "this is an option of 'layers', but the model is given by 'base'");
    }
    if (model->layers && (model->layers->kind != LIANA__VALUE_LIST || model->layers->count == 0)) {
        char found[128];
        return refuse(config, error, "model.layers", "found %s, expected a list of layers: {Layer: {option: value}}",
                      liana__value_describe(model->layers, found, sizeof found));
    }
    const char *vain = model->base ? NULL : set_in_vain(model);
    if (vain) {
        return refuse(config, error, vain, "this is an option of 'base', but the model is given by '%s'",
                      model->layers ? "layers" : "file");
    }
    if (!model->trainable && model->trainable_from) {
        return refuse(config, error, "model.trainable_from",
                      "it names the first layer to train, but 'trainable' is false");
    }
    return LIANA_OK;
}

static liana_status check_train(const liana__config *config, liana__error *error)
{
    const liana__job_options *train = &config->job;
    if (train->microbatch > train->batch_size) {
        return refuse(config, error, "train.microbatch",
                      "found the number %lld, expected at most batch_size, which is %lld", (long long)train->microbatch,
                      (long long)train->batch_size);
    }
    if (!train->loss) return refuse(config, error, "train.loss", "found null, expected the name of a loss");
    const liana__job_door door = liana__config_door(config);
    LIANA_TRY(liana__job_check(train, &door, error));
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__optimizer_choice choice;
    LIANA__SCOPED(liana__callback_list) callbacks = {0};
    LIANA_TRY(liana__optimizer_read(config->context, train->optimizer, "train.optimizer", &arena, &choice, error));
    const liana__update_rule rule = {.optimizer = choice.optimizer, .options = choice.options};
    for (size_t i = 0; i < liana__rule_num_rates(&rule); i++) {
        const liana_learning_rate *rate = liana__rule_rate(&rule, i);
        LIANA_TRY(liana__job_check_decay(train, rate ? rate : &choice.learning_rate, &door, error));
    }
    LIANA_TRY(liana__control_read(&callbacks, train->control, "train.control", &arena, error));
    LIANA_TRY(liana__summaries_read(&callbacks, train->summaries, "summaries", &arena, error));
    return liana__callback_list_read(&callbacks, config->context, train->callbacks, "train.callbacks", &arena, error);
}

liana_status liana__config_check(const liana__config *config, liana__error *error)
{
    LIANA_TRY(check_data(config, error));
    LIANA_TRY(check_model(config, error));
    return check_train(config, error);
}

liana__source_options liana__config_source_options(const liana__config *config, const liana__source_config *where)
{
    const liana__features_config *features = &config->data.features;
    return (liana__source_options){.context = config->context,
                                   .kind = where->kind     ? where->kind
                                           : where->images ? "idx"
                                                           : "auto",
                                   .image_feature = features->image,
                                   .label_feature = features->label,
                                   .id_feature = features->id,
                                   .labels = where->labels,
                                   .columns = config->data.components.count ? &config->data.components : NULL,
                                   .header = (liana__header)config->data.header,
                                   .field_delim = config->data.field_delim ? *config->data.field_delim : 0,
                                   .plain_quotes = !config->data.use_quote_delim,
                                   .na_value = config->data.na_value,
                                   .take = (uint64_t)config->data.take,
                                   .skip_damage = config->data.on_bad_record == LIANA__ON_BAD_RECORD_SKIP,
                                   .any_first_record = config->data.quarantine != NULL};
}

liana_status liana__config_require_training_data(const liana__config *config, liana__error *error)
{
    if (liana__config_has_source(&config->data.train)) return LIANA_OK;
    return refuse(config, error, "data.train",
                  "missing; expected the examples to train on (files, patterns or folders)");
}
