/* program_cache.h - compiled programs on disk, so that the next process need not compile them again.
 *
 * A file holds the identity of the program (liana, plugin, platform, kind of device, flags, options, StableHLO) and the
 * program. Only an equal one is taken: all of it is compared. A file that is damaged, cut off or of another version
 * counts as missing, and is written anew. A program is code that will run, so the folder must belong to this user
 * alone. */
#ifndef LIANA_BACKENDS_PJRT_PROGRAM_CACHE_H
#define LIANA_BACKENDS_PJRT_PROGRAM_CACHE_H

#include "backends/pjrt/client.h"

/* The most that the files may take, in bytes; the oldest make room. */
#define LIANA__PROGRAM_CACHE_LIMIT ((uint64_t)2 << 30)

/* A program to compile. */
typedef struct liana__program_source {
    const char *options; /* a CompileOptionsProto */
    size_t options_size;
    const char *text; /* StableHLO */
    size_t text_size;
} liana__program_source;

/* A loaded executable of the client, made of a file; NULL: no file fits. */
void *liana__program_cache_read(const liana__pjrt_client *client, const liana__program_source *source);

/* Keeps a loaded executable. A failure is not told: the program is there, and is compiled again another time. */
void liana__program_cache_write(const liana__pjrt_client *client, const liana__program_source *source,
                                void *executable);

/* The plugin's bytes of a loaded executable: args->bytes. Free them with args->release, if it is set. Returns false if
 * the plugin does not give them. */
bool liana__program_serialize(const liana__pjrt_plugin *plugin, void *executable, liana__pjrt_serialize_args *args);

/* Removes the oldest programs of a folder until the rest take at most `most` bytes. Other files stay, and do not
 * count. */
void liana__program_cache_trim(const char *folder, uint64_t most);

/* The folder that is used: LIANA_PROGRAM_CACHE, else "programs" in liana__cache_folder. NULL: none, since
 * LIANA_PROGRAM_CACHE is empty, there is no home, or the folder cannot be made or is somebody else's too. */
const char *liana__program_cache_folder(liana__arena *arena);

#endif
