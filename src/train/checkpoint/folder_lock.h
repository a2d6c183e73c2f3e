/* folder_lock.h - one process at a time trains in a folder. */
#ifndef LIANA_TRAIN_FOLDER_LOCK_H
#define LIANA_TRAIN_FOLDER_LOCK_H

#include "base/error.h"

#include <stdbool.h>

/* Zero-initialise. */
typedef struct liana__folder_lock {
    bool taken;
    bool works;     /* false: the file system has no locks */
    int descriptor; /* of the folder */
} liana__folder_lock;

/* Locks a folder by flock. The lock ends with the process, however that ends, so no lock is ever stale. A folder that
 * does not exist is no error and not locked; nor is one on a file system without locks. `advice` ends the message.
 * Errors: IO_ERROR if another process has it; the message names the process, where the system tells. */
liana_status liana__folder_lock_take(liana__folder_lock *lock, const char *folder, const char *advice,
                                     liana__error *error) LIANA_MUST_USE;
/* Names what is locked, for processes of this machine: device and inode, "" if locks do not work there. In `text`. */
const char *liana__folder_lock_identity(int descriptor, bool works, char text[48]);
void liana__folder_lock_end(liana__folder_lock *lock);

#endif
