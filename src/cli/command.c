/* The list of subcommands, and their common beginning and end. */
#include "cli/command.h"

#include "base/descriptor.h"
#include "base/format.h"
#include "base/named.h"
#include "remote/remote.h"

#include <errno.h>
#include <liana/context.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const liana__command *const commands[] = {
#define LIANA__SUBCOMMAND(stem, name) &liana__subcommand_##name,
#include "cli/subcommands.def"
#undef LIANA__SUBCOMMAND
};

enum { NUM_COMMANDS = sizeof commands / sizeof *commands };

const liana__command *const *liana__commands(size_t *count)
{
    *count = NUM_COMMANDS;
    return commands;
}

const liana__command *liana__command_find(const char *name)
{
    size_t index = liana__named_find(LIANA__NAMED_POINTERS(liana__command, commands, NUM_COMMANDS), name, NULL);
    return index < NUM_COMMANDS ? commands[index] : NULL;
}

liana_status liana__command_unknown(const char *name, liana__error *error)
{
    const char *nearest = NULL;
    (void)liana__named_find(LIANA__NAMED_POINTERS(liana__command, commands, NUM_COMMANDS), name, &nearest);
    for (size_t i = 0; i < NUM_COMMANDS && !nearest && strlen(name) > 1; i++) {
        if (liana__starts_with(commands[i]->name, name)) nearest = commands[i]->name;
    }
    if (nearest) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "unknown subcommand '%.100s'; did you mean '%s'?", name,
                           nearest);
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "unknown subcommand '%.100s'; 'liana help' lists them", name);
}

void liana__command_print_overview(FILE *out)
{
    fprintf(out, "liana %s trains and fine-tunes image classifiers.\n\nUsage: liana SUBCOMMAND ...\n\n",
            liana_version());
    for (size_t i = 0; i < NUM_COMMANDS; i++) fprintf(out, "  %-15s %s\n", commands[i]->name, commands[i]->summary);
    fprintf(out, "\n'liana SUBCOMMAND --help' says more about a subcommand.\n");
}

void liana__command_print_help(const liana__command *command, FILE *out)
{
    enum { FEW = 4 }; /* with more options, only the list shows them */
    size_t count = 0;
    int widest = (int)strlen("--help");
    for (; command->options && command->options[count].name; count++) {
        const char *argument = command->options[count].argument;
        int width = (int)strlen(command->options[count].name) + (argument ? (int)strlen(argument) + 3 : 2);
        if (!command->options[count].name[1]) width--;
        if (width > widest) widest = width;
    }
    fprintf(out, "Usage: liana %s%s%s", command->name, *command->operands ? " " : "", command->operands);
    for (size_t i = 0; count <= FEW && i < count; i++) {
        const char *argument = command->options[i].argument;
        fprintf(out, " [%s%s%s%s]", liana__option_dashes(command->options[i].name), command->options[i].name,
                argument ? " " : "", argument ? argument : "");
    }
    if (count > FEW) fprintf(out, " [options]");
    fprintf(out, "\n\n%s.\n%s%s\nOptions:\n", command->summary, *command->help ? "\n" : "", command->help);
    for (const liana__option *option = command->options; option && option->name; option++) {
        const char *argument = option->argument ? option->argument : "";
        int width = fprintf(out, "  %s%s%s%s", liana__option_dashes(option->name), option->name, *argument ? " " : "",
                            argument) -
                    2;
        fprintf(out, "%*s  %s\n", widest - width, "", option->doc);
    }
    fprintf(out, "  --help%*s  print this help\n", widest - (int)strlen("--help"), "");
}

void liana__print_plainly(FILE *out, const char *text)
{
    enum { MOST_BYTES = 4 }; /* that one becomes */
    const size_t size = MOST_BYTES * strlen(text) + 1;
    char *plain = malloc(size);
    if (!plain) return;
    memcpy(plain, text, strlen(text) + 1);
    liana__escape_controls(plain, size);
    fputs(plain, out);
    free(plain);
}

bool liana__output_is_unread(FILE *stream)
{
    struct pollfd asked = {.fd = fileno(stream), .events = POLLOUT};
    return ferror(stream) && asked.fd >= 0 && poll(&asked, 1, 0) == 1 && (asked.revents & POLLERR);
}

