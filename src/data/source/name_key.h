/* name_key.h - keys of names: two names that mean the same have the same key, however they are written. */
#ifndef LIANA_DATA_NAME_KEY_H
#define LIANA_DATA_NAME_KEY_H

typedef enum liana__name_rule {
    /* Names that look the same: composed and decomposed accents, all kinds of spaces, several spaces, spaces at the
     * ends, characters that are not seen (a byte order mark, a soft hyphen). */
    LIANA__NAMES_LOOK_ALIKE,
    /* And names that differ only in case, in spaces, or in compatible forms (full-width letters): Unicode's
     * toNFKC_Casefold, without spaces. */
    LIANA__NAMES_READ_ALIKE,
} liana__name_rule;

/* The key as a string that the caller frees. NULL: out of memory. Of bytes that are not UTF-8, only ASCII letters and
 * spaces are changed. */
char *liana__name_key(const char *name, liana__name_rule rule);

#endif
