/* The peers of liana, where scripts/install-peers.sh has put them. */
#include "harness/peers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *liana__test_peer(const char *name)
{
    static char folder[2048];
    char mark[2100], reason[512] = "make check-peers";
    const char *named = getenv("LIANA_PEERS"), *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    if (named && !*named) {
        print_message("skipped: left to make check-peers\n");
        return NULL;
    }
    if (named) {
        snprintf(folder, sizeof folder, "%s/%s", named, name);
    } else if (cache && *cache) {
        snprintf(folder, sizeof folder, "%s/liana-peers/%s", cache, name);
    } else {
        snprintf(folder, sizeof folder, "%s/.cache/liana-peers/%s", home ? home : "", name);
    }
    snprintf(mark, sizeof mark, "%s/installed.txt", folder);
    if (access(mark, R_OK) == 0) return folder;
    /* scripts/install-peers.sh marks packages that it could not fetch. */
    snprintf(mark, sizeof mark, "%s.missing", folder);
    FILE *said = fopen(mark, "r");
    if (said && fgets(reason, sizeof reason, said)) reason[strcspn(reason, "\n")] = '\0';
    if (said) fclose(said);
    print_message("skipped: the peer %s is not installed: %s\n", name, reason);
    return NULL;
}
