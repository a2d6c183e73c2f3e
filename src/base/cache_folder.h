/* cache_folder.h - the folder for what can be made again: copies of remote files, compiled programs. */
#ifndef LIANA_BASE_CACHE_FOLDER_H
#define LIANA_BASE_CACHE_FOLDER_H

#include "base/memory.h"

/* LIANA_CACHE, else liana in XDG_CACHE_HOME, else ~/.cache/liana. In the arena, or the environment's. NULL: HOME is not
 * set either, or arena->failed. It need not be there. */
const char *liana__cache_folder(liana__arena *arena);

#endif
