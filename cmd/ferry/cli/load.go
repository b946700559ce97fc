package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"syscall"
	"time"

	"example.com/ferry/internal/load"
)

type loadCmd struct {
	Rate     float64       `short:"r" placeholder:"N" help:"Open loop: N requests a second, whatever the server does. Without it, a closed loop."`
	Constant bool          `help:"With --rate, all gaps between requests are equal. The default is a Poisson process."`
	Closed   bool          `help:"Closed loop: each worker sends the next request when its last one is complete. The default without --rate."`
	Workers  int           `short:"c" default:"100" placeholder:"N" help:"At most N requests at a time. The default is 100."`
	Conns    int           `default:"4" placeholder:"N" help:"The connections of calls and of HTTP/2, which the workers share. The default is 4. Otherwise each worker has its own."`
	Requests int           `short:"n" placeholder:"N" help:"Stop after N requests."`
	Duration time.Duration `short:"t" placeholder:"TIME" help:"Stop after this time. The default is 10s, or no limit with -n."`
	WarmUp   time.Duration `placeholder:"TIME" help:"Send requests for this time before they are measured."`
	MaxLate  time.Duration `default:"1ms" placeholder:"TIME" help:"With --rate, the run is void if the 99th percentile of ferry load's own lateness is above it. The default is 1ms."`
	Timeout  time.Duration `default:"10s" placeholder:"TIME" help:"How long a request may take. The default is 10s."`

	Method   string   `short:"m" placeholder:"SERVICE.METHOD" help:"Call this method, such as greeter.Greeter.Hello."`
	Content  string   `placeholder:"TYPE" help:"The content type of calls, such as cbor or application/cbor. The default is application/json, and application/protobuf with grpc://. With --matrix a list with commas, or all."`
	Schema   string   `placeholder:"FILE" help:"A protobuf descriptor set that has the service: the types of messages in protobuf and y3. Without it, the reflection of a gRPC server tells them."`
	Metadata []string `placeholder:"NAME=VALUE" sep:"none" help:"Metadata of calls. May be given more than once."`

	Matrix    bool   `help:"Measure cells of transport, server and content type, each with a server and a client that are processes of this program."`
	Transport string `placeholder:"LIST" help:"With --matrix: the transports, such as tcp,quic. The default is all."`
	Server    string `placeholder:"LIST" help:"With --matrix: the servers, of rpc, grpc and http. The default is all."`

	Pub string `placeholder:"TAG" help:"Publish messages on this tag of a node. Each one is confirmed by the node."`

	HTTP2   bool   `name:"http2" help:"HTTP/2 instead of HTTP/1.1: by TLS for https://, with prior knowledge for http://. The workers share --conns connections."`
	Dialect string `enum:"v1,v2,v2crc" default:"v1" placeholder:"NAME" help:"The dialect of bolt://: v1, v2 or v2crc. The default is v1."`

	Verb   string   `short:"X" placeholder:"VERB" help:"The verb of HTTP requests. The default is GET, and POST with a body."`
	Header []string `short:"H" placeholder:"NAME:VALUE" sep:"none" help:"A field of HTTP requests, or an entry of the header of bolt://. May be given more than once."`
	Expect int      `placeholder:"STATUS" help:"The status that HTTP responses must have. The default is any from 200 to 299."`

	Data string `short:"d" placeholder:"TEXT" help:"The payload. Of calls it is JSON, which is written in their content type."`
	File string `placeholder:"FILE" help:"The file with the payload, which is sent as it stands."`
	Size int    `placeholder:"N" help:"A payload of N bytes."`

	CA        string `name:"ca" placeholder:"FILE" help:"The CA certificate to trust. The default is ca.pem in the data directory, or else the system's."`
	DataDir   string `default:"./ferry-data" placeholder:"DIR" help:"The data directory of a node on this machine. The default is ./ferry-data."`
	TokenFile string `placeholder:"FILE" help:"The file with the token, for a server that requires one. Not with grpc:// and http://. With --pub, the default is token in the data directory."`
	Output    string `short:"o" enum:"text,json" default:"text" placeholder:"FORMAT" help:"text prints figures and a plot. json prints one object."`
	SVG       string `name:"svg" placeholder:"FILE" help:"Write the latencies by percentile to FILE, as a picture."`
	Addr      string `arg:"" optional:"" help:"The server: http://HOST:PORT/PATH, bolt://HOST:PORT, or with --method or --pub an address such as tcp://HOST:PORT or grpc://HOST:PORT."`
}

