// Package ferry is the vocabulary that stream and rpc share: Message, Handler and Sender.
//
// A message consists of bytes and a little metadata. The folders are listed in the order in which a message passes them.
// Package transport carries the bytes, protocol cuts them into frames, field and format read fields without decoding, and
// stream passes messages to functions. Package ferry links only the standard library. Every other package may import ferry.
//
//	h := ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
//		return out.Send(ctx, ferry.Message{Tag: "alerts/" + in.Tag, Type: in.Type, Payload: in.Payload})
//	})
package ferry
