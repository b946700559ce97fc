package mqtt

import (
	"strings"
	"testing"
	"unicode"

	"example.com/ferry/internal/topic"
)

func TestParseFilter(t *testing.T) {
	for _, row := range []struct {
		in     string
		want   SharedFilter
		reason string // part of the error; "" means none
	}{
		{"a", SharedFilter{"", "a"}, ""},
		{"/", SharedFilter{"", "/"}, ""},
		{"#", SharedFilter{"", "#"}, ""},
		{"+/tennis/#", SharedFilter{"", "+/tennis/#"}, ""},
		{"$SYS/+", SharedFilter{"", "$SYS/+"}, ""},
		{"$share", SharedFilter{"", "$share"}, ""},
		{"$share/consumer1/sport/tennis/+", SharedFilter{"consumer1", "sport/tennis/+"}, ""},
		{"$share/g//finance", SharedFilter{"g", "/finance"}, ""},
		{"", SharedFilter{}, "empty"},
		{"sport+", SharedFilter{}, "level of its own"},
		{"sport/tennis#", SharedFilter{}, "level of its own"},
		{"sport/#/ranking", SharedFilter{}, "last level"},
		{"$share/g", SharedFilter{}, "$share/GROUP/FILTER"},
		{"$share//a", SharedFilter{}, "$share/GROUP/FILTER"},
		{"$share/g+/a", SharedFilter{}, "$share/GROUP/FILTER"},
		{"$share/g/", SharedFilter{}, "empty"},
		{"$share/g/a#", SharedFilter{}, "level of its own"},
		{"a\x00", SharedFilter{}, "U+0000"},
		{"a\xff", SharedFilter{}, "UTF-8"},
		{strings.Repeat("a", MaxText+1), SharedFilter{}, "65535"},
	} {
		got, err := ParseFilter(row.in)
		if row.reason == "" {
			if err != nil || got != row.want {
				t.Errorf("%.80q: got %+v, %v, want %+v", row.in, got, err, row.want)
			}
			continue
		}
		if err == nil {
			t.Errorf("%.80q is accepted", row.in)
			continue
		}
		if e := asError(t, err); e.Code != TopicFilterInvalid || e.Close || !strings.Contains(e.Reason, row.reason) {
			t.Errorf("%.80q: got %v, close %v, want %s", row.in, e, e.Close, row.reason)
		}
	}
}

// FuzzTopic compares the checks with those of tags and filters, which are stricter about control characters and length.
func FuzzTopic(f *testing.F) {
	for _, s := range []string{"a/b", "+/#", "a+b", "a\x00b", "a\xffb", "/", "", "01234567/+", "01234567#", "ü/ß"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		topicErr := CheckTopic(s)
		if plain([]byte(s)) && s != "" && topicErr != nil {
			t.Fatalf("%q is plain: %v", s, topicErr)
		}
		if ascii := strings.IndexFunc(s, func(r rune) bool { return r >= 0x80 }) < 0; ascii && topicErr == nil && !plain([]byte(s)) {
			t.Fatalf("%q is a topic of ASCII characters, and not plain", s)
		}
		if len(s) > topic.MaxLen || strings.ContainsFunc(s, unicode.IsControl) {
			return
		}
		if want := topic.CheckTag(s); (want == nil) != (topicErr == nil) {
			t.Fatalf("topic %q: got %v, want %v", s, topicErr, want)
		}
		if strings.HasPrefix(s, SharePrefix) {
			return
		}
		if _, err := ParseFilter(s); (topic.CheckFilter(s) == nil) != (err == nil) {
			t.Fatalf("filter %q: got %v, want %v", s, err, topic.CheckFilter(s))
		}
	})
}
