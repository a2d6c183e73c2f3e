/* The data sets, and where their files are. */
#include "known/data_set.h"

#include "base/file.h"
#include "base/scoped.h"
#include "known/download.h"
#include "known/name.h"
#include "known/unpack.h"

#include <string.h>

enum { MOST_KNOWN = 2 };

typedef enum part { TRAIN, TEST, NUM_PARTS } part;
static const char *const part_names[NUM_PARTS] = {"train", "test"};

typedef struct data_set {
    const char *name;
    const char *doc;
    const char *kind;
    /* Known files that are fetched. The first one is read, or the archive is unpacked. */
    const char *known[NUM_PARTS][MOST_KNOWN];
    /* Of an archive: the files in it, or a folder. A set with only a part TRAIN has no parts. */
    const char *files[NUM_PARTS][LIANA__DATA_SET_FILES];
    liana_strings class_names;
} data_set;

static const char *const digits[] = {"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"};
/* As Zalando lists them. */
static const char *const clothes[] = {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat",
                                      "Sandal",      "Shirt",   "Sneaker",  "Bag",   "Ankle boot"};

static const data_set data_sets[] = {
    {.name = "mnist",
     .doc = "handwritten digits: 60,000 for training and 10,000 for tests, 28 x 28, grey",
     .kind = "idx",
     .known = {{"mnist/train-images", "mnist/train-labels"}, {"mnist/test-images", "mnist/test-labels"}},
     .class_names = {10, digits}},
    {.name = "fashion-mnist",
     .doc = "clothes in 10 classes: 60,000 for training and 10,000 for tests, 28 x 28, grey",
     .kind = "idx",
     .known = {{"fashion-mnist/train-images", "fashion-mnist/train-labels"},
               {"fashion-mnist/test-images", "fashion-mnist/test-labels"}},
     .class_names = {10, clothes}},
    {.name = "cifar-10",
     .doc = "photographs in 10 classes: 50,000 for training and 10,000 for tests, 32 x 32",
     .kind = "cifar",
     .known = {{"cifar-10/archive"}, {"cifar-10/archive"}},
     .files = {{"cifar-10-batches-bin/data_batch_1.bin", "cifar-10-batches-bin/data_batch_2.bin",
                "cifar-10-batches-bin/data_batch_3.bin", "cifar-10-batches-bin/data_batch_4.bin",
                "cifar-10-batches-bin/data_batch_5.bin"},
               {"cifar-10-batches-bin/test_batch.bin"}}},
    {.name = "cifar-100",
     .doc = "photographs in 100 classes (data.features.label: coarse - in 20): 50,000 for training and 10,000 for "
            "tests, 32 x 32",
     .kind = "cifar",
     .known = {{"cifar-100/archive"}, {"cifar-100/archive"}},
     .files = {{"cifar-100-binary/train.bin"}, {"cifar-100-binary/test.bin"}}},
    {.name = "flower_photos",
     .doc = "3,670 photographs of flowers in 5 classes, without parts (data.validation_split makes some)",
     .kind = "folder",
     .known = {{"flower_photos/archive"}},
     .files = {{"flower_photos"}}},
};
enum { NUM_SETS = sizeof data_sets / sizeof *data_sets };

/* ---- names ---- */

/* The set of a name, and its part; NUM_PARTS: none is named. NULL: it is no such name. */
static const data_set *find_set(const char *text, part *named)
{
    const size_t length = strcspn(text, "/");
    *named = NUM_PARTS;
    for (int i = 0; text[length] && i < NUM_PARTS; i++) {
        if (strcmp(text + length + 1, part_names[i]) == 0) *named = (part)i;
    }
    if (text[length] && *named == NUM_PARTS) return NULL;
    for (int i = 0; i < NUM_SETS; i++) {
        if (liana__known_name_is(data_sets[i].name, text, length)) return &data_sets[i];
    }
    return NULL;
}

bool liana__data_set_is_named(const char *text)
{
    part named;
    return find_set(text, &named) != NULL;
}

bool liana__data_set_is_meant(const char *text, const char *path)
{
    return liana__data_set_is_named(text) && !liana__file_exists(path) && !liana__folder_exists(path);
}

