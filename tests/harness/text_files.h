/* text_files.h - text files of the test's folder. */
#ifndef LIANA_TESTS_TEXT_FILES_H
#define LIANA_TESTS_TEXT_FILES_H

#include "harness/harness.h"

#include <jansson.h>

/* The contents of a file in the test's folder, malloc'ed, with a 0 behind them; the test fails if it cannot be read. */
char *liana__test_read_text(const char *name);
/* JSON from text; the test fails, and prints the text, if it is not JSON. */
json_t *liana__test_parse_json(const char *text);

#endif
