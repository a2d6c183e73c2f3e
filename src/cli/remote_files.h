/* remote_files.h - remote files of subcommands: those that are read without a run, and folders that are sent. */
#ifndef LIANA_CLI_REMOTE_FILES_H
#define LIANA_CLI_REMOTE_FILES_H

#include "cli/command.h"
#include "remote/outlet.h"

/* Makes a liana__remote as the configuration says (NULL: as the environment says). A line on standard error shows the
 * progress. A caught signal ends a fetch. Destroy it before the invocation. */
liana_status liana__fetching_start(liana__invocation *invocation, const char *cache_folder, int64_t cache_limit_mib,
                                   liana__remote **remote) LIANA_MUST_USE;

/* A folder for a subcommand's pictures. It may be gs:// or s3://: then a local folder is sent at the end. */
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
