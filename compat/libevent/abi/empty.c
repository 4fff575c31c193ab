/* A library that has no functions yet still has a SONAME. */
typedef int le_nothing_here;
