/* Finds the index of the TensorFlow checkpoint that a path means. */
#include "base/scoped.h"
#include "base/text.h"
#include "formats/tensorflow/tf_checkpoint.h"
#include "formats/tensorflow/tf_table.h"

#include <stdlib.h>
#include <string.h>

/* "ckpt.data-00001-of-00002" is of "ckpt". */
static const char *index_of_data(const char *path, liana__arena *arena)
{
    const char *end = NULL;
    for (const char *at = strstr(path, ".data-"); at; at = strstr(at + 1, ".data-")) end = at;
    const size_t digits = end ? strspn(end + strlen(".data-"), "0123456789") : 0;
    if (!digits || !liana__starts_with(end + strlen(".data-") + digits, "-of-")) return NULL;
    return liana__arena_format(arena, "%.*s.index", (int)(end - path), path);
}

static const char *index_of_name(const char *name, liana__arena *arena)
{
    const char *index = name ? liana__arena_format(arena, "%s.index", name) : NULL;
    return index && liana__file_exists(index) ? index : NULL;
}

/* The newest checkpoint of a folder, as its file `checkpoint` names it: model_checkpoint_path: "ckpt-3". A name with a
 * folder may be of where the folder was before it was moved. */
static const char *index_of_newest(const char *folder, liana__arena *arena)
{
    enum { MOST = 1 << 20 };
    static const char line[] = "model_checkpoint_path: \"";
    LIANA__SCOPED_MEMORY char *text = NULL;
    size_t size;
    const char *list = liana__path_join(arena, folder, "checkpoint");
    if (!list || !liana__file_exists(list) || liana__file_read(list, MOST, &text, &size, NULL) != LIANA_OK) return NULL;
    const char *begin = liana__starts_with(text, line) ? text : NULL, *end;
    if (!begin || !(end = strchr(begin + sizeof line - 1, '"'))) return NULL;
    begin += sizeof line - 1;
    const char *name = liana__arena_format(arena, "%.*s", (int)(end - begin), begin);
    if (!name) return NULL;
    const char *index = index_of_name(liana__path_join(arena, folder, name), arena);
    return index ? index : index_of_name(liana__path_join(arena, folder, liana__path_name(name)), arena);
}

/* Whether a file ends like an index: an old one may have any name. */
static bool is_index(const char *path)
{
    uint8_t end[LIANA__TF_TABLE_MAGIC];
    liana__mapping mapping;
    if (liana__file_map(path, &mapping, NULL) != LIANA_OK) return false;
    const bool good = mapping.size >= sizeof end &&
                      liana__mapping_copy(&mapping, path, mapping.size - sizeof end, end, sizeof end, NULL) == LIANA_OK;
    liana__file_unmap(&mapping);
    return good && liana__is_tf_table(end);
}

const char *liana__tf_checkpoint_find(const char *path, liana__arena *arena)
{
    if (liana__folder_exists(path)) {
        const char *saved = index_of_name(liana__path_join(arena, path, "variables/variables"), arena);
        return saved ? saved : index_of_newest(path, arena);
    }
    if (!liana__file_exists(path)) return index_of_name(path, arena);
    const char *index = index_of_data(path, arena);
    if (index) return liana__file_exists(index) ? index : NULL;
    return liana__ends_with(path, ".index") || is_index(path) ? liana__arena_string(arena, path) : NULL;
}
