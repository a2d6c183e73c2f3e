/* try_place.h - feeds any text to the search for a process's place in a cluster, and to the readers of devices'
 * names. */
#ifndef LIANA_TESTS_TRY_PLACE_H
#define LIANA_TESTS_TRY_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each returns whether the text was accepted, and aborts if a promise is broken. */

/* Lines NAME=VALUE: an environment, with TF_CONFIG and the variables of launchers. In small letters they are options of
 * the section `cluster`: workers and servers with commas between, task, transport, num_servers. */
bool liana__try_place(const uint8_t *bytes, size_t size);
/* The name of a device, of this process or of a server. */
bool liana__try_device_name(const uint8_t *bytes, size_t size);
/* The text of a lease. */
bool liana__try_lease(const uint8_t *bytes, size_t size);

#endif
