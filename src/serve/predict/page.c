/* The page with an upload field: template, style and script become one text. */
#include "serve/predict/prediction_server.h"

#include "serve/upload_files.h"

#include <string.h>

void liana__serve_page_text(liana__text *text, bool needs_token)
{
    const struct {
        const char *mark, *value;
    } values[] = {{"@style@", liana__upload_css},
                  {"@script@", liana__upload_js},
                  {"@token@", needs_token ? "yes" : "no"}};
    for (const char *at = liana__upload_html; *at;) {
        const char *mark = strchr(at, '@');
        size_t found = 0;
        while (mark && found < 3 && strncmp(mark, values[found].mark, strlen(values[found].mark)) != 0) found++;
        const size_t length = mark ? (size_t)(mark - at) : strlen(at);
        liana__text_add_bytes(text, at, length);
        at += length;
        if (!mark) break;
        if (found < 3) liana__text_add_bytes(text, values[found].value, strlen(values[found].value));
        if (found == 3) liana__text_add_bytes(text, "@", 1);
        at += found < 3 ? strlen(values[found].mark) : 1;
    }
}
