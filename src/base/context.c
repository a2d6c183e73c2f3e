/* Creates contexts, and gives their settings and messages. */
#include "base/context.h"

#include "base/context_plugins.h"
#include "base/format.h"
#include "base/text.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const topic_names[LIANA__NUM_TOPICS] = {"graph", "dispatch", "exec", "memory", "data", "train"};

enum { MAX_THREADS = 1024 };

static liana_status read_thread_count(int asked, int *num_threads, liana__error *error)
{
    *num_threads = asked > 0 ? asked : liana__cpu_count();
    const char *text = getenv("LIANA_THREADS");
    if (asked > 0 || !text || !*text) return LIANA_OK;
    char *end;
    long count = strtol(text, &end, 10);
    if (*end || count < 1 || count > MAX_THREADS) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "LIANA_THREADS is '%s', expected a whole number from 1 to %d",
                           text, MAX_THREADS);
    }
    *num_threads = (int)count;
    return LIANA_OK;
}

static liana_status read_topics(const char *text, unsigned *topics, liana__error *error)
{
    *topics = 0;
    while (text && *text) {
        size_t length = strcspn(text, ",");
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)length, text);
        int found = -1;
        for (int i = 0; i < LIANA__NUM_TOPICS; i++) {
            if (strcmp(word, topic_names[i]) == 0) found = i;
        }
        if (found < 0 && *word) {
            const char *nearest = liana__nearest(word, topic_names, LIANA__NUM_TOPICS);
            return liana__fail(error, LIANA_INVALID_CONFIG,
                               "LIANA_LOG names '%s', expected any of graph, dispatch, exec, memory, data, train%s",
                               word, liana__hint(nearest).text);
        }
        if (found >= 0) *topics |= 1u << found;
        text += length + (text[length] == ',');
    }
    return LIANA_OK;
}

liana_status liana__context_start(liana_context *context, int threads)
{
    liana__error *error = &context->error;
    int num_threads;
    LIANA_TRY(read_thread_count(threads, &num_threads, error));
    LIANA_TRY(read_topics(getenv("LIANA_LOG"), &context->log_topics, error));
    char reason[160];
    LIANA_TRY(liana__cpu_detect(getenv("LIANA_MAX_ISA"), &context->isa, reason, sizeof reason, error));
    liana__log(context, LIANA__LOG_DISPATCH, "instruction set %s%s%s", liana__isa_name(context->isa),
               *reason ? ": " : "", reason);
    const char *dump = getenv("LIANA_DUMP");
    context->dump_folder = dump && *dump ? dump : NULL;
    context->skipped_passes = getenv("LIANA_SKIP_PASSES");
    context->slice_bytes = LIANA__SLICE_BYTES;
    const char *validate = getenv("LIANA_VALIDATE");
    context->validate = validate && strcmp(validate, "1") == 0;
    return liana__pool_create(num_threads, &context->pool, error);
}

liana_status liana__context_make(const liana_context_options *options, liana_context **out)
{
    *out = NULL;
    liana_context *context = calloc(1, sizeof *context);
    if (!context) return LIANA_OUT_OF_MEMORY;
    if (options) {
        context->log = options->log;
        context->log_user = options->log_user;
        context->sticky = options->sticky_errors;
        context->allow_plugins = options->allow_plugins;
    }
    pthread_mutex_init(&context->log_mutex, NULL);
    *out = context;
    return LIANA_OK;
}

liana_status liana_context_create(const liana_context_options *options, liana_context **out)
{
    LIANA__REQUIRE(NULL, out);
    LIANA_TRY(liana__context_make(options, out));
    return liana__context_start(*out, options ? options->num_threads : 0);
}

liana_context *liana__context_branch(liana_context *context)
{
    liana_context *branch = context ? malloc(sizeof *branch) : NULL;
    if (!branch) return NULL;
    *branch = *context;
    branch->trunk = context->trunk ? context->trunk : context;
    branch->error = branch->first = (liana__error){0};
    branch->sticky = false;
    branch->depth = 0;
    branch->parts = (liana__arena){0};
    branch->inherited = context->registered;
    return branch;
}

/* Calls for the end of a context stand among the registered things. */
static const char AT_END[] = "at end";

typedef struct end {
    void (*call)(void *user);
    void *user;
} end;

static void no_function(void)
{
}

static void call_ends(const liana_context *context)
{
    for (const liana__registered *own = context->registered; own != context->inherited; own = own->next) {
        if (own->kind != AT_END) continue;
        const end *last = own->user;
        last->call(last->user);
    }
}

