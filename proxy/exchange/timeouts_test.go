package exchange

import (
	"testing"
	"time"

	"example.com/ferry/loop"
	"example.com/ferry/protocol/http1"
	"example.com/ferry/proxy/route"
	"example.com/ferry/proxy/traffic"
	"example.com/ferry/proxy/upstream"
)

// slowClient is a downstream side that records only the progress of the body and the end of the request. It is also
// an upstream side that accepts every byte.
type slowClient struct {
	relay    Relay
	read     int64
	full     bool // the server's queue is full
	waits    bool // the next request waits for a connection
	rejected bool
	behind   bool // the client's queue is full
	unsent   int
	reset    bool
}

func (c *slowClient) ClientAddr() string                          { return "" }
func (c *slowClient) RequestHead() RequestHead                    { return nil }
func (c *slowClient) SendRequest(up Upstream)                     { up.Request(nil, false) }
func (c *slowClient) ResumeRequest()                              {}
func (c *slowClient) Interim(ResponseHead)                        {}
func (c *slowClient) Response(ResponseHead, bool) bool            { return false }
func (c *slowClient) ResponseData([]byte, bool)                   {}
func (c *slowClient) ResponseEnd(Fields)                          {}
func (c *slowClient) Reject(why Rejection)                        { c.rejected = why == RequestTimeout }
func (c *slowClient) Respond(int, []http1.Pair, string)           {}
func (c *slowClient) Reset()                                      { c.reset = true }
func (c *slowClient) ResponseFull() bool                          { return c.behind }
func (c *slowClient) Unsent() int                                 { return c.unsent }
func (c *slowClient) BodyRead() int64                             { return c.read }
func (c *slowClient) Open(*Relay, bool) (up Upstream, ready bool) { return (*sink)(c), !c.waits }

type sink slowClient

func (s *sink) Request(RequestHead, bool) bool     { return false }
func (s *sink) RequestData([]byte, bool)           {}
func (s *sink) RequestEnd(Fields)                  {}
func (s *sink) ResumeResponse()                    {}
func (s *sink) Cancel()                            {}
func (s *sink) RequestFull() bool                  { return s.full }
func (s *sink) Unsent() int                        { return 0 }
func (s *sink) MayResend(RequestHead, bool) Resend { return ResendNone }

// forwardTo forwards a request to a route, which was found before.
func (r *Relay) forwardTo(found *route.Route, h RequestHead) {
	r.Admit(found)
	r.head = h
	if up, _ := r.firstAttempt(); up != nil {
		r.down.SendRequest(up)
	}
}

type emptyHead struct {
	RequestHead
	expects bool
}

func (emptyHead) Path() []byte            { return nil }
func (emptyHead) Get(string) []byte       { return nil }
func (h emptyHead) ExpectsContinue() bool { return h.expects }

type continueHead struct{ ResponseHead }

func (continueHead) Status() int { return 100 }

type okHead struct{ ResponseHead }

func (okHead) Status() int       { return 200 }
func (okHead) Get(string) []byte { return nil }

// TestBodyRate ends one period after another. A request must be rejected at the end of the first period in which its
// body was slower than BodyRate, but only if the proxy read during the whole period.
func TestBodyRate(t *testing.T) {
	const floor = 10_000 // bytes per period, at 1000 bytes per second
	for _, row := range []struct {
		name    string
		periods []int64 // bytes that arrive in each period
		full    []bool  // whether the server's queue is full in each period
		want    int     // number of periods until the request is rejected
	}{
		{"fast enough", []int64{floor, 2 * floor, floor}, nil, 3},
		{"too slow", []int64{floor - 1, floor}, nil, 0},
		{"fast only at first", []int64{9 * floor, 0, floor}, nil, 1},
		{"paused", []int64{0, 0, 0}, []bool{true, true, true}, 3},
		{"paused at first", []int64{0, 0, 0}, []bool{true, false, false}, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			onLoop(t, func(l *loop.Loop, p *Plan) {
				c := &slowClient{}
				p.Connectors = []Connector{c}
				c.relay.Init(c, l)
				c.relay.Begin(p, Timeouts{BodyRate: 1000})
				c.relay.forwardTo(p.Table.Routes()[0], emptyHead{})
				c.relay.WatchBody()
				lasted := 0
				for i, n := range row.periods {
					c.read += n
					c.full = row.full != nil && row.full[i]
					if onDeadline[rateDeadline](&c.relay); c.rejected {
						break
					}
					lasted++
				}
				if lasted != row.want {
					t.Errorf("the request lasts %d periods, want %d", lasted, row.want)
				}
				c.relay.End(0)
			})
		})
	}
}

