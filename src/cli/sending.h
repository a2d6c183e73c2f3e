/* sending.h - a folder for a subcommand's pictures, which may be gs:// or s3://: then a local folder is sent at the
 * end. */
#ifndef LIANA_CLI_SENDING_H
#define LIANA_CLI_SENDING_H

#include "cli/command.h"
#include "remote/outlet.h"

typedef struct liana__sending {
    const char *folder;    /* local; paths in it are shown by liana__remote_name */
    liana__outlet *outlet; /* NULL: a local folder was named */
} liana__sending;

/* Makes the folder. After a failure there is nothing to end. */
liana_status liana__sending_start(liana__invocation *invocation, const char *folder, liana__sending *sending)
    LIANA_MUST_USE;
/* Sends the files if `status` is OK, and closes. Returns `status`, or why they could not be sent. */
liana_status liana__sending_end(liana__invocation *invocation, liana__sending *sending, liana_status status)
    LIANA_MUST_USE;

#endif
