//go:build chime_static

package chime

// #cgo pkg-config: chime-static
import "C"
