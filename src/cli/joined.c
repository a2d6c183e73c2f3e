/* Meets the other processes of a cluster. */
#include "cli/joined.h"

#include "base/file.h"
#include "distribute/transport/cluster_read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void say(void *user, const char *line)
{
    liana__invocation *invocation = user;
    fprintf(invocation->err, "liana: %s\n", line);
}

/* What all processes but the chief write goes nowhere. */
static liana_status hide_output(liana__invocation *invocation, liana__joined *joined)
{
    const char *base = getenv("TMPDIR");
    snprintf(joined->folder, sizeof joined->folder, "%.200s/liana-worker-XXXXXX", base && *base ? base : "/tmp");
    joined->nothing = fopen("/dev/null", "w");
    if (joined->nothing && mkdtemp(joined->folder)) {
        invocation->out = joined->nothing;
        return LIANA_OK;
    }
    joined->folder[0] = '\0';
    return liana__fail(&invocation->error, LIANA_IO_ERROR, "no folder can be made in %s: %s",
                       base && *base ? base : "/tmp", strerror(errno));
}

liana_status liana__join_cluster(liana__invocation *invocation, liana__session *session, liana__joined *joined)
{
    liana__error *error = &invocation->error;
    liana__cluster_place place;
    liana__transport_instance *instance = NULL;
    LIANA_TRY(liana__cluster_place_read(&session->config.cluster, liana__get_environment, NULL, &invocation->arena,
                                        &place, error));
    if (place.role == LIANA__ROLE_EVALUATOR) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s says that this process is the evaluator: run 'liana evaluate RUN --follow' in it",
                           place.source);
    }
    if (!place.transport) return LIANA_OK;
    place.say = say;
    place.user = invocation;
    const liana__transport *transport = liana__transport_find(place.transport, error);
    if (!transport) return error->status;
    if (place.rank > 0) LIANA_TRY(hide_output(invocation, joined));
    LIANA_TRY(transport->open(&place, &instance, error));
    place.say = NULL;
    liana__cluster_init(&joined->cluster, &place, transport, instance);
    joined->is_member = true;
    if (liana__cluster_join(session->context, &joined->cluster) == LIANA_OK) return LIANA_OK;
    return liana__fail_memory(error, "the cluster");
}

void liana__leave_cluster(liana__joined *joined)
{
    if (joined->is_member) liana__cluster_close(&joined->cluster);
    if (*joined->folder) {
        liana__error error = {0};
        /* What is left of it lies in the system's folder for such things. */
        liana_status status = liana__folder_remove(joined->folder, &error);
        (void)status;
    }
    if (joined->nothing) fclose(joined->nothing);
    *joined = (liana__joined){0};
}
