/* gzip_file.h - compressed files of the test's folder. */
#ifndef LIANA_TESTS_GZIP_FILE_H
#define LIANA_TESTS_GZIP_FILE_H

#include <stddef.h>

/* Writes a gzip file with zlib's own functions. */
void liana__test_write_gzip(const char *path, const void *data, size_t size);
/* Compresses the file where it is. */
void liana__test_gzip(const char *path);

#endif
