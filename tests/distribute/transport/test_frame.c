/* Frames and greetings between processes: refusals, and that any bytes are survived; the mailbox alone. */
#include "harness/harness.h"
#include "harness/try/try_frame.h"
#include "harness/try/try_message.h"

#include "base/clock.h"
#include "base/random.h"
#include "distribute/transport/frame.h"
#include "distribute/transport/mailbox.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static uint8_t bytes[LIANA__FRAME_HEADER + LIANA__FRAME_PIECE + 1];

static liana__frame make(size_t size, uint64_t offset, size_t num_bytes)
{
    liana__frame frame = {.kind = LIANA__FRAME_DATA,
                          .sender = 3,
                          .cluster = 0x1122334455667788,
                          .incarnation = 9,
                          .sequence = 77,
                          .key = {1, UINT64_MAX, 3, 4},
                          .size = size,
                          .offset = offset,
                          .num_bytes = num_bytes};
    liana__frame_write(&frame, bytes);
    return frame;
}

static void frames_keep_their_fields(void **state)
{
    (void)state;
    liana__frame frame = make(100, 40, 60), found;
    liana__error error = {0};
    assert_ok(liana__frame_read(bytes, LIANA__FRAME_HEADER + 60, &found, &error), &error);
    assert_ptr_equal(found.bytes, bytes + LIANA__FRAME_HEADER);
    found.bytes = NULL;
    assert_memory_equal(&found, &frame, sizeof found);
}

static void bad_frames_are_refused(void **state)
{
    (void)state;
    liana__frame found;
    liana__error error = {0};
    make(100, 40, 60);
    assert_fails(liana__frame_read(bytes, 95, &found, &error), LIANA_INVALID_DATA, &error, "95 bytes", "header of 96");
    assert_fails(liana__frame_read(bytes, LIANA__FRAME_HEADER + 59, &found, &error), LIANA_INVALID_DATA, &error, "60",
                 "59");
    assert_fails(liana__frame_read((const uint8_t *)"GET / HTTP/1.1", 14, &found, &error), LIANA_INVALID_DATA, &error,
                 "no frame of liana");
    bytes[6] = 3;
    assert_fails(liana__frame_read(bytes, LIANA__FRAME_HEADER + 60, &found, &error), LIANA_UNAVAILABLE, &error,
                 "version 3", "version 2", "same version of liana");
    make(100, 40, 60);
    bytes[7] = LIANA__FRAME_KINDS;
    assert_fails(liana__frame_read(bytes, LIANA__FRAME_HEADER + 60, &found, &error), LIANA_INVALID_DATA, &error,
                 "kind");
    make(100, 41, 60);
    assert_fails(liana__frame_read(bytes, LIANA__FRAME_HEADER + 60, &found, &error), LIANA_INVALID_DATA, &error,
                 "60 bytes at 41 of a message of 100");
    make(100, UINT64_MAX, 60);
    assert_fails(liana__frame_read(bytes, LIANA__FRAME_HEADER + 60, &found, &error), LIANA_INVALID_DATA, &error, "100");
    make(100, 0, 0);
    assert_fails(liana__frame_read(bytes, LIANA__FRAME_HEADER, &found, &error), LIANA_INVALID_DATA, &error, "0 bytes");
    make(LIANA__FRAME_PIECE + 1, 0, LIANA__FRAME_PIECE + 1);
    assert_fails(liana__frame_read(bytes, sizeof bytes, &found, &error), LIANA_INVALID_DATA, &error, "at most 1048576");
    make(0, 0, 0);
    assert_ok(liana__frame_read(bytes, LIANA__FRAME_HEADER, &found, &error), &error);
}

static void greetings(void **state)
{
    (void)state;
    liana__greeting greeting = {"0.1.0", 4, 1, "host:2222", "machine", 17}, found;
    liana__error error = {0};
    char text[LIANA__GREETING_SIZE];
    size_t size = liana__greeting_write(&greeting, text);
    assert_ok(liana__greeting_read((const uint8_t *)text, size, &found, &error), &error);
    assert_string_equal(found.address, "host:2222");
    assert_int_equal(found.num_workers, 4);
    assert_int_equal(found.process, 17);
    for (size_t less = 0; less < size; less++) {
        assert_int_equal(liana__greeting_read((const uint8_t *)text, less, &found, &error), LIANA_INVALID_DATA);
    }
    text[3] = '\n';
    assert_int_equal(liana__greeting_read((const uint8_t *)text, size, &found, &error), LIANA_INVALID_DATA);
}

