/* Reads files of tables, and says in which other form a table is written. */
#include "formats/csv_file.h"

#include "base/file.h"
#include "formats/gzip.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The length of a path without ".gz". */
static size_t plain_length(const char *path)
{
    size_t length = strlen(path);
    return length > 3 && strcasecmp(path + length - 3, ".gz") == 0 ? length - 3 : length;
}

static bool is_named(const char *path, const char *suffix)
{
    size_t length = plain_length(path);
    return length > 4 && strncasecmp(path + length - 4, suffix, 4) == 0;
}

bool liana__csv_file_is_named(const char *path)
{
    return is_named(path, ".csv") || is_named(path, ".tsv");
}

liana_status liana__csv_file_load(const char *path, size_t limit, char **text, size_t *size, liana__error *error)
{
    LIANA_TRY(liana__file_read(path, limit, text, size, error));
    if (!liana__is_gzip((const uint8_t *)*text, *size)) return LIANA_OK;
    uint8_t *inflated;
    size_t inflated_size;
    liana_status status = liana__inflate(path, (const uint8_t *)*text, *size, limit, &inflated, &inflated_size, error);
    free(*text);
    *text = (char *)inflated;
    *size = inflated_size;
    return status;
}

/* How often a character stands between the cells of a line. */
static size_t count_in_line(const char *at, const char *end, char wanted)
{
    size_t count = 0;
    bool quoted = false;
    for (; at < end && (quoted || (*at != '\n' && *at != '\r')); at++) {
        quoted = quoted != (*at == '"');
        count += !quoted && *at == wanted;
    }
    return count;
}

/* The first two lines have no delimiter, but another character that may be one, equally often. */
static liana_status check_delimiter(const char *path, const char *text, size_t size, char delimiter,
                                    liana__error *error)
{
    static const char others[] = ";\t,|";
    const char *end = text + size, *second = memchr(text, '\n', size);
    second = second ? second + 1 : end;
    if (count_in_line(text, end, delimiter)) return LIANA_OK;
    for (const char *other = others; *other; other++) {
        size_t count = count_in_line(text, end, *other);
        if (!count || (second < end && count_in_line(second, end, *other) != count)) continue;
        const char name[] = {'\'', *other, '\'', 0};
        return liana__fail(
            error, LIANA_INVALID_DATA,
            "'%s', line 1: found no %s, but %zu times %s; expected %s between the cells: write the table "
            "with commas as NAME.csv, or with tabs as NAME.tsv, or set field_delim",
            path, delimiter == ',' ? "comma" : "tab", count, *other == '\t' ? "a tab" : name,
            delimiter == ',' ? "commas" : "tabs");
    }
    return LIANA_OK;
}

/* ASCII in UTF-16 has a 0 in every second byte. */
static bool is_utf16(const char *text, size_t size)
{
    if (size < 2) return false;
    if (memcmp(text, "\xFF\xFE", 2) == 0 || memcmp(text, "\xFE\xFF", 2) == 0) return true;
    return size >= 4 && ((!text[0] && text[1] && !text[2] && text[3]) || (text[0] && !text[1] && text[2] && !text[3]));
}

liana_status liana__csv_file_parse(const char *path, const char *text, size_t size, char delimiter, liana__csv *csv,
                                   liana__error *error)
{
    const bool given = delimiter;
    if (!given) delimiter = is_named(path, ".tsv") ? '\t' : ',';
    if (is_utf16(text, size)) {
        return liana__fail(error, LIANA_INVALID_DATA,
                           "'%s' is UTF-16 text, expected UTF-8; write it again as UTF-8 (iconv -f UTF-16 -t UTF-8)",
                           path);
    }
    if (!given) LIANA_TRY(check_delimiter(path, text, size, delimiter, error));
    return liana__csv_parse(path, text, size, delimiter, csv, error);
}
