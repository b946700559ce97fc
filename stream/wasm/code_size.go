package wasm

import "example.com/ferry/stream/wasm/internal/meter"

// What compiled code takes, in bytes: measured with wazero on amd64, and rounded up. TestCodeSize compares.
const (
	functionSize = 384 // of a function, whatever is in it
	codeGrowth   = 8   // bytes of machine code for one of the module
)

// CodeSize returns how many bytes a module keeps at most, once it is compiled, beside the memory of its instances. What is no module has none.
func CodeSize(binary []byte) int64 {
	s, err := meter.SizeOf(binary)
	if err != nil {
		return 0
	}
	return int64(s.Functions)*functionSize + int64(s.Code)*codeGrowth + int64(s.Data)
}
