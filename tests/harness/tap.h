/* tap.h - a relay of TCP connections on this machine, which keeps the bytes that it passes on. */
#ifndef LIANA_TESTS_TAP_H
#define LIANA_TESTS_TAP_H

#include <stdbool.h>
#include <stddef.h>

typedef struct liana__tap liana__tap;

/* Listens on a free port, and passes connections on to `port`, both ways. */
liana__tap *liana__tap_open(int port);
/* The port on which it listens. */
int liana__tap_port(const liana__tap *tap);
/* Closes all connections. Its kept bytes can be read from now on. */
void liana__tap_stop(liana__tap *tap);
/* The number of bytes of all connections, both ways. */
size_t liana__tap_size(const liana__tap *tap);
/* Whether one direction of a connection has these bytes, one behind the other. */
bool liana__tap_has(const liana__tap *tap, const void *bytes, size_t size);
/* Frees a relay that was stopped. */
void liana__tap_free(liana__tap *tap);

#endif
