/* lease_place.h - where the file of a lease is kept, and how one of several processes gets it.
 *
 * In a folder it is called lease-0000000007.json, for the 7th holder since the folder was free. The name is made only
 * if it is not there, so one process gets the next number; then it removes the lower ones. It renews its lease by
 * writing to the file that it has open: if another one has removed it, that does nothing to anybody. In a bucket it is
 * the object lease.json, which is replaced only if it is the version that was read. */
#ifndef LIANA_TRAIN_LEASE_PLACE_H
#define LIANA_TRAIN_LEASE_PLACE_H

#include "remote/store.h"

/* ---- lease text ---- */

/* The contents of a lease's file: one JSON object, filled up with spaces, so that each has one size. */

enum { LIANA__LEASE_SIZE = 1024, LIANA__LEASE_VERSION = 1, LIANA__LEASE_WITHOUT = 16 };

typedef struct liana__lease_text {
    int64_t version; /* 0: the file is damaged, and nothing else is set */
    char id[40];     /* random, of the process's hold on the folder */
    char job[40];    /* the first id of a job whose processes take each other's place */
    char host[256];
    int64_t process;
    char boot[48]; /* the machine since its start */
    char lock[48]; /* of the locked file: device and number; "": no lock works there */
    int64_t generation, renewals;
    double seconds;
    char renewed[64]; /* the time on the holder's clock, for people */
    bool left;        /* its holder has ended, and leaves the folder to the others of its job */
    /* Ranks of its job that the holder goes on without; of many only the first. */
    int64_t without[LIANA__LEASE_WITHOUT];
    size_t num_without;
} liana__lease_text;

/* Sets everything for a new lease of this process but generation, seconds and lock. */
void liana__lease_text_begin(liana__lease_text *own);
/* Exactly LIANA__LEASE_SIZE bytes, and a 0 that does not count. */
void liana__lease_text_write(const liana__lease_text *own, char bytes[LIANA__LEASE_SIZE + 1]);
/* Reads anything. Of another version's lease only members with the same name and kind are set. */
void liana__lease_text_read(const char *bytes, size_t size, liana__lease_text *read);

/* "process 123 on host-a", or the known part of it. In `text`. */
const char *liana__lease_text_holder(const liana__lease_text *own, char text[400]);

/* ---- lease place ---- */

/* The lease that is there. Compare `bytes` to see whether it is renewed. */
typedef struct liana__lease_found {
    bool there;
    char bytes[LIANA__LEASE_SIZE + 1];
    size_t size;
    int64_t generation;
    liana__store_version version; /* of the object */
} liana__lease_found;

typedef struct liana__lease_place {
    const char *folder;    /* or URL */
    liana__remote *remote; /* of a bucket; NULL: a folder */
    int descriptor;        /* of the own file */
    int64_t generation;    /* of the own file */
    liana__arena arena;
    const char *url;
} liana__lease_place;

/* Asks no server. Errors: those of a wrong URL; OUT_OF_MEMORY. */
liana_status liana__lease_place_open(liana__lease_place *place, const char *folder, const liana__remote_options *remote,
                                     liana__error *error) LIANA_MUST_USE;
void liana__lease_place_close(liana__lease_place *place);

liana_status liana__lease_place_read(liana__lease_place *place, liana__lease_found *found, liana__error *error)
    LIANA_MUST_USE;
/* Puts the own lease in place of the one that was found. *taken is false if another process was faster. */
liana_status liana__lease_place_take(liana__lease_place *place, const liana__lease_found *found,
                                     const liana__lease_text *own, bool *taken, liana__error *error) LIANA_MUST_USE;
/* *held is false if the own lease is not there any more. Errors: it is not known. */
liana_status liana__lease_place_renew(liana__lease_place *place, const liana__lease_text *own, bool *held,
                                      liana__error *error) LIANA_MUST_USE;
/* Removes the own lease. */
liana_status liana__lease_place_give(liana__lease_place *place, const liana__lease_text *own, liana__error *error)
    LIANA_MUST_USE;

/* Whether a name in a run folder is that of a lease. */
bool liana__lease_is_name(const char *name);

#endif
