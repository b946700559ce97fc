package http1

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/textproto"
	"strings"
	"testing"

	"example.com/ferry/protocol/httprule"
)

const sentinel = "GET /sentinel HTTP/1.1\r\nHost: sentinel.example\r\n\r\n"

// checkAgreement forwards raw and parses the result with net/http, which must find the same message and the same end. accepted
// reports whether the proxy accepted raw.
func checkAgreement(raw []byte, response bool, requestMethod Method) (accepted bool, err error) {
	o := forward(raw, response, requestMethod, nil)
	if o.err != nil || !o.whole {
		return false, nil
	}
	behind := sentinel
	if o.head.Framing == UntilClose || o.head.Framing == Tunnel {
		behind = ""
	}
	in := bufio.NewReader(io.MultiReader(bytes.NewReader(o.sent), strings.NewReader(behind)))
	var theirs theirView
	if response {
		theirs, err = readResponse(in, requestMethod)
	} else {
		theirs, err = readRequest(in)
	}
	if err != nil {
		return true, fmt.Errorf("net/http refuses what is sent on: %w", err)
	}
	if o.head.Framing == Tunnel {
		return true, nil // net/http does not know the tunnel and reads on
	}
	ours, err := ourView(raw, o)
	if err != nil {
		return true, err
	}
	if theirs.line != ours.line {
		return true, fmt.Errorf("net/http reads %q, want %q", theirs.line, ours.line)
	}
	if !maps.EqualFunc(theirs.fields, ours.fields, func(a, b []string) bool { return fmt.Sprint(a) == fmt.Sprint(b) }) {
		return true, fmt.Errorf("net/http finds fields %q, want %q", theirs.fields, ours.fields)
	}
	if !bytes.Equal(theirs.content, o.content) {
		return true, fmt.Errorf("net/http finds content %q, want %q", theirs.content, o.content)
	}
	rest, err := io.ReadAll(in)
	if err != nil {
		return true, err
	}
	if string(rest) != behind {
		return true, fmt.Errorf("behind the message net/http leaves %q, want %q", rest, behind)
	}
	if more := forward(append(raw[:o.used:o.used], behind...), response, requestMethod, nil); more.used != o.used {
		return true, fmt.Errorf("of the message and the next one %d bytes are taken, want %d", more.used, o.used)
	}
	return true, nil
}

// theirView is a message as parsed by net/http.
type theirView struct {
	line    string
	fields  map[string][]string
	content []byte
}

func readRequest(in *bufio.Reader) (v theirView, err error) {
	r, err := http.ReadRequest(in)
	if err != nil {
		return v, err
	}
	v.line = fmt.Sprintf("%s %s %s host %s, %s", r.Method, r.RequestURI, r.Proto, r.Host, r.TransferEncoding)
	v.content, err = io.ReadAll(r.Body)
	v.fields = r.Header
	addTrailers(v.fields, r.Trailer)
	return v, err
}

func readResponse(in *bufio.Reader, requestMethod Method) (v theirView, err error) {
	r, err := http.ReadResponse(in, &http.Request{Method: map[Method]string{MethodGet: "GET", MethodHead: "HEAD", MethodConnect: "CONNECT"}[requestMethod]})
	if err != nil {
		return v, err
	}
	v.line = fmt.Sprintf("%d %s, %s, close %v", r.StatusCode, r.Proto, r.TransferEncoding, r.Close)
	v.content, err = io.ReadAll(r.Body)
	v.fields = r.Header
	addTrailers(v.fields, r.Trailer)
	return v, err
}

func addTrailers(fields map[string][]string, trailers map[string][]string) {
	for name, values := range trailers {
		if len(values) > 0 {
			fields["trailing "+name] = values
		}
	}
}

// ourView returns the message that net/http must find in the forwarded bytes.
func ourView(raw []byte, o outcome) (v theirView, err error) {
	h := o.head
	v.fields = map[string][]string{}
	add := func(prefix string, data []byte, f Field) {
		name := prefix + textproto.CanonicalMIMEHeaderKey(string(f.Name.Of(data)))
		v.fields[name] = append(v.fields[name], string(f.Value.Of(data)))
	}
	connectionNamed := map[string]bool{}
	for _, f := range h.Fields {
		if f.ID == httprule.Connection {
			for option := range strings.SplitSeq(string(f.Value.Of(raw)), ",") {
				connectionNamed[strings.ToLower(strings.Trim(option, " \t"))] = true
			}
		}
	}
	bare := h.response && (h.Status/100 == 1 || h.Status == 204 || h.Framing == Tunnel)
	for _, f := range h.Fields {
		switch {
		case httprule.HopByHop.Has(f.ID), f.ID == httprule.TransferEncoding, f.ID == httprule.Host && !h.response, connectionNamed[strings.ToLower(string(f.Name.Of(raw)))]:
		case f.ID == httprule.Expect && h.Minor == 0 && !h.response:
		case f.ID == httprule.ContentLength && bare:
		case f.ID == httprule.ContentLength && h.rewritten != 0:
			v.fields["Content-Length"] = []string{fmt.Sprint(h.length)}
		case f.ID == httprule.Trailer && h.seenIDs.Has(httprule.TransferEncoding) && !bare: // net/http removes Trailer from the fields
		default:
			add("", raw, f)
		}
	}
	if h.options.trailers && !h.response {
		v.fields["Connection"], v.fields["Te"] = []string{"TE"}, []string{"trailers"}
	}
	if strings.Join(v.fields["Pragma"], "") != "" && v.fields["Pragma"][0] == "no-cache" && v.fields["Cache-Control"] == nil {
		v.fields["Cache-Control"] = []string{"no-cache"} // net/http adds Cache-Control
	}
	coding := "[]"
	if h.seenIDs.Has(httprule.TransferEncoding) && !bare {
		coding = "[chunked]"
	}
	if h.response {
		v.line = fmt.Sprintf("%d HTTP/1.1, %s, close %v", h.Status, coding, h.Framing == UntilClose)
	} else {
		target := string(h.Target.Of(raw))
		if h.Form == Absolute {
			_, rest, _ := strings.Cut(target, "//")
			target = strings.TrimPrefix(rest, string(h.Authority.Of(raw)))
			switch {
			case target == "" && h.Method == MethodOptions:
				target = "*"
			case !strings.HasPrefix(target, "/"):
				target = "/" + target
			}
		}
		v.line = fmt.Sprintf("%s %s HTTP/1.1 host %s, %s", h.MethodName.Of(raw), target, h.Authority.Of(raw), coding)
	}
	return v, ourTrailers(raw, o, add)
}

