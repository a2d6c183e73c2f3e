/* Loads libhdf5. */
#ifdef LIANA_HAVE_HDF5
#include "formats/hdf5/hdf5_calls.h"

#include "base/format.h"

#include <stdio.h>
#include <string.h>

LIANA__LIBRARY_DEFINE(hdf5, LIANA__HDF5_NAMES, LIANA_HDF5_FILE, "the newer HDF5 layouts and writing HDF5 need",
                      "libhdf5-103-1");

liana_status liana__hdf5_load(liana__error *error)
{
    return liana__library_load(&liana__hdf5_library.library, error);
}

liana__hdf5_quiet liana__hdf5_enter(void)
{
    liana__hdf5_quiet quiet = {0};
    H5Eget_auto2(H5E_DEFAULT, &quiet.function, &quiet.data);
    H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
    H5Eclear2(H5E_DEFAULT);
    return quiet;
}

void liana__hdf5_leave(liana__hdf5_quiet quiet)
{
    H5Eset_auto2(H5E_DEFAULT, quiet.function, quiet.data);
}

enum { REASON_SIZE = 256 };

/* The first entry upwards is the innermost: the one that knows. */
static herr_t keep_reason(unsigned index, const H5E_error2_t *entry, void *user)
{
    char *reason = user;
    if (index == 0 && entry->desc) snprintf(reason, REASON_SIZE, " (libhdf5: %s)", entry->desc);
    return 0;
}

liana_status liana__hdf5_fail(liana__error *error, liana_status status, const char *format, ...)
{
    char message[1024], reason[REASON_SIZE] = "";
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(message, sizeof message, format, arguments);
    va_end(arguments);
    H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_reason, reason);
    return liana__fail(error, status, "%s%s", message, reason);
}

hid_t liana__hdf5_type(const char *name)
{
    const struct {
        const char *name;
        hid_t type;
    } types[] = {
        {"float32", H5T_IEEE_F32LE}, {"float64", H5T_IEEE_F64LE}, {"int8", H5T_STD_I8LE},  {"int16", H5T_STD_I16LE},
        {"int32", H5T_STD_I32LE},    {"int64", H5T_STD_I64LE},    {"uint8", H5T_STD_U8LE}, {"uint16", H5T_STD_U16LE},
        {"uint32", H5T_STD_U32LE},   {"uint64", H5T_STD_U64LE},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        if (strcmp(types[i].name, name) == 0) return H5Tcopy(types[i].type);
    }
    if (strcmp(name, "bfloat16") == 0) return H5Tcreate(H5T_OPAQUE, 2);
    if (strcmp(name, "float16") != 0) return -1;
    hid_t half = H5Tcopy(H5T_IEEE_F32LE);
    bool made = half >= 0 && H5Tset_fields(half, 15, 10, 5, 0, 10) >= 0 && H5Tset_size(half, 2) >= 0 &&
                H5Tset_ebias(half, 15) >= 0;
    return made ? half : -1;
}
#endif
