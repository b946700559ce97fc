package broker

import (
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"sync"
	"testing"

	"example.com/ferry"
	"example.com/ferry/broker/internal/outlet"
	"example.com/ferry/field"
	"example.com/ferry/format"
	"example.com/ferry/format/json"
	"example.com/ferry/internal/peer"
	"example.com/ferry/protocol/native"
)

// rulesRig is a broker with one publisher and one subscriber. Frames that the broker writes are discarded.
type rulesRig struct {
	broker     *Broker
	subscriber *session
	receiver   *receiver
	tag        *tag
	nextID     uint32
}

func newRulesRig(t testing.TB) *rulesRig {
	t.Helper()
	broker, err := New(Config{Identify: Anyone, Formats: []format.Format{json.Format{}}, Log: slog.New(slog.DiscardHandler), MaxSubs: 1 << 16})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { broker.stopOnce.Do(func() { close(broker.stop) }) })
	r := &rulesRig{broker: broker}
	r.subscriber = r.open(t)
	r.receiver = newReceiver(r.open(t))
	p, err := r.receiver.session.publisherOf("events/a")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.grant(native.ResultFrame{Kind: native.Tag, Value: p.tag.ID}); err != nil {
		t.Fatal(err)
	}
	r.tag = p.tag
	return r
}

func (r *rulesRig) open(t testing.TB) *session {
	t.Helper()
	s := newSession(r.broker.NewListener(nil, ValidateOff), r.broker.cfg.Load(), "test", "", &Identity{Publish: []string{"#"}, Subscribe: []string{"#"}})
	near, far := net.Pipe()
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	if err := r.broker.addSession(s, peer.New(near, peer.Config{}), native.CallLimits{}, near.RemoteAddr()); err != nil {
		t.Fatal(err)
	}
	return s
}

// subscribe adds a subscription and returns it.
func (r *rulesRig) subscribe(t testing.TB, filter, group, where string) *subscription {
	t.Helper()
	r.nextID++
	v := native.SubFrame{ID: r.nextID, Window: 1 << 30, Filter: filter, Group: group, Where: where}
	if err := r.subscriber.subscribe(v, nil); err != nil {
		t.Fatal(err)
	}
	return r.subscriber.subs[r.nextID]
}

// publish routes payloads together, and discards what the broker writes.
func (r *rulesRig) publish(t testing.TB, payloads ...string) {
	t.Helper()
	var batch []byte
	for _, payload := range payloads {
		batch = native.AppendPub(batch, native.PubHeader{Type: ferry.JSON, Tag: r.tag.ID, Source: r.receiver.session.id}, []byte(payload))
	}
	if err := peer.Dispatch(r.receiver.session.peer, &frameHandlers, r.receiver, batch, nil, true); err != nil {
		t.Fatal(err)
	}
	for _, s := range []*session{r.subscriber, r.receiver.session} {
		s.control.Lock()
		s.control.Wire.Discard()
		s.control.Release(nil)
	}
}

// received returns how many messages were delivered to a subscription.
func received(sub *subscription) (n int) {
	for _, q := range sub.queues {
		n += int(q.Stats().Sent.Messages)
	}
	return n
}

// TestManyRules compares deliveries with predicates that are evaluated one by one, while subscriptions come and go, so that filters
// are listed in routes and in indexes.
func TestManyRules(t *testing.T) {
	t.Parallel()
	g := rand.New(rand.NewPCG(15, 1))
	r := newRulesRig(t)
	type rule struct {
		sub     *subscription
		matcher *format.Matcher // nil without a predicate
		want    int
	}
	var rules []*rule
	wheres := []string{"", "v == %d", "v > %d && v <= 9", `prefix(name, "n%d") || v == 3`, `v != %d && !(name == "n1")`, `group == "x" && v == %d`}
	largest, mismatched := 0, 0
	for step := range 60 {
		for range 12 {
			where := wheres[g.IntN(len(wheres))]
			if where != "" {
				where = fmt.Sprintf(where, g.IntN(10))
			}
			if step%20 < 10 {
				x := &rule{sub: r.subscribe(t, []string{"events/a", "events/a", "events/+", "#"}[g.IntN(4)], []string{"", "", "g1", "g2"}[g.IntN(4)], where)}
				if where != "" {
					x.matcher = format.NewMatcher(json.Format{}, field.MustParsePredicate(where))
				}
				rules = append(rules, x)
			} else if len(rules) > 0 {
				i := g.IntN(len(rules))
				r.subscriber.unsubscribe(rules[i].sub.ID, true)
				rules[i] = rules[len(rules)-1]
				rules = rules[:len(rules)-1]
			}
		}
		for _, in := range r.broker.interests {
			largest = max(largest, len(in.subs))
			if in.rules == nil && len(in.subs) > maxListed {
				t.Fatalf("filter %q with %d subscriptions has no index", in.filter, len(in.subs))
			}
		}
		payloads := make([]string, 1+g.IntN(3))
		wantGroups, groups := map[string]int{}, map[string]int{}
		for i := range payloads {
			payloads[i] = fmt.Sprintf(`{"v":%d,"name":"n%d","group":"x"}`, g.IntN(10), g.IntN(10))
			if g.IntN(4) == 0 {
				payloads[i] = `{"v":"word"}`
			}
			inGroup, counted := map[string]bool{}, map[string]bool{}
			for _, x := range rules {
				ok := true
				if x.matcher != nil {
					var mismatch bool
					ok, mismatch, _ = x.matcher.Match([]byte(payloads[i]))
					// Equal predicates are evaluated once for each filter with an index, and once for all others.
					key := x.sub.predicate.String()
					if r.broker.interests[x.sub.filter].rules != nil {
						key = x.sub.filter + " " + key
					}
					if mismatch && !counted[key] {
						counted[key] = true
						mismatched++
					}
				}
				switch {
				case ok && x.sub.group == "":
					x.want++
				case ok:
					inGroup[x.sub.group] = true
				}
			}
			for name := range inGroup {
				wantGroups[name]++
			}
		}
		for _, x := range rules {
			groups[x.sub.group] -= received(x.sub)
		}
		r.publish(t, payloads...)
		for _, x := range rules {
			groups[x.sub.group] += received(x.sub)
			if got := received(x.sub); x.sub.group == "" && got != x.want {
				t.Fatalf("step %d: filter %q, predicate %v: got %d messages, want %d", step, x.sub.filter, x.sub.predicate, got, x.want)
			}
		}
		for _, name := range []string{"g1", "g2"} {
			if groups[name] != wantGroups[name] {
				t.Fatalf("step %d: group %s got %d messages, want %d", step, name, groups[name], wantGroups[name])
			}
		}
	}
	if n := int(r.broker.mismatched.Load()); n != mismatched {
		t.Errorf("%d mismatches are counted, want %d", n, mismatched)
	}
	if largest < 2*maxListed {
		t.Errorf("no filter had more than %d subscriptions: the test proves little", largest)
	}
}

