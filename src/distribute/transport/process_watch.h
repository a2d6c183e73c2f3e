/* process_watch.h - notices the deaths of processes on this machine.
 *
 * Over shared memory no MPI notices that a neighbour is dead, and not every launcher ends the others. So each process
 * tells the others its name on this machine, and the others on the same machine watch it (pidfd_open). One thread makes
 * all calls. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_PROCESS_WATCH_H
#define LIANA_DISTRIBUTE_TRANSPORT_PROCESS_WATCH_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct liana__process_watch liana__process_watch;

enum { LIANA__PROCESS_NAME_SIZE = 128 };

/* Where the kernel cannot watch processes (before Linux 5.3), it never notices a death. Errors: OUT_OF_MEMORY. */
liana_status liana__process_watch_create(size_t num_ranks, liana__process_watch **watch, liana__error *error)
    LIANA_MUST_USE;
/* NULL: nothing. */
void liana__process_watch_destroy(liana__process_watch *watch);

/* The name to give the others: text of this machine, its namespace of processes and this process. Returns its
 * length. */
size_t liana__process_watch_name(const liana__process_watch *watch, char name[LIANA__PROCESS_NAME_SIZE]);
/* Watches a process by the name that it has sent; any bytes. Nothing if it is on another machine, or no name. */
void liana__process_watch_add(liana__process_watch *watch, size_t rank, const uint8_t *name, size_t size);
/* Its end is no death any more. */
void liana__process_watch_remove(liana__process_watch *watch, size_t rank);

/* Becomes readable when somebody has died; -1: never. */
int liana__process_watch_file(const liana__process_watch *watch);
/* One that has died since it was added, each once. `reason` fits behind "rank 1 ". False: nobody. */
bool liana__process_watch_next(liana__process_watch *watch, size_t *rank, char *reason, size_t room);

#endif
