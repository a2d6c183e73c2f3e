/* iterator.h - the elements of a dataset, one after the other.
 *
 *     const liana_element *element;
 *     while ((status = liana_iterator_next(iterator, &element)) == LIANA_OK) use(element);
 *     if (status != LIANA_END_OF_DATA) puts(liana_context_message(context));
 *
 * An iterator is for one thread at a time. */
#ifndef LIANA_ITERATOR_H
#define LIANA_ITERATOR_H

#include <liana/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_iterator liana_iterator;

/* Zeros are the defaults. */
typedef struct liana_iterator_options {
    int num_threads; /* that each stage which works has; 0: the context's; below 0: none, all is done in `next` */
    size_t memory;   /* half for elements made ahead, half for shuffle buffers, in bytes; 0: 1 GiB */
    uint64_t seed;   /* of what functions draw */
    uint64_t epoch;  /* which order shuffles have */
    uint64_t start;  /* the first element: what an iterator from 0 would give there */
} liana_iterator_options;

/* Opens an iterator; `options` may be NULL. It keeps a reference to the dataset: the caller still closes its own.
 * Errors: INVALID_ARGUMENT (a dataset of NULL, whose maker has left its message), those of the elements before `start`
 * where stages have to replay them. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_create(const liana_dataset *dataset,
                                                            const liana_iterator_options *options,
                                                            liana_iterator **iterator);
/* NULL is allowed. */
LIANA_API void liana_iterator_destroy(liana_iterator *iterator);

/* The next element, valid until the next call; LIANA_END_OF_DATA (and NULL) after the last, which leaves no message. A
 * failure names stage and address, and comes again until the iterator is initialised. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_next(liana_iterator *iterator, const liana_element **element);

/* The number of elements given since the beginning of the epoch, `start` included: where to go on. */
LIANA_API uint64_t liana_iterator_position(const liana_iterator *iterator);

/* Begins again with another dataset whose elements have the same components, or the same one (NULL), as the options
 * say (NULL: as before, from element 0). Errors: INVALID_ARGUMENT (the component that differs); the iterator stays
 * where it was then. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_initialize(liana_iterator *iterator, const liana_dataset *dataset,
                                                                const liana_iterator_options *options);

/* An iterator that gives what another one gives, which may be swapped at any time: a feedable iterator. It begins with
 * `source`, which, like all that are fed, must outlive it or be replaced. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_create_feedable(liana_iterator *source, liana_iterator **iterator);
/* From now on the elements of another iterator, from where that stands. Errors: INVALID_ARGUMENT (components that
 * differ, an iterator that is fed by this one). */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_feed(liana_iterator *iterator, liana_iterator *source);

#ifdef __cplusplus
}
#endif
#endif
