/* liana watch: runs as they are trained, on a page or in a terminal. */
#include "cli/watch/watch_terminal.h"

#include "base/scoped.h"
#include "report/run_plot.h"
#include "serve/live_server.h"

#include <time.h>
#include <unistd.h>

static const liana__option options[] = {
    {"port", "PORT", "the port of the page on 127.0.0.1 (default: a free one)"},
    {"terminal", NULL, "draw the curves here instead; once, if this is no terminal"},
    {"ascii", NULL, "with --terminal: plain characters alone"},
    {0},
};

/* Sweeps and folders of runs become their runs. */
static liana_status find_runs(liana__invocation *invocation, const char ***folders, size_t *count)
{
    liana__arena *arena = &invocation->arena;
    *folders = NULL;
    *count = 0;
    for (size_t i = 0; i < invocation->num_operands; i++) {
        const char **found;
        size_t more;
        LIANA_TRY(liana__find_run_folders(invocation->operands[i], arena, &found, &more, &invocation->error));
        const char **all = liana__arena_allocate(arena, (*count + more + 1) * sizeof *all);
        if (!all) return liana__fail_memory(&invocation->error, "the runs");
        for (size_t k = 0; k < *count; k++) all[k] = (*folders)[k];
        for (size_t k = 0; k < more; k++) all[*count + k] = found[k];
        *folders = all;
        *count += more;
    }
    return LIANA_OK;
}

static liana_status serve(liana__invocation *invocation, int64_t port, const char *const *folders, size_t count)
{
    static const struct timespec pause = {.tv_nsec = 200 * 1000 * 1000};
    liana__live_server *server;
    const liana__live_options wanted = {(int)port, "--port", folders, count, NULL, 0};
    LIANA_TRY(liana__live_server_open(&wanted, &server, &invocation->error));
    fprintf(invocation->out, "%s\n", liana__live_server_url(server));
    fflush(invocation->out);
    while (!liana__signals_caught()) nanosleep(&pause, NULL);
    liana__live_server_close(server);
    return LIANA_OK;
}

static liana_status run(liana__invocation *invocation)
{
    const char **folders;
    size_t count;
    int64_t port = 0;
    const bool in_terminal = liana__invocation_has(invocation, "terminal");
    if (liana__invocation_has(invocation, "ascii") && !in_terminal) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "watch: --ascii belongs to --terminal");
    }
    if (liana__invocation_has(invocation, "port") && in_terminal) {
        return liana__fail(&invocation->error, LIANA_INVALID_CONFIG, "watch: --port and --terminal exclude each other");
    }
    LIANA_TRY(liana__invocation_int(invocation, "port", 1, 65535, &port));
    LIANA_TRY(find_runs(invocation, &folders, &count));
    liana__signals_catch();
    if (!in_terminal) return serve(invocation, port, folders, count);
    return liana__watch_in_terminal(invocation, folders, count, liana__invocation_has(invocation, "ascii"));
}

const liana__command liana__subcommand_watch = {
    .name = "watch",
    .operands = "RUN ...",
    .summary = "Show runs while they are trained, on a page or in a terminal",
    .help = "Serves the page of 'liana report --html' on 127.0.0.1, with values as they come. RUN is the folder of a\n"
            "run, or one with runs in it, such as a sweep's. Runs that were started with --live tell their values\n"
            "within epochs, and have buttons: pause, go on, checkpoint now, stop. Of others it shows what their\n"
            "epochs wrote. The address has a token, without which nobody sees anything. Ctrl-C ends it.\n"
            "From another machine: ssh -L PORT:127.0.0.1:PORT HOST, with the PORT of the address.\n",
    .options = options,
    .min_operands = 1,
    .max_operands = 64,
    .run = run,
};
