package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/ferry"
	"example.com/ferry/internal/topic"
	"example.com/ferry/link/spool"
	"example.com/ferry/protocol/native"
)

// spooler publishes the messages of a spool, in order, and advances the spool when the node has them. Each connection begins with the
// first message that no earlier one has confirmed, so a message may be published twice, with the same ID.
//
//	Send ──► spool ──► send ──► the node
//	           ▲                   │
//	           └───── confirm ◄────┘ PONG: all before it is stored, or routed
type spooler struct {
	client *Client
	spool  *spool.Spool
	ended  chan struct{} // closed when run has returned

	mu      sync.Mutex
	err     error  // why no message is published while there is a connection; nil if none is held up
	dropped uint64 // messages that the node can never take
}

const (
	spoolRead  = 256 << 10 // bytes of records that are read together
	spoolPause = time.Second
)

// longestSpoolID is as long as the longest ID that a spool gives to a message.
const longestSpoolID = "0123456789abcdef-18446744073709551615"

// errConnectionLost says that a connection has ended, or that its node is stopping.
var errConnectionLost = errors.New("stream: the connection was lost")

// store stores m in the spool.
func (d *spooler) store(ctx context.Context, m *ferry.Message) (index uint64, err error) {
	if err := topic.CheckTag(m.Tag); err != nil {
		return 0, fmt.Errorf("stream: %w", err)
	}
	if err := checkKey(m.Tag, m); err != nil {
		return 0, err
	}
	if d.client.ctx.Err() != nil {
		return 0, ErrClosed
	}
	if cn, _ := d.client.current(); cn != nil {
		withID := *m
		if m.ID == "" {
			withID.ID = longestSpoolID
		}
		if err := cn.checkSize(&withID); err != nil {
			return 0, fmt.Errorf("%w on tag %q", err, m.Tag)
		}
	}
	return d.spool.Append(ctx, m)
}

// storeAndWait stores m in the spool, and waits until it has left it.
func (d *spooler) storeAndWait(ctx context.Context, m *ferry.Message) error {
	index, err := d.store(ctx, m)
	if err != nil {
		return err
	}
	return d.wait(ctx, index)
}

// wait waits until all messages up to an index have left the spool.
func (d *spooler) wait(ctx context.Context, index uint64) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(d.client.ctx, cancel)()
	err := d.spool.Wait(ctx, index)
	switch {
	case err == nil:
		return nil
	case d.client.ctx.Err() != nil:
		return ErrClosed
	}
	if _, held := d.state(); held != nil {
		return fmt.Errorf("%w: %w", held, err)
	}
	return fmt.Errorf("stream: %d messages wait in the spool: %w", d.spool.Stats().Messages, err)
}

// flush waits until the messages that were stored before it have left the spool, and until the node has handled those that were sent
// without it.
func (d *spooler) flush(ctx context.Context) error {
	if err := d.wait(ctx, d.spool.Last()); err != nil {
		return err
	}
	if cn, _ := d.client.current(); cn != nil {
		return cn.barrier(ctx)
	}
	return nil
}

// run publishes messages until the client is closed.
func (d *spooler) run() {
	defer close(d.ended)
	c := d.client
	for c.ctx.Err() == nil {
		cn, changed := c.current()
		if cn != nil {
			err := d.publish(cn)
			if !errors.Is(err, errConnectionLost) && c.ctx.Err() == nil {
				if d.report(err) {
					c.cfg.Log.Warn("stream: the spool is held up", "err", err)
				}
				select {
				case <-time.After(spoolPause):
				case <-c.ctx.Done():
				}
				continue
			}
		}
		_ = c.wait(c.ctx, changed) // its error says that the client is closed
	}
}

// finish waits until run has returned, after Close was called, or ctx ends. A nil spooler has finished.
func (d *spooler) finish(ctx context.Context) {
	if d == nil {
		return
	}
	select {
	case <-d.ended:
	case <-ctx.Done():
	}
}

// report stores why no message is published. It returns whether that is news.
func (d *spooler) report(err error) (news bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	news = err != nil && (d.err == nil || d.err.Error() != err.Error())
	d.err = err
	return news
}

