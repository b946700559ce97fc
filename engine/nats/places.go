package nats

import (
	"slices"

	"example.com/ferry/engine"
)

// places finds the numbers that positions of cursors get in a copy whose records have other numbers. It knows, for each number that a
// position names, what number the first record from it on gets.
type places struct {
	numbers []uint64 // sorted: those that are wanted
	copied  []uint64 // of the first so many
}

func newPlaces(cursors []engine.CursorInfo) places {
	var p places
	for _, c := range cursors {
		p.numbers = append(p.numbers, c.Position.Floor+1)
		for _, r := range c.Position.Done {
			p.numbers = append(p.numbers, r.First, r.First+r.Count)
		}
		for _, d := range c.Position.Deliveries {
			p.numbers = append(p.numbers, d.Sequence, d.Sequence+1)
		}
	}
	slices.Sort(p.numbers)
	p.numbers = slices.Compact(p.numbers)
	return p
}

// at says that the record with a number gets the number copied. The numbers of its calls increase.
func (p *places) at(number, copied uint64) {
	for len(p.copied) < len(p.numbers) && p.numbers[len(p.copied)] <= number {
		p.copied = append(p.copied, copied)
	}
}

// end says what the record behind the last one gets.
func (p *places) end(copied uint64) {
	for len(p.copied) < len(p.numbers) {
		p.copied = append(p.copied, copied)
	}
}

// of returns the number that the first record from number on has got.
func (p *places) of(number uint64) uint64 {
	i, _ := slices.BinarySearch(p.numbers, number)
	return p.copied[i]
}

// translate returns the position in the copy.
func (p *places) translate(old engine.Position) engine.Position {
	position := engine.Position{Floor: p.of(old.Floor+1) - 1}
	for _, r := range old.Done {
		if first, end := p.of(r.First), p.of(r.First+r.Count); first < end {
			position.Done = append(position.Done, engine.Range{First: first, Count: end - first})
		}
	}
	for _, d := range old.Deliveries {
		if at := p.of(d.Sequence); at < p.of(d.Sequence+1) {
			position.Deliveries = append(position.Deliveries, engine.Deliveries{Sequence: at, Count: d.Count})
		}
	}
	return position
}
