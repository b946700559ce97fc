package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"time"

	"example.com/ferry/internal/load"
	"example.com/ferry/internal/load/echo"
	"example.com/ferry/internal/load/target"
	"example.com/ferry/internal/pki"
	"example.com/ferry/internal/wirecount"
	"example.com/ferry/node"
	"example.com/ferry/rpc"
	"example.com/ferry/rpc/call"
	"example.com/ferry/rpc/content"
	"example.com/ferry/rpc/grpc"
	"example.com/ferry/rpc/jsonrpc"
	"example.com/ferry/rpc/native"
	"example.com/ferry/transport"
)

// cell is a place in the matrix of ferry load --matrix.
type cell struct {
	Transport string `json:"transport"` // a scheme
	Server    string `json:"server"`    // rpc, grpc or http
	Content   string `json:"content"`   // a content type
}

// cellSpec says what a process of a cell does.
type cellSpec struct {
	cell
	Addr    string // of the client: where the server is. It is empty for the server
	Dir     string // has the certificates, and the sockets
	Conns   int
	Timeout time.Duration
	Load    load.Config
}

// cellResult is what the client of a cell prints. The server prints Served.
type cellResult struct {
	Error   string          `json:"error,omitempty"`         // why there is no result, or why it does not count
	Absent  bool            `json:"absent,omitempty"`        // there is no such cell: Error says why
	Written int64           `json:"written_bytes,omitempty"` // that the client wrote to the transport
	Read    int64           `json:"read_bytes,omitempty"`    // that it read from it
	Served  uint64          `json:"served,omitempty"`        // calls that the server has answered
	Load    json.RawMessage `json:"result,omitempty"`
}

// matrixServers are the protocols of the matrix.
var matrixServers = []call.Protocol{native.Protocol{}, grpc.Protocol{}, jsonrpc.Protocol{}}

// transport returns the transport of the cell, for both ends.
func (s *cellSpec) transport(e *env) (transport.Transport, error) {
	i := slices.IndexFunc(e.extensions.Transports, func(t node.Transport) bool { return t.Scheme == s.Transport })
	if i < 0 {
		return nil, fmt.Errorf("no transport %q", s.Transport)
	}
	id, err := pki.Open(pki.Config{Dir: s.Dir})
	if err != nil {
		return nil, err
	}
	trust, err := pki.ClientTLS(filepath.Join(s.Dir, pki.CAFile))
	if err != nil {
		return nil, err
	}
	return e.extensions.Transports[i].New(node.Security{Server: id.ServerTLS(), Client: trust}), nil
}

func (s *cellSpec) protocol() call.Protocol {
	i := slices.IndexFunc(matrixServers, func(p call.Protocol) bool { return p.Name() == s.Server })
	return matrixServers[max(i, 0)]
}

// cellCmd is a process of a cell: ferry load --matrix starts this program again.
type cellCmd struct {
	Spec string `arg:""`
}

// Run is the server or the client. It prints JSON. It ends when its standard input does, as after the death of the process that has started it.
func (c *cellCmd) Run(e *env) error {
	signal.Ignore(os.Interrupt) // the terminal sends it to all processes, and the first one decides
	var s cellSpec
	if err := json.Unmarshal([]byte(c.Spec), &s); err != nil {
		return usageError{err}
	}
	t, err := s.transport(e)
	if err != nil {
		return err
	}
	out := json.NewEncoder(e.stdout)
	if s.Addr == "" {
		return s.serve(e, t, out)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, e.stdin)
		cancel()
	}()
	r, err := s.call(ctx, t)
	if err != nil {
		return err
	}
	return out.Encode(r)
}

// serve prints its address, serves until standard input ends, and prints how many calls it has served.
func (s *cellSpec) serve(e *env, t transport.Transport, out *json.Encoder) error {
	srv := rpc.NewServer(&rpc.ServerConfig{Contents: content.All()})
	defer srv.Close()
	echo.Of(s.Content).Handle(srv)
	addr := "127.0.0.1:0"
	if s.Transport == transport.Unix.Scheme {
		addr = filepath.Join(s.Dir, fmt.Sprintf("%d.sock", os.Getpid()))
	}
	l, err := srv.Listen(context.Background(), s.protocol(), t, addr)
	if err != nil {
		return err
	}
	if err := out.Encode(l.Addr().String()); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, e.stdin); err != nil {
		return err
	}
	for _, m := range srv.Metrics().Methods {
		if m.Method == echo.Method {
			return out.Encode(m.Codes[call.OK])
		}
	}
	return fmt.Errorf("the server has no method %s", echo.Method)
}

// call makes one call, and then those of the load.
func (s *cellSpec) call(ctx context.Context, t transport.Transport) (r cellResult, err error) {
	wire := wirecount.New(t)
	client, err := rpc.Dial(ctx, s.Transport+"://"+s.Addr, &rpc.ClientConfig{
		Protocol: s.protocol(), Transports: []transport.Transport{wire}, Contents: content.All(), Content: s.Content, Conns: s.Conns, Timeout: s.Timeout,
	})
	if err != nil {
		return r, err
	}
	defer client.Close()
	method := echo.Of(s.Content)
	if err := method.Caller(client)(ctx); err != nil {
		r.Error = err.Error()
		r.Absent = call.StatusOf(err).Code == call.InvalidArgument // the protocol has no such content type
		return r, nil
	}
	l, err := load.New(&s.Load, &target.Echo{Client: client, Echo: method})
	if err != nil {
		return r, err
	}
	result, err := l.Run(ctx)
	if err != nil {
		return r, err
	}
	r.Written, r.Read = wire.Written.Load(), wire.Read.Load()
	r.Load, err = json.Marshal(result)
	return r, err
}

// run measures the cell, with a process for the server and one for the client.
func (s *cellSpec) run(ctx context.Context, self []string, stderr io.Writer) (r cellResult, err error) {
	server, err := startCell(self, *s, stderr)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, server.end()) }()
	if err := server.out.Decode(&s.Addr); err != nil {
		return r, fmt.Errorf("the server: %w", err)
	}
	client, err := startCell(self, *s, stderr)
	if err != nil {
		return r, err
	}
	defer context.AfterFunc(ctx, func() { _ = client.in.Close() })() // it prints what it has
	err = client.out.Decode(&r)
	if err = errors.Join(err, client.end()); err != nil {
		return r, fmt.Errorf("the client: %w", err)
	}
	_ = server.in.Close() // ends it
	if err := server.out.Decode(&r.Served); err != nil {
		return r, fmt.Errorf("the server: %w", err)
	}
	return r, nil
}

// cellProcess is a process of a cell.
type cellProcess struct {
	cmd *exec.Cmd
	in  io.Closer
	out *json.Decoder
}

func startCell(self []string, s cellSpec, stderr io.Writer) (*cellProcess, error) {
	text, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	p := &cellProcess{cmd: exec.Command(self[0], append(self[1:len(self):len(self)], string(text))...)}
	p.cmd.Stderr = stderr
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = json.NewDecoder(out)
	return p, p.cmd.Start()
}

// end waits until the process has ended, and kills it if it does not end by the end of its standard input.
func (p *cellProcess) end() error {
	_ = p.in.Close()
	late := time.AfterFunc(cellEnd, func() { _ = p.cmd.Process.Kill() })
	defer late.Stop()
	return p.cmd.Wait()
}

// cellEnd is how long a process of a cell may take to end.
const cellEnd = 5 * time.Second
