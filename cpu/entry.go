package cpu

import (
	"context"
	"unsafe"
)

// entry is the address of f's code, as reflect.Value.Pointer gives it. That would move f to the heap, which costs each Do
// an allocation; a func value is a pointer to a struct that begins with the address.
func entry[T any](f func(context.Context) (T, error)) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}
