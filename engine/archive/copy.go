package archive

import (
	"context"
	"errors"
	"io"
	"iter"

	"example.com/ferry/engine"
)

// errEnded ends Save when Restore has failed.
var errEnded = errors.New("the restoration has ended")

// Copy makes in one engine a stream that another one has.
func Copy(ctx context.Context, from engine.Engine, to Restorer, name string) (Restored, error) {
	next, stop := iter.Pull2(func(yield func([]byte, error) bool) {
		err := Save(ctx, from, name, func(part []byte) error {
			if !yield(part, nil) {
				return errEnded
			}
			return nil
		})
		if err != nil && !errors.Is(err, errEnded) {
			yield(nil, err)
		}
	})
	defer stop()
	a, err := Open(func() ([]byte, error) {
		part, err, more := next()
		if !more {
			return nil, io.EOF
		}
		return part, err
	})
	if err != nil {
		return Restored{}, err
	}
	return to.Restore(ctx, a)
}
