package main

import (
	"fmt"
	"strings"
	"testing"
)

// The program checks the last event byte for byte, so its statistics are of real edits.
func TestProgram(t *testing.T) {
	for _, way := range []string{wayParts, wayCopy, waySame} {
		for size, bytes := range programSizes {
			t.Run(way+" "+size, func(t *testing.T) {
				var out strings.Builder
				p := program{edits: 123, size: size, way: way}
				if err := p.run(&out); err != nil {
					t.Fatal(err)
				}
				for _, want := range []string{
					"System statistics before", "System statistics after", "Total Memory: ", "GC runs: ", "GC Stop the world time: ",
					"to process 123 iterations", fmt.Sprintf("containing a reading of %d bytes", bytes), "byte for byte",
				} {
					if !strings.Contains(out.String(), want) {
						t.Errorf("no %q in\n%s", want, out.String())
					}
				}
			})
		}
	}
}

func TestProgramIDs(t *testing.T) {
	for _, c := range []struct {
		way  string
		i    int
		want string
	}{
		{wayParts, 0, "Something New0"},
		{wayCopy, 999_999, "Something New999999"},
		{waySame, 0, "d5471d59-2810-419a-8744-000000000000"},
		{waySame, 120, "d5471d59-2810-419a-8744-000000000120"},
		{waySame, 999_999, "d5471d59-2810-419a-8744-000000999999"},
	} {
		p := program{way: c.way}
		if got := string(p.appendID(nil, c.i)); got != c.want {
			t.Errorf("%s %d: got %s, want %s", c.way, c.i, got, c.want)
		}
	}
}

func TestProgramRefuses(t *testing.T) {
	for want, p := range map[string]program{
		"-size huge": {edits: 1, size: "huge", way: wayCopy},
		"-edit wild": {edits: 1, size: "small", way: "wild"},
		"-n -1":      {edits: -1, size: "small", way: wayCopy},
	} {
		if err := p.run(new(strings.Builder)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: got %v, want an error with %s", p, err, want)
		}
	}
}
