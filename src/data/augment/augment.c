/* The list of augmentations, and finding one by its name. */
#include "data/augment/augment.h"

#include <ctype.h>
#include <string.h>

const char *const liana__interpolation_names[] = {"nearest", "bilinear", NULL};
const char *const liana__fill_mode_names[] = {"constant", "nearest", "reflect", "wrap", NULL};

const liana__augmentation *const liana__augmentations[] = {
#define LIANA__AUGMENTATION(stem, name) &liana__augmentation_##name,
#include "data/augment/augment.def"
#undef LIANA__AUGMENTATION
    NULL,
};

/* Whether two names are equal, ignoring case and underscores. */
static bool same_name(const char *a, const char *b)
{
    for (;;) {
        while (*a == '_') a++;
        while (*b == '_') b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b)) return false;
        if (!*a) return true;
        a++;
        b++;
    }
}

const liana__augmentation *liana__augmentation_find(const char *name)
{
    for (size_t i = 0; liana__augmentations[i]; i++) {
        if (same_name(name, liana__augmentations[i]->name)) return liana__augmentations[i];
    }
    return NULL;
}
