/* A library that is loaded before others (LD_PRELOAD): it keeps the files that a process renames to their places. liana
 * writes each file under another name and then renames it. Before that happens the file is linked into the folder
 * COMPARE_KEEP, with a number. So all graphs of a process are kept, also where the next one has the same name. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool ends_with(const char *text, const char *ending)
{
    const size_t length = strlen(text), wanted = strlen(ending);
    return length >= wanted && strcmp(text + length - wanted, ending) == 0;
}

/* Graphs lie in the folder of LIANA_DUMP; of other files, those with results are kept. */
static bool is_kept(const char *path)
{
    static const char *const endings[] = {".safetensors", "/history.json", "/epochs.csv", "_predictions.csv"};
    const char *dump = secure_getenv("COMPARE_DUMP");
    if (dump && strncmp(path, dump, strlen(dump)) == 0) return ends_with(path, ".txt") || ends_with(path, ".mlir");
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        if (ends_with(path, endings[i])) return true;
    }
    return false;
}

static void copy_file(const char *from, const char *to)
{
    static const size_t SIZE = 1 << 16;
    char *piece = malloc(SIZE);
    const int source = open(from, O_RDONLY | O_CLOEXEC),
              target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    ssize_t got = 0;
    while (piece && source >= 0 && target >= 0 && (got = read(source, piece, SIZE)) > 0) {
        if (write(target, piece, (size_t)got) != got) abort();
    }
    if (source >= 0) close(source);
    if (target >= 0) close(target);
    free(piece);
}

/* Each context has a folder of its own for graphs: two would write the same file at once. */
char *getenv(const char *name)
{
    static atomic_int number;
    char *(*next)(const char *) = (char *(*)(const char *))dlsym(RTLD_NEXT, "getenv"), *own = NULL;
    const char *dump = next(name);
    const char *given = next("COMPARE_DUMP"); /* the folder of the comparison; a test may set another folder */
    if (!dump || strcmp(name, "LIANA_DUMP") != 0 || !given || strcmp(dump, given) != 0) return (char *)dump;
    if (asprintf(&own, "%s/%d-%d", dump, (int)getpid(), atomic_fetch_add(&number, 1)) < 0) abort();
    return own; /* for as long as the process lives, as with the real one */
}

/* Thousands of graphs are written: none of them must outlive a power cut. */
int fsync(int descriptor)
{
    (void)descriptor;
    return 0;
}

int rename(const char *from, const char *to)
{
    static atomic_int number;
    int (*next)(const char *, const char *) = (int (*)(const char *, const char *))dlsym(RTLD_NEXT, "rename");
    const char *folder = getenv("COMPARE_KEEP"), *name = strrchr(to, '/');
    if (folder && is_kept(to)) {
        char kept[4096];
        snprintf(kept, sizeof kept, "%s/%d-%d-%s", folder, (int)getpid(), atomic_fetch_add(&number, 1),
                 name ? name + 1 : to);
        if (link(from, kept) != 0) copy_file(from, kept);
    }
    return next(from, to);
}
