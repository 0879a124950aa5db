module scenario

go 1.18
