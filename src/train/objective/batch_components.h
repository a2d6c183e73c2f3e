/* batch_components.h - which components of the data are which inputs and targets of a model.
 *
 * A component is looked for in this order: the one that is named for it; the one that is called as the input or output
 * is; for an only input of images "image", for an only output "label"; for an only input of anything else, or output,
 * the first component that nothing else uses. So (x, y) and images with labels need no names. */
#ifndef LIANA_TRAIN_BATCH_COMPONENTS_H
#define LIANA_TRAIN_BATCH_COMPONENTS_H

#include "data/loader/loader.h"
#include "train/objective/step_graphs.h"
#include "train/objective/trainer.h"

/* Names that the user gives; NULL: none. */
typedef struct liana__data_names {
    const char *inputs[LIANA__MAX_INPUTS];
    const char *targets[LIANA__MAX_OUTPUTS];
    const char *weight;     /* of the examples' losses */
    const char *inputs_key; /* the option in messages: "data.inputs" */
    const char *targets_key;
} liana__data_names;

/* The components that were found. */
typedef struct liana__data_match {
    liana_component inputs[LIANA__MAX_INPUTS];
    liana_component targets[LIANA__MAX_OUTPUTS]; /* name NULL: the data have none */
    const char *weight;                          /* NULL: every example counts 1 */
    bool has_image;                              /* input 0 is decoded from images */
    bool has_label;                              /* target 0 is the label of the data */
} liana__data_match;

/* Finds them among components with the shapes of one example. `wants_targets`: training and evaluation need them.
 * Errors: INVALID_ARGUMENT, with the names of the components. */
liana_status liana__data_match_list(const liana_model *model, const liana_component *components, size_t count,
                                    const liana__data_names *names, bool wants_targets, liana__data_match *match,
                                    liana__error *error) LIANA_MUST_USE;
/* The same in a source. */
liana_status liana__data_match_find(const liana_model *model, const liana__source *source,
                                    const liana__data_names *names, bool wants_targets, liana__data_match *match,
                                    liana__error *error) LIANA_MUST_USE;

/* Gives inputs with free sizes (LIANA_ANY_SIZE) those of their components, where all examples have one shape: before
 * the model's graphs are made. Images of files keep the size that the model has. Errors: INVALID_ARGUMENT for sizes
 * that the model does not take. */
liana_status liana__data_match_take_sizes(liana_model *model, const liana__data_match *match, liana__error *error)
    LIANA_MUST_USE;

/* How the rows of an input are made of texts; zeros: they are not. */
liana__row_of_texts liana__port_texts(const liana__model_port *port);

/* How each input arrives, for trainer options. */
void liana__data_match_inputs(const liana_model *model, const liana__data_match *match,
                              liana__trainer_input inputs[LIANA__MAX_INPUTS]);

/* The components of a loader's batches. */
typedef struct liana__batch_plan {
    liana__wanted_component items[LIANA_MAX_COMPONENTS];
    size_t count;
    liana__component_name names[LIANA_MAX_COMPONENTS], partners[LIANA__MAX_OUTPUTS];
} liana__batch_plan;

/* Sets the components of a loader's options; the plan must outlive the loader. Errors: INVALID_ARGUMENT (too many). */
liana_status liana__batch_plan_make(const liana__trainer *trainer, const liana__data_match *match,
                                    liana__batch_plan *plan, liana__loader_options *options, liana__error *error)
    LIANA_MUST_USE;

/* Classes and ids of a loader's batch must be in their range: the device does not look. Errors: OUT_OF_RANGE with file,
 * line, record, column, value and range. */
liana_status liana__batch_check(const liana__trainer *trainer, const liana__batch *batch, const liana__loader *loader,
                                liana__error *error) LIANA_MUST_USE;

#endif
