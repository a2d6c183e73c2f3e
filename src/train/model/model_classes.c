/* Compares the classes of data with those of a model. */
#include "train/model/model_data.h"

#include "data/dataset/dataset_source.h"
#include "data/source/class_list.h"

/* The classes of data or of a model. */
typedef struct classes {
    bool known;
    liana__strings names; /* none: numbers */
} classes;

bool liana__classes_of(const liana_dataset *dataset, liana__strings *names)
{
    *names = liana__dataset_class_names(dataset);
    return names->count || liana__dataset_has_numbers(dataset);
}

static classes of_dataset(const liana_dataset *dataset)
{
    classes found;
    found.known = liana__classes_of(dataset, &found.names);
    return found;
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
    const char *hint =
        ours.names.count && theirs.names.count
            ? "open the validation data with the option classes_of set to the training data"
            : "open the data with numbers with the option class_names: the names in the order of the numbers";
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the training data have %s; the validation data have %s, which would get other numbers; %s",
                       show(&ours).text, show(&theirs).text, hint);
}

liana_status liana__classes_check_model(const liana_model *model, const liana_dataset *dataset, liana__error *error)
{
    const liana_preprocessing *known = &model->preprocessing;
    classes ours = {model->knows_classes, {known->num_class_names, known->class_names}}, theirs = of_dataset(dataset);
    if (agree(&ours, &theirs)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "the model was fitted to data that have %s; these have %s, which would get other numbers; open "
                       "them with the option class_names (the names in the order of the model's classes, see "
                       "liana_model_preprocessing), or change the model's names (liana_model_set_preprocessing)",
                       show(&ours).text, show(&theirs).text);
}
