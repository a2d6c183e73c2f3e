/* iterator.h - iterators: the elements of a dataset, one after the other.
 *
 *     const liana_element *element;
 *     while ((status = liana_iterator_next(iterator, &element)) == LIANA_OK) use(element);
 *     if (status != LIANA_END_OF_DATA) puts(liana_context_message(context));
 *
 * Only one thread at a time may use an iterator. */
#ifndef LIANA_ITERATOR_H
#define LIANA_ITERATOR_H

#include <liana/dataset.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct liana_iterator liana_iterator;

/* Zeros are the defaults. */
typedef struct liana_iterator_options {
    int num_threads; /* for each stage that works ahead. 0: the context's number; below 0: none, `next` does all work */
    size_t memory;   /* bytes, half for elements made ahead, half for shuffle buffers; 0: 1 GiB */
    uint64_t seed;   /* of the random numbers that functions draw */
    uint64_t epoch;  /* decides the order of shuffles */
    uint64_t start;  /* index of the first element: the iterator begins where one from 0 would be then */
} liana_iterator_options;

/* Opens an iterator; `options` may be NULL. It keeps a reference to the dataset; the caller still closes its own.
 * Errors: INVALID_ARGUMENT (the dataset is NULL; its maker has left the message), and errors of the elements before
 * `start` if stages must replay them. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_create(const liana_dataset *dataset,
                                                            const liana_iterator_options *options,
                                                            liana_iterator **iterator);
/* NULL is allowed. */
LIANA_API void liana_iterator_destroy(liana_iterator *iterator);

/* The next element, valid until the next call. After the last one: LIANA_END_OF_DATA and NULL, without a message. The
 * message of a failure names the stage and the address. A failure is repeated until liana_iterator_initialize. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_next(liana_iterator *iterator, const liana_element **element);

/* The number of elements since the beginning of the epoch, `start` included; 0 for NULL. An iterator with this `start` goes on
 * here. */
LIANA_API uint64_t liana_iterator_position(const liana_iterator *iterator);

/* Begins again, with another dataset whose elements have the same components, or with the same one (NULL). `options` as
 * for create; NULL: as before, from element 0. Errors: INVALID_ARGUMENT (names the component that differs); the
 * iterator then stays where it was. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_initialize(liana_iterator *iterator, const liana_dataset *dataset,
                                                                const liana_iterator_options *options);

/* A feedable iterator: it gives the elements of another iterator, which may be replaced at any time. It begins with
 * `source`. The iterator that feeds it must live until it is replaced or this one is destroyed. */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_create_feedable(liana_iterator *source, liana_iterator **iterator);
/* From now on gives the elements of `source`, from its current position. Errors: INVALID_ARGUMENT (components differ,
 * or `source` is itself fed by this iterator). */
LIANA_API LIANA_MUST_USE liana_status liana_iterator_feed(liana_iterator *iterator, liana_iterator *source);

#ifdef __cplusplus
}
#endif
#endif
