/* The remote files of a run. */
#include "train/run/run_internal.h"

#include "base/clock.h"

/* Lines about a long fetch come this far apart. */
enum { SECONDS_BETWEEN_NOTES = 5 };

/* The receiver of reports. The options are valid during the call that opens the run; data are also opened later. */
struct liana__run_fetch {
    const liana__run_options *options;
    uint64_t told; /* at which second */
};

static bool on_progress(void *user, const liana__remote_progress *progress)
{
    struct liana__run_fetch *fetch = user;
    const liana__run_options *options = fetch->options;
    if (!options) return true;
    const uint64_t now = liana__clock() / 1000000000u;
    bool last = progress->files_done == progress->files;
    if (last || now >= fetch->told + SECONDS_BETWEEN_NOTES) {
        fetch->told = now;
        liana__run_note(options, "%s", liana__remote_progress_line(progress).text);
    }
    return !options->stop || !options->stop(options->user);
}

liana__remote_options liana__run_remote_options(const liana__run *run)
{
    const liana__data_config *data = &run->config->data;
    return (liana__remote_options){.cache_folder = data->remote_cache,
                                   .cache_limit = (uint64_t)data->remote_cache_limit << 20,
                                   .progress = on_progress,
                                   .user = run->fetch};
}

liana_status liana__run_make_remote(liana__run *run, const liana__run_options *options, liana__error *error)
{
    run->fetch = liana__arena_allocate(&run->arena, sizeof *run->fetch);
    if (!run->fetch) return liana__fail_memory(error, "remote files");
    run->fetch->options = options;
    const liana__remote_options wanted = liana__run_remote_options(run);
    return liana__remote_create(&wanted, &run->remote, error);
}

void liana__run_forget_options(liana__run *run)
{
    run->fetch->options = NULL;
}
