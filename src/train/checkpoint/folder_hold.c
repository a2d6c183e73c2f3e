/* Holds folders. */
#include "train/checkpoint/folder_hold.h"

#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the lock on this machine ---- */

/* The process that holds a lock on the file; 0: not known. A line of /proc/locks (man 5 proc) is
 * "1: FLOCK  ADVISORY  WRITE 1234 08:01:5678 0 EOF": the process, the device and the inode. */
static long find_holder(int descriptor)
{
    struct stat own;
    FILE *file = fstat(descriptor, &own) == 0 ? fopen("/proc/locks", "r") : NULL;
    char line[256];
    long holder = 0;
    while (file && !holder && fgets(line, sizeof line, file)) {
        long process;
        unsigned long long inode;
        bool read = sscanf(line, "%*d: FLOCK %*s WRITE %ld %*x:%*x:%llu", &process, &inode) == 2;
        if (read && process > 0 && inode == (unsigned long long)own.st_ino) holder = process;
    }
    if (file) fclose(file);
    return holder;
}

static liana_status lock_take(liana__folder_lock *lock, const char *folder, const char *advice, liana__error *error)
{
    if (lock->taken) return LIANA_OK;
    int descriptor = liana__open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    if (descriptor < 0) return LIANA_OK;
    const bool works = flock(descriptor, LOCK_EX | LOCK_NB) == 0;
    if (!works && errno == EWOULDBLOCK) {
        char process[48] = "";
        long holder = find_holder(descriptor);
        if (holder) snprintf(process, sizeof process, " (number %ld)", holder);
        close(descriptor);
        return liana__fail(error, LIANA_IO_ERROR, "another process is training in '%s'%s; wait for it, or %s", folder,
                           process, advice);
    }
    *lock = (liana__folder_lock){.taken = true, .works = works, .descriptor = descriptor};
    return LIANA_OK;
}

static const char *lock_identity(int descriptor, bool works, char text[48])
{
    struct stat own;
    text[0] = '\0';
    if (works && fstat(descriptor, &own) == 0) {
        snprintf(text, 48, "%llx:%llx", (unsigned long long)own.st_dev, (unsigned long long)own.st_ino);
    }
    return text;
}

static void lock_end(liana__folder_lock *lock)
{
    if (lock->taken) close(lock->descriptor);
    *lock = (liana__folder_lock){0};
}

/* ---- lock and lease ---- */

static liana_status may_write(void *user, liana__error *error)
{
    return liana__lease_check(user, error);
}

liana_status liana__folder_hold_take(liana__folder_hold *hold, const char *folder, liana__outlet *outlet,
                                     const liana__lease_options *wanted, liana__error *error)
{
    char lock[48];
    const liana_status locked = lock_take(&hold->lock, folder, wanted->advice, error);
    /* A halted process of the same job keeps its lock, but not its lease. */
    if (locked != LIANA_OK && !wanted->job) return locked;
    if (hold->lease || (locked == LIANA_OK && !hold->lock.taken)) return LIANA_OK;
    liana__lease_options options = *wanted;
    /* Of a bucket, this machine's processes lock the folder that they send from. */
    const int descriptor = outlet ? liana__outlet_lock(outlet) : hold->lock.taken ? hold->lock.descriptor : -1;
    options.lock = lock_identity(descriptor, descriptor >= 0 && (outlet || hold->lock.works), lock);
    options.folder = outlet ? liana__outlet_url(outlet) : folder;
    const liana_status status = liana__lease_take(&options, &hold->lease, error);
    if (status != LIANA_OK) lock_end(&hold->lock);
    LIANA_TRY(status);
    if (outlet) liana__outlet_guard(outlet, may_write, hold->lease);
    return LIANA_OK;
}

void liana__folder_hold_end(liana__folder_hold *hold)
{
    liana__lease_end(hold->lease);
    lock_end(&hold->lock);
    *hold = (liana__folder_hold){0};
}
