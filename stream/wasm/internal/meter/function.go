package meter

// What one counts against the fuel between two points of preemption.
const (
	fuel         = 256 << 10 // loop iterations between two points of preemption
	callCost     = 64        // of a call, in loop iterations: it bounds what short loops in functions that are called often can hide
	loopInterval = 256       // iterations of the loops of one call that are charged together
)

// function is the body of a function: its locals and its code.
type function struct {
	locals []byte // the groups of locals, without their number
	groups uint32
	next   uint32 // index of the first local that the function does not have
	code   []byte
	loops  []int // offsets in code behind the head of each loop
	calls  bool  // it calls functions
}

// names are the indices that a rewritten module has beside those of the original one.
type names struct {
	globals uint32 // number of globals of the original module; fuel is the next one, and stop the one behind it
	charge  uint32 // index of the function that charges for loops
}

func (n names) fuel() uint32 { return n.globals }
func (n names) stop() uint32 { return n.globals + 1 }

// scan reads the body of a function with params parameters. It refuses indices of the locals and globals that Rewrite adds: they
// are invalid in the original module, and would let a guest change its own counters.
func scan(body []byte, params uint32, n names) (function, error) {
	r := &reader{b: body}
	f := function{next: params}
	f.groups = r.count()
	start := r.pos
	for range f.groups {
		count := r.uint32()
		if f.next+count < f.next || f.next+count > maxLocals {
			r.fail("too many locals")
		}
		f.next += count
		r.byte()
	}
	if r.err != nil {
		return f, r.err
	}
	f.locals, f.code = body[start:r.pos], body[r.pos:]
	origin := r.pos
	for r.more() {
		switch op := r.byte(); op {
		case opLoop:
			r.skipInteger(33)
			f.loops = append(f.loops, r.pos-origin)
		case opCall:
			r.uint32()
			f.calls = true
		case opCallIndirect:
			r.uint32()
			r.uint32()
			f.calls = true
		case opLocalGet, opLocalSet, opLocalTee:
			if r.uint32() >= f.next {
				r.fail("no such local")
			}
		case opGlobalGet, opGlobalSet:
			if r.uint32() >= n.globals {
				r.fail("no such global")
			}
		default:
			r.skipImmediates(op)
		}
	}
	return f, r.err
}

// appendTo appends the body with its counters, and its length before it. scratch is memory that is used again.
func (f function) appendTo(b, scratch []byte, n names) (extended, used []byte) {
	s := scratch[:0]
	if len(f.loops) == 0 {
		s = append(appendUint(s, f.groups), f.locals...)
	} else {
		s = append(appendUint(s, f.groups+1), f.locals...)
		s = append(s, 1, typeI32) // a group of one local
	}
	if f.calls || len(f.loops) > 0 {
		s = appendSpend(s, n, callCost)
		s = append(s, opIf, blockEmpty, opCall)
		s = append(appendUint(s, n.charge), opEnd)
	}
	if len(f.loops) > 0 {
		s = f.appendStart(s)
	}
	from := 0
	for _, at := range f.loops {
		s = append(s, f.code[from:at]...)
		s = f.appendCount(s, n)
		from = at
	}
	s = append(s, f.code[from:]...)
	return append(appendUint(b, uint32(len(s))), s...), s
}

// appendStart appends the start of the count of a function with loops.
func (f function) appendStart(b []byte) []byte {
	b = appendInt(append(b, opI32Const), -loopInterval)
	return appendUint(append(b, opLocalSet), f.next)
}

// appendCount appends what each iteration of a loop does: it counts up to 0, and then charges for loopInterval iterations.
func (f function) appendCount(b []byte, n names) []byte {
	b = appendUint(append(b, opLocalGet), f.next)
	b = appendUint(append(b, opI32Const, 1, opI32Add, opLocalTee), f.next)
	b = f.appendStart(append(b, opI32Eqz, opIf, blockEmpty))
	return append(appendUint(append(b, opCall), n.charge), opEnd)
}

// appendSpend appends the code that takes cost from the fuel, and leaves on the stack whether the fuel is below 0.
func appendSpend(b []byte, n names, cost int32) []byte {
	b = appendUint(append(b, opGlobalGet), n.fuel())
	b = append(appendInt(append(b, opI32Const), cost), opI32Sub, opGlobalSet)
	b = appendUint(b, n.fuel())
	b = appendUint(append(b, opGlobalGet), n.fuel())
	return append(b, opI32Const, 0, opI32LtS)
}

// appendCharge appends the function that charges for loops, with its length before it. Without fuel it grows the memory by nothing,
// which leaves the compiled code for a moment, and traps if the host has set stop.
func appendCharge(b []byte, n names) []byte {
	s := []byte{0} // no locals
	s = appendSpend(s, n, loopInterval)
	s = append(s, opIf, blockEmpty, opI32Const, 0, opMemoryGrow, 0, opDrop, opGlobalGet)
	s = append(appendUint(s, n.stop()), opIf, blockEmpty, opUnreachable, opEnd, opI32Const)
	s = append(appendInt(s, fuel), opGlobalSet)
	s = append(appendUint(s, n.fuel()), opEnd, opEnd)
	return append(appendUint(b, uint32(len(s))), s...)
}
