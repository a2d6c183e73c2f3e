/* joined.h - the cluster that a command's process belongs to: met at its start, left at its end. */
#ifndef LIANA_CLI_JOINED_H
#define LIANA_CLI_JOINED_H

#include "cli/session.h"
#include "distribute/cluster/cluster.h"

typedef struct liana__joined {
    liana__cluster cluster;
    bool is_member;
    char folder[256]; /* takes the place of the run folder, which only the chief writes; empty for the chief */
    FILE *nothing;    /* takes the place of standard output, which is the chief's */
} liana__joined;

/* Finds out whether this process belongs to a cluster (the configuration and the environment say so), and meets the other
 * processes. The session's context then belongs to the cluster. Leave it in any case, before the session is closed.
 * Errors: INVALID_CONFIG, UNAVAILABLE: those of liana__cluster_place_read and of the transport. */
liana_status liana__join_cluster(liana__invocation *invocation, liana__session *session, liana__joined *joined)
    LIANA_MUST_USE;
void liana__leave_cluster(liana__joined *joined);

#endif
