/* notes.h - sentences about findings and choices, for a caller that asked for them. */
#ifndef LIANA_BASE_NOTES_H
#define LIANA_BASE_NOTES_H

#include "base/printf_check.h"

typedef struct liana__notes {
    void (*tell)(void *user, const char *note); /* NULL: nobody asked */
    void *user;
} liana__notes;

/* Tells a sentence, if somebody asked. Longer ones than 2,300 bytes are cut. */
void liana__note(const liana__notes *notes, const char *format, ...) LIANA__PRINTF(2, 3);

#endif
