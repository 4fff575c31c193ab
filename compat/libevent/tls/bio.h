/*
 * TLS on OpenSSL: tls.c is the kind of bufferevent; bio.c lets OpenSSL read and write a
 * bufferevent.
 */
#ifndef LE_SSL_H
#define LE_SSL_H

#include <openssl/bio.h>

#include <event2/bufferevent.h>

/*
 * A BIO that reads the input of `underlying` and writes its output. It holds no reference, so free
 * it before `underlying`. NULL: out of memory.
 */
BIO *le_ssl_bio_new(struct bufferevent *underlying);

/*
 * For a BIO of le_ssl_bio_new: no more input will come, so reading an empty input reports the end.
 */
void le_ssl_bio_end(BIO *bio);

#endif
