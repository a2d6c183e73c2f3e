/* liana help: the manual, from the tables of subcommands. */
#include "cli/command.h"

static liana_status run(liana__invocation *invocation)
{
    if (invocation->num_operands == 0) {
        liana__command_print_overview(invocation->out);
        return LIANA_OK;
    }
    const liana__command *command = liana__command_find(invocation->operands[0]);
    if (!command) return liana__command_unknown(invocation->operands[0], &invocation->error);
    liana__command_print_help(command, invocation->out);
    return LIANA_OK;
}

const liana__command liana__subcommand_help = {
    .name = "help",
    .operands = "[SUBCOMMAND]",
    .summary = "List the subcommands, or explain one",
    .help = "",
    .max_operands = 1,
    .run = run,
};
