package mqtt

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"example.com/ferry/internal/atomicfile"
	"example.com/ferry/internal/clock"
	wire "example.com/ferry/protocol/mqtt"
)

// The files in Config.Dir.
const (
	sessionsFile = "sessions.json"
	retainedFile = "retained.json"
)

// storedSession is a session in the file.
type storedSession struct {
	Identity string           `json:"identity"`
	Client   string           `json:"client"`
	Number   uint64           `json:"number"`
	Expiry   time.Duration    `json:"expiry"`
	Expires  time.Time        `json:"expires,omitzero"` // zero while the client is connected
	Subs     []storedSub      `json:"subscriptions,omitempty"`
	NextID   uint16           `json:"next_id"`
	Flights  []storedFlight   `json:"in_flight,omitempty"`
	Received []storedReceived `json:"received,omitempty"`
}

// storedSub is a subscription in the file.
type storedSub struct {
	Filter            string `json:"filter"`
	Tags              string `json:"tags"`
	Group             string `json:"group,omitempty"`
	Where             string `json:"where,omitempty"`
	QoS               byte   `json:"qos"`
	NoLocal           bool   `json:"no_local,omitempty"`
	RetainAsPublished bool   `json:"retain_as_published,omitempty"`
	ID                uint32 `json:"id,omitempty"`
	Stream            string `json:"stream,omitempty"`
	Durable           string `json:"durable,omitempty"`
	Stored            bool   `json:"stored,omitempty"`
}

// storedFlight is a message on its way in the file. Its content is in the stream; without one it is lost with the process, unless
// the client has it and only the end of the exchange is missing.
type storedFlight struct {
	ID       uint16      `json:"id"`
	State    flightState `json:"state"`
	Filter   string      `json:"filter,omitempty"`
	Sequence uint64      `json:"sequence,omitempty"`
}

// storedReceived is the packet identifier of a message with QoS 2 that the client has not released.
type storedReceived = uint16

// storedRetained is a retained message in the file.
type storedRetained struct {
	Tag        string `json:"tag"`
	Identity   string `json:"identity,omitempty"`
	Client     string `json:"client,omitempty"`
	QoS        byte   `json:"qos"`
	Time       int64  `json:"time"`
	Properties []byte `json:"properties,omitempty"`
	Payload    []byte `json:"payload"`
}

// load reads the files.
func (v *Server) load() error {
	if v.cfg.Dir == "" {
		return nil
	}
	if err := atomicfile.MkdirAll(v.cfg.Dir, 0o700); err != nil {
		return fmt.Errorf("mqtt: %w", err)
	}
	var sessions []storedSession
	var retained []storedRetained
	if err := errors.Join(v.read(sessionsFile, &sessions), v.read(retainedFile, &retained)); err != nil {
		return err
	}
	now := time.Now()
	for i := range sessions {
		if s := sessions[i].session(v, now); clock.At(now) < s.expires && len(v.sessions) < v.cfg.MaxSessions {
			v.add(s)
		}
	}
	for _, r := range retained {
		m := &retainedMessage{tag: r.Tag, client: sessionKey(r.Identity, r.Client), identity: r.Identity, qos: r.QoS, time: r.Time, payload: r.Payload}
		if wire.CheckProperties(wire.Publish, r.Properties) == nil {
			m.properties, m.expires = r.Properties, expiryOf(r.Properties, r.Time)
		}
		v.retained.set(m, 100)
	}
	v.retained.dirty = false
	return nil
}

