package nats

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// refusal is why the server will never store a message.
type refusal string

func (r refusal) Error() string { return string(r) }

var (
	errMarked = errors.New("some of the records are stored")
	errNoAck  = errors.New("the server has not acknowledged the records in time")
	errCut    = errors.New("the connection was lost before the server acknowledged the records")
)

// ack is what the server sends when a message, or the last one of a batch, is stored or refused.
type ack struct {
	Sequence  uint64              `json:"seq"`
	Duplicate bool                `json:"duplicate"`
	Count     int                 `json:"count"` // messages of the batch
	Error     *jetstream.APIError `json:"error"`
}

// store sends records to the server and waits until they are stored. It returns errMarked if it has marked some that need no
// further attempt, a refusal if one of the records can never be stored, and any other error if a later attempt may succeed.
func (a *appender) store(batch []entry) error {
	records := a.unique(batch)
	if len(records) == 0 {
		return nil
	}
	cut := a.s.e.cut.wait()
	reply := a.attempt()
	id := a.batches + a.s.code + strconv.FormatUint(a.serial, 36)
	if err := a.publish(records, id, reply); err != nil {
		if errors.Is(err, natsgo.ErrMaxPayload) {
			return refusal("the server takes messages of at most " + strconv.FormatInt(a.s.e.write.MaxPayload(), 10) + " bytes")
		}
		return err
	}
	timeout := time.NewTimer(a.patience(batch))
	defer timeout.Stop()
	m, err := a.receive(reply, timeout.C, cut)
	if err != nil {
		a.slow++
		a.doubtful = max(a.doubtful, len(batch))
		return err
	}
	got, err := parseAck(m)
	switch {
	case err != nil:
		return err
	case got.Error != nil && got.Error.ErrorCode == codeBatchDuplicate:
		return a.markStored(batch)
	case got.Error != nil:
		return ackError(got.Error)
	case len(records) > 1 && got.Count != len(records):
		return fmt.Errorf("the server has stored %d of the %d records of a batch", got.Count, len(records))
	}
	if got.Duplicate && a.doubtful == 0 { // otherwise the attempt in doubt may have stored it
		a.found++
	}
	a.last = max(a.last, got.Sequence)
	return nil
}

// unique returns the indices of the records to store: not those that are marked, and one of those that share an ID.
func (a *appender) unique(batch []entry) []*entry {
	records := make([]*entry, 0, len(batch))
	var ids map[string]bool
	a.found = 0
	for i := range batch {
		e := &batch[i]
		if e.skip {
			continue
		}
		if id := e.id; id != "" && len(batch) > 1 {
			if ids == nil {
				ids = make(map[string]bool, len(batch))
			}
			if ids[id] {
				a.found++
				continue
			}
			ids[id] = true
		}
		records = append(records, e)
	}
	return records
}

// attempt returns a reply subject of its own for each attempt, so that a late acknowledgement is not taken for another's.
func (a *appender) attempt() string {
	a.serial++
	return a.inbox + strconv.FormatUint(a.serial, 36)
}

// patience is how long the acknowledgement of a batch may take.
func (a *appender) patience(batch []entry) time.Duration {
	bytes := 0
	for i := range batch {
		bytes += len(batch[i].record.Payload)
	}
	return min(ackSoon<<min(a.slow, 4)+time.Duration(bytes)*time.Microsecond/4, ackTimeout)
}

// publish sends one record as it is, and several as an atomic batch with that id.
func (a *appender) publish(records []*entry, id, reply string) error {
	m := natsgo.Msg{Header: a.headers.header}
	for i, e := range records {
		a.headers.record(&e.record, e.id)
		last := i == len(records)-1
		if len(records) > 1 {
			a.headers.batch(id, i+1, last)
		}
		if i == 0 && a.expecting {
			a.headers.expectLast(a.expected)
		}
		m.Subject, m.Data = e.subject, e.record.Payload
		if last {
			m.Reply = reply
		}
		if err := a.s.e.write.PublishMsg(&m); err != nil {
			return err
		}
	}
	return nil
}

