/* Copies pieces of a file that others may cut meanwhile. */
#include "base/file_view.h"

#include "base/memory.h"

#include <stdlib.h>
#include <unistd.h>

/* Copies a piece that begins at `offset`: `size` bytes, and as many more as `ahead` says. */
static liana_status copy_piece(liana__file_view *view, size_t offset, size_t size, liana__error *error)
{
    size_t left = view->size - offset, wanted = size < view->ahead ? view->ahead : size;
    if (wanted > left) wanted = left;
    view->begin = view->end = 0;
    if (wanted > view->capacity) {
        free(view->copy);
        view->capacity = 0;
        view->copy = malloc(wanted);
        if (!view->copy) return liana__fail_memory(error, view->name);
        view->capacity = wanted;
    }
    if (!view->is_open) {
        view->descriptor = liana__mapping_open(view->mapping, view->name);
        view->is_open = true;
    }
    /* If the file cannot be read, the mapping is tried, which knows the reason. */
    if (view->descriptor < 0 || !liana__file_read_at(view->descriptor, offset, view->copy, wanted)) {
        LIANA_TRY(liana__mapping_copy_quick(view->mapping, view->name, offset, view->copy, wanted, error));
    }
    view->begin = offset;
    view->end = offset + wanted;
    return LIANA_OK;
}

liana_status liana__file_view_get(liana__file_view *view, size_t offset, size_t size, const uint8_t **bytes,
                                  liana__error *error)
{
    if (!view->mapping) {
        *bytes = view->bytes + offset;
        return LIANA_OK;
    }
    if (offset < view->begin || offset > view->end || size > view->end - offset) {
        LIANA_TRY(copy_piece(view, offset, size, error));
    }
    *bytes = view->copy + (offset - view->begin);
    return LIANA_OK;
}

liana_status liana__file_view_next(liana__file_view *view, size_t offset, const uint8_t **bytes, size_t *size,
                                   liana__error *error)
{
    LIANA_TRY(liana__file_view_get(view, offset, 1, bytes, error));
    size_t left = (view->mapping ? view->end : view->size) - offset;
    *size = view->ahead && view->ahead < left ? view->ahead : left;
    return LIANA_OK;
}

liana_status liana__file_view_check(const liana__file_view *view, liana__error *error)
{
    return view->mapping ? liana__mapping_check(view->mapping, view->name, error) : LIANA_OK;
}

void liana__file_view_free(liana__file_view *view)
{
    if (view->is_open && view->descriptor >= 0) close(view->descriptor);
    view->is_open = false;
    free(view->copy);
    view->copy = NULL;
    view->capacity = view->begin = view->end = 0;
}
