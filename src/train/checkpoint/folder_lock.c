/* Locks folders. */
#include "train/checkpoint/folder_lock.h"

#include "base/descriptor.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

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

liana_status liana__folder_lock_take(liana__folder_lock *lock, const char *folder, const char *advice,
                                     liana__error *error)
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

const char *liana__folder_lock_identity(int descriptor, bool works, char text[48])
{
    struct stat own;
    text[0] = '\0';
    if (works && fstat(descriptor, &own) == 0) {
        snprintf(text, 48, "%llx:%llx", (unsigned long long)own.st_dev, (unsigned long long)own.st_ino);
    }
    return text;
}

void liana__folder_lock_end(liana__folder_lock *lock)
{
    if (lock->taken) close(lock->descriptor);
    *lock = (liana__folder_lock){0};
}
