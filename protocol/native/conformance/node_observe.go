package conformance

import (
	"fmt"

	"example.com/ferry/protocol/native"
)

// nodeObserve are the cases about SUB: filters, predicates, groups, and the credit of both directions.
func nodeObserve() []nodeCase {
	return []nodeCase{
		{Case{"observe/filters", "Tags and filters", "+ matches one level, and # those that remain, if any. Levels may be empty, and case counts."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			all := []string{"a", "a/b", "a/b/c", "a/", "a//b", "A", "b"}
			for _, row := range []struct {
				filter string
				want   []int
			}{
				{"#", []int{0, 1, 2, 3, 4, 5, 6}},
				{"a", []int{0}},
				{"a/#", []int{0, 1, 2, 3, 4}},
				{"+", []int{0, 5, 6}},
				{"a/+", []int{1, 3}},
				{"a/+/+", []int{2, 4}},
				{"+/b", []int{1}},
				{"a/b/#", []int{1, 2}},
				{"a//b", []int{4}},
			} {
				b.subscribe(native.SubFrame{ID: 1, Filter: r.tag(row.filter)})
				for i, tag := range all {
					a.publish(a.publisherOnce(r.tag(tag)), fmt.Sprint(i))
				}
				a.barrier("a connection")
				for _, i := range row.want {
					if m := b.message(1, fmt.Sprint(i)); m.tag != r.tag(all[i]) {
						r.fail(fmt.Sprintf("filter %q matches %q", r.tag(row.filter), r.tag(all[i])), "%q", m.tag)
					}
				}
				b.unsubscribe(1)
				b.none(fmt.Sprintf("filter %q matches nothing else", row.filter))
			}
		}},
		{Case{"observe/bad-filter", "Tags and filters", "RESULT refuses a malformed filter: bad request."}, func(r *nodeRun) {
			c := r.connect()
			for i, filter := range []string{r.tag("a+"), r.tag("#/a"), r.tag("a#"), "", r.tag("\n")} {
				id := uint32(i + 1)
				if v := c.request(native.AppendSub(nil, native.SubFrame{ID: id, Window: 1000, Filter: filter}), native.Sub, id); v.Code != native.CodeBadRequest {
					r.fail(fmt.Sprintf("RESULT bad request for filter %q", filter), "%v: %s", v.Code, v.Reason)
				}
			}
			c.barrier("a connection")
		}},
		{Case{"observe/forbidden", "Tags and filters", "RESULT refuses a filter that matches more than the identity may see: forbidden."}, func(r *nodeRun) {
			if r.cfg.Forbidden == "" {
				r.skip("no forbidden tag was given")
			}
			c := r.connect()
			for i, filter := range []string{r.cfg.Forbidden, "#"} {
				id := uint32(i + 1)
				if v := c.request(native.AppendSub(nil, native.SubFrame{ID: id, Window: 1000, Filter: filter}), native.Sub, id); v.Code != native.CodeForbidden {
					r.fail(fmt.Sprintf("RESULT forbidden for filter %q", filter), "%v: %s", v.Code, v.Reason)
				}
			}
		}},
		{Case{"observe/where", "A connection", "The node delivers only messages for which the predicate is true."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a"), Where: `v > 30 && name != "x"`})
			n := c.publisher(r.tag("a"))
			c.publish(n, `{"v":31,"name":"a"}`, `{"v":30,"name":"a"}`, `{"v":99,"name":"x"}`, `{"name":"a"}`, `7`, `{"v":32,"name":"b"}`)
			c.message(1, `{"v":31,"name":"a"}`)
			c.message(1, `{"v":32,"name":"b"}`)
			c.none("only messages for which the predicate is true")
		}},
		{Case{"observe/bad-where", "A connection", "RESULT refuses a malformed predicate: bad request."}, func(r *nodeRun) {
			c := r.connect()
			if v := c.request(native.AppendSub(nil, native.SubFrame{ID: 1, Window: 1000, Filter: r.tag("a"), Where: "v >"}), native.Sub, 1); v.Code != native.CodeBadRequest {
				r.fail("RESULT bad request", "%v: %s", v.Code, v.Reason)
			}
		}},
		{Case{"observe/group", "A connection", "Each message goes to one member of a group, and to each subscription without one."}, func(r *nodeRun) {
			const count = 100
			a, b, other := r.connect(), r.connect(), r.connect()
			for _, c := range []*client{a, b} {
				c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a"), Group: r.name})
			}
			other.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := other.publisher(r.tag("a"))
			for i := range count {
				other.publish(n, fmt.Sprint(i))
			}
			seen := map[string]int{}
			r.await(fmt.Sprintf("%d messages for the group", count), func() (bool, string) {
				for _, c := range []*client{a, b} {
					for _, m := range c.rules.pubs {
						seen[string(m.frame.Payload())]++
					}
					c.rules.pubs = nil
				}
				for text, times := range seen {
					if times > 1 {
						return false, fmt.Sprintf("message %s for %d members", text, times)
					}
				}
				return len(seen) == count, ""
			}, func() string { return fmt.Sprintf("%d messages", len(seen)) })
			for i := range count {
				other.message(1, fmt.Sprint(i))
			}
		}},
		{Case{"observe/two", "Kinds", "Two subscriptions of a connection that match a message get it each, behind a SELECT."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 7, Filter: r.tag("a")})
			c.subscribe(native.SubFrame{ID: 1 << 31, Filter: r.tag("+")})
			c.publish(c.publisher(r.tag("a")), "1")
			first, second := c.next("a message of each subscription"), c.next("a message of each subscription")
			if first.sub == second.sub {
				r.fail("a message of subscriptions 7 and 2147483648 each", "both of %d", first.sub)
			}
		}},
		{Case{"observe/unsubscribe", "Kinds", "After UNSUB, and the response to a PING behind it, no message of the subscription comes."}, func(r *nodeRun) {
			c := r.connect()
			c.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a")})
			n := c.publisher(r.tag("a"))
			c.publish(n, "1")
			c.message(1, "1")
			c.unsubscribe(1)
			c.publish(n, "2")
			c.subscribe(native.SubFrame{ID: 2, Filter: r.tag("a")})
			c.publish(n, "3")
			c.message(2, "3")
			c.none("no message of a subscription that has ended")
		}},
		{Case{"observe/unknown", "Kinds", "UNSUB and CREDIT with unknown numbers are ignored."}, func(r *nodeRun) {
			c := r.connect()
			c.write(native.AppendUnsub(nil, 99), native.AppendCredit(nil, native.CreditFrame{Sub: 98, Tag: 4711, Bytes: 1}))
			c.barrier("a connection")
		}},
		{Case{"observe/id-zero", "Kinds", "A SUB with id 0 ends the connection."}, func(r *nodeRun) {
			c := r.connect()
			c.write(native.AppendSub(nil, native.SubFrame{Window: 1000, Filter: r.tag("a")}))
			c.endsWith("a SUB with id 0", native.CodeProtocol, native.CodeBadRequest)
		}},
		{Case{"credit/subscriber", "A connection", "The node sends a window of a subscription, of which the last frame may exceed what is left, and more after CREDIT."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			const size = native.PubHeaderSize + 2
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a"), Window: 2*size + 1})
			n := a.publisher(r.tag("a"))
			for i := range 10 {
				a.publish(n, fmt.Sprint(10+i))
			}
			for i := range 3 {
				b.message(1, fmt.Sprint(10+i))
			}
			b.barrier("a connection")
			b.none("no message without credit")
			b.allow(n, 3*size)
			for i := range 3 {
				b.message(1, fmt.Sprint(13+i))
			}
			b.allow(n, 100*size)
			for i := range 4 {
				b.message(1, fmt.Sprint(16+i))
			}
		}},
		{Case{"credit/tags", "A connection", "The window of a subscription is that of each tag: one that is used up does not delay another one."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("#"), Window: 1})
			first, second := a.publisher(r.tag("a")), a.publisher(r.tag("b"))
			a.publish(first, "1", "2")
			b.message(1, "1")
			a.publish(second, "3")
			b.message(1, "3")
			b.allow(first, 1000)
			b.message(1, "2")
		}},
		{Case{"credit/publisher", "A connection", "The node returns with CREDIT what it has routed, so that many windows may be published, and never more."}, func(r *nodeRun) {
			c := r.connect()
			n := c.publisher(r.tag("a"))
			payload := make([]byte, min(int(c.welcome.Window), int(c.welcome.MaxFrame))/2)
			for range 10 {
				c.raw(n, payload)
			}
			c.barrier("a connection")
		}},
		{Case{"credit/block", "A connection", "While a subscription with policy block is full, the node withholds the credit of its tag, and of no other one."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a"), Window: 1, Queue: 1000})
			blocked, free := a.publisher(r.tag("a")), a.publisher(r.tag("b"))
			payload := make([]byte, min(int(a.welcome.Window), int(a.welcome.MaxFrame))/2)
			sent := 0
			for a.hasCredit(blocked) && sent < maxUnrouted {
				a.raw(blocked, payload)
				a.barrier("a connection")
				sent++
			}
			if sent == maxUnrouted {
				r.fail("no CREDIT for the tag of a full subscription", "CREDIT for %d messages of %d bytes", sent, len(payload))
			}
			for range 10 {
				a.raw(free, payload)
			}
			for range sent {
				m := b.next("the messages that were published")
				b.allow(blocked, len(m.frame))
			}
			a.raw(blocked, payload)
			b.next("a message after CREDIT")
		}},
		{Case{"credit/exceeded", "A connection", "A publisher that sends without credit gets GOAWAY no credit."}, func(r *nodeRun) {
			a, b := r.connect(), r.connect()
			b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a"), Window: 1, Queue: 1000})
			n := a.publisher(r.tag("a"))
			payload := make([]byte, min(int(a.welcome.Window), int(a.welcome.MaxFrame))/2)
			for range maxUnrouted {
				f := a.rawPub(n, payload)
				r.mu.Lock()
				a.rules.debt[n] += int64(len(f))
				r.mu.Unlock()
				a.write(f)
			}
			a.endsWith("PUBs without credit", native.CodeCredit)
		}},
		{Case{"credit/drop-newest", "Kinds", "With policy drop newest the node drops messages beyond the queue, and keeps the older ones."}, func(r *nodeRun) {
			first, last := r.overflow(native.DropNewest)
			if first != 1 || last == overflowing {
				r.fail("the first messages after the window", "%d to %d", first, last)
			}
		}},
		{Case{"credit/drop-oldest", "Kinds", "With policy drop oldest the node drops the oldest messages of a full queue, and keeps the newest one."}, func(r *nodeRun) {
			first, last := r.overflow(native.DropOldest)
			if first == 1 || last != overflowing {
				r.fail("the last messages", "%d to %d", first, last)
			}
		}},
	}
}

