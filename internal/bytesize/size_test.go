package bytesize

import "testing"

func TestSize(t *testing.T) {
	for text, want := range map[string]Size{"0": 0, "512": 512, "64KiB": 65536, "1 MiB": 1 << 20, "2GiB": 2 << 30, "1MB": 1e6, "7B": 7} {
		if got, err := Parse(text); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "MiB", "-1", "1.5MiB", "9223372036854775807KiB", "1TiB"} {
		if got, err := Parse(text); err == nil {
			t.Errorf("%q was read as %d", text, got)
		}
	}
	for want, s := range map[string]Size{"0": 0, "1000": 1000, "64KiB": 65536, "3MiB": 3 << 20, "1GiB": 1 << 30} {
		if got := s.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
