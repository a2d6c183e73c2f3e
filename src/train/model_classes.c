#include "train/model_classes.h"

#include "data/class_list.h"
#include "data/dataset_source.h"
#include "formats/json.h"
#include "train/config.h"

#include <string.h>

/* What data or a model have for classes. */
typedef struct classes {
    bool known;
    liana__strings names; /* none: numbers */
} classes;

static classes of_dataset(const liana_dataset *dataset)
{
    liana__strings names = liana__dataset_class_names(dataset);
    return (classes){names.count || liana__dataset_has_numbers(dataset), names};
}

static bool agree(const classes *ours, const classes *theirs)
{
    if (!ours->known || !theirs->known) return true;
    if (ours->names.count && theirs->names.count) return liana__class_list_equal(&ours->names, &theirs->names);
    /* Of names and numbers, or numbers and numbers. */
    return liana__class_list_counts(&ours->names) && liana__class_list_counts(&theirs->names);
}

static liana__class_list_text show(const classes *shown)
{
    if (shown->names.count) return liana__class_list_show(&shown->names);
    return (liana__class_list_text){"numbers for their classes"};
}

liana_status liana__classes_check_validation(const liana_dataset *training, const liana_dataset *validation,
                                             liana__error *error)
{
    classes ours = of_dataset(training), theirs = of_dataset(validation);
    if (agree(&ours, &theirs)) return LIANA_OK;
    const char *hint = ours.names.count && theirs.names.count
                           ? "open the validation data with the option classes_of = the training data"
                           : "open those with numbers with the option class_names, the names in the order of the "
                             "numbers";
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the training data have %s; the validation data have %s, which would be numbered otherwise; %s",
                       show(&ours).text, show(&theirs).text, hint);
}

liana_status liana__classes_check_model(const liana_model *model, const liana_dataset *dataset, liana__error *error)
{
    classes ours = {model->has_classes, model->class_names}, theirs = of_dataset(dataset);
    if (agree(&ours, &theirs)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the model was fitted to data that have %s; these have %s, which would be numbered otherwise; "
                       "open them with the option class_names, the names in the order of the model's classes "
                       "(liana_model_class_names)",
                       show(&ours).text, show(&theirs).text);
}

static liana_status set_names(liana_model *model, const liana__strings *names, liana__error *error)
{
    liana__arena *arena = &model->arena;
    const char **items = liana__arena_allocate(arena, (names->count + 1) * sizeof *items);
    for (size_t i = 0; items && i < names->count; i++) items[i] = liana__arena_string(arena, names->items[i]);
    if (arena->failed) return liana__fail_memory(error, "the names of the classes");
    items[names->count] = NULL;
    model->class_names = (liana__strings){names->count, items};
    model->has_classes = true;
    return LIANA_OK;
}

liana_status liana__classes_remember(liana_model *model, const liana_dataset *training, liana__error *error)
{
    classes found = of_dataset(training);
    model->has_classes = false;
    bool same = liana__class_list_equal(&found.names, &model->class_names);
    if (found.known && !same) return set_names(model, &found.names, error);
    model->has_classes = found.known;
    if (!found.known) model->class_names = (liana__strings){0};
    return LIANA_OK;
}

const char *liana__classes_text(const liana_model *model, liana__arena *arena)
{
    if (!model->has_classes) return NULL;
    liana__value *list = liana__value_list(arena);
    liana__text text = {0};
    for (size_t i = 0; i < model->class_names.count; i++) {
        liana__value_add(arena, list, liana__value_string(arena, model->class_names.items[i]));
    }
    if (list) liana__value_write_json(list, 0, &text);
    const char *copy = text.failed || arena->failed ? NULL : liana__arena_string(arena, text.data);
    liana__text_free(&text);
    return copy;
}

liana_status liana__classes_from_text(liana_model *model, const char *text, liana__error *error)
{
    liana__arena arena = {0};
    liana__value *list;
    if (!text) return LIANA_OK;
    liana_status status = liana__json_parse(text, strlen(text), "the classes of the weights", &arena, &list, error);
    const char **items = NULL;
    bool right = status == LIANA_OK && list->kind == LIANA__VALUE_LIST;
    if (right) items = liana__arena_allocate(&arena, (list->count + 1) * sizeof *items);
    for (size_t i = 0; right && items && i < list->count; i++) {
        right = list->items[i]->kind == LIANA__VALUE_STRING;
        items[i] = list->items[i]->string;
    }
    /* Other programs may use the same word for something else. */
    if (right && items) status = set_names(model, &(liana__strings){list->count, items}, error);
    liana__arena_free(&arena);
    return status == LIANA_OUT_OF_MEMORY ? status : LIANA_OK;
}

liana_status liana__classes_from_run(liana_model *model, const char *folder, liana__error *error)
{
    liana__arena arena = {0};
    liana__config config;
    liana__error own = {0};
    const char *path = liana__path_join(&arena, folder, "config.yaml");
    bool loaded =
        path && liana__file_exists(path) && liana__config_load(path, NULL, 0, &arena, &config, &own) == LIANA_OK;
    liana_status status = LIANA_OK;
    if (loaded && config.data.num_classes) status = set_names(model, &config.data.class_names, error);
    liana__arena_free(&arena);
    return status;
}
