/* made.h - datasets that a program's function makes, one after the other, while another dataset is read. */
#ifndef LIANA_DATA_MADE_H
#define LIANA_DATA_MADE_H

#include "data/dataset/kept.h"

/* The dataset that is read now. Zero-initialise; free with liana__made_free. */
typedef struct liana__made {
    liana_context *context; /* in which functions make datasets: this may be any thread */
    liana_dataset *dataset;
    liana__cursor *open;
} liana__made;

/* For `begin` of a stage. Errors: OUT_OF_MEMORY. */
liana_status liana__made_begin(liana__made *made, const liana__cursor *cursor, liana__error *error) LIANA_MUST_USE;
void liana__made_free(liana__made *made);

/* The elements of the stage's input that a function gets. Takes the list. NULL, as of a function that fails: the
 * message is in made->context. */
liana_dataset *liana__made_window(liana__made *made, const liana__cursor *cursor, liana__kept_list *list);
/* Opens what a function made of them: elements of the stage's spec. Takes the dataset; NULL: the function failed.
 * Errors: those of the function, INVALID_ARGUMENT (other components). */
liana_status liana__made_open(liana__made *made, const liana__cursor *cursor, liana_dataset *dataset,
                              liana__error *error) LIANA_MUST_USE;
/* Its next element. LIANA_END_OF_DATA: there is no more, or nothing is open. */
liana_status liana__made_next(liana__made *made, liana_element *element, liana__error *error) LIANA_MUST_USE;

#endif
