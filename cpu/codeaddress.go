package cpu

import (
	"context"
	"unsafe"
)

// codeAddress returns the address of f's code, as reflect.Value.Pointer does. The reflect method would move f to the heap,
// which costs an allocation for each Do. A func value is a pointer to a struct whose first field is the address.
func codeAddress[T any](f func(context.Context) (T, error)) uintptr {
	return **(**uintptr)(unsafe.Pointer(&f))
}
