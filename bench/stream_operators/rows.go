package main

import (
	"context"
	"net/http"
	"time"

	"github.com/reactivex/rxgo/v2"
	_ "github.com/redpanda-data/benthos/v4/public/components/pure" // the processor mutation
	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/ferry/stream/operator"
)

func loopByCount(all []event) (results []result, err error) {
	sum, n := 0.0, 0
	for i := range all {
		if v := all[i].Value; v > threshold {
			sum += v
			if n++; n == windowCount {
				results = append(results, result{mean: sum / windowCount})
				sum, n = 0, 0
			}
		}
	}
	if n > 0 {
		results = append(results, result{mean: sum / float64(n)})
	}
	return results, nil
}

func loopByDevices(all []event) (results []result, err error) {
	type window struct {
		start, end int64
		sum        float64
		n          int
	}
	devices := map[string]*window{}
	for i := range all {
		e := &all[i]
		if e.Value <= threshold {
			continue
		}
		w := devices[e.Device]
		if w == nil {
			w = &window{}
			devices[e.Device] = w
		}
		if e.At >= w.end {
			if w.n > 0 {
				results = append(results, result{e.Device, w.start, w.sum / float64(w.n)})
			}
			start := e.At - e.At%int64(windowTime)
			*w = window{start: start, end: start + int64(windowTime)}
		}
		w.sum += e.Value
		w.n++
	}
	for device, w := range devices {
		results = append(results, result{device, w.start, w.sum / float64(w.n)})
	}
	return results, nil
}

func valueOf(e event) float64 { return e.Value }

func passes(e event) bool { return e.Value > threshold }

func ferryByCount(all []event) (results []result, err error) {
	passing := operator.Filter(operator.FromSlice(all), passes)
	means := operator.Window(passing, operator.Counted(windowCount), operator.Mean(valueOf))
	err = operator.Run(context.Background(), nil, operator.Each(means, func(_ context.Context, w operator.Windowed[float64], _ int64) error {
		results = append(results, result{mean: w.Value})
		return nil
	}))
	return results, err
}

func ferryByDevices(all []event) (results []result, err error) {
	timed := operator.EventTime(operator.FromSlice(all), func(e event) int64 { return e.At }, operator.Disorder{})
	passing := operator.Filter(timed, passes)
	means := operator.GroupBy(passing, func(e event) string { return e.Device }, func(in operator.Stream[event]) operator.Stream[operator.Windowed[float64]] {
		return operator.Window(in, operator.Tumbling(windowTime), operator.Mean(valueOf))
	}, operator.Groups{})
	err = operator.Run(context.Background(), nil, operator.Each(means, func(_ context.Context, v operator.Keyed[string, operator.Windowed[float64]], _ int64) error {
		results = append(results, result{v.Key, v.Value.Start, v.Value.Value})
		return nil
	}))
	return results, err
}

func mean(values []float64) result {
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	return result{mean: sum / float64(len(values))}
}

func rxgoByCount(all []event) (results []result, err error) {
	buffered := rxgo.WithBufferedChannel(1024)
	source := rxgo.Create([]rxgo.Producer{func(_ context.Context, next chan<- rxgo.Item) {
		for i := range all {
			next <- rxgo.Of(all[i])
		}
	}}, buffered)
	means := source.
		Filter(func(v any) bool { return passes(v.(event)) }, buffered).
		BufferWithCount(windowCount, buffered).
		Map(func(_ context.Context, v any) (any, error) {
			var values []float64
			for _, each := range v.([]any) {
				values = append(values, each.(event).Value)
			}
			return mean(values), nil
		}, buffered)
	for item := range means.Observe(buffered) {
		if item.E != nil {
			return nil, item.E
		}
		results = append(results, item.V.(result))
	}
	return results, nil
}

func benthosByCount(all []event) (results []result, err error) {
	const batch = 1000
	b := service.NewStreamBuilder()
	b.SetThreads(1)                  // values keep their order
	b.SetHTTPMux(http.NewServeMux()) // no server
	if err := b.SetLoggerYAML("level: OFF"); err != nil {
		return nil, err
	}
	if err := b.AddProcessorYAML("mutation: 'root = if this.value <= 30 { deleted() }'"); err != nil {
		return nil, err
	}
	push, err := b.AddBatchProducerFunc()
	if err != nil {
		return nil, err
	}
	var window []float64
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = b.AddBatchConsumerFunc(func(_ context.Context, messages service.MessageBatch) error {
		for _, m := range messages {
			v, err := m.AsStructured()
			if err != nil {
				return err
			}
			window = append(window, v.(map[string]any)["value"].(float64))
			if len(window) == windowCount {
				results, window = append(results, mean(window)), window[:0]
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	s, err := b.Build()
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	go func() {
		_ = s.Run(ctx) // the error is that of the stop
		close(ended)
	}()
	for rest := all; len(rest) > 0; {
		part := rest[:min(batch, len(rest))]
		rest = rest[len(part):]
		messages := make(service.MessageBatch, len(part))
		for i, e := range part {
			messages[i] = service.NewMessage(nil)
			messages[i].SetStructuredMut(map[string]any{"device": e.Device, "value": e.Value})
		}
		if err := push(ctx, messages); err != nil { // it returns when the consumer has handled them
			return nil, err
		}
	}
	if err := s.StopWithin(10 * time.Second); err != nil {
		return nil, err
	}
	<-ended
	if len(window) > 0 {
		results = append(results, mean(window))
	}
	return results, nil
}
