/* Feeds any text to the search for a process's place, and to the readers of devices' names and leases. */
#include "harness/try/try_place.h"

#include "backends/pjrt/device_name.h"
#include "backends/remote/names.h"
#include "base/context_plugins.h"
#include "distribute/transport/cluster_read.h"
#include "train/checkpoint/lease_place.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void demand(bool condition, const char *what, const char *message)
{
    if (condition) return;
    fprintf(stderr, "broken promise: %s\n%s\n", what, message);
    abort();
}

static void demand_refusal(liana_status status, const liana__error *error)
{
    demand((status == LIANA_INVALID_CONFIG || status == LIANA_OUT_OF_MEMORY) && *error->message,
           "an error is of the configuration, and has a message", error->message);
}

/* With a 0 behind it; text behind a 0 is left out. */
static char *copy_text(const uint8_t *bytes, size_t size)
{
    char *text = malloc(size + 1);
    if (!text) abort();
    if (size) memcpy(text, bytes, size);
    text[size] = '\0';
    return text;
}

/* ---- environments ---- */

enum { MOST_LINES = 64, MOST_ADDRESSES = 16 };

typedef struct environment {
    char *lines[MOST_LINES];
    size_t count;
    const char *addresses[2][MOST_ADDRESSES];
} environment;

static const char *value_of(const environment *own, const char *name)
{
    const size_t length = strlen(name);
    for (size_t i = 0; i < own->count; i++) {
        if (strncmp(own->lines[i], name, length) == 0 && own->lines[i][length] == '=') {
            return own->lines[i] + length + 1;
        }
    }
    return NULL;
}

static const char *get(void *user, const char *name)
{
    return value_of(user, name);
}

/* Splits a text at its commas. */
static liana__strings read_list(environment *own, int number, const char *name)
{
    liana__strings list = {.items = own->addresses[number]};
    for (char *item = (char *)(uintptr_t)value_of(own, name), *next; item && list.count < MOST_ADDRESSES; item = next) {
        next = strchr(item, ',');
        if (next) *next++ = '\0';
        own->addresses[number][list.count++] = item;
    }
    return list;
}

static void read_options(environment *own, liana__cluster_options *options)
{
    const char *servers = value_of(own, "num_servers");
    options->workers = read_list(own, 0, "workers");
    options->servers = read_list(own, 1, "servers");
    options->task = value_of(own, "task");
    options->transport = value_of(own, "transport");
    if (servers) options->num_servers = strtol(servers, NULL, 10) & 0xff;
}

static void demand_place(const liana__cluster_place *place)
{
    const size_t size = place->num_workers + place->num_servers;
    const bool is_member = place->role != LIANA__ROLE_EVALUATOR;
    if (!place->transport) return;
    demand(is_member && place->rank < size, "a member has a rank", place->source);
    demand((place->role == LIANA__ROLE_SERVER) == (place->rank >= place->num_workers), "servers come last",
           place->source);
    demand((place->role == LIANA__ROLE_CHIEF) == (place->rank == 0), "the chief is the first", place->source);
    demand(size > 1 && place->num_workers > 0, "there are others, and a worker", place->source);
    for (size_t i = 0; place->addresses && i < size; i++) {
        demand(strchr(place->addresses[i], ':') != NULL, "an address has a colon", place->source);
    }
    demand(!place->master || strchr(place->master, ':'), "so has the master's", place->source);
}

static void try_servers(const char *tf_config)
{
    static char variable[1 << 16];
    liana__arena arena = {0};
    liana__served_cluster cluster;
    liana__error error = {0};
    static liana_context *context;
    if (!context && liana__context_make(NULL, &context) != LIANA_OK) abort();
    if (strlen(tf_config) + sizeof "TF_CONFIG=" > sizeof variable) return;
    snprintf(variable, sizeof variable, "TF_CONFIG=%s", tf_config);
    putenv(variable);
    const liana_status status = liana__served_find_cluster(context, &arena, &cluster, &error);
    unsetenv("TF_CONFIG");
    if (status != LIANA_OK) demand_refusal(status, &error);
    for (size_t i = 0; status == LIANA_OK && i < cluster.num_jobs; i++) {
        const liana__served_name name = {.job = cluster.jobs[i].name, .device = "cpu:0"};
        const char *const *addresses;
        size_t count;
        const liana_status found = liana__served_resolve(&name, &cluster, &addresses, &count, &error);
        if (found != LIANA_OK) demand_refusal(found, &error);
        for (size_t k = 0; found == LIANA_OK && k < count; k++) {
            demand(strchr(addresses[k], ':') != NULL, "an address has a colon", name.job);
        }
    }
    liana__arena_free(&arena);
}

