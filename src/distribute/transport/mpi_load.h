/* mpi_load.h - finds and loads the module for an MPI library. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_MPI_LOAD_H
#define LIANA_DISTRIBUTE_TRANSPORT_MPI_LOAD_H

#include "base/error.h"
#include "distribute/transport/mpi_module.h"

/* `library` is "openmpi" or "mpich". The module stays loaded. It is looked for in the folder of the library or program
 * that this code is in, and where it is installed; LIANA_MPI_MODULE names a file instead. Errors: INVALID_CONFIG for
 * another library; UNIMPLEMENTED with the places and reasons. */
liana_status liana__mpi_load(const char *library, const liana__mpi_module **module, liana__error *error) LIANA_MUST_USE;

#endif
