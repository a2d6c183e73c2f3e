/* Values by class in a configuration, and with them the weights of the classes in the loss. */
#include "train/run/run_internal.h"

#include "data/source/class_list.h"

#include <stdlib.h>
#include <string.h>

/* ---- values by class ---- */

/* The class of that name or number; -1 if there is none. */
static int64_t find_class(const liana__class_values *own, const char *key)
{
    for (size_t i = 0; i < own->names->count && (int64_t)i < own->num_classes; i++) {
        if (strcmp(own->names->items[i], key) == 0) return (int64_t)i;
    }
    char *end;
    long number = strtol(key, &end, 10);
    return *key && !*end && number >= 0 && number < own->num_classes ? number : -1;
}

static liana_status fail_class(const liana__class_values *own, const liana__place *place, const char *where,
                               const char *key, liana__error *error)
{
    const liana__strings *names = own->names;
    const char *nearest = names->count ? liana__nearest(key, names->items, names->count) : NULL;
    if (nearest) {
        return liana__fail_at(error, place, where, "there is no class '%.60s'%s", key, liana__hint(nearest).text);
    }
    return liana__fail_at(error, place, where, "there is no class '%.60s', expected a name or a number from 0 to %lld",
                          key, (long long)own->num_classes - 1);
}

/* Of two classes of one name, the number says which is meant. */
static liana_status check_twins(const liana__class_values *own, const liana__place *place, const char *where,
                                const char *key, int64_t number, liana__error *error)
{
    const bool by_name = (size_t)number < own->names->count && strcmp(own->names->items[number], key) == 0;
    const liana__twins twins = by_name ? liana__class_twins(own->names, number) : (liana__twins){-1, -1};
    if (twins.one < 0) return LIANA_OK;
    return liana__fail_at(error, place, where, "%s; write the number of the class that is meant",
                          liana__twins_show(own->names, &twins).text);
}

static liana_status fail_twice(const liana__class_values *own, const liana__value *map, size_t first, size_t second,
                               int64_t number, const char *where, liana__error *error)
{
    const bool named = (size_t)number < own->names->count;
    return liana__fail_at(error, &map->key_places[second], where,
                          "'%.60s' and '%.60s' are the same class: number %lld%s%.60s%s; keep one of them",
                          map->keys[first], map->keys[second], (long long)number, named ? ", named '" : "",
                          named ? own->names->items[number] : "", named ? "'" : "");
}

static liana_status read_value(const liana__value *value, const char *key, const char *where, double *number,
                               liana__error *error)
{
    char found[128];
    bool is_number = value->kind == LIANA__VALUE_INT || value->kind == LIANA__VALUE_FLOAT;
    if (!is_number || !(value->number >= 0 && value->number <= 1e6)) {
        return liana__fail_at(error, &value->place, where, "%.60s: found %s, expected a number from 0 to 1000000", key,
                              liana__value_describe(value, found, sizeof found));
    }
    *number = value->number;
    return LIANA_OK;
}

static liana_status read_map(const liana__class_values *own, const liana__value *map, const char *where, double *values,
                             liana__error *error)
{
    for (size_t i = 0; i < map->count; i++) {
        int64_t number = find_class(own, map->keys[i]);
        if (number < 0) return fail_class(own, &map->key_places[i], where, map->keys[i], error);
        LIANA_TRY(check_twins(own, &map->key_places[i], where, map->keys[i], number, error));
        for (size_t k = 0; k < i; k++) {
            if (find_class(own, map->keys[k]) == number) return fail_twice(own, map, k, i, number, where, error);
        }
        LIANA_TRY(read_value(map->items[i], map->keys[i], where, &values[number], error));
    }
    return LIANA_OK;
}

static bool is_balanced(const liana__value *value)
{
    return value->kind == LIANA__VALUE_STRING && strcmp(value->string, "balanced") == 0;
}

liana_status liana__run_read_by_class(const liana__class_values *classes, const liana__value *value, const char *where,
                                      double *values, liana__error *error)
{
    char found[128];
    for (int64_t c = 0; c < classes->num_classes; c++) values[c] = 1;
    if (value->kind == LIANA__VALUE_MAP) return read_map(classes, value, where, values, error);
    if (is_balanced(value)) {
        memcpy(values, classes->balanced, (size_t)classes->num_classes * sizeof *values);
        return LIANA_OK;
    }
    return liana__fail_at(error, &value->place, where, "found %s, expected 'balanced' or {class: weight, ...}",
                          liana__value_describe(value, found, sizeof found));
}