// maxUnrouted bounds the frames that a case publishes until the node withholds credit.
const maxUnrouted = 20

// overflowing is the number of the last message of overflow.
const overflowing = 2000

// overflow fills the queue of a subscription and returns the numbers of the first and the last message that were kept.
func (r *nodeRun) overflow(policy native.Policy) (first, last int) {
	a, b := r.connect(), r.connect()
	b.subscribe(native.SubFrame{ID: 1, Filter: r.tag("a"), Window: 1, Queue: 4096, Policy: policy})
	n := a.publisher(r.tag("a"))
	a.publish(n, "0")
	b.message(1, "0")
	for i := range overflowing {
		a.publish(n, fmt.Sprint(i+1))
	}
	a.barrier("a connection")
	b.allow(n, 1<<20)
	b.subscribe(native.SubFrame{ID: 2, Filter: r.tag("end")})
	b.publish(b.publisher(r.tag("end")), `"end"`)
	for {
		m := b.next("the messages of the queue")
		if m.sub == 2 {
			return first, last
		}
		if _, err := fmt.Sscan(string(m.frame.Payload()), &last); err != nil {
			r.fail("a number", "%s", show(m.frame))
		}
		if first == 0 {
			first = last
		}
	}
}

// unsubscribe ends a subscription, and waits until the node has handled that.
func (c *client) unsubscribe(id uint32) {
	c.write(native.AppendUnsub(nil, id))
	c.barrier("a connection")
}

// publisherOnce is publisher for a tag that the client may have requested before.
func (c *client) publisherOnce(tag string) uint32 {
	if c.numbers == nil {
		c.numbers = map[string]uint32{}
	}
	n, ok := c.numbers[tag]
	if !ok {
		n = c.publisher(tag)
		c.numbers[tag] = n
	}
	return n
}

// rawPub makes a PUB of type raw.
func (c *client) rawPub(number uint32, payload []byte) []byte {
	return native.AppendPub(nil, native.PubHeader{Tag: number, Source: c.source(), Time: 1}, payload)
}

// raw publishes bytes as soon as there is credit.
func (c *client) raw(number uint32, payload []byte) { c.send(number, c.rawPub(number, payload)) }

// hasCredit reports whether the client may publish on a tag.
func (c *client) hasCredit(number uint32) bool {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()
	return c.rules.published[number] > 0
}
