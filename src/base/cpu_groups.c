/* Groups of processors, from the affinity mask and from Linux's list of NUMA nodes. */
#include "base/cpu_groups.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_NODES = 128 };

const char *const liana__cpu_binding_names[] = {"auto", "none", "cores", "nodes", NULL};

/* "0-3,8": adds the processors of a list to a set. */
static void read_list(const char *text, cpu_set_t *set)
{
    while (*text >= '0' && *text <= '9') {
        char *end;
        long first = strtol(text, &end, 10), last = first;
        if (*end == '-') last = strtol(end + 1, &end, 10);
        for (long i = first; i <= last && i < CPU_SETSIZE; i++) CPU_SET((int)i, set);
        text = *end == ',' ? end + 1 : end;
    }
}

/* The processors of a node that the process may use. */
static bool read_node(int node, const cpu_set_t *allowed, cpu_set_t *set)
{
    char path[64], text[4096];
    snprintf(path, sizeof path, "/sys/devices/system/node/node%d/cpulist", node);
    FILE *file = fopen(path, "re");
    if (!file) return false;
    bool read = fgets(text, sizeof text, file) != NULL;
    fclose(file);
    CPU_ZERO(set);
    if (read) read_list(text, set);
    CPU_AND(set, set, allowed);
    return CPU_COUNT(set) > 0;
}

static size_t find_nodes(const cpu_set_t *allowed, cpu_set_t nodes[MOST_NODES])
{
    size_t count = 0;
    for (int node = 0; node < MOST_NODES; node++) count += read_node(node, allowed, &nodes[count]);
    if (!count) nodes[count++] = *allowed;
    return count;
}

size_t liana__cpu_num_nodes(void)
{
    cpu_set_t allowed, nodes[MOST_NODES];
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? find_nodes(&allowed, nodes) : 1;
}

static void share_cores(const cpu_set_t *allowed, size_t count, cpu_set_t *groups)
{
    size_t total = (size_t)CPU_COUNT(allowed), number = 0;
    for (size_t i = 0; i < count; i++) CPU_ZERO(&groups[i]);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, allowed)) continue;
        CPU_SET(cpu, &groups[number * count / total]);
        number++;
    }
}

liana_status liana__cpu_groups(liana__cpu_binding binding, size_t count, cpu_set_t *groups, bool *bound,
                               liana__error *error)
{
    cpu_set_t allowed, nodes[MOST_NODES];
    *bound = false;
    if (binding == LIANA__BIND_NONE || sched_getaffinity(0, sizeof allowed, &allowed) != 0) return LIANA_OK;
    size_t num_nodes = find_nodes(&allowed, nodes), num_cores = (size_t)CPU_COUNT(&allowed);
    if (binding == LIANA__BIND_AUTO && num_nodes == 1) return LIANA_OK;
    *bound = true;
    if (binding != LIANA__BIND_CORES) {
        for (size_t i = 0; i < count; i++) groups[i] = nodes[i % num_nodes];
        return LIANA_OK;
    }
    if (count > num_cores) {
        *bound = false;
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "found %zu replicas to bind to cores of their own, but this process may use %zu cores",
                           count, num_cores);
    }
    share_cores(&allowed, count, groups);
    return LIANA_OK;
}

void liana__cpu_enter(const cpu_set_t *group, cpu_set_t *before)
{
    if (!group) return;
    if (sched_getaffinity(0, sizeof *before, before) != 0) CPU_ZERO(before);
    (void)sched_setaffinity(0, sizeof *group, group);
}

void liana__cpu_leave(const cpu_set_t *group, const cpu_set_t *before)
{
    if (group && CPU_COUNT(before)) (void)sched_setaffinity(0, sizeof *before, before);
}
