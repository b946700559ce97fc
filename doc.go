// Package ferry is the vocabulary that stream and rpc share: Message, Handler and Sender.
//
// A message is bytes plus a little metadata. Folders stand in the order a message meets them: transport carries the
// bytes, protocol frames them, field and format read them without decoding, stream hands them to functions. This package
// links the standard library only; every other package may import it.
//
//	h := ferry.HandlerFunc(func(ctx context.Context, in *ferry.Message, out ferry.Sender) error {
//		return out.Send(ctx, ferry.Message{Tag: "alerts/" + in.Tag, Type: in.Type, Payload: in.Payload})
//	})
package ferry
