/*
 * TLS for tests: a key and a certificate made on the spot, a context for each end, both of one
 * version. The client knows no authority; it asks for none unless a test says SSL_VERIFY_PEER.
 */
#ifndef TLS_CTX_H
#define TLS_CTX_H

#include <stdbool.h>
#include <stddef.h>

#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

struct tls_ctx {
	SSL_CTX *server, *client;
};

static inline X509 *tls_cert_new(EVP_PKEY *key)
{
	X509 *cert = X509_new();
	X509_NAME *name;

	if (cert == NULL)
		return NULL;
	name = X509_get_subject_name(cert);
	if (X509_set_version(cert, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(cert), 1) == 1 &&
	    X509_gmtime_adj(X509_getm_notBefore(cert), -3600) != NULL &&
	    X509_gmtime_adj(X509_getm_notAfter(cert), 3600) != NULL && X509_set_pubkey(cert, key) == 1 &&
	    X509_NAME_add_entry_by_txt(name, "CN", MBSTRING_ASC, (const unsigned char *)"test", -1, -1, 0) == 1 &&
	    X509_set_issuer_name(cert, name) == 1 && X509_sign(cert, key, EVP_sha256()) != 0)
		return cert;
	X509_free(cert);
	return NULL;
}

static inline void tls_ctx_fini(struct tls_ctx *c)
{
	SSL_CTX_free(c->server);
	SSL_CTX_free(c->client);
}

/* `version`: TLS1_2_VERSION, TLS1_3_VERSION. False: nothing is left to free. */
static inline bool tls_ctx_init(struct tls_ctx *c, int version)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *cert = key == NULL ? NULL : tls_cert_new(key);
	bool is_good;

	c->server = SSL_CTX_new(TLS_server_method());
	c->client = SSL_CTX_new(TLS_client_method());
	is_good = cert != NULL && c->server != NULL && c->client != NULL &&
		  SSL_CTX_use_certificate(c->server, cert) == 1 && SSL_CTX_use_PrivateKey(c->server, key) == 1 &&
		  SSL_CTX_set_min_proto_version(c->server, version) == 1 &&
		  SSL_CTX_set_max_proto_version(c->server, version) == 1 &&
		  SSL_CTX_set_min_proto_version(c->client, version) == 1 &&
		  SSL_CTX_set_max_proto_version(c->client, version) == 1;
	X509_free(cert);
	EVP_PKEY_free(key);
	if (!is_good)
		tls_ctx_fini(c);
	return is_good;
}

#endif
