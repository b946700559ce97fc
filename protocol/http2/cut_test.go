package http2

import (
	"slices"
	"testing"
)

// session is what a client sends: a graceful mix of all frame types.
func session() []byte {
	block := fieldBlockOf(slices.Concat(postLines, []string{"content-length: 8", "x: y"})...)
	return slices.Concat(
		clientStart(setting(settingHeaderTableSize, 1000), setting(settingInitialWindowSize, 70_000), setting(0x99, 1)),
		frame(frameWindowUpdate, 0, 0, number(1<<20)...),
		frame(frameSettings, flagAck, 0),
		get(1),
		frame(frameHeaders, flagPadded|flagPriority, 3, append([]byte{2, 0, 0, 0, 1, 16}, append(block[:9:9], 0, 0)...)...),
		frame(frameContinuation, 0, 3, block[9:20]...),
		frame(frameContinuation, flagEndHeaders, 3, block[20:]...),
		frame(frameData, 0, 3, 1, 2, 3),
		frame(framePing, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8),
		frame(frameData, flagPadded, 3, 3, 4, 5, 6, 7, 0, 0, 0),
		frame(framePriority, 0, 5, 0, 0, 0, 1, 16),
		frame(0x42, 0xff, 7, 1, 2, 3),
		frame(frameData, flagEndStream|flagPadded, 3, 2, 8, 0, 0),
		post(5),
		frame(frameData, 0, 5),
		frame(frameHeaders, flagEndHeaders|flagEndStream, 5, fieldBlockOf("trailer: yes")...),
		post(7),
		frame(frameReset, 0, 7, number(uint32(Cancel))...),
		frame(frameData, 0, 9), // refused below: it ends the session
	)
}

// replay passes p to a new server, cut at the places, and returns the calls of the Handler and the frames that were sent.
func replay(t *testing.T, p []byte, cuts ...int) (calls, sent []string) {
	t.Helper()
	rec, out := newRecorder(), &memoryOutput{}
	c := NewServer(nil, rec, out)
	start, end := 0, 0
	var failure error
	for _, cut := range append(cuts, len(p)) {
		end = cut
		n, err := c.Receive(p[start:end])
		if start += n; start > end {
			t.Fatalf("%d of %d bytes are consumed", n, end-start+n)
		}
		if failure = err; err != nil {
			break
		}
	}
	c.Closed(failure)
	return rec.lines, sentLines(out.take(out.size))
}

// TestCuts passes a session in two parts, cut at each byte, and in single bytes. The result must always be the same.
func TestCuts(t *testing.T) {
	t.Parallel()
	p := session()
	calls, sent := replay(t, p)
	want := []string{
		"1 GET /, end true", "3 POST /, end false", "3 body of 8", "5 POST /, end false", "5 trailers of 1, end true", "7 POST /, end false",
		"7 reset CANCEL, remote true, refused false",
	}
	if !slices.Equal(calls, want) || sent[len(sent)-1] != "GOAWAY 7 PROTOCOL_ERROR" {
		t.Fatalf("calls %q, sent %q", calls, sent)
	}
	check := func(cuts ...int) {
		t.Helper()
		c, s := replay(t, p, cuts...)
		if slices.Sort(s); !slices.Equal(c, calls) || !slices.Equal(s, sent) { // RST_STREAM of Release comes with the later part
			t.Fatalf("cut at %v: calls %q, sent %q", cuts, c, s)
		}
	}
	slices.Sort(sent)
	var each []int
	for i := range p {
		check(i)
		each = append(each, i)
	}
	check(each...)
}

// TestClientCuts does the same with what a server sends.
func TestClientCuts(t *testing.T) {
	t.Parallel()
	p := slices.Concat(
		frame(frameSettings, 0, 0), frame(frameSettings, flagAck, 0),
		frame(frameHeaders, flagEndHeaders, 1, fieldBlockOf(":status: 103", "link: a")...),
		frame(frameHeaders, flagEndHeaders, 1, fieldBlockOf(":status: 200", "content-length: 4")...),
		frame(frameData, 0, 1, 1, 2), frame(frameData, flagPadded, 1, 1, 3, 4, 0),
		frame(frameHeaders, flagEndHeaders|flagEndStream, 1, fieldBlockOf("grpc-status: 0")...),
		frame(frameReset, 0, 3, number(uint32(RefusedStream))...),
		frame(frameGoAway, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 'b', 'y', 'e'),
	)
	run := func(cuts ...int) []string {
		rec, out := newRecorder(), &memoryOutput{}
		c := NewClient(nil, rec, out)
		r := &rig{t: t, conn: c, rec: rec, out: out}
		r.open("GET", true)
		r.open("GET", true)
		start := 0
		for _, cut := range append(cuts, len(p)) {
			n, err := c.Receive(p[start:cut])
			if err != nil {
				t.Fatal(err)
			}
			start += n
		}
		if start != len(p) || c.Streams() != 0 {
			t.Fatalf("%d of %d bytes, %d streams", start, len(p), c.Streams())
		}
		return rec.lines
	}
	want := run()
	if len(want) != 5 {
		t.Fatalf("calls %q", want)
	}
	var each []int
	for i := range p {
		if got := run(i); !slices.Equal(got, want) {
			t.Fatalf("cut at %d: %q, want %q", i, got, want)
		}
		each = append(each, i)
	}
	if got := run(each...); !slices.Equal(got, want) {
		t.Fatalf("single bytes: %q, want %q", got, want)
	}
}
