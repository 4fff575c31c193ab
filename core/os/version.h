/*
 * The version of the engine and of its faces, which are released together. scripts/release compares it with all other
 * places that name one.
 */
#ifndef EC_VERSION_H
#define EC_VERSION_H

#define EC_VERSION "0.1.0"

#endif
