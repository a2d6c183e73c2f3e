/* Makes damaged copies of good inputs. */
#include "harness/mutate.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_CHANGES = 4, LONGEST_REPEAT = 32 };

/* One change in place; `bytes` has room for LONGEST_REPEAT more. */
static size_t change(char *bytes, size_t size, const char *alphabet, const uint32_t draw[4])
{
    size_t at = size ? draw[1] % size : 0;
    char letter = *alphabet ? alphabet[draw[2] % strlen(alphabet)] : (char)draw[3];
    size_t length = size - at < LONGEST_REPEAT ? size - at : LONGEST_REPEAT;
    switch (draw[0] % 6) {
    case 0: /* a random byte */
        if (size) bytes[at] = (char)draw[3];
        return size;
    case 1: /* another letter */
        if (size) bytes[at] = letter;
        return size;
    case 2: /* one more letter */
        memmove(bytes + at + 1, bytes + at, size - at);
        bytes[at] = letter;
        return size + 1;
    case 3: /* a piece missing */
        length = length ? 1 + draw[3] % length : 0;
        memmove(bytes + at, bytes + at + length, size - at - length);
        return size - length;
    case 4: /* a piece twice */ memmove(bytes + at + length, bytes + at, size - at); return size + length;
    default: /* the end missing, seldom: it leaves little */ return draw[3] % 4 == 0 ? at : size;
    }
}

char *liana__test_mutate(const char *data, size_t size, const char *alphabet, uint64_t seed, uint32_t index,
                         size_t *mutated_size)
{
    char *room = malloc(size + (size_t)MOST_CHANGES * LONGEST_REPEAT);
    if (!room) abort();
    memcpy(room, data, size);
    liana__philox_key key = liana__philox_make_key(seed, LIANA__STREAM_TEST, 0);
    uint32_t draw[4];
    liana__philox(key, (const uint32_t[4]){index, 0, 0, 0}, draw);
    uint32_t changes = 1 + draw[0] % MOST_CHANGES;
    for (uint32_t i = 1; i <= changes; i++) {
        liana__philox(key, (const uint32_t[4]){index, i, 0, 0}, draw);
        size = change(room, size, alphabet, draw);
    }
    char *exact = malloc(size ? size : 1);
    if (!exact) abort();
    memcpy(exact, room, size);
    free(room);
    *mutated_size = size;
    return exact;
}
