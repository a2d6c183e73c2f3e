/* user_update.h - a program's function as an update builder. */
#ifndef LIANA_STEP_USER_UPDATE_H
#define LIANA_STEP_USER_UPDATE_H

#include "step/builders.h"
#include "step/update_cut.h"

#include <liana/step.h>

typedef struct liana__user_update {
    liana__update_builder builder;
    liana_context *context;
    void (*function)(liana_update *update, void *user);
    void *user;
    const char *name; /* in messages */
    /* Of the vector of sums: those that have names, and the number of all. */
    const char *const *names;
    size_t num_names, num_sums;
    const liana__step_sums *sums;
    liana__update_cut cut; /* once it was cut */
} liana__user_update;

/* Sets `builder` of an update whose other members are set; the scalars' names are [num_scalars]. It stays where it
 * is. */
void liana__user_update_init(liana__user_update *update, const char *const *scalars, size_t num_scalars);
void liana__user_update_free(liana__user_update *update);

#endif
