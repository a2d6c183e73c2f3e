/* known_weights.h - pretrained weights by their names: which file belongs to which model. */
#ifndef LIANA_KNOWN_KNOWN_WEIGHTS_H
#define LIANA_KNOWN_KNOWN_WEIGHTS_H

#include "base/error.h"
#include "base/memory.h"
#include "known/known_file.h"

/* "imagenet", "noisy-student", "autoaugment"; case, '-' and '_' do not count. A file of such a name is "./imagenet":
 * `path` does not count either (base/field.h asks so). */
bool liana__weights_are_named(const char *text, const char *path);
/* The nearest name, or NULL. */
const char *liana__weights_nearest(const char *text);
/* "imagenet, noisy-student or autoaugment" */
const char *liana__weights_names(void);

/* The model that they are for. */
typedef struct liana__weights_wanted {
    const char *set;          /* a name */
    const char *architecture; /* as in models.def */
    double alpha;             /* of an architecture with a width multiplier */
    int64_t depth_multiplier; /* of MobileNet; else 1 */
    bool is_minimalistic;     /* of MobileNetV3 */
    int64_t height, width, channels;
    bool include_top;
    int64_t classes; /* of the top */
} liana__weights_wanted;

/* Chooses as keras.applications does: the file of the width and the image size; of another size, that of 224 x 224.
 * What Keras refuses is refused: a width of which there are no weights (the nearest is named), a top of other than 1000
 * classes, other than 3 channels, sides below 32. *note is what is not as asked for, or NULL; in the arena. Errors:
 * INVALID_CONFIG, with what to do. */
liana_status liana__weights_choose(const liana__weights_wanted *wanted, liana__arena *arena,
                                   const liana__known_file **file, const char **note, liana__error *error)
    LIANA_MUST_USE;

#endif
