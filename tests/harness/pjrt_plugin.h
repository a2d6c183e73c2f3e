/* pjrt_plugin.h - the PJRT plugins that tests use: the real one for CPUs, behind one that counts. */
#ifndef LIANA_TESTS_PJRT_PLUGIN_H
#define LIANA_TESTS_PJRT_PLUGIN_H

#include "modules/counting_plugin.h"

#include <stdbool.h>
#include <stddef.h>

/* Whether the real plugin is there (harness/peers.h). If not, prints that the test is skipped. If so, it is the one
 * that liana finds, and the counting plugin hands calls to it. */
bool liana__test_plugin_is_there(void);
/* The name of a device of the counting plugin, such as "pjrt:PATH:1?cpu_device_count=2"; `behind` is the text behind
 * the path. In a static buffer that the next call overwrites. */
const char *liana__test_plugin_device(const char *behind);
/* "train.device=" and such a name. */
const char *liana__test_on_plugin(const char *behind);
/* Begins a test on the counting plugin, which fails no call and limits no memory, in the test's folder. Skips the test
 * where the real plugin is not installed. */
void liana__test_begin_on_plugin(void);
/* The counting plugin's counts in this process. */
counting_plugin_state *liana__test_plugin_state(void);
/* Fails the test unless everything that was made is freed, and nothing was used wrongly. */
void liana__test_plugin_is_clean(void);
/* How many programs of whole updates below the folder "dumps" of the test's folder, where LIANA_DUMP has written them,
 * hold a word. */
size_t liana__test_count_dumps(const char *word);

#endif
