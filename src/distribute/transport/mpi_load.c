/* Finds the module for an MPI library next to liana's own files. */
#include "distribute/transport/mpi_load.h"

#include "base/scoped.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PATH_SIZE = 4096 };

/* RTLD_GLOBAL: Open MPI's plugins look for its functions among those of the program. */
static void *load_file(const char *path, liana__text *reasons)
{
    if (access(path, F_OK) != 0) {
        liana__text_add(reasons, "; %s: it is not there", path);
        return NULL;
    }
    void *handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!handle) liana__text_add(reasons, "; %s", dlerror());
    return handle;
}

/* In the build folder they lie next to the library; installed, in liana/ there, which the static program finds from its
 * own folder. */
static void *search(const char *library, liana__text *reasons)
{
    static const char *const places[] = {"", LIANA_MODULES_FOLDER "/", LIANA_MODULES_FROM_BIN "/"};
    const char *named = getenv("LIANA_MPI_MODULE");
    Dl_info info;
    void *handle = NULL, *here = NULL;
    char path[PATH_SIZE];
    if (named && *named) return load_file(named, reasons);
    liana_status (*self)(const char *, const liana__mpi_module **, liana__error *) = liana__mpi_load;
    memcpy(&here, &self, sizeof here);
    if (!dladdr(here, &info) || !info.dli_fname) return NULL;
    const char *slash = strrchr(info.dli_fname, '/');
    int length = slash ? (int)(slash + 1 - info.dli_fname) : 0;
    /* A program that was found in PATH knows only its name. */
    char program[PATH_SIZE / 2] = "";
    if (!slash && readlink("/proc/self/exe", program, sizeof program - 1) > 0)
        length = (int)(strrchr(program, '/') + 1 - program);
    for (size_t i = 0; !handle && i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s%sliana_%s.so", length, slash ? info.dli_fname : program, places[i], library);
        handle = load_file(path, reasons);
    }
    return handle;
}

liana_status liana__mpi_load(const char *library, const liana__mpi_module **module, liana__error *error)
{
    LIANA__SCOPED(liana__text) reasons = {0};
    *module = NULL;
    if (strcmp(library, "openmpi") != 0 && strcmp(library, "mpich") != 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "cluster.mpi: found '%.60s', expected openmpi or mpich",
                           library);
    }
    void *handle = search(library, &reasons);
    const liana__mpi_module *found = handle ? dlsym(handle, LIANA__MPI_MODULE_NAME) : NULL;
    if (found && found->version == LIANA__MPI_MODULE_VERSION && strcmp(found->library, library) == 0) {
        *module = found;
        return LIANA_OK;
    }
    if (handle) liana__text_add(&reasons, "; it is of another version of liana, or of another MPI");
    return liana__fail(
        error, LIANA_UNIMPLEMENTED,
        "the module liana_%s.so for this MPI cannot be loaded; it is built where the MPI's headers are (Debian: "
        "%s)%s",
        library, strcmp(library, "mpich") == 0 ? "libmpich-dev" : "libopenmpi-dev", reasons.data ? reasons.data : "");
}
