/* lease_text.h - the contents of a lease's file: one JSON object, filled up with spaces, so that each has one size. */
#ifndef LIANA_TRAIN_LEASE_TEXT_H
#define LIANA_TRAIN_LEASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

#endif
