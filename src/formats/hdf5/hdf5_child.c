/* Reads files of newer HDF5 layouts in a process of its own, with limits on memory and time. */
#ifdef LIANA_HAVE_HDF5
#include "formats/hdf5/hdf5_calls.h"
#include "formats/hdf5/hdf5_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* What the process writes into the pipe: this, then the bytes of the classic file, or the message. */
typedef struct answer {
    liana_status status;
    uint64_t size;
} answer;

/* Memory for the file, its copy and its arrays; one that compresses well may need more than this. */
static uint64_t memory_limit(size_t size)
{
    return ((uint64_t)1 << 30) + 8 * (uint64_t)size;
}

/* Seconds: a hundred times what a healthy file takes. */
static unsigned time_limit(size_t size)
{
    return 30 + (unsigned)(size >> 22);
}

/* ---- the process ---- */

static bool send_all(int pipe, const void *bytes, size_t size)
{
    for (const char *at = bytes; size > 0;) {
        ssize_t sent = write(pipe, at, size);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        size -= (size_t)sent;
    }
    return true;
}

/* Bytes of address space that the process has now. */
static uint64_t memory_in_use(void)
{
    char text[64] = "";
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) close(file);
    return length > 0 ? strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

static void limit(int resource, uint64_t most)
{
    const struct rlimit value = {(rlim_t)most, (rlim_t)most};
    setrlimit(resource, &value);
}

static void become_reader(size_t size, pid_t parent)
{
    static const int faults[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGPIPE, SIGTERM, SIGINT};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) signal(faults[i], SIG_DFL);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    /* The C library tells of memory that was overrun. */
    int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int i = 0; nothing >= 0 && i <= STDERR_FILENO; i++) dup2(nothing, i);
    limit(RLIMIT_CORE, 0);
    limit(RLIMIT_CPU, time_limit(size));
    const uint64_t in_use = memory_in_use();
    if (in_use) limit(RLIMIT_AS, in_use + memory_limit(size));
}

_Noreturn static void answer_from_child(const char *bytes, size_t size, pid_t parent, int pipe)
{
    become_reader(size, parent);
    const char *classic = NULL;
    size_t length = 0;
    liana__error error = {0};
    answer head = {.status = liana__hdf5_copy_as_classic(bytes, size, &classic, &length, &error)};
    head.size = head.status == LIANA_OK ? length : strlen(error.message);
    bool sent = send_all(pipe, &head, sizeof head) &&
                send_all(pipe, head.status == LIANA_OK ? classic : error.message, (size_t)head.size);
    _exit(sent ? 0 : 1);
}

/* ---- the caller ---- */

static int64_t now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static bool receive_all(int pipe, void *bytes, size_t size, int64_t end)
{
    for (char *at = bytes; size > 0;) {
        int64_t left = end - now_ms();
        struct pollfd wait = {.fd = pipe, .events = POLLIN};
        int ready = left > 0 ? poll(&wait, 1, left < 1000 ? (int)left : 1000) : -1;
        if (left <= 0) return false;
        if (ready <= 0) continue;
        ssize_t got = read(pipe, at, size);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        size -= (size_t)got;
    }
    return true;
}

static liana_status receive(int pipe, size_t size, int64_t end, bool *answered, char **classic, size_t *classic_size,
                            liana__error *error)
{
    answer head;
    *answered = receive_all(pipe, &head, sizeof head, end);
    bool good = *answered && head.status == LIANA_OK;
    if (*answered && !good) {
        error->status = head.status;
        *answered = head.size < sizeof error->message && receive_all(pipe, error->message, (size_t)head.size, end);
        error->message[*answered ? head.size : 0] = 0;
        if (head.status == LIANA_OUT_OF_MEMORY) {
            return liana__fail(error, LIANA_OUT_OF_RANGE,
                               "reading it needs more than %llu MB; rewrite the file with h5repack",
                               (unsigned long long)(memory_limit(size) >> 20));
        }
        return error->status;
    }
    if (!good) return LIANA_DATA_LOSS;
    char *bytes = head.size <= memory_limit(size) ? malloc((size_t)head.size + 1) : NULL;
    if (!bytes) return liana__fail_memory(error, "an HDF5 file");
    *answered = receive_all(pipe, bytes, (size_t)head.size, end);
    if (!*answered) {
        free(bytes);
        return LIANA_DATA_LOSS;
    }
    *classic = bytes;
    *classic_size = (size_t)head.size;
    return LIANA_OK;
}

/* The process ended without an answer, or was ended. */
static liana_status fail_ended(size_t size, bool late, int state, liana__error *error)
{
    if (late || (WIFSIGNALED(state) && WTERMSIG(state) == SIGXCPU)) {
        return liana__fail(error, LIANA_OUT_OF_RANGE,
                           "libhdf5 takes longer than %u s to read it: the file is damaged, or this machine is busy",
                           time_limit(size));
    }
    return liana__fail(error, LIANA_DATA_LOSS, "the file is damaged: libhdf5 crashed while it read it (%s %d)",
                       WIFSIGNALED(state) ? "signal" : "exit code",
                       WIFSIGNALED(state) ? WTERMSIG(state) : WEXITSTATUS(state));
}

liana_status liana__hdf5_make_classic(const char *bytes, size_t size, char **classic, size_t *classic_size,
                                      liana__error *error)
{
    int ends[2], state = 0;
    LIANA_TRY(liana__hdf5_load(error));
    if (pipe2(ends, O_CLOEXEC) < 0) return liana__fail(error, LIANA_UNAVAILABLE, "pipe: %s", strerror(errno));
    const pid_t parent = getpid(), child = fork();
    if (child == 0) answer_from_child(bytes, size, parent, ends[1]);
    close(ends[1]);
    if (child < 0) {
        close(ends[0]);
        return liana__fail(error, LIANA_UNAVAILABLE, "no process can be started to read it: %s", strerror(errno));
    }
    bool answered;
    const int64_t end = now_ms() + (int64_t)1000 * time_limit(size);
    liana_status status = receive(ends[0], size, end, &answered, classic, classic_size, error);
    const bool late = !answered && now_ms() >= end;
    close(ends[0]);
    if (late) kill(child, SIGKILL);
    while (waitpid(child, &state, 0) < 0 && errno == EINTR) continue;
    return answered ? status : fail_ended(size, late, state, error);
}
#endif
