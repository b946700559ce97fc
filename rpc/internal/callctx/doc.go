// Package callctx is the context of a call on a server. It costs one allocation, and it makes a timer and a channel only when they are asked for.
//
//	ctx := callctx.New(deadline)
//	defer ctx.End(context.Canceled) // the handler has returned
//	service.Serve(ctx, method, stream)
package callctx
