/* fn_data.h - the data of an estimator: the components for a model function, and its batches. */
#ifndef LIANA_TRAIN_ESTIMATOR_FN_DATA_H
#define LIANA_TRAIN_ESTIMATOR_FN_DATA_H

#include "data/dataset/dataset_source.h"
#include "data/loader/loader.h"
#include "train/estimator/function_model.h"
#include "train/objective/step_graphs.h"

/* Data that are open. Close them in any case. */
typedef struct liana__fn_input {
    const liana_estimator_input *given;
    liana__fn_data offered;
    bool has_images; /* among the components */
    liana__source *source;
    liana__loader *loader;
    liana__wanted_component items[LIANA_MAX_COMPONENTS];
    liana__component_name names[LIANA_MAX_COMPONENTS];
    liana__input_workers workers; /* that share its steps, in a cluster */
} liana__fn_input;

/* Finds the components. `labels` are the names of those that are labels, ended by NULL; `key` is the spec's member in
 * messages. Errors: INVALID_ARGUMENT (no dataset, a wrong image shape). */
liana_status liana__fn_input_describe(const liana_estimator_input *given, const char *const *labels, const char *key,
                                      liana__fn_input *input, liana__error *error) LIANA_MUST_USE;

/* Opens the source; then the loader, of the components that a model function asks for. Errors: those of the data;
 * INVALID_ARGUMENT if they lack a component. */
liana_status liana__fn_input_open(liana__fn_input *input, liana__error *error) LIANA_MUST_USE;
liana_status liana__fn_input_load(liana__fn_input *input, const liana__function_model *model,
                                  liana__loader_options options, liana__error *error) LIANA_MUST_USE;
void liana__fn_input_close(liana__fn_input *input);

#endif
