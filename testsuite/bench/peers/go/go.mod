module colored

go 1.19
