/* Follows the links of a path that is to be written. */
#include "base/file_target.h"

#include "base/descriptor.h"
#include "base/memory.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static liana_status fail(liana__error *error, const char *path)
{
    return liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': %s", path, strerror(errno));
}

/* The process's own descriptor that a path names, or -1. Following its link would lead to a file that somebody else has
 * opened, perhaps to append to it. */
static int own_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    if (strcmp(path, "/dev/stdout") == 0) return STDOUT_FILENO;
    if (strcmp(path, "/dev/stderr") == 0) return STDERR_FILENO;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        const char *number = path + strlen(folders[i]);
        if (!liana__starts_with(path, folders[i]) || !*number || strlen(number) > 6) continue;
        if (strspn(number, "0123456789") == strlen(number)) return atoi(number);
    }
    return -1;
}

/* Replaces *path, which is malloc'ed, with the target of its link. */
static bool follow(char **path)
{
    char link[PATH_MAX];
    ssize_t length = readlink(*path, link, sizeof link - 1);
    if (length < 0) return false;
    link[length] = 0;
    const char *slash = link[0] == '/' ? NULL : strrchr(*path, '/');
    size_t folder = slash ? (size_t)(slash - *path) + 1 : 0;
    char *next = malloc(folder + (size_t)length + 1);
    if (!next) return false;
    if (folder) memcpy(next, *path, folder);
    memcpy(next + folder, link, (size_t)length + 1);
    free(*path);
    *path = next;
    return true;
}

/* Finds the file at the end of a path's links. st_mode is 0 if there is no such file. */
static liana_status resolve(const char *path, liana__file_target *target, struct stat *info, liana__error *error)
{
    enum { MOST_LINKS = 40 }; /* as Linux has it */
    for (int links = 0; own_descriptor(target->path) < 0; links++) {
        *info = (struct stat){0};
        if (lstat(target->path, info) != 0) {
            /* A missing folder is said when the file is made. */
            if (errno == ENOENT || errno == ENOTDIR) return LIANA_OK;
            return fail(error, path);
        }
        if (!S_ISLNK(info->st_mode)) return LIANA_OK;
        errno = ELOOP;
        if (links == MOST_LINKS || !follow(&target->path)) return fail(error, path);
    }
    return LIANA_OK;
}

static liana_status open_target(const char *path, const struct stat *info, liana__file_target *target,
                                liana__error *error)
{
    mode_t mode = info->st_mode;
    int own = own_descriptor(target->path);
    if (own < 0 && (mode == 0 || S_ISREG(mode))) return LIANA_OK;
    if (own < 0 && !S_ISCHR(mode) && !S_ISFIFO(mode)) {
        return liana__fail(error, LIANA_IO_ERROR, "cannot write '%s': it is %s, expected a file", path,
                           S_ISDIR(mode)    ? "a folder"
                           : S_ISSOCK(mode) ? "a socket"
                                            : "a disk");
    }
    target->descriptor = own < 0 ? liana__open(target->path, O_WRONLY | O_NOCTTY | O_CLOEXEC, 0)
                                 : fcntl(own, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    return target->descriptor < 0 ? fail(error, path) : LIANA_OK;
}

liana_status liana__file_target_find(const char *path, liana__file_target *target, liana__error *error)
{
    *target = (liana__file_target){.path = strdup(path), .descriptor = -1};
    struct stat info = {0};
    liana_status status = target->path ? resolve(path, target, &info, error) : liana__fail_memory(error, path);
    if (status == LIANA_OK) status = open_target(path, &info, target, error);
    if (status == LIANA_OK) return LIANA_OK;
    free(target->path);
    *target = (liana__file_target){.descriptor = -1};
    return status;
}
