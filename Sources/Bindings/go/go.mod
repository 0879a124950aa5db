module chime

go 1.18
