/* Loads plugins: everything that a plugin says of itself is checked before a function of it is called. */
#include "base/plugin.h"

#include "base/context_plugins.h"

#include <dlfcn.h>
#include <liana/parts.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const liana__loaded_plugin *find_loaded(const liana_context *context, const char *real)
{
    for (const liana__loaded_plugin *plugin = context->plugins; plugin; plugin = plugin->next) {
        if (strcmp(plugin->path, real) == 0) return plugin;
    }
    return NULL;
}

/* Whether the plugin is loaded already: that file, under whatever name. */
static bool is_loaded(const liana_context *context, const char *path)
{
    char *real = context ? realpath(path, NULL) : NULL;
    bool found = real && find_loaded(context, real);
    free(real);
    return found;
}

liana_status liana__plugin_gate(const liana_context *context, const liana__place *place, const char *key,
                                const char *path, liana__error *error)
{
    const bool own = place->file && strcmp(place->file, LIANA__COMMAND_LINE) == 0 && !place->line;
    if (own || context->allow_plugins || is_loaded(context, path)) return LIANA_OK;
    return liana__fail_at(error, place, key,
                          "the plugin '%.200s' is not loaded: its code would run in this program, and a file names it. "
                          "Give --allow-plugins if you trust it (in C: liana_context_options.allow_plugins), or name "
                          "it yourself on the command line",
                          path);
}

/* ---- checks ---- */

/* dlopen's words begin with the path, which the message has already. */
static const char *reason_of_loader(const char *path)
{
    const char *reason = dlerror();
    size_t length = strlen(path);
    if (!reason) return "it cannot be loaded";
    return strncmp(reason, path, length) == 0 && strncmp(reason + length, ": ", 2) == 0 ? reason + length + 2 : reason;
}

/* Where another copy of liana lies, which the plugin would call. */
static liana_status check_copy(const liana_plugin *entry, const char *path, liana__error *error)
{
    if (entry->library == liana_version) return LIANA_OK;
    Dl_info theirs = {0}, ours = {0};
    void *their_function, *our_function;
    const char *(*version)(void) = liana_version;
    memcpy(&their_function, &entry->library, sizeof their_function);
    memcpy(&our_function, &version, sizeof our_function);
    dladdr(their_function, &theirs);
    dladdr(our_function, &ours);
    return liana__fail(error, LIANA_INVALID_ARGUMENT,
                       "'%s' is linked with another copy of liana, '%s', than the program that loads it, which has "
                       "'%s'; link both with the same libliana.so",
                       path, theirs.dli_fname ? theirs.dli_fname : "?", ours.dli_fname ? ours.dli_fname : "?");
}

static liana_status check_entry(const liana_plugin *entry, const char *path, liana__error *error)
{
    if (!entry) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' is no plugin of liana: it has no symbol liana_plugin_entry; define it with "
                           "LIANA_PLUGIN(name, function)",
                           path);
    }
    /* The first two members are those of every version. */
    if (entry->version != LIANA_PARTS_VERSION) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s' was built for version %d of liana's parts, this liana (%s) has version %d; build it "
                           "again with this liana's headers",
                           path, entry->version, liana_version(), LIANA_PARTS_VERSION);
    }
    if (entry->size != sizeof *entry) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT,
                           "'%s': the size of its liana_plugin_entry is %zu, expected %zu; build it again with this "
                           "liana's headers",
                           path, entry->size, sizeof *entry);
    }
    if (!entry->name || !entry->enter || !entry->library) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s': its liana_plugin_entry has no %s", path,
                           !entry->name    ? "name"
                           : !entry->enter ? "function 'enter'"
                                           : "function 'library'");
    }
    return check_copy(entry, path, error);
}

/* ---- loading ---- */

static void forget_newer(liana_context *context, const liana__registered *kept)
{
    while (context->registered != kept) {
        liana__registered *own = context->registered;
        context->registered = own->next;
        free(own->name);
        free(own);
    }
}

/* Runs the entry. Where it fails, nothing stays registered. */
static liana_status enter(liana_context *context, const liana_plugin *entry, const char *path, liana__error *error)
{
    const liana__registered *before = context->registered;
    const liana__error error_before = context->error;
    context->error = (liana__error){0};
    const char *outer = context->entering;
    context->entering = path;
    liana_status status = entry->enter(context);
    context->entering = outer;
    const liana__error found = context->error;
    context->error = error_before;
    if (status == LIANA_OK) return LIANA_OK;
    forget_newer(context, before);
    const bool told = found.status == status && found.message[0];
    return liana__fail(error, status, "the plugin '%s' ('%s'): %s", entry->name, path,
                       told ? found.message : liana_status_text(status));
}

static liana_status open_plugin(liana_context *context, const char *shown, liana__loaded_plugin *plugin,
                                liana__error *error)
{
    /* All symbols now: a missing one is a message here, and would end the program later. */
    plugin->handle = dlopen(plugin->path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin->handle) {
        return liana__fail(error, LIANA_INVALID_ARGUMENT, "'%s' cannot be loaded as a plugin: %s", shown,
                           reason_of_loader(plugin->path));
    }
    const liana_plugin *entry = dlsym(plugin->handle, "liana_plugin_entry");
    LIANA_TRY(check_entry(entry, shown, error));
    return enter(context, entry, plugin->path, error);
}

liana_status liana__plugin_load(liana_context *context, const char *path, liana__error *error)
{
    char *real = realpath(path, NULL);
    if (!real) {
        return liana__fail(error, LIANA_NOT_FOUND, "there is no plugin '%s'; expected a shared library (.so)", path);
    }
    if (find_loaded(context, real)) {
        free(real);
        return LIANA_OK;
    }
    liana__loaded_plugin *plugin = calloc(1, sizeof *plugin);
    if (!plugin) {
        free(real);
        return liana__fail_memory(error, path);
    }
    plugin->path = real;
    liana_status status = open_plugin(context, path, plugin, error);
    if (status != LIANA_OK) {
        if (plugin->handle) dlclose(plugin->handle);
        free(plugin->path);
        free(plugin);
        return status;
    }
    plugin->next = context->plugins;
    context->plugins = plugin;
    return LIANA_OK;
}

liana_status liana_load_plugin(liana_context *context, const char *path)
{
    LIANA__REQUIRE(NULL, context);
    LIANA__REQUIRE(&context->error, path);
    LIANA__CONTEXT_CALL(context, liana__plugin_load(context, path, &context->error));
}
