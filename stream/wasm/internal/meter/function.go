package meter

// What one counts against the fuel between two points of preemption, in iterations of a short loop.
const (
	fuel         = 256 << 10 // iterations between two points of preemption
	callCost     = 64        // of a call: it bounds what short loops in functions that are called often can hide
	callsCost    = 4         // of each call that a function makes, as a function without calls and loops is not charged itself
	freeCode     = 256       // bytes of such a function. A longer one is charged
	codeCost     = 16        // bytes of code outside of loops that cost as much as an iteration
	loopCode     = 64        // bytes of the body of a loop by which each iteration costs one more
	sizeShift    = 3         // 8 bytes that an instruction copies or fills cost as much as an iteration
	loopInterval = 256       // iterations of the loops of one call that are charged together
)

// function is the body of a function: its locals and its code.
type function struct {
	locals []byte // the groups of locals, without their number
	groups uint32
	next   uint32 // index of the first local that the function does not have
	code   []byte
	points []point
	calls  int // instructions that call functions
}

// point is a place in the code of a function where a charge is inserted.
type point struct {
	at     int // offset in code
	weight int // what an iteration of the loop that begins here costs; 0: here stands an instruction that takes a size from the stack
	calls  int // of the function before the loop
}

// noLoop stands for a block that is no loop, among blocks that are known by the numbers of their points.
const noLoop = -1

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
	var blocks []int // that are open
	for r.more() {
		at := r.pos - origin
		switch op := r.byte(); op {
		case opBlock, opIf:
			r.skipInteger(33)
			blocks = append(blocks, noLoop)
		case opLoop:
			r.skipInteger(33)
			blocks = append(blocks, len(f.points))
			f.points = append(f.points, point{at: r.pos - origin, weight: 1, calls: f.calls})
		case opEnd:
			if last := len(blocks) - 1; last >= 0 {
				if blocks[last] != noLoop {
					p := &f.points[blocks[last]]
					p.weight = 1 + f.calls - p.calls + (at-p.at)/loopCode
				}
				blocks = blocks[:last]
			}
		case opPrefixMisc:
			if r.skipMisc() {
				f.points = append(f.points, point{at: at})
			}
		case opCall:
			r.uint32()
			f.calls++
		case opCallIndirect:
			r.uint32()
			r.uint32()
			f.calls++
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
	if len(f.points) == 0 {
		s = append(appendUint(s, f.groups), f.locals...)
	} else {
		s = append(appendUint(s, f.groups+1), f.locals...)
		s = append(s, 2, typeI32) // a group of two locals
	}
	if f.calls > 0 || len(f.points) > 0 || len(f.code) > freeCode {
		s = appendPaid(s, n, int32(callCost+callsCost*f.calls+len(f.code)/codeCost))
	}
	if len(f.points) > 0 {
		s = f.appendStart(s)
	}
	from := 0
	for _, p := range f.points {
		s = append(s, f.code[from:p.at]...)
		if p.weight > 0 {
			s = f.appendCount(s, n, p.weight)
		} else {
			s = f.appendSize(s, n)
		}
		from = p.at
	}
	s = append(s, f.code[from:]...)
	return append(appendUint(b, uint32(len(s))), s...), s
}

// counter is the local that counts iterations.
func (f function) counter() uint32 { return f.next }

// size is the local for the operand of an instruction.
func (f function) size() uint32 { return f.next + 1 }

// appendStart appends the start of the count of a function with loops.
func (f function) appendStart(b []byte) []byte {
	b = appendInt(append(b, opI32Const), -loopInterval)
	return appendUint(append(b, opLocalSet), f.counter())
}

// appendCount appends what each iteration of a loop does: it counts up to 0, and then charges for loopInterval iterations. An
// iteration that costs more is charged each time.
func (f function) appendCount(b []byte, n names, weight int) []byte {
	if weight > loopInterval {
		return appendPaid(b, n, int32(weight))
	}
	b = appendUint(append(b, opLocalGet), f.counter())
	b = appendInt(append(b, opI32Const), int32(weight))
	b = appendUint(append(b, opI32Add, opLocalTee), f.counter())
	b = f.appendStart(append(b, opI32Const, 0, opI32GeS, opIf, blockEmpty))
	return append(appendUint(append(b, opCall), n.charge), opEnd)
}

// appendSize appends the code that charges for an instruction that copies or fills as many bytes, or entries of a table, as the number
// on top of the stack says.
func (f function) appendSize(b []byte, n names) []byte {
	b = appendUint(append(b, opLocalTee), f.size())
	b = appendUint(append(b, opGlobalGet), n.fuel())
	b = appendUint(append(b, opLocalGet), f.size())
	b = append(b, opI32Const, sizeShift, opI32ShrU, opI32Sub, opGlobalSet)
	return appendCheck(appendUint(b, n.fuel()), n)
}

// appendPaid appends the code that takes cost from the fuel, and charges if that is below 0.
func appendPaid(b []byte, n names, cost int32) []byte { return appendCheck(appendSpend(b, n, cost), n) }

// appendSpend appends the code that takes cost from the fuel.
func appendSpend(b []byte, n names, cost int32) []byte {
	b = appendUint(append(b, opGlobalGet), n.fuel())
	b = append(appendInt(append(b, opI32Const), cost), opI32Sub, opGlobalSet)
	return appendUint(b, n.fuel())
}

// appendCheck appends the code that calls the function that charges if the fuel is below 0.
func appendCheck(b []byte, n names) []byte {
	return append(appendUint(append(appendIfEmpty(b, n), opCall), n.charge), opEnd)
}

// appendIfEmpty appends the begin of a block for fuel below 0.
func appendIfEmpty(b []byte, n names) []byte {
	return append(appendUint(append(b, opGlobalGet), n.fuel()), opI32Const, 0, opI32LtS, opIf, blockEmpty)
}

// appendCharge appends the function that charges for loops, with its length before it. Without fuel it grows the memory by nothing,
// which leaves the compiled code for a moment, and traps if the host has set stop.
func appendCharge(b []byte, n names) []byte {
	s := []byte{0} // no locals
	s = appendIfEmpty(appendSpend(s, n, loopInterval), n)
	s = append(s, opI32Const, 0, opMemoryGrow, 0, opDrop, opGlobalGet)
	s = append(appendUint(s, n.stop()), opIf, blockEmpty, opUnreachable, opEnd, opI32Const)
	s = append(appendInt(s, fuel), opGlobalSet)
	s = append(appendUint(s, n.fuel()), opEnd, opEnd)
	return append(appendUint(b, uint32(len(s))), s...)
}
