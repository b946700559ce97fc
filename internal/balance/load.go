package balance

import "sync/atomic"

// load is a word that counts an endpoint's active requests in its low bits and the successful requests in its high
// bits. So one atomic addition records the end of a successful request.
type load struct{ word atomic.Uint64 }

const (
	loadBits    = 24
	maxRequests = 1<<loadBits - 1 // largest number of active requests
)

func (l *load) begin()   { l.word.Add(1) }
func (l *load) succeed() { l.word.Add(1<<loadBits - 1) }
func (l *load) fail()    { l.word.Add(^uint64(0)) }

func (l *load) active() int64    { return int64(l.word.Load() & maxRequests) }
func (l *load) succeeded() int64 { return int64(l.word.Load() >> loadBits) }
