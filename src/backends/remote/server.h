/* server.h - offers the devices of this machine to other processes. */
#ifndef LIANA_BACKENDS_REMOTE_SERVER_H
#define LIANA_BACKENDS_REMOTE_SERVER_H

#include "distribute/transport/service.h"

typedef struct liana__served_server liana__served_server;

typedef struct liana__served_server_options {
    liana__service_place place;
    size_t memory;      /* bytes for all clients together; 0: half of the machine's */
    int num_threads;    /* of each client's CPU device; 0: as many as there are cores */
    size_t max_clients; /* at the same time */
    /* Called with a line about a client that comes or goes; NULL: nobody is told. */
    void (*say)(void *user, const char *line);
    void *user;
} liana__served_server_options;

/* Listens. Errors: those of liana__service_open. */
liana_status liana__served_server_open(const liana__served_server_options *options, liana__served_server **server,
                                       liana__error *error) LIANA_MUST_USE;
const char *liana__served_server_address(const liana__served_server *server);
/* Serves the messages of the next `seconds`. */
void liana__served_server_turn(liana__served_server *server, double seconds);
/* Waits for running requests of clients, and frees all they held. */
void liana__served_server_close(liana__served_server *server);

#endif
