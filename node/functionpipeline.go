package node

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"

	"example.com/ferry/engine"
	"example.com/ferry/internal/topic"
	"example.com/ferry/node/admin"
	"example.com/ferry/stream/pipeline"
)

// openPipeline makes the function's pipeline, with the state that was saved. change is held, and the client is connected.
func (f *function) openPipeline(ctx context.Context) (err error) {
	if len(f.Pipeline) == 0 {
		return nil
	}
	f.pipeline, err = pipeline.New(pipeline.Config{
		Name: f.Name, Steps: f.Pipeline, Observe: f.Observe, MaxGroups: f.MaxGroups, GroupIdle: f.GroupIdle, State: f.State,
		Formats: f.node.extensions.Formats, Output: f.client, Log: f.node.log, Done: f.doneMessages,
	})
	if err != nil || f.State == "" {
		return err
	}
	restored, emptied, err := f.pipeline.Restore(f.node.saved(ctx, f.State))
	if err != nil {
		return fmt.Errorf("state %s: %w", f.State, err)
	}
	last, err := f.node.lastSequence(ctx, f.Observe[0])
	if err != nil {
		return err
	}
	f.pipeline.EndsAt(last)
	if emptied > 0 {
		f.node.log.Warn("the steps of a pipeline have changed: its saved state is dropped", "function", f.Name, "groups", emptied)
	}
	f.node.log.Info("pipeline restored", "function", f.Name, "groups", restored)
	return nil
}

// doneMessages is the pipeline.Config.Done of the function's durable.
func (f *function) doneMessages(ctx context.Context) func(uint64) bool {
	s, err := f.node.streamOf(f.Observe[0])
	if err != nil {
		return nil
	}
	all, err := s.Cursors(ctx)
	i := slices.IndexFunc(all, func(c engine.CursorInfo) bool { return c.Name == f.Durable })
	if err != nil || i < 0 {
		return nil
	}
	return all[i].Position.IsDone
}

// saved returns the payloads of the messages that are stored below a tag, in order.
func (n *Node) saved(ctx context.Context, tag string) iter.Seq2[[]byte, error] {
	below := tag + "/#"
	return func(yield func([]byte, error) bool) {
		s, err := n.streamOf(below)
		if err == nil {
			err = eachRecord(ctx, s, func(r *engine.Record) bool {
				return !topic.Match(below, r.Tag) || yield(r.Payload, nil)
			})
		}
		if err != nil {
			yield(nil, err)
		}
	}
}

// lastSequence returns the sequence number of the last message of the stream that stores a filter.
func (n *Node) lastSequence(ctx context.Context, filter string) (uint64, error) {
	s, err := n.streamOf(filter)
	if err != nil {
		return 0, err
	}
	info, err := s.Info(ctx)
	return info.Last, err
}

// streamOf returns the stream that stores all tags of a filter.
func (n *Node) streamOf(filter string) (engine.Stream, error) {
	for _, s := range n.streams.all() {
		if slices.ContainsFunc(s.config.Tags, func(tags string) bool { return topic.Covers(tags, filter) }) {
			return s.stream, nil
		}
	}
	return nil, fmt.Errorf("no stream stores %s", filter)
}

// eachRecord calls visit for the records that a stream has, until it returns false. A damaged record is left out.
func eachRecord(ctx context.Context, s engine.Stream, visit func(*engine.Record) bool) error {
	info, err := s.Info(ctx)
	if err != nil || info.Records == 0 {
		return err
	}
	cursor, err := s.Cursor(ctx, engine.CursorConfig{Start: engine.Start{At: engine.AtFirst}})
	if err != nil {
		return err
	}
	defer func() { _ = cursor.Close(context.WithoutCancel(ctx)) }() // it has only read
	for seen := uint64(0); seen < info.Records; {
		records, err := cursor.Next(ctx, 256, 1<<20)
		var damaged *engine.CorruptError
		if errors.As(err, &damaged) {
			seen++
			continue
		}
		if err != nil {
			return err
		}
		for i := range records {
			if records[i].Sequence > info.Last || !visit(&records[i]) {
				return nil
			}
		}
		seen += uint64(len(records))
		if records[len(records)-1].Sequence >= info.Last {
			return nil
		}
	}
	return nil
}

// pipelineState returns the state of a pipeline for the admin server.
func pipelineState(s pipeline.Stats) *admin.Pipeline {
	state := &admin.Pipeline{Groups: s.Groups, Open: s.Open, Refused: s.Refused, Failed: s.Failed}
	for _, each := range s.Steps {
		state.Steps = append(state.Steps, admin.PipelineStep{Text: each.Text, In: each.In, Out: each.Out, Skipped: each.Skipped, Late: each.Late})
	}
	return state
}
