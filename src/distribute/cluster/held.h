/* held.h - variables that no process has whole: each owner of a slice holds its part.
 *
 * In a list of variables they stand as all others. Reading one gathers it from its owners, so all processes read it, in
 * the same order; writing one gives each owner its part of this process's values, and all write the same. */
#ifndef LIANA_DISTRIBUTE_HELD_H
#define LIANA_DISTRIBUTE_HELD_H

#include "backends/variables.h"

struct liana__sliced_update;

/* The holder of the parts; the place is that in the list. */
typedef struct liana__slice_holder {
    liana_status (*gather)(struct liana__sliced_update *update, size_t place, void *data, liana__error *error);
    liana_status (*scatter)(struct liana__sliced_update *update, size_t place, const void *data, liana__error *error);
    liana_status (*read_own)(const struct liana__sliced_update *update, size_t place, void *data, liana__error *error);
    struct liana__sliced_update *update;
} liana__slice_holder;

/* Adds a variable. The holder must outlive its use, or be taken away with liana__held_release. Errors: INVALID_ARGUMENT
 * for a name that is not new, OUT_OF_MEMORY. */
liana_status liana__held_add(liana__variables *variables, const char *name, liana_dtype dtype, const liana_shape *shape,
                             double begins_at, const liana__slice_holder *holder, liana__error *error) LIANA_MUST_USE;
/* Takes part while another process reads all variables of the list, in their order, and keeps nothing. `done`: the
 * number of held variables that were read already. */
liana_status liana__held_attend(const liana__variables *variables, size_t done, liana__error *error) LIANA_MUST_USE;
/* Copies the part that this process holds to its places in `data`, and leaves the rest as it is: enough to write it
 * back later. No other process takes part. A variable that is not held is copied whole. */
liana_status liana__variable_read_own(const liana__variable *variable, void *data, liana__error *error) LIANA_MUST_USE;
bool liana__is_held(const liana__variable *variable);
/* The first value of every element of it. */
double liana__held_begins_at(const liana__variable *variable);
/* From now on those of this update are read and written no more. */
void liana__held_release(const liana__variables *variables, const struct liana__sliced_update *update);

#endif
