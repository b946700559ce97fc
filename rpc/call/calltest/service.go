package calltest

import (
	"context"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"

	"example.com/ferry/rpc/call"
)

// prefix precedes the names of the methods.
const prefix = "calltest.Test."

// service has a method for each shape, and some that misbehave.
type service struct {
	methods map[string]*method

	mu     sync.Mutex
	begun  int             // handlers that have begun
	ended  int             // handlers that have returned
	ctxErr error           // ctx.Err of the last handler that waited for its context
	gate   chan struct{}   // Hold waits until it is closed
	heads  []call.Head     // of all calls
	sent   int             // responses that Flood has sent
	ids    map[uint64]bool // Head.ID of all calls
}

type method struct {
	name                         string
	clientStreams, serverStreams bool
	serve                        func(*service, context.Context, call.ServerStream)
}

func (m *method) Name() string                               { return m.name }
func (m *method) Shape() (clientStreams, serverStreams bool) { return m.clientStreams, m.serverStreams }

var _ call.Service = (*service)(nil)

func newService() *service {
	s := &service{methods: map[string]*method{}, gate: make(chan struct{}), ids: map[uint64]bool{}}
	for _, m := range []method{
		{"Echo", false, false, (*service).echo},
		{"Fail", false, false, (*service).fail},
		{"Large", false, false, (*service).large},
		{"Header", false, false, (*service).header},
		{"Wait", false, false, (*service).wait},
		{"Hold", false, false, (*service).hold},
		{"Down", false, true, (*service).down},
		{"Up", true, false, (*service).up},
		{"Both", true, true, (*service).both},
		{"Flood", false, true, (*service).flood},
		{"Late", true, true, (*service).late},
		{"Early", true, true, (*service).early},
		{"Left", true, true, (*service).left},
	} {
		m.name = prefix + m.name
		s.methods[m.name] = &m
	}
	return s
}

func (s *service) Method(name string) call.Method {
	if m := s.methods[name]; m != nil {
		return m
	}
	return nil
}

func (s *service) Serve(ctx context.Context, m call.Method, stream call.ServerStream) {
	head := *stream.Head()
	s.mu.Lock()
	s.begun++
	s.heads = append(s.heads, head)
	if s.ids[head.ID] && head.ID != 0 {
		head.ID = 0
		s.heads[len(s.heads)-1].Method = "a number of a call was used twice: " + head.Method
	}
	s.ids[head.ID] = true
	s.mu.Unlock()
	if m == nil {
		stream.Finish(nil, &call.Status{Code: call.Unimplemented, Message: "no method " + head.Method}, nil)
	} else {
		m.(*method).serve(s, ctx, stream)
	}
	s.mu.Lock()
	s.ended++
	s.mu.Unlock()
}

// counts returns how many handlers have begun and ended.
func (s *service) counts() (begun, ended int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.begun, s.ended
}

func (s *service) lastHead() call.Head {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.heads[len(s.heads)-1]
}

// echo returns the request.
func (s *service) echo(_ context.Context, stream call.ServerStream) {
	data, err := stream.Recv()
	data = append([]byte{}, data...)
	if err == nil {
		if _, end := stream.Recv(); !errors.Is(end, io.EOF) {
			err = call.Errorf(call.Internal, "after the only request Recv returned %v", end)
		}
	}
	stream.Finish(data, call.StatusOf(err), nil)
}

var failure = &call.Status{
	Code: call.FailedPrecondition, Message: "the pump is off: ü % \n\t",
	Details: []call.Detail{{Type: "type.googleapis.com/google.rpc.RetryInfo", Value: []byte{1, 0, 2}}},
}

// fail returns failure, with a trailer.
func (s *service) fail(_ context.Context, stream call.ServerStream) {
	_, _ = stream.Recv()
	stream.Finish(nil, failure, call.Metadata{{Name: "pump", Value: "off"}})
}

