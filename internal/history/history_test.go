package history

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// script records events that are written as words: s send, + stored, h handle, x fail, each with a key and a number; and the
// words fault and end.
func script(t *testing.T, text string) *History {
	t.Helper()
	h := new(History)
	end := func() {}
	for word := range strings.FieldsSeq(text) {
		switch word {
		case "fault":
			end = h.Fault("process ended")
			continue
		case "end":
			end()
			continue
		}
		var key string
		var n uint64
		if _, err := fmt.Sscanf(word[1:], "%1s%d", &key, &n); err != nil {
			t.Fatalf("word %q: %v", word, err)
		}
		switch word[0] {
		case 's':
			h.Sent(key, n)
		case '+':
			h.Stored(key, n)
		case 'h':
			h.Handled(key, n, "worker")
		case 'x':
			h.Failed(key, n, "worker")
		default:
			t.Fatalf("word %q", word)
		}
	}
	return h
}

func TestCheck(t *testing.T) {
	for _, row := range []struct {
		name, events string
		want         string // kinds, keys and numbers of the violations
	}{
		{"nothing", "", ""},
		{"in order", "sa1 sa2 +a1 ha1 +a2 ha2", ""},
		{"handled before the sender knows that it is stored", "sa1 ha1 +a1", ""},
		{"keys are independent", "sa1 sa2 sb1 sb2 +a1 +a2 +b1 +b2 hb1 ha1 ha2 hb2", ""},
		{"not stored, not handled", "sa1 sa2 +a2 ha2", ""},
		{"not known to be stored, but handled", "sa1 ha1", ""},

		{"lost", "sa1 sa2 sa3 +a1 +a2 +a3 ha1 ha3", "lost a2"},
		{"lost in a fault", "sa1 fault +a1 end", "lost a1"},
		{"all of a key lost", "sa1 sb1 +a1 +b1 hb1", "lost a1"},
		{"handled, but another key's", "sa1 +a1 sb1 +b1 hb1 hb1", "repeated b1, lost a1"},

		{"never sent", "sa1 +a1 ha1 ha2", "invented a2"},
		{"handled before it is sent", "ha1 sa1 +a1", "invented a1"},
		{"stored, but never sent", "+a1 ha1", "invented a1, invented a1"},

		{"first times out of order", "sa1 sa2 +a1 +a2 ha2 ha1", "reordered a1"},
		{"first times out of order in a fault", "sa1 sa2 +a1 +a2 fault ha2 ha1 end", "reordered a1"},
		{"passed by a failed one's successor", "sa1 sa2 +a1 +a2 ha1 xa1 ha2 ha1", "reordered a1"},
		{"order again, twice over", "sa1 sa2 sa3 fault ha1 ha2 ha3 end ha1 ha2 ha3", ""},
		{"order lost when it is delivered again", "sa1 sa2 sa3 fault ha1 ha2 ha3 end ha2 ha1 ha3", "reordered a1"},
		{"delivered again, done ones skipped", "sa1 sa2 sa3 ha1 ha2 fault end ha1 ha3", ""},

		{"repeated without a cause", "sa1 +a1 ha1 ha1", "repeated a1"},
		{"repeated after it has failed", "sa1 +a1 ha1 xa1 ha1", ""},
		{"repeated once more after it has failed once", "sa1 +a1 ha1 xa1 ha1 ha1", "repeated a1"},
		{"repeated after another one has failed", "sa1 sa2 ha1 ha2 xa2 ha1", "repeated a1"},
		{"repeated after a fault", "sa1 ha1 fault end ha1", ""},
		{"repeated during a fault", "sa1 fault ha1 ha1", ""},
		{"handled during a fault, repeated after it", "sa1 fault ha1 end ha1", ""},
		{"repeated after a fault that was over before", "sa1 fault end ha1 ha1", "repeated a1"},
		{"repeated before a fault", "sa1 ha1 ha1 fault end", "repeated a1"},
	} {
		t.Run(row.name, func(t *testing.T) {
			report := script(t, row.events).Check()
			var got []string
			for _, v := range report.Violations {
				got = append(got, fmt.Sprintf("%s %s%d", v.Kind, v.Key, v.Number))
			}
			if s := strings.Join(got, ", "); s != row.want {
				t.Errorf("violations %q, want %q\n%v", s, row.want, report)
			}
			if report.OK() != (row.want == "") {
				t.Errorf("OK is %v", report.OK())
			}
		})
	}
}

