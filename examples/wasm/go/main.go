//go:build wasip1

// Command go is a guest in Go: it publishes messages whose field "value" is above 30 on high/TAG.
package main

import (
	"math"
	"unsafe"
)

//go:wasmimport ferry path
func path(text unsafe.Pointer, size, as uint32) int32

//go:wasmimport ferry lookup
func lookup(path int32, value, to unsafe.Pointer, size uint32) int32

//go:wasmimport ferry tag
func tag(to unsafe.Pointer, size uint32) uint32

//go:wasmimport ferry forward
func forward(tag unsafe.Pointer, size uint32) int32

// The kinds of numbers.
const (
	integer  = 4
	floating = 5
)

// limit is the value above which a message is published again.
const limit = 30

var (
	name      = "value"
	valuePath = path(unsafe.Pointer(unsafe.StringData(name)), uint32(len(name)), 0)
	to        = append(make([]byte, 0, len("high/")+1024), "high/"...) // 1024: the longest tag
)

// value is a field as the host writes it.
var value struct {
	bits          uint64
	length, flags uint32
}

//go:wasmexport ferry_handle
func handle(uint32, uint32) int32 {
	var number float64
	switch lookup(valuePath, unsafe.Pointer(&value), nil, 0) {
	case integer:
		number = float64(int64(value.bits))
	case floating:
		number = math.Float64frombits(value.bits)
	}
	if number <= limit {
		return 0
	}
	room := to[len(to):cap(to)]
	n := tag(unsafe.Pointer(&room[0]), uint32(len(room)))
	return forward(unsafe.Pointer(&to[0]), uint32(len(to))+n)
}

func main() {}
