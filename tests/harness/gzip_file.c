/* Compresses files with zlib. */
#include "harness/gzip_file.h"

#include "base/file.h"
#include "harness/harness.h"

#include <stdlib.h>
#include <zlib.h>

void liana__test_write_gzip(const char *path, const void *data, size_t size)
{
    gzFile file = gzopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(gzwrite(file, data, (unsigned)size), size);
    assert_int_equal(gzclose(file), Z_OK);
}

void liana__test_gzip(const char *path)
{
    liana__error error = {0};
    char *data;
    size_t size;
    assert_ok(liana__file_read(path, 1 << 26, &data, &size, &error), &error);
    liana__test_write_gzip(path, data, size);
    free(data);
}
