/* Describes archives for liana inspect. */
#include "base/scoped.h"
#include "cli/inspect/inspect.h"
#include "formats/tar.h"

#include <stdlib.h>
#include <string.h>

/* Members of one name up to the first dot of its last part are an example of a WebDataset. */
static void report_members(const liana__tar *tar, liana__tallies *extensions, liana__value *report, liana__arena *arena)
{
    int64_t examples = 0;
    size_t before = 0;
    for (size_t i = 0; i < tar->count; i++) {
        const liana__tar_member *member = &tar->members[i];
        const char *dot = strchr(liana__path_name(member->name), '.');
        size_t size = dot ? (size_t)(dot - member->name) : strlen(member->name);
        bool same = i && size == before && strncmp(member->name, tar->members[i - 1].name, size) == 0;
        examples += !same;
        before = size;
        const char *extension = liana__arena_string(arena, dot ? dot : "(none)");
        if (extension) liana__tallies_add(extensions, extension, (int64_t)member->size);
    }
    liana__findings_int(arena, report, "members", (int64_t)tar->count);
    liana__findings_int(arena, report, "examples", examples);
    liana__tallies_report(extensions, "extension", "members", true, "extensions", report, arena);
}

liana_status liana__inspect_tar(const char *path, liana__value *report, liana__arena *arena, liana__error *error)
{
    LIANA__SCOPED_BY(liana__tar_close) liana__tar tar = {0};
    LIANA__SCOPED_MEMORY liana__tallies *extensions = calloc(1, sizeof *extensions);
    if (!extensions) return liana__fail_memory(error, path);
    liana_status status = liana__tar_open(path, &tar, error);
    if (status == LIANA_OK || tar.count) {
        liana__findings_text(arena, report, "kind", "tar archive (WebDataset)");
        liana__findings_int(arena, report, "bytes", (int64_t)tar.mapping.size);
        report_members(&tar, extensions, report, arena);
    }
    if (status != LIANA_OK && tar.count) {
        const liana__tar_member *last = &tar.members[tar.count - 1];
        liana__findings_int(arena, report, "whole_until", (int64_t)(last->offset + last->size));
    }

    return status;
}
