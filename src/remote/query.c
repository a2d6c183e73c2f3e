/* Tells the part that identifies a URL from the part that signs it. */
#include "remote/query.h"

#include "base/scoped.h"
#include "base/text.h"

#include <string.h>
#include <strings.h>

static const char *const SIGNATURE_NAMES[] = {"Signature", "Expires", "AWSAccessKeyId", "GoogleAccessId", "Key-Pair-Id",
                                              "Policy",    "sig"};
static const char *const AZURE_NAMES[] = {"sv",  "ss",  "srt",   "sp",    "se",  "st",  "spr", "sr",
                                          "sip", "ske", "skoid", "sktid", "skt", "sks", "skv"};
#define COUNT(names) (sizeof(names) / sizeof *(names))

static bool is_one_of(const char *name, size_t length, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == length && strncasecmp(name, names[i], length) == 0) return true;
    }
    return false;
}

static bool signs(const char *name, size_t length, bool azure)
{
    bool cloud =
        (length > 6 && strncasecmp(name, "x-amz-", 6) == 0) || (length > 7 && strncasecmp(name, "x-goog-", 7) == 0);
    return cloud || is_one_of(name, length, SIGNATURE_NAMES, COUNT(SIGNATURE_NAMES)) ||
           (azure && is_one_of(name, length, AZURE_NAMES, COUNT(AZURE_NAMES)));
}

const char *liana__url_identity(liana__arena *arena, const char *url)
{
    size_t length = strcspn(url, "?#"), end = strcspn(url, "#");
    LIANA__SCOPED(liana__text) text = {0};
    liana__text_add_bytes(&text, url, length);
    const char *query = url + length;
    bool azure = false;
    for (const char *at = query; at < url + end && !azure; at += strcspn(at + 1, "&#") + 1) {
        azure = strncasecmp(at + 1, "sig=", 4) == 0;
    }
    char mark = '?';
    for (const char *at = query; at < url + end; at += strcspn(at + 1, "&#") + 1) {
        const char *name = at + 1;
        if (signs(name, strcspn(name, "=&#"), azure)) continue;
        liana__text_add_bytes(&text, &mark, 1);
        liana__text_add_bytes(&text, name, strcspn(name, "&#"));
        mark = '&';
    }
    return text.failed ? NULL : liana__arena_string(arena, text.data ? text.data : "");
}
