package link

import (
	"context"
	"fmt"
	"io"

	"example.com/ferry/protocol/native"
	"example.com/ferry/transport"
)

// RunData opens data stream i of a connection and writes o to it until o is closed. It returns why it could not.
func RunData(ctx context.Context, conn transport.Multi, i int, o *Outlet) error {
	stream, err := conn.OpenStream(ctx)
	if err != nil {
		o.Close()
		_ = o.Run(io.Discard)
		return fmt.Errorf("open data stream %d: %w", i, err)
	}
	if _, err = stream.Write(native.AppendJoin(nil, uint32(i))); err != nil {
		o.Close()
		_ = o.Run(io.Discard)
		return fmt.Errorf("data stream %d: %w", i, err)
	}
	if err = o.Run(stream); err != nil {
		return fmt.Errorf("data stream %d: %w", i, err)
	}
	return stream.Close()
}

// Joined returns the frames of an accepted data stream, without the JOIN it must begin with.
func Joined(stream io.Reader) io.Reader { return &joined{r: stream} }

type joined struct {
	r  io.Reader
	ok bool
}

func (j *joined) Read(p []byte) (int, error) {
	if !j.ok {
		head := make([]byte, native.HeaderSize+4)
		if _, err := io.ReadFull(j.r, head); err != nil {
			return 0, err
		}
		f, err := native.Split(head, len(head))
		if err != nil || f == nil || f.Kind() != native.Join {
			return 0, &native.Error{Code: native.CodeProtocol, Reason: "a data stream that does not begin with JOIN"}
		}
		j.ok = true
	}
	return j.r.Read(p)
}
