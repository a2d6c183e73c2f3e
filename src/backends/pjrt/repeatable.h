/* repeatable.h - settings with which a plugin's programs give the same bits each time (train.deterministic). */
#ifndef LIANA_BACKENDS_PJRT_REPEATABLE_H
#define LIANA_BACKENDS_PJRT_REPEATABLE_H

#include "backends/pjrt/compile_options.h"

typedef struct liana__repeatable {
    const char *platform;
    const liana__pjrt_flag *flags; /* of XLA's DebugOptions; they outlive all programs */
    size_t num_flags;
    const char *condition; /* of repeatability all the same, for people; or NULL */
} liana__repeatable;

/* The settings of a platform; NULL: unknown. No flags: its programs are repeatable as they are. */
const liana__repeatable *liana__repeatable_of(const char *platform);

/* Adds a sentence about it. */
void liana__repeatable_print(const char *platform, liana__text *text);

#endif
