/* remote_server.h - starts tests/remote/server.py, and other servers, on this machine for the running test program. */
#ifndef LIANA_TESTS_REMOTE_SERVER_H
#define LIANA_TESTS_REMOTE_SERVER_H

#include "harness/harness.h"

#include <sys/types.h>

/* The key pair that tests/remote/server.py knows. */
#define LIANA__TEST_ACCESS_KEY "AKIATESTTESTTEST"
#define LIANA__TEST_SECRET_KEY "secret/of+the/test"

/* Starts a program with its standard output in *output (may be NULL); it ends with this process. */
pid_t liana__test_start(const char *const *words, FILE **output);
void liana__test_stop(pid_t process);

/* Makes "key.pem" and "certificate.pem" for the server "localhost" in the test folder. False: there is no openssl. */
bool liana__test_make_certificate(void);

/* Starts the server on the files in the test folder's "served"; skips the test where there is no python3. */
void liana__test_server_start(void);
void liana__test_server_stop(void);
/* "http://127.0.0.1:PORT" (or "https://localhost:PORT") with `path` behind it, in a static buffer that the next call
 * but three overwrites. */
const char *liana__test_server_url(const char *path);
/* The next `count` requests of a file's bytes go wrong: see server.py. */
void liana__test_server_fault(const char *kind, int count);
/* How many requests since the last call of liana__test_server_forget have a line in the log with both texts. */
size_t liana__test_server_requests(const char *text, const char *also);
void liana__test_server_forget(void);
/* Writes a file below "served", and its folders. */
void liana__test_serve(const char *name, const void *bytes, size_t size);

/* The same with the contents of a file on this machine. */
void liana__test_serve_file(const char *name, const char *path);

/* No credentials, endpoints and caches but those of the test: empties the environment of them, points gs:// and s3://
 * to the server with right credentials, and the cache to the test folder's "cache". */
void liana__test_server_environment(void);

/* For a test program's set-up and tear-down: a folder, the server and its environment. */
int liana__test_server_set_up(void **state);
/* The same with https://localhost:PORT, whose certificate is trusted. Skips the test where there is no openssl. */
int liana__test_server_set_up_https(void **state);
int liana__test_server_tear_down(void **state);

#endif