func (v *Server) read(name string, into any) error {
	b, err := os.ReadFile(filepath.Join(v.cfg.Dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err == nil {
		err = json.Unmarshal(b, into)
	}
	if err != nil {
		return fmt.Errorf("mqtt: %s: %w: restore it, or remove it, and its sessions or retained messages are lost", filepath.Join(v.cfg.Dir, name), err)
	}
	return nil
}

// session returns the session as it was saved.
func (t *storedSession) session(v *Server, now time.Time) *session {
	s := newSession(v, sessionKey(t.Identity, t.Client), t.Identity, t.Number)
	s.lifetime = t.Expiry
	if t.Expires.IsZero() {
		t.Expires = now.Add(t.Expiry)
	}
	s.handover = &handover{expires: clock.At(now) + int64(min(t.Expires.Sub(now), v.cfg.MaxExpiry))}
	for _, x := range slices.Backward(t.Subs) {
		s.addSub(&sub{
			filter: x.Filter, tags: x.Tags, group: x.Group, where: x.Where, qos: min(x.QoS, 2), noLocal: x.NoLocal, retainAsPublished: x.RetainAsPublished,
			id: x.ID, ready: true, stored: x.Stored, durable: Cursor{x.Stream, x.Durable},
		})
		if x.NoLocal {
			s.noLocal++
		}
	}
	for _, f := range t.Flights {
		s.restoreFlight(f)
	}
	if t.NextID > 0 {
		s.needExchange()
		s.flights.skipTo(t.NextID)
	}
	for _, id := range t.Received {
		s.needExchange()
		if s.received == nil {
			s.received = map[uint16]receivedState{}
		}
		s.received[id] = receivedStored
	}
	return s
}

// restoreFlight adds a flight with the packet identifier that it had. The identifiers before it that are not used are settled flights.
func (s *session) restoreFlight(t storedFlight) {
	if t.ID == 0 || t.State < awaitsPuback || t.State > awaitsPubcomp {
		return
	}
	s.needExchange()
	if s.flights.span == 0 {
		s.flights.first = t.ID
	}
	for {
		f, id := s.flights.add()
		if id == t.ID {
			f.state, f.sequence, f.sub = t.State, t.Sequence, s.find(t.Filter)
			if f.sub == nil && t.State != awaitsPubcomp {
				s.flights.settle(f)
			}
			return
		}
		s.flights.live--
		if s.flights.span >= maxIDs {
			return
		}
	}
}

// storedForm returns the session as it is saved. The caller holds Server.mu.
func (s *session) storedForm() storedSession {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := storedSession{Identity: s.identity(), Client: s.clientID(), Number: s.number, Expiry: s.lifetime}
	if s.owner == nil {
		t.Expires = time.Now().Add(time.Duration(s.expires - clock.Now()))
	}
	for x := s.subs; x != nil; x = x.next {
		t.Subs = append(t.Subs, storedSub{
			Filter: x.filter, Tags: x.tags, Group: x.group, Where: x.where, QoS: x.qos, NoLocal: x.noLocal, RetainAsPublished: x.retainAsPublished,
			ID: x.id, Stream: x.durable.Stream, Durable: x.durable.Name, Stored: x.stored,
		})
	}
	if s.exchange == nil {
		return t
	}
	t.NextID = s.flights.first
	for i := range s.flights.span {
		f := s.flights.at(i)
		if f.state == settled || f.state != awaitsPubcomp && f.sequence == 0 {
			continue
		}
		w := storedFlight{ID: s.flights.id(i), State: f.state, Sequence: f.sequence}
		if f.sub != nil {
			w.Filter = f.sub.filter
		}
		t.Flights = append(t.Flights, w)
	}
	if s.flights.span > 0 {
		t.NextID = s.flights.id(s.flights.span)
	}
	for id, state := range s.received {
		if state == receivedStored {
			t.Received = append(t.Received, id)
		}
	}
	return t
}

// saver saves what has changed, no more often than the time that it takes allows.
type saver struct {
	server *Server
	next   time.Time
}

// saveShare bounds the share of the time that saving takes: one part in so many.
const saveShare = 20

func (w *saver) saveIfDue(now time.Time) {
	if now.Before(w.next) {
		return
	}
	begun := time.Now()
	if err := w.server.Save(); err != nil {
		w.server.cfg.Log.Warn("mqtt: sessions and retained messages are not saved", "err", err)
	}
	w.next = now.Add(saveShare * time.Since(begun))
}

// Save writes what has changed of sessions and retained messages to Config.Dir. The server does so by itself within about a second; Save is for a
// backup of the directory. It may overlap with all other methods.
func (v *Server) Save() error {
	if v.cfg.Dir == "" {
		return nil
	}
	v.saving.Lock()
	defer v.saving.Unlock()
	var errs []error
	if v.dirty.Swap(false) {
		list := []storedSession{}
		v.mu.Lock()
		for _, s := range v.sessions {
			if t := s.storedForm(); t.Expiry > 0 {
				list = append(list, t)
			}
		}
		v.mu.Unlock()
		if err := v.write(sessionsFile, list); err != nil {
			v.dirty.Store(true)
			errs = append(errs, err)
		}
	}
	if all, changed := v.retained.takeChanged(); changed {
		list := []storedRetained{}
		for _, m := range all {
			list = append(list, storedRetained{m.tag, m.identity, m.clientID(), m.qos, m.time, m.properties, m.payload})
		}
		if err := v.write(retainedFile, list); err != nil {
			v.retained.mu.Lock()
			v.retained.dirty = true
			v.retained.mu.Unlock()
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// write replaces a file: after a crash there is the old one or the new one.
func (v *Server) write(name string, content any) error {
	b, err := json.Marshal(content)
	if err != nil {
		return fmt.Errorf("mqtt: %s: %w", name, err)
	}
	if err := atomicfile.Write(filepath.Join(v.cfg.Dir, name), b, 0o600); err != nil {
		return fmt.Errorf("mqtt: %w", err)
	}
	return nil
}
