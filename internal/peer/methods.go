package peer

import "example.com/ferry/protocol/native"

// MethodNumbers has the numbers that this end has given to methods on one stream. The lock of the stream's FrameWriter guards it.
// The zero value uses all numbers.
type MethodNumbers struct {
	// Limit bounds the numbers in use. Further methods replace earlier ones. Zero means native.MaxMethods.
	Limit int

	numbers   map[numbered]uint16
	byNumber  []numbered
	next      int // number that is used again when all are in use
	last      numbered
	lastValue uint16
}

type numbered struct{ method, content string }

// Announce returns the number of a method and a content type, and appends METHOD to w if the number is new.
func (m *MethodNumbers) Announce(w *FrameWriter, name, content string) uint16 {
	key := numbered{name, content}
	if key == m.last {
		return m.lastValue
	}
	n, known := m.numbers[key]
	if !known {
		n = m.assign(key)
		w.SetTail(native.AppendMethod(w.Tail(native.HeaderSize+8+len(name)+len(content)), native.MethodFrame{Number: n, Method: name, Content: content}))
	}
	m.last, m.lastValue = key, n
	return n
}

// assign gives key a number that is free, or that of another method.
func (m *MethodNumbers) assign(key numbered) (n uint16) {
	limit := m.Limit
	if limit == 0 {
		limit = native.MaxMethods
	}
	if m.numbers == nil {
		m.numbers = map[numbered]uint16{}
	}
	if len(m.byNumber) < limit {
		n = uint16(len(m.byNumber))
		m.byNumber = append(m.byNumber, key)
	} else {
		n = uint16(m.next)
		m.next = (m.next + 1) % limit
		delete(m.numbers, m.byNumber[n])
		m.byNumber[n] = key
	}
	m.numbers[key] = n
	return n
}