// receive returns the message to a reply subject. Messages to others are late.
func (a *appender) receive(reply string, timeout <-chan time.Time, cut <-chan struct{}) (*natsgo.Msg, error) {
	for {
		select {
		case m := <-a.acks:
			if m.Subject == reply {
				return m, nil
			}
		case <-timeout:
			return nil, errNoAck
		case <-cut:
			return nil, errCut
		case <-a.s.ending:
			return nil, a.s.endError()
		}
	}
}

func parseAck(m *natsgo.Msg) (ack, error) {
	if len(m.Data) == 0 {
		if m.Header.Get(hdrStatus) == "503" {
			return ack{}, errors.New("no server stores the stream at the moment")
		}
		return ack{}, fmt.Errorf("unexpected response %q of the server", m.Header)
	}
	var got ack
	if err := json.Unmarshal(m.Data, &got); err != nil {
		return ack{}, fmt.Errorf("unexpected response %.100q of the server: %w", m.Data, err)
	}
	return got, nil
}

const (
	codeBatchDuplicate = 10201
	codeWrongLast      = 10071
	codeWrongLastConst = 10164 // the same, of a replicated stream
	codeWrongLastID    = 10070
)

// ackError returns a refusal if the server says that it will never store the message.
func ackError(e *jetstream.APIError) error {
	switch e.ErrorCode {
	case 10054, // message size exceeds maximum allowed
		10097, // header size exceeds maximum allowed
		10109: // the stream is sealed
		return refusal(e.Description)
	}
	return e
}

// markStored finds the records of a batch whose IDs are stored, and marks them. It asks for each ID with a message that the server
// cannot store (headers.impossible). The server looks for the ID first.
func (a *appender) markStored(batch []entry) error {
	stored := make(map[string]bool)
	asked := make(map[string]string) // message ID by reply subject
	cut := a.s.e.cut.wait()
	timeout := time.NewTimer(ackTimeout)
	defer timeout.Stop()
	for i := 0; i < len(batch) || len(asked) > 0; {
		for ; i < len(batch) && len(asked) < cap(a.acks)/2; i++ {
			if id := batch[i].id; id != "" && !batch[i].skip {
				reply := a.attempt()
				asked[reply] = id
				if err := a.publishProbe(&batch[i], reply); err != nil {
					return err
				}
			}
		}
		if len(asked) == 0 {
			continue
		}
		select {
		case m := <-a.acks:
			id, ok := asked[m.Subject]
			if !ok {
				continue
			}
			delete(asked, m.Subject)
			got, err := parseAck(m)
			switch {
			case err != nil:
				return err
			case got.Duplicate, got.Error != nil && got.Error.ErrorCode == codeBatchDuplicate:
				stored[id] = true
			case got.Error == nil:
				return errors.New("the server has stored a message that it must refuse")
			case got.Error.ErrorCode != codeWrongLast && got.Error.ErrorCode != codeWrongLastConst && got.Error.ErrorCode != codeWrongLastID:
				return ackError(got.Error)
			}
		case <-timeout.C:
			return errNoAck
		case <-cut:
			return errCut
		case <-a.s.ending:
			return a.s.endError()
		}
	}
	if len(stored) == 0 {
		return errors.New("the server refuses a batch for a message ID that it does not have")
	}
	marked := a.skip(batch, func(e *entry) bool { return stored[e.id] })
	if a.doubtful == 0 {
		a.repeated.Add(marked)
	}
	return errMarked
}

// skip marks entries of the batch that need no further attempt. It returns how many.
func (a *appender) skip(batch []entry, done func(*entry) bool) (marked uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range batch {
		if !batch[i].skip && done(&batch[i]) {
			a.queue[a.head+i].skip = true
			marked++
		}
	}
	return marked
}

func (a *appender) publishProbe(e *entry, reply string) error {
	probe := e.record
	probe.Payload, probe.Extension = nil, nil
	a.headers.record(&probe, e.id)
	a.headers.impossible(a.s.config.Load().Replicas > 1)
	return a.s.e.write.PublishMsg(&natsgo.Msg{Subject: e.subject, Reply: reply, Header: a.headers.header})
}
