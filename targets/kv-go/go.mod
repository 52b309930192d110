module kvgo

go 1.19
