package edge

import (
	"container/list"

	"example.com/ferry/loop"
)

// newcomers are the connections of an event loop whose clients are not identified yet. They have places and memory of their own, so they keep
// none from identified clients, and they give way to each other: beyond the places the oldest is closed, and beyond the memory the one that
// holds the most. So silent connections and halves of packets keep no other client out. Only the loop uses it.
type newcomers struct {
	places int
	memory int // bytes

	order list.List // values are *newcomer, the oldest first
	known map[*loop.Conn]*list.Element
	held  int // bytes of all
}

type newcomer struct {
	conn *loop.Conn
	held int // bytes
}

// newNewcomers returns an empty set with so many places, and bytes of memory.
func newNewcomers(places, memory int) *newcomers {
	return &newcomers{places: places, memory: memory, known: map[*loop.Conn]*list.Element{}}
}

// Add adds a connection, if it is not there. If all places are taken, it closes the oldest.
func (n *newcomers) Add(c *loop.Conn) {
	if n.known[c] != nil {
		return
	}
	for n.order.Len() >= n.places {
		n.end(n.order.Front())
	}
	n.known[c] = n.order.PushBack(&newcomer{conn: c})
}

// Hold notes that size bytes of the connection wait for the rest of their packet. If all hold too much, it closes the one that holds the most,
// which may be c.
func (n *newcomers) Hold(c *loop.Conn, size int) {
	e := n.known[c]
	if e == nil {
		return
	}
	at := e.Value.(*newcomer)
	n.held += size - at.held
	at.held = size
	for n.held > n.memory {
		most := n.order.Front()
		for e := most.Next(); e != nil; e = e.Next() {
			if e.Value.(*newcomer).held > most.Value.(*newcomer).held {
				most = e
			}
		}
		n.end(most)
	}
}

// Remove removes a connection, if it is there.
func (n *newcomers) Remove(c *loop.Conn) {
	if e := n.known[c]; e != nil {
		n.forget(e)
	}
}

// end closes a connection.
func (n *newcomers) end(e *list.Element) {
	c := e.Value.(*newcomer).conn
	n.forget(e)
	c.Close()
}

func (n *newcomers) forget(e *list.Element) {
	at := n.order.Remove(e).(*newcomer)
	n.held -= at.held
	delete(n.known, at.conn)
}
