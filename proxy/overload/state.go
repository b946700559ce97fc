package overload

import (
	"math/rand/v2"
	"sync/atomic"
	"time"
)

// Level says what is shed.
type Level uint8

// The levels.
const (
	Normal              Level = iota
	Shrinking                 // idle connections are closed, responses end their connections, queues are shorter
	RefusingRequests          // a share of the requests gets 503
	RefusingConnections       // new connections are closed when they are accepted
)

// String returns the level's name in /ready and in logs.
func (l Level) String() string {
	return [...]string{"normal", "shrinking", "refusing requests", "refusing connections"}[l]
}

// State is what a Manager has decided. Any goroutine may call its methods, also those of a nil State, which sheds nothing.
type State struct {
	word atomic.Uint32 // the level, whether to shrink, and the share of refused requests in units of 1/fullShare
}

const (
	levelMask  = 3
	shrinkBit  = 4
	shareShift = 8
	fullShare  = 1 << 16
)

func (s *State) set(l Level, share float64, shrinking bool) {
	w := uint32(l) | uint32(share*fullShare)<<shareShift
	if shrinking {
		w |= shrinkBit
	}
	s.word.Store(w)
}

// Level returns the current level.
func (s *State) Level() Level {
	if s == nil {
		return Normal
	}
	return Level(s.word.Load() & levelMask)
}

// RefusesRequest decides about one request.
func (s *State) RefusesRequest() bool { return s != nil && s.word.Load()>>shareShift != 0 && s.draw() }

func (s *State) draw() bool { return rand.Uint32N(fullShare) < s.word.Load()>>shareShift }

// RefusesConnection reports whether new connections are refused.
func (s *State) RefusesConnection() bool { return s.Level() >= RefusingConnections }

// EndsKeepAlive reports whether responses should end their connections. It is false if only the loops are late, because new
// connections would make them later.
func (s *State) EndsKeepAlive() bool { return s != nil && s.word.Load()&shrinkBit != 0 }

// RetryAfter returns a time after which a refused client should try again. It is random, so that not all clients return
// together.
func (s *State) RetryAfter() time.Duration { return time.Second + rand.N(4*time.Second) }