// TestReadRate ends one period after another in which the client's queue is full. The response must be cut at the end of the first period in which the
// client has read less than BodyRate.
func TestReadRate(t *testing.T) {
	const floor = 60_000 // bytes per period, at 1000 bytes per second
	for _, row := range []struct {
		name   string
		reads  []int // bytes that the client acknowledges in each period
		behind []bool
		grpc   bool
		want   int // number of periods until the response is cut
	}{
		{"fast enough", []int{floor, 2 * floor, floor}, nil, false, 3},
		{"too slow", []int{floor - 1, floor}, nil, false, 0},
		{"a few bytes at last", []int{9 * floor, 10, floor}, nil, false, 1},
		{"has caught up", []int{0, 0}, []bool{false, false}, false, 2},
		{"gRPC", []int{0, 0}, nil, true, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			onLoop(t, func(l *loop.Loop, p *Plan) {
				c := &slowClient{unsent: 100 * floor}
				p.Connectors = []Connector{c}
				c.relay.Init(c, l)
				c.relay.Begin(p, Timeouts{Body: time.Minute, BodyRate: 1000})
				c.relay.GRPC = row.grpc
				c.relay.forwardTo(p.Table.Routes()[0], emptyHead{})
				c.relay.RequestEnd(nil)
				c.relay.Response(okHead{}, false)
				c.behind = true
				if c.relay.Out = 100 * floor; !c.relay.ResponseData(nil, false) {
					t.Error("the response is not paused")
				}
				lasted := 0
				for i, n := range row.reads {
					c.unsent -= n
					c.behind = row.behind == nil || row.behind[i]
					if c.relay.deadlines.isSet(readDeadline) {
						c.relay.deadlines.stop(readDeadline)
						onDeadline[readDeadline](&c.relay)
					}
					if c.reset {
						break
					}
					lasted++
				}
				if lasted != row.want {
					t.Errorf("the response lasts %d periods, want %d", lasted, row.want)
				}
				c.relay.End(0)
			})
		})
	}
}

// TestBodyRateAfterAWait checks that BodyRate is not enforced in a period in which the client waited for a connection or
// for 100 Continue. It is enforced in later periods.
func TestBodyRateAfterAWait(t *testing.T) {
	for _, row := range []struct {
		name string
		head emptyHead
		wait bool
		end  func(r *Relay) // ends the wait
		ends int            // period in which end is called
		read int64          // bytes that arrive before
		want int            // number of periods until the request is rejected
	}{
		{"for a connection", emptyHead{}, true, (*Relay).Connected, 1, 0, 2},
		{"for a connection, less than a period", emptyHead{}, true, (*Relay).Connected, 0, 0, 1},
		{"for 100 Continue", emptyHead{expects: true}, false, func(r *Relay) { r.Interim(continueHead{}) }, 1, 0, 2},
		{"for 100 Continue, less than a period", emptyHead{expects: true}, false, func(r *Relay) { r.Interim(continueHead{}) }, 0, 0, 1},
		{"for 100 Continue, and sends", emptyHead{expects: true}, false, func(*Relay) {}, 1, 1, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			onLoop(t, func(l *loop.Loop, p *Plan) {
				c := &slowClient{waits: row.wait}
				p.Connectors = []Connector{c}
				c.relay.Init(c, l)
				c.relay.Begin(p, Timeouts{BodyRate: 1000})
				c.relay.forwardTo(p.Table.Routes()[0], row.head)
				c.relay.WatchBody()
				c.read = row.read
				lasted := 0
				for period := range 4 {
					if period == row.ends {
						row.end(&c.relay)
					}
					if onDeadline[rateDeadline](&c.relay); c.rejected {
						break
					}
					lasted++
				}
				if lasted != row.want {
					t.Errorf("the request lasts %d periods, want %d", lasted, row.want)
				}
				c.relay.End(0)
			})
		})
	}
}

// onLoop calls f on a loop with a plan. The plan has one route, which forwards.
func onLoop(t *testing.T, f func(*loop.Loop, *Plan)) {
	t.Helper()
	onLoopOf(t, func(l *loop.Loop, p *Plan, done func()) {
		defer done()
		f(l, p)
	})
}

// onLoopOf is onLoop for a function that needs several turns: it calls done at last.
func onLoopOf(t *testing.T, f func(l *loop.Loop, p *Plan, done func())) {
	t.Helper()
	g, err := loop.New(&loop.Config{Loops: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Shutdown(t.Context())
	web, err := upstream.New(&upstream.Config{Name: "c", Endpoints: []upstream.EndpointConfig{{Address: "127.0.0.1:1"}}}, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	table, err := route.New(&route.Config{VirtualHosts: []route.VirtualHost{{Hosts: []string{"*"}, Routes: []route.Rule{{Cluster: "c"}}}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan bool)
	if err := g.Loops()[0].Post(func() {
		f(g.Loops()[0], NewPlan(nil, "l", table, map[string]*upstream.Cluster{"c": web}, traffic.NewMetrics(1), nil), func() { close(done) })
	}); err != nil {
		t.Fatal(err)
	}
	<-done
}
