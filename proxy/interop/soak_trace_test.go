package interop

import (
	"context"
	"fmt"
	"net"
	"net/http/httptrace"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// journey records what the transport of net/http does for one request. The transport sends an idempotent request again and again,
// without telling, while reused connections break off before a response.
type journey struct {
	begun time.Time

	mu    sync.Mutex
	steps []string
	conn  net.Addr // of the client, in the last attempt
}

func (j *journey) note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.steps = append(j.steps, fmt.Sprintf("%v ", time.Since(j.begun).Round(time.Millisecond))+fmt.Sprintf(format, args...))
}

// trace returns a context whose request is recorded.
func (j *journey) trace(ctx context.Context) context.Context {
	j.begun = time.Now()
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		ConnectStart: func(_, address string) { j.note("connects to %s", address) },
		ConnectDone:  func(_, _ string, err error) { j.note("connected, error %v", err) },
		GotConn: func(i httptrace.GotConnInfo) {
			j.note("from %v, reused %v, idle for %v", i.Conn.LocalAddr(), i.Reused, i.IdleTime)
			j.mu.Lock()
			defer j.mu.Unlock()
			j.conn = i.Conn.LocalAddr()
		},
		WroteRequest:         func(i httptrace.WroteRequestInfo) { j.note("written, error %v", i.Err) },
		GotFirstResponseByte: func() { j.note("a response begins") },
	})
}

// String returns the last steps, and both ends of the last connection as the system sees them, if ss is installed.
func (j *journey) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	said := strings.Join(j.steps[max(0, len(j.steps)-20):], "; ")
	if j.conn == nil {
		return said
	}
	_, port, _ := net.SplitHostPort(j.conn.String())
	ends, err := exec.Command("ss", "-tinpO", "( sport = :"+port+" or dport = :"+port+" )").Output()
	if err != nil {
		return said
	}
	return said + "\n" + string(ends)
}
