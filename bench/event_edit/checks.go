package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"example.com/ferry/bench/internal/events"
	"example.com/ferry/edgex"
	"example.com/ferry/field"
)

// The seed's benchmark never checked its output, so it did not show that the payload was never decoded. These checks would detect that.

func checkPayloads() error {
	for _, name := range cases {
		s, err := sampleOf(name)
		if err != nil {
			return err
		}
		for in, docs := range s.docs {
			for _, doc := range docs {
				e, err := read(encoding(in), doc)
				if err == nil {
					err = s.sees(e)
				}
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return nil
}

// read decodes the whole doc with a library that is independent of ferry.
func read(in encoding, doc []byte) (*events.Event, error) {
	e := new(events.Event)
	if in == inJSON {
		return e, json.Unmarshal(doc, e)
	}
	return e, cbor.Unmarshal(doc, e)
}

// sees reports whether a decoded event has all readings of the sample, payload included.
func (s *sample) sees(event any) error {
	readings, payload := 0, []byte(nil)
	switch e := event.(type) {
	case *events.Event:
		if readings = len(e.Readings); readings > 0 {
			payload = e.Readings[readings-1].BinaryValue
		}
	case *edgex.Event:
		if readings = len(e.Readings); readings > 0 {
			payload = e.Readings[readings-1].BinaryValue
		}
	}
	if want := len(s.event.Readings); readings != want {
		return fmt.Errorf("%d readings decoded, want %d", readings, want)
	}
	if want := s.payload(); !bytes.Equal(payload, want) {
		return fmt.Errorf("the payload decoded has %d bytes, or other ones: want all %d", len(payload), len(want))
	}
	return nil
}

// isChanged reports whether doc is the same event with the new ID. A row may write the keys in another order.
func (s *sample) isChanged(in encoding, doc []byte, id *identity) error {
	e := s.event
	e.ID = id.text
	want := [...]func(any) []byte{events.CBOR, events.JSON}[in](e)
	if bytes.Equal(doc, want) {
		return nil
	}
	if len(s.docs[in]) == 1 {
		return fmt.Errorf("%d bytes with ID %s are not the %d expected", len(doc), id.text, len(want))
	}
	got, err := read(in, doc)
	if err != nil {
		return err
	}
	inOrder := [...]func(any) []byte{events.CBOR, events.JSON}[in](got)
	if !bytes.Equal(inOrder, want) {
		return fmt.Errorf("%d bytes with ID %s and keys in another order are not the %d expected", len(doc), id.text, len(want))
	}
	return nil
}

func checkEdits(rows []contender) error {
	for _, c := range rows {
		for _, name := range cases {
			if name == absent || !c.takesPart(name) {
				continue
			}
			if err := c.checkEdits(name); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
		}
	}
	return nil
}

func (c contender) checkEdits(name string) error {
	s, err := sampleOf(name)
	if err != nil {
		return err
	}
	docs := s.clones(c.in)
	t := c.tools(len(docs[0]))
	for i := range max(len(docs), len(c.ids)) {
		doc, id := docs[i&(len(docs)-1)], c.ids[i&1]
		out, err := t.edit(doc, id)
		if err != nil {
			return err
		}
		if err := s.isChanged(c.in, bytes.Join(out, nil), id); err != nil {
			return err
		}
	}
	if t.decode == nil {
		return nil
	}
	docs = s.clones(c.in)
	event, err := t.decode(docs[0])
	if err != nil {
		return err
	}
	if err := s.sees(event); err != nil {
		return err
	}
	if _, err := t.decode(append(docs[0], 0)); err == nil {
		return errors.New("a byte behind the event was not seen")
	}
	out, err := t.encode(event)
	if err != nil {
		return err
	}
	return s.isChanged(c.in, out, noChange[0])
}

func checkSent(rows []contender) error {
	for _, c := range rows {
		for _, name := range []string{byte100, small} {
			if err := c.checkSent(name); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
		}
	}
	return nil
}

func (c contender) checkSent(name string) error {
	s, err := sampleOf(name)
	if err != nil {
		return err
	}
	doc := s.clones(c.in)[0]
	m, err := c.tools(len(doc)).edit(doc, c.ids[0])
	if err != nil {
		return err
	}
	got := make([]byte, len(bytes.Join(m, nil)))
	socket, err := newSocket()
	if err != nil {
		return err
	}
	defer socket.close()
	sent := make(chan error, 1)
	go func() { sent <- send(socket.near, m) }()
	if _, err := io.ReadFull(socket.far, got); err != nil {
		return err
	}
	if err := <-sent; err != nil {
		return err
	}
	return s.isChanged(c.in, got, c.ids[0])
}

// checkAbsent checks that each row returns an error for an event without an ID, and does not change it.
func checkAbsent(rows []contender) error {
	for _, c := range rows {
		if !c.takesPart(absent) {
			continue
		}
		s, err := sampleOf(absent)
		if err != nil {
			return err
		}
		doc := s.clones(c.in)[0]
		_, err = c.tools(len(doc)).edit(doc, c.ids[0])
		if !errors.Is(err, field.ErrNotFound) {
			return fmt.Errorf("%s, %s: not refused as %w, but: %w", c.name, absent, field.ErrNotFound, err)
		}
		if !slices.Equal(doc, s.docs[c.in][0]) {
			return fmt.Errorf("%s, %s: the event was changed", c.name, absent)
		}
	}
	return nil
}
