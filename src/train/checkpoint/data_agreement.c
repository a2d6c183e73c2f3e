/* Compares the data of the processes of a cluster. */
#include "train/checkpoint/data_state.h"

#include "base/scoped.h"

static void remove_key(liana__value *tree, const char *key)
{
    if (tree->kind == LIANA__VALUE_MAP) liana__value_remove(tree, key);
    for (size_t i = 0; i < tree->count; i++) remove_key(tree->items[i], key);
}

/* Names, sizes and times of the files of a part; or with their contents and no times. */
static liana_status add_data(const liana__source *source, const char *name, bool contents, liana__facts *facts,
                             liana__error *error)
{
    liana__data_state state = {0};
    if (!source) return LIANA_OK;
    LIANA_TRY(liana__data_state_find(source, &facts->arena, &state, error));
    if (contents) liana__data_state_read_contents(&state);
    liana__value *tree = liana__data_state_value(&state, &facts->arena);
    if (!tree || facts->arena.failed) return liana__fail_memory(error, "the state of the data");
    if (contents) remove_key(tree, "time");
    liana__facts_add_tree(facts, name, tree);
    return LIANA_OK;
}

static liana_status add_parts(const liana__data_parts *parts, bool contents, liana__facts *facts, liana__error *error)
{
    for (size_t i = 0; i < parts->count; i++) {
        LIANA_TRY(add_data(parts->sources[i], parts->names[i], contents, facts, error));
    }
    return LIANA_OK;
}

static liana_status compare_data(const liana__data_parts *parts, liana__cluster *cluster, bool contents, bool *same,
                                 liana__error *error)
{
    LIANA__SCOPED(liana__facts) facts = {0};
    LIANA_TRY(liana__cluster_agree_status(cluster, add_parts(parts, contents, &facts, error), error));
    if (contents) LIANA_TRY(liana__facts_agree(&facts, cluster, error));
    if (!contents) LIANA_TRY(liana__facts_compare(&facts, cluster, same, error));
    return LIANA_OK;
}

/* Times alone decide nothing: copies have other times. Where anything differs, contents are read, and the message names
 * the contents that differ. */
liana_status liana__agree_on_data(const liana__data_parts *parts, liana__cluster *cluster, liana__error *error)
{
    bool same = true;
    if (!cluster) return LIANA_OK;
    LIANA_TRY(compare_data(parts, cluster, false, &same, error));
    return same ? LIANA_OK : compare_data(parts, cluster, true, &same, error);
}
