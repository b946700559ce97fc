package target

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"

	"example.com/ferry/internal/balance"
	"example.com/ferry/internal/load"
)

// failed returns the *load.Failure of a request that has no response.
func failed(err error) error {
	return &load.Failure{Kind: kindOf(err), Outcome: outcomeOf(err), Err: err}
}

// outcomeOf returns who has caused an error of a connection.
func outcomeOf(err error) balance.Outcome {
	var op *net.OpError
	switch {
	case errors.Is(err, context.Canceled):
		return balance.Canceled
	case errors.As(err, &op) && op.Op == "dial":
		return balance.OfConnect(err)
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return balance.Timeout
	}
	return balance.Reset
}

// unexpected returns the *load.Failure of a request that has a response, but not the expected one.
func unexpected(kind string, o balance.Outcome, err error) error {
	return &load.Failure{Kind: kind, Received: true, Outcome: o, Err: err}
}

// kindOf returns what an error of a connection is counted as.
func kindOf(err error) string {
	var no syscall.Errno
	var op *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "connection closed by the server"
	case errors.As(err, &no):
		return strings.ToLower(no.Error())
	case errors.As(err, &op):
		return op.Op + " failed"
	}
	return "error"
}
