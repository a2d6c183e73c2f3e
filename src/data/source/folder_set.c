/* Remembers which folders were visited. */
#include "data/source/folder_set.h"

#include <stdlib.h>
#include <sys/stat.h>

static liana__folder_key *find_slot(const liana__folder_set *set, uint64_t device, uint64_t inode)
{
    uint64_t hash = (inode ^ device << 32) * 0x9E3779B97F4A7C15u; /* the golden ratio, as Knuth has it */
    size_t at = (size_t)(hash >> 32) & (set->capacity - 1);
    for (;; at = (at + 1) & (set->capacity - 1)) {
        liana__folder_key *slot = &set->slots[at];
        if (!slot->used || (slot->device == device && slot->inode == inode)) return slot;
    }
}

static bool make_room(liana__folder_set *set)
{
    if (2 * (set->count + 1) <= set->capacity) return true;
    liana__folder_set wider = {.count = set->count, .capacity = set->capacity ? 2 * set->capacity : 16};
    wider.slots = calloc(wider.capacity, sizeof *wider.slots);
    if (!wider.slots) return false;
    for (size_t i = 0; i < set->capacity; i++) {
        const liana__folder_key *old = &set->slots[i];
        if (old->used) *find_slot(&wider, old->device, old->inode) = *old;
    }
    free(set->slots);
    *set = wider;
    return true;
}

liana_status liana__folder_set_add(liana__folder_set *set, const char *path, bool *is_new, liana__error *error)
{
    struct stat info;
    *is_new = true;
    if (stat(path, &info) != 0) return LIANA_OK;
    if (!make_room(set)) return liana__fail_memory(error, path);
    liana__folder_key *slot = find_slot(set, (uint64_t)info.st_dev, (uint64_t)info.st_ino);
    *is_new = !slot->used;
    set->count += *is_new;
    *slot = (liana__folder_key){(uint64_t)info.st_dev, (uint64_t)info.st_ino, true};
    return LIANA_OK;
}

void liana__folder_set_free(liana__folder_set *set)
{
    free(set->slots);
    *set = (liana__folder_set){0};
}
