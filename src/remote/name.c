/* Shows names and progress of remote files, and reads a file by name or URL. */
#include "base/format.h"
#include "base/scoped.h"
#include "remote/remote.h"

#include <stdio.h>

const char *liana__remote_name(const char *path)
{
    const char *colon = *path == '/' ? strstr(path, "://") : NULL;
    if (!colon) return path;
    const char *start = colon;
    while (start[-1] != '/') start--;
    return liana__path_is_remote(start) ? start : path;
}

liana__remote_line liana__remote_progress_line(const liana__remote_progress *progress)
{
    liana__remote_line line;
    int length =
        liana__format(line.text, sizeof line.text, "remote files: %zu of %zu, %.1f of %.1f MiB", progress->files_done,
                      progress->files, (double)progress->bytes_done / 0x1p20, (double)progress->bytes / 0x1p20);
    double rate = progress->seconds > 0 ? (double)progress->bytes_fetched / progress->seconds : 0;
    if (rate <= 0 || length < 0 || (size_t)length >= sizeof line.text) return line;
    char *end = line.text + length;
    size_t room = sizeof line.text - (size_t)length;
    uint64_t left = progress->bytes > progress->bytes_done ? progress->bytes - progress->bytes_done : 0;
    if (left) {
        liana__format(end, room, ", %.1f MiB/s, %.0f s left", rate / 0x1p20, (double)left / rate);
    } else {
        liana__format(end, room, ", %.1f MiB/s", rate / 0x1p20);
    }
    return line;
}

liana_status liana__remote_read(const char *name, const liana__remote_options *options, size_t limit, char **data,
                                size_t *size, liana__error *error)
{
    if (!liana__path_is_remote(name)) return liana__file_read(name, limit, data, size, error);
    *data = NULL;
    *size = 0;
    liana__remote *remote;
    LIANA__SCOPED(liana__arena) arena = {0};
    const char *path;
    LIANA_TRY(liana__remote_create(options, &remote, error));
    liana_status status = liana__remote_file(remote, name, &arena, &path, error);
    if (status == LIANA_OK) status = liana__file_read(path, limit, data, size, error);
    if (status != LIANA_OK) liana__remote_fail_within(remote, error);
    liana__remote_destroy(remote);
    return status;
}
