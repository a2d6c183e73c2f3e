/* other_names.h - names of Keras, TensorFlow and other libraries for things that liana has under another name. */
#ifndef LIANA_BASE_OTHER_NAMES_H
#define LIANA_BASE_OTHER_NAMES_H

#include "base/text.h"

typedef enum liana__other_kind {
    LIANA__OTHER_PART, /* a part of any kind, a key, an option, a subcommand */
    LIANA__OTHER_STRATEGY,
    LIANA__OTHER_DEVICE, /* without its number */
} liana__other_kind;

/* Whether two names differ in case, underscores and dashes alone. */
bool liana__same_name(const char *a, const char *b);

/* liana's name for it, or NULL. Case, underscores, dashes and the text before the last point make no difference. */
const char *liana__other_name(liana__other_kind kind, const char *name);

/* The search for the name that was meant (base/text.h), among names of liana's own things: a name of others comes
 * before one that is near. Of several answers, one that is added wins. */
liana__nearest_search liana__nearest_begin_known(const char *word);
void liana__nearest_add_known(liana__nearest_search *search, const char *name);

#endif
