package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/redpanda-data/benthos/v4/public/service"

	"example.com/ferry"
	"example.com/ferry/format/all"
	"example.com/ferry/stream/pipeline"
)

// byEncoded is the case of encoded events. Windows that are open at the end of a run have no result.
const byEncoded = "mean of each of 100 devices and 10 s of event time, of EdgeX events in JSON"

// document is the part of an encoded event that a program decodes.
type document struct {
	DeviceName string `json:"deviceName"`
	Origin     int64  `json:"origin"`
	Readings   []struct {
		Value string `json:"value"`
	} `json:"readings"`
}

// encoded returns the events as JSON, each of about 700 bytes with three readings.
var encoded = sync.OnceValue(func() [][]byte {
	docs := make([][]byte, 0, 1<<16)
	for _, e := range events() {
		doc := fmt.Appendf(nil, `{"apiVersion":"v3","id":"9b3ea6e7-f4fe-4e2d-a3ae-6b3b1c1a0001","deviceName":%q,"profileName":"pump","sourceName":"state","origin":%d,"readings":[`, e.Device, e.At)
		for i, value := range []float64{e.Value, 7, 1013.25} {
			if i > 0 {
				doc = append(doc, ',')
			}
			doc = fmt.Appendf(doc, `{"id":"1f2e3d4c-5b6a-4978-8695-a4b3c2d1e0f%d","origin":%d,"deviceName":%q,"resourceName":"r%d","profileName":"pump","valueType":"Float64","value":"%v"}`,
				i, e.At, e.Device, i, value)
		}
		docs = append(docs, append(doc, `],"tags":{"line":"north"}}`...))
	}
	return docs
})

// steps are what a configuration says as
//
//	pipeline:
//	  - where: readings.0.value > 30
//	  - group_by: deviceName
//	  - window: {time: 10s, event_time: origin, idle: 1h}
//	  - mean: readings.0.value
//	  - publish: means
var steps = []pipeline.Step{
	{Where: "readings.0.value > 30"},
	{GroupBy: &pipeline.Paths{"deviceName"}},
	{Window: &pipeline.Window{Time: windowTime, EventTime: "origin", Idle: time.Hour}},
	{Aggregation: pipeline.Aggregation{Mean: "readings.0.value"}},
	{Publish: "means"},
}

// published decodes the records that a pipeline publishes.
type published struct{ results []result }

// Send decodes a record.
func (p *published) Send(_ context.Context, m ferry.Message) error {
	var record struct {
		DeviceName string  `json:"deviceName"`
		Start      int64   `json:"start"`
		Mean       float64 `json:"mean"`
	}
	err := json.Unmarshal(m.Payload, &record)
	p.results = append(p.results, result{record.DeviceName, record.Start, record.Mean})
	return err
}

// Flush does nothing.
func (p *published) Flush(context.Context) error { return nil }

// pipelineByEncoded handles batches of 64 messages, which are about what a busy node gives a function at once.
func pipelineByEncoded([]event) ([]result, error) {
	var out published
	p, err := pipeline.New(pipeline.Config{Name: "means", Steps: steps, Observe: []string{"sensors/+"}, Formats: all.Formats(), Output: &out})
	if err != nil {
		return nil, err
	}
	defer p.Close()
	var batch [64]ferry.Message
	for docs := encoded(); len(docs) > 0; {
		n := min(len(docs), len(batch))
		for i, doc := range docs[:n] {
			batch[i] = ferry.Message{Tag: "sensors/a", Type: ferry.JSON, Payload: doc}
		}
		if err := p.HandleBatch(context.Background(), batch[:n], &out); err != nil {
			return nil, err
		}
		docs = docs[n:]
	}
	return out.results, nil
}

// deviceWindows is the hand-written window of each device.
type deviceWindows struct {
	open    map[string]*deviceWindow
	results []result
}

type deviceWindow struct {
	start int64
	sum   float64
	n     int
}

func (d *deviceWindows) add(device string, at int64, value float64) {
	start := at - at%int64(windowTime)
	w := d.open[device]
	if w == nil {
		w = &deviceWindow{start: start}
		d.open[device] = w
	}
	if w.start != start {
		d.results = append(d.results, result{device, w.start, w.sum / float64(w.n)})
		*w = deviceWindow{start: start}
	}
	w.sum += value
	w.n++
}

// loopByEncoded returns a loop that decodes each event to a struct of its fields.
func loopByEncoded(decode func([]byte, any) error) run {
	return func([]event) ([]result, error) {
		windows := deviceWindows{open: map[string]*deviceWindow{}}
		for _, doc := range encoded() {
			var d document
			if err := decode(doc, &d); err != nil {
				return nil, err
			}
			value, err := strconv.ParseFloat(d.Readings[0].Value, 64)
			if err != nil {
				return nil, err
			}
			if value > threshold {
				windows.add(d.DeviceName, d.Origin, value)
			}
		}
		return windows.results, nil
	}
}

// benthosByEncoded gives benthos the bytes. A Go function has the windows of the devices, as benthos has none by event time.
func benthosByEncoded([]event) ([]result, error) {
	const batch = 1000
	b := service.NewStreamBuilder()
	b.SetThreads(1)                  // events keep their order
	b.SetHTTPMux(http.NewServeMux()) // no server
	const mapping = `mapping: 'root = if this.readings.0.value.number() <= 30 { deleted() } else { {"d": this.deviceName, "at": this.origin, "v": this.readings.0.value.number()} }'`
	for _, err := range []error{b.AddProcessorYAML(mapping), b.SetLoggerYAML("level: OFF")} {
		if err != nil {
			return nil, err
		}
	}
	push, err := b.AddBatchProducerFunc()
	if err != nil {
		return nil, err
	}
	windows := deviceWindows{open: map[string]*deviceWindow{}}
	err = b.AddBatchConsumerFunc(func(_ context.Context, messages service.MessageBatch) error {
		for _, m := range messages {
			v, err := m.AsStructured()
			if err != nil {
				return err
			}
			fields := v.(map[string]any)
			at, err := fields["at"].(json.Number).Int64()
			if err != nil {
				return err
			}
			windows.add(fields["d"].(string), at, fields["v"].(float64))
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
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		_ = s.Run(ctx) // the error is that of the stop
		close(ended)
	}()
	for rest := encoded(); len(rest) > 0; {
		part := rest[:min(batch, len(rest))]
		rest = rest[len(part):]
		messages := make(service.MessageBatch, len(part))
		for i, doc := range part {
			messages[i] = service.NewMessage(doc)
		}
		if err := push(ctx, messages); err != nil {
			return nil, err
		}
	}
	if err := s.StopWithin(10 * time.Second); err != nil {
		return nil, err
	}
	<-ended
	return windows.results, nil
}
