package conformance

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"

	"example.com/ferry/protocol/native"
)

// peer is the kit's end of one connection. A goroutine cuts what arrives into frames; the case takes them in order.
type peer struct {
	run  *run
	conn io.ReadWriteCloser
	role rules

	writing sync.Mutex
	replies chan []byte // responses to PINGs and withdrawals that wait to be written

	// Guarded by run.mu.
	maxFrame int            // of received frames
	frames   []native.Frame // received and not taken yet
	bytes    int            // of frames
	last     []string       // the newest received frames as text, for verdicts
	pings    bool           // PINGs are taken by the case; otherwise the response is immediate
	ended    error          // why nothing more arrives; nil while something may
}

// rules checks each frame that arrives, and counts what has no order.
type rules interface {
	// arrived handles a frame. If it returns true, the frame has done its work and the case does not take it. A text is the rule that
	// the frame breaks.
	arrived(f native.Frame) (counted bool, broken string)
}

// Bounds of what waits for the case.
const (
	maxWaiting = 64 << 20 // bytes
	maxRecent  = 6        // frames in a verdict
	maxReplies = 4096     // responses to PINGs and withdrawals
)

// newPeer begins to read conn.
func newPeer(r *run, conn io.ReadWriteCloser, role rules) *peer {
	p := &peer{run: r, conn: conn, role: role, maxFrame: native.MaxHandshake, replies: make(chan []byte, maxReplies)}
	var running sync.WaitGroup
	running.Go(func() {
		defer close(p.replies)
		p.read()
	})
	running.Go(func() { // not by the reader: the other end may not read now
		for frame := range p.replies {
			p.write(frame)
		}
	})
	r.cleanup(func() {
		_ = conn.Close()
		running.Wait()
	})
	return p
}

// read collects frames until the connection ends.
func (p *peer) read() {
	var buf []byte
	piece := make([]byte, 64<<10)
	for {
		n, err := p.conn.Read(piece)
		buf = append(buf, piece[:n]...)
		p.run.mu.Lock()
		buf = p.cut(buf)
		if err != nil {
			if len(buf) > 0 && errors.Is(err, io.EOF) && p.run.broken == nil {
				err = fmt.Errorf("%w behind a part of a frame: %s", io.ErrUnexpectedEOF, short(hex.EncodeToString(buf)))
			}
			p.ended = err
		}
		over := p.bytes > maxWaiting
		if over {
			p.run.breakRule("a few frames", "more than %d bytes that the case does not expect", maxWaiting)
		}
		p.run.wake()
		p.run.mu.Unlock()
		if err != nil || over {
			return
		}
	}
}

// cut takes the whole frames off buf and returns the rest.
func (p *peer) cut(buf []byte) []byte {
	for p.run.broken == nil {
		f, err := native.Split(buf, p.maxFrame)
		if err != nil {
			p.run.breakRule("well-formed frames of at most the maximum length", "%v: %s", err, short(hex.EncodeToString(buf)))
			return nil
		}
		if f == nil {
			return buf
		}
		buf = buf[len(f):]
		p.last = append(p.last[max(0, len(p.last)-maxRecent+1):], show(f))
		counted, broken := p.role.arrived(f)
		switch {
		case broken != "":
			p.run.breakRule(broken, "%s", show(f))
		case counted:
		case f.Kind() == native.Ping && !p.pings && f.Flags()&native.FlagAck == 0:
			p.reply(native.AppendPing(nil, true, pingValue(f)))
		default:
			p.frames = append(p.frames, f)
			p.bytes += len(f)
		}
	}
	return nil
}

// reply passes the response to a frame to the goroutine that writes it. The caller holds run.mu.
func (p *peer) reply(frame []byte) {
	select {
	case p.replies <- frame:
	default:
		p.run.breakRule("PINGs from time to time", "%d at once", maxReplies)
	}
}

func pingValue(f native.Frame) uint64 {
	v, _ := native.ParsePing(f) // a malformed one has value 0
	return v
}

