package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestRun(t *testing.T) {
	data, err := os.ReadFile("event.json")
	if err != nil {
		t.Fatal(err)
	}
	rows := []struct{ name, in, want string }{
		{"as it stands", string(data), `"valueType":"Float64","value":"1.5e+00"}],"tags":{"site":"dock"}}}` + "\n"},
		{"of a fan", strings.ReplaceAll(string(data), "pump-1", "fan-01"), ""},
		{"of noise only", strings.ReplaceAll(string(data), `"pressure"`, `"noise"`), ""},
	}
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			var out bytes.Buffer
			if err := run(strings.NewReader(r.in), &out); err != nil {
				t.Fatal(err)
			}
			if got := out.String(); !strings.HasSuffix(got, r.want) || (got == "") != (r.want == "") {
				t.Errorf("got %q, want it to end with %q", got, r.want)
			}
		})
	}
	if err := run(strings.NewReader("x"), new(bytes.Buffer)); err == nil {
		t.Error("no error for a message that is none")
	}
}
