#include "train/config_internal.h"

#include "base/format.h"

#include <math.h>
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

/* The section that has a key of this name, or NULL. The optimizer's options are not in our tables, but a learning rate
 * is looked for by everybody. */
static const char *home_of(const char *key)
{
    const liana__fields *config = liana__config_fields();
    if (strcmp(key, "learning_rate") == 0) return "train.optimizer";
    for (size_t i = 0; i < config->count; i++) {
        const liana__field *section = &config->items[i];
        if (section->kind == LIANA__FIELD_SECTION && liana__fields_find(section->section, key)) return section->name;
    }
    return NULL;
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

static liana_status check_data(const liana__config *config, liana__error *error)
{
    const liana__data_config *data = &config->data;
    if (data->channels == 2) return refuse(config, error, "data.channels", "found the number 2, expected 1 or 3");
    if ((data->image_size[0] == 0) != (data->image_size[1] == 0)) {
        return refuse(config, error, "data.image_size", "one side is 0, expected both (no resizing) or neither");
    }
    size_t names = data->class_names.count;
    if (names && data->num_classes != (int64_t)names) {
        return refuse(config, error, "data.num_classes", "found the number %lld, but data.class_names has %zu names",
                      (long long)data->num_classes, names);
    }
    if (data->max_bad && data->on_bad_record != LIANA__ON_BAD_RECORD_SKIP) {
        return refuse(config, error, "data.max_bad", "it needs data.on_bad_record: skip");
    }
    if (data->repeat && config->train.steps_per_epoch == 0) {
        return refuse(config, error, "data.repeat",
                      "endless data needs train.steps_per_epoch, to say when an epoch ends");
    }
    return LIANA_OK;
}

/* An option of the base's that was set to something beside `layers`, where nothing would read it. */
static const char *set_in_vain(const liana__model_config *model)
{
    if (model->alpha != 1) return "model.alpha";
    if (model->include_top) return "model.include_top";
    if (model->pooling != LIANA__POOLING_AVG) return "model.pooling";
    if (model->dropout != 0) return "model.dropout";
    if (!model->trainable) return "model.trainable";
    return NULL;
}

static liana_status check_model(const liana__config *config, liana__error *error)
{
    const liana__model_config *model = &config->model;
    if (!model->base && !model->layers) {
        return refuse(config, error, "model", "expected 'base' (an architecture) or 'layers' (a list of layers)");
    }
    if (model->base && model->layers) {
        return refuse(config, error, "model.layers", "'base' and 'layers' exclude each other; keep one");
    }
    if (model->layers && (model->layers->kind != LIANA__VALUE_LIST || model->layers->count == 0)) {
        char found[128];
        return refuse(config, error, "model.layers", "found %s, expected a list of layers: {Layer: {option: value}}",
                      liana__value_describe(model->layers, found, sizeof found));
    }
    const char *vain = model->layers ? set_in_vain(model) : NULL;
    if (vain) return refuse(config, error, vain, "this is an option of 'base', but the model is made of 'layers'");
    if (!model->trainable && model->trainable_from) {
        return refuse(config, error, "model.trainable_from", "it starts training at a layer, but 'trainable' is false");
    }
    return LIANA_OK;
}

/* A map with a name: what the optimizer and the schedule have to be before their owners read them. */
static liana_status check_named(const liana__config *config, const liana__value *value, const char *key,
                                const char *expected, liana__error *error)
{
    char found[128];
    if (value->kind != LIANA__VALUE_MAP) {
        return refuse(config, error, key, "found %s, expected %s", liana__value_describe(value, found, sizeof found),
                      expected);
    }
    const liana__value *name = liana__value_get(value, "name");
    if (!name) return refuse(config, error, key, "the key 'name' is missing, expected %s", expected);
    if (name->kind == LIANA__VALUE_STRING) return LIANA_OK;
    return liana__fail_at(error, &name->place, key, "name: found %s, expected text",
                          liana__value_describe(name, found, sizeof found));
}

static liana_status check_train(const liana__config *config, liana__error *error)
{
    const liana__train_config *train = &config->train;
    if (train->microbatch > train->batch_size) {
        return refuse(config, error, "train.microbatch",
                      "found the number %lld, expected at most batch_size, which is %lld", (long long)train->microbatch,
                      (long long)train->batch_size);
    }
    if (!train->loss) return refuse(config, error, "train.loss", "found null, expected the name of a loss");
    LIANA_TRY(check_named(config, train->optimizer, "train.optimizer",
                          "a name, or a mapping such as {name: Adam, learning_rate: 1.0e-3}", error));
    const liana__value *rate = liana__value_get(train->optimizer, "learning_rate");
    if (!rate) return LIANA_OK;
    const char *key = "train.optimizer.learning_rate";
    if (rate->kind != LIANA__VALUE_INT && rate->kind != LIANA__VALUE_FLOAT) {
        return check_named(config, rate, key, "a number, or a schedule such as {name: CosineDecay, ...}", error);
    }
    if (isfinite(rate->number) && rate->number >= 0) return LIANA_OK;
    char found[128];
    return refuse(config, error, key, "found %s, expected a number of at least 0.0",
                  liana__value_describe(rate, found, sizeof found));
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
    return (liana__source_options){.kind = where->kind     ? where->kind
                                           : where->images ? "idx"
                                                           : "auto",
                                   .image_feature = features->image,
                                   .label_feature = features->label,
                                   .id_feature = features->id,
                                   .labels = where->labels,
                                   .take = (uint64_t)config->data.take,
                                   .skip_damage = config->data.on_bad_record == LIANA__ON_BAD_RECORD_SKIP,
                                   .any_first_record = config->data.quarantine != NULL};
}

liana_status liana__config_require_training_data(const liana__config *config, liana__error *error)
{
    if (liana__config_has_source(&config->data.train)) return LIANA_OK;
    return refuse(config, error, "data.train", "it is missing: the examples to train on (files, patterns or folders)");
}
