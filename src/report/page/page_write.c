/* Puts a page together from its files and its data. */
#include "report/page/page.h"

#include "base/utf8.h"
#include "remote/store.h"
#include "report/page_files.h"

#include <string.h>

/* JSON in a <script>: nothing in it may be read as HTML. */
static void add_json(const liana__value *data, liana__text *text)
{
    liana__text json = {0};
    liana__value_write_json(data, 0, &json);
    text->failed = text->failed || json.failed;
    for (size_t i = 0, from = 0; i <= json.length && json.data; i++) {
        const char c = i < json.length ? json.data[i] : 0;
        if (c && c != '<' && c != '>' && c != '&') continue;
        liana__text_add_bytes(text, json.data + from, i - from);
        if (c) liana__text_add(text, "\\u%04x", (unsigned)c);
        from = i + 1;
    }
    liana__text_free(&json);
}

static void add_escaped(const char *title, liana__text *text)
{
    const size_t length = strlen(title);
    for (size_t i = 0, size; i < length; i += size) {
        uint32_t code;
        size = liana__utf8_character(title + i, length - i, &code);
        if (size == 0) {
            liana__text_add(text, "\xEF\xBF\xBD");
            size = 1;
        } else if (code < 0x20 || strchr("<>&\"'", title[i])) {
            liana__text_add(text, "&#%u;", code < 0x20 ? 0x20 : (unsigned)code);
        } else {
            liana__text_add_bytes(text, title + i, size);
        }
    }
}

/* The template has each of these once. */
static void add_part(const char *part, size_t length, const char *title, const liana__value *data, liana__text *text)
{
    if (length == strlen("@title@") && memcmp(part, "@title@", length) == 0) add_escaped(title, text);
    if (length == strlen("@style@") && memcmp(part, "@style@", length) == 0) {
        liana__text_add_bytes(text, liana__page_css, sizeof liana__page_css - 1);
    }
    if (length == strlen("@script@") && memcmp(part, "@script@", length) == 0) {
        liana__text_add_bytes(text, liana__page_js, sizeof liana__page_js - 1);
    }
    /* A page that is served asks its server for news; others ask nobody. */
    if (length == strlen("@connect@") && memcmp(part, "@connect@", length) == 0 && liana__value_get(data, "live")) {
        liana__text_add(text, "; connect-src 'self'");
    }
    if (length == strlen("@data@") && memcmp(part, "@data@", length) == 0) add_json(data, text);
}

void liana__page_text(const char *title, const liana__value *data, liana__text *text)
{
    const char *at = liana__page_html;
    for (const char *mark; (mark = strchr(at, '@')); at = strchr(mark + 1, '@') + 1) {
        liana__text_add_bytes(text, at, (size_t)(mark - at));
        add_part(mark, (size_t)(strchr(mark + 1, '@') + 1 - mark), title, data, text);
    }
    liana__text_add_bytes(text, at, strlen(at));
}

liana_status liana__page_write(const char *path, const char *title, const liana__value *data, liana__error *error)
{
    liana__text text = {0};
    liana__page_text(title, data, &text);
    liana_status status =
        text.failed ? liana__fail_memory(error, path) : liana__store_replace(path, text.data, text.length, error);
    liana__text_free(&text);
    return status;
}
