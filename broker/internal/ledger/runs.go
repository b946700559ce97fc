package ledger

import (
	"time"

	"example.com/ferry/protocol/native"
)

// maxBatch is the most runs that are told together. Their credit is one CREDIT.
const maxBatch = 64

// Notice says that messages of a tag were dropped. Count 0 means none.
type Notice = native.NoticeFrame

// Run is messages that settle in the order of their Account: messages to be stored, or, without a Lane, messages that are dropped or
// addressed to a client.
type Run struct {
	Lane          any // the stream that stores the run; nil: it settles at once. Lanes are compared
	Count         int // messages
	Bytes         int
	Notice        Notice         // comes before the credit of the run
	Confirmations *Confirmations // whose PINGs wait for the run; nil means none
	Done          func(error)    // called when the run is settled; a *Refusal says that some of it was dropped. May be nil
}

// run is a Run of an Account.
//
//	appended ──Stored, Abandon──► settled
//	    └─────────Lost──────────► lost
type run struct {
	Run
	refused []int // indices of messages that the engine has refused
	state   runState
	epoch   uint64 // in Confirmations
}

type runState uint8

const (
	appended runState = iota // the engine has it
	settled                  // its credit may return
	lost                     // the engine was closed before it has stored the run: the credit never returns
)

// Enter adds a run behind the others. The caller makes sure that runs of one lane are appended to it in the same order.
func (a *Account) Enter(r Run) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.Lane == nil && a.join(&r) {
		return
	}
	next := run{Run: r, epoch: r.Confirmations.begin()}
	if r.Lane == nil {
		next.state = settled
	}
	a.runs.Push(next)
	a.advance()
}

// join adds a run without a lane to one that is the last and like it.
func (a *Account) join(r *Run) bool {
	if a.runs.Len() == 0 || r.Done != nil {
		return false
	}
	last := a.runs.Back()
	if last.Lane != nil || last.Notice.Code != r.Notice.Code || last.Confirmations != r.Confirmations || last.Done != nil || !r.Confirmations.current(last.epoch) {
		return false
	}
	last.Bytes += r.Bytes
	last.Notice.Count += r.Notice.Count
	return true
}

// Stored says that the oldest run of a lane is stored, or, as n says, refused: the messages with these indices. It has no effect if Abandon has settled that run.
func (a *Account) Stored(lane any, n Notice, refused []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.oldest(lane); r != nil {
		r.Notice, r.refused, r.state = n, refused, settled
		a.advance()
	}
}

// Lost says that the oldest run of a lane will not be stored by this process, and may have to be sent again: its credit never returns,
// nor that of the runs behind it.
func (a *Account) Lost(lane any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r := a.oldest(lane); r != nil {
		r.state = lost
	}
}

// Abandon settles all runs of the lanes that are no more, as gone says: they count as dropped because of why. No run of these lanes is entered later.
func (a *Account) Abandon(gone func(lane any) bool, why Notice) {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := a.runs.All()
	for i := a.next; i < len(all); i++ {
		if r := &all[i]; r.state == appended && gone(r.Lane) {
			r.Notice, r.state = why, settled
			r.Notice.Count = uint32(r.Count)
		}
	}
	a.advance()
}

// oldest returns the oldest run of a lane that the engine has, or nil.
func (a *Account) oldest(lane any) *run {
	all := a.runs.All()
	for i := a.next; i < len(all); i++ {
		if all[i].Lane == lane && all[i].state == appended {
			return &all[i]
		}
	}
	return nil
}

// advance tells the client of the runs that are settled.
func (a *Account) advance() {
	all := a.runs.All()
	for a.next < len(all) && all[a.next].state == settled {
		a.next++
	}
	if a.next > 0 {
		a.tell()
	}
}

// Waiting reports whether runs wait to be stored.
func (a *Account) Waiting() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.next < a.runs.Len()
}

// tellSettled tells the client of settled runs: one with a notice, or some without. A notice keeps its place in the order of the
// messages, so when it has to wait, the credit behind it waits, too, and slows the client down. It returns false if there are none that
// may be told now.
func (a *Account) tellSettled() bool {
	if a.paused {
		return false
	}
	if a.runs.Front().Notice.Count > 0 {
		a.mu.Unlock()
		wait := a.client.NoticeWait()
		a.mu.Lock()
		if wait > 0 {
			a.pause(wait)
			return false
		}
		a.take()
	} else {
		for a.next > 0 && len(a.batch) < maxBatch && a.runs.Front().Notice.Count == 0 {
			a.take()
		}
	}
	bytes := 0
	if a.phase == open {
		for i := range a.batch {
			bytes += a.batch[i].Bytes
		}
		a.credit += bytes
	}
	returns := a.phase == open
	a.mu.Unlock()
	settle(a.client, a.batch, returns)
	a.mu.Lock()
	clear(a.batch)
	a.batch = a.batch[:0]
	return true
}

// take moves the oldest run to the batch.
func (a *Account) take() {
	a.batch = append(a.batch, a.runs.Pop())
	a.next--
}

// settle tells the client of runs. Without returns their credit does not return.
func settle(c Client, batch []run, returns bool) {
	bytes := 0
	credit := func() {
		if bytes > 0 && returns {
			c.Credit(bytes)
		}
		bytes = 0
	}
	for i := range batch {
		r := &batch[i]
		if r.Notice.Count > 0 {
			c.Notice(r.Notice)
		}
		bytes += r.Bytes
		r.Confirmations.end(r.epoch, credit)
		if r.Done != nil {
			r.Done(r.refusal())
		}
	}
	credit()
}

// Refusal says that messages of a run are dropped.
type Refusal struct {
	Why      *native.Error
	Messages []int // indices of those that were refused; nil means that all are dropped
}

func (e *Refusal) Error() string { return e.Why.Error() }

// Unwrap returns the reason.
func (e *Refusal) Unwrap() error { return e.Why }

// refusal returns why some of the run is dropped, or nil.
func (r *run) refusal() error {
	if r.Notice.Count == 0 {
		return nil
	}
	return &Refusal{Why: &native.Error{Code: r.Notice.Code, Reason: r.Notice.Reason}, Messages: r.refused}
}

// pause has a timer go on with tell.
func (a *Account) pause(wait time.Duration) {
	a.paused = true
	time.AfterFunc(wait, func() {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.paused = false
		a.tell()
	})
}
