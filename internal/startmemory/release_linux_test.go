package startmemory

import (
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"
)

// resident returns the resident memory of files that are mapped, in KiB.
func resident(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	found := regexp.MustCompile(`RssFile:\s+(\d+) kB`).FindSubmatch(status)
	if found == nil {
		t.Fatalf("no RssFile in\n%s", status)
	}
	n, _ := strconv.Atoi(string(found[1]))
	return n
}

// TestRelease reads the program, so that it is resident, and holds that it is not afterwards, and runs on.
func TestRelease(t *testing.T) {
	for range 3 { // it can be called again
		before := resident(t)
		Release()
		if after := resident(t); after >= before {
			t.Errorf("%d KiB are resident, %d before", after, before)
		}
		if got := regexp.MustCompile(`(a+)(b+)`).ReplaceAllString("aabb", "$2$1"); got != "bbaa" {
			t.Errorf("got %q", got)
		}
		_, _ = os.ReadFile("/proc/self/smaps")
		touched(t)
	}
}

// touched uses parts of the program that Release does not need.
func touched(t *testing.T) {
	t.Helper()
	for _, p := range []string{`^(a|b)*$`, `[[:alpha:]]+`, `(?i)x{3,5}`} {
		if !regexp.MustCompile(p).MatchString("aXxxb") && p != `^(a|b)*$` {
			t.Errorf("%s does not match", p)
		}
	}
}

// TestUnchanged holds that only mappings of the file are returned that are read-only and unchanged.
func TestUnchanged(t *testing.T) {
	const smaps = `00400000-00500000 r-xp 00000000 fe:00 7 /bin/ferry
Rss:                 800 kB
Anonymous:             0 kB
00500000-00600000 r--p 00100000 fe:00 7 /bin/ferry
Anonymous:             4 kB
00600000-00700000 rw-p 00200000 fe:00 7 /bin/ferry
Anonymous:             0 kB
00700000-00800000 r--p 00200000 fe:00 7 /bin/ferry
Anonymous:             0 kB
00800000-00900000 r--s 00200000 fe:00 7 /bin/ferry
Anonymous:             0 kB
00900000-00a00000 r--p 00200000 fe:00 7 /bin/ferry (deleted)
Anonymous:             0 kB
00a00000-00b00000 r--p 00000000 fe:00 9 /lib/libc.so.6
Anonymous:             0 kB
00b00000-00c00000 r--p 00000000 00:00 0
Anonymous:             0 kB
`
	want := []mapping{{0x400000, 0x500000}, {0x700000, 0x800000}}
	if got := unchanged([]byte(smaps), "/bin/ferry"); !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}
