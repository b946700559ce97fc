package exchange

import "example.com/ferry/internal/bufpool"

const (
	maxReplay   = 64 << 10 // bytes of body that are kept
	smallReplay = 1 << 10
)

// ReplayBuffer keeps a request as it came from the client, for a retry, for a request that waits for a connection, and its
// head for the access log. The zero value is ready after Reset.
type ReplayBuffer struct {
	// Whole says that the buffer has all of the request that has come so far, so that it can be sent again.
	Whole bool

	head  int // bytes of b
	b     []byte
	buf   *bufpool.Buf // holds b, if that is not small
	small [smallReplay]byte
}

// KeepHead keeps a copy of a head, unless there is one.
func (r *ReplayBuffer) KeepHead(head []byte) {
	if r.head == 0 {
		r.append(head)
		r.head = len(head)
	}
}

// KeepBody keeps bytes of the body, while the request is whole; one that is too large is not whole any more.
func (r *ReplayBuffer) KeepBody(p []byte) {
	if !r.Whole {
		return
	}
	if len(r.b)-r.head+len(p) > maxReplay {
		r.Forget()
		return
	}
	r.append(p)
}

// Forget drops the body: the request cannot be sent again.
func (r *ReplayBuffer) Forget() { r.b, r.Whole = r.b[:r.head], false }

// Head returns the head, which is empty if none was kept. It is valid until the next call of another method.
func (r *ReplayBuffer) Head() []byte { return r.b[:r.head:r.head] }

// Body returns what is kept of the body.
func (r *ReplayBuffer) Body() []byte { return r.b[r.head:] }

// Reset makes the buffer empty, for another request.
func (r *ReplayBuffer) Reset() {
	if r.buf != nil {
		r.buf.Release()
	}
	r.Whole, r.head, r.b, r.buf = false, 0, r.small[:0], nil
}

func (r *ReplayBuffer) append(p []byte) {
	if need := len(r.b) + len(p); need > cap(r.b) {
		larger := bufpool.Get(need)
		larger.B = append(larger.B, r.b...)
		if r.buf != nil {
			r.buf.Release()
		}
		r.buf, r.b = larger, larger.B
	}
	r.b = append(r.b, p...)
}
