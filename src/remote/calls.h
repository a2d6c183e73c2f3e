/* calls.h - the functions of libcurl, OpenSSL's libcrypto and expat, from the libraries that liana__remote_load loads
 * (base/library.h). */
#ifndef LIANA_REMOTE_CALLS_H
#define LIANA_REMOTE_CALLS_H

#include "base/library.h"

#include <curl/curl.h>
#include <expat.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

/* clang-format off */
#define LIANA__CURL_NAMES(X) \
    X(curl_easy_cleanup) X(curl_easy_getinfo) X(curl_easy_init) X(curl_easy_setopt) X(curl_easy_strerror) \
    X(curl_global_cleanup) X(curl_global_init) X(curl_multi_add_handle) X(curl_multi_cleanup)             \
    X(curl_multi_info_read) X(curl_multi_init) X(curl_multi_perform) X(curl_multi_poll)                   \
    X(curl_multi_remove_handle) X(curl_multi_strerror) X(curl_slist_append) X(curl_slist_free_all)
/* clang-format on */

LIANA__LIBRARY_DECLARE(curl, LIANA__CURL_NAMES);

/* clang-format off */
#define LIANA__CRYPTO_NAMES(X) \
    X(BIO_free) X(BIO_new_mem_buf) X(EVP_DecodeBlock) X(EVP_Digest) X(EVP_DigestFinal_ex) X(EVP_DigestInit_ex) \
    X(EVP_DigestSign) X(EVP_DigestSignInit) X(EVP_DigestUpdate) X(EVP_EncodeBlock) X(EVP_MD_CTX_free)          \
    X(EVP_MD_CTX_new) X(EVP_PKEY_get_base_id) X(EVP_PKEY_free) X(EVP_md5) X(EVP_sha256) X(HMAC)                \
    X(OPENSSL_cleanse) X(PEM_read_bio_PrivateKey)
/* clang-format on */

LIANA__LIBRARY_DECLARE(crypto, LIANA__CRYPTO_NAMES);

/* clang-format off */
#define LIANA__EXPAT_NAMES(X) \
    X(XML_ErrorString) X(XML_GetCurrentLineNumber) X(XML_GetErrorCode) X(XML_Parse) X(XML_ParserCreateNS)       \
    X(XML_ParserFree) X(XML_SetCharacterDataHandler) X(XML_SetElementHandler) X(XML_SetStartDoctypeDeclHandler) \
    X(XML_SetUserData) X(XML_StopParser)
/* clang-format on */

LIANA__LIBRARY_DECLARE(expat, LIANA__EXPAT_NAMES);

/* curl.h defines these as macros that count or check their arguments. */
#undef curl_easy_getinfo
#undef curl_easy_setopt
#define curl_easy_cleanup liana__curl_library.curl_easy_cleanup
#define curl_easy_getinfo liana__curl_library.curl_easy_getinfo
#define curl_easy_init liana__curl_library.curl_easy_init
#define curl_easy_setopt liana__curl_library.curl_easy_setopt
#define curl_easy_strerror liana__curl_library.curl_easy_strerror
#define curl_global_cleanup liana__curl_library.curl_global_cleanup
#define curl_global_init liana__curl_library.curl_global_init
#define curl_multi_add_handle liana__curl_library.curl_multi_add_handle
#define curl_multi_cleanup liana__curl_library.curl_multi_cleanup
#define curl_multi_info_read liana__curl_library.curl_multi_info_read
#define curl_multi_init liana__curl_library.curl_multi_init
#define curl_multi_perform liana__curl_library.curl_multi_perform
#define curl_multi_poll liana__curl_library.curl_multi_poll
#define curl_multi_remove_handle liana__curl_library.curl_multi_remove_handle
#define curl_multi_strerror liana__curl_library.curl_multi_strerror
#define curl_slist_append liana__curl_library.curl_slist_append
#define curl_slist_free_all liana__curl_library.curl_slist_free_all

#define BIO_free liana__crypto_library.BIO_free
#define BIO_new_mem_buf liana__crypto_library.BIO_new_mem_buf
#define EVP_DecodeBlock liana__crypto_library.EVP_DecodeBlock
#define EVP_Digest liana__crypto_library.EVP_Digest
#define EVP_DigestFinal_ex liana__crypto_library.EVP_DigestFinal_ex
#define EVP_DigestInit_ex liana__crypto_library.EVP_DigestInit_ex
#define EVP_DigestSign liana__crypto_library.EVP_DigestSign
#define EVP_DigestSignInit liana__crypto_library.EVP_DigestSignInit
#define EVP_DigestUpdate liana__crypto_library.EVP_DigestUpdate
#define EVP_EncodeBlock liana__crypto_library.EVP_EncodeBlock
#define EVP_MD_CTX_free liana__crypto_library.EVP_MD_CTX_free
#define EVP_MD_CTX_new liana__crypto_library.EVP_MD_CTX_new
#define EVP_PKEY_get_base_id liana__crypto_library.EVP_PKEY_get_base_id
#define EVP_PKEY_free liana__crypto_library.EVP_PKEY_free
#define EVP_md5 liana__crypto_library.EVP_md5
#define EVP_sha256 liana__crypto_library.EVP_sha256
#define HMAC liana__crypto_library.HMAC
#define OPENSSL_cleanse liana__crypto_library.OPENSSL_cleanse
#define PEM_read_bio_PrivateKey liana__crypto_library.PEM_read_bio_PrivateKey

#define XML_ErrorString liana__expat_library.XML_ErrorString
#define XML_GetCurrentLineNumber liana__expat_library.XML_GetCurrentLineNumber
#define XML_GetErrorCode liana__expat_library.XML_GetErrorCode
#define XML_Parse liana__expat_library.XML_Parse
#define XML_ParserCreateNS liana__expat_library.XML_ParserCreateNS
#define XML_ParserFree liana__expat_library.XML_ParserFree
#define XML_SetCharacterDataHandler liana__expat_library.XML_SetCharacterDataHandler
#define XML_SetElementHandler liana__expat_library.XML_SetElementHandler
#define XML_SetStartDoctypeDeclHandler liana__expat_library.XML_SetStartDoctypeDeclHandler
#define XML_SetUserData liana__expat_library.XML_SetUserData
#define XML_StopParser liana__expat_library.XML_StopParser

/* Loads the libraries. Call it before the first of these functions. Errors: UNIMPLEMENTED. */
liana_status liana__remote_load(liana__error *error) LIANA_MUST_USE;

#endif
