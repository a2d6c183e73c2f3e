/* Writes whole updates for devices that need not be there. */
#include "backends/pjrt/whole_text.h"

#include "backends/pjrt/whole_graphs.h"
#include "base/scoped.h"

liana_status liana__whole_text_write(const liana__whole_plan *plan, liana__whole_text *text, liana__error *error)
{
    LIANA__SCOPED(liana__whole_graphs) graphs = {0};
    liana__stablehlo_variables variables = {0};
    const liana__stablehlo_options options = {.name = "update", .highest_precision = !text->default_products};
    const int64_t places = liana__whole_places(plan, text->replicas);
    const int64_t wanted = text->side_by_side && text->side_by_side < places ? text->side_by_side : places;
    text->text = NULL;
    text->side_by_side = plan->side_by_side ? wanted : 1;
    LIANA_TRY(liana__whole_graphs_begin(&graphs, plan, text->replicas, error));
    LIANA_TRY(liana__whole_graphs_build_leaves(&graphs, plan, text->side_by_side, text->recomputed, error));
    LIANA_TRY(liana__whole_graphs_build_update(&graphs, plan, error));
    LIANA_TRY(liana__stablehlo_whole_variables(&graphs.shape, &variables, error));
    text->rounds = graphs.shape.rounds;
    text->num_recomputed = graphs.again.num_segments;
    const liana_status status = liana__stablehlo_print_whole(&graphs.shape, &variables, &options, &text->text, error);
    free(variables.items);
    return status;
}
