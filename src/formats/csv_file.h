/* csv_file.h - files of tables: NAME.csv with commas, NAME.tsv with tabs, plain or gzipped (NAME.csv.gz). */
#ifndef LIANA_FORMATS_CSV_FILE_H
#define LIANA_FORMATS_CSV_FILE_H

#include "formats/csv.h"

/* Whether a path is named so, in any case. */
bool liana__csv_file_is_named(const char *path);

/* Reads the file, and inflates it if it is gzipped, into memory that the caller frees. `limit` is the largest number of
 * bytes. Errors: those of liana__file_read and liana__inflate. */
liana_status liana__csv_file_load(const char *path, size_t limit, char **text, size_t *size, liana__error *error)
    LIANA_MUST_USE;

/* Parses the text of a file as liana__csv_parse does. `delimiter` 0: the name of the file tells it. Errors: also
 * INVALID_DATA for a table in another form: UTF-16, or something else between its cells. */
liana_status liana__csv_file_parse(const char *path, const char *text, size_t size, char delimiter, liana__csv *csv,
                                   liana__error *error) LIANA_MUST_USE;

#endif
