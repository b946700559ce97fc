package link

import (
	"errors"

	"example.com/ferry/link/spool"
)

// sendRecord sends the next record of the store. It returns false if there is nothing to do before something changes.
func (w *worker) sendRecord() bool {
	o := w.box
	o.mu.Lock()
	changed := w.generation != o.generation
	if changed {
		w.generation, w.batch, w.at, w.offset = o.generation, nil, 0, 0
	}
	idle := !o.connected() || o.disk.drained()
	if !idle && o.diskBytes > o.cfg.Memory/2 {
		o.wire.ConfirmSoon()
		idle = true
	}
	o.mu.Unlock()
	if changed {
		o.store.Rewind()
	}
	if idle {
		return false
	}
	if w.at == len(w.batch) {
		return w.read()
	}
	record := &w.batch[w.at]
	tag := record.Message.Tag
	r, err := decode(record.Message.Payload)
	path := w.paths.intern(r.path)

	o.Lock()
	defer o.Unlock()
	switch {
	case !o.connected() || w.generation != o.generation:
		return true
	case o.disk.passed(record.Index):
		o.disk.pass(record.Index)
	case err != nil:
		o.cfg.Log.Error("link: a record of the spool is dropped", "index", record.Index, "tag", tag, "err", err)
		o.Drop(DropDisk, 1)
		o.disk.sent(record.Index, tag)
		o.disk.confirm(record.Index)
	default:
		size, count := o.wire.Send(tag, path, r.frames[w.offset:], nil)
		if size == 0 && len(r.frames) > 0 {
			return false
		}
		w.offset += size
		part := w.offset < len(r.frames)
		o.keepRecord(record.Index, tag, size, count, part)
		if part {
			return true
		}
		o.disk.sent(record.Index, tag)
		o.wire.ConfirmSoon()
	}
	w.at, w.offset = w.at+1, 0
	return true
}

// read reads the next records. It returns false if that has failed: it is tried again later.
func (w *worker) read() bool {
	o := w.box
	o.mu.Lock()
	due := o.reads.due()
	o.mu.Unlock()
	if !due {
		return false
	}
	batch, err := o.store.TryRead(readAtOnce)
	o.Lock()
	defer o.Unlock()
	var damage *spool.CorruptError
	switch {
	case errors.As(err, &damage): // which the store does not tell again
		o.cfg.Log.Error("link: the spool is damaged", "err", err)
		return true
	case w.generation != o.generation: // what was sent may be unsent again: the next read begins there
		return true
	case err != nil:
		if o.reads.failed(err) {
			o.cfg.Log.Error("link: the spool cannot be read, and its messages wait", "err", err)
		}
		return false
	}
	o.reads = retry{}
	if len(batch) == 0 { // the records that are left are lost, which the store has said before
		o.disk.pass(o.disk.unsent)
		return true
	}
	w.batch, w.at, w.offset = batch, 0, 0
	if o.connected() {
		for i := range batch {
			o.wire.Expect(batch[i].Message.Tag)
		}
	}
	return true
}
