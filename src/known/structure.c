/* Checks the structure of files that have no published hash. */
#include "known/structure.h"

#include "base/file_view.h"
#include "base/scoped.h"
#include "base/text.h"
#include "formats/gzip_index.h"
#include "formats/hdf5_tree.h"
#include "formats/sniff.h"
#include "formats/tar.h"
#include "formats/zip.h"

#include <string.h>

LIANA__SCOPED_POINTER(liana__hdf5_tree_close, liana__hdf5_tree)
LIANA__SCOPED_POINTER(liana__zip_close, liana__zip)

static liana_status count_child(void *user, const char *name, liana__hdf5_node child, bool is_group,
                                liana__error *error)
{
    (void)name;
    (void)child;
    (void)is_group;
    (void)error;
    ++*(size_t *)user;
    return LIANA_OK;
}

static liana_status check_hdf5(const char *path, liana__error *error)
{
    LIANA__SCOPED_BY(liana__hdf5_tree_close_scoped) liana__hdf5_tree *tree = NULL;
    size_t count = 0;
    LIANA_TRY(liana__hdf5_tree_open(path, &tree, error));
    if (liana__hdf5_tree_children(tree, liana__hdf5_tree_root(tree), count_child, &count, error) != LIANA_OK) {
        return liana__fail_within(error, "'%s'", path);
    }
    return count ? LIANA_OK : liana__fail(error, LIANA_INVALID_DATA, "'%s' is an HDF5 file with nothing in it", path);
}

static liana_status check_zip(const char *path, liana__error *error)
{
    LIANA__SCOPED_BY(liana__zip_close_scoped) liana__zip *archive = NULL;
    return liana__zip_open(path, &archive, error);
}

/* The stream of a gzip file, as it passes by. */
typedef struct stream {
    uint8_t head[512];
    uint64_t size;
} stream;

static liana_status pass(void *user, const uint8_t *bytes, size_t size, liana__error *error)
{
    (void)error;
    stream *own = user;
    for (size_t i = 0; i < size && own->size + i < sizeof own->head; i++) own->head[own->size + i] = bytes[i];
    own->size += size;
    return LIANA_OK;
}

static liana_status check_gzip(const char *path, bool is_tar, liana__error *error)
{
    liana__mapping mapping;
    liana__gzip_index *index = NULL;
    stream own = {{0}, 0};
    LIANA_TRY(liana__file_map(path, &mapping, error));
    LIANA__SCOPED(liana__file_view) view = liana__file_view_of(path, &mapping, 1 << 16);
    /* One place, the beginning: all that is wanted is the pass. */
    liana_status status = liana__gzip_index_build(&view, UINT64_MAX, pass, &own, &index, error);
    liana__gzip_index_free(index);
    liana__file_unmap(&mapping);
    if (status == LIANA_OK && is_tar &&
        !liana__is_tar(own.head, own.size < sizeof own.head ? own.size : sizeof own.head))
        status = liana__fail(error, LIANA_INVALID_DATA, "'%s' holds no tar archive", path);
    return status;
}

static bool ends_with_one_of(const char *name, const char *const *ends)
{
    for (; *ends; ends++) {
        if (liana__ends_with(name, *ends)) return true;
    }
    return false;
}

/* A server's error page, or that of a network which wants a password first. */
static liana_status refuse_page(const char *path, liana__error *error)
{
    uint8_t head[LIANA__SNIFF_BYTES];
    size_t size;
    LIANA_TRY(liana__file_read_head(path, head, sizeof head, &size, error));
    if (size == 0) return liana__fail(error, LIANA_DATA_LOSS, "'%s' is empty", path);
    const char *looks = liana__sniff(head, size);
    if (!looks || !strstr(looks, "HTML")) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_DATA, "'%s' is %s", path, looks);
}

liana_status liana__known_check_structure(const liana__known_file *file, const char *path, liana__error *error)
{
    static const char *const hdf5[] = {".h5", ".hdf5", NULL};
    static const char *const zip[] = {".zip", ".npz", ".keras", NULL};
    static const char *const tar[] = {".tar.gz", ".tgz", NULL};
    static const char *const gzip[] = {".gz", NULL};
    LIANA_TRY(refuse_page(path, error));
    if (ends_with_one_of(file->file, hdf5)) return check_hdf5(path, error);
    if (ends_with_one_of(file->file, zip)) return check_zip(path, error);
    if (ends_with_one_of(file->file, tar)) return check_gzip(path, true, error);
    return ends_with_one_of(file->file, gzip) ? check_gzip(path, false, error) : LIANA_OK;
}
