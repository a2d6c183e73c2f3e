/* The peers of liana, where scripts/install-peers.sh has put them. */
#include "harness/peers.h"

#include "harness/compare.h"

#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
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

void liana__test_run_program(const char *const *arguments)
{
    fflush(NULL);
    pid_t child = fork();
    assert_compare(child, >=, 0);
    if (child == 0) {
        execvp(arguments[0], (char *const *)(uintptr_t)arguments);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) fail_msg("%s failed; see above", arguments[0]);
}

void liana__test_run_keras(const char *script, const char *const *arguments)
{
    enum { MOST = 64 };
    char python[2100], path[1024];
    const char *all[MOST + 5] = {python, "-B", "-W", "ignore", path};
    const char *peer = liana__test_peer("tensorflow");
    assert_non_null(peer);
    snprintf(python, sizeof python, "%s/bin/python", peer);
    snprintf(path, sizeof path, "%s/%s", LIANA_SOURCE_DIR, script);
    for (size_t i = 0; arguments[i]; i++) {
        assert_compare(i + 1, <, MOST);
        all[5 + i] = arguments[i];
    }
    liana__test_run_program(all);
}
