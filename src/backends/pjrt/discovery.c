/* Looks for plugins and for hardware. */
#include "backends/pjrt/discovery.h"

#include "base/text.h"

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Where a package puts its plugin, below a folder of packages. */
typedef struct known_plugin {
    const char *kind;
    const char *pattern;
} known_plugin;

static const known_plugin known_plugins[] = {
    {"cpu", "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so"},
    {"gpu", "jax_plugins/xla_cuda1[0-9]/xla_cuda_plugin.so"},
    {"gpu", "xla_plugins/xla_cuda1[0-9]_pjrt/xla_gpu_pjrt.so"},
    {"gpu", "jax_plugins/xla_rocm*/xla_rocm_plugin.so"},
    {"tpu", "libtpu/libtpu.so"},
    {"tpu", "libtpu.so"},
};
enum { NUM_KNOWN = sizeof known_plugins / sizeof *known_plugins };

typedef struct search {
    const char *kind;
    liana__arena *arena;
    const char *found; /* NULL: not yet */
} search;

/* Takes the last of the files that a pattern stands for: the newest version. */
static void try_pattern(search *own, const char *pattern)
{
    glob_t found;
    if (own->found || glob(pattern, 0, NULL, &found) != 0) return;
    if (found.gl_pathc > 0) own->found = liana__arena_string(own->arena, found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
}

/* `folder` may be a pattern. */
static void try_folder(search *own, const char *folder)
{
    for (size_t i = 0; i < NUM_KNOWN && !own->found; i++) {
        if (strcmp(known_plugins[i].kind, own->kind) != 0) continue;
        const char *pattern = liana__arena_format(own->arena, "%s/%s", folder, known_plugins[i].pattern);
        if (pattern) try_pattern(own, pattern);
    }
}

static void try_list(search *own, const char *folders)
{
    char *list = liana__arena_string(own->arena, folders), *rest = NULL;
    if (!list) return;
    for (char *folder = strtok_r(list, ":", &rest); folder; folder = strtok_r(NULL, ":", &rest)) {
        try_folder(own, folder);
    }
}

/* A folder of the user's: the environment's `name`, or `otherwise` below the home folder; and the path below it. */
static void try_own_folder(search *own, const char *name, const char *otherwise, const char *behind)
{
    const char *folder = name ? getenv(name) : NULL, *home = getenv("HOME");
    const char *pattern = NULL;
    if (folder && *folder) {
        pattern = liana__arena_format(own->arena, "%s/%s", folder, behind);
    } else if (otherwise && home && *home) {
        pattern = liana__arena_format(own->arena, "%s/%s/%s", home, otherwise, behind);
    }
    if (pattern) try_folder(own, pattern);
}

static void try_places(search *own)
{
    const char *folders = getenv("LIANA_PLUGIN_PATH");
    if (folders) try_list(own, folders);
    try_own_folder(own, "XDG_DATA_HOME", ".local/share", "liana/plugins");
    try_own_folder(own, "VIRTUAL_ENV", NULL, "lib/python3*/site-packages");
    try_own_folder(own, NULL, ".local/lib", "python3*/site-packages");
    try_folder(own, "/usr/local/lib/python3*/*-packages");
    try_folder(own, "/usr/lib/python3*/*-packages");
    if (strcmp(own->kind, "tpu") == 0) {
        try_folder(own, "/lib");
        try_folder(own, "/usr/lib");
    }
}

static const char *advice(const char *kind)
{
    if (strcmp(kind, "gpu") == 0) return "pip install jax-cuda13-pjrt, with NVIDIA's libraries (jax-cuda13-plugin)";
    if (strcmp(kind, "tpu") == 0) return "pip install libtpu";
    return "pip install --no-deps --target ~/.local/share/liana/plugins xla-cpu-pjrt";
}

liana_status liana__pjrt_find_plugin(const char *kind, liana__arena *arena, const char **path, liana__error *error)
{
    const char *tpu = strcmp(kind, "tpu") == 0 ? getenv("TPU_LIBRARY_PATH") : NULL;
    search own = {.kind = kind, .arena = arena};
    if (tpu && *tpu) {
        own.found = liana__arena_string(arena, tpu);
    } else {
        try_places(&own);
    }
    *path = own.found;
    if (own.found) return LIANA_OK;
    return liana__fail(error, LIANA_NOT_FOUND,
                       "there is no PJRT plugin for a %s on this machine; install one (%s), or name it: "
                       "pjrt:/path/plugin.so, or its folder in LIANA_PLUGIN_PATH",
                       kind, advice(kind));
}

/* ---- hardware ---- */

static bool any_path(const char *pattern)
{
    glob_t found;
    if (glob(pattern, 0, NULL, &found) != 0) return false;
    bool any = found.gl_pathc > 0;
    globfree(&found);
    return any;
}

/* Whether a PCI device of this vendor ("0x1ae0") is there. */
static bool has_vendor(const char *vendor)
{
    glob_t found;
    bool has = false;
    if (glob("/sys/bus/pci/devices/*/vendor", 0, NULL, &found) != 0) return false;
    for (size_t i = 0; i < found.gl_pathc && !has; i++) {
        char text[16] = "";
        FILE *file = fopen(found.gl_pathv[i], "re");
        if (!file) continue;
        if (fgets(text, sizeof text, file)) has = liana__starts_with(text, vendor);
        fclose(file);
    }
    globfree(&found);
    return has;
}

liana_status liana__pjrt_find_hardware(const char *kind, liana__error *error)
{
    if (strcmp(kind, "tpu") == 0 && !has_vendor("0x1ae0") && !any_path("/dev/accel*") &&
        !any_path("/dev/vfio/[0-9]*")) {
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "this machine has no TPU: no PCI device of vendor 0x1ae0, no /dev/accel*");
    }
    if (strcmp(kind, "gpu") == 0 && !any_path("/dev/nvidia[0-9]*") && !any_path("/dev/kfd") && !any_path("/dev/dxg")) {
        return liana__fail(error, LIANA_UNAVAILABLE,
                           "this machine has no GPU that a driver shows: no /dev/nvidia*, no /dev/kfd; install "
                           "the driver if there is a GPU");
    }
    return LIANA_OK;
}
