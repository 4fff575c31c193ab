/*
 * A library without functions of its own still has a SONAME.
 */
typedef int le_nothing_here;