// state returns the number of messages that the node can never take, and why no message is published.
func (d *spooler) state() (dropped uint64, held error) {
	c := d.client
	c.mu.Lock()
	connected, dialErr := c.conn != nil, c.dialErr
	c.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case connected:
		return d.dropped, d.err
	case dialErr != nil:
		return d.dropped, fmt.Errorf("stream: not connected to %s: %w", c.addr, dialErr)
	}
	return d.dropped, fmt.Errorf("stream: not connected to %s", c.addr)
}

// publish publishes messages over cn until it is lost or drains, the client is closed, or a message cannot be published. It returns
// when what it has sent is confirmed, or the connection has ended.
func (d *spooler) publish(cn *conn) error {
	d.spool.Rewind()
	ctx, cancel := context.WithCancel(d.client.ctx)
	defer cancel()
	defer context.AfterFunc(cn.peer.Context(), cancel)()
	sent := make(chan uint64, 1) // index of the last message that was sent
	confirmed := make(chan struct{})
	go func() {
		defer close(confirmed)
		d.confirm(cn, sent)
	}()
	err := d.send(ctx, cn, func(index uint64) {
		select {
		case <-sent: // confirm has not taken the index before it
		default:
		}
		sent <- index
	})
	close(sent)
	<-confirmed
	return err
}

// send sends messages over cn. It calls sent with the index of each.
func (d *spooler) send(ctx context.Context, cn *conn, sent func(index uint64)) error {
	for {
		records, err := d.spool.Read(ctx, spoolRead)
		var damage *spool.CorruptError
		switch {
		case errors.As(err, &damage):
			d.client.cfg.Log.Error("stream: the spool is damaged", "err", err)
			continue
		case ctx.Err() != nil:
			return errConnectionLost
		case err != nil:
			return err
		}
		for i := range records {
			if err := d.sendOne(ctx, cn, &records[i].Message); err != nil {
				return err
			}
			sent(records[i].Index)
		}
	}
}

// sendOne sends m over cn. It drops what store refuses: another program, or a connection to another node, may have let it in.
func (d *spooler) sendOne(ctx context.Context, cn *conn, m *ferry.Message) error {
	if err := errors.Join(topic.CheckTag(m.Tag), checkKey(m.Tag, m), cn.checkSize(m)); err != nil {
		d.drop(m, err)
		return nil
	}
	s := d.client.lookUp(m.Tag)
	if s.grant.Load() == nil {
		if _, err := s.awaitGrant(ctx); err != nil {
			return d.whyNotSent(ctx, err)
		}
	}
	if _, err := s.send(ctx, m, sending{over: cn}); err != nil {
		return d.whyNotSent(ctx, err)
	}
	d.report(nil)
	return nil
}

func (d *spooler) whyNotSent(ctx context.Context, err error) error {
	var refused *native.Error
	switch {
	case ctx.Err() != nil:
		return errConnectionLost
	case errors.As(err, &refused):
		return fmt.Errorf("%w: its messages stay in the spool, and those behind them", err)
	}
	return err
}

// drop leaves out a message that the node can never take.
func (d *spooler) drop(m *ferry.Message, why error) {
	d.mu.Lock()
	d.dropped++
	d.mu.Unlock()
	d.client.dropped(m.Tag, 1, why)
}

// confirm advances the spool whenever the node has confirmed what was sent. It returns when sent is closed and all is confirmed, or
// the connection has ended.
func (d *spooler) confirm(cn *conn, sent <-chan uint64) {
	for index := range sent {
		if cn.barrier(cn.peer.Context()) != nil {
			return
		}
		if err := d.spool.Advance(index); err != nil {
			d.client.cfg.Log.Error("stream: the spool's position was not stored", "err", err)
		}
	}
}

// checkSize returns an error if the node at the other end takes no message as long as m.
func (cn *conn) checkSize(m *ferry.Message) error {
	size := native.PubHeaderSize + len(m.Payload)
	if cn.peer.Version() >= native.StoredVersion {
		size += extensionSize(m, descent{})
	}
	if size > cn.maxFrame {
		return tooLong(cn, size)
	}
	return nil
}
