package native

import (
	"errors"
	"io"
	"time"

	"example.com/ferry/internal/peer"
	wire "example.com/ferry/protocol/native"
	"example.com/ferry/rpc/call"
)

var _ call.ServerStream = (*incoming)(nil)

func (in *incoming) Head() *call.Head { return &in.head }
func (in *incoming) Peer() *call.Peer { return &in.s.remote }

// Recv returns the next request. Finish ends it.
func (in *incoming) Recv() ([]byte, error) {
	s := in.s
	var late <-chan time.Time // of a wait for room
	for {
		s.mu.Lock()
		if in.sending.closed {
			s.mu.Unlock()
			return nil, errFinished
		}
		in.current.free()
		in.current = nil
		in.hold(0)
		var news <-chan struct{}
		switch m := in.inbox.first; {
		case m != nil && (!m.compressed || in.reserve()):
			in.inbox.take()
			data, compressed := m.b, m.compressed
			credit := s.read(in, len(data))
			if !compressed {
				in.current = m // Finish may free it from now on
			}
			s.mu.Unlock()
			if credit > 0 {
				s.sendCredit(in.w, in.id, credit)
			}
			if compressed {
				return in.expand(m)
			}
			return data, nil
		case m != nil:
			news = s.shrunk.wait()
			if late == nil {
				timer := time.NewTimer(s.cfg.WriteTimeout)
				defer timer.Stop()
				late = timer.C
			}
		case in.failed != nil:
			defer s.mu.Unlock()
			return nil, in.failed
		case in.inbox.ended && in.inbox.partial == nil:
			s.mu.Unlock()
			return nil, io.EOF
		default:
			news = in.news.wait()
		}
		s.mu.Unlock()
		select {
		case <-news:
		case <-in.ctx.Done():
			return nil, call.StatusOf(in.ctx.Err())
		case <-late:
			return nil, call.Errorf(call.ResourceExhausted, "decompressed requests of this connection have used its window of %d bytes for %v", s.cfg.Window, s.cfg.WriteTimeout)
		}
	}
}

// expand decompresses a request and makes it the current one. The error is a *call.Status, or errFinished.
func (in *incoming) expand(m *message) ([]byte, error) {
	m, err := unpack(m, in.head.Compression, in.s.cfg.MaxMessage)
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	switch {
	case err != nil:
		in.hold(0)
		return nil, err
	case in.sending.closed: // Finish has not waited for it
		in.hold(0)
		m.free()
		return nil, errFinished
	}
	in.hold(len(m.b))
	in.current = m
	return m.b, nil
}

// reserve counts the longest message as held, before a request is decompressed. It returns false if that exceeds the window: a few
// bytes may become a message of any length up to the limit, and the window counts bytes as they travel. It is called under the lock.
func (in *incoming) reserve() bool {
	s := in.s
	if s.expanded > 0 && s.expanded+s.cfg.MaxMessage > s.cfg.Window {
		return false
	}
	in.hold(s.cfg.MaxMessage)
	return true
}

// hold replaces the number of decompressed bytes that the call counts as held. It is called under the lock.
func (in *incoming) hold(bytes int) {
	s, less := in.s, bytes < in.expanded
	s.expanded += bytes - in.expanded
	s.account.Add(bytes - in.expanded)
	in.expanded = bytes
	if less {
		s.shrunk.fire()
	}
}

// read notes that a request of n bytes was read, and returns how many bytes of credit to return now. It is called under the lock.
func (s *session) read(in *incoming, n int) (credit int) {
	switch {
	case in.unary: // REPLY returns the credit
		return 0
	case in.single:
		s.count(in, -in.counted)
		n = in.charged
		in.charged = 0
		s.taken -= n
		return n
	}
	s.count(in, -min(n, in.counted)) // none is left of a call that was discarded
	if in.inbox.ended {
		return 0
	}
	return in.inbox.returned(n+wire.MessageOverhead, s.cfg.StreamWindow)
}

// sendCredit sends CALLCREDIT.
func (s *session) sendCredit(w *peer.FrameWriter, id uint32, bytes int) {
	w.Lock()
	if !w.Closed() {
		w.SetTail(wire.AppendCallCredit(w.Tail(wire.HeaderSize+8), wire.CallCreditFrame{Call: id, Bytes: uint32(bytes)}))
	}
	w.Unlock()
}

var (
	errHeaderSent = errors.New("native: SetHeader after the header was sent")
	errFinished   = errors.New("native: the call has ended")
)

// SetHeader adds fields to the header.
func (in *incoming) SetHeader(md call.Metadata) error {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	if in.sent || in.sending.closed {
		return errHeaderSent
	}
	for _, f := range md {
		if err := checkField(&f); err != nil {
			return err
		}
	}
	in.header = append(in.header, md...)
	return nil
}

// Send sends a response.
func (in *incoming) Send(data []byte) error {
	d := wire.DataFrame{Call: in.id, Message: data}
	if err := in.addHeader(&d); err != nil {
		return err
	}
	ended, err := in.s.sendMessage(wait{ctx: in.ctx}, in.w, &in.sending, d, in.head.Compression)
	if ended {
		return errFinished
	}
	return err
}