static void free_registered(liana_context *context)
{
    for (liana__registered *own = context->registered, *next; own != context->inherited; own = next) {
        next = own->next;
        free(own->name);
        free(own);
    }
}

void liana__context_end_branch(liana_context *branch)
{
    if (!branch) return;
    call_ends(branch);
    free_registered(branch);
    liana__arena_free(&branch->parts);
    free(branch);
}

liana_status liana__context_at_end(liana_context *context, void (*call)(void *user), void *user)
{
    end *made = liana__arena_allocate(&context->parts, sizeof *made);
    if (!made) return liana__fail_memory(&context->error, "what a context ends with");
    *made = (end){call, user};
    return liana__context_register(context, AT_END, AT_END, no_function, made);
}

void liana_context_destroy(liana_context *context)
{
    if (!context) return;
    call_ends(context);
    liana__pool_destroy(context->pool);
    pthread_mutex_destroy(&context->log_mutex);
    free_registered(context);
    liana__arena_free(&context->parts);
    for (liana__loaded_plugin *plugin = context->plugins, *after; plugin; plugin = after) {
        after = plugin->next;
        dlclose(plugin->handle);
        free(plugin->path);
        free(plugin);
    }
    free(context);
}

liana_status liana__context_register(liana_context *context, const char *kind, const char *name, void (*function)(void),
                                     void *user)
{
    liana__registered *made = calloc(1, sizeof *made);
    char *copy = strdup(name);
    if (!made || !copy) {
        free(made);
        free(copy);
        return liana__fail_memory(&context->error, name);
    }
    *made = (liana__registered){context->registered, kind, copy, function, user, context->entering};
    context->registered = made;
    return LIANA_OK;
}

const liana__registered *liana__context_registered(const liana_context *context, const char *kind, const char *name)
{
    for (const liana__registered *own = context->registered; own; own = own->next) {
        if (strcmp(own->kind, kind) == 0 && strcmp(own->name, name) == 0) return own;
    }
    return NULL;
}

/* ---- errors ---- */

liana__error *liana__context_error(liana_context *context)
{
    return context ? &context->error : NULL;
}

/* The error that a program is told of. */
static const liana__error *told_error(const liana_context *context)
{
    return context->first.status != LIANA_OK ? &context->first : &context->error;
}

bool liana__context_stopped(liana_context *context)
{
    if (!context->sticky || context->depth > 0) return false;
    if (context->first.status == LIANA_OK) context->first = context->error;
    return context->first.status != LIANA_OK;
}

liana_status liana__context_begin(liana_context *context)
{
    if (liana__context_stopped(context)) return context->first.status;
    context->depth++;
    return LIANA_OK;
}

liana_status liana__context_end(liana_context *context, liana_status status)
{
    if (--context->depth > 0 || !context->sticky) return status;
    /* An attempt that failed on the way to a success is no error. */
    if (status == LIANA_OK) context->error = (liana__error){0};
    if (status == LIANA_OK) return status;
    if (context->error.status == LIANA_OK) liana__fail(&context->error, status, "%s", liana_status_text(status));
    if (context->first.status == LIANA_OK) context->first = context->error;
    return status;
}

liana_status liana_context_status(const liana_context *context)
{
    return context ? told_error(context)->status : LIANA_INVALID_ARGUMENT;
}

void liana_context_clear(liana_context *context)
{
    if (context) context->error = context->first = (liana__error){0};
}

const char *liana_context_message(const liana_context *context)
{
    return context ? told_error(context)->message : "";
}

int liana_context_num_threads(const liana_context *context)
{
    if (!context) return 0;
    return context->pool ? liana__pool_num_threads(context->pool) : 1;
}

bool liana__log_wants(const liana_context *context, liana__topic topic)
{
    return (context->log_topics >> topic & 1) != 0;
}

void liana__log(liana_context *context, liana__topic topic, const char *format, ...)
{
    if (!liana__log_wants(context, topic)) return;
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    liana__format_list(line, sizeof line, format, arguments);
    va_end(arguments);
    pthread_mutex_t *mutex = context->trunk ? &context->trunk->log_mutex : &context->log_mutex;
    pthread_mutex_lock(mutex);
    if (context->log) {
        context->log(context->log_user, topic_names[topic], line);
    } else {
        fprintf(stderr, "%s: %s\n", topic_names[topic], line);
    }
    pthread_mutex_unlock(mutex);
}
