package meter

import "fmt"

// The instructions that Rewrite looks at or writes. WebAssembly 2.0, section 5.4.
const (
	opUnreachable  = 0x00
	opBlock        = 0x02
	opLoop         = 0x03
	opIf           = 0x04
	opEnd          = 0x0b
	opBr           = 0x0c
	opBrIf         = 0x0d
	opBrTable      = 0x0e
	opCall         = 0x10
	opCallIndirect = 0x11
	opDrop         = 0x1a
	opSelectTyped  = 0x1c
	opLocalGet     = 0x20
	opLocalSet     = 0x21
	opLocalTee     = 0x22
	opGlobalGet    = 0x23
	opGlobalSet    = 0x24
	opTableGet     = 0x25
	opTableSet     = 0x26
	opFirstLoad    = 0x28
	opLastStore    = 0x3e
	opMemorySize   = 0x3f
	opMemoryGrow   = 0x40
	opI32Const     = 0x41
	opI64Const     = 0x42
	opF32Const     = 0x43
	opF64Const     = 0x44
	opI32Eqz       = 0x45
	opI32LtS       = 0x48
	opI32GeS       = 0x4e
	opI32Add       = 0x6a
	opI32Sub       = 0x6b
	opI32ShrU      = 0x76
	opLastNumeric  = 0xc4
	opRefNull      = 0xd0
	opRefIsNull    = 0xd1
	opRefFunc      = 0xd2
	opPrefixMisc   = 0xfc
	opPrefixVector = 0xfd

	blockEmpty = 0x40 // the type of a block without parameters and results
	typeI32    = 0x7f
)

// skipImmediates skips what follows the opcode op, except for the instructions that function.scan handles.
func (r *reader) skipImmediates(op byte) {
	switch {
	case op == opBr || op == opBrIf || op == opTableGet || op == opTableSet || op == opRefFunc:
		r.uint32()
	case op == opBrTable:
		for range r.count() {
			r.uint32()
		}
		r.uint32()
	case op == opSelectTyped:
		r.take(r.count())
	case op >= opFirstLoad && op <= opLastStore:
		r.memoryArgument()
	case op == opMemorySize || op == opMemoryGrow || op == opRefNull:
		r.byte()
	case op == opI32Const:
		r.skipInteger(32)
	case op == opI64Const:
		r.skipInteger(64)
	case op == opF32Const:
		r.take(4)
	case op == opF64Const:
		r.take(8)
	case op == opPrefixVector:
		r.skipVector()
	case op <= 0x01, op == 0x05, op == 0x0f, op == opDrop, op == 0x1b, op >= opI32Eqz && op <= opLastNumeric, op == opRefIsNull:
	default:
		r.fail(fmt.Sprintf("unknown instruction 0x%02x: want WebAssembly 2.0", op))
	}
}

func (r *reader) memoryArgument() {
	r.uint32()
	r.uint32()
}

// skipMisc skips what follows 0xfc: conversions, bulk memory and tables. It reports whether the instruction takes from the stack how
// many bytes or entries it copies or fills.
func (r *reader) skipMisc() (sized bool) {
	switch op := r.uint32(); {
	case op <= 7:
	case op == 11 || op == 17: // memory.fill, table.fill
		r.uint32()
		return true
	case op == 8 || op == 10 || op == 12 || op == 14: // memory.init, memory.copy, table.init, table.copy
		r.uint32()
		r.uint32()
		return true
	case op == 9 || op == 13 || op == 15 || op == 16:
		r.uint32()
	default:
		r.fail(fmt.Sprintf("unknown instruction 0xfc %d: want WebAssembly 2.0", op))
	}
	return false
}

// skipVector skips what follows 0xfd: vectors of 128 bits.
func (r *reader) skipVector() {
	switch op := r.uint32(); {
	case op <= 11 || op == 92 || op == 93:
		r.memoryArgument()
	case op == 12 || op == 13:
		r.take(16)
	case op >= 21 && op <= 34:
		r.byte()
	case op >= 84 && op <= 91:
		r.memoryArgument()
		r.byte()
	case op <= 255:
	default:
		r.fail(fmt.Sprintf("unknown instruction 0xfd %d: want WebAssembly 2.0", op))
	}
}
