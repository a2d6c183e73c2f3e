/* user_update.h - a program's function as an update builder. */
#ifndef LIANA_STEP_USER_UPDATE_H
#define LIANA_STEP_USER_UPDATE_H

#include "ir/graph.h"
#include "step/builders.h"

#include <liana/step.h>

/* ---- update cut ---- */

/* Cuts any update into slices, each with one owner (distribute/slices.h): which variables are assigned where.
 *
 * Variables whose new values are made of the same sums stay together, so that no sum is sent to two owners; so do
 * those that read each other. An update in which all variables read all sums - gradients clipped by their common
 * norm - is one slice. What is made of no sum, as the number of updates, is assigned wherever it is read: all
 * owners come to the same. */

typedef struct liana__update_cut {
    size_t *slices; /* [num_assignments]: whose each is; SIZE_MAX: of all that read it */
    size_t num_assignments;
} liana__update_cut;

/* Cuts the update of a graph, of which the inputs [first, end) are the sums that are to be sent to one owner each.
 * Errors: OUT_OF_MEMORY. Free it in any case. */
liana_status liana__update_cut_make(const liana_graph *graph, size_t first, size_t end, size_t num_slices,
                                    liana__update_cut *cut, liana__error *error) LIANA_MUST_USE;
void liana__update_cut_free(liana__update_cut *cut);

/* The graph of a slice: its assignments, and all inputs from `end` on, which every slice has. *part NULL: it has
 * nothing to do. Errors, which the context keeps: OUT_OF_MEMORY. */
liana_status liana__update_cut_build(const liana__update_cut *cut, const liana_graph *graph, size_t end, size_t slice,
                                     liana_graph **part) LIANA_MUST_USE;

/* ---- user update ---- */

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
