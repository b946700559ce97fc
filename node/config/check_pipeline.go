package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/internal/topic"
	"example.com/ferry/stream/pipeline"
)

// checkPipeline checks a function with a pipeline, and that others have none of its fields.
func (f Function) checkPipeline(at string, streams []Stream, errs *configErrors) {
	if f.Pipeline == nil {
		for _, each := range []struct {
			field string
			set   bool
		}{{"state", f.State != ""}, {"max_groups", f.MaxGroups != 0}, {"group_idle", f.GroupIdle != 0}} {
			if each.set {
				errs.add(at+each.field, "is for a pipeline: leave it out")
			}
		}
		return
	}
	switch {
	case f.Run != "" || len(f.Command) > 0 || f.Wasm != "":
		errs.add(at+"pipeline", "beside run, command or wasm: give one of them")
	case f.CPU != Light:
		errs.add(at+"cpu", "%q is for a run or a command: a pipeline is light, leave it out", f.CPU)
	case f.Concurrency > 1:
		errs.add(at+"concurrency", "means nothing for a pipeline, which handles one message at a time: leave it out")
	case f.Timeout > 0:
		errs.add(at+"timeout", "means nothing for a pipeline: leave it out")
	}
	stateful, err := pipeline.Check(f.Pipeline, f.Observe)
	var wrong invalid.Errors
	if errors.As(err, &wrong) {
		for _, e := range wrong {
			errs.add(at+e.Field, "%s", e.Reason)
		}
		return
	}
	switch {
	case f.Durable != "" && stateful && f.State == "":
		errs.add(at+"durable", "the pipeline keeps state, which a restart would lose: write state: TAG, and a stream that stores TAG/# at least once; or leave the durable out")
	case f.State != "" && (f.Durable == "" || !stateful):
		errs.add(at+"state", "is for a pipeline with a durable and a step that keeps state, such as a window: leave it out")
	case f.State != "":
		f.checkState(at, streams, errs)
	}
}

// checkState checks the tag of saved state.
func (f Function) checkState(at string, streams []Stream, errs *configErrors) {
	if err := topic.CheckTag(f.State); err != nil {
		errs.add(at+"state", "%v", err)
		return
	}
	below := f.State + "/#"
	stores := slices.IndexFunc(streams, func(s Stream) bool {
		return slices.ContainsFunc(s.Tags, func(tags string) bool { return topic.Covers(tags, below) })
	})
	switch {
	case stores < 0:
		errs.add(at+"state", "no stream stores %s: add one to streams: {tags: %s, delivery: at-least-once, retention: {per_tag: 1}}", below, below)
	case streams[stores].Delivery != AtLeastOnce:
		errs.add(at+"state", "streams[%d] has delivery %s: state needs at-least-once", stores, streams[stores].Delivery)
	}
	for i, filter := range f.Observe {
		if topic.CheckFilter(filter) == nil && topic.Overlap(filter, below) {
			errs.add(fmt.Sprintf("%sobserve[%d]", at, i), "%q matches the function's own state, %s", filter, below)
		}
	}
}

// checkCycles checks that results of a pipeline do not come back to it through others. pipeline.Check finds a pipeline that observes its own.
func (c *Config) checkCycles(errs *configErrors) {
	next := map[int][]int{} // by index of the function: the pipelines that get its results
	for i, from := range c.Functions {
		if _, err := pipeline.Check(from.Pipeline, from.Observe); err != nil {
			continue
		}
		results := pipeline.Outputs(from.Pipeline)
		for j, to := range c.Functions {
			if len(to.Pipeline) > 0 && slices.ContainsFunc(to.Observe, func(filter string) bool {
				return topic.CheckFilter(filter) == nil && topic.Overlap(results, filter)
			}) {
				next[i] = append(next[i], j)
			}
		}
	}
	for i, f := range c.Functions {
		if path := pathBack(next, i); path != nil {
			names := make([]string, len(path))
			for k, j := range path {
				names[k] = c.Functions[j].Name
			}
			errs.add(fmt.Sprintf("functions[%d].pipeline[%d].publish", i, len(f.Pipeline)-1),
				"%q comes back to the function through %s: its results would never end", pipeline.Outputs(f.Pipeline), strings.Join(names, ", "))
			return
		}
	}
}

// pathBack returns the nodes on the shortest way from a node of a graph back to itself; nil if there is none.
func pathBack(next map[int][]int, start int) []int {
	before := map[int]int{}
	for reached := []int{start}; len(reached) > 0; reached = reached[1:] {
		for _, to := range next[reached[0]] {
			if to == start {
				var path []int
				for at := reached[0]; at != start; at = before[at] {
					path = append([]int{at}, path...)
				}
				return path
			}
			if _, known := before[to]; !known {
				before[to] = reached[0]
				reached = append(reached, to)
			}
		}
	}
	return nil
}