bool liana__try_place(const uint8_t *bytes, size_t size)
{
    environment own = {0};
    liana__arena arena = {0};
    liana__cluster_options options;
    liana__cluster_place place;
    liana__error error = {0};
    char *text = copy_text(bytes, size);
    for (char *line = text, *next; line && own.count < MOST_LINES; line = next) {
        next = strchr(line, '\n');
        if (next) *next++ = '\0';
        own.lines[own.count++] = line;
    }
    if (liana__fields_default(&liana__cluster_fields, &arena, &options, &error) != LIANA_OK) abort();
    read_options(&own, &options);
    const liana_status status = liana__cluster_place_read(&options, get, &own, &arena, &place, &error);
    if (status == LIANA_OK) {
        demand_place(&place);
    } else {
        demand_refusal(status, &error);
    }
    if (value_of(&own, "TF_CONFIG")) try_servers(value_of(&own, "TF_CONFIG"));
    liana__arena_free(&arena);
    free(text);
    return status == LIANA_OK;
}

/* ---- devices ---- */

static bool try_served_name(const char *text, liana__arena *arena)
{
    liana__served_name name;
    liana__error error = {0};
    const char *local = NULL;
    liana_status status = liana__served_name_read(text, arena, &name, &error);
    if (status == LIANA_OK) {
        demand(name.device && *name.device, "there is a device", text);
        demand(name.job || !name.has_task, "a task belongs to a job", text);
        if (name.job || name.address) {
            demand(liana__served_name_print(&name, name.task, arena) != NULL, "it can be printed", text);
        }
        status = liana__served_local_name(name.device, &local, &error);
        if (status == LIANA_OK) demand(local != NULL, "it is known here", text);
    }
    if (status != LIANA_OK) demand_refusal(status, &error);
    return status == LIANA_OK;
}

static bool try_own_name(const char *text, liana__arena *arena)
{
    liana__pjrt_device_name name;
    liana__error error = {0};
    const liana_status status = liana__pjrt_device_name_read(text, arena, &name, &error);
    if (status != LIANA_OK) {
        demand_refusal(status, &error);
        return false;
    }
    demand(!name.kind != !name.path && name.shown && name.option_text, "it has a kind or a path", text);
    for (size_t i = 0; i < name.num_options; i++) {
        const liana__pjrt_named_value *option = &name.options[i];
        demand(option->name_size == strlen(option->name) && option->name_size > 0, "an option has a name", text);
        int64_t sum = 0;
        for (size_t k = 0; option->kind == LIANA__PJRT_INT64_LIST && k < option->value_size; k++) {
            sum ^= option->value.int64_list[k];
        }
        (void)*(volatile int64_t *)&sum;
    }
    return true;
}

bool liana__try_device_name(const uint8_t *bytes, size_t size)
{
    liana__arena arena = {0};
    char *text = copy_text(bytes, size);
    const bool is_own = try_own_name(text, &arena);
    const bool is_served = liana__served_knows(text) && try_served_name(text, &arena);
    liana__arena_free(&arena);
    free(text);
    return is_own || is_served;
}

/* ---- leases ---- */

bool liana__try_lease(const uint8_t *bytes, size_t size)
{
    liana__lease_text found, again;
    char written[LIANA__LEASE_SIZE + 1], holder[400];
    liana__lease_text_read((const char *)bytes, size, &found);
    demand(*liana__lease_text_holder(&found, holder) != '\0', "a holder is named", "");
    demand(found.seconds >= 0 && found.generation >= 0 && found.renewals >= 0, "numbers are not negative", holder);
    if (found.version == 0) {
        const liana__lease_text nothing = {0};
        demand(memcmp(&found, &nothing, sizeof found) == 0, "of a damaged one nothing is set", holder);
        return false;
    }
    liana__lease_text_write(&found, written);
    demand(strlen(written) == LIANA__LEASE_SIZE, "each has one size", holder);
    liana__lease_text_read(written, LIANA__LEASE_SIZE, &again);
    demand(again.version == 0 || memcmp(&again, &found, sizeof again) == 0, "it is read again as it was", holder);
    return true;
}
