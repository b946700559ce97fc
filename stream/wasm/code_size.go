package wasm

import "example.com/ferry/stream/wasm/internal/meter"

// What compiled code takes, in bytes: measured with wazero on amd64, and rounded up. TestCodeSize and TestCompileSize compare.
const (
	functionSize  = 384  // of a function, whatever is in it
	codeGrowth    = 8    // bytes of machine code for one of the module
	compileGrowth = 1536 // bytes that the compiler holds for one of a function that it compiles
	entrySize     = 8    // of an entry of a table
)

// Sizes is what a module takes, in bytes, beside the memory of its instances.
type Sizes struct {
	Code     int64 // that is kept, once it is compiled
	Compile  int64 // on top of that, while it is compiled: once for all modules of the process
	Instance int64 // of the tables of each instance
}

// SizesOf returns what a module takes at most. What is no module takes nothing.
func SizesOf(binary []byte) Sizes {
	s, err := meter.SizeOf(binary, meter.Limits{TableEntries: maxTableEntries})
	if err != nil {
		return Sizes{}
	}
	code := int64(s.Functions)*functionSize + int64(s.Code)*codeGrowth
	return Sizes{
		Code: code + int64(s.Data),
		// the compiler has the rewritten module, the machine code twice, and the two functions that it compiles at a time
		Compile:  2*int64(len(binary)) + code + int64(s.Largest)*compileGrowth,
		Instance: s.Entries * entrySize,
	}
}