// addHeader adds the header to d if it was not sent. The error is a *call.Status.
func (in *incoming) addHeader(d *wire.DataFrame) (err error) {
	if header := in.takeHeader(); len(header) > 0 {
		d.Extension, err = appendMetadata(nil, wire.TLVMetadata, header)
	}
	return err
}

// takeHeader returns the header if it was not sent, and notes that it was.
func (in *incoming) takeHeader() call.Metadata {
	in.s.mu.Lock()
	defer in.s.mu.Unlock()
	if in.sent {
		return nil
	}
	in.sent = true
	return in.header
}

// Finish ends the call.
func (in *incoming) Finish(last []byte, status *call.Status, trailer call.Metadata) {
	s := in.s
	var space [512]byte
	packed := newMessage()
	defer packed.free()
	r := wire.ReplyFrame{Flags: wire.FlagNoMessage, Call: in.id}
	var err error
	if last != nil {
		r.Flags = 0
		r.Message, err = pack(packed, in.head.Compression, last)
		if packed.compressed {
			r.Flags = wire.FlagCompressed
		}
	}
	if err == nil && last != nil {
		err = in.sendFirstPieces(&r)
	}
	if err == nil {
		err = in.completeReply(&r, space[:0], status, trailer)
	}
	if err != nil {
		failed := status // what the handler says, without the metadata that the wire cannot carry
		if failed == nil {
			failed = call.StatusOf(err)
		}
		r = wire.ReplyFrame{Flags: wire.FlagNoMessage, Call: in.id, Code: uint32(failed.Code)}
		r.Extension = appendStatus(space[:0], failed, wire.MaxCallExtension)
	}
	s.mu.Lock()
	delete(s.incoming, in.id)
	s.taken -= in.charged
	in.hold(0)
	in.discard()
	in.sending.close()
	in.news.fire()
	var current *message
	if in.unary { // last may lie in it. A goroutine that the handler of a stream has left may still read it
		current, in.current = in.current, nil
	}
	lost := s.lost != nil // onClosing has ended the context, which is no cause of the caller's
	s.mu.Unlock()
	in.w.Lock()
	if !lost && !in.w.Closed() {
		in.w.SetTail(wire.AppendReply(in.w.Tail(wire.ReplyHeaderSize+8+len(r.Extension)+len(r.Message)), r))
	}
	in.w.Unlock()
	current.free()
}

// completeReply adds what REPLY has beside its message. The error is a *call.Status.
func (in *incoming) completeReply(r *wire.ReplyFrame, ext []byte, status *call.Status, trailer call.Metadata) (err error) {
	if status != nil {
		r.Code = uint32(status.Code)
	}
	header := in.header
	if !in.unary || in.sent { // a handler of a stream may have left a goroutine in Send
		header = in.takeHeader()
	}
	if len(header) > 0 {
		if ext, err = appendMetadata(ext, wire.TLVMetadata, header); err != nil {
			return ofHandler(err)
		}
	}
	if len(trailer) > 0 {
		if ext, err = appendMetadata(ext, wire.TLVTrailer, trailer); err != nil {
			return ofHandler(err)
		}
	}
	room := wire.MaxCallExtension - len(ext)
	if status != nil && room < leastStatus {
		return status
	}
	r.Extension = appendStatus(ext, status, room)
	return nil
}

// leastStatus is the room that a status needs when it is cut, in bytes.
const leastStatus = 256

// ofHandler makes the handler responsible for metadata that the wire cannot carry: its caller can change nothing about it.
func ofHandler(err error) error {
	return &call.Status{Code: call.Internal, Message: "the handler sets a header or trailer that cannot be sent: " + call.StatusOf(err).Message}
}

// sendFirstPieces sends all but the last piece of r.Message, and waits until there is room for the last one. Pieces in DATA take
// credit: the caller cannot know that they belong to the last response.
func (in *incoming) sendFirstPieces(r *wire.ReplyFrame) error {
	s := in.s
	n := (len(r.Message) - 1) / s.piece * s.piece
	if n > 0 {
		s.hold(n)
		defer s.hold(-n)
		d := wire.DataFrame{Flags: r.Flags, Call: in.id, Message: r.Message[:n]}
		idle := wait{ctx: in.ctx, at: time.Now().Add(s.cfg.WriteTimeout)}
		if _, err := s.take(idle, &in.sending, len(r.Message)+wire.MessageOverhead); err != nil {
			if in.ctx.Err() == nil {
				err = call.Errorf(call.ResourceExhausted, "the caller has given no credit for the last message within %v", s.cfg.WriteTimeout)
			}
			return err
		}
		if err := in.addHeader(&d); err != nil {
			return err
		}
		if err := s.sendPieces(wait{ctx: in.ctx}, in.w, d, true); err != nil {
			return err
		}
		r.Flags, r.Message = 0, r.Message[n:]
	}
	if err := s.lockWithRoom(wait{ctx: in.ctx}, in.w, 0); err != nil {
		return err
	}
	in.w.Unlock()
	return nil
}
