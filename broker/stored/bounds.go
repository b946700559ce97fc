package stored

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"example.com/ferry/engine"
	"example.com/ferry/protocol/native"
)

// The most durables that clients of the wire may make. They stay without members, until they are deleted.
const (
	maxStreamDurables = 16 << 10 // of a stream, those of clients in the process included
	maxOwnDurables    = 1 << 10  // of a stream, for one identity
)

// relistAfter is how old the list of durables is before a refusal asks the engine for a new one.
const relistAfter = time.Second

// owners says which durables a stream has, and for which identities they were made. The engine is asked before the first one is made, and
// before one is refused: other nodes make and delete durables, too.
type owners struct {
	mu     sync.Mutex
	byName map[string]string
	listed time.Time
}

// admit returns an error if owner may not make another durable. One that exists is admitted.
func (st *Stream) admit(ctx context.Context, name, owner string) error {
	o := &st.owners
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.byName == nil {
		if err := o.list(ctx, st.config().Stream); err != nil {
			return err
		}
	}
	err := o.check(st.name(), name, owner)
	if err != nil && time.Since(o.listed) >= relistAfter {
		if failed := o.list(ctx, st.config().Stream); failed != nil {
			return failed
		}
		err = o.check(st.name(), name, owner)
	}
	if err != nil {
		return err
	}
	if _, known := o.byName[name]; !known {
		o.byName[name] = owner
	}
	return nil
}

func (o *owners) list(ctx context.Context, s engine.Stream) error {
	all, err := s.Cursors(ctx)
	if err != nil {
		return err
	}
	o.byName, o.listed = make(map[string]string, len(all)), time.Now()
	for _, c := range all {
		o.byName[c.Name] = c.Owner
	}
	return nil
}

func (o *owners) check(stream, name, owner string) error {
	if _, known := o.byName[name]; known {
		return nil
	}
	own := 0
	for _, other := range o.byName {
		if other == owner {
			own++
		}
	}
	switch {
	case own >= maxOwnDurables:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("durable %q: %s has %d durables of stream %q already, the limit of an identity: delete some", name, owner, own, stream)}
	case len(o.byName) >= maxStreamDurables:
		return &native.Error{Code: native.CodeLimit, Reason: fmt.Sprintf("durable %q: stream %q has %d durables already, its limit: delete some", name, stream, len(o.byName))}
	}
	return nil
}

// forget notes that a durable is about to be deleted.
func (o *owners) forget(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.byName, name)
}

// isRefusal reports whether an error of a SUB does not go away when it is tried again.
func isRefusal(err error) bool {
	var conflict *engine.ConflictError
	var refused *native.Error
	return errors.As(err, &conflict) || errors.As(err, &refused) || errors.Is(err, engine.ErrClosed) || errors.Is(err, engine.ErrNoStream)
}
