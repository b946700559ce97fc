package loop

// What one connection may use while its loop is crowded, in bytes.
const (
	crowdedQueue  = 8 << 10  // queued
	crowdedUnread = 16 << 10 // unread, if the connection was accepted
	leastUnread   = 4 << 10  // the same at twice Config.QueueMemory
)

// crowded reports whether the write queues and the unread bytes of all connections exceed Config.QueueMemory. Each queue is
// then full at 8 KiB, reads are that short too, and an accepted connection that leaves more than 16 KiB unread is reset; at
// twice the memory, one that leaves more than 4 KiB. So many connections that are slow together cannot take more memory than
// there is, although each may have a long queue alone.
func (l *Loop) crowded() bool { return l.memory() > l.cfg.QueueMemory }

// memory returns the bytes of all write queues and of all unread bytes, and those that handlers hold.
func (l *Loop) memory() int { return l.free.bytes + l.unreadBytes + l.held }

// Hold adds n bytes to the memory that Config.QueueMemory bounds. Handlers call it for buffers that they keep beside the queues
// of the loop, and again with -n when they release them. Only code on the loop may call it.
func (l *Loop) Hold(n int) { l.held += n }

// Hold is Loop.Hold.
func (c *Conn) Hold(n int) { c.loop.Hold(n) }

// Crowded reports whether the memory of all queues exceeds Config.QueueMemory. Handlers then keep no bytes that they can do
// without. Only code on the loop may call it.
func (l *Loop) Crowded() bool { return l.crowded() }

// Crowded is Loop.Crowded.
func (c *Conn) Crowded() bool { return c.loop.crowded() }

// SetQueueMemory replaces Config.QueueMemory, in bytes. Only code on the loop may call it.
func (l *Loop) SetQueueMemory(n int) { l.cfg.QueueMemory = n }

// unreadLimit returns how many bytes c may leave unread.
func (c *Conn) unreadLimit() int {
	cfg := &c.loop.cfg
	switch {
	case !c.is(accepted) || !c.loop.crowded():
		return cfg.MaxUnread
	case c.loop.memory()/2 > cfg.QueueMemory:
		return min(cfg.MaxUnread, leastUnread)
	}
	return min(cfg.MaxUnread, crowdedUnread)
}

// readLimit returns how many bytes one read may return.
func (l *Loop) readLimit() int {
	if l.crowded() {
		return min(l.cfg.ReadBuffer, crowdedQueue)
	}
	return l.cfg.ReadBuffer
}

// The most that one splice moves, in bytes. What the other socket does not accept of it is copied to its queue.
const (
	spliceBytes  = 256 << 10
	leastSpliced = 64 << 10 // once the queues of the loop have spliceQueues bytes
	spliceQueues = 2 << 20
)

// spliceLimit returns how many bytes one splice may move. It is less while many sockets do not accept all, so that many slow peers
// leave little in the process.
func (l *Loop) spliceLimit() int {
	switch {
	case l.crowded():
		return crowdedQueue
	case l.memory() > spliceQueues:
		return leastSpliced
	}
	return spliceBytes
}
