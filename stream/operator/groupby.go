package operator

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Groups bounds the groups of GroupBy.
type Groups struct {
	// Max is the most groups at the same time; 0 means 65536. The values of further keys are dropped and counted.
	Max int

	// Idle ends a group that got no value for this time, on the clock of the stream: its open windows emit. Zero means never.
	Idle time.Duration
}

// Keyed is a value of a group.
type Keyed[K, R any] struct {
	Key   K
	Value R
}

// GroupBy makes a group of the values for which key returns the same. Each group has operators of its own, which each makes: it is called
// with the stream of the values of a group, once for each group and once before the first. A group may use GroupBy, too.
func GroupBy[T, R any, K comparable](in Stream[T], key func(T) K, each func(Stream[T]) Stream[R], g Groups) Stream[Keyed[K, R]] {
	return Stream[Keyed[K, R]]{func(s *scope, to output[Keyed[K, R]]) upstream {
		check(g.Max >= 0 && g.Idle >= 0, func() error { return fmt.Errorf("groups with Max %d and Idle %v: want none negative", g.Max, g.Idle) })
		g.Max = cmp.Or(g.Max, defaultMaxKeys)
		o := &groups[T, R, K]{Groups: g, scope: s, key: key, each: each, to: to, fail: s.fail, open: map[K]*group[T, K]{}}
		s.keeps("GroupBy")
		s.last++
		o.id = fmt.Sprintf("%s%d-group", s.path, s.last)
		o.up = in.connect(s, output[T]{
			next: func(v T, at int64) {
				k := key(v)
				p := o.open[k]
				if p == nil {
					if p = o.add(k); p == nil {
						return
					}
				}
				if o.Idle > 0 {
					p.used = max(p.used, at)
					p.cell.touch()
				}
				p.to.next(v, at)
			},
			all:   o.spread,
			takes: func() taking { return o.takes },
			end:   o.end,
		})
		out := o.template()
		savedGroups(&s.run.state, o.id, func(k K) { o.add(k) })
		return upstream{out.behind().clock, o.up.stop}
	}}
}

// groups are the groups of one operator.
type groups[T, R any, K comparable] struct {
	Groups
	scope *scope
	id    string
	key   func(T) K
	each  func(Stream[T]) Stream[R]
	up    upstream
	to    output[Keyed[K, R]]
	fail  failing
	open  map[K]*group[T, K]
	made  uint64 // counts groups
	takes taking
}

// group is one group.
type group[T any, K comparable] struct {
	key    K
	scope  *scope
	to     output[T]
	number uint64

	// With Groups.Idle.
	used  int64 // time of the last value
	timer timer
	cell  *cell
}

// template builds the operators of a group that never gets a value, to learn the clock of their output.
func (o *groups[T, R, K]) template() upstream {
	s := &scope{run: o.scope.run, path: o.id + "/template/", template: true}
	p := &group[T, K]{scope: s}
	out := o.build(p, output[R]{next: func(R, int64) {}, end: func() {}})
	if o.takes = whileEmitting; o.Idle == 0 && p.to.takes != nil {
		o.takes = p.to.takes()
	}
	return out
}

// build builds the operators of a group.
func (o *groups[T, R, K]) build(p *group[T, K], to output[R]) upstream {
	values := Stream[T]{func(_ *scope, to output[T]) upstream {
		check(p.to.next == nil, func() error { return fmt.Errorf("the stream of a group is used twice: use Share") })
		p.to = to
		return upstream{o.up.clock, func() { p.to.next = func(T, int64) {} }}
	}}
	p.scope.fail = o.fail
	out := o.each(values).connect(p.scope, to)
	check(p.to.next != nil && out.line == o.up.line, func() error { return fmt.Errorf("the operators of a group do not stand on the group's stream") })
	return out
}

// add makes a group. It returns nil if there are too many.
func (o *groups[T, R, K]) add(k K) *group[T, K] {
	if len(o.open) >= o.Max {
		o.scope.run.drop("Max of groups", o.Max)
		return nil
	}
	o.made++
	p := &group[T, K]{key: k, scope: o.scope.group(o.id, k), number: o.made}
	o.build(p, output[R]{next: func(v R, at int64) { o.to.next(Keyed[K, R]{k, v}, at) }, end: func() {}})
	o.open[k] = p
	o.scope.run.stats.Groups++
	if o.Idle > 0 {
		restored := false
		if p.cell, restored = newCell(p.scope, "used", &p.used, func() (int64, bool) { return p.used, true }); !restored {
			p.used = o.up.now()
		}
		p.timer.fire = func(at int64) {
			if due := later(p.used, o.Idle); due > at {
				o.up.schedule(&p.timer, due)
				return
			}
			o.remove(p)
		}
		o.up.schedule(&p.timer, later(p.used, o.Idle))
	}
	return p
}

// spread passes the values of a batch to their groups.
func (o *groups[T, R, K]) spread(b *batch[T]) {
	key, open, values, at, run := o.key, o.open, b.values, b.at, o.scope.run
	for _, i := range b.chosen {
		v := &values[i]
		k := key(*v)
		p := open[k]
		if p == nil {
			if p = o.add(k); p == nil {
				continue
			}
		}
		run.given = b.given[i]
		p.to.next(*v, at[i])
	}
	run.given = run.wall.now
}

// remove ends a group.
func (o *groups[T, R, K]) remove(p *group[T, K]) {
	delete(o.open, p.key)
	o.scope.run.stats.Groups--
	o.up.cancel(&p.timer)
	p.to.end()
	p.scope.discard()
}

// end ends all groups, in the order in which they were made.
func (o *groups[T, R, K]) end() {
	all := slices.SortedFunc(maps.Values(o.open), func(a, b *group[T, K]) int { return cmp.Compare(a.number, b.number) })
	for _, p := range all {
		o.remove(p)
	}
	o.to.end()
}
