/* tpu_environment.h - the variables of the environment that a TPU's library reads. */
#ifndef LIANA_BACKENDS_PJRT_TPU_ENVIRONMENT_H
#define LIANA_BACKENDS_PJRT_TPU_ENVIRONMENT_H

#include "base/memory.h"
#include "base/text.h"

/* The variables that libtpu reads to find its own devices, as "NAME=VALUE, ..."; nothing is added where none is set.
 * They are left as they are: the program that sets them knows the slice. */
void liana__tpu_environment_print(liana__text *text);
/* The same in an arena; NULL: none is set. */
const char *liana__tpu_environment_in(liana__arena *arena);

#endif