// TestRulesWhileOthersSubscribe: publishers match while subscriptions come and go.
func TestRulesWhileOthersSubscribe(t *testing.T) {
	t.Parallel()
	r := newRulesRig(t)
	stays := r.subscribe(t, "events/+", "", "v == 3")
	for i := range 4 * maxListed {
		r.subscribe(t, "events/+", "", fmt.Sprintf("v == %d", 100+i))
	}
	const rounds = 200
	var wg sync.WaitGroup
	wg.Go(func() {
		for i := range uint32(rounds) {
			v := native.SubFrame{ID: 1000 + i, Window: 1 << 30, Filter: "events/+", Group: []string{"", "g"}[i%2], Where: fmt.Sprintf("v == 3 || w == %d", i)}
			if err := r.subscriber.subscribe(v, nil); err != nil {
				t.Error(err)
				return
			}
			r.subscriber.unsubscribe(v.ID, true)
		}
	})
	for range rounds {
		r.publish(t, `{"v":3}`, `{"v":4}`)
	}
	wg.Wait()
	if n := received(stays); n != rounds {
		t.Errorf("%d of %d messages were delivered", n, rounds)
	}
	if n := len(r.broker.predicates); n != 4*maxListed+1 {
		t.Errorf("%d predicates are left, want %d", n, 4*maxListed+1)
	}
}

// TestTenThousandRules: a message is delivered to the one subscription of 10,000 whose predicate holds. What a match remembers, and
// what a SUB changes, does not depend on their number.
func TestTenThousandRules(t *testing.T) {
	t.Parallel()
	r := newRulesRig(t)
	const n = 10000
	subs := make([]*subscription, n)
	for i := range subs {
		subs[i] = r.subscribe(t, "events/a", "", fmt.Sprintf(`device == "d%d"`, i))
	}
	rt := r.broker.routeOf(r.tag)
	for i := 0; i < n; i += 97 {
		r.publish(t, fmt.Sprintf(`{"device":"d%d"}`, i))
	}
	total := 0
	for i, sub := range subs {
		got := received(sub)
		if total += got; got != 0 && i%97 != 0 {
			t.Errorf("subscription %d got %d messages, want none", i, got)
		}
	}
	if want := (n + 96) / 97; total != want {
		t.Errorf("%d messages were delivered, want %d", total, want)
	}
	for _, sub := range subs[maxListed:] {
		r.subscriber.unsubscribe(sub.ID, true)
		r.subscriber.unsubscribe(r.subscribe(t, "events/a", "", `device == "other"`).ID, true)
	}
	if r.broker.routeOf(r.tag) != rt {
		t.Error("a SUB or UNSUB among many has built the route again")
	}
	if c := rt.indexes[0]; c.index.Len() != maxListed || len(c.rules) > n+1 {
		t.Errorf("%d predicates and %d rules are left, want %d", c.index.Len(), len(c.rules), maxListed)
	}
}

// BenchmarkRules measures the broker's work for one message of which one of many subscriptions is a target, and of SUB and UNSUB.
func BenchmarkRules(b *testing.B) {
	for _, n := range []int{1, 10, 100, 1000, 10000} {
		r := newRulesRig(b)
		for i := range n {
			r.subscribe(b, "events/a", "", fmt.Sprintf(`device == "d%d"`, i))
		}
		const frames = 40
		var batch []byte
		for range frames {
			batch = native.AppendPub(batch, native.PubHeader{Type: ferry.JSON, Tag: r.tag.ID, Source: r.receiver.session.id}, []byte(`{"device":"d0","value":31}`))
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for i := 0; i < b.N; i += frames {
				if err := peer.Dispatch(r.receiver.session.peer, &frameHandlers, r.receiver, batch, nil, true); err != nil {
					b.Fatal(err)
				}
				for _, s := range []*session{r.subscriber, r.receiver.session} {
					s.control.Lock()
					s.control.Wire.Discard()
					s.control.Release(nil)
				}
				for _, q := range r.subscriber.subs[1].queues {
					q.AddCredit(outlet.MaxCredit)
				}
			}
		})
		b.Run(fmt.Sprintf("%d/subscribe", n), func(b *testing.B) {
			for b.Loop() {
				r.subscriber.unsubscribe(r.subscribe(b, "events/a", "", `device == "other"`).ID, true)
			}
		})
	}
}
