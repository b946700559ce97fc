// Package newcomers bounds the connections of a listener whose clients are not identified yet.
package newcomers

import "container/list"

// Set has connections whose clients are not identified yet. They have places and memory of their own, so they keep none from identified clients, and they give
// way to each other: beyond the places the oldest is closed, and beyond the memory the one that holds the most. So silent connections and halves of packets
// keep no other client out. Its methods must not overlap.
type Set[C comparable] struct {
	places int
	memory int // bytes
	end    func(C)

	order list.List // values are *newcomer, the oldest first
	known map[C]*list.Element
	held  int // bytes of all
}

type newcomer[C comparable] struct {
	conn C
	held int // bytes
}

// New returns an empty set with so many places, and bytes of memory. It calls end for a connection that gives way, which it has removed.
func New[C comparable](places, memory int, end func(C)) *Set[C] {
	return &Set[C]{places: places, memory: memory, end: end, known: map[C]*list.Element{}}
}

// Add adds a connection, if it is not there. If all places are taken, it ends the oldest.
func (s *Set[C]) Add(c C) {
	if s.known[c] != nil {
		return
	}
	for s.order.Len() >= s.places {
		s.giveWay(s.order.Front())
	}
	s.known[c] = s.order.PushBack(&newcomer[C]{conn: c})
}

// Hold notes that size bytes of the connection wait for the rest of their packet. If all hold too much, it ends the one that holds the most,
// which may be c.
func (s *Set[C]) Hold(c C, size int) {
	e := s.known[c]
	if e == nil {
		return
	}
	at := e.Value.(*newcomer[C])
	s.held += size - at.held
	at.held = size
	for s.held > s.memory {
		most := s.order.Front()
		for e := most.Next(); e != nil; e = e.Next() {
			if e.Value.(*newcomer[C]).held > most.Value.(*newcomer[C]).held {
				most = e
			}
		}
		s.giveWay(most)
	}
}

// Remove removes a connection. It returns false if it is not there.
func (s *Set[C]) Remove(c C) bool {
	e := s.known[c]
	if e != nil {
		s.forget(e)
	}
	return e != nil
}

func (s *Set[C]) giveWay(e *list.Element) {
	c := e.Value.(*newcomer[C]).conn
	s.forget(e)
	s.end(c)
}

func (s *Set[C]) forget(e *list.Element) {
	at := s.order.Remove(e).(*newcomer[C])
	s.held -= at.held
	delete(s.known, at.conn)
}
