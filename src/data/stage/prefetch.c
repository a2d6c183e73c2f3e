/* Makes elements ahead: the stage only counts as work, so that a cursor uses threads for it. */
#include "data/dataset/dataset.h"

static liana_status pass_on(liana__reader *reader, const liana__at *at, const liana_element *input,
                            liana_element *element, liana__error *error)
{
    (void)reader;
    (void)at;
    (void)error;
    *element = *input;
    return LIANA_OK;
}

liana_dataset *liana_dataset_prefetch(liana_dataset *input)
{
    return liana__dataset_stage(&liana__stage_prefetch, input, 0);
}

const liana_stage_type liana__stage_prefetch = {
    LIANA_PART(STAGE, liana_stage_type, "prefetch", "Makes elements ahead, on threads."),
    .apply = pass_on,
    .works = true,
};
