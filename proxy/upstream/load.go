package upstream

import "sync/atomic"

// load counts an endpoint's active requests in the low bits of a word and its successful ones in the high bits: the end of a
// successful request is one atomic addition, not two.
type load struct{ word atomic.Uint64 }

const (
	loadBits    = 24
	maxRequests = 1<<loadBits - 1 // active requests
)

func (l *load) begin()   { l.word.Add(1) }
func (l *load) succeed() { l.word.Add(1<<loadBits - 1) }
func (l *load) fail()    { l.word.Add(^uint64(0)) }

func (l *load) active() int64    { return int64(l.word.Load() & maxRequests) }
func (l *load) succeeded() int64 { return int64(l.word.Load() >> loadBits) }
