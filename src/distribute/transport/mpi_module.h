/* mpi_module.h - the calls of an MPI library: the table that a loadable module has.
 *
 * Open MPI and MPICH differ in their binary interface, so one module for each is compiled from module/mpi_module.c, and
 * the one that fits is loaded. A module knows nothing of liana. All functions are called by one thread. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_MPI_MODULE_H
#define LIANA_DISTRIBUTE_TRANSPORT_MPI_MODULE_H

#include <stdbool.h>
#include <stddef.h>

/* The version of the table, and the name under which a module has it. */
enum { LIANA__MPI_MODULE_VERSION = 3 };
#define LIANA__MPI_MODULE_NAME "liana_mpi_module"

/* Functions return 0, or a code for `describe`. */
typedef struct liana__mpi_module {
    int version;
    const char *library; /* "openmpi" or "mpich" */
    /* Joins the other processes of the job; waits for them. *is_one_machine: all share memory. */
    int (*init)(int *rank, int *size, bool *is_one_machine);
    /* Begins to send bytes, which must stay as they are until `is_done` says so, once. */
    int (*send)(const void *bytes, size_t size, int to, void **request);
    /* Whether a message has come: *message is NULL, or the handle with which `take` receives it. Never waits. */
    int (*look)(int *from, size_t *size, void **message);
    /* Begins to receive it, until `is_done` says that all of it is there, once. It may never be: the sender may die. */
    int (*take)(void *message, void *bytes, size_t size, void **request);
    int (*is_done)(void *request, int *done);
    /* Leaves the job; waits until all do. */
    int (*finalize)(void);
    void (*describe)(int code, char *text, size_t size);
} liana__mpi_module;

#endif
