package pipeline

import (
	"cmp"
	"context"
	"crypto/sha256"
	"maps"
	"slices"

	"example.com/ferry"
)

// The most keys of group.applied: then Config.Done says which can be forgotten, and, if too few can, the lowest numbers are. Saved, a key
// takes at most 24 bytes.
const (
	someApplied = 8 << 10
	maxApplied  = 32 << 10
)

// keyID returns what stands for a key in group.applied: the key itself, or a part of its hash, which is longer than those.
func keyID(in *ferry.Message) string {
	key := string(in.Key)
	if key == "" {
		key = in.Tag
	}
	return shortKey(key)
}

func shortKey(key string) string {
	if len(key) < 16 {
		return key
	}
	sum := sha256.Sum256([]byte(key))
	return string(sum[:16])
}

// isNew reports whether the state of g does not contain in yet, and notes that it will. A stream delivers the messages of one key in
// order, so a number that is not above the highest one means that the message is delivered again.
func (r *run) isNew(g *group, in *ferry.Message) bool {
	if in.Sequence == 0 {
		return true
	}
	key := keyID(in)
	if in.Sequence <= g.applied[key] {
		return false
	}
	if g.applied == nil {
		g.applied = map[string]uint64{}
	}
	g.applied[key] = in.Sequence
	if len(g.applied) > max(g.enough, someApplied) {
		g.forget(r.ctx, r.cfg.Done)
	}
	return true
}

// forget removes keys whose messages do not come again.
func (g *group) forget(ctx context.Context, done func(context.Context) func(uint64) bool) {
	if done != nil {
		if isDone := done(ctx); isDone != nil {
			maps.DeleteFunc(g.applied, func(_ string, sequence uint64) bool { return isDone(sequence) })
		}
	}
	if len(g.applied) > maxApplied {
		keys := slices.SortedFunc(maps.Keys(g.applied), func(a, b string) int { return cmp.Compare(g.applied[a], g.applied[b]) })
		for _, old := range keys[:len(keys)-maxApplied/2] {
			delete(g.applied, old)
		}
	}
	g.enough = min(2*len(g.applied), maxApplied)
}
