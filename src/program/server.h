/* server.h - the inside of liana_server. */
#ifndef LIANA_PROGRAM_SERVER_H
#define LIANA_PROGRAM_SERVER_H

#include "base/context.h"
#include "distribute/transport/cluster_options.h"

#include <liana/server.h>

/* liana_server_create with a cluster that is read already, and an error of the caller's. `what` is the name of
 * options->listen in messages. `cluster` NULL: its defaults; its task and keys count where the options say none. */
liana_status liana__server_open(const liana_server_options *options, const char *what,
                                const liana__cluster_options *cluster, liana_server **server, liana__error *error)
    LIANA_MUST_USE;

/* Reads the YAML text of a cluster. Errors: INVALID_CONFIG; OUT_OF_MEMORY. */
liana_status liana__cluster_text_read(const char *text, liana__arena *arena, liana__cluster_options *cluster,
                                      liana__error *error) LIANA_MUST_USE;

#endif
