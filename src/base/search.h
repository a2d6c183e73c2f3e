/* search.h - search in a sorted table. */
#ifndef LIANA_BASE_SEARCH_H
#define LIANA_BASE_SEARCH_H

#include <stddef.h>
#include <stdint.h>

/* The index of the last of starts[0..count) that is at most `value`: the part of a whole that a place is in. starts
 * ascend, and starts[0] <= value. Of equal starts (empty parts) it is the last. */
static inline size_t liana__part_of(const uint64_t *starts, size_t count, uint64_t value)
{
    size_t low = 0, high = count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (starts[middle] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

#endif
