/* user.h - callbacks that a program gives to liana_fit, as callbacks of a training. */
#ifndef LIANA_TRAIN_USER_CALLBACK_H
#define LIANA_TRAIN_USER_CALLBACK_H

#include "train/callbacks/callback.h"

/* Adds a program's callback, which is borrowed. Errors: INVALID_ARGUMENT (NULL, a size that no version of the struct
 * has, a '/' in the name), OUT_OF_MEMORY. */
liana_status liana__user_callback_add(liana__callback_list *list, const liana_callback *callback, liana__error *error)
    LIANA_MUST_USE;

#endif
