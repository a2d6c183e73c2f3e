/* Loads a shared library and looks its functions up. */
#include "base/library.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>

static liana_status fail_loading(const liana__library *library, const char *found, liana__error *error)
{
    return liana__fail(error, LIANA_UNIMPLEMENTED, "%s the library %s: %s; install it (Debian: %s)", library->purpose,
                       library->file, found ? found : "it cannot be loaded", library->package);
}

/* If a program links the same library, it has a copy of its variables, which the library then uses instead of its
 * own. */
static void *find_name(void *handle, const char *name)
{
    void *address = dlsym(handle, name), *extra = NULL, *copy = NULL;
    Dl_info info;
    if (address && dladdr1(address, &info, &extra, RTLD_DL_SYMENT) && extra) {
        const ElfW(Sym) *symbol = extra;
        if ((symbol->st_info & 0xf) == STT_OBJECT) copy = dlsym(RTLD_DEFAULT, name);
    }
    return copy ? copy : address;
}

/* The addresses follow the library in its struct, in the order of the names. */
static liana_status find_names(liana__library *library, void *handle, liana__error *error)
{
    char *addresses = (char *)(library + 1);
    for (size_t i = 0; i < library->num_names; i++) {
        void *address = find_name(handle, library->names[i]);
        if (!address) {
            return liana__fail(
                error, LIANA_UNIMPLEMENTED,
                "%s the library %s, but the installed one lacks '%s'; install another version (Debian: %s)",
                library->purpose, library->file, library->names[i], library->package);
        }
        memcpy(addresses + i * sizeof address, &address, sizeof address);
    }
    return LIANA_OK;
}

static liana_status load(liana__library *library, liana__error *error)
{
    if (atomic_load_explicit(&library->is_loaded, memory_order_relaxed)) return LIANA_OK;
    void *handle = dlopen(library->file, RTLD_LAZY | RTLD_LOCAL);
    if (!handle) return fail_loading(library, dlerror(), error);
    liana_status status = find_names(library, handle, error);
    if (status == LIANA_OK) {
        atomic_store_explicit(&library->is_loaded, true, memory_order_release);
    } else {
        dlclose(handle);
    }
    return status;
}

liana_status liana__library_load(liana__library *library, liana__error *error)
{
    if (atomic_load_explicit(&library->is_loaded, memory_order_acquire)) return LIANA_OK;
    pthread_mutex_lock(&library->mutex);
    liana_status status = load(library, error);
    pthread_mutex_unlock(&library->mutex);
    return status;
}
