package stream_test

import (
	"context"
	"fmt"
	"strconv"

	"example.com/ferry"
	"example.com/ferry/broker"
	"example.com/ferry/format/all"
	"example.com/ferry/stream"
	"example.com/ferry/transport/memory"
)

// A node, a function and a source run in one process. With tcp or quic only the transport differs.
func Example() {
	ctx := context.Background()
	network := memory.New(nil)
	listener, err := network.Listen(ctx, "node")
	if err != nil {
		fmt.Println(err)
		return
	}
	node, err := broker.New(broker.Config{Identify: broker.Anyone, Formats: all.Formats()})
	if err != nil {
		fmt.Println(err)
		return
	}
	go func() { _ = node.Serve(ctx, listener, broker.ValidateFull) }()
	client, err := stream.Dial(ctx, network, "node", nil)
	if err != nil {
		fmt.Println(err)
		return
	}

	hot := make(chan string)
	function, err := client.Start(ctx, stream.Function{
		Observe: []string{"sensors/+/temp"},
		Where:   `value > 80`,
		Handler: stream.Sink(func(_ context.Context, in *ferry.Message) error {
			hot <- fmt.Sprintf("%s %s", in.Tag, in.Payload)
			return nil
		}),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, v := range []string{`{"value":20}`, `{"value":93}`} {
		if err := client.Send(ctx, ferry.Message{Tag: "sensors/press/temp", Type: ferry.JSON, Payload: []byte(v)}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(<-hot)

	function.Stop()
	_ = client.Close()
	_ = listener.Close()
	fmt.Println(node.Shutdown(ctx))
	// Output:
	// sensors/press/temp {"value":93}
	// <nil>
}

// Flush waits until the node has routed all messages sent before.
func ExampleClient_Flush() {
	ctx, client, stop := exampleClient()
	defer stop()
	err := client.Send(ctx, ferry.Message{Tag: "log", Type: ferry.JSON, Payload: []byte(`{"a":1,"a":2}`)})
	fmt.Println(err)
	fmt.Println(client.Flush(ctx))
	// Output:
	// <nil>
	// stream: 1 messages on tag log were dropped: native: invalid payload: json: name "a" stands twice in one object at offset 7
}

func exampleClient() (context.Context, *stream.Client, func()) {
	ctx := context.Background()
	network := memory.New(nil)
	listener, err := network.Listen(ctx, "node")
	if err != nil {
		panic(err)
	}
	node, err := broker.New(broker.Config{Identify: broker.Anyone, Formats: all.Formats()})
	if err != nil {
		panic(err)
	}
	go func() { _ = node.Serve(ctx, listener, broker.ValidateFull) }()
	client, err := stream.Dial(ctx, network, "node", quiet(nil))
	if err != nil {
		panic(err)
	}
	return ctx, client, func() {
		_ = client.Close()
		_ = listener.Close()
		_ = node.Shutdown(ctx)
	}
}

// A function replies to the client that sent a message: To addresses it, and a function with Addressed receives it.
func ExampleFunction_addressed() {
	ctx, client, stop := exampleClient()
	defer stop()
	double := stream.Function{Observe: []string{"double"}, Handler: ferry.HandlerFunc(
		func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
			return out.Send(ctx, ferry.Message{Tag: "doubled", To: in.Source, Payload: append(in.Payload, in.Payload...)})
		})}
	replies := make(chan string)
	collect := stream.Function{Observe: []string{"doubled"}, Addressed: true, Handler: stream.Sink(
		func(_ context.Context, in *ferry.Message) error {
			replies <- string(in.Payload)
			return nil
		})}
	for _, f := range []stream.Function{double, collect} {
		running, err := client.Start(ctx, f)
		if err != nil {
			fmt.Println(err)
			return
		}
		defer running.Stop()
	}
	fmt.Println(client.Send(ctx, ferry.Message{Tag: "double", Payload: []byte("ho")}))
	fmt.Println(<-replies)
	// Output:
	// <nil>
	// hoho
}

// Members of a group share the messages: each message goes to one of them.
func ExampleFunction_group() {
	ctx, client, stop := exampleClient()
	defer stop()
	done := make(chan string)
	for range 2 {
		running, err := client.Start(ctx, stream.Function{Observe: []string{"jobs"}, Group: "workers", Handler: stream.Sink(
			func(_ context.Context, in *ferry.Message) error {
				done <- string(in.Payload)
				return nil
			})})
		if err != nil {
			fmt.Println(err)
			return
		}
		defer running.Stop()
	}
	for _, job := range []string{"a", "b", "c"} {
		if err := client.Send(ctx, ferry.Message{Tag: "jobs", Payload: []byte(job)}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(<-done)
	fmt.Println(<-done)
	fmt.Println(<-done)
	// Unordered output:
	// a
	// b
	// c
}

// A Batch sends many short messages together.
func ExampleSource_Batch() {
	ctx, client, stop := exampleClient()
	defer stop()
	sum, done := 0, make(chan int)
	running, err := client.Start(ctx, stream.Function{Observe: []string{"samples"}, Handler: stream.Sink(
		func(_ context.Context, in *ferry.Message) error {
			n, err := strconv.Atoi(string(in.Payload))
			if sum += n; n == 999 {
				done <- sum
			}
			return err
		})})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer running.Stop()
	source, err := client.Source(ctx, "samples")
	if err != nil {
		fmt.Println(err)
		return
	}
	batch := source.Batch()
	var sample []byte
	for i := range 1000 {
		sample = strconv.AppendInt(sample[:0], int64(i), 10)
		if err := batch.Add(ctx, ferry.Message{Payload: sample}); err != nil {
			fmt.Println(err)
		}
	}
	fmt.Println(batch.Send(ctx), <-done)
	// Output: <nil> 499500
}

// A Source publishes on one tag. It does not look the tag up for each message.
func ExampleSource() {
	ctx, client, stop := exampleClient()
	defer stop()
	got := make(chan string)
	running, err := client.Start(ctx, stream.Function{Observe: []string{"counter"}, Handler: stream.Sink(
		func(_ context.Context, in *ferry.Message) error {
			got <- string(in.Payload)
			return nil
		})})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer running.Stop()
	source, err := client.Source(ctx, "counter")
	if err != nil {
		fmt.Println(err)
		return
	}
	for i := range 3 {
		if err := source.Send(ctx, ferry.Message{Payload: fmt.Append(nil, i)}); err != nil {
			fmt.Println(err)
		}
		fmt.Println(<-got)
	}
	// Output:
	// 0
	// 1
	// 2
}
