/* warm_source.h - the file of weights that a warm start's `from` means. */
#ifndef LIANA_TRAIN_WARM_SOURCE_H
#define LIANA_TRAIN_WARM_SOURCE_H

#include "remote/remote.h"

/* `from` is a file; a TensorFlow checkpoint as liana__tf_checkpoint_find takes it; a folder of liana_model_save; a
 * checkpoint; a run folder or a folder of checkpoints: then it is the best checkpoint, if the run keeps one
 * (checkpoint.best), else the newest. *file is in the arena. Errors: NOT_FOUND with what was looked for. */
liana_status liana__warm_source_find(const char *from, liana__arena *arena, const char **file, liana__error *error)
    LIANA_MUST_USE;

/* The same for a name that may be a URL, in the view of `remote`. Web servers have no folders: there `from` is a
 * file. */
liana_status liana__warm_source_fetch(liana__remote *remote, const char *from, liana__arena *arena, const char **file,
                                      liana__error *error) LIANA_MUST_USE;

#endif
