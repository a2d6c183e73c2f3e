/* element_text.h - the elements of a dataset as text, for comparing them with what another program gives. An element is
 * "[[1 2] [3 0]] ": its components with ':' between them, strings in quotes. */
#ifndef LIANA_TESTS_ELEMENT_TEXT_H
#define LIANA_TESTS_ELEMENT_TEXT_H

#include "harness/harness.h"

#include <liana/liana.h>

/* A context of two threads. */
liana_context *liana__test_context(void);

/* The elements of an iterator, which must end with `expected`; malloc'ed. */
char *liana__test_show(liana_context *context, const liana_dataset *dataset, const liana_iterator_options *options,
                       liana_status expected);
/* Where the elements after the first `count` begin; the number of elements. */
const char *liana__test_behind(const char *text, int count);
int liana__test_count_elements(const char *text);

/* Compares all elements, from each start, with several numbers of threads; closes the dataset. */
void liana__test_gives(liana_context *context, liana_dataset *dataset, const char *expected, int line);
#define gives(dataset, expected) liana__test_gives(context, (dataset), (expected), __LINE__)

/* A maker has failed with this message. */
void liana__test_refused(liana_context *context, liana_dataset *dataset, const char *message, int line);
#define refused(dataset, message) liana__test_refused(context, (dataset), (message), __LINE__)

/* The elements `before` come, then a failure; closes the dataset. */
void liana__test_failing(liana_context *context, liana_dataset *dataset, liana_status expected, const char *before,
                         const char *message);
#define fails(dataset, status, before, message) liana__test_failing(context, (dataset), (status), (before), (message))

/* The same elements, replayed. */
liana_dataset *liana__test_replayed(liana_dataset *dataset);
/* A component of whole numbers (s64 []). */
int64_t liana__test_number(const liana_element *element, const char *name);

#endif
