/* whole_update.h - whole updates on the devices of a plugin. */
#ifndef LIANA_BACKENDS_PJRT_WHOLE_UPDATE_H
#define LIANA_BACKENDS_PJRT_WHOLE_UPDATE_H

#include "backends/whole_update.h"

extern const liana__whole_functions liana__pjrt_whole;

#endif
