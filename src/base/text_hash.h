/* text_hash.h - the hash functions by which TensorFlow puts texts into buckets (tf.strings.to_hash_bucket_fast and
 * _strong), so that Keras's Hashing layer and lookups give the same buckets. */
#ifndef LIANA_BASE_TEXT_HASH_H
#define LIANA_BASE_TEXT_HASH_H

#include <stddef.h>
#include <stdint.h>

/* FarmHash's Fingerprint64 (Pike and Alakuijala 2014). */
uint64_t liana__farm_hash(const void *data, size_t size);

/* Joins the hashes of several values, one after the other, beginning with LIANA__CROSS_KEY: tf.sparse.cross_hashed, by
 * which Keras's HashedCrossing puts combinations of texts into buckets. */
#define LIANA__CROSS_KEY UINT64_C(0xdecafcaffe)
uint64_t liana__cross_hash(uint64_t joined, uint64_t next);

/* SipHash-2-4 with a key of 128 bits (Aumasson and Bernstein 2012). */
uint64_t liana__sip_hash(const uint64_t key[2], const void *data, size_t size);

#endif
