// Package stream connects sources, functions and sinks through a node. A source publishes on a tag. A function observes
// tags and may publish new messages. A sink only observes.
//
// A Client is one connection over any transport. If the connection is lost, the Client dials again and resumes its
// sources and functions. A function may have a predicate. The node evaluates it on the encoded bytes, so messages that
// do not match never cross the wire. Each subscription and tag has its own credit, which limits what a source may send.
// So a slow function delays its own tag and no other. At most Function.Concurrency handlers run concurrently, in order
// for each source and tag.
//
// A node may store tags in streams. Client.SendStored waits until a message is stored. A function with a Durable receives
// each message at least once: the durable remembers what its handlers have handled, and what has failed is delivered
// again. A function with From reads a stream from a place in the past.
//
// A function in ten lines:
//
//	client, err := stream.Dial(ctx, tcp.New(nil), "127.0.0.1:4190", &stream.Config{Token: token})
//	if err != nil {
//		return err
//	}
//	defer client.Close()
//	return client.Run(ctx, stream.Function{
//		Observe: []string{"sensors/+/cpu"},
//		Where:   `readings.0.value > 80`,
//		Handler: ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
//			return out.Send(ctx, ferry.Message{Tag: "alerts/cpu", Type: in.Type, Payload: in.Payload})
//		}),
//	})
package stream

// Files: Client, Source, Function, Sink. source.go sends, unstored.go keeps what is not stored; receiver.go and inbox.go
// receive, pool.go calls handlers. spooler.go publishes what a spool has.
