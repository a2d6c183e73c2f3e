/* Keeps a few datasets open and takes elements of them in turn. */
#include "data/dataset/cycle.h"

#include <stdlib.h>

liana_status liana__cycle_init(liana__cycle *cycle, size_t length, int64_t block_length, liana__error *error)
{
    *cycle = (liana__cycle){.length = length, .block_length = block_length};
    cycle->places = calloc(length, sizeof *cycle->places);
    return cycle->places ? LIANA_OK : liana__fail_memory(error, "datasets that are taken in turn");
}

static void close_place(liana__cycle_place *place)
{
    liana__cursor_close(place->cursor);
    liana_dataset_close(place->dataset);
    *place = (liana__cycle_place){0};
}

void liana__cycle_free(liana__cycle *cycle)
{
    for (size_t i = 0; cycle->places && i < cycle->length; i++) close_place(&cycle->places[i]);
    free(cycle->places);
    *cycle = (liana__cycle){0};
}

static void advance(liana__cycle *cycle)
{
    cycle->given = 0;
    cycle->at = (cycle->at + 1) % cycle->length;
}

liana_status liana__cycle_next(liana__cycle *cycle, liana__cursor *cursor, liana__cycle_open open,
                               liana_element *element, liana__error *error)
{
    while (!cycle->drained || cycle->num_open > 0) {
        liana__cycle_place *turn = &cycle->places[cycle->at];
        if (turn->cursor) {
            if (cycle->given == cycle->block_length) {
                advance(cycle);
                continue;
            }
            liana_status status = liana__cursor_next(turn->cursor, element, error);
            cycle->given++;
            if (status != LIANA_END_OF_DATA) return status;
            close_place(turn);
            cycle->num_open--;
            advance(cycle);
        } else if (cycle->drained) {
            advance(cycle);
        } else {
            liana_status status = open(cursor, turn, error);
            cycle->drained = status == LIANA_END_OF_DATA;
            cycle->num_open += status == LIANA_OK;
            if (status != LIANA_OK && !cycle->drained) return status;
        }
    }
    return LIANA_END_OF_DATA;
}
