//go:build !chime_static

package chime

// #cgo pkg-config: chime
import "C"
