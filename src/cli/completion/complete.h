/* complete.h - the words that may stand at one place of a command line, for the shells' completion. All of them come
 * from the tables of subcommands, options, operands, lists and keys, and from the files that are there. */
#ifndef LIANA_CLI_COMPLETE_H
#define LIANA_CLI_COMPLETE_H

#include "base/memory.h"

#include <stdio.h>

/* Prints what may stand for the last of `words`, which are those after "liana". The first line says which files are
 * offered as well; its fields are separated by tabs:
 *
 *     none | files | folders, the end of the files' names ("": any), the part of the word before the path ("--out=")
 *
 * Each further line is one word, a tab, and its description. A word that ends in '=', '/' or '.' is not complete: no
 * blank follows it. */
void liana__complete(const char *const *words, size_t count, liana__arena *arena, FILE *out);

#endif
