package nats

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ferry/engine"
	"example.com/ferry/engine/archive"
)

var _ archive.Restorer = (*Engine)(nil)

// A stream that is being filled has the metadata metaCopy and not yet metaTags, by which ferry knows its streams. It takes messages on
// subjects that only its filler knows, and stores them on the subjects of their tags.
const (
	metaCopy   = "ferry.copy"   // metadata: the filler
	metaCopied = "ferry.copied" // metadata: the last sequence number of a copy; these records have hdrStored

	copyPrefix  = "ferrycopy."
	holeSubject = "/h" // below the prefixes: no tag has this subject, see appendSubject

	mostHoles    = 100_000          // removed numbers of a copy that are filled; with more, its records get other numbers
	mostUnacked  = 4000             // messages
	bytesUnacked = 16 << 20         // of messages; the server refuses more than 128 MiB
	copyStall    = 30 * time.Second // without an acknowledgement
	shortestTime = time.Second      // that a message can be kept
)

// Restore implements archive.Restorer. A stream that had more copies than the engine has servers gets as many as there are.
func (e *Engine) Restore(ctx context.Context, a *archive.Reader) (restored archive.Restored, err error) {
	c := a.Head.Config
	c.Replicas = min(max(c.Replicas, 1), e.caps.MaxReplicas)
	if err := e.supported(c); err != nil {
		return restored, err
	}
	f := &filler{e: e, s: e.view(c.Name), archive: a, config: c, id: e.session + "-" + strconv.FormatUint(e.serial.Add(1), 36)}
	f.s.config.Store(&c)
	if err := f.begin(ctx); err != nil {
		return restored, err
	}
	if err = f.fill(ctx); err == nil {
		err = f.finish(ctx)
	}
	if err != nil {
		f.remove(ctx)
		return restored, fmt.Errorf("engine: stream %q: %w", c.Name, err)
	}
	return archive.Restored{Renumbered: f.renumbers}, nil
}

// filler makes a stream from an archive.
type filler struct {
	e       *Engine
	s       *stream
	archive *archive.Reader
	config  engine.Config
	id      string

	renumbers bool
	first     uint64
	next      uint64 // the number of the next message
	acked     uint64 // the last message that the server has acknowledged
	bytes     int    // of the messages since a wait for all acknowledgements
	inbox     string
	acks      chan *natsgo.Msg
	places    places
}

// begin makes the stream without retention. What a filler has left that did not end is replaced.
func (f *filler) begin(ctx context.Context) error {
	info, err := f.s.jsInfo(ctx)
	switch {
	case err == nil && info.Config.Metadata[metaCopy] == "":
		return engine.ErrExists
	case err == nil:
		if err := f.e.deleteStream(ctx, f.s.js()); err != nil {
			return err
		}
	case !errors.Is(err, engine.ErrNoStream):
		return err
	}
	head := f.archive.Head
	f.renumbers = head.Last+1-head.First > head.Records+mostHoles
	f.first = head.First
	if f.renumbers {
		f.first = head.Last + 1 - head.Records // so that later numbers are as they would be
	}
	f.next, f.acked = f.first, f.first-1
	f.places = newPlaces(f.archive.Cursors)
	bare := streamConfig(engine.Config{Name: f.config.Name, Tags: f.config.Tags, Replicas: f.config.Replicas, InMemory: f.config.InMemory})
	bare.Subjects = []string{copyPrefix + f.id + ".>"}
	bare.SubjectTransform = &jetstream.SubjectTransformConfig{Source: copyPrefix + f.id + ".>", Destination: subjectPrefix + ">"}
	bare.FirstSeq = f.first
	bare.AllowMsgTTL = true
	bare.Duplicates = max(f.config.DuplicateWindow, time.Second)
	bare.Metadata = map[string]string{metaCopy: f.id}
	return openError(f.e.caps.Name, f.config, f.create(ctx, bare))
}

const codeNoStore = 10049 // the server cannot make the files of the stream

