/* The socket of a server. */
#include "serve/http_listen.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

typedef union socket_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} socket_address;

enum { BACKLOG = 512 };

static bool read_address(const char *address, int port, socket_address *wanted)
{
    memset(wanted, 0, sizeof *wanted);
    if (inet_pton(AF_INET, address, &wanted->v4.sin_addr) == 1) {
        wanted->v4.sin_family = AF_INET;
        wanted->v4.sin_port = htons((uint16_t)port);
        return true;
    }
    if (inet_pton(AF_INET6, address, &wanted->v6.sin6_addr) != 1) return false;
    wanted->v6.sin6_family = AF_INET6;
    wanted->v6.sin6_port = htons((uint16_t)port);
    return true;
}

static bool open_socket(const socket_address *wanted, liana__http_listener *own)
{
    const int on = 1;
    socket_address got;
    socklen_t size = own->is_v6 ? sizeof wanted->v6 : sizeof wanted->v4, got_size = sizeof got;
    own->descriptor = socket(wanted->any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (own->descriptor < 0) return false;
    if (setsockopt(own->descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) return false;
    if (bind(own->descriptor, &wanted->any, size) != 0 || listen(own->descriptor, BACKLOG) != 0) return false;
    if (getsockname(own->descriptor, &got.any, &got_size) != 0) return false;
    own->port = ntohs(own->is_v6 ? got.v6.sin6_port : got.v4.sin_port);
    return true;
}

/* The socket listens here already, so that a port in use is told with its number. */
liana_status liana__http_listen(const char *address, int port, const char *what, liana__http_listener *own,
                                liana__error *error)
{
    socket_address wanted;
    if (!address) address = "127.0.0.1";
    *own = (liana__http_listener){.descriptor = -1};
    if (!read_address(address, port, &wanted)) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "'%.100s' is no address of this machine; expected one of IPv4 or IPv6: 0.0.0.0 and :: are all", address);
    }
    own->is_v6 = wanted.any.sa_family == AF_INET6;
    snprintf(own->host, sizeof own->host, own->is_v6 ? "[%s]" : "%s", address);
    if (open_socket(&wanted, own)) return LIANA_OK;
    const int reason = errno;
    if (own->descriptor >= 0) close(own->descriptor);
    if (reason == EADDRINUSE) {
        return liana__fail(error, LIANA_IO_ERROR,
                           "port %d of %s is in use; give another one (%s=PORT), or none: then a free one is taken",
                           port, address, what);
    }
    return liana__fail(error, LIANA_IO_ERROR, "port %d of %s cannot be opened: %s", port, address, strerror(reason));
}