// Help returns the part of ferry load --help that is not in the grammar.
func (*loadCmd) Help() string {
	return `The scheme chooses the protocol: HTTP/1.1, or HTTP/2 with --http2, for http:// and https://; SOFABolt for bolt://; with --method calls, as ferry call makes them; with --pub messages to a node. With --matrix it measures ferry's own calls, 100 at a time and 100000 in each cell unless -c, -n or -t say otherwise. docs/load.md explains the output. Ctrl-C ends the run and prints what was measured.

The exit status is 1 if a request failed, or if the run is void: then its figures say nothing about the server.

Examples:

    ferry load --rate 1000 -t 30s http://127.0.0.1:8080/
    ferry load --closed -c 100 -n 100000 -m greeter.Greeter.Hello -d '{"name":"Bo"}' tcp://127.0.0.1:9101
    ferry load --matrix --transport tcp,quic --server rpc,grpc -n 10000
    ferry load --rate 500 -m greeter.Greeter.Hello -d '{"name":"Bo"}' --svg latency.svg grpc://127.0.0.1:9102`
}

// Run generates the load and prints the result.
func (c *loadCmd) Run(e *env) error {
	if c.Matrix {
		return c.matrix(e)
	}
	if c.Addr == "" || c.Transport+c.Server != "" {
		return usagef("give the address of a server, or --matrix, which --transport and --server are for")
	}
	cfg, err := c.config()
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	t, err := c.target(ctx, e)
	if err != nil {
		return err
	}
	l, err := load.New(cfg, t)
	if err != nil {
		return usageError{err}
	}
	endProgress := showProgress(e, l)
	result, err := l.Run(ctx)
	endProgress()
	if err != nil {
		return fmt.Errorf("%w\nis the server running, and does it speak the protocol of %s?", err, c.Addr)
	}
	return c.report(e, result)
}

// config checks the flags of the load.
func (c *loadCmd) config() (*load.Config, error) {
	switch {
	case c.Closed && c.Rate != 0:
		return nil, usagef("--closed and --rate exclude each other: in a closed loop the server's speed decides the rate")
	case c.Constant && c.Rate == 0:
		return nil, usagef("--constant needs --rate")
	case c.Workers <= 0:
		return nil, usagef("-c %d is not positive", c.Workers)
	case c.Conns <= 0:
		return nil, usagef("--conns %d is not positive", c.Conns)
	case c.Timeout <= 0:
		return nil, usagef("--timeout %v is not positive", c.Timeout)
	}
	return &load.Config{
		Rate: c.Rate, Constant: c.Constant, Workers: c.Workers, Requests: c.Requests, Duration: c.Duration, WarmUp: c.WarmUp, MaxLate: c.MaxLate,
		Drain: c.Timeout + time.Second, // a request in progress ends by itself
	}, nil
}

// report prints the result and writes the picture.
func (c *loadCmd) report(e *env, r *load.Result) error {
	if c.Output == "json" {
		text, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if err := e.print(append(text, '\n')); err != nil {
			return err
		}
	} else if err := r.WriteText(e.stdout, c.Addr); err != nil {
		return outputError(err)
	}
	if c.SVG != "" {
		if err := os.WriteFile(c.SVG, r.SVG(c.Addr), 0o644); err != nil {
			return fmt.Errorf("--svg: %w", err)
		}
	}
	if r.Failed > 0 || r.Void != "" {
		return quietError(statusFailed)
	}
	return nil
}

// payload returns the payload. text says that it is that of -d.
func (c *loadCmd) payload() (data []byte, text bool, err error) {
	given := 0
	for _, is := range []bool{c.Data != "", c.File != "", c.Size != 0} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return nil, false, usagef("-d, --file and --size exclude each other")
	case c.Size < 0 || c.Size > maxLoadPayload:
		return nil, false, usagef("--size %d: want 1 to %d bytes", c.Size, maxLoadPayload)
	case c.File != "":
		data, err = os.ReadFile(c.File)
		if errors.Is(err, fs.ErrNotExist) {
			err = usageError{err}
		}
		return data, false, err
	case c.Size > 0:
		data = make([]byte, c.Size)
		for i := range data {
			data[i] = 'a' + byte(i%26)
		}
		return data, false, nil
	}
	return []byte(c.Data), true, nil
}

// maxLoadPayload bounds --size in bytes.
const maxLoadPayload = 1 << 30