// TestPlantedFaults plants one fault in each of many places of a long correct history.
func TestPlantedFaults(t *testing.T) {
	const keys, messages = 3, 15
	var correct []string
	for n := 1; n <= messages; n++ {
		for _, prefix := range []string{"s", "+", "h"} {
			for k := range keys {
				correct = append(correct, fmt.Sprintf("%s%c%d", prefix, 'a'+k, n))
			}
		}
	}
	if report := script(t, strings.Join(correct, " ")).Check(); !report.OK() || report.Handled != keys*messages {
		t.Fatalf("the correct history: %v", report)
	}
	plant := func(kind Kind, i int, change func(words []string) []string) {
		t.Helper()
		words := change(append([]string(nil), correct...))
		report := script(t, strings.Join(words, " ")).Check()
		if report.Count(kind) != 1 || len(report.Violations) != 1 {
			t.Errorf("%s planted at %s: %v", kind, correct[i], report)
		}
	}
	for i, word := range correct {
		if word[0] != 'h' {
			continue
		}
		plant(Lost, i, func(w []string) []string { return append(w[:i], w[i+1:]...) })
		plant(Repeated, i, func(w []string) []string { w[i] += " " + word; return w })
		plant(Invented, i, func(w []string) []string { w[i] += fmt.Sprintf(" h%c%d", word[1], messages+1); return w })
		var n int
		if _, err := fmt.Sscan(word[2:], &n); err != nil {
			t.Fatal(err)
		}
		if n == messages {
			continue
		}
		after := fmt.Sprintf("%s%d", word[:2], n+1)
		plant(Reordered, i, func(w []string) []string { // the message comes after the next one of its key
			for j := range w {
				if w[j] == after {
					w[j] = after + " " + word
				}
			}
			return append(w[:i], w[i+1:]...)
		})
	}
}

func TestReport(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := script(t, "sa1 +a1 sa2 +a2 sa3 sa4")
		time.Sleep(time.Second)
		end := h.Fault("node 2 ended")
		time.Sleep(2 * time.Second)
		h.Stored("a", 3)
		end()
		h.Stored("a", 4)
		if got := h.Unhandled(); got != 4 {
			t.Errorf("%d messages are unhandled, want 4", got)
		}
		for n := range uint64(3) {
			h.Handled("a", n+1, "worker")
			h.Handled("a", n+1, "worker")
		}
		if got := h.Unhandled(); got != 1 {
			t.Errorf("%d messages are unhandled, want 1", got)
		}
		if got := h.Times(); got != 6 {
			t.Errorf("messages were handled %d times, want 6", got)
		}
		want := `4 messages sent, 4 stored, 3 handled, 3 times again, 1 faults, longest gap between stored messages 3s (node 2 ended): 1 lost, 0 invented, 0 reordered, 3 repeated
repeated: message 1 of key "a": worker handles it again after worker has, and nothing has failed since
repeated: message 2 of key "a": worker handles it again after worker has, and nothing has failed since
repeated: message 3 of key "a": worker handles it again after worker has, and nothing has failed since
lost: message 4 of key "a": it was stored, but never handled`
		report := h.Check()
		if got := report.String(); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
		if stored := report.Violations[3].Stored; !stored.Equal(time.Now()) {
			t.Errorf("the lost message was stored at %v, want %v", stored, time.Now())
		}
	})
}
