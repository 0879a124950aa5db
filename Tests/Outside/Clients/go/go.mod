module scenario

go 1.18

require chime v0.4.0

replace chime => ../../../../Sources/Bindings/go
