package pipeline

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"example.com/ferry"
)

// stateVersion is the first byte of saved state. In firstVersion the keys of group.applied are not shortened.
const (
	firstVersion = 1
	stateVersion = 2
)

// save publishes the results of the changed groups, waits until they are stored, and then saves the state of the groups. So state is
// never ahead of the results: after a crash in between, the messages are delivered again, and make the same results with the same IDs.
func (r *run) save() error {
	sent := false
	for _, g := range r.dirty {
		for i := range g.pending {
			out := &g.pending[i]
			m := ferry.Message{Tag: out.tag, Type: out.typ, Payload: out.payload, Time: out.time, Key: out.key, ID: r.resultID(g, i)}
			switch err := r.cfg.Output.Send(r.ctx, m); {
			case errors.Is(err, ferry.ErrTooLarge):
				r.failed++
				r.log.Error("pipeline: a result is not published", "function", r.cfg.Name, "err", err)
			case err != nil:
				return err
			default:
				sent = true
			}
		}
	}
	if sent {
		if err := r.cfg.Output.Flush(r.ctx); err != nil {
			if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || r.ctx.Err() != nil {
				return err
			}
			r.failed++ // the node refuses it, and would refuse it again
			r.log.Error("pipeline: the node has dropped results", "function", r.cfg.Name, "err", err)
		}
	}
	for _, g := range r.dirty {
		g.sent += uint64(len(g.pending))
		clear(g.pending)
		g.pending = g.pending[:0]
	}
	for len(r.dirty) > 0 {
		g := r.dirty[0]
		err := r.sendState(g)
		if errors.Is(err, ferry.ErrTooLarge) { // otherwise no message of any group would be acknowledged again
			r.failed++
			r.log.Error("pipeline: the state of a group is dropped", "function", r.cfg.Name, "group", g.key, "err", err)
			clear(g.slots)
			if !g.gone {
				r.groups.updated(g)
			}
			err = r.sendState(g)
		}
		if err != nil {
			return err
		}
		g.dirty = false
		r.dirty = r.dirty[1:]
	}
	r.dirty = nil
	return nil
}

func (r *run) sendState(g *group) error {
	r.saved = r.appendState(r.saved[:0], g)
	return r.out.Send(r.ctx, ferry.Message{Tag: r.stateTag(g), Type: ferry.Raw, Payload: r.saved})
}

// resultID returns the ID of a pending result, which is the same when the result is made again.
func (r *run) resultID(g *group, i int) string {
	return fmt.Sprintf("%s-%s-%d", r.cfg.Name, g.id(), g.sent+uint64(i))
}

func (r *run) stateTag(g *group) string { return r.cfg.State + "/" + g.id() }

// id returns a name of the group that is a level of a tag.
func (g *group) id() string {
	sum := sha256.Sum256([]byte(g.key))
	return hex.EncodeToString(sum[:16])
}

func (r *run) appendState(dst []byte, g *group) []byte {
	dst = append(dst, stateVersion, boolByte(g.gone))
	dst = binary.LittleEndian.AppendUint64(dst, r.mark)
	dst = appendBytes(dst, g.key)
	if g.gone {
		return dst
	}
	dst = appendBytes(dst, g.tag)
	dst = appendBytes(dst, g.fields)
	dst = binary.AppendUvarint(dst, g.sent)
	dst = binary.AppendUvarint(dst, uint64(len(g.applied)))
	for key, sequence := range g.applied {
		dst = binary.AppendUvarint(appendBytes(dst, key), sequence)
	}
	for _, s := range g.slots {
		dst = append(dst, boolByte(s != nil))
		if s != nil {
			dst = s.append(dst)
		}
	}
	return dst
}

// Restore reads saved state before the first message: the payloads of the messages below Config.State, in their order. State of other
// steps is left out, except for which messages it contains. It returns the number of groups, and how many of them begin empty because
// the steps have changed or the state is damaged.
func (p *Pipeline) Restore(states iter.Seq2[[]byte, error]) (restored, emptied int, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.begin(p.ctx, p.cfg.Output)
	outdated := map[string]bool{}
	for data, err := range states {
		if err != nil {
			return 0, 0, err
		}
		g, complete := p.readState(data)
		if g == nil {
			continue
		}
		if old := p.groups.byKey[g.key]; old != nil {
			p.groups.remove(old)
		}
		delete(outdated, g.key)
		if g.gone || len(p.groups.byKey) >= p.groups.limit {
			continue
		}
		p.groups.add(g, p.run.time)
		p.groups.updated(g)
		if !complete {
			outdated[g.key] = true
		}
	}
	return len(p.groups.byKey), len(outdated), p.end()
}

// EndsAt says that the stream of the messages ends with this sequence number. A stream that was restored from a backup may end before
// the messages that the saved state contains. Its next messages have their numbers, and are new. It is called after Restore.
func (p *Pipeline) EndsAt(last uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, g := range p.groups.byKey {
		for key, sequence := range g.applied {
			g.applied[key] = min(sequence, last)
		}
	}
}

// readState returns the group of saved state; nil if it cannot be read. complete reports whether the group has the state of its steps.
func (p *Pipeline) readState(data []byte) (g *group, complete bool) {
	s := &saved{data: data}
	version, gone, mark := s.byte(), s.byte() != 0, s.uint64()
	g = &group{key: string(s.bytes()), gone: gone, slots: make([]slot, p.slots)}
	if version != stateVersion && version != firstVersion || s.err != nil {
		return nil, false
	}
	if gone {
		return g, true
	}
	g.tag, g.fields, g.sent = string(s.bytes()), append([]byte(nil), s.bytes()...), s.uvarint()
	if n := s.count(); n > 0 {
		g.applied = make(map[string]uint64, n)
		for range n {
			key := string(s.bytes())
			if version == firstVersion {
				key = shortKey(key)
			}
			g.applied[key] = s.uvarint()
		}
	}
	if s.err != nil {
		return nil, false
	}
	if mark != p.mark {
		return g, false
	}
	for i := range g.slots {
		if s.byte() != 0 {
			g.slots[i] = p.stateful[i].newSlot()
			g.slots[i].read(s)
		}
	}
	if s.err != nil || len(s.data) > 0 {
		clear(g.slots)
		return g, false
	}
	return g, true
}
