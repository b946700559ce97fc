package http1

import "testing"

// seeds adds the cases in a file of the corpus to the fuzz test.
func seeds(f *testing.F, file string) {
	_, samples := corpus(f, file)
	for _, s := range samples {
		f.Add(s.raw)
	}
}

func fuzz(t *testing.T, raw []byte, response bool, requestMethod Method) {
	if len(raw) > 4<<10 {
		return
	}
	if _, err := checkAgreement(raw, response, requestMethod); err != nil {
		t.Fatalf("%q: %v", raw, err)
	}
	if len(raw) < 256 {
		checkSplits(t, raw, response, requestMethod)
	}
}

func FuzzRequest(f *testing.F) {
	seeds(f, "requests.txt")
	f.Fuzz(func(t *testing.T, raw []byte) { fuzz(t, raw, false, MethodOther) })
}

func FuzzResponse(f *testing.F) {
	seeds(f, "responses.txt")
	f.Fuzz(func(t *testing.T, raw []byte) {
		for _, requestMethod := range []Method{MethodGet, MethodHead, MethodConnect} {
			fuzz(t, raw, true, requestMethod)
		}
	})
}

// FuzzChunked fuzzes the body only. The head is always the same.
func FuzzChunked(f *testing.F) {
	const head = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
	_, samples := corpus(f, "chunked.txt")
	for _, s := range samples {
		o := forward(s.raw, false, MethodOther, nil, len(s.raw))
		if n, _ := ParseRequest(s.raw, o.head, nil); n > 0 {
			f.Add(s.raw[n:])
		}
	}
	f.Fuzz(func(t *testing.T, body []byte) { fuzz(t, append([]byte(head), body...), false, MethodOther) })
}