// write sends bytes, whatever they are. An error does not matter: what the case expects next will not come.
func (p *peer) write(frames ...[]byte) {
	p.writing.Lock()
	defer p.writing.Unlock()
	_, _ = p.conn.Write(slices.Concat(frames...))
}

// writeSplit sends bytes one by one.
func (p *peer) writeSplit(frames ...[]byte) {
	for _, b := range slices.Concat(frames...) {
		p.write([]byte{b})
	}
}

// seen describes what has arrived, for a verdict.
func (p *peer) seen() string {
	text := "nothing more"
	if p.ended != nil {
		text = "the end of the connection (" + p.ended.Error() + ")"
	}
	if len(p.frames) > 0 {
		return show(p.frames[0])
	}
	if len(p.last) > 0 {
		text += "; the last frames were " + strings.Join(p.last, ", ")
	}
	return text
}

// take waits for a frame of one of the kinds and returns it. A frame of another kind fails the case.
func (p *peer) take(want string, kinds ...native.Kind) native.Frame {
	var f native.Frame
	p.run.await(want, func() (bool, string) {
		if len(p.frames) > 0 {
			f = p.frames[0]
			if !slices.Contains(kinds, f.Kind()) {
				return false, show(f)
			}
			p.frames = p.frames[1:]
			p.bytes -= len(f)
			return true, ""
		}
		if p.ended != nil {
			return false, p.seen()
		}
		return false, ""
	}, p.seen)
	return f
}

// find waits for a frame of a kind and returns it. Frames of other kinds in front of it are dropped.
func (p *peer) find(want string, kind native.Kind) native.Frame {
	var f native.Frame
	p.run.await(want, func() (bool, string) {
		for len(p.frames) > 0 && f == nil {
			if p.frames[0].Kind() == kind {
				f = p.frames[0]
			}
			p.bytes -= len(p.frames[0])
			p.frames = p.frames[1:]
		}
		if f == nil && p.ended != nil {
			return false, p.seen()
		}
		return f != nil, ""
	}, p.seen)
	return f
}

// drop forgets frames of a kind that an implementation may send or not.
func (p *peer) drop(kind native.Kind) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	p.frames = slices.DeleteFunc(p.frames, func(f native.Frame) bool { return f.Kind() == kind })
}

// quiet fails the case if a frame of one of the kinds has arrived and was not taken.
func (p *peer) quiet(want string, kinds ...native.Kind) {
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	for _, f := range p.frames {
		if slices.Contains(kinds, f.Kind()) {
			p.run.breakRule(want, "%s", show(f))
		}
	}
}

// awaitEnd waits until the other end has closed the connection. It returns the GOAWAY that came last, if there was one.
func (p *peer) awaitEnd(want string) (g native.GoawayFrame, ok bool) {
	p.run.await(want, func() (bool, string) { return p.ended != nil, "" }, p.seen)
	p.run.mu.Lock()
	defer p.run.mu.Unlock()
	if n := len(p.frames); n > 0 && p.frames[n-1].Kind() == native.Goaway {
		g, err := native.ParseGoaway(p.frames[n-1])
		return g, err == nil
	}
	return g, false
}

// barrierPing is the value of the PINGs of barrier.
const barrierPing = 0xc0f0_0000_0000_0001

// barrier sends a PING and waits for the response. It proves that the connection works, and that the other end has handled what was
// sent before. Frames that arrive meanwhile can still be taken.
func (p *peer) barrier(want string) {
	p.write(native.AppendPing(nil, false, barrierPing))
	p.run.await(want+": the response to a PING", func() (bool, string) {
		i := slices.IndexFunc(p.frames, func(f native.Frame) bool {
			return f.Kind() == native.Ping && f.Flags()&native.FlagAck != 0 && pingValue(f) == barrierPing
		})
		if i >= 0 {
			p.bytes -= len(p.frames[i])
			p.frames = slices.Delete(p.frames, i, i+1)
			return true, ""
		}
		if p.ended != nil {
			return false, p.seen()
		}
		return false, ""
	}, p.seen)
}

// show describes a frame in a verdict: its kind and its bytes.
func show(f native.Frame) string { return f.Kind().String() + " " + short(hex.EncodeToString(f)) }
