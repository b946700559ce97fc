package link

import (
	"time"

	"example.com/ferry/internal/peer"
)

// epochs says which messages are safe. The messages that Push takes between two calls of Await are an epoch. Its number is their
// position. A position is safe when its epoch, and all before it, have no unsafe bytes.
type epochs struct {
	first uint64 // number of the first of list
	list  peer.FIFO[epoch]
	rooms map[*room]bool
}

type epoch struct {
	unsafe int // bytes
	since  time.Time
	done   []func() // the calls of Await
}

// room is a call of AwaitRoom.
type room struct{ resume func() }

// current returns the number of the epoch in which Push takes messages.
func (e *epochs) current() uint64 {
	if e.list.Len() == 0 {
		e.list.Push(epoch{})
	}
	return e.first + uint64(e.list.Len()) - 1
}

// add changes the unsafe bytes of an epoch.
func (e *epochs) add(number uint64, n int) { e.list.All()[number-e.first].unsafe += n }

// await adds a call that is due once a position is safe. It returns false if the position is safe already. Messages that Push takes
// later have another position.
func (e *epochs) await(position uint64, done func()) bool {
	current := e.current()
	if position < e.first {
		return false
	}
	at := &e.list.All()[position-e.first]
	if len(at.done) == 0 {
		at.since = time.Now()
	}
	at.done = append(at.done, done)
	if position == current {
		e.list.Push(epoch{})
	}
	return true
}

// oldest returns when the first call of await was made that is not due. ok is false if there is none.
func (e *epochs) oldest() (since time.Time, ok bool) {
	for i := range e.list.All() {
		if at := &e.list.All()[i]; len(at.done) > 0 {
			return at.since, true
		}
	}
	return time.Time{}, false
}

// due removes and returns the calls that are due.
func (e *epochs) due(hasRoom bool) (calls []func()) {
	for e.list.Len() > 1 && e.list.Front().unsafe == 0 {
		calls = append(calls, e.list.Pop().done...)
		e.first++
	}
	if hasRoom && len(e.rooms) > 0 {
		for r := range e.rooms {
			calls = append(calls, r.resume)
		}
		clear(e.rooms)
	}
	return calls
}

// awaitRoom adds a call that is due once there is room. remove releases it, and needs the same lock.
func (e *epochs) awaitRoom(resume func()) (remove func()) {
	r := &room{resume}
	if e.rooms == nil {
		e.rooms = map[*room]bool{}
	}
	e.rooms[r] = true
	return func() { delete(e.rooms, r) }
}
