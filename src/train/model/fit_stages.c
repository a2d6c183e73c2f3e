/* Reads the stages of a program's options. */
#include "train/model/fit_stages.h"

#include "formats/yaml.h"
#include "program/optimizer_text.h"

#include <string.h>

liana_status liana__fit_stages_begin(liana_model *model, const liana_fit_options *options, liana__arena *arena,
                                     liana__training_stages *stages, liana__error *error)
{
    const char *text = options->stages;
    liana__value *list = NULL, *optimizer = NULL;
    *stages = (liana__training_stages){0};
    if (!text) return LIANA_OK;
    LIANA_TRY(liana__yaml_parse(text, strlen(text), "stages", arena, &list, error));
    LIANA_TRY(liana__optimizer_text_read(options->optimizer ? options->optimizer : "Adam", arena, &optimizer, error));
    const liana__training_stages_request request = {.context = model->context,
                                                    .list = list,
                                                    .where = "stages",
                                                    .optimizer = optimizer,
                                                    .initial_epoch = options->initial_epoch,
                                                    .epochs = options->epochs,
                                                    .epochs_where = "epochs"};
    liana_status status = liana__training_stages_read(&request, arena, stages, error);
    if (status == LIANA_OK) status = liana__training_stages_bind(stages, model, "stages", arena, error);
    if (status != LIANA_OK) {
        *stages = (liana__training_stages){0};
        return status;
    }
    liana__training_stage_apply(stages, 0, model);
    return LIANA_OK;
}
