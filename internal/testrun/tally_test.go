package main

import (
	"bytes"
	"strings"
	"testing"
)

// recording is an output of `go test -json`, without the fields that tally does not read.
const recording = `
{"Action":"start","Package":"x/a"}
{"Action":"run","Package":"x/a","Test":"TestGood"}
{"Action":"output","Package":"x/a","Test":"TestGood","Output":"chatter\n"}
{"Action":"pass","Package":"x/a","Test":"TestGood","Elapsed":0}
{"Action":"output","Package":"x/a","Test":"TestPage","Output":"=== RUN   TestPage\n"}
{"Action":"output","Package":"x/a","Test":"TestPage","Output":"    page_test.go:9: needs chromium: make deps\n"}
{"Action":"skip","Package":"x/a","Test":"TestPage","Elapsed":0}
{"Action":"pass","Package":"x/a","Elapsed":0.5}
{"Action":"output","Package":"x/b","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"x/b","Test":"TestBad","Output":"    b_test.go:5: got 1, want 2\n"}
{"Action":"fail","Package":"x/b","Test":"TestBad","Elapsed":0}
{"Action":"output","Package":"x/b","Output":"FAIL\n"}
{"Action":"fail","Package":"x/b","Elapsed":0.1}
{"Action":"build-output","ImportPath":"x/c","Output":"c.go:3: undefined: y\n"}
{"Action":"build-fail","ImportPath":"x/c"}
{"Action":"output","Package":"x/c","Output":"FAIL\tx/c [build failed]\n"}
{"Action":"fail","Package":"x/c","Elapsed":0,"FailedBuild":"x/c"}
{"Action":"output","Package":"x/d","Test":"TestDies","Output":"last words\n"}
{"Action":"fail","Package":"x/d","Elapsed":0}
`

func TestTally(t *testing.T) {
	var out bytes.Buffer
	sum := newTally(&out)
	if failed, err := decode(strings.NewReader(recording), batch{}, sum); !failed || err != nil {
		t.Fatalf("got %v, %v, want a failure that events report", failed, err)
	}
	sum.summary(true)
	want := `ok    x/a  0.5s
    b_test.go:5: got 1, want 2
FAIL
FAIL  x/b  0.1s
c.go:3: undefined: y
FAIL	x/c [build failed]
FAIL  x/c  0.0s
last words
FAIL  x/d  0.0s
skip  x/a TestPage: needs chromium: make deps
CI=true: a skipped test is a failure
1 passed, 3 failed, 1 skipped
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestDecodeGarbage(t *testing.T) {
	_, err := decode(strings.NewReader(`{"Action":"pass"} go: no such module`), batch{}, newTally(new(bytes.Buffer)))
	if err == nil || !strings.Contains(err.Error(), "go test -json") {
		t.Errorf("got error %v, want one that names go test -json", err)
	}
}

func TestRun(t *testing.T) {
	var out bytes.Buffer
	if ok, err := run(&out, []string{t.TempDir()}, options{}); ok || err != nil {
		t.Errorf("a directory without a module: got %v, %v, want false and no error", ok, err)
	}
	if want := "\n0 passed, 1 failed, 0 skipped\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q, want it to end with %q", out.String(), want)
	}
	if ok, err := run(&out, []string{"no-such-directory"}, options{}); ok || err == nil {
		t.Errorf("no directory: got %v, %v, want false and an error", ok, err)
	}
}
