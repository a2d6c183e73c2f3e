/* register.h - all kinds of parts. */
#ifndef LIANA_TRAIN_REGISTER_H
#define LIANA_TRAIN_REGISTER_H

#include "base/part.h"

/* By liana_part_kind; there is none at 0. */
extern const liana__kind *const liana__kinds[];

#endif
