/* Fetches files for subcommands, with their progress, and sends their folders. */
#include "cli/remote_files.h"

#include "base/file.h"

#include <unistd.h>

/* A terminal has its one line renewed; a file gets a line now and then. */
enum { SECONDS_BETWEEN_LINES = 10 };

typedef struct fetching {
    liana__invocation *invocation;
    double told; /* seconds of the fetch */
} fetching;

static bool show(void *user, const liana__remote_progress *progress)
{
    fetching *own = user;
    FILE *err = own->invocation->err;
    bool terminal = isatty(fileno(err)), last = progress->files_done == progress->files;
    if (progress->seconds < own->told) own->told = 0;
    if (terminal) {
        liana__terminal_draw(err, liana__remote_progress_line(progress).text);
        if (last) fputc('\n', err);
    } else if (progress->seconds >= own->told + SECONDS_BETWEEN_LINES) {
        own->told = progress->seconds;
        fprintf(err, "%s\n", liana__remote_progress_line(progress).text);
    }
    return liana__signals_caught() == 0;
}

liana_status liana__fetching_start(liana__invocation *invocation, const char *cache_folder, int64_t cache_limit_mib,
                                   liana__remote **remote)
{
    fetching *own = liana__arena_allocate(&invocation->arena, sizeof *own);
    if (!own) return liana__fail_memory(&invocation->error, "remote files");
    own->invocation = invocation;
    liana__remote_options options = {.cache_folder = cache_folder,
                                     .cache_limit = (uint64_t)cache_limit_mib << 20,
                                     .progress = show,
                                     .user = own};
    return liana__remote_create(&options, remote, &invocation->error);
}

/* ---- sending ---- */

liana_status liana__sending_start(liana__invocation *invocation, const char *folder, liana__sending *sending)
{
    liana__error *error = &invocation->error;
    *sending = (liana__sending){.folder = folder};
    if (!liana__path_is_remote(folder)) return liana__folder_make(folder, error);
    LIANA_TRY(liana__outlet_open(&(liana__outlet_options){.url = folder, .fresh = true}, &sending->outlet, error));
    sending->folder = liana__outlet_folder(sending->outlet);
    return LIANA_OK;
}

liana_status liana__sending_end(liana__invocation *invocation, liana__sending *sending, liana_status status)
{
    if (sending->outlet && status == LIANA_OK) status = liana__outlet_flush(sending->outlet, &invocation->error);
    liana__outlet_close(sending->outlet);
    sending->outlet = NULL;
    return status;
}