/* ---- weights of the loss ---- */

static const char key[] = "train.class_weights";

/* The output that the weights are for; there is one. */
static size_t weighed_output(const liana__objective *objective)
{
    size_t i = 0;
    while (!objective->outputs[i].weighs_classes) i++;
    return i;
}

static bool is_label(const liana__run *run, size_t output)
{
    const char *target = run->training.match.targets[output].name;
    return target && strcmp(target, "label") == 0;
}

/* The classes of a target that is not the label: those of a category column, or the numbers that the output has. */
static int64_t count_classes(const liana__objective_output *output, const liana__strings *names)
{
    int64_t values = output->shape.dims[output->shape.rank - 1];
    if (output->target == LIANA_TARGET_CLASSES || values > 1) return values;
    if (names->count) return (int64_t)names->count;
    return output->activation == LIANA_LOGITS_SIGMOID ? 2 : LIANA__MAX_CLASSES;
}

/* Balanced: the classes that are drawn add up to the same, an average example to 1; scikit-learn's formula. */
static void balance(const liana__run *run, double *balanced, int64_t num_classes)
{
    double total = 0, present = 0;
    for (int64_t c = 0; c < run->num_drawn; c++) {
        total += run->drawn[c];
        present += run->drawn[c] > 0;
    }
    for (int64_t c = 0; c < num_classes; c++) {
        balanced[c] = c < run->num_drawn && run->drawn[c] > 0 ? total / (present * run->drawn[c]) : 1;
    }
}

static liana_status check_balanced(const liana__run *run, const liana__objective_output *output, size_t index,
                                   liana__error *error)
{
    const liana__value *value = run->config->job.class_weights;
    if (!is_balanced(value) || (is_label(run, index) && run->drawn)) return LIANA_OK;
    const char *target = run->training.match.targets[index].name;
    return liana__fail_at(error, &value->place, key,
                          "found 'balanced', which counts the labels of the training examples, but the target of the "
                          "output '%s' is '%.100s'; give the weights: {class: weight, ...}",
                          output->name, target ? target : "unknown");
}

/* Several answers of yes and no may be yes together. */
static void note_rule(const liana__objective_output *output, const liana__run_options *options)
{
    if (output->activation != LIANA_LOGITS_SIGMOID || output->shape.dims[output->shape.rank - 1] == 1) return;
    liana__run_note(options, "%s: an example of '%s' with several classes has the weight of the first, as in Keras",
                    key, output->name);
}

liana_status liana__run_find_class_weights(liana__run *run, const liana__objective *objective,
                                           const liana__run_options *options, liana__error *error)
{
    const liana__value *value = run->config->job.class_weights;
    if (!value) return LIANA_OK;
    LIANA_TRY(liana__objective_check_class_weights(objective, &value->place, key, error));
    const size_t index = weighed_output(objective);
    const liana__objective_output *output = &objective->outputs[index];
    const liana__strings names = liana__run_output_names(run, index);
    int64_t num_classes = is_label(run, index) ? run->num_classes : 0;
    if (!num_classes) num_classes = count_classes(output, &names);
    if (is_label(run, index) && run->num_drawn > num_classes) num_classes = run->num_drawn;
    LIANA_TRY(check_balanced(run, output, index, error));
    const size_t size = (size_t)(num_classes + 1) * sizeof(double);
    double *balanced = liana__arena_allocate(&run->arena, size), *values = liana__arena_allocate(&run->arena, size);
    if (!balanced || !values) return liana__fail_memory(error, "weights of classes");
    if (is_balanced(value)) balance(run, balanced, num_classes);
    const liana__class_values classes = {&names, num_classes, balanced};
    LIANA_TRY(liana__run_read_by_class(&classes, value, key, values, error));
    note_rule(output, options);
    run->class_weights = values;
    run->num_class_weights = num_classes;
    return LIANA_OK;
}
