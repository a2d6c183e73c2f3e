/* liana version: the version of liana. */
#include "cli/session.h"

#include <liana/context.h>

static const liana__option options[] = {{LIANA__OPTION_JSON}, {0}};

static liana_status run(liana__invocation *invocation)
{
    if (!liana__invocation_has(invocation, "json")) {
        fprintf(invocation->out, "liana %s\n", liana_version());
        return LIANA_OK;
    }
    liana__arena *arena = &invocation->arena;
    liana__value *event = liana__session_event(invocation, "version");
    liana__value_set(arena, event, "version", liana__value_string(arena, liana_version()));
    liana__invocation_print_json(invocation, event);
    return LIANA_OK;
}

const liana__command liana__subcommand_version = {
    .name = "version",
    .operands = "",
    .summary = "Print the version",
    .help = "",
    .options = options,
    .run = run,
};
