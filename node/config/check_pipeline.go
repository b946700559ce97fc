package config

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/ferry/internal/invalid"
	"example.com/ferry/internal/topic"
	"example.com/ferry/stream/pipeline"
)

// checkPipeline checks a function with a pipeline, and that others have none of its fields.
func (f Function) checkPipeline(at string, streams []Stream, errs *configErrors) {
	if f.Pipeline == nil {
		if f.State != "" {
			errs.add(at+"state", "is for a pipeline: leave it out")
		}
		if f.MaxGroups != 0 {
			errs.add(at+"max_groups", "is for a pipeline: leave it out")
		}
		if f.GroupIdle != 0 {
			errs.add(at+"group_idle", "is for a pipeline: leave it out")
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
	if f.GroupIdle != 0 && f.GroupIdle < time.Second {
		errs.add(at+"group_idle", "%v is too short: at least 1s, or leave it out", f.GroupIdle)
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
