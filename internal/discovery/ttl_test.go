package discovery

import (
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// response returns a response with records of these TTLs.
func response(t testing.TB, ttls ...uint32) []byte {
	t.Helper()
	name := dnsmessage.MustNewName("a.ferry.test.")
	m := dnsmessage.Message{
		Header:    dnsmessage.Header{Response: true},
		Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}},
	}
	for _, ttl := range ttls {
		h := dnsmessage.ResourceHeader{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET, TTL: ttl}
		m.Answers = append(m.Answers, dnsmessage.Resource{Header: h, Body: &dnsmessage.AResource{A: [4]byte{192, 0, 2, 1}}})
	}
	data, err := m.Pack()
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestTTL(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name string
		ttls []uint32
		want time.Duration
	}{
		{"no records", nil, 0},
		{"one", []uint32{60}, time.Minute},
		{"the shortest", []uint32{60, 5, 30}, 5 * time.Second},
		{"zero", []uint32{0, 60}, minTTL},
		{"with the highest bit", []uint32{1 << 31}, minTTL},
		{"the longest", []uint32{1<<31 - 1}, (1<<31 - 1) * time.Second},
	} {
		var o ttlObserver
		data := response(t, row.ttls...)
		o.observe(data)
		if got := o.shortest(); got != row.want {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
		}
		for cut := range data {
			new(ttlObserver).observe(data[:cut])
		}
	}
}

func FuzzTTL(f *testing.F) {
	f.Add(response(f, 60, 5))
	f.Fuzz(func(t *testing.T, data []byte) {
		var o ttlObserver
		o.observe(data)
		if got := o.shortest(); got != 0 && got < minTTL {
			t.Errorf("got %v", got)
		}
	})
}
