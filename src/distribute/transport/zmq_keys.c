/* Makes and reads the secret of a cluster. */
#include "distribute/transport/cluster_keys.h"
#include "distribute/transport/zmq_calls.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { KEY_LENGTH = LIANA__CLUSTER_KEY_SIZE - 1, PATH_SIZE = 4096 };
static const char file_name[] = "cluster.secret";

liana_status liana__check_private_folder(const char *folder, const char *what, liana__error *error)
{
    struct stat found;
    if (stat(folder, &found) != 0) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s %s: %s", what, folder, strerror(errno));
    }
    if (!S_ISDIR(found.st_mode)) {
        return liana__fail(error, LIANA_INVALID_CONFIG, "%s %s is no folder", what, folder);
    }
    if (found.st_uid != geteuid()) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s %s belongs to user %u, expected %u: the user of this process", what, folder,
                           (unsigned)found.st_uid, (unsigned)geteuid());
    }
    if ((found.st_mode & 077) == 0) return LIANA_OK;
    /* /tmp and the like must stay open for others. */
    const bool is_common = found.st_mode & S_ISVTX;
    return liana__fail(error, LIANA_INVALID_CONFIG, "%s %s has mode %04o, so others may enter it; %s%s", what, folder,
                       (unsigned)found.st_mode & 07777,
                       is_common ? "name a folder of this user alone: mkdir -m 700 FOLDER" : "run: chmod 700 ",
                       is_common ? "" : folder);
}

static liana_status path_of_key(const char *folder, char path[PATH_SIZE], liana__error *error)
{
    int length = snprintf(path, PATH_SIZE, "%s/%s", folder, file_name);
    if (length > 0 && length < PATH_SIZE) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG, "the name of the folder of keys is too long");
}

static liana_status write_key(const char *path, const char *key, liana__error *error)
{
    int file = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0 && errno == EEXIST) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s is there already; name another folder, or remove it if no cluster uses it", path);
    }
    if (file < 0) return liana__fail(error, LIANA_IO_ERROR, "%s: %s", path, strerror(errno));
    char line[KEY_LENGTH + 1];
    memcpy(line, key, KEY_LENGTH);
    line[KEY_LENGTH] = '\n';
    bool written = write(file, line, sizeof line) == (ssize_t)sizeof line && fsync(file) == 0;
    int reason = errno;
    explicit_bzero(line, sizeof line);
    close(file);
    if (written) return LIANA_OK;
    unlink(path);
    return liana__fail(error, LIANA_IO_ERROR, "%s cannot be written: %s", path, strerror(reason));
}

liana_status liana__cluster_keys_make(const char *folder, liana__error *error)
{
    LIANA_TRY(liana__zmq_load(error));
    if (mkdir(folder, 0700) != 0 && errno != EEXIST) {
        return liana__fail(error, LIANA_IO_ERROR, "the folder %s cannot be made: %s", folder, strerror(errno));
    }
    LIANA_TRY(liana__check_private_folder(folder, "the folder of keys", error));
    char path[PATH_SIZE];
    LIANA_TRY(path_of_key(folder, path, error));
    liana__cluster_keys keys;
    if (zmq_curve_keypair(keys.public_key, keys.secret_key) != 0) {
        return liana__fail(
            error, LIANA_UNIMPLEMENTED,
            "the installed libzmq was built without CURVE, so it cannot encrypt; install Debian's libzmq5");
    }
    liana_status status = write_key(path, keys.secret_key, error);
    liana__cluster_keys_forget(&keys);
    return status;
}

static liana_status read_key(const char *path, liana__cluster_keys *keys, liana__error *error)
{
    struct stat found;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return liana__fail(
            error, LIANA_INVALID_CONFIG,
            "%s: %s; 'liana cluster keys FOLDER' makes one, and every process of the cluster needs the same", path,
            strerror(errno));
    }
    char text[KEY_LENGTH + 2] = "";
    ssize_t size = read(file, text, sizeof text);
    bool is_private = fstat(file, &found) == 0 && (found.st_mode & 077) == 0;
    close(file);
    if (!is_private) {
        return liana__fail(error, LIANA_INVALID_CONFIG,
                           "%s may be read by others; run: chmod 600 %s, and make a new one", path, path);
    }
    uint8_t raw[32];
    bool is_key = size == KEY_LENGTH + 1 && text[KEY_LENGTH] == '\n';
    text[KEY_LENGTH] = '\0';
    is_key = is_key && zmq_z85_decode(raw, text) && zmq_curve_public(keys->public_key, text) == 0;
    if (is_key) memcpy(keys->secret_key, text, KEY_LENGTH + 1);
    explicit_bzero(raw, sizeof raw);
    explicit_bzero(text, sizeof text);
    if (is_key) return LIANA_OK;
    return liana__fail(error, LIANA_INVALID_CONFIG,
                       "%s has %zd bytes that are no key, expected a line of %d characters", path, size, KEY_LENGTH);
}

liana_status liana__cluster_keys_read(const char *folder, liana__cluster_keys *keys, liana__error *error)
{
    memset(keys, 0, sizeof *keys);
    LIANA_TRY(liana__zmq_load(error));
    LIANA_TRY(liana__check_private_folder(folder, "the folder of keys", error));
    char path[PATH_SIZE];
    LIANA_TRY(path_of_key(folder, path, error));
    return read_key(path, keys, error);
}

void liana__cluster_keys_forget(liana__cluster_keys *keys)
{
    explicit_bzero(keys, sizeof *keys);
}
