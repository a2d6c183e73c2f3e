/* frame.h - the frames on a wire between two processes of a cluster: a header of fixed size, and bytes.
 *
 * A message is cut into pieces, so that a heartbeat never waits for a large one. Each piece is a frame. The header is
 * little-endian. docs/explanation/transports.md has the table of its fields. */
#ifndef LIANA_DISTRIBUTE_TRANSPORT_FRAME_H
#define LIANA_DISTRIBUTE_TRANSPORT_FRAME_H

#include "base/text.h"
#include "distribute/transport/transport.h"

enum {
    LIANA__FRAME_PROTOCOL = 2,                /* changes with the header and with the meaning of frames */
    LIANA__FRAME_HEADER = 96,                 /* bytes */
    LIANA__FRAME_PIECE = 1 << 20,             /* most bytes of a message in one frame */
    LIANA__FRAME_ENCRYPTED_PIECE = 128 << 10, /* the same where frames are encrypted */
    LIANA__FRAME_CONTROL = 1 << 20,           /* most bytes of any other frame */
};

typedef enum liana__frame_kind {
    LIANA__FRAME_HELLO = 1, /* a greeting: my place */
    LIANA__FRAME_WELCOME,   /* your greeting has come, and fits */
    LIANA__FRAME_REFUSAL,   /* your greeting does not fit: the text says why */
    LIANA__FRAME_TABLE,     /* from the master: the addresses of all, a line each */
    LIANA__FRAME_READY,     /* to rank 0: I have met all */
    LIANA__FRAME_GO,        /* from rank 0: all have met all */
    LIANA__FRAME_DATA,      /* a piece of a message */
    LIANA__FRAME_BEAT,      /* I am alive */
    LIANA__FRAME_BYE,       /* I leave; the text says why, or is empty; part 1: another start may do better */
    LIANA__FRAME_BYE_SEEN,  /* all that you sent before your BYE has come */
    LIANA__FRAME_LATER,     /* to a process that comes when all have met: wait */
    LIANA__FRAME_INVITE,    /* all meet again, and you with them: a round (liana__invitation) */
    LIANA__FRAME_DEAD,      /* I took you for dead, and go on without you */
    LIANA__FRAME_KINDS,
} liana__frame_kind;

typedef struct liana__frame {
    liana__frame_kind kind;
    uint32_t sender;      /* rank */
    uint64_t cluster;     /* a number that this cluster alone has, and the number of the round added to it */
    uint64_t incarnation; /* a random number of the sending process */
    uint64_t sequence;    /* DATA frames that the sender has sent to this receiver before */
    liana__message_key key;
    uint64_t size;   /* of the whole message */
    uint64_t offset; /* of these bytes in it */
    const uint8_t *bytes;
    size_t num_bytes;
} liana__frame;

/* Writes LIANA__FRAME_HEADER bytes. */
void liana__frame_write(const liana__frame *frame, uint8_t *header);
/* Reads a frame from any bytes; frame->bytes points into them. Errors: INVALID_DATA; UNAVAILABLE for another version of
 * the protocol. */
liana_status liana__frame_read(const uint8_t *bytes, size_t size, liana__frame *frame, liana__error *error)
    LIANA_MUST_USE;

/* The contents of a TABLE: takes the next address, a line, off the front of *text. False: there is none, or it is no
 * address. */
enum { LIANA__FRAME_ADDRESS = 256 };
bool liana__frame_next_address(const char **text, const char *end, char address[LIANA__FRAME_ADDRESS]);

/* The contents of a HELLO. Strings are cut at their size. */
typedef struct liana__greeting {
    char version[32];
    uint64_t num_workers, num_servers;
    char address[256]; /* where the others reach the sender; in "*:port" the host is not known */
    char host[128];    /* the machine's name, for messages */
    uint64_t process;  /* its number there, for messages */
} liana__greeting;

enum { LIANA__GREETING_SIZE = 640 };
/* Writes text of fewer than LIANA__GREETING_SIZE bytes, and returns how many. */
size_t liana__greeting_write(const liana__greeting *greeting, char text[LIANA__GREETING_SIZE]);
/* Errors: INVALID_DATA. */
liana_status liana__greeting_read(const uint8_t *bytes, size_t size, liana__greeting *greeting, liana__error *error)
    LIANA_MUST_USE;

/* The contents of an INVITE: a round of `num_ranks` processes. Errors: OUT_OF_MEMORY. */
liana_status liana__invitation_write(const struct liana__cluster_round *round, size_t num_ranks, liana__text *text,
                                     liana__error *error) LIANA_MUST_USE;
/* `absent` has room for num_ranks. Errors: INVALID_DATA. */
liana_status liana__invitation_read(const uint8_t *bytes, size_t size, size_t num_ranks,
                                    struct liana__cluster_round *round, bool *absent, liana__error *error)
    LIANA_MUST_USE;

#endif
