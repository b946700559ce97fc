// Package stream connects sources, functions and sinks through a node: a source publishes on a tag, a function observes
// tags and may publish new messages, a sink only observes.
//
// A Client is one connection over any transport. When it is lost the Client dials again and resumes its sources and
// functions. A function may have a predicate, which the node evaluates on the encoded bytes: other messages never cross the
// wire. Credit for each subscription and tag flows back to the source, so a slow function holds up its own tag and nothing
// else. At most Function.Concurrency handlers run at once, in order for each source and tag.
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
