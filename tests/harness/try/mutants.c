/* Damaged copies of a file. */
#include "harness/try/mutants.h"

#include "harness/harness.h"

#include "base/random.h"

#include <stdlib.h>
#include <string.h>

/* Words of one mutation, drawn from its number. */
typedef struct draw {
    liana__philox_key key;
    uint32_t counter[4];
    uint32_t words[4];
    int left;
} draw;

static uint32_t next_word(draw *source, uint32_t bound)
{
    if (source->left == 0) {
        liana__philox(source->key, source->counter, source->words);
        source->counter[0]++;
        source->left = 4;
    }
    return source->words[--source->left] % bound;
}

/* Values that parsers stumble over. */
static uint8_t odd_byte(draw *source)
{
    static const uint8_t odd[] = {0x00, 0x01, 0x7f, 0x80, 0xff, 0xfe, 0x0a, 0x12, 0x1a, 0x78, 0x1f};
    uint32_t choice = next_word(source, 2 * sizeof odd);
    return choice < sizeof odd ? odd[choice] : (uint8_t)next_word(source, 256);
}

/* Changes a copy of the bytes in one to four places and returns the new size. */
static size_t mutate(const uint8_t *bytes, size_t size, uint32_t number, uint8_t out[LIANA__MUTANT_ROOM * 2])
{
    draw source = {.key = liana__philox_make_key(11, LIANA__STREAM_TEST, 1), .counter = {0, number, 0, 0}};
    memcpy(out, bytes, size);
    uint32_t changes = 1 + next_word(&source, 4);
    for (uint32_t change = 0; change < changes && size > 0; change++) {
        size_t at = next_word(&source, (uint32_t)size), length = 1 + next_word(&source, 8);
        if (length > size - at) length = size - at;
        switch (next_word(&source, 6)) {
        case 0: /* one bit */ out[at] ^= (uint8_t)(1u << next_word(&source, 8)); break;
        case 1: /* one byte */ out[at] = odd_byte(&source); break;
        case 2: /* a run of one byte */ memset(out + at, odd_byte(&source), length); break;
        case 3: /* cut off */ size = at; break;
        case 4: /* take out */
            memmove(out + at, out + at + length, size - at - length);
            size -= length;
            break;
        default: /* put in that byte twice */
            memmove(out + at + length, out + at, size - at);
            size += length;
            break;
        }
    }
    return size;
}

void liana__test_mutants(const uint8_t *bytes, size_t size, uint32_t count, bool (*try_bytes)(const uint8_t *, size_t))
{
    static uint8_t changed[LIANA__MUTANT_ROOM * 2];
    assert_compare(size, <=, LIANA__MUTANT_ROOM);
    assert_true(try_bytes(bytes, size));
    size_t refused = 0;
    for (uint32_t number = 0; number < count; number++) {
        size_t new_size = mutate(bytes, size, number, changed);
        uint8_t *exact = malloc(new_size ? new_size : 1);
        memcpy(exact, changed, new_size);
        refused += !try_bytes(exact, new_size);
        free(exact);
    }
    assert_compare(refused, >, count / 10);
}
