/* fetching.h - remote files of the subcommands that open no run: a line on standard error while they come. */
#ifndef LIANA_CLI_FETCHING_H
#define LIANA_CLI_FETCHING_H

#include "cli/command.h"
#include "remote/remote.h"

/* A place for URLs, as the configuration says (NULL: as the environment says). A signal that is caught ends a fetch.
 * To be destroyed before the invocation. */
liana_status liana__fetching_start(liana__invocation *invocation, const char *cache_folder, int64_t cache_limit_mib,
                                   liana__remote **remote) LIANA_MUST_USE;

#endif
