/* Loads libzip. */
#include "formats/zip_calls.h"

LIANA__LIBRARY_DEFINE(zip, LIANA__ZIP_NAMES, LIANA_ZIP_FILE, "zip archives (.keras) need", "libzip4");

liana_status liana__zip_load(liana__error *error)
{
    return liana__library_load(&liana__zip_library.library, error);
}

static liana_status status_of(int code)
{
    switch (code) {
    case ZIP_ER_MEMORY: return LIANA_OUT_OF_MEMORY;
    case ZIP_ER_COMPNOTSUPP: return LIANA_UNIMPLEMENTED;
    case ZIP_ER_EXISTS: return LIANA_INVALID_ARGUMENT;
    case ZIP_ER_SEEK:
    case ZIP_ER_WRITE: return LIANA_IO_ERROR;
    default: return LIANA_DATA_LOSS;
    }
}

liana_status liana__zip_fail(liana__error *error, const char *path, const char *entry, const char *what,
                             zip_error_t *reason)
{
    return liana__fail(error, status_of(zip_error_code_zip(reason)), "'%s': %s%.200s%s%s (libzip: %s)", path,
                       entry ? "'" : "", entry ? entry : "", entry ? "': " : "", what, zip_error_strerror(reason));
}
