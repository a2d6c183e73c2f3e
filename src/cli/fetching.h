/* fetching.h - remote files for subcommands without a run: a line on standard error shows the progress. */
#ifndef LIANA_CLI_FETCHING_H
#define LIANA_CLI_FETCHING_H

#include "cli/command.h"
#include "remote/remote.h"

/* Makes a liana__remote as the configuration says (NULL: as the environment says). A caught signal ends a fetch.
 * Destroy it before the invocation. */
liana_status liana__fetching_start(liana__invocation *invocation, const char *cache_folder, int64_t cache_limit_mib,
                                   liana__remote **remote) LIANA_MUST_USE;

#endif
