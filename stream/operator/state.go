package operator

import (
	"cmp"
	"context"
	"encoding"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"example.com/ferry/codec"
	"example.com/ferry/codec/cbor"
)

// Store keeps the state of one run: values by key.
type Store interface {
	// Load returns what the last Commit has left. A new Store returns nothing.
	Load(ctx context.Context) (map[string][]byte, error)

	// Commit stores changed values; nil removes a key. After a crash Load returns all changes of a call or none of them.
	Commit(ctx context.Context, changed map[string][]byte) error
}

// state is the state of a run's operators. Each operator that has state has a cell. When a call of enter ends, the cells that have changed
// are stored together with the positions of the sources, so each message is in the state once.
type state struct {
	store Store
	saved map[string][]byte // of the last run, until an operator takes it
	dirty []*cell
}

func (s *state) load(ctx context.Context, store Store) (err error) {
	if store == nil {
		return nil
	}
	s.store = store
	s.saved, err = store.Load(ctx)
	return err
}

// claimed panics with an error if operators have not taken all of the state.
func (s *state) claimed() {
	check(len(s.saved) == 0, func() error {
		key := slices.Sorted(maps.Keys(s.saved))[0]
		return fmt.Errorf("the stored state has %d entries, the first is %q, that fit no operator: the operators have changed, so use another Config.Name and Store", len(s.saved), key)
	})
}

// cell is the state of one operator. Its values in the store are those that save returns.
type cell struct {
	key   string
	state *state
	dirty bool
	save  func() (v any, keep bool)
}

// newCell makes a cell for an operator. If the run goes on from a stored state, it sets *saved to the operator's and returns true. The store
// gets what save returns, a value of the same type.
func newCell[S any](s *scope, kind string, saved *S, save func() (S, bool)) (c *cell, restored bool) {
	s.keeps(kind)
	s.last++
	c = &cell{state: &s.run.state, dirty: true}
	if c.state.store == nil {
		return c, false
	}
	c.key = fmt.Sprintf("%s%d-%s", s.path, s.last, kind)
	name := unexported(reflect.TypeFor[S](), map[reflect.Type]bool{})
	check(name == "", func() error {
		return fmt.Errorf("the state of %s cannot be stored: the field %s is not exported: export it, or implement encoding.BinaryMarshaler", kind, name)
	})
	err := codec.CheckType(cbor.Codec{}, reflect.TypeFor[S]())
	check(err == nil, func() error { return fmt.Errorf("the state of %s cannot be stored: %w", kind, err) })
	c.dirty = false
	c.save = func() (any, bool) { return save() }
	s.cells = append(s.cells, c)
	data, restored := c.state.saved[c.key]
	if restored {
		delete(c.state.saved, c.key)
		err := cbor.Codec{}.Unmarshal(data, saved)
		check(err == nil, func() error { return fmt.Errorf("the stored state of %s: %w", c.key, err) })
	}
	return c, restored
}

// touch notes that the state has changed.
func (c *cell) touch() {
	if !c.dirty {
		c.dirty = true
		c.state.dirty = append(c.state.dirty, c)
	}
}

// commitWait is how long a run that ends waits until its state is stored.
const commitWait = 2 * time.Second

// commit stores the cells that have changed. What the sinks have published is stored before.
func (r *Running) commit() {
	if len(r.state.dirty) == 0 {
		return
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(r.ctx))
	defer cancel()
	defer context.AfterFunc(r.ctx, func() { time.AfterFunc(commitWait, cancel) })()
	for _, flush := range r.flushes {
		if err := flush(ctx); err != nil {
			panic(failure{err})
		}
	}
	changed := make(map[string][]byte, len(r.state.dirty))
	for _, c := range r.state.dirty {
		c.dirty = false
		v, keep := c.save()
		if !keep {
			changed[c.key] = nil
			continue
		}
		data, err := cbor.Codec{}.Marshal(v)
		check(err == nil, func() error { return fmt.Errorf("the state of %s: %w", c.key, err) })
		changed[c.key] = data
	}
	clear(r.state.dirty)
	r.state.dirty = r.state.dirty[:0]
	if err := r.state.store.Commit(ctx, changed); err != nil {
		panic(failure{fmt.Errorf("store the state: %w", err)})
	}
}

// group returns the scope of the group with a key.
func (s *scope) group(id string, key any) *scope {
	if s.run.state.store == nil {
		return &scope{run: s.run, path: id + "/"} // no cell has a key
	}
	data, err := cbor.Codec{}.Marshal(key)
	check(err == nil, func() error { return fmt.Errorf("the key %v of a group: %w", key, err) })
	return &scope{run: s.run, path: id + "/" + hex.EncodeToString(data) + "/"}
}

// discard removes the state of a group that has ended.
func (s *scope) discard() {
	for _, c := range s.cells {
		c.save = func() (any, bool) { return nil, false }
		c.touch()
	}
	s.cells = nil
}

// savedGroups calls each with the keys of the groups that have stored state.
func savedGroups[K any](s *state, id string, each func(K)) {
	prefix, last := id+"/", ""
	for _, path := range slices.Sorted(maps.Keys(s.saved)) {
		rest, ok := strings.CutPrefix(path, prefix)
		if !ok {
			continue
		}
		text, _, _ := strings.Cut(rest, "/")
		if text == last {
			continue
		}
		last = text
		var key K
		data, err := hex.DecodeString(text)
		if err == nil {
			err = cbor.Codec{}.Unmarshal(data, &key)
		}
		check(err == nil, func() error { return fmt.Errorf("the stored key of a group, %q: %w", text, err) })
		each(key)
	}
}

// unexported returns a field that CBOR would leave out of the values of a type, or "".
func unexported(t reflect.Type, seen map[reflect.Type]bool) string {
	if seen[t] || t.Implements(marshaler) || reflect.PointerTo(t).Implements(marshaler) {
		return ""
	}
	seen[t] = true
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		return unexported(t.Elem(), seen)
	case reflect.Map:
		return cmp.Or(unexported(t.Key(), seen), unexported(t.Elem(), seen))
	case reflect.Struct:
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() {
				return fmt.Sprintf("%v.%s", t, f.Name)
			}
			if name := unexported(f.Type, seen); name != "" {
				return name
			}
		}
	}
	return ""
}

var marshaler = reflect.TypeFor[encoding.BinaryMarshaler]()

// errUsedTwice is the error of an Input that two runs use.
var errUsedTwice = errors.New("an Input is the source of another run, or of two streams: make one for each, or use Share")
