module scenario

go 1.18

require chime v0.3.0

replace chime => ../../../Sources/Bindings/go
