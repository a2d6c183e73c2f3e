/* The addresses of TensorFlow Serving's REST interface. */
#include "serve/predict/api_path.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Takes a word up to one of `ends`. False: it is empty, or too long. */
static bool take_word(const char **at, const char *ends, char *to, size_t size)
{
    const size_t length = strcspn(*at, ends);
    if (!length || length >= size) return false;
    memcpy(to, *at, length);
    to[length] = 0;
    *at += length;
    return true;
}

static bool take_prefix(const char **at, const char *prefix)
{
    const size_t length = strlen(prefix);
    if (strncasecmp(*at, prefix, length) != 0) return false;
    *at += length;
    return true;
}

static bool take_version(const char **at, liana__version_wish *wish)
{
    char *end;
    if (**at < '0' || **at > '9') return false;
    wish->number = strtoll(*at, &end, 10);
    *at = end;
    return wish->number < INT64_MAX;
}

static bool read_method(const char *at, liana__api_path *read)
{
    static const char *const names[] = {"predict", "classify", "regress"};
    for (int i = 0; i < 3; i++) {
        if (strcasecmp(at, names[i]) != 0) continue;
        read->method = (liana__serve_method)i;
        return true;
    }
    return false;
}

static bool read_rest(const char *at, liana__api_path *read)
{
    if (!take_word(&at, "/:", read->model, sizeof read->model)) return false;
    if (take_prefix(&at, "/versions/")) {
        if (!take_version(&at, &read->wish)) return false;
    } else if (take_prefix(&at, "/labels/")) {
        if (!take_word(&at, "/:", read->label, sizeof read->label)) return false;
        read->wish.label = read->label;
    }
    if (*at == ':') return read_method(at + 1, read);
    read->method = LIANA__SERVE_STATUS;
    read->is_metadata = take_prefix(&at, "/metadata");
    return !*at;
}

bool liana__api_path_read(const char *path, liana__api_path *read)
{
    *read = (liana__api_path){.wish = {.number = -1}, .method = LIANA__SERVE_OTHER};
    if (!take_prefix(&path, "v1/models")) return false;
    read->is_list = !*path || strcmp(path, "/") == 0;
    if (read->is_list) return true;
    if (*path == '/' && read_rest(path + 1, read)) return true;
    read->method = LIANA__SERVE_OTHER;
    return false;
}
