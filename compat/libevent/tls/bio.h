/*
 * TLS on OpenSSL: tls.c is the kind of bufferevent, bio.c lets OpenSSL read and write a
 * bufferevent.
 */
#ifndef LE_SSL_H
#define LE_SSL_H

#include <openssl/bio.h>

#include <event2/bufferevent.h>

/*
 * A BIO that reads the input of `underlying` and writes its output. It does not own it, and must
 * not be used after it. NULL: no memory.
 */
BIO *le_ssl_bio_new(struct bufferevent *underlying);

/*
 * `bio` was made by le_ssl_bio_new: nothing more will come, so that reading an empty input is the
 * end.
 */
void le_ssl_bio_end(BIO *bio);

#endif
