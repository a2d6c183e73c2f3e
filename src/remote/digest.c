/* MD5 and SHA-256 of files, by libcrypto. */
#include "remote/digest.h"

#include "base/file.h"
#include "base/scoped.h"
#include "remote/calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BUFFER_SIZE = 1 << 20 };

static liana_status read_through(int descriptor, const char *path, EVP_MD_CTX *context, liana__error *error)
{
    LIANA__SCOPED_MEMORY uint8_t *buffer = malloc(BUFFER_SIZE);
    if (!buffer) return liana__fail_memory(error, path);
    posix_fadvise(descriptor, 0, 0, POSIX_FADV_SEQUENTIAL);
    for (;;) {
        const ssize_t got = read(descriptor, buffer, BUFFER_SIZE);
        if (got == 0) return LIANA_OK;
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return liana__fail(error, LIANA_IO_ERROR, "cannot read '%s': %s", path, strerror(errno));
        if (EVP_DigestUpdate(context, buffer, (size_t)got) != 1) return liana__fail_memory(error, path);
    }
}

static liana_status find_digest(int descriptor, const char *path, EVP_MD_CTX *context, liana__digest_kind kind,
                                liana__digest_text *digest, liana__error *error)
{
    const bool md5 = kind == LIANA__DIGEST_MD5;
    if (EVP_DigestInit_ex(context, md5 ? EVP_md5() : EVP_sha256(), NULL) != 1) {
        return liana__fail(error, LIANA_UNIMPLEMENTED, "the %s of '%s' cannot be computed: this machine forbids it%s",
                           md5 ? "MD5" : "SHA-256", path, md5 ? " (FIPS)" : "");
    }
    LIANA_TRY(read_through(descriptor, path, context, error));
    uint8_t bytes[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    if (EVP_DigestFinal_ex(context, bytes, &size) != 1 || 2 * size >= sizeof digest->text) {
        return liana__fail_memory(error, path);
    }
    for (unsigned i = 0; i < size; i++) snprintf(digest->text + 2 * i, 3, "%02x", bytes[i]);
    return LIANA_OK;
}

liana_status liana__digest_file(const char *path, liana__digest_kind kind, liana__digest_text *digest,
                                liana__error *error)
{
    *digest = (liana__digest_text){""};
    int descriptor;
    liana__file_version version;
    LIANA_TRY(liana__library_load(&liana__crypto_library.library, error));
    LIANA_TRY(liana__file_open(path, &descriptor, &version, error));
    EVP_MD_CTX *context = EVP_MD_CTX_new();
    const liana_status status =
        context ? find_digest(descriptor, path, context, kind, digest, error) : liana__fail_memory(error, path);
    EVP_MD_CTX_free(context);
    close(descriptor);
    return status;
}
