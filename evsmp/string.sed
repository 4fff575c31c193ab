# Each line becomes a string of C.
s/\\/\\\\/g
s/"/\\"/g
s/^/"/
s/$/\\n"/
