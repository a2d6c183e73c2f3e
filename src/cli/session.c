/* Opens the configuration or run folder that a subcommand is given. */
#include "cli/session.h"

#include "base/context.h"
#include "base/file.h"
#include "cli/fetching.h"
#include "train/checkpoint/remote_checkpoints.h"

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

/* A checkpoint that is somewhere else is not looked for in the run. */
static const char *checkpoint_in_run(const liana__invocation *invocation, bool checkpoint)
{
    const char *wanted = liana__invocation_text(invocation, "checkpoint");
    bool elsewhere = wanted && (liana__path_is_remote(wanted) || liana__folder_exists(wanted));
    return checkpoint && !elsewhere ? wanted : "";
}

static liana_status fetch_run(liana__invocation *invocation, bool checkpoint)
{
    const char *wanted = checkpoint_in_run(invocation, checkpoint);
    LIANA_TRY(liana__fetching_start(invocation, NULL, 0, &invocation->remote));
    return liana__remote_run(invocation->remote, invocation->operands[0], wanted, &invocation->arena,
                             &invocation->operands[0], &invocation->error);
}

liana_status liana__session_find_run(liana__invocation *invocation, bool checkpoint, const char **config_path)
{
    if (liana__path_is_remote(invocation->operands[0])) LIANA_TRY(fetch_run(invocation, checkpoint));
    const char *folder = invocation->operands[0], *path = liana__path_join(&invocation->arena, folder, "config.yaml");
    if (!path) return liana__fail_memory(&invocation->error, "the run folder");
    *config_path = path;
    if (liana__file_exists(path)) return LIANA_OK;
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
