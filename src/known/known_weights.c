/* Chooses the file of pretrained weights for a model. */
#include "known/known_weights.h"

#include "base/scoped.h"
#include "base/text.h"
#include "known/name.h"

#include <math.h>
#include <string.h>

static const char *const sets[] = {"imagenet", "noisy-student", "autoaugment", NULL};

/* The classes of ImageNet, and the smallest side of an image, in Keras. */
enum { IMAGENET_CLASSES = 1000, LEAST_SIDE = 32, USUAL_SIZE = 224 };

static const char *find_set(const char *text)
{
    size_t i = 0;
    while (sets[i] && !liana__known_name_is(sets[i], text, strlen(text))) i++;
    return sets[i];
}

bool liana__weights_are_named(const char *text, const char *path)
{
    (void)path;
    return find_set(text) != NULL;
}

const char *liana__weights_nearest(const char *text)
{
    return liana__nearest(text, sets, sizeof sets / sizeof *sets - 1);
}

const char *liana__weights_names(void)
{
    return "imagenet, noisy-student or autoaugment";
}

/* ---- what there is ---- */

static bool is_of(const liana__known_file *file, const char *set, const char *architecture)
{
    return file->kind == LIANA__KNOWN_WEIGHTS && strcmp(file->set, set) == 0 &&
           strcmp(file->architecture, architecture) == 0;
}

static liana_status fail_architecture(const liana__weights_wanted *wanted, const char *set, liana__error *error)
{
    LIANA__SCOPED(liana__text) list = {0};
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    const char *last = "";
    for (size_t i = 0; i < count; i++) {
        const bool counts = files[i].kind == LIANA__KNOWN_WEIGHTS && strcmp(files[i].set, set) == 0;
        if (!counts || strcmp(files[i].architecture, last) == 0) continue;
        liana__text_add(&list, "%s%s", *last ? ", " : "", files[i].architecture);
        last = files[i].architecture;
    }
    return liana__fail(error, LIANA_INVALID_CONFIG, "there are no weights '%s' for %s; there are some for %s", set,
                       wanted->architecture, list.data ? list.data : "no other");
}

static liana_status fail_alpha(const liana__weights_wanted *wanted, const char *set, liana__error *error)
{
    const char *which = wanted->is_minimalistic ? " and minimalistic: true" : "";
    LIANA__SCOPED(liana__text) list = {0};
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    double nearest = 0, last = 0;
    for (size_t i = 0; i < count; i++) {
        const double alpha = files[i].alpha;
        if (!is_of(&files[i], set, wanted->architecture) || alpha == last) continue;
        if (files[i].is_minimalistic != wanted->is_minimalistic) continue;
        liana__text_add(&list, "%s%g", last > 0 ? ", " : "", alpha);
        last = alpha;
        if (nearest == 0 || fabs(alpha - wanted->alpha) < fabs(nearest - wanted->alpha)) nearest = alpha;
    }
    return liana__fail(
        error, LIANA_INVALID_CONFIG,
        "there are no weights '%s' for %s with alpha %g%s; there are some for alpha %s; the nearest is %g", set,
        wanted->architecture, wanted->alpha, which, list.data ? list.data : "", nearest);
}

/* ---- what fits ---- */

static liana_status check_wanted(const liana__weights_wanted *wanted, const char *set, liana__error *error)
{
    if (wanted->channels != 3) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the weights '%s' are for images with 3 channels, not %lld; set data.channels: 3, which "
                           "reads grey images as colour ones too",
                           set, (long long)wanted->channels);
    }
    if (wanted->height < LEAST_SIDE || wanted->width < LEAST_SIDE) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "the weights '%s' are for images of at least %d x %d, not %lld x %lld; set data.image_size",
                           set, LEAST_SIDE, LEAST_SIDE, (long long)wanted->height, (long long)wanted->width);
    }
    if (wanted->depth_multiplier != 1) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "the weights '%s' are for depth_multiplier 1, not %lld", set,
                           (long long)wanted->depth_multiplier);
    }
    if (wanted->include_top && wanted->classes != IMAGENET_CLASSES) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "with their own classifier (include_top: true) the weights '%s' are for %d classes, not "
                           "%lld; set include_top: false, and the model gets a classifier of its own",
                           set, IMAGENET_CLASSES, (long long)wanted->classes);
    }
    return LIANA_OK;
}

static const liana__known_file *find_size(const liana__weights_wanted *wanted, const char *set, int64_t size)
{
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    for (size_t i = 0; i < count; i++) {
        const bool same_size = files[i].image_size == 0 || files[i].image_size == size;
        const bool same_alpha = files[i].alpha == 0 || fabs(files[i].alpha - wanted->alpha) < 1e-6;
        if (!is_of(&files[i], set, wanted->architecture) || files[i].has_top != wanted->include_top) continue;
        if (files[i].is_minimalistic != wanted->is_minimalistic) continue;
        if (same_size && same_alpha) return &files[i];
    }
    return NULL;
}

static bool has_architecture(const char *set, const char *architecture)
{
    size_t count;
    const liana__known_file *files = liana__known_files(&count);
    for (size_t i = 0; i < count; i++) {
        if (is_of(&files[i], set, architecture)) return true;
    }
    return false;
}

static liana_status check_size(const liana__weights_wanted *wanted, const char *set, const liana__known_file *file,
                               liana__error *error)
{
    const int size = file->only_size;
    if (!size || (wanted->height == size && wanted->width == size)) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "with its own classifier (include_top: true) the weights '%s' of %s are for images of %d x %d, "
                       "not %lld x %lld; set data.image_size: [%d, %d], or include_top: false, which takes any size",
                       set, wanted->architecture, size, size, (long long)wanted->height, (long long)wanted->width, size,
                       size);
}

liana_status liana__weights_choose(const liana__weights_wanted *wanted, liana__arena *arena,
                                   const liana__known_file **file, const char **note, liana__error *error)
{
    const char *set = find_set(wanted->set);
    *note = NULL;
    if (!has_architecture(set, wanted->architecture)) return fail_architecture(wanted, set, error);
    LIANA_TRY(check_wanted(wanted, set, error));
    *file = wanted->height == wanted->width ? find_size(wanted, set, wanted->height) : NULL;
    if (*file) return check_size(wanted, set, *file, error);
    *file = find_size(wanted, set, USUAL_SIZE);
    if (!*file) return fail_alpha(wanted, set, error);
    if (!(*file)->image_size) return check_size(wanted, set, *file, error);
    *note =
        liana__arena_format(arena,
                            "there are no weights '%s' for images of %lld x %lld; those for %d x %d are used, as in "
                            "Keras",
                            set, (long long)wanted->height, (long long)wanted->width, USUAL_SIZE, USUAL_SIZE);
    return *note ? LIANA_OK : liana__fail_memory(error, "the weights");
}