/* Standard output may be a full disk; a result that was not written is a failure. */
static liana_status check_written(liana__invocation *invocation)
{
    errno = 0;
    if (invocation->output_lost || (fflush(invocation->out) == 0 && !ferror(invocation->out))) return LIANA_OK;
    return liana__fail(&invocation->error, LIANA_IO_ERROR, "cannot write to standard output: %s",
                       errno ? strerror(errno) : "some of it was refused");
}

static int report(liana__invocation *invocation, liana_status status)
{
    if (status == LIANA_OK) return LIANA__EXIT_DONE;
    const char *message = invocation->error.message;
    if (!*message) message = liana_status_text(status);
    fflush(invocation->out);
    fprintf(invocation->err, "liana: %s\n", message);
    if (invocation->command && liana__invocation_has(invocation, "json")) {
        liana__arena *arena = &invocation->arena;
        liana__value *event = liana__value_map(arena);
        liana__value_set(arena, event, "event", liana__value_string(arena, "error"));
        liana__value_set(arena, event, "status", liana__value_string(arena, liana_status_name(status)));
        liana__value_set(arena, event, "message", liana__value_string(arena, message));
        liana__invocation_print_json(invocation, event);
    }
    if (status == LIANA_UNAVAILABLE && invocation->requeues) return LIANA__EXIT_REQUEUE;
    bool resumable = status == LIANA_CANCELLED || status == LIANA_UNAVAILABLE;
    const bool stopped = status == LIANA_CANCELLED && (liana__signals_caught() || invocation->stopped);
    /* `liana launch` starts those again that could not go on, and not those that were stopped: it says 75 itself. */
    if (stopped && getenv("LIANA_LAUNCHED")) resumable = false;
    if (resumable && invocation->command && liana__invocation_has(invocation, "requeue")) return LIANA__EXIT_REQUEUE;
    /* Whichever process hears first: all end alike. */
    if (stopped) return LIANA__EXIT_SIGNAL + (liana__signals_caught() ? liana__signals_caught() : SIGTERM);
    return status == LIANA_INVALID_CONFIG ? LIANA__EXIT_USAGE : LIANA__EXIT_FAILED;
}

static liana_status run(liana__invocation *invocation, int argc, const char *const *argv)
{
    static const char *const version_words[] = {"--version", "-V"};
    static const char *const help_words[] = {"--help", "-h"};
    const char *name = argv[0];
    for (size_t i = 0; i < 2; i++) {
        if (strcmp(name, version_words[i]) == 0) name = "version";
        if (strcmp(name, help_words[i]) == 0) name = "help";
    }
    const liana__command *command = liana__command_find(name);
    if (!command) return liana__command_unknown(name, &invocation->error);
    invocation->command = command;
    LIANA_TRY(liana__invocation_parse(invocation, argc - 1, argv + 1));
    if (invocation->help) {
        liana__command_print_help(command, invocation->out);
        return LIANA_OK;
    }
    return command->run(invocation);
}

int liana__command_line(int argc, const char *const *argv, FILE *out, FILE *err)
{
    if (argc < 2) {
        liana__command_print_overview(err);
        return LIANA__EXIT_USAGE;
    }
    liana__invocation invocation = {.out = out, .err = err};
    liana_status status = run(&invocation, argc - 1, argv + 1);
    bool done = status == LIANA_OK;
    if (done) status = check_written(&invocation);
    /* A reader that stops reading (head) needs no more. */
    bool unread = done && status != LIANA_OK && liana__output_is_unread(out);
    if (status != LIANA_OK) liana__remote_clean(invocation.remote, invocation.error.message);
    int code = unread ? LIANA__EXIT_SIGNAL + SIGPIPE : report(&invocation, status);
    if (code == LIANA__EXIT_DONE) code = invocation.exit_code;
    liana__remote_destroy(invocation.remote);
    liana__arena_free(&invocation.arena);
    return code;
}

int liana__command_main(int argc, const char *const *argv)
{
    liana__signals_prepare();
    liana__descriptors_prepare();
    return liana__command_line(argc, argv, stdout, stderr);
}
