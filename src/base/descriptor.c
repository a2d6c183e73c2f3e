/* Opens files while descriptors are scarce. */
#include "base/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

/* RESERVE: descriptors of files that are open at the same time while all others are gone. ENOUGH: more would not be
 * used, and some programs loop over all that there may be. */
enum { RESERVE = 32, LEAST = 4 * RESERVE, ENOUGH = 65536 };
/* Tries, and milliseconds between them: longer than connections without a key are kept. */
enum { TRIES = 500, PAUSE = 20 };

/* The soft limit that leaves the reserve; 0: it is to stay as it is. */
static rlim_t limit_below(const struct rlimit *limits)
{
    if (limits->rlim_max < LEAST) return 0;
    const rlim_t most = limits->rlim_max - RESERVE;
    if (limits->rlim_cur > ENOUGH) return limits->rlim_cur < most ? 0 : most;
    return most < ENOUGH ? most : ENOUGH;
}

void liana__descriptors_prepare(void)
{
    struct rlimit limits;
    if (getrlimit(RLIMIT_NOFILE, &limits) != 0) return;
    const rlim_t wanted = limit_below(&limits);
    if (wanted == 0 || wanted == limits.rlim_cur) return;
    limits.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &limits);
}

/* Another thread that is here too may lower the limit in between: then this one tries again. */
static void use_reserve(bool begins)
{
    struct rlimit limits;
    if (!begins) {
        liana__descriptors_prepare();
    } else if (getrlimit(RLIMIT_NOFILE, &limits) == 0 && limits.rlim_cur < limits.rlim_max) {
        limits.rlim_cur += RESERVE;
        if (limits.rlim_cur > limits.rlim_max) limits.rlim_cur = limits.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limits);
    }
}

/* Whether to try again with the reserve; errno says why it has failed. */
static bool is_scarce(int tries)
{
    static const struct timespec pause = {.tv_nsec = PAUSE * 1000000L};
    const int reason = errno;
    if ((reason != EMFILE && reason != ENFILE) || tries == TRIES) return false;
    if (tries > 0) nanosleep(&pause, NULL);
    return true;
}

int liana__open(const char *path, int flags, mode_t mode)
{
    int descriptor = open(path, flags, mode);
    for (int tries = 0; descriptor < 0 && is_scarce(tries); tries++) {
        use_reserve(true);
        descriptor = open(path, flags, mode);
        const int reason = errno;
        use_reserve(false);
        errno = reason;
    }
    return descriptor;
}

DIR *liana__opendir(const char *path)
{
    int descriptor = liana__open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NONBLOCK, 0);
    DIR *folder = descriptor >= 0 ? fdopendir(descriptor) : NULL;
    if (descriptor >= 0 && !folder) close(descriptor);
    return folder;
}
