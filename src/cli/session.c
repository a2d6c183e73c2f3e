/* Opens the configuration or run folder that a subcommand is given. */
#include "cli/session.h"

#include "base/context.h"
#include "base/file.h"

liana_status liana__session_open(liana__invocation *invocation, const char *config_path, liana__session *session)
{
    *session = (liana__session){0};
    LIANA_TRY(liana__config_load(config_path, invocation->overrides, invocation->num_overrides, &invocation->arena,
                                 &session->config, &invocation->error));
    liana_context_options options = {.num_threads = (int)session->config.train.threads};
    liana_status status = liana_context_create(&options, &session->context);
    if (status != LIANA_OK && session->context) invocation->error = session->context->error;
    return status;
}

void liana__session_close(liana__session *session)
{
    liana_context_destroy(session->context);
    *session = (liana__session){0};
}

liana_status liana__session_find_run(liana__invocation *invocation, const char *folder, const char **config_path)
{
    const char *path = liana__path_join(&invocation->arena, folder, "config.yaml");
    if (!path) return liana__fail_memory(&invocation->error, "the run folder");
    *config_path = path;
    if (liana__file_exists(path)) return LIANA_OK;
    if (liana__path_is_remote(folder)) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG,
                           "%s: run folders must be local; copy '%s' to this machine and pass that path",
                           invocation->command->name, folder);
    }
    return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "%s: '%s' is not a run folder: %s",
                       invocation->command->name, folder,
                       liana__folder_exists(folder) ? "there is no config.yaml in it" : "there is no such folder");
}

void liana__session_bad_record(void *user, const char *note)
{
    fprintf(((liana__invocation *)user)->err, "%s\n", note);
}

liana__value *liana__session_event(liana__invocation *invocation, const char *name)
{
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__value_map(arena);
    liana__value_set(arena, event, "event", liana__value_string(arena, name));
    return event;
}
