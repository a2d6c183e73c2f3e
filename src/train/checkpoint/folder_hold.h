/* folder_hold.h - a process's hold on the folder that it writes to: its lock on this machine, and its lease. */
#ifndef LIANA_TRAIN_FOLDER_HOLD_H
#define LIANA_TRAIN_FOLDER_HOLD_H

#include "remote/outlet.h"
#include "train/checkpoint/lease.h"

/* A lock by flock. It ends with the process, however that ends, so no lock is ever stale. */
typedef struct liana__folder_lock {
    bool taken;
    bool works;     /* false: the file system has no locks */
    int descriptor; /* of the folder */
} liana__folder_lock;

/* Zero-initialise. */
typedef struct liana__folder_hold {
    liana__folder_lock lock;
    liana__lease *lease;
} liana__folder_hold;

/* How long a lease lasts where nothing else is said. */
#define LIANA__LEASE_SECONDS 30.0

/* Locks the folder, and takes its lease or with an outlet (may be NULL) that of its bucket, which the outlet then asks
 * before it writes. A folder that is not there is no error and not held; a held folder stays held. With a job the lock
 * of a halted process is no error. `wanted` needs no folder and no lock. Errors: IO_ERROR and UNAVAILABLE if another
 * process has it; those of liana__lease_take. */
liana_status liana__folder_hold_take(liana__folder_hold *hold, const char *folder, liana__outlet *outlet,
                                     const liana__lease_options *wanted, liana__error *error) LIANA_MUST_USE;
/* After the outlet is closed. */
void liana__folder_hold_end(liana__folder_hold *hold);

#endif
