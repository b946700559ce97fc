package meter

import (
	"bytes"
	"errors"
	"fmt"
)

// What a rewritten module exports beside its own exports.
const (
	Stop  = "ferry:stop"  // a mutable global of type i32: not 0 ends the call that runs
	Start = "ferry:start" // the module's start function, if it has one; it does not run by itself any more
)

const (
	maxLocals = 50_000 // of a function, as in wazero
	maxTables = 16     // of a module: each has memory of its own
)

// Limits bound what an instance of the module may use.
type Limits struct {
	MemoryPages  uint32 // of 64 KiB: the most that its memory may grow to
	TableEntries uint32 // the most that each of its tables may grow to
}

// The sections of a module. WebAssembly 2.0, section 5.5.2.
const (
	sectionCustom    = 0
	sectionType      = 1
	sectionImport    = 2
	sectionFunction  = 3
	sectionTable     = 4
	sectionMemory    = 5
	sectionGlobal    = 6
	sectionExport    = 7
	sectionStart     = 8
	sectionElement   = 9
	sectionCode      = 10
	sectionData      = 11
	sectionDataCount = 12
)

// order is the order of the sections in a module.
var order = []byte{
	sectionType, sectionImport, sectionFunction, sectionTable, sectionMemory, sectionGlobal, sectionExport, sectionStart,
	sectionElement, sectionDataCount, sectionCode, sectionData,
}

var preamble = []byte("\x00asm\x01\x00\x00\x00")

// ErrNoModule means that a file is not a WebAssembly module of version 1.
var ErrNoModule = errors.New("wasm: not a WebAssembly module: want a file that begins with 00 61 73 6d 01 00 00 00")

// Rewrite returns binary with counters, and with its memory and tables bounded by l. Custom sections other than the names of
// functions are left out. The error is ErrNoModule, a *SyntaxError, or says which limit the module exceeds. A module that Rewrite
// accepts may still be invalid, which its compiler finds.
func Rewrite(binary []byte, l Limits) ([]byte, error) {
	m, err := split(binary)
	if err != nil {
		return nil, err
	}
	for _, step := range []func() error{m.readTypes, m.readImports, m.readFunctions, func() error { return m.bound(l) }, m.addGlobals, m.addExports, m.addFunction} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	if m.sections[sectionCode], err = m.meterCode(); err != nil {
		return nil, err
	}
	b := append(make([]byte, 0, len(binary)+len(binary)/4), preamble...)
	for _, id := range order {
		if content := m.sections[id]; content != nil {
			b = append(appendUint(append(b, id), uint32(len(content))), content...)
		}
	}
	if m.nameSection != nil {
		b = append(appendUint(append(b, sectionCustom), uint32(len(m.nameSection))), m.nameSection...)
	}
	return b, nil
}

// module is a module that is being rewritten.
type module struct {
	sections    [sectionDataCount + 1][]byte // content by kind; nil means absent
	nameSection []byte

	params           []uint32 // number of parameters of each type
	importedFuncs    uint32
	functions        []uint32 // type of each function, imports aside
	startFunction    uint32
	hasStartFunction bool
	names
}

// split finds the sections.
func split(binary []byte) (*module, error) {
	if !bytes.HasPrefix(binary, preamble) {
		return nil, ErrNoModule
	}
	m := &module{}
	r := &reader{b: binary, pos: len(preamble)}
	for r.more() {
		id := r.byte()
		content := r.take(r.uint32())
		switch {
		case r.err != nil:
		case id > sectionDataCount:
			r.fail(fmt.Sprintf("unknown section %d", id))
		case id == sectionCustom:
			if isNames(content) {
				m.nameSection = content
			}
		case m.sections[id] != nil:
			r.fail(fmt.Sprintf("section %d occurs twice", id))
		default:
			m.sections[id] = content
		}
	}
	return m, r.err
}

// isNames reports whether a custom section has the names of functions.
func isNames(content []byte) bool {
	r := &reader{b: content}
	return string(r.take(r.uint32())) == "name" && r.err == nil
}

// read reads section id with f, which returns when it has read the whole section.
func (m *module) read(id byte, f func(r *reader)) error {
	if m.sections[id] == nil {
		return nil
	}
	r := &reader{b: m.sections[id]}
	f(r)
	if r.err == nil && r.pos < len(r.b) {
		r.fail("bytes follow the last item")
	}
	return in(id, r.err)
}

// in sets the section of a syntax error.
func in(id byte, err error) error {
	var syntax *SyntaxError
	if errors.As(err, &syntax) {
		syntax.Section = id
	}
	return err
}

// readTypes reads how many parameters each type of function has.
func (m *module) readTypes() error {
	return m.read(sectionType, func(r *reader) {
		for range r.count() {
			if r.byte() != 0x60 {
				r.fail("not the type of a function")
			}
			params := r.count()
			r.take(params)
			r.take(r.count())
			m.params = append(m.params, params)
		}
	})
}

// readImports counts what is imported.
func (m *module) readImports() error {
	return m.read(sectionImport, func(r *reader) {
		for range r.count() {
			from := r.take(r.uint32())
			name := r.take(r.uint32())
			switch kind := r.byte(); {
			case r.err != nil:
				return
			case kind == 0:
				r.uint32()
				m.importedFuncs++
			default:
				r.fail(fmt.Sprintf("%s.%s is not a function: the host gives functions only, so let the module have its own memory, tables and globals", from, name))
				return
			}
		}
	})
}