// ourTrailers parses the body again and calls add for each trailer field.
func ourTrailers(raw []byte, o outcome, add func(string, []byte, Field)) error {
	var again Head
	var n int
	var err error
	if o.head.response {
		n, err = ParseResponse(raw, &again, o.head.requestMethod, nil)
	} else {
		n, err = ParseRequest(raw, &again, nil)
	}
	if err != nil {
		return err
	}
	body := again.Body(nil)
	for at := n; ; {
		m, part, err := body.Next(raw[at:])
		if err != nil || m == 0 {
			return err
		}
		if !part.Trailer.Name.Empty() {
			add("trailing ", raw[at:], part.Trailer)
		}
		at += m
	}
}

func TestAgreesWithNetHTTP(t *testing.T) {
	for _, c := range corpora {
		_, samples := corpus(t, c.file)
		for _, s := range samples {
			accepted, err := checkAgreement(s.raw, c.responses, s.requestMethod())
			if err != nil {
				t.Errorf("%s: %q: %v", s.name, s.raw, err)
			}
			if accepted != (s.verdict == "forward") {
				t.Errorf("%s: accepted %v, verdict %s", s.name, accepted, s.verdict)
			}
		}
	}
}

// TestMutationsAgree changes a byte, a range of bytes or a line of a case in the corpus.
func TestMutationsAgree(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for _, c := range corpora {
		_, samples := corpus(t, c.file)
		accepted := 0
		for range rounds {
			for _, s := range samples {
				raw := mutate(rnd, s.raw, samples[rnd.IntN(len(samples))].raw)
				ok, err := checkAgreement(raw, c.responses, s.requestMethod())
				if err != nil {
					t.Fatalf("from %s: %q: %v", s.name, raw, err)
				}
				if ok {
					accepted++
				}
			}
		}
		if accepted < rounds {
			t.Errorf("%s: of %d mutations %d were accepted: they show nothing", c.file, rounds*len(samples), accepted)
		}
	}
}

// mutate returns raw with a few changes. A change may insert bytes of other.
func mutate(rnd *rand.Rand, raw, other []byte) []byte {
	const telling = "\r\n\t\x00\x0b\x7f\x80 :;,/?#%*@[]0159aAfFgGxX+-_\"\\"
	out := bytes.Clone(raw)
	for range 1 + rnd.IntN(3) {
		at := rnd.IntN(len(out) + 1)
		switch rnd.IntN(6) {
		case 0:
			out = append(out[:at:at], append([]byte{telling[rnd.IntN(len(telling))]}, out[at:]...)...)
		case 1:
			if at < len(out) {
				out[at] = telling[rnd.IntN(len(telling))]
			}
		case 2:
			if at < len(out) {
				out = append(out[:at:at], out[at+1:]...)
			}
		case 3: // insert a line of the other message
			writtenLines := bytes.SplitAfter(other, []byte("\n"))
			mine := bytes.SplitAfter(out, []byte("\n"))
			i := rnd.IntN(len(mine) + 1)
			mine = append(mine[:i:i], append([][]byte{writtenLines[rnd.IntN(len(writtenLines))]}, mine[i:]...)...)
			out = bytes.Join(mine, nil)
		case 4: // repeat or remove a line
			mine := bytes.SplitAfter(out, []byte("\n"))
			i := rnd.IntN(len(mine))
			if rnd.IntN(2) == 0 {
				mine = append(mine[:i:i], append([][]byte{mine[i]}, mine[i:]...)...)
			} else {
				mine = append(mine[:i:i], mine[i+1:]...)
			}
			out = bytes.Join(mine, nil)
		case 5: // insert a range of the other message
			if len(other) > 0 {
				i := rnd.IntN(len(other))
				j := min(len(other), i+1+rnd.IntN(12))
				out = append(out[:at:at], append(bytes.Clone(other[i:j]), out[at:]...)...)
			}
		}
	}
	return out
}
