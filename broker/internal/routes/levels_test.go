package routes

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/ferry/internal/topic"
)

// randomKey returns a tag or filter of a few levels, or of very many.
func randomKey(r *rand.Rand, levels ...string) string {
	n := 1 + r.IntN(5)
	if r.IntN(10) == 0 {
		n = maxDepth - 2 + r.IntN(6)
	}
	all := make([]string, n)
	for i := range all {
		all[i] = levels[r.IntN(len(levels))]
		if all[i] == "#" {
			return strings.Join(all[:i+1], "/")
		}
	}
	return strings.Join(all, "/")
}

// TestLevelsMatch: after any changes, both directions find what topic.Match says.
func TestLevelsMatch(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	var tags, filters Levels[string]
	allTags, allFilters := map[string]bool{}, map[string]bool{}
	change := func(l *Levels[string], all map[string]bool, key string) {
		if r.IntN(3) > 0 {
			l.Set(key, key)
			all[key] = true
		} else {
			if keys := slices.Sorted(maps.Keys(all)); len(keys) > 0 && r.IntN(3) > 0 {
				key = keys[r.IntN(len(keys))]
			}
			l.Delete(key)
			delete(all, key)
		}
		if l.Len() != len(all) {
			t.Fatalf("Len is %d, want %d", l.Len(), len(all))
		}
	}
	compare := func(what string, got, want []string) {
		t.Helper()
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Fatalf("%s: got %q, want %q", what, got, want)
		}
	}
	for range 3000 {
		tag, filter := randomKey(r, "", "a", "b", "c"), randomKey(r, "", "a", "b", "+", "+", "#")
		change(&tags, allTags, tag)
		change(&filters, allFilters, filter)
		var got, want []string
		filters.MatchingFilters(tag, func(f string) { got = append(got, f) })
		for f := range allFilters {
			if topic.Match(f, tag) {
				want = append(want, f)
			}
		}
		compare("filters of "+tag, got, want)
		got, want = nil, nil
		if !tags.MatchingTags(filter, 1<<20, func(tag string) { got = append(got, tag) }) {
			t.Fatal("the limit is reached")
		}
		for tag := range allTags {
			if topic.Match(filter, tag) {
				want = append(want, tag)
			}
		}
		compare("tags of "+filter, got, want)
	}
	for key := range allTags {
		tags.Delete(key)
	}
	if tags.root.children != nil || tags.root.holds != noKey || tags.root.keys != 0 {
		t.Errorf("an empty index has nodes: %+v", tags.root)
	}
}

// TestMatchingTagsIsBounded: a filter that matches very many tags ends the walk early.
func TestMatchingTagsIsBounded(t *testing.T) {
	var tags Levels[int]
	for i := range 1000 {
		tags.Set(fmt.Sprintf("building/%d/door/%d", i%10, i), i)
	}
	for filter, complete := range map[string]bool{"#": false, "building/+/+/+": false, "building/#": false, "building/3/door/13": true, "building/+/door/13": true, "x/#": true} {
		found := 0
		if got := tags.MatchingTags(filter, 100, func(int) { found++ }); got != complete || found > 100 {
			t.Errorf("%s: complete %v with %d tags, want %v", filter, got, found, complete)
		}
	}
	deep := strings.Repeat("a/", 30)
	for i := range 1000 {
		tags.Set(fmt.Sprint(deep, i), i)
	}
	if tags.MatchingTags(deep+"+", 100, func(int) {}) {
		t.Error("the walk over deep tags has no bound")
	}
}

func BenchmarkMatchingFilters(b *testing.B) {
	var filters Levels[int]
	for i := range 10000 {
		filters.Set(fmt.Sprintf("building/%d/+/#", i), i)
	}
	for b.Loop() {
		filters.MatchingFilters("building/77/door/3", func(int) {})
	}
}