static void any_bytes_are_survived(void **state)
{
    (void)state;
    size_t accepted = 0;
    for (uint32_t turn = 0; turn < 20000; turn++) {
        uint32_t words[4];
        liana__philox(liana__philox_make_key(5, LIANA__STREAM_TEST, 1), (uint32_t[4]){turn, 0, 0, 0}, words);
        make(200, words[0] % 3 * 70, 60 + words[1] % 3 * 70);
        bytes[7] = (uint8_t)(1 + words[2] % LIANA__FRAME_KINDS);
        if (turn % 3) bytes[words[3] % 96] = (uint8_t)words[2];
        uint8_t *copy = malloc(LIANA__FRAME_HEADER + 200);
        size_t size = turn % 7 ? LIANA__FRAME_HEADER + 60 + words[1] % 3 * 70 : words[1] % 200;
        memcpy(copy, bytes, size);
        uint8_t *exact = realloc(copy, size ? size : 1);
        accepted += liana__try_frame(exact ? exact : copy, size);
        free(exact ? exact : copy);
    }
    assert_compare(accepted, >, 500);
    assert_compare(accepted, <, 20000);
}

/* Messages between processes of a training: numbers of eight bytes, texts with their lengths. */
static void any_messages_are_survived(void **state)
{
    (void)state;
    for (uint32_t turn = 0; turn < 30000; turn++) {
        uint8_t message[80];
        for (size_t i = 0; i < sizeof message; i += 4) {
            uint32_t words[4];
            liana__philox(liana__philox_make_key(6, LIANA__STREAM_TEST, 1), (uint32_t[4]){turn, (uint32_t)i, 0, 0},
                          words);
            memset(message + i, 0, 4);
            if (words[0] % 3 == 0) message[i] = (uint8_t)(words[1] % (words[2] % 2 ? 256 : 12));
        }
        message[0] = (uint8_t)turn;
        liana__try_message(message, turn % (sizeof message + 1));
    }
}

/* ---- the mailbox ---- */

enum { NUM_MESSAGES = 400, MESSAGE = 3000, PIECE = 1000 };

typedef struct sender {
    liana__mailbox *mailbox;
    size_t rank;
} sender;

static void *put_all(void *user)
{
    const sender *own = user;
    uint8_t piece[PIECE];
    liana__error error = {0};
    for (uint64_t step = 0; step < NUM_MESSAGES; step++) {
        for (size_t offset = 0; offset < MESSAGE; offset += PIECE) {
            memset(piece, (int)(own->rank * 50 + step + offset / PIECE), PIECE);
            liana__mail_piece mail = {own->rank, {0, step, 0, 0}, MESSAGE, offset, piece, PIECE, NULL};
            if (liana__mailbox_put(own->mailbox, &mail, &error) != LIANA_OK) abort();
        }
    }
    return NULL;
}

/* Receives every second message, with deadlines that sometimes pass while pieces come. */
typedef struct receiver {
    liana__mailbox *mailbox;
    size_t from, first;
    size_t late, wrong;
} receiver;

static void *take_half(void *user)
{
    receiver *own = user;
    uint8_t message[MESSAGE];
    liana__error error = {0};
    for (uint64_t step = own->first; step < NUM_MESSAGES; step += 2) {
        liana_status status;
        do {
            double deadline = step % 5 ? 0 : liana__clock_seconds() + 1e-5;
            memset(message, 0xff, sizeof message);
            status = liana__mailbox_receive(own->mailbox, own->from, (liana__message_key){0, step, 0, 0},
                                            &(liana__receipt){message, NULL, MESSAGE}, deadline, &error);
            own->late += status == LIANA_UNAVAILABLE;
        } while (status == LIANA_UNAVAILABLE);
        for (size_t i = 0; i < MESSAGE; i++) {
            own->wrong += status != LIANA_OK || message[i] != (uint8_t)(own->from * 50 + step + i / PIECE);
        }
    }
    return NULL;
}

static void threads_wait_for_different_messages(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__mailbox *mailbox = NULL;
    assert_ok(liana__mailbox_create(2, 0, &mailbox, &error), &error);
    sender senders[2] = {{mailbox, 0}, {mailbox, 1}};
    receiver receivers[4] = {{mailbox, 0, 0, 0, 0},
                             {mailbox, 0, 1, 0, 0},
                             {mailbox, 1, 0, 0, 0},
                             {mailbox, 1, 1, 0, 0}};
    pthread_t threads[6];
    for (size_t i = 0; i < 4; i++) pthread_create(&threads[i], NULL, take_half, &receivers[i]);
    for (size_t i = 0; i < 2; i++) pthread_create(&threads[4 + i], NULL, put_all, &senders[i]);
    for (size_t i = 0; i < 6; i++) pthread_join(threads[i], NULL);
    for (size_t i = 0; i < 4; i++) assert_int_equal(receivers[i].wrong, 0);
    size_t size;
    assert_false(liana__mailbox_peek(mailbox, 0, (liana__message_key){0, 1, 0, 0}, &size));
    liana__mailbox_destroy(mailbox);
}

