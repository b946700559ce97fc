package nats

import (
	"math/rand/v2"
	"strings"
	"testing"

	"example.com/ferry/internal/topic"
)

// The first rows are those of nats-server's own test of its MQTT mapping (TestMQTTTopicAndSubjectConversion, 2.15.2).
var subjectRows = []struct{ tag, subject string }{
	{"/", "/./"},
	{"//", "/././"},
	{"////", "/././././"},
	{"foo", "foo"},
	{"/foo", "/.foo"},
	{"///foo//", "/././.foo././"},
	{"//.foo.//", "/././/foo//././"},
	{"foo/bar", "foo.bar"},
	{"/foo/bar/", "/.foo.bar./"},
	{"bar/", "bar./"},
	{"foo//bar", "foo./.bar"},
	{"foo////bar", "foo./././.bar"},
	{".", "//"},
	{"...", "//////"},
	{"./", "//./"},
	{".//.", "//././/"},
	{"././/.", "//.//././/"},
	{"foo../bar/.", "foo////.bar.//"},
	{"foo.bar/baz", "foo//bar.baz"},

	{"foo bar", "foo/_bar"},
	{" ", "/_"},
	{"_/_", "_._"},
	{"a/*/b", "a./s.b"},
	{"a/>", "a./g"},
	{"a*/>b", "a/s./gb"},
	{"a\uFFFD", "a/?"},
	{"größe/°C", "größe.°C"},
}

func TestSubjects(t *testing.T) {
	for _, row := range subjectRows {
		if got := subjectOf(row.tag); got != subjectPrefix+row.subject {
			t.Errorf("subject of tag %q: %q, want %q", row.tag, got, subjectPrefix+row.subject)
		}
		if got, err := tagOf(subjectPrefix + row.subject); got != row.tag || err != nil {
			t.Errorf("tag of subject %q: %q, %v, want %q", row.subject, got, err, row.tag)
		}
	}
}

func TestForeignSubjects(t *testing.T) {
	for _, row := range []struct{ subject, want string }{
		{"a/b", "ab"}, // as nats-server maps it
		{"a+b", ""},
		{"#", ""},
		{"a\x01", ""},
		{"a\xff", ""},
	} {
		got, err := tagOf(subjectPrefix + row.subject)
		if got != row.want || (err != nil) != (row.want == "") {
			t.Errorf("tag of subject %q: %q, %v, want %q", row.subject, got, err, row.want)
		}
	}
	if tag, err := tagOf("orders.1"); err == nil {
		t.Errorf("a subject without the prefix has the tag %q", tag)
	}
}

// A tag matches a filter exactly when its subject matches one of the subjects of the filter.
func TestFilterSubjectsMatchTheSameTags(t *testing.T) {
	levels := []string{"", "a", "b.", ".", "*", ">", " ", "a b", "//"[:1], "é"}
	filters := append([]string{"+", "#"}, levels...)
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(from []string) string {
		n := 1 + random.IntN(4)
		out := make([]string, n)
		for i := range out {
			out[i] = from[random.IntN(len(from))]
		}
		return strings.Join(out, "/")
	}
	matches := 0
	for range 20000 {
		tag, filter := pick(levels), pick(filters)
		if topic.CheckTag(tag) != nil || topic.CheckFilter(filter) != nil {
			continue
		}
		got := false
		for _, subject := range filterSubjects(filter) {
			got = got || subjectMatches(subject, subjectOf(tag))
		}
		want := topic.Match(filter, tag)
		if got != want {
			t.Fatalf("filter %q (%q) matches tag %q (%q): %v, want %v", filter, filterSubjects(filter), tag, subjectOf(tag), got, want)
		}
		if want {
			matches++
		}
	}
	if matches < 100 {
		t.Errorf("only %d pairs match: the test says little", matches)
	}
}

// subjectMatches is NATS's rule: * is one token, > is one or more.
func subjectMatches(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i, token := range p {
		if token == ">" {
			return len(s) > i
		}
		if i >= len(s) || token != "*" && token != s[i] {
			return false
		}
	}
	return len(p) == len(s)
}

func FuzzSubject(f *testing.F) {
	for _, row := range subjectRows {
		f.Add(row.tag)
	}
	f.Add(strings.Repeat("/", topic.MaxLen))
	f.Add(strings.Repeat(".", topic.MaxLen))
	f.Fuzz(func(t *testing.T, tag string) {
		if _, err := tagOf(subjectPrefix + tag); err != nil && topic.CheckTag(tag) == nil && !strings.ContainsAny(tag, "./") {
			t.Errorf("subject %q has no tag: %v", tag, err)
		}
		if topic.CheckTag(tag) != nil {
			return
		}
		subject := subjectOf(tag)
		if back, err := tagOf(subject); back != tag || err != nil {
			t.Errorf("tag %q, subject %q, tag %q, %v", tag, subject, back, err)
		}
		for _, token := range strings.Split(subject, ".") {
			if token == "" || strings.ContainsAny(token, "*> \t\r\n\f\x7f\uFFFD") {
				t.Errorf("tag %q: subject %q is not valid for NATS", tag, subject)
			}
		}
	})
}
