package main

import (
	"cmp"
	"fmt"
	"sync/atomic"
	"time"

	wire "example.com/ferry/protocol/mqtt"
)

// ids is the number of packet identifiers that a publisher uses in turn.
const ids = 60_000

// ahead is how many blocks of a publisher may be on their way.
const ahead = 2

// phase is a part of a measurement. Its messages are counted in blocks. A block is complete when each subscriber has its messages, and, with
// QoS 1, when the broker has acknowledged them.
type phase struct {
	first    int  // sequence of the first message
	size     int  // messages of a block
	timed    bool // latencies are recorded
	left     [ahead]atomic.Int64
	complete chan struct{} // has an element for each complete block
}

func newPhase(first, size, each int, timed bool) *phase {
	p := &phase{first: first, size: size, timed: timed, complete: make(chan struct{}, ahead)}
	for i := range p.left {
		p.left[i].Store(int64(size * each))
	}
	return p
}

func (p *phase) block(sequence int) int { return (sequence - p.first) / p.size }

// counted is a run of events of one block, which are counted at once.
type counted struct {
	phase *phase
	block int
	n     int64
}

func (r *counted) add(p *phase, block int) {
	if p != r.phase || block != r.block {
		r.end()
		r.phase, r.block, r.n = p, block, 0
	}
	r.n++
}

func (r *counted) end() {
	if r.n > 0 && r.phase.left[r.block%ahead].Add(-r.n) == 0 {
		r.phase.complete <- struct{}{}
	}
}

// publisher sends messages on a topic of its own.
type publisher struct {
	*client
	number  int
	topic   []byte
	payload []byte
	out     []byte
	sent    int // messages
	acked   int // messages; the receiving goroutine's
	phase   atomic.Pointer[phase]
}

func topicOf(number int) string { return topics[number] }

// topics are those of all publishers.
var topics = func() (all [many]string) {
	for i := range all {
		all[i] = fmt.Sprintf("bench/%d", i)
	}
	return all
}()

// begin begins a phase with blocks of size messages.
func (p *publisher) begin(size int, timed bool) *phase {
	ph := newPhase(p.sent, size, len(p.t.subscribers)+int(p.qos), timed)
	p.phase.Store(ph)
	return ph
}

// add appends the next message to what write sends.
func (p *publisher) add(due time.Duration) (err error) {
	message{p.number, p.sent, due}.write(p.payload)
	packet := wire.PublishPacket{QoS: p.qos, Topic: p.topic, Payload: p.payload}
	if p.qos > 0 {
		packet.ID = uint16(1 + p.sent%ids)
	}
	p.sent++
	p.out, err = wire.AppendPublish(p.out, wire.V311, &packet)
	return err
}

func (p *publisher) write() error {
	_, err := p.conn.Write(p.out)
	p.out = p.out[:0]
	if err != nil {
		return cmp.Or(p.t.failure(), err)
	}
	return nil
}

// acknowledged counts a PUBACK. They come in the order of the messages. MQTT 3.1.1, section 4.6.
func (p *publisher) acknowledged(packet wire.Packet, run *counted) error {
	ack, err := wire.ParseAck(packet)
	if err != nil {
		return err
	}
	if want := uint16(1 + p.acked%ids); ack.ID != want {
		return fmt.Errorf("the acknowledgement of message %d has arrived, want that of %d", ack.ID, want)
	}
	ph := p.phase.Load()
	run.add(ph, ph.block(p.acked))
	p.acked++
	return nil
}

// flood sends blocks of size messages until the time is over, and then waits for all of them.
func (p *publisher) flood(size int, end time.Time) error {
	ph := p.begin(size, false)
	pending := 0
	for block := 0; block == 0 || time.Now().Before(end); block++ {
		if pending == ahead {
			if err := p.t.wait(ph); err != nil {
				return err
			}
			pending--
			ph.left[block%ahead].Store(int64(size * (len(p.t.subscribers) + int(p.qos))))
		}
		now := time.Since(epoch)
		for range size {
			if err := p.add(now); err != nil {
				return err
			}
		}
		if err := p.write(); err != nil {
			return err
		}
		pending++
	}
	for range pending {
		if err := p.t.wait(ph); err != nil {
			return err
		}
	}
	return nil
}

// wait waits until a block is complete.
func (t *trial) wait(ph *phase) error {
	select {
	case <-ph.complete:
		return nil
	default:
	}
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-ph.complete:
		return nil
	case <-t.failed:
		return t.err
	case <-timer.C:
		return fmt.Errorf("of %d blocks in flight, %d and %d messages or acknowledgements are missing after %v", ahead, ph.left[0].Load(), ph.left[1].Load(), patience)
	}
}
