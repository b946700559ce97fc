package proxy

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"
)

// serveHTTP starts a server of HTTP/1.1, and of HTTP/2 without TLS.
func serveHTTP(t *testing.T, handle http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewUnstartedServer(handle)
	s.Config.Protocols = new(http.Protocols)
	s.Config.Protocols.SetHTTP1(true)
	s.Config.Protocols.SetUnencryptedHTTP2(true)
	s.Start()
	t.Cleanup(s.Close)
	return strings.TrimPrefix(s.URL, "http://")
}

// frames is a client of HTTP/2 that sends what it is told, allowed or not.
type frames struct {
	*http2.Framer
	conn    net.Conn
	encoder *hpack.Encoder
	block   bytes.Buffer
}

func dialFrames(t *testing.T, addr string, settings ...http2.Setting) *frames {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	return newFrames(t, c, settings...)
}

// newFrames begins HTTP/2 on c, which ends with the test.
func newFrames(t *testing.T, c net.Conn, settings ...http2.Setting) *frames {
	t.Helper()
	t.Cleanup(func() { c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	f := &frames{Framer: http2.NewFramer(c, bufio.NewReader(c)), conn: c}
	f.AllowIllegalWrites = true
	f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
	f.encoder = hpack.NewEncoder(&f.block)
	_, _ = io.WriteString(c, http2.ClientPreface)
	_ = f.WriteSettings(settings...)
	_ = f.WriteSettingsAck()
	return f
}

// head sends HEADERS with pairs of a name and a value.
func (f *frames) head(id uint32, end bool, pairs ...string) {
	f.block.Reset()
	for i := 0; i < len(pairs); i += 2 {
		_ = f.encoder.WriteField(hpack.HeaderField{Name: pairs[i], Value: pairs[i+1]})
	}
	_ = f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: f.block.Bytes(), EndHeaders: true, EndStream: end})
}

// status reads frames until the head of the response on a stream.
func (f *frames) status(id uint32) (string, error) {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return "", err
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			if frame.StreamID == id {
				return frame.PseudoValue("status"), nil
			}
		case *http2.RSTStreamFrame:
			if frame.StreamID == id {
				return "", fmt.Errorf("the stream was reset: %v", frame.ErrCode)
			}
		case *http2.GoAwayFrame:
			if frame.ErrCode != http2.ErrCodeNo {
				return "", fmt.Errorf("the connection ends: %v", frame.ErrCode)
			}
		}
	}
}