// large fails with a status of which the metadata says what is large: message, detail, details or trailer.
func (s *service) large(_ context.Context, stream call.ServerStream) {
	_, _ = stream.Recv()
	status := &call.Status{Code: call.NotFound, Message: "no such pump"}
	var trailer call.Metadata
	switch stream.Head().Metadata.Get("large") {
	case "message":
		status.Message = strings.Repeat("ü%", 100_000)
	case "detail":
		status.Details = []call.Detail{{Type: "a.Large", Value: make([]byte, 200_000)}, {Type: "a.Small", Value: []byte{1}}}
	case "details":
		for range 100 {
			status.Details = append(status.Details, call.Detail{Type: "a.B", Value: make([]byte, 3000)})
		}
	case "trailer":
		trailer = call.Metadata{{Name: "a", Value: strings.Repeat("x", 60_000)}, {Name: "b", Value: strings.Repeat("x", 60_000)}}
	case "all":
		status.Message = strings.Repeat("m", 65_000)
		status.Details = []call.Detail{{Type: "a.B", Value: make([]byte, 65_000)}}
		trailer = call.Metadata{{Name: "a", Value: strings.Repeat("x", 65_000)}}
	}
	stream.Finish(nil, status, trailer)
}

// header returns the caller's metadata whose names begin with h as header, and those with t as trailer.
func (s *service) header(_ context.Context, stream call.ServerStream) {
	data, err := stream.Recv()
	data = append([]byte{}, data...)
	var header, trailer call.Metadata
	for _, f := range stream.Head().Metadata {
		switch f.Name[0] {
		case 'h':
			header = append(header, f)
		case 't':
			trailer = append(trailer, f)
		}
	}
	if err == nil {
		err = stream.SetHeader(header)
	}
	stream.Finish(data, call.StatusOf(err), trailer)
}

// wait waits until its context ends.
func (s *service) wait(ctx context.Context, stream call.ServerStream) {
	<-ctx.Done()
	s.mu.Lock()
	s.ctxErr = ctx.Err()
	s.mu.Unlock()
	stream.Finish(nil, call.StatusOf(ctx.Err()), nil)
}

// hold returns the request after the gate has opened.
func (s *service) hold(ctx context.Context, stream call.ServerStream) {
	select {
	case <-s.gate:
	case <-ctx.Done():
	}
	s.echo(ctx, stream)
}

// down sends the request as often as the metadata count says.
func (s *service) down(_ context.Context, stream call.ServerStream) {
	data, err := stream.Recv()
	count, _ := strconv.Atoi(stream.Head().Metadata.Get("count"))
	data = append([]byte{}, data...)
	for i := 0; i < count && err == nil; i++ {
		err = stream.Send(data)
	}
	stream.Finish(nil, call.StatusOf(err), call.Metadata{{Name: "sent", Value: strconv.Itoa(count)}})
}

// up returns the last request, and says in the trailer how many there were.
func (s *service) up(_ context.Context, stream call.ServerStream) {
	var last []byte
	count := 0
	for {
		data, err := stream.Recv()
		if err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			stream.Finish(last, call.StatusOf(err), call.Metadata{{Name: "count", Value: strconv.Itoa(count)}})
			return
		}
		count++
		last = append([]byte{}, data...)
	}
}

// both sends each request back.
func (s *service) both(_ context.Context, stream call.ServerStream) {
	err := stream.SetHeader(call.Metadata{{Name: "shape", Value: "both"}})
	for err == nil {
		var data []byte
		if data, err = stream.Recv(); err == nil {
			err = stream.Send(data)
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	stream.Finish(nil, call.StatusOf(err), call.Metadata{{Name: "shape", Value: "both"}})
}

// flood sends the request until Send fails.
func (s *service) flood(ctx context.Context, stream call.ServerStream) {
	data, err := stream.Recv()
	data = append([]byte{}, data...)
	for err == nil {
		if err = stream.Send(data); err == nil {
			s.mu.Lock()
			s.sent++
			s.mu.Unlock()
		}
	}
	s.mu.Lock()
	s.ctxErr = ctx.Err()
	s.mu.Unlock()
	stream.Finish(nil, call.StatusOf(err), nil)
}

// late reads nothing until the gate has opened, and then works as up.
func (s *service) late(ctx context.Context, stream call.ServerStream) {
	select {
	case <-s.gate:
	case <-ctx.Done():
	}
	s.up(ctx, stream)
}

// early ends the call after the first request.
func (s *service) early(_ context.Context, stream call.ServerStream) {
	_, _ = stream.Recv()
	stream.Finish(nil, &call.Status{Code: call.OutOfRange, Message: "enough"}, nil)
}

// left ends the call while another goroutine is in Recv, and returns when Recv has.
func (s *service) left(_ context.Context, stream call.ServerStream) {
	waits, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		close(waits)
		for err := error(nil); err == nil; {
			_, err = stream.Recv()
		}
	}()
	<-waits
	stream.Finish(nil, nil, nil)
	<-ended
}
