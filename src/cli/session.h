/* session.h - what the subcommands that work with a configuration or a run folder begin and end with. */
#ifndef LIANA_CLI_SESSION_H
#define LIANA_CLI_SESSION_H

#include "cli/command.h"
#include "train/run/run.h"

typedef struct liana__session {
    liana__config config;
    liana_context *context;
} liana__session;

/* Reads a configuration with the invocation's overrides and makes a context as it says. Close it in any case. */
liana_status liana__session_open(liana__invocation *invocation, const char *config_path, liana__session *session)
    LIANA_MUST_USE;
void liana__session_close(liana__session *session);

/* The config.yaml of a run folder, in the invocation's arena. Errors: INVALID_CONFIG if the folder is none. */
liana_status liana__session_find_run(liana__invocation *invocation, const char *folder, const char **config_path)
    LIANA_MUST_USE;

/* What is left out of the data, for liana__run_options: a line on standard error. `user` is the invocation. */
void liana__session_bad_record(void *user, const char *note);

/* A map with "event", for liana__invocation_print_json. */
liana__value *liana__session_event(liana__invocation *invocation, const char *name);

#endif
