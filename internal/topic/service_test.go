package topic_test

import (
	"strings"
	"testing"

	"example.com/ferry/internal/topic"
)

func TestMatchService(t *testing.T) {
	for _, row := range []struct {
		pattern, service string
		want             bool
	}{
		{"*", "greeter.Greeter", true},
		{"greeter.Greeter", "greeter.Greeter", true},
		{"greeter.Greeter", "greeter.Greeter2", false},
		{"greeter.*", "greeter.Greeter", true},
		{"greeter.*", "greeter.v1.Greeter", true},
		{"greeter.*", "greeters.Greeter", false},
		{"greeter.*", "greeter", false},
	} {
		if got := topic.MatchService([]string{"other", row.pattern}, row.service); got != row.want {
			t.Errorf("pattern %q matches %q: %v, want %v", row.pattern, row.service, got, row.want)
		}
	}
}

func TestCheckServices(t *testing.T) {
	for _, good := range []string{"*", "a", "a.B", "a.*", "a.b-c.D_1", strings.Repeat("a", topic.MaxService)} {
		if err := topic.CheckServices(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{"", ".", "a.", ".a", "a..b", "a.*.b", "*.a", "a*", "a/b", "a b", "\u00e4", strings.Repeat("a", topic.MaxService+1)} {
		if topic.CheckServices(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}
