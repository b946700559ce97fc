package forward

import (
	"example.com/ferry/internal/peer"
	"example.com/ferry/link"
	"example.com/ferry/protocol/native"
)

var _ link.Wire = (*conn)(nil)

// Send appends frames to the connection, as far as the tag has credit. It drops what the other node does not take. See link.Wire.
func (c *conn) Send(name string, path *native.Path, frames []byte, u *peer.Unflushed) (size, count int) {
	l := c.link
	if path != nil && l.pointless(*path, peer.Count(frames)) {
		n := peer.Count(frames)
		l.Box.Uncount(n)
		return len(frames), n
	}
	t := l.tagOf(c, name)
	for size < len(frames) {
		ok, drop := c.ready(t)
		if drop {
			n := peer.Count(frames[size:])
			l.Box.Refuse(n)
			return len(frames), count + n
		}
		if !ok {
			return size, count
		}
		n, k, tooLong := c.fitting(t, frames[size:])
		if n > 0 && !c.append(t, path, frames[size:size+n], u) {
			return size, count
		}
		size, count = size+n, count+k
		if tooLong {
			l.Box.Drop(dropTooLong, 1)
			l.Box.Uncount(1)
			size, count = size+native.Size(frames[size:]), count+1
		}
	}
	return size, count
}

// Expect requests a tag whose messages will be sent soon.
func (c *conn) Expect(name string) { c.request(c.link.tagOf(c, name)) }

// ConfirmSoon asks for the confirmation of what was sent.
func (c *conn) ConfirmSoon() { signal(c.link.confirmSoon) }

// fitting returns the length and the number of the leading frames that the credit of t allows: the last one may exceed it. tooLong is
// set if a frame follows that is longer than the other node takes.
func (c *conn) fitting(t *Tag, frames []byte) (n, count int, tooLong bool) {
	for n < len(frames) && n < t.credit {
		size := native.Size(frames[n:])
		if size > c.maxFrame {
			return n, count, true
		}
		n += size
		count++
	}
	return n, count, false
}

// append appends frames to the stream of t, with the tag number and the path number of the connection. It returns false if the
// connection is closing.
func (c *conn) append(t *Tag, path *native.Path, frames []byte, u *peer.Unflushed) bool {
	l, w := c.link, t.out.writer
	forwards := c.peer.Version() >= native.ForwardVersion
	w.Lock()
	if w.Closed() {
		w.Unlock()
		return false
	}
	number := c.source
	if forwards {
		number = t.out.pathNumber(path, l.own)
	}
	w.Append(frames)
	tail := w.Tail(0)
	for b := tail[len(tail)-len(frames):]; len(b) > 0; b = b[native.Size(b):] {
		f := native.Frame(b)
		f.Address(t.number, number)
		if !forwards {
			f.SetFlags(0)
		}
	}
	t.credit -= len(frames)
	l.uses++
	t.used = l.uses
	u.Unlock(w)
	return true
}

// pathNumber returns the number of a path on the stream, to which own is added. It announces the path if necessary. The caller holds
// the lock of the writer.
func (o *outStream) pathNumber(path *native.Path, own native.Path) uint32 {
	if number, ok := o.paths[path]; ok {
		return number
	}
	if len(o.paths) == native.MaxPaths {
		clear(o.paths) // their numbers get another meaning
	}
	number := uint32(len(o.paths))
	o.paths[path] = number
	full := own
	if path != nil {
		full = append(append(make(native.Path, 0, len(*path)+1), *path...), own...)
	}
	size := native.HeaderSize + 8
	for _, node := range full {
		size += 2 + len(node)
	}
	o.writer.SetTail(native.AppendForward(o.writer.Tail(size), native.ForwardFrame{Number: number, Path: full}))
	return number
}
