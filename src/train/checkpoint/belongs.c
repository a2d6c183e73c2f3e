/* Tells a checkpoint from that of another step, and from that of another training. */
#include "train/checkpoint/checkpoint.h"

#include "base/value_read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

liana_status liana__checkpoint_note_seed(liana__training_state *state, uint64_t seed, liana__arena *arena,
                                         liana__error *error)
{
    liana__value *settings = liana__value_map(arena);
    if (settings) liana__value_set(arena, settings, "seed", liana__value_int(arena, (int64_t)seed));
    state->settings = state->matches = settings;
    return arena->failed ? liana__fail_memory(error, "the settings of the training") : LIANA_OK;
}

bool liana__checkpoint_is_name(const char *name)
{
    if (!liana__starts_with(name, LIANA__CHECKPOINT_PREFIX)) return false;
    const char *number = name + strlen(LIANA__CHECKPOINT_PREFIX);
    size_t digits = strspn(number, "0123456789");
    return digits && (!number[digits] || strcmp(number + digits, LIANA__CHECKPOINT_CHANGED) == 0);
}

/* Before names were recorded, the number of updates was all that a name says. */
static bool is_named_by_iteration(const char *name, const liana__value *state)
{
    const int64_t number = strtoll(name + strlen(LIANA__CHECKPOINT_PREFIX), NULL, 10);
    return number == liana__value_int_of(state, "iteration", number); /* a missing one is told elsewhere */
}

liana_status liana__checkpoint_check_name(const char *path, const liana__value *state, liana__error *error)
{
    char number[64];
    const char *name = liana__path_name(path);
    const char *recorded = liana__value_text_of(state, "name", NULL);
    if (!liana__checkpoint_is_name(name)) return LIANA_OK;
    if (recorded ? strcmp(recorded, name) == 0 : is_named_by_iteration(name, state)) return LIANA_OK;
    snprintf(number, sizeof number, LIANA__CHECKPOINT_PREFIX "%010lld",
             (long long)liana__value_int_of(state, "iteration", 0));
    return liana__fail(error, LIANA_DATA_LOSS,
                       "'%s' is the checkpoint '%.60s' under another name; rename it back, or remove it", path,
                       recorded ? recorded : number);
}

/* The first setting that differs: its dotted key, and both values. */
typedef struct difference {
    liana__text key, before, now;
    bool found;
} difference;

static void cut(liana__text *text, size_t length)
{
    if (!text->data) return;
    text->length = length;
    text->data[length] = 0;
}

/* Sections within sections: their keys are those of a version of liana too. */
static bool is_inner_section(const liana__text *key)
{
    static const char *const sections[] = {"data.resize", "data.features"};
    for (size_t i = 0; key->data && i < sizeof sections / sizeof *sections; i++) {
        if (strcmp(key->data, sections[i]) == 0) return true;
    }
    return false;
}

/* `depth` levels of mappings have the keys of a version of liana. Mappings below them are as the user gave them. */
static void compare(const liana__value *before, const liana__value *now, int depth, difference *first)
{
    if (depth == 0 && is_inner_section(&first->key)) depth = 1;
    if (depth > 0 && before->kind == LIANA__VALUE_MAP && now->kind == LIANA__VALUE_MAP) {
        const size_t length = first->key.length;
        for (size_t i = 0; i < now->count && !first->found && !first->key.failed; i++) {
            const liana__value *other = liana__value_get(before, now->keys[i]);
            if (!other) continue;
            liana__text_add(&first->key, "%s%s", length ? "." : "", now->keys[i]);
            compare(other, now->items[i], depth - 1, first);
            if (!first->found) cut(&first->key, length);
        }
        return;
    }
    liana__value_write_json(before, 0, &first->before);
    liana__value_write_json(now, 0, &first->now);
    const bool there = first->before.data && first->now.data;
    first->found = there && strcmp(first->before.data, first->now.data) != 0;
    if (first->found) return;
    cut(&first->before, 0);
    cut(&first->now, 0);
}

/* The place from which two long texts are shown, so that the difference is seen. */
static size_t find_part(const char *a, const char *b)
{
    enum { LONG = 80, SAME = 24 };
    size_t at = 0;
    while (a[at] && a[at] == b[at]) at++;
    return at > SAME && (strlen(a) > LONG || strlen(b) > LONG) ? at - SAME : 0;
}

static liana_status fail_other(const char *path, const difference *first, liana__error *error)
{
    const size_t from = find_part(first->before.data, first->now.data);
    const char *dots = from ? "..." : "";
    return liana__fail(
        error, LIANA_DATA_LOSS,
        "'%s' is a checkpoint of another run, or of this one with other settings: '%s' is %s%.80s there and "
        "%s%.80s here",
        path, first->key.data, dots, first->before.data + from, dots, first->now.data + from);
}

liana_status liana__checkpoint_check_settings(const char *path, const liana__value *state, const liana__value *matches,
                                              liana__error *error)
{
    const liana__value *recorded = liana__value_get(state, "settings");
    enum { SECTIONS = 2 }; /* "train", and its keys */
    difference first = {.found = false};
    if (!recorded || !matches) return LIANA_OK;
    compare(recorded, matches, SECTIONS, &first);
    liana_status status = LIANA_OK;
    if (first.key.failed || first.before.failed || first.now.failed) {
        status = liana__fail_memory(error, "the settings of a checkpoint");
    } else if (first.found) {
        status = fail_other(path, &first, error);
    }
    liana__text_free(&first.key);
    liana__text_free(&first.before);
    liana__text_free(&first.now);
    return status;
}
