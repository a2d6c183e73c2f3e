/* cpu_groups.h - groups of processors, and threads that stay on one. */
#ifndef LIANA_BASE_CPU_GROUPS_H
#define LIANA_BASE_CPU_GROUPS_H

#include "base/error.h"

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

typedef enum liana__cpu_binding {
    LIANA__BIND_AUTO, /* to NUMA nodes if the process may use several, else not at all */
    LIANA__BIND_NONE,
    LIANA__BIND_CORES, /* each group has processors of its own, neighbours in number */
    LIANA__BIND_NODES, /* each group has the processors of one NUMA node; nodes are given in turn */
} liana__cpu_binding;
extern const char *const liana__cpu_binding_names[]; /* NULL-terminated */

/* The number of NUMA nodes with processors that this process may use, at least 1. */
size_t liana__cpu_num_nodes(void);

/* Shares the processors of the process out to groups[count]. *bound is false if the binding comes to none, and groups
 * are then as they were. Errors: INVALID_CONFIG for CORES if there are fewer processors than groups. */
liana_status liana__cpu_groups(liana__cpu_binding binding, size_t count, cpu_set_t *groups, bool *bound,
                               liana__error *error) LIANA_MUST_USE;

/* Keeps the calling thread, and threads that it starts, on a group; `before` receives where it could run. NULL: it
 * stays as it is. A group that the system refuses is no error: the results do not depend on it. */
void liana__cpu_enter(const cpu_set_t *group, cpu_set_t *before);
void liana__cpu_leave(const cpu_set_t *group, const cpu_set_t *before);

#endif