const char *liana__data_set_nearest(const char *text)
{
    liana__nearest_search search = liana__nearest_begin(text);
    for (int i = 0; i < NUM_SETS; i++) liana__nearest_add(&search, data_sets[i].name);
    return search.nearest;
}

const char *liana__data_set_at(size_t index, const char **doc)
{
    if (index >= NUM_SETS) return NULL;
    *doc = data_sets[index].doc;
    return data_sets[index].name;
}

/* ---- files ---- */

/* What brings the files to this machine. */
typedef struct fetching {
    liana__remote *remote;
    liana_context *context;
    const liana__notes *notes;
    liana__arena *arena;
} fetching;

static liana_status fetch(const fetching *own, const char *name, const char **path, liana__error *error)
{
    static const liana__notes nobody;
    return liana__known_fetch_by(own->remote, own->context, liana__known_file_find(name),
                                 own->notes ? own->notes : &nobody, own->arena, path, error);
}

/* The folder beside an archive with what was in it. */
static liana_status find_unpacked(const fetching *own, const char *archive, const char **folder, liana__error *error)
{
    liana__known_place place;
    const char *path;
    LIANA_TRY(liana__known_place_find(liana__known_file_find(archive), own->arena, &place, error));
    *folder = liana__path_join(own->arena, place.folder, "unpacked");
    if (!*folder) return liana__fail_memory(error, archive);
    if (liana__folder_exists(*folder)) return LIANA_OK;
    LIANA_TRY(fetch(own, archive, &path, error));
    const liana__unpack_limits limits = {.bytes = UINT64_C(1) << 30, .files = 100000, .ratio = 200};
    return liana__unpack(path, *folder, &limits, error);
}

static liana_status add_archive(const fetching *own, const data_set *set, part chosen, const char **paths,
                                size_t *count, liana__error *error)
{
    const char *folder;
    LIANA_TRY(find_unpacked(own, set->known[chosen][0], &folder, error));
    for (; *count < LIANA__DATA_SET_FILES && set->files[chosen][*count]; ++*count) {
        const char *path = liana__path_join(own->arena, folder, set->files[chosen][*count]);
        if (!path) return liana__fail_memory(error, set->name);
        if (!liana__file_exists(path) && !liana__folder_exists(path)) {
            return liana__fail(
                error, LIANA_NOT_FOUND,
                "'%s' is missing, of the archive of %s; remove the folder '%s', and it is unpacked again", path,
                set->name, folder);
        }
        paths[*count] = path;
    }
    return LIANA_OK;
}

static liana_status add_files(const fetching *own, const data_set *set, part chosen, const char **paths,
                              liana__error *error)
{
    for (int i = MOST_KNOWN - 1; i >= 0; i--) {
        if (set->known[chosen][i]) LIANA_TRY(fetch(own, set->known[chosen][i], &paths[0], error));
    }
    return LIANA_OK;
}

liana_status liana__data_set_find(const char *name, bool measured, liana__remote *remote, liana_context *context,
                                  const liana__notes *notes, liana__arena *arena, liana__data_files *files,
                                  liana__error *error)
{
    const fetching own = {remote, context, notes, arena};
    part chosen;
    const data_set *set = find_set(name, &chosen);
    const bool has_parts = set->known[TEST][0] != NULL;
    if (!has_parts && (measured || chosen != NUM_PARTS)) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "'%s': %s has no parts for training and tests; use data.train: %s, and "
                           "data.validation_split: 0.2, which takes a fifth of it to validate on",
                           name, set->name, set->name);
    }
    if (chosen == NUM_PARTS) chosen = measured ? TEST : TRAIN;
    const char **paths = liana__arena_allocate(arena, LIANA__DATA_SET_FILES * sizeof *paths);
    size_t count = 0;
    if (!paths) return liana__fail_memory(error, name);
    if (set->files[chosen][0]) {
        LIANA_TRY(add_archive(&own, set, chosen, paths, &count, error));
    } else {
        LIANA_TRY(add_files(&own, set, chosen, paths, error));
        count = 1;
    }
    *files = (liana__data_files){set->name, set->kind, {count, paths}, set->class_names};
    return LIANA_OK;
}
