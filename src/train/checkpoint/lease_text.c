/* Reads and writes the text of a lease. */
#include "train/checkpoint/lease_place.h"

#include "base/scoped.h"
#include "base/value_read.h"
#include "formats/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static void read_line(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    text[0] = '\0';
    if (!file) return;
    if (!fgets(text, (int)size, file)) text[0] = '\0';
    text[strcspn(text, "\n")] = '\0';
    fclose(file);
}

void liana__lease_text_begin(liana__lease_text *own)
{
    uint64_t words[2] = {0};
    *own = (liana__lease_text){.version = LIANA__LEASE_VERSION, .process = getpid()};
    if (getrandom(words, sizeof words, 0) != (ssize_t)sizeof words) words[0] = (uint64_t)getpid();
    snprintf(own->id, sizeof own->id, "%016" PRIx64 "%016" PRIx64, words[0], words[1]);
    memcpy(own->job, own->id, sizeof own->job);
    if (gethostname(own->host, sizeof own->host - 1) != 0) snprintf(own->host, sizeof own->host, "?");
    read_line("/proc/sys/kernel/random/boot_id", own->boot, sizeof own->boot);
}

void liana__lease_text_write(const liana__lease_text *own, char bytes[LIANA__LEASE_SIZE + 1])
{
    LIANA__SCOPED(liana__arena) arena = {0};
    LIANA__SCOPED(liana__text) text = {0};
    liana__value *map = liana__value_map(&arena);
    liana__value_set(&arena, map, "lease", liana__value_int(&arena, own->version));
    liana__value_set(&arena, map, "id", liana__value_string(&arena, own->id));
    liana__value_set(&arena, map, "job", liana__value_string(&arena, own->job));
    liana__value_set(&arena, map, "host", liana__value_string(&arena, own->host));
    liana__value_set(&arena, map, "process", liana__value_int(&arena, own->process));
    liana__value_set(&arena, map, "boot", liana__value_string(&arena, own->boot));
    liana__value_set(&arena, map, "lock", liana__value_string(&arena, own->lock));
    liana__value_set(&arena, map, "generation", liana__value_int(&arena, own->generation));
    liana__value_set(&arena, map, "renewals", liana__value_int(&arena, own->renewals));
    liana__value_set(&arena, map, "seconds", liana__value_float(&arena, own->seconds));
    liana__value_set(&arena, map, "renewed", liana__value_string(&arena, own->renewed));
    liana__value_set(&arena, map, "left", liana__value_bool(&arena, own->left));
    liana__value *without = liana__value_list(&arena);
    for (size_t i = 0; i < own->num_without; i++) {
        liana__value_add(&arena, without, liana__value_int(&arena, own->without[i]));
    }
    liana__value_set(&arena, map, "without", without);
    if (map) liana__value_write_json(map, 0, &text);
    size_t length = text.failed || !text.data ? 0 : text.length;
    if (length > LIANA__LEASE_SIZE) length = 0;
    memset(bytes, ' ', LIANA__LEASE_SIZE);
    if (length) memcpy(bytes, text.data, length);
    bytes[LIANA__LEASE_SIZE] = '\0';
}

static void take_text(const liana__value *map, const char *key, char *text, size_t size)
{
    snprintf(text, size, "%s", liana__value_text_of(map, key, ""));
}

static int64_t take_int(const liana__value *map, const char *key)
{
    const int64_t item = liana__value_int_of(map, key, 0);
    return item >= 0 ? item : 0;
}

static void take_without(const liana__value *map, liana__lease_text *read)
{
    const liana__value *list = liana__value_list_of(map, "without");
    for (size_t i = 0; list && i < list->count; i++) {
        if (read->num_without == LIANA__LEASE_WITHOUT || list->items[i]->kind != LIANA__VALUE_INT) return;
        read->without[read->num_without++] = list->items[i]->integer;
    }
}

void liana__lease_text_read(const char *bytes, size_t size, liana__lease_text *read)
{
    LIANA__SCOPED(liana__arena) arena = {0};
    liana__value *map = NULL;
    *read = (liana__lease_text){0};
    if (liana__json_parse(bytes, size, "lease", &arena, &map, NULL) == LIANA_OK) read->version = take_int(map, "lease");
    if (read->version) {
        take_text(map, "id", read->id, sizeof read->id);
        take_text(map, "job", read->job, sizeof read->job);
        take_text(map, "host", read->host, sizeof read->host);
        take_text(map, "boot", read->boot, sizeof read->boot);
        take_text(map, "lock", read->lock, sizeof read->lock);
        take_text(map, "renewed", read->renewed, sizeof read->renewed);
        read->process = take_int(map, "process");
        read->generation = take_int(map, "generation");
        read->renewals = take_int(map, "renewals");
        const double seconds = liana__value_number_of(map, "seconds", 0);
        read->seconds = isfinite(seconds) && seconds > 0 ? seconds : 0;
        read->left = liana__value_true_of(map, "left");
        take_without(map, read);
    }
}

const char *liana__lease_text_holder(const liana__lease_text *own, char text[400])
{
    if (!own->version || !*own->host) {
        snprintf(text, 400, "a process that cannot be named (its lease is damaged)");
    } else {
        snprintf(text, 400, "process %" PRId64 " on %s%s", own->process, own->host,
                 own->version == LIANA__LEASE_VERSION ? "" : " with another version of liana");
    }
    return text;
}
