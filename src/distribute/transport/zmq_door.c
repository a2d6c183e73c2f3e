/* Ends connections that say nothing. libzmq accepts each one, and gives it up after some seconds: by then strangers
 * could have used up all file descriptors. */
#include "distribute/transport/zmq_internal.h"

#include "base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* Connections that may say nothing at the same time, and how many more of each that is expected. */
enum { ALWAYS = 96, OF_EACH = 2 };

typedef struct liana__zmq_caller {
    int descriptor; /* libzmq's */
    /* The kernel's number of the connection: a descriptor may be another file's by now. */
    uint64_t cookie;
} caller;

void liana__zmq_door_open(liana__zmq_door *door, size_t expected)
{
    *door = (liana__zmq_door){.most = ALWAYS + OF_EACH * expected};
}

void liana__zmq_door_close(liana__zmq_door *door)
{
    free(door->callers);
    *door = (liana__zmq_door){0};
}

/* 0: it is no socket any more. */
static uint64_t cookie_of(int descriptor)
{
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return getsockopt(descriptor, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

static void forget(liana__zmq_door *door, size_t index)
{
    door->count--;
    memmove(door->callers + index, door->callers + index + 1, (door->count - index) * sizeof *door->callers);
}

void liana__zmq_door_hear(liana__zmq_door *door, int descriptor)
{
    for (size_t i = door->count; i-- > 0;) {
        if (door->callers[i].descriptor == descriptor) forget(door, i);
    }
}

void liana__zmq_door_note(liana__zmq_door *door, int event, uint32_t value)
{
    const int descriptor = (int)value;
    if (event == ZMQ_EVENT_DISCONNECTED) liana__zmq_door_hear(door, descriptor);
    if (event != ZMQ_EVENT_ACCEPTED) return;
    /* Without memory libzmq ends it, only later. */
    if (!liana__grow(&door->callers, door->count, &door->capacity, sizeof *door->callers)) return;
    door->callers[door->count++] = (caller){descriptor, cookie_of(descriptor)};
}

void liana__zmq_door_tidy(liana__zmq_door *door)
{
    while (door->count > door->most) {
        const caller oldest = door->callers[0];
        forget(door, 0);
        /* libzmq sees the end of the connection, and closes it. */
        if (oldest.cookie && cookie_of(oldest.descriptor) == oldest.cookie) shutdown(oldest.descriptor, SHUT_RDWR);
    }
}