func (m *module) readFunctions() error {
	err := m.read(sectionFunction, func(r *reader) {
		for range r.count() {
			t := r.uint32()
			if uint64(t) >= uint64(len(m.params)) {
				r.fail(fmt.Sprintf("no type %d", t))
			}
			m.functions = append(m.functions, t)
		}
	})
	if err != nil {
		return err
	}
	m.charge = m.importedFuncs + uint32(len(m.functions))
	return m.read(sectionStart, func(r *reader) { m.startFunction, m.hasStartFunction = r.uint32(), true })
}

// bound sets the limits of memory and tables.
func (m *module) bound(l Limits) error {
	if m.sections[sectionMemory] == nil {
		return errors.New("wasm: the module has no memory: let it export one as memory")
	}
	var pages, entries int64
	err := m.limit(sectionMemory, l.MemoryPages, func(minimum uint32) string {
		return fmt.Sprintf("the module needs %d KiB of memory to start, and may have %d KiB: raise its memory limit", uint64(minimum)*64, uint64(l.MemoryPages)*64)
	}, &pages)
	if err != nil {
		return err
	}
	return m.limit(sectionTable, l.TableEntries, func(minimum uint32) string {
		return fmt.Sprintf("a table of %d entries: at most %d", minimum, l.TableEntries)
	}, &entries)
}

// limit writes the section of memories or tables again, with a maximum of at most most for each. It adds up the maxima in sum.
func (m *module) limit(id byte, most uint32, exceeded func(minimum uint32) string, sum *int64) error {
	var b []byte
	err := m.read(id, func(r *reader) {
		n := r.count()
		if id == sectionTable && n > maxTables {
			r.fail(fmt.Sprintf("%d tables: at most %d", n, maxTables))
			return
		}
		b = appendUint(b, n)
		for range n {
			if id == sectionTable {
				b = append(b, r.byte()) // the type of its entries
			}
			flags := r.byte()
			if flags > 1 {
				r.fail("memory that is shared or larger than 4 GiB")
			}
			minimum, maximum := r.uint32(), most
			if flags == 1 {
				maximum = min(most, r.uint32())
			}
			if minimum > most {
				r.fail(exceeded(minimum))
			}
			*sum += int64(maximum)
			b = appendUint(append(b, 1), minimum)
			b = appendUint(b, maximum)
		}
	})
	if m.sections[id] != nil {
		m.sections[id] = b
	}
	return err
}

// addGlobals adds the globals fuel and stop.
func (m *module) addGlobals() error {
	own, rest := uint32(0), []byte(nil)
	if s := m.sections[sectionGlobal]; s != nil {
		r := &reader{b: s}
		own = r.count()
		if r.err != nil {
			return in(sectionGlobal, r.err)
		}
		rest = s[r.pos:]
	}
	m.globals = own
	b := append(appendUint(nil, own+2), rest...)
	b = append(b, typeI32, 1, opI32Const)
	b = append(appendInt(b, fuel), opEnd)
	b = append(b, typeI32, 1, opI32Const, 0, opEnd)
	m.sections[sectionGlobal] = b
	return nil
}

// addExports exports stop, and the start function.
func (m *module) addExports() error {
	var n uint32
	var rest []byte
	err := m.read(sectionExport, func(r *reader) {
		n = r.count()
		from := r.pos
		for range n {
			r.take(r.uint32())
			kind, index := r.byte(), r.uint32()
			if kind == 3 && index >= m.globals || kind == 0 && index >= m.charge {
				r.fail("an export of what the module does not have")
			}
		}
		rest = r.b[from:r.pos]
	})
	if err != nil {
		return err
	}
	added := uint32(1)
	if m.hasStartFunction {
		added++
	}
	b := append(appendUint(nil, n+added), rest...)
	b = appendUint(append(appendName(b, Stop), 3), m.stop())
	if m.hasStartFunction {
		b = appendUint(append(appendName(b, Start), 0), m.startFunction)
		m.sections[sectionStart] = nil
	}
	m.sections[sectionExport] = b
	return nil
}

// addFunction adds the type and the declaration of the function that charges for loops.
func (m *module) addFunction() error {
	types := m.sections[sectionType]
	r := &reader{b: types}
	if types != nil {
		r.uint32()
	}
	b := append(appendUint(nil, uint32(len(m.params))+1), types[r.pos:]...)
	m.sections[sectionType] = append(b, 0x60, 0, 0)
	b = appendUint(nil, uint32(len(m.functions))+1)
	for _, t := range m.functions {
		b = appendUint(b, t)
	}
	m.sections[sectionFunction] = appendUint(b, uint32(len(m.params)))
	return nil
}

// meterCode returns the section of code with counters.
func (m *module) meterCode() ([]byte, error) {
	s := m.sections[sectionCode]
	if s == nil && len(m.functions) > 0 {
		return nil, &SyntaxError{Section: sectionCode, Reason: "it is missing"}
	}
	b := appendUint(make([]byte, 0, len(s)+len(s)/4), uint32(len(m.functions))+1)
	var scratch []byte
	err := m.read(sectionCode, func(r *reader) {
		if n := r.count(); n != uint32(len(m.functions)) {
			r.fail(fmt.Sprintf("%d functions, and %d are declared", n, len(m.functions)))
		}
		for _, t := range m.functions {
			body := r.take(r.uint32())
			if r.err != nil {
				return
			}
			f, err := scan(body, m.params[t], m.names)
			if err != nil {
				r.pos -= len(body)
				r.fail(err.Error())
				return
			}
			b, scratch = f.appendTo(b, scratch, m.names)
		}
	})
	return appendCharge(b, m.names), err
}
