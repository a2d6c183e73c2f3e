/* try_cluster.h - a process of a cluster to which the others say anything, and that lives on when they die anywhere. */
#ifndef LIANA_TESTS_TRY_CLUSTER_H
#define LIANA_TESTS_TRY_CLUSTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The bytes say the place of this process, the collective operations it goes through, the messages of the others, and
 * the deaths. Returns whether all operations ended well; aborts if a promise is broken. */
bool liana__try_cluster(const uint8_t *bytes, size_t size);

#endif
