/* number_names.h - names for labels that are numbers, of a data set whose classes are known. */
#ifndef LIANA_DATA_NUMBER_NAMES_H
#define LIANA_DATA_NUMBER_NAMES_H

#include "data/source/source.h"

/* Label i of the source is the class names->items[i]; the strings must live as long as the source. The options may list
 * classes: the same ones, or, if labels need not be names, as many names of the caller's own, which the source does not
 * know then. `what` names the data. Errors: INVALID_DATA with both lists. */
liana_status liana__source_name_numbers(liana__source *source, const char *what, const liana__strings *names,
                                        const liana__source_options *options, liana__error *error) LIANA_MUST_USE;

#endif
