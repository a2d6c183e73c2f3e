/* descriptor.h - opens files where strangers may use up the process's file descriptors.
 *
 * A process that listens on a network has a descriptor for each connection, also for those that turn out to be a
 * stranger's. So the limit is raised as far as the system lets it be, and stays some descriptors below that: files that
 * a training needs get these. Where even they are gone, the one that opens a file waits for a while, since connections
 * without a key are closed. */
#ifndef LIANA_BASE_DESCRIPTOR_H
#define LIANA_BASE_DESCRIPTOR_H

#include <dirent.h>
#include <sys/types.h>

/* Raises the soft limit, but for the reserve. Any thread; calling it again changes nothing. */
void liana__descriptors_prepare(void);

/* As open(2) and opendir(3), and with the reserve. */
int liana__open(const char *path, int flags, mode_t mode);
DIR *liana__opendir(const char *path);

#endif
