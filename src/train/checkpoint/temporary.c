/* Makes folders that are named after their process: "liana-NAMESPACE-PROCESS-START-RANDOM". Numbers of processes are
 * used again, so the name has the time when it started, and the namespace in which the number counts. */
#include "train/checkpoint/temporary.h"

#include "base/file.h"
#include "base/scoped.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct owner {
    unsigned long long namespace, process, start;
} owner;

const char *liana__temporary_parent(void)
{
    const char *parent = getenv("TMPDIR");
    return parent && *parent ? parent : "/tmp";
}

/* In ticks since the machine was started (man 5 proc: field 22, behind the name, which ends with the last parenthesis);
 * 0: there is no such process. */
static unsigned long long start_of(unsigned long long process)
{
    char path[64], line[1024] = "";
    unsigned long long start = 0;
    snprintf(path, sizeof path, "/proc/%llu/stat", process);
    FILE *file = fopen(path, "re");
    if (!file) return 0;
    const size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = 0;
    const char *behind = strrchr(line, ')');
    const bool found =
        behind &&
        sscanf(behind + 1, " %*c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu",
               &start) == 1;
    return found ? start : 0;
}

static owner find_own(void)
{
    struct stat namespace = {0};
    const unsigned long long process = (unsigned long long)getpid();
    if (stat("/proc/self/ns/pid", &namespace) != 0) return (owner){0};
    return (owner){(unsigned long long)namespace.st_ino, process, start_of(process)};
}

/* Whether it is known that nobody needs a folder of this name any more. */
static bool is_left(const char *name, const owner *own)
{
    owner of = {0};
    int length = 0;
    if (sscanf(name, "liana-%llx-%llu-%llu-%n", &of.namespace, &of.process, &of.start, &length) != 3) return false;
    const bool whole = length > 0 && strlen(name + length) == 6;
    return whole && own->namespace && of.namespace == own->namespace && of.start && start_of(of.process) != of.start;
}

void liana__temporary_sweep(const char *parent)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__paths names;
    liana__error ignored;
    const owner own = find_own();
    if (!own.start || liana__folder_list(parent, &arena, &names, &ignored) != LIANA_OK) names.count = 0;
    for (size_t i = 0; i < names.count; i++) {
        struct stat info;
        const char *path = is_left(names.items[i], &own) ? liana__path_join(&arena, parent, names.items[i]) : NULL;
        if (!path || lstat(path, &info) != 0 || !S_ISDIR(info.st_mode) || info.st_uid != geteuid()) continue;
        (void)!liana__folder_remove(path, &ignored);
    }
}

liana_status liana__temporary_make(const char *parent, char path[LIANA__TEMPORARY], liana__error *error)
{
    const owner own = find_own();
    liana__temporary_sweep(parent);
    const int length = snprintf(path, LIANA__TEMPORARY, "%s/liana-%llx-%llu-%llu-XXXXXX", parent, own.namespace,
                                own.process, own.start);
    if (length < LIANA__TEMPORARY && mkdtemp(path)) return LIANA_OK;
    const int reason = length < LIANA__TEMPORARY ? errno : ENAMETOOLONG;
    path[0] = 0;
    return liana__fail(error, LIANA_IO_ERROR, "cannot make a temporary folder in '%s': %s", parent, strerror(reason));
}

liana_status liana__temporary_folder(liana__arena *arena, const char **path, liana__error *error)
{
    char made[LIANA__TEMPORARY];
    *path = NULL;
    LIANA_TRY(liana__temporary_make(liana__temporary_parent(), made, error));
    *path = liana__arena_string(arena, made);
    return *path ? LIANA_OK : liana__fail_memory(error, "a temporary folder");
}
