/* Holds a bound on staleness. */
#include "distribute/cluster/span_gate.h"

#include <stdlib.h>

liana_status liana__span_gate_create(size_t num_workers, uint64_t most, liana__span_gate *gate, liana__error *error)
{
    *gate = (liana__span_gate){.num_workers = num_workers, .most = most};
    gate->workers = calloc(num_workers, sizeof *gate->workers);
    return gate->workers ? LIANA_OK : liana__fail_memory(error, "the workers of a parameter server");
}

void liana__span_gate_free(liana__span_gate *gate)
{
    free(gate->workers);
    *gate = (liana__span_gate){0};
}

void liana__span_gate_ask(liana__span_gate *gate, size_t worker)
{
    gate->workers[worker].waits = true;
    gate->workers[worker].turn = gate->next_turn++;
}

static bool has_room(const liana__span_gate *gate)
{
    if (gate->num_computing > gate->most) return false;
    for (size_t i = 0; i < gate->num_workers; i++) {
        if (gate->workers[i].computes && gate->workers[i].overlaps >= gate->most) return false;
    }
    return true;
}

bool liana__span_gate_admit(liana__span_gate *gate, size_t *worker)
{
    size_t first = gate->num_workers;
    for (size_t i = 0; i < gate->num_workers; i++) {
        if (!gate->workers[i].waits) continue;
        if (first == gate->num_workers || gate->workers[i].turn < gate->workers[first].turn) first = i;
    }
    if (first == gate->num_workers || !has_room(gate)) return false;
    for (size_t i = 0; i < gate->num_workers; i++) gate->workers[i].overlaps += gate->workers[i].computes;
    gate->workers[first] = (liana__span_gate_worker){.computes = true, .overlaps = gate->num_computing};
    gate->num_computing++;
    *worker = first;
    return true;
}

void liana__span_gate_done(liana__span_gate *gate, size_t worker)
{
    gate->workers[worker].waits = false;
    if (!gate->workers[worker].computes) return;
    gate->workers[worker].computes = false;
    gate->num_computing--;
}
