package stored

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/internal/clock"
	"example.com/ferry/protocol/native"
)

// takeDead returns the dead letters of the window that are to be stored. One that is being stored since an earlier window is not stored
// again. The caller holds the lock.
func (d *durable) takeDead() (list []deadLetter) {
	for _, x := range d.window.TakeDead() {
		switch stored, known := d.burials[x.Sequence]; {
		case stored:
			delete(d.burials, x.Sequence)
			d.window.Bury(x.Sequence)
		case !known:
			if d.burials == nil {
				d.burials = map[uint64]bool{}
			}
			d.burials[x.Sequence] = false
			x.Content.Retain()
			list = append(list, deadLetter{x, x.Content})
		}
	}
	return list
}

// bury stores a dead letter in the stream of the configured tag. The record is done when that is stored.
func (d *durable) bury(x *deadLetter) {
	defer x.content.Release()
	cfg, log := d.stored.config(), d.stored.store.limits.Load().Log
	log = log.With("stream", cfg.Config.Name, "durable", d.name, "sequence", x.Sequence, "deliveries", x.Deliveries, "reason", x.Reason)
	to := d.stored.store.Of(cfg.DeadLetter)
	if to == nil {
		log.Warn("a message failed for the last time: it is dropped, because the stream has no dead_letter")
		d.buried(x.Sequence, &d.dropped)
		return
	}
	sequence := x.Sequence
	records := []engine.Record{d.deadRecord(cfg, x)}
	to.config().Stream.Append(records, func(err error) {
		var refused *engine.AppendError
		count := &d.deadLetters
		switch {
		case err == nil:
			log.Warn("a message failed for the last time: it is a dead letter", "dead_letter", cfg.DeadLetter)
		case errors.As(err, &refused):
			log.Error("a message failed for the last time: it is dropped, because its dead letter cannot be stored", "dead_letter", cfg.DeadLetter, "err", err)
			count = &d.dropped
		default:
			d.unburied(sequence)
			return
		}
		d.buried(sequence, count)
	})
}

// buried notes that a dead letter is stored or dropped, and counts it. If its window was closed, the record is a dead letter of the next
// one too, which has nothing to store then.
func (d *durable) buried(sequence uint64, count *atomic.Uint64) {
	d.mu.Lock()
	count.Add(1)
	if d.window != nil && d.window.Bury(sequence) {
		delete(d.burials, sequence)
	} else {
		d.burials[sequence] = true
	}
	d.unlock(clock.Now())
}

// unburied notes that the engine of a dead letter was closed: the next window has it again.
func (d *durable) unburied(sequence uint64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.burials, sequence)
}

// awaitBuried waits until the dead letters of a window that is about to be closed are stored, so that its position says so.
func (r *durableReader) awaitBuried() {
	timeout := time.After(closeTimeout)
	for {
		r.mu.Lock()
		dying := r.window.Dying()
		r.mu.Unlock()
		if dying == 0 {
			return
		}
		select {
		case <-r.room:
		case <-timeout:
			return
		}
	}
}

// deadRecord returns the record of a dead letter. Its ID makes the engine store it once, even if the node stops before the position of
// the durable is stored.
func (d *durable) deadRecord(cfg *Config, x *deadLetter) engine.Record {
	f := native.Frame(x.content.B)
	record := engine.Record{
		Tag: cfg.DeadLetter, Type: f.Type(), Validated: f.Flags()&native.FlagValid != 0, Time: f.Time(), Payload: f.Payload(),
	}
	var tag string
	for t, value := range native.TLVs(f.Extension()) {
		switch t {
		case native.TLVTagName:
			tag = string(value)
		case native.TLVSequence, native.TLVDeliveries, native.TLVDeadLetter, native.TLVID:
		default:
			record.Extension = native.AppendTLV(record.Extension, t, value)
		}
	}
	record.Extension = native.AppendDeadLetter(record.Extension, native.DeadLetter{
		Stream: cfg.Config.Name, Sequence: x.Sequence, Deliveries: x.Deliveries, Tag: tag, Reason: x.Reason,
	})
	sum := sha256.Sum256(fmt.Appendf(nil, "%s\x00%s\x00%d", cfg.Config.Name, d.name, x.Sequence))
	record.ID = hex.EncodeToString(sum[:])
	return record
}
