/* Watches processes of this machine by their file descriptors. */
#include "distribute/transport/process_watch.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

typedef struct watched {
    int file; /* -1: not watched */
    pid_t process;
    bool is_dead; /* before it could be watched */
} watched;

struct liana__process_watch {
    char machine[LIANA__PROCESS_NAME_SIZE - 24]; /* and namespace: processes have the same numbers */
    int epoll;
    size_t num_ranks, num_dead; /* that nobody has been told of */
    watched ranks[];
};

/* The machine since it was started; empty where that is not known. */
static void find_machine(liana__process_watch *watch)
{
    char boot[64] = "";
    struct stat namespace;
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "r");
    const bool known = file && fscanf(file, "%63s", boot) == 1 && stat("/proc/self/ns/pid", &namespace) == 0;
    if (file) fclose(file);
    if (known) {
        snprintf(watch->machine, sizeof watch->machine, "%s %" PRIu64 " ", boot, (uint64_t) namespace.st_ino);
    }
}

liana_status liana__process_watch_create(size_t num_ranks, liana__process_watch **watch, liana__error *error)
{
    liana__process_watch *own = calloc(1, sizeof *own + num_ranks * sizeof *own->ranks);
    *watch = own;
    if (!own) return liana__fail_memory(error, "the other processes");
    own->num_ranks = num_ranks;
    for (size_t i = 0; i < num_ranks; i++) own->ranks[i].file = -1;
    own->epoll = epoll_create1(EPOLL_CLOEXEC);
    find_machine(own);
    return LIANA_OK;
}

void liana__process_watch_remove(liana__process_watch *watch, size_t rank)
{
    watched *of = &watch->ranks[rank];
    if (of->file >= 0) close(of->file);
    if (of->is_dead) watch->num_dead--;
    *of = (watched){.file = -1};
}

void liana__process_watch_destroy(liana__process_watch *watch)
{
    if (!watch) return;
    for (size_t i = 0; i < watch->num_ranks; i++) liana__process_watch_remove(watch, i);
    if (watch->epoll >= 0) close(watch->epoll);
    free(watch);
}

size_t liana__process_watch_name(const liana__process_watch *watch, char name[LIANA__PROCESS_NAME_SIZE])
{
    return (size_t)snprintf(name, LIANA__PROCESS_NAME_SIZE, "%s%ld", watch->machine, (long)getpid());
}

/* 0: on another machine, or no name. */
static pid_t process_of(const liana__process_watch *watch, const uint8_t *name, size_t size)
{
    char digits[24] = "";
    const size_t length = strlen(watch->machine);
    if (length == 0 || size <= length || size - length >= sizeof digits) return 0;
    if (memcmp(name, watch->machine, length) != 0) return 0;
    memcpy(digits, name + length, size - length);
    const bool is_number = strspn(digits, "0123456789") == size - length && size - length < 10;
    return is_number ? (pid_t)strtol(digits, NULL, 10) : 0;
}

void liana__process_watch_add(liana__process_watch *watch, size_t rank, const uint8_t *name, size_t size)
{
    const pid_t process = process_of(watch, name, size);
    if (process <= 0 || rank >= watch->num_ranks || watch->epoll < 0) return;
    liana__process_watch_remove(watch, rank);
    watched *of = &watch->ranks[rank];
    *of = (watched){.file = (int)syscall(SYS_pidfd_open, process, 0), .process = process};
    of->is_dead = of->file < 0 && errno == ESRCH;
    if (of->is_dead) watch->num_dead++;
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = rank};
    if (of->file >= 0 && epoll_ctl(watch->epoll, EPOLL_CTL_ADD, of->file, &event) != 0) {
        liana__process_watch_remove(watch, rank);
    }
}

int liana__process_watch_file(const liana__process_watch *watch)
{
    return watch->epoll;
}

/* num_ranks: nobody. */
static size_t find_dead(const liana__process_watch *watch)
{
    struct epoll_event event;
    size_t rank = 0;
    if (watch->num_dead == 0) {
        return watch->epoll >= 0 && epoll_wait(watch->epoll, &event, 1, 0) > 0 ? (size_t)event.data.u64
                                                                               : watch->num_ranks;
    }
    while (!watch->ranks[rank].is_dead) rank++;
    return rank;
}

bool liana__process_watch_next(liana__process_watch *watch, size_t *rank, char *reason, size_t room)
{
    *rank = find_dead(watch);
    if (*rank >= watch->num_ranks) return false;
    snprintf(reason, room, "has died: it was process %ld of this machine", (long)watch->ranks[*rank].process);
    liana__process_watch_remove(watch, *rank);
    return true;
}
