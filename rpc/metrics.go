package rpc

import (
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"example.com/ferry/rpc/call"
)

const codes = call.Unauthenticated + 1

// MethodMetrics are the counters of one method, at a server or at a client. They only grow, but for InFlight.
type MethodMetrics struct {
	Method        string        // full name
	InFlight      int64         // calls in progress
	Codes         [codes]uint64 // calls that have ended, by call.Code. Codes that have no name count as Unknown
	Panics        uint64        // of the handler
	SentBytes     uint64        // encoded messages, uncompressed
	ReceivedBytes uint64
	Latency       Histogram // from the start of a call to its end
}

// ServerMetrics are the counters of a Server.
type ServerMetrics struct {
	Methods []MethodMetrics // sorted by name
	Unknown uint64          // calls of methods that the server does not have
}

// Metrics returns the current counters.
func (s *Server) Metrics() ServerMetrics {
	m := ServerMetrics{Unknown: s.unknown.Load()}
	for _, method := range *s.methods.Load() {
		m.Methods = append(m.Methods, method.stats.snapshot(method.name))
	}
	slices.SortFunc(m.Methods, byName)
	return m
}

func byName(a, b MethodMetrics) int { return strings.Compare(a.Method, b.Method) }

// methodCounters are the metrics of a method that are being counted.
type methodCounters struct {
	inFlight       atomic.Int64
	codes          [codes]atomic.Uint64
	panics         atomic.Uint64
	sent, received atomic.Uint64
	latency        histogram
}

func (m *methodCounters) ended(status *call.Status, took time.Duration, t *traffic) {
	code := call.OK
	if status != nil {
		code = status.Code
	}
	if code >= codes { // a peer may send any number
		code = call.Unknown
	}
	m.codes[code].Add(1)
	m.sent.Add(uint64(t.sentBytes.Load()))
	m.received.Add(uint64(t.receivedBytes.Load()))
	m.latency.add(took)
	m.inFlight.Add(-1)
}

func (m *methodCounters) snapshot(name string) MethodMetrics {
	s := MethodMetrics{
		Method: name, InFlight: m.inFlight.Load(), Panics: m.panics.Load(),
		SentBytes: m.sent.Load(), ReceivedBytes: m.received.Load(), Latency: m.latency.snapshot(),
	}
	for i := range m.codes {
		s.Codes[i] = m.codes[i].Load()
	}
	return s
}
