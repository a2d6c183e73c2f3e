/* device_server.h - servers of devices for tests, each a process of its own. */
#ifndef LIANA_TESTS_DEVICE_SERVER_H
#define LIANA_TESTS_DEVICE_SERVER_H

#include <stddef.h>
#include <sys/types.h>

/* Starts a server with CPU devices of one thread. `keys`: NULL within one machine; `memory`: bytes for all clients, 0:
 * the default; `clients`: at the same time. Clients wait for it by themselves. */
pid_t liana__test_start_server(const char *address, const char *keys, size_t memory, size_t clients);
/* The same at a TCP address. Its first connection breaks before anything is said. */
pid_t liana__test_start_breaking_server(const char *address, const char *keys);
/* Ends it in good order; fails the test if it ends otherwise. */
void liana__test_stop_server(pid_t server);

#endif
