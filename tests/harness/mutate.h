/* mutate.h - damaged copies of good inputs, which a parser must survive (under ASan in `make asan`). */
#ifndef LIANA_TESTS_MUTATE_H
#define LIANA_TESTS_MUTATE_H

#include <stddef.h>
#include <stdint.h>

/* A malloc'ed damaged copy of `data`, exactly *mutated_size bytes (so that ASan sees a read behind it): one to four
 * byte changes, insertions of bytes of `alphabet`, deletions, repetitions or cuts, drawn by (seed, index). */
char *liana__test_mutate(const char *data, size_t size, const char *alphabet, uint64_t seed, uint32_t index,
                         size_t *mutated_size);

#endif
