/* Who may ask a server. */
#include "serve/http_guard.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

bool liana__http_same_text(const char *a, const char *b, size_t size)
{
    unsigned different = 0;
    for (size_t i = 0; i < size; i++) different |= (unsigned)(a[i] ^ b[i]);
    return different == 0;
}

/* "NAME:PORT", or "NAME" alone where the port is that of the scheme. */
static bool is_name(const liana__http_guard *guard, const char *text, const char *name, size_t length)
{
    char port[16];
    if (strncasecmp(text, name, length) != 0) return false;
    snprintf(port, sizeof port, ":%d", guard->port);
    if (strcmp(text + length, port) == 0) return true;
    return !text[length] && guard->port == (guard->has_tls ? 443 : 80);
}

/* A name that was given is a proxy's: it has a port of its own, and a scheme. */
static bool is_given(const liana__http_guard *guard, const char *text)
{
    for (const char *at = guard->hosts; at && *at;) {
        const size_t length = strcspn(at, ",");
        const bool has_name = length && strncasecmp(text, at, length) == 0;
        if (has_name && (!text[length] || text[length] == ':')) return true;
        at += length + (at[length] == ',');
    }
    return false;
}

static bool is_own(const liana__http_guard *guard, const char *text)
{
    static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
    for (size_t i = 0; i < 3; i++) {
        if (is_name(guard, text, names[i], strlen(names[i]))) return true;
    }
    return is_given(guard, text);
}

static const char *behind_scheme(const liana__http_guard *guard, const char *origin)
{
    const char *const schemes[] = {guard->has_tls ? "https://" : "http://", "https://"};
    for (size_t i = 0; i < 2; i++) {
        const size_t length = strlen(schemes[i]);
        if (strncasecmp(origin, schemes[i], length) != 0) continue;
        if (i == 0 || is_given(guard, origin + length)) return origin + length;
    }
    return NULL;
}

/* A name of elsewhere may lead to this machine (DNS rebinding), and a page of elsewhere may send a form. */
const char *liana__http_guard_fault(const liana__http_guard *guard, const char *host, const char *origin)
{
    const bool is_bound = guard->is_local || guard->hosts;
    if (!host || (is_bound && !is_own(guard, host))) {
        return guard->hosts ? "The Host is not a name of this server.\n" : "This address is for 127.0.0.1 alone.\n";
    }
    if (!origin) return NULL;
    const char *from = behind_scheme(guard, origin);
    const bool is_same = from && (is_bound ? is_own(guard, from) : strcasecmp(from, host) == 0);
    return is_same ? NULL : "Another page may not ask this.\n";
}

bool liana__http_guard_knows(const liana__http_guard *guard, const char *authorization)
{
    static const char scheme[] = "Bearer ";
    if (!guard->token) return true;
    if (!authorization || strncasecmp(authorization, scheme, sizeof scheme - 1) != 0) return false;
    const char *given = authorization + sizeof scheme - 1;
    const size_t length = strlen(guard->token);
    return strlen(given) == length && liana__http_same_text(given, guard->token, length);
}
