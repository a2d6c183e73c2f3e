/* The plugins that tests use. */
#include "harness/pjrt_plugin.h"

#include "backends/pjrt/discovery.h"
#include "base/file.h"
#include "harness/peers.h"
#include "harness/run_files.h"

#include <dirent.h>
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

bool liana__test_plugin_is_there(void)
{
    liana__arena arena = {0};
    const char *folder = liana__test_peer("plugin"), *path;
    liana__error error;
    if (!folder) return false;
    setenv("LIANA_PLUGIN_PATH", folder, 1);
    assert_ok(liana__pjrt_find_plugin("cpu", &arena, &path, &error), &error);
    setenv("COUNTING_PLUGIN_INNER", path, 1);
    /* Tests count the programs that they compile. */
    setenv("LIANA_PROGRAM_CACHE", "", 0);
    /* Programs of tests run a few times: LLVM's optimisations take longer than they save. */
    setenv("XLA_FLAGS", "--xla_backend_optimization_level=0 --xla_llvm_disable_expensive_passes=true", 0);
    liana__arena_free(&arena);
    return true;
}

const char *liana__test_plugin_device(const char *behind)
{
    static char name[4096];
    snprintf(name, sizeof name, "pjrt:%s%s", LIANA_COUNTING_PLUGIN, behind);
    return name;
}

const char *liana__test_on_plugin(const char *behind)
{
    return liana__test_override("train.device", liana__test_plugin_device(behind));
}

void liana__test_begin_on_plugin(void)
{
    if (!liana__test_plugin_is_there()) skip();
    liana__test_folder();
    counting_plugin_state *state = liana__test_plugin_state();
    state->fails = -1;
    state->memory_limit = 0;
}

counting_plugin_state *liana__test_plugin_state(void)
{
    void *handle = dlopen(LIANA_COUNTING_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    void *address = handle ? dlsym(handle, "counting_plugin") : NULL;
    counting_plugin_function *get;
    memcpy(&get, &address, sizeof get);
    if (!get) fail_msg("%s: %s", LIANA_COUNTING_PLUGIN, dlerror());
    return get();
}

void liana__test_plugin_is_clean(void)
{
    static const char *const kinds[] = {"clients", "programs", "executables", "buffers", "events", "errors"};
    const counting_plugin_state *state = liana__test_plugin_state();
    assert_string_equal(state->wrong, "");
    for (int kind = 0; kind < NUM_COUNTED; kind++) {
        if (state->made[kind] == state->freed[kind]) continue;
        fail_msg("%zu %s were made, %zu freed", state->made[kind], kinds[kind], state->freed[kind]);
    }
}

size_t liana__test_count_dumps(const char *word)
{
    size_t count = 0;
    char folder[512];
    snprintf(folder, sizeof folder, "%s", liana__test_path("dumps"));
    DIR *open = opendir(folder);
    assert_non_null(open);
    for (const struct dirent *entry; (entry = readdir(open));) {
        char path[1024], *bytes;
        size_t size;
        liana__error error;
        if (!strstr(entry->d_name, "whole-update")) continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_ok(liana__file_read(path, SIZE_MAX / 2, &bytes, &size, &error), &error);
        count += strstr(bytes, word) != NULL;
        free(bytes);
    }
    closedir(open);
    return count;
}
