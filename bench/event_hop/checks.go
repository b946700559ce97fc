package main

import (
	"bytes"
	"fmt"

	"example.com/ferry/bench/internal/harness"
)

func checkHops(rows []contender) error {
	for _, c := range rows {
		for _, name := range cases {
			if err := c.checkHop(name); err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, name, err)
			}
		}
	}
	return nil
}

func (c contender) checkHop(name string) error {
	doc, err := c.form.message(name, identities[1])
	if err != nil {
		return err
	}
	hop := c.start(c.form)
	for i := range identities {
		out, ok, err := hop(doc, &identities[i])
		if err != nil {
			return err
		}
		if !ok {
			return errFiltered
		}
		id := identities[i]
		if c.kind == harness.Limit { // a limit does not change the message
			id = identities[1]
		}
		want, err := c.form.message(name, id)
		if err != nil {
			return err
		}
		if !bytes.Equal(out, want) {
			return fmt.Errorf("%d bytes came out that are not the %d expected", len(out), len(want))
		}
	}
	return nil
}

func checkFilters(rows []contender) error {
	for _, c := range rows {
		if c.kind == harness.Limit {
			continue
		}
		e := eventOf[byte100]()
		e.DeviceName = "camera-08"
		doc := c.form.of(e, identities[1])
		before := bytes.Clone(doc)
		_, ok, err := c.start(c.form)(doc, &identities[0])
		if err != nil {
			return fmt.Errorf("%s: another device: %w", c.name, err)
		}
		if ok {
			return fmt.Errorf("%s: another device passes", c.name)
		}
		if !bytes.Equal(doc, before) {
			return fmt.Errorf("%s: another device: the message was changed", c.name)
		}
	}
	return nil
}

func checkWhole(rows []contender) error {
	for _, c := range rows {
		if !c.whole || c.kind == harness.Limit {
			continue
		}
		doc, err := c.form.message(kib1, identities[1])
		if err != nil {
			return err
		}
		for _, bad := range [][]byte{append(bytes.Clone(doc), 0), doc[:len(doc)-1], doc[:len(doc)/2]} {
			if _, ok, err := c.start(c.form)(bad, &identities[0]); ok || err == nil {
				return fmt.Errorf("%s: a message with a byte behind it, or cut, was not refused", c.name)
			}
		}
	}
	return nil
}
