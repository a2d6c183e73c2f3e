/* Computes which part an element comes from where parts take turns. */
#include "data/dataset/turns.h"

#include "base/search.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A part gives block_length elements in each round from its first one on, and the rest in its last round. The rest may
 * be empty: its end is seen there. */
typedef struct part {
    uint64_t length;
    uint64_t first; /* round */
    size_t place;
} part;

/* From a round to the next stretch all rounds have the same number of elements. */
typedef struct stretch {
    uint64_t round;
    uint64_t rate; /* elements of each round; before it is summed up, the change of it */
} stretch;

struct liana__turns {
    uint64_t block_length;
    size_t cycle_length;
    size_t num_parts;
    part *parts;
    /* The parts of each place in order, and their first rounds, from 0: those of place p are at place_starts[p] on. */
    size_t *place_starts;
    size_t *place_parts;
    uint64_t *place_rounds;
    size_t num_stretches;
    stretch *stretches;
    uint64_t *stretch_starts; /* elements before each */
};

static uint64_t last_round(const liana__turns *turns, const part *own)
{
    return own->first + own->length / turns->block_length;
}

/* Each part in turn goes to the place that is free first. */
static void assign_places(liana__turns *turns, uint64_t *free_from)
{
    for (size_t i = 0; i < turns->num_parts; i++) {
        part *own = &turns->parts[i];
        for (size_t p = 1; p < turns->cycle_length; p++) {
            if (free_from[p] < free_from[own->place]) own->place = p;
        }
        own->first = free_from[own->place];
        free_from[own->place] = last_round(turns, own) + 1;
        turns->place_starts[own->place + 1]++;
    }
    for (size_t p = 0; p < turns->cycle_length; p++) turns->place_starts[p + 1] += turns->place_starts[p];
    size_t *next = turns->place_starts;
    for (size_t i = 0; i < turns->num_parts; i++) {
        size_t at = next[turns->parts[i].place]++;
        turns->place_parts[at] = i;
        turns->place_rounds[at] = turns->parts[i].first;
    }
    /* Each start has moved to the next one's place. */
    memmove(next + 1, next, turns->cycle_length * sizeof *next);
    next[0] = 0;
}

static int by_round(const void *a, const void *b)
{
    const stretch *one = a, *other = b;
    return (one->round > other->round) - (one->round < other->round);
}

/* Differences are added modulo 2^64; the resulting rates are not negative. */
static void add_stretches(liana__turns *turns)
{
    stretch *next = turns->stretches;
    for (size_t i = 0; i < turns->num_parts; i++) {
        const part *own = &turns->parts[i];
        uint64_t last = last_round(turns, own), rest = own->length % turns->block_length;
        *next++ = (stretch){own->first, turns->block_length};
        *next++ = (stretch){last, rest - turns->block_length};
        *next++ = (stretch){last + 1, -rest};
    }
    qsort(turns->stretches, 3 * turns->num_parts, sizeof *next, by_round);
    uint64_t rate = 0, start = 0, round = 0;
    for (size_t i = 0; i < 3 * turns->num_parts; i++) {
        stretch at = turns->stretches[i];
        start += rate * (at.round - round);
        if (i == 0 || at.round != round) turns->num_stretches++;
        round = at.round;
        rate += at.rate;
        turns->stretches[turns->num_stretches - 1] = (stretch){round, rate};
        turns->stretch_starts[turns->num_stretches - 1] = start;
    }
}

liana_status liana__turns_create(const uint64_t *lengths, size_t num_parts, size_t cycle_length, uint64_t block_length,
                                 liana__turns **out, liana__error *error)
{
    *out = NULL;
    liana__turns *turns = calloc(1, sizeof *turns);
    if (!turns) return liana__fail_memory(error, "the order of the parts");
    /* So that each place has a part. */
    if (cycle_length > num_parts) cycle_length = num_parts;
    *turns = (liana__turns){.block_length = block_length, .cycle_length = cycle_length, .num_parts = num_parts};
    turns->parts = calloc(num_parts + 1, sizeof *turns->parts);
    turns->place_starts = calloc(cycle_length + 1, sizeof *turns->place_starts);
    turns->place_parts = calloc(num_parts + 1, sizeof *turns->place_parts);
    turns->place_rounds = calloc(num_parts + 1, sizeof *turns->place_rounds);
    turns->stretches = calloc(3 * num_parts + 1, sizeof *turns->stretches);
    turns->stretch_starts = calloc(3 * num_parts + 1, sizeof *turns->stretch_starts);
    uint64_t *free_from = calloc(cycle_length + 1, sizeof *free_from);
    bool made = turns->parts && turns->place_starts && turns->place_parts && turns->place_rounds && turns->stretches &&
                turns->stretch_starts && free_from;
    for (size_t i = 0; made && i < num_parts; i++) turns->parts[i].length = lengths[i];
    if (made) assign_places(turns, free_from);
    if (made) add_stretches(turns);
    free(free_from);
    if (made) {
        *out = turns;
        return LIANA_OK;
    }
    liana__turns_destroy(turns);
    return liana__fail_memory(error, "the order of the parts");
}

void liana__turns_destroy(liana__turns *turns)
{
    if (!turns) return;
    free(turns->parts);
    free(turns->place_starts);
    free(turns->place_parts);
    free(turns->place_rounds);
    free(turns->stretches);
    free(turns->stretch_starts);
    free(turns);
}

size_t liana__turns_find(const liana__turns *turns, uint64_t *index)
{
    size_t at = liana__part_of(turns->stretch_starts, turns->num_stretches, *index);
    uint64_t rate = turns->stretches[at].rate, left = *index - turns->stretch_starts[at];
    uint64_t round = turns->stretches[at].round + left / rate;
    left %= rate;
    for (size_t place = 0; place < turns->cycle_length; place++) {
        size_t begin = turns->place_starts[place], end = turns->place_starts[place + 1];
        size_t found = turns->place_parts[begin + liana__part_of(turns->place_rounds + begin, end - begin, round)];
        const part *own = &turns->parts[found];
        uint64_t last = last_round(turns, own);
        if (round > last) continue;
        uint64_t count = round < last ? turns->block_length : own->length % turns->block_length;
        if (left < count) {
            *index = (round - own->first) * turns->block_length + left;
            return found;
        }
        left -= count;
    }
    return 0; /* not reached: the rounds of a stretch have `rate` elements */
}