// create makes the stream. The server removes the files of a deleted stream late. A new one of its name can continue them, or cannot be made
// meanwhile: then it is deleted, and made again.
func (f *filler) create(ctx context.Context, c jetstream.StreamConfig) error {
	end := time.Now().Add(apiPatience)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		s, err := request(ctx, f.e, func(ctx context.Context) (jetstream.Stream, error) { return f.e.js.CreateStream(ctx, c) })
		var api *jetstream.APIError
		switch {
		case errors.As(err, &api) && api.ErrorCode == codeNoStore:
		case err != nil:
			return err
		default:
			if state := s.CachedInfo().State; state.Msgs == 0 && state.LastSeq == f.first-1 {
				return nil
			}
			if err := f.e.deleteStream(ctx, f.s.js()); err != nil && !errors.Is(err, engine.ErrNoStream) {
				return err
			}
		}
		if time.Now().After(end) {
			return fmt.Errorf("the server has not removed the files of an earlier stream of this name within %s", apiPatience)
		}
		select {
		case <-time.After(wait):
		case <-f.e.closing:
			return engine.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// fill stores the records, and an empty message for each number that is removed.
func (f *filler) fill(ctx context.Context) error {
	f.inbox = f.e.write.NewInbox() + "."
	f.acks = make(chan *natsgo.Msg, 2*mostUnacked)
	sub, err := f.e.write.ChanSubscribe(f.inbox+"*", f.acks)
	if err != nil {
		return err
	}
	defer sub.Unsubscribe() //nolint:errcheck // the connection may be closed
	h := newHeaders()
	for {
		r, err := f.archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if err := f.holes(ctx, r.Sequence); err != nil {
			return err
		}
		f.places.at(r.Sequence, f.next)
		if why := f.expired(&r, time.Now()); why {
			err = f.hole(ctx)
		} else {
			err = f.record(ctx, h, &r)
		}
		if err != nil {
			return err
		}
	}
	if err := f.holes(ctx, f.archive.Head.Last+1); err != nil {
		return err
	}
	f.places.end(f.next)
	return f.await(ctx, f.next-1)
}

// expired reports whether retention has removed a record meanwhile.
func (f *filler) expired(r *engine.Record, now time.Time) bool {
	return f.config.MaxAge > 0 && now.UnixNano()-r.Stored >= int64(f.config.MaxAge)
}

// holes fills the numbers before a record.
func (f *filler) holes(ctx context.Context, to uint64) error {
	for !f.renumbers && f.next < to {
		if err := f.hole(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (f *filler) hole(ctx context.Context) error {
	return f.publish(ctx, &natsgo.Msg{Subject: copyPrefix + f.id + "." + holeSubject})
}

// record stores a record. Its time of storage is in a header. The server forgets an ID after the window from now; so only the IDs that are
// known now are given to it.
func (f *filler) record(ctx context.Context, h *headers, r *engine.Record) error {
	age := time.Duration(time.Now().UnixNano() - r.Stored)
	id := ""
	if age < f.config.DuplicateWindow {
		id = messageID(r, f.config.SharedIDs)
	}
	h.record(r, id)
	if id == "" && r.ID != "" {
		delete(h.header, hdrMsgID)
		h.header[hdrID] = []string{escapeID(r.ID)}
	}
	h.header[hdrStored] = []string{strconv.FormatInt(r.Stored, 10)}
	if f.config.MaxAge > 0 {
		left := max(f.config.MaxAge-age, shortestTime)
		h.header[hdrTTL] = []string{strconv.FormatInt(int64((left+time.Second-1)/time.Second), 10)}
	}
	subject := subjectOf(r.Tag)
	return f.publish(ctx, &natsgo.Msg{Subject: copyPrefix + f.id + "." + subject[len(subjectPrefix):], Header: h.header, Data: r.Payload})
}

// publish sends the next message.
func (f *filler) publish(ctx context.Context, m *natsgo.Msg) error {
	if f.next-1-f.acked >= mostUnacked || f.bytes >= bytesUnacked {
		if err := f.await(ctx, f.next-1); err != nil {
			return err
		}
		f.bytes = 0
	}
	m.Reply = f.inbox + strconv.FormatUint(f.next, 10)
	if err := f.e.write.PublishMsg(m); err != nil {
		return fmt.Errorf("record %d: %w", f.next, err)
	}
	f.next++
	f.bytes += len(m.Data)
	return nil
}

// await waits until the messages up to last are acknowledged. The numbers that the server gives are those that they should have.
func (f *filler) await(ctx context.Context, last uint64) error {
	stall := time.NewTimer(copyStall)
	defer stall.Stop()
	for f.acked < last {
		select {
		case m := <-f.acks:
			got, err := parseAck(m)
			switch {
			case err != nil:
				return err
			case got.Error != nil:
				return got.Error
			case got.Duplicate:
				return fmt.Errorf("record %d: the server has its ID already: %w", f.acked+1, errNumbers)
			case got.Sequence != f.acked+1:
				return fmt.Errorf("record %d was stored as %d: %w", f.acked+1, got.Sequence, errNumbers)
			}
			f.acked++
			stall.Reset(copyStall)
		case <-stall.C:
			return fmt.Errorf("the server has acknowledged nothing for %s", copyStall)
		case <-f.e.closing:
			return engine.ErrClosed
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

var errNumbers = errors.New("the copy would have other sequence numbers: copy it again")

// finish removes the holes, stores the cursors, and gives the stream its subjects and retention.
func (f *filler) finish(ctx context.Context) error {
	if _, err := f.s.purge(ctx, subjectPrefix+holeSubject, 0); err != nil {
		return err
	}
	cursors := f.archive.Cursors
	if f.renumbers {
		for i := range cursors {
			cursors[i].Position = f.places.translate(cursors[i].Position)
		}
	}
	if err := f.s.restoreCursors(ctx, cursors); err != nil {
		return err
	}
	final := streamConfig(f.config)
	final.FirstSeq = f.first
	final.AllowMsgTTL = true
	final.Metadata[metaCopied] = strconv.FormatUint(f.next-1, 10)
	_, err := request(ctx, f.e, func(ctx context.Context) (jetstream.Stream, error) { return f.e.js.UpdateStream(ctx, final) })
	return openError(f.e.caps.Name, f.config, err)
}

// remove removes what a failed Restore has made: a stream without its positions would be used as if it were complete. ctx may have ended.
// The error of Restore counts.
func (f *filler) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), apiTimeout)
	defer cancel()
	if info, err := f.s.jsInfo(ctx); err != nil || info.Config.Metadata[metaCopy] != f.id {
		return // of another filler
	}
	_ = f.e.deleteStream(ctx, f.s.js())
}

// deleteStream deletes a JetStream stream and the bucket of its cursors, of which there may be none.
func (e *Engine) deleteStream(ctx context.Context, js string) error {
	_, err := request(ctx, e, func(ctx context.Context) (struct{}, error) { return struct{}{}, e.js.DeleteStream(ctx, js) })
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		err = engine.ErrNoStream
	}
	if err != nil {
		return err
	}
	_, err = request(ctx, e, func(ctx context.Context) (struct{}, error) { return struct{}{}, e.js.DeleteKeyValue(ctx, js) })
	if errors.Is(err, jetstream.ErrBucketNotFound) || errors.Is(err, jetstream.ErrStreamNotFound) {
		err = nil
	}
	return err
}

func (s *stream) restoreCursors(ctx context.Context, cursors []engine.CursorInfo) error {
	if len(cursors) == 0 {
		return nil
	}
	kv, err := s.cursorBucket(ctx, true)
	if err != nil {
		return err
	}
	for _, c := range cursors {
		entry := newEntry(engine.CursorConfig{Filter: c.Filter, Where: c.Where, Owner: c.Owner}, c.Position.Floor+1)
		entry.set(c.Position)
		entry.Term = 1 // so that it is held to the end of the stream
		value, err := json.Marshal(entry)
		if err != nil {
			return err
		}
		if _, err := request(ctx, s.e, func(ctx context.Context) (uint64, error) { return kv.Put(ctx, c.Name, value) }); err != nil {
			return err
		}
	}
	return nil
}
