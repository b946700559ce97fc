package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

func (e *experiment) checkAccepted() error {
	for name, start := range map[string]starter{ferryRow: e.ferry, benthosRow: e.benthos, nginxRow: e.nginx} {
		for _, load := range []string{single, batch} {
			if _, err := e.measure(start)(load, 0); err != nil {
				return fmt.Errorf("%s, %s: %w", name, load, err)
			}
		}
	}
	return nil
}

// checkCounted compares the messages that ferry has counted with those that were sent.
func (e *experiment) checkCounted() error {
	p, err := e.ferry("")
	if err != nil {
		return err
	}
	defer p.Stop()
	sent := 0
	for _, load := range []string{single, batch} {
		n, err := e.send(load)
		if err != nil {
			return err
		}
		sent += n
	}
	client := http.Client{Timeout: patience}
	defer client.CloseIdleConnections()
	response, err := client.Get("http://" + e.admin + "/metrics")
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	_, rest, _ := strings.Cut(string(text), `ferry_messages_total{dir="in",tag="`+tag+`"} `)
	var counted float64
	if _, err := fmt.Sscan(rest, &counted); err != nil {
		return fmt.Errorf("http_ingest: ferry's count of messages: %w", err)
	}
	if int(counted) != sent {
		return fmt.Errorf("http_ingest: ferry has counted %v messages, want the %d that were sent", counted, sent)
	}
	return nil
}

// send sends the requests of a case for 20 ms. It returns the number of messages.
func (e *experiment) send(load string) (int, error) {
	clients, err := e.connect()
	defer closeAll(clients)
	if err != nil {
		return 0, err
	}
	request, events := e.request(load)
	n, err := exchange(clients, request, 20*time.Millisecond)
	return n * events, err
}

// checkRefused sends broken JSON, which costs nothing to a server that does not parse it.
func (e *experiment) checkRefused() error {
	for name, want := range map[string]struct {
		start  starter
		status string
	}{ferryRow: {e.ferry, "422"}, benthosRow: {e.benthos, "502"}} {
		for load, request := range map[string][]byte{
			single: e.post("application/json", `{"text":`),
			batch:  e.post("application/x-ndjson", "{\"text\":1}\n{\"text\":"),
		} {
			got, err := e.statusOf(want.start, load, request)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, load, err)
			}
			if got != want.status {
				return fmt.Errorf("http_ingest: %s, %s: the status of a request with broken JSON is %s, want %s", name, load, got, want.status)
			}
		}
	}
	return nil
}

// statusOf starts a server and returns the status of its response to a request.
func (e *experiment) statusOf(start starter, load string, request []byte) (string, error) {
	p, err := start(load)
	if err != nil {
		return "", err
	}
	defer p.Stop()
	c, err := net.DialTimeout("tcp", e.listen, patience)
	if err != nil {
		return "", err
	}
	defer func() { _ = c.Close() }()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	if _, err := c.Write(request); err != nil {
		return "", err
	}
	line := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(c, line); err != nil {
		return "", err
	}
	return string(line[len(line)-3:]), nil
}
