/* part.h - a source of some of another one's records; the division of a source into training and validation. */
#ifndef LIANA_DATA_PART_H
#define LIANA_DATA_PART_H

#include "data/source/source.h"

/* The last part that is closed closes the inner source. */
typedef struct liana__part_owners liana__part_owners;

typedef struct liana__part_options {
    liana__source *inner;
    /* Indices in the inner source, ascending, malloc'ed: those of the part, or with left_out those that it lacks. */
    uint64_t *records;
    size_t count;
    bool left_out;
    bool owns; /* the part closes the inner source */
} liana__part_options;

/* Makes a source of those records, in their order. Takes `records`, also on failure. Errors: OUT_OF_MEMORY; the inner
 * source is then unchanged, and not closed. */
liana_status liana__source_part(const liana__part_options *options, liana__source **part, liana__error *error)
    LIANA_MUST_USE;

typedef struct liana__split_options {
    double validation; /* share of the records, above 0 and below 1 */
    uint64_t seed;
    int64_t label_offset;
    bool owns; /* the source is closed with both parts; else it must outlive them */
} liana__split_options;

/* Divides a source at random, by the seed alone. With labels each class gives its share, rounded; at least one record
 * of it stays for training. Labels are read once, in one pass over the data if the source does not know them. Errors:
 * INVALID_CONFIG (a share out of range, or no record for one of the parts; a stream, which has no random access), those
 * of reading labels; the source is then not closed. */
liana_status liana__source_split(liana__source *source, const liana__split_options *options, liana__source **training,
                                 liana__source **validation, liana__error *error) LIANA_MUST_USE;

/* The records that a split takes for validation, ascending, as addresses, whose files' names are the source's. Errors:
 * as of liana__source_split. */
liana_status liana__split_find(const liana__source *source, const liana__split_options *options, liana__arena *arena,
                               const liana_record_address **held_out, size_t *count, liana__error *error)
    LIANA_MUST_USE;

#endif
