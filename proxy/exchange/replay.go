package exchange

import (
	"iter"

	"example.com/ferry/loop"
)

const (
	maxReplay   = 64 << 10 // bytes of request body
	smallReplay = 512
)

// ReplayBuffer holds a copy of a request as received from the client. The copy serves retries and requests that wait
// for a connection. The access log uses the copy of the head. The zero value is ready after Reset.
type ReplayBuffer struct {
	// Whole means that the buffer holds every byte of the request that has arrived, so the request can be sent again.
	Whole bool

	// Deferred means that the body is not copied, because the request is sent only once, to a connection that is open. The Upstream
	// calls KeepUnsent if it finds that connection closed before a byte of the request was sent.
	Deferred bool

	headLen int       // length of the head in bytes; b starts with the head
	b       []byte    // the copy, in small or in held
	held    HeldBytes // empty while b uses small
	small   [smallReplay]byte
	loop    *loop.Loop // counts the memory of held
}

// KeepHead copies a head into the buffer. It does nothing if the buffer has a head.
func (r *ReplayBuffer) KeepHead(head []byte) {
	if r.headLen == 0 {
		r.append(head)
		r.headLen = len(head)
	}
}

// KeepBody copies bytes of the body into the buffer while Whole is true. A body that is too large makes Whole false, and so does a
// body that needs more memory while the loop is crowded.
func (r *ReplayBuffer) KeepBody(p []byte) {
	if !r.Whole {
		return
	}
	if len(r.b)-r.headLen+len(p) > maxReplay || len(r.b)+len(p) > cap(r.b) && r.loop.Crowded() {
		r.Forget()
		return
	}
	r.append(p)
}

// KeepUnsent copies a body whose copy was deferred. body yields all bytes of it that have arrived. It does nothing if Deferred is false.
func (r *ReplayBuffer) KeepUnsent(body iter.Seq[[]byte]) {
	if !r.Deferred {
		return
	}
	r.Whole, r.Deferred = true, false
	for piece := range body {
		r.KeepBody(piece)
	}
}

// Forget drops the body and makes Whole false: the request cannot be sent again.
func (r *ReplayBuffer) Forget() {
	r.b, r.Whole = r.b[:r.headLen], false
	if r.headLen <= smallReplay && !r.held.Empty() {
		r.b = append(r.small[:0], r.b...)
		r.held.Release()
	}
}

// Head returns the copied head, which is empty if there is none. It is valid until another method is called.
func (r *ReplayBuffer) Head() []byte { return r.b[:r.headLen:r.headLen] }

// Body returns the copied body bytes.
func (r *ReplayBuffer) Body() []byte { return r.b[r.headLen:] }

// Reset empties the buffer for another request.
func (r *ReplayBuffer) Reset() {
	r.held.Release()
	r.Whole, r.Deferred, r.headLen, r.b = false, false, 0, r.small[:0]
}

func (r *ReplayBuffer) append(p []byte) {
	if r.held.Empty() && len(r.b)+len(p) <= smallReplay {
		r.b = append(r.b, p...)
		return
	}
	if r.held.Empty() {
		r.held.Append(r.loop, r.b)
	}
	r.held.Append(r.loop, p)
	r.b = r.held.Bytes()
}
