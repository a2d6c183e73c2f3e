/* hdf5_calls.h - calling libhdf5 without its error printing, and what it said. For hdf5*.c only. */
#ifndef LIANA_FORMATS_HDF5_CALLS_H
#define LIANA_FORMATS_HDF5_CALLS_H

#include "base/error.h"

#include <hdf5.h>

/* libhdf5 prints failures unless told not to, and the program around liana may have its own wish: `enter` switches
 * printing off, `leave` restores what was. */
typedef struct liana__hdf5_quiet {
    H5E_auto2_t function;
    void *data;
} liana__hdf5_quiet;

liana__hdf5_quiet liana__hdf5_enter(void);
void liana__hdf5_leave(liana__hdf5_quiet quiet);

/* The message, with the innermost reason of libhdf5's error stack behind it where there is one. */
liana_status liana__hdf5_fail(liana__error *error, liana_status status, const char *format, ...) LIANA__PRINTF(3, 4);

#endif