static void pieces_continue_their_message(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__mailbox *mailbox = NULL;
    char text[8];
    assert_ok(liana__mailbox_create(1, 0, &mailbox, &error), &error);
    liana__mail_piece piece = {0, {0, 1, 0, 0}, 6, 0, "abc", 3, NULL};
    assert_ok(liana__mailbox_put(mailbox, &piece, &error), &error);
    assert_fails(liana__mailbox_put(mailbox, &piece, &error), LIANA_INVALID_DATA, &error, "begins at 0", "expected 3");
    piece.offset = 3;
    piece.size = 7;
    assert_fails(liana__mailbox_put(mailbox, &piece, &error), LIANA_INVALID_DATA, &error, "of 7 bytes", "of 6");
    piece.size = 6;
    assert_ok(liana__mailbox_put(mailbox, &piece, &error), &error);
    assert_fails(liana__mailbox_put(mailbox, &piece, &error), LIANA_INVALID_DATA, &error, "two messages", "same key");
    assert_fails(liana__mailbox_receive(mailbox, 0, piece.key, &(liana__receipt){text, NULL, 6}, 0, &error),
                 LIANA_INTERNAL, &error, "same key");
    liana__mailbox_destroy(mailbox);
}

static void count_release(void *owner)
{
    ++*(int *)owner;
}

/* A whole message stays where it is, and goes to its receiver; a piece, or one that is awaited elsewhere, is copied. */
static void whole_messages_are_not_copied(void **state)
{
    (void)state;
    liana__error error = {0};
    liana__mailbox *mailbox = NULL;
    liana__message message;
    int released = 0;
    char word[6] = "abcde", text[6] = "";
    assert_ok(liana__mailbox_create(1, 20, &mailbox, &error), &error);
    liana__message_memory memory = {&released, count_release};
    liana__mail_piece piece = {0, {0, 1, 0, 0}, 6, 0, word, 6, &memory};
    assert_ok(liana__mailbox_put(mailbox, &piece, &error), &error);
    assert_null(memory.release);
    assert_ok(liana__mailbox_receive(mailbox, 0, piece.key, &(liana__receipt){NULL, &message, 6}, 0, &error), &error);
    assert_ptr_equal(message.bytes, word);
    assert_int_equal(released, 0);
    liana__message_free(&message);
    liana__message_free(&message);
    assert_int_equal(released, 1);

    /* A copy frees it at once, and so does a size that was not expected. */
    for (size_t expected = 6; expected <= 7; expected++) {
        memory = (liana__message_memory){&released, count_release};
        piece.key.step++;
        assert_ok(liana__mailbox_put(mailbox, &piece, &error), &error);
        if (expected == 6) {
            assert_ok(liana__mailbox_receive(mailbox, 0, piece.key, &(liana__receipt){text, NULL, 6}, 0, &error),
                      &error);
            assert_string_equal(text, word);
        } else {
            assert_fails(liana__mailbox_receive(mailbox, 0, piece.key, &(liana__receipt){NULL, &message, 7}, 0, &error),
                         LIANA_INTERNAL, &error, "6 bytes", "expected 7");
            assert_null(message.bytes);
        }
        assert_int_equal(released, (int)expected - 4);
    }

    memory = (liana__message_memory){&released, count_release};
    piece.key.step++;
    piece.num_bytes = 3;
    assert_ok(liana__mailbox_put(mailbox, &piece, &error), &error);
    assert_non_null(memory.release);
    piece.offset = 3;
    piece.bytes = word + 3;
    assert_ok(liana__mailbox_put(mailbox, &piece, &error), &error);
    assert_ok(liana__mailbox_receive(mailbox, 0, piece.key, &(liana__receipt){NULL, &message, 6}, 0, &error), &error);
    assert_string_equal(message.bytes, word);
    liana__message_free(&message);

    /* Its bytes count among those that are kept, as long as nobody has it. */
    for (int i = 0; i < 4; i++) {
        memory = (liana__message_memory){&released, count_release};
        piece = (liana__mail_piece){0, {0, 10 + (uint64_t)i, 0, 0}, 6, 0, word, 6, &memory};
        if (i < 3) {
            assert_ok(liana__mailbox_put(mailbox, &piece, &error), &error);
        } else {
            assert_fails(liana__mailbox_put(mailbox, &piece, &error), LIANA_OUT_OF_MEMORY, &error, "nobody has asked",
                         "rank 0");
            assert_non_null(memory.release);
        }
    }
    assert_int_equal(released, 3);
    liana__mailbox_destroy(mailbox);
    assert_int_equal(released, 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frames_keep_their_fields),
        cmocka_unit_test(bad_frames_are_refused),
        cmocka_unit_test(greetings),
        cmocka_unit_test(any_bytes_are_survived),
        cmocka_unit_test(any_messages_are_survived),
        cmocka_unit_test(threads_wait_for_different_messages),
        cmocka_unit_test(pieces_continue_their_message),
        cmocka_unit_test(whole_messages_are_not_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
